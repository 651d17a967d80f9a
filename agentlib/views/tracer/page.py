"""A run as a page of its own: one file that opens anywhere, offline, with the notebook's player in it."""

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentlib._run import Run
from agentlib.messages import describe
from agentlib.trace import Trace
from agentlib.views.describe import visible
from agentlib.views.tracer.static import static_tracer
from agentlib.views.tracer.timeline import timeline

__all__ = ["page_values", "save_page", "traces_of"]

HERE = Path(__file__).parent
MARK = '<meta name="generator" content="agentlib save_page">'
MARK_WITHIN_CHARS = 1_000
"""A page of ours carries the mark so near its beginning."""


def save_page(
    what: Run | Trace | Mapping[str, Run | Trace],
    path: str | os.PathLike[str],
    *,
    title: str = "A run, step by step",
) -> Path:
    """Write a run as a page with the whole player, and give its path: `save_page(run, "run.html")`.

    what: a Run, a Trace, or names and several of these, which stand side by side.
    path: where to; an older page of `save_page` is replaced, anything else that stands there is not.
    title: the page's name.
    The page needs no network and no kernel.
    Raises TypeError for what is no run, ValueError for no run at all, FileExistsError where another file
    stands, IsADirectoryError for a folder, FileNotFoundError where the folder is missing.
    """
    traces = traces_of(what, "save_page writes")
    target = Path(path)
    _free(target)
    page = _page(traces, title)
    # Written beside it and moved into place, so that a full disk does not cost the older page.
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}")
    try:
        beside.write_text(page, encoding="utf-8")
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def traces_of(what: object, does: str) -> dict[str, Trace]:
    """Give the traces of a run or of several by name; one alone has the name "".

    does: how a sentence about it begins, such as "save_page writes". Raises TypeError for what is no run,
    ValueError for no run at all.
    """
    if isinstance(what, Mapping):
        if not what:
            raise ValueError(f"{does.split()[0]} needs at least one run, but got none.")
        return {str(name): _trace_of(one, does) for name, one in what.items()}
    return {"": _trace_of(what, does)}


def _trace_of(run: object, does: str) -> Trace:
    if isinstance(run, Run):
        return run.trace
    if isinstance(run, Trace):
        return run
    raise TypeError(f"{does} Runs and Traces, but one was {describe(run)}.")


def _free(target: Path) -> None:
    """Raise if a page cannot be written there, or if it would take the place of something else."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder. Give the page a name, such as {target / 'run.html'}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} into.")
    if not target.exists():
        return
    with target.open(encoding="utf-8", errors="replace") as old:
        if MARK not in old.read(MARK_WITHIN_CHARS):
            raise FileExistsError(f"{target} is there already and no page of save_page. Give another name.")


def page_values(
    traces: Mapping[str, Trace],
    opens: Mapping[str, Any] | None = None,
    *,
    label: str = "Player",
    can_fork: bool = False,
) -> dict[str, Any]:
    """Give what the player's JavaScript asks for, as plain data, for a page without a kernel.

    traces: by name. opens: "start", the number of the frame that is shown first, and "wanted", what had to
    come. label: the player's name for screen readers. can_fork: whether it has the form "what if".
    """
    timelines = [{**timeline(trace, name), **(opens or {})} for name, trace in traces.items()]
    return {
        "timelines": timelines,
        "frame": timelines[0].get("start", 1),
        "guess": "",
        "label": label,
        "can_fork": can_fork,
        "problem": "",
        "stale": "",
    }


def _page(traces: Mapping[str, Trace], title: str) -> str:
    values = page_values(traces)
    parts = {
        "title": html.escape(visible(title)),
        "css": (HERE / "player.css").read_text(encoding="utf-8"),
        "js": (HERE / "player.js").read_text(encoding="utf-8"),
        "static": static_tracer(traces).html,
        # A script ends at the first "</script", whatever stands around it; JSON may write "<" as its code.
        "values": json.dumps(values, ensure_ascii=False).replace("<", "\\u003c"),
    }
    whole = (HERE / "page.html").read_text(encoding="utf-8")
    pieces = whole.split("{{")
    # Each place is filled once: what is put in is never searched for places itself.
    return pieces[0] + "".join(
        parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:])
    )
