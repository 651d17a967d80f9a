"""What the widgets of a run notebook show, as plain data for a page that has no kernel.

Jupyter keeps the state of widgets with a notebook that was run. The player's and the quiz's hold all that
their JavaScript needs; sliders, menus and buttons ask Python, so a page names them and leads to the lab.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["STATE", "VIEW", "PagePart", "WidgetParts", "widget_parts"]

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
KINDS = {
    "agentlib.views.tracer.player.Player": "player",
    "agentlib.views.quiz.widget.QuizWidget": "quiz",
}
MOVED = ("IntSliderModel",)
CHOSEN = ("DropdownModel",)
REFERENCE = "IPY_MODEL_"
OF_JUPYTER = ("layout", "tabbable", "tooltip")


@dataclass(frozen=True)
class PagePart:
    """One widget that plays on a page.

    kind: "player" or "quiz". values: what its JavaScript asks for. ask: what Python has to know to run its
    loop as a reader changes it, or to check a repair; None = it plays without Python.
    """

    kind: str
    values: dict[str, Any]
    ask: dict[str, Any] | None = None


@dataclass(frozen=True)
class WidgetParts:
    """What one output shows.

    parts: what plays. moves, chooses: names of sliders and menus, which need Python. asks_what_if: the player
    has the form that runs the loop again.
    """

    parts: tuple[PagePart, ...] = ()
    moves: tuple[str, ...] = ()
    chooses: tuple[str, ...] = ()
    asks_what_if: bool = False


def widget_parts(states: Mapping[str, Any], model_id: str) -> WidgetParts:
    """Read what an output shows out of a notebook's widgets.

    states: the state of all of them, by the ids of their models. model_id: that of the output.
    """
    found = list(_within(states, model_id))
    parts, what_if = [], False
    for model in found:
        kind = KINDS.get(model["state"].get("_anywidget_id", ""))
        if kind is None:
            continue
        values = {
            name: value
            for name, value in model["state"].items()
            if not name.startswith("_") and name not in OF_JUPYTER
        }
        if kind == "player":
            what_if = what_if or values["can_fork"]
            values["can_fork"] = False
        parts.append(PagePart(kind, values))
    return WidgetParts(tuple(parts), _names(found, MOVED), _names(found, CHOSEN), what_if)


def _within(states: Mapping[str, Any], model_id: str) -> Iterator[Mapping[str, Any]]:
    model = states.get(model_id.removeprefix(REFERENCE))
    if model is None:
        return
    yield model
    for child in model["state"].get("children", ()):
        yield from _within(states, child)


def _names(found: list[Mapping[str, Any]], kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(model["state"]["description"] for model in found if model["model_name"] in kinds)
