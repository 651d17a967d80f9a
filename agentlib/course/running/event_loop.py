"""The event loop of a notebook: one for all of its cells, as in a kernel."""

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

from agentlib.course.running.runner import RunEnded, TimeLimit

__all__ = ["EventLoop"]

CLOSE_SECONDS = 1.0
"""Tasks that are left over at the end have so long to end."""


class EventLoop:
    """Runs while a cell or a function runs and stands still in between: tasks live on from cell to cell.

    Context variables, such as the decimal context, hold from cell to cell too.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._context = contextvars.copy_context()
        asyncio.set_event_loop(self._loop)

    def run(self, function: Callable[[], Any], is_async: bool = False) -> Any:
        """Call a function while the loop runs. is_async: what comes back is awaited."""
        if self._loop.is_running():  # RunEnded came while it was being left: it cannot be used any more
            asyncio._set_running_loop(None)
            self.__init__()  # type: ignore[misc]
        done: list[Any] = []
        raised: list[BaseException] = []

        async def called() -> None:
            try:
                value = function()
                done.append(await value if is_async else value)
            except BaseException as problem:  # the loop's own lines stay out of its traceback
                raised.append(problem)

        task = self._loop.create_task(called(), context=self._context)
        try:
            self._loop.run_until_complete(asyncio.wait([task]))
        finally:
            task.cancel()
        if raised:
            raise raised[0]
        return done[0]

    def close(self) -> None:
        """End the tasks that are left over, and close the loop."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            with contextlib.suppress(RunEnded):
                TimeLimit(CLOSE_SECONDS).run(lambda: self._loop.run_until_complete(asyncio.wait(tasks)))
        asyncio.set_event_loop(None)
        self._loop.close()

    def __del__(self) -> None:
        self._loop.close()  # where nobody has: the loop itself would warn
