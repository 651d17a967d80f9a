"""Buttons that each show something made only when they are pressed."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

from agentlib.messages import short
from agentlib.views.shown import tag

__all__ = ["on_press"]

LABEL_CHARS = 100


def on_press(makers: Mapping[str, Callable[[], Any]]) -> Any:
    """Make a box of buttons by what they say; None where widgets are not installed.

    makers: what each button shows: a function that makes something with a `widget`, such as a tracer. It is
    called when the button is pressed, and the widget takes the place of the one shown before.
    """
    if find_spec("anywidget") is None:
        return None
    import ipywidgets

    from agentlib.views.guard import guarded

    said = ipywidgets.HTML()
    place = ipywidgets.VBox([])

    def pressed(make: Callable[[], Any], button: Any) -> None:
        button.disabled = True
        said.value = '<span role="status">The run is made anew ...</span>'
        try:
            place.children = [make().widget]
            said.value = ""
        except Exception as problem:
            said.value = str(
                tag(
                    "span",
                    f"It cannot be shown: {type(problem).__name__}: {short(str(problem), 200)}",
                    role="status",
                )
            )
        finally:
            button.disabled = False

    buttons = []
    for label, make in makers.items():
        button = ipywidgets.Button(description=short(label, LABEL_CHARS), layout={"width": "auto"})
        button.on_click(partial(pressed, make))
        buttons.append(button)
    return guarded(*buttons, said, place)
