"""A playground without code: menus choose a lab, a question and a guard, a slider the limit of steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from agentlib._run import Run
from agentlib.loop import run_agent
from agentlib.stops import CoinBudget, NoProgress, RepeatedCall, StopRule
from agentlib.views.describe import counted
from agentlib.views.shown import Shown, TableCell, caption_html, display_both, joined_html, table, tag
from agentlib.views.tables import history_table

__all__ = ["Playground", "playground"]

LABS = ("blue_mugs", "capitals", "shop", "trains", "weather")
"""Those whose runs take milliseconds, so that they can follow a slider."""

MAX_STEPS = 12
GUARDS: Mapping[str, Callable[[], list[StopRule]]] = {
    "none": list,
    "20 coins": lambda: [CoinBudget(20)],
    "the same call and result 3 times": lambda: [RepeatedCall(times=3)],
    "nothing new for 3 steps": lambda: [NoProgress(steps=3)],
}


@dataclass
class Playground:
    """What is chosen, and the run that comes of it.

    lab: of `LABS`. question: one of the lab's. model: "model", or "looping_model" where the lab has one.
    guard: of `GUARDS`. max_steps: the most model calls.
    """

    lab: str
    question: str = ""
    model: str = "model"
    guard: str = "none"
    max_steps: int = 10

    def __post_init__(self) -> None:
        self.question = self.question or self.questions[0]
        self._box: Any = None

    @property
    def module(self) -> Any:
        """The lab itself."""
        return import_module(f"agentlib.labs.{self.lab}")

    @property
    def questions(self) -> list[str]:
        """What can be asked in this lab."""
        return list(getattr(self.module, "GOALS", {"": self.module.GOAL}).values())

    @property
    def models(self) -> list[str]:
        """The models of this lab."""
        return [name for name in ("model", "looping_model") if hasattr(self.module, name)]

    def run(self, max_steps: int | None = None) -> Run:
        """Run it as chosen; it takes some milliseconds. max_steps: in place of the chosen one."""
        lab, steps = self.module, self.max_steps if max_steps is None else max_steps
        made = getattr(lab, self.model)()
        return run_agent(made, lab.TOOLS, self.question, max_steps=steps, stops=GUARDS[self.guard]())

    def sentence(self, run: Run) -> str:
        """Why a run ended, what it took, and what is known."""
        words = [f"`{run.stopped}` after {counted(run.steps, 'step')}, {counted(run.coins, 'coin')}"]
        known = getattr(self.module, "known_so_far", None)
        if known is not None:
            words.append(known(run.history))
        words.append(run.answer if run.answer is not None else "no answer")
        return "; ".join(words).rstrip(".") + "."

    def page(self) -> str:
        """The sentence and the history, as HTML."""
        run = self.run()
        line = tag("p", caption_html(self.sentence(run)), role="status")
        return joined_html(line, history_table(run)._repr_html_())

    def still(self) -> Shown:
        """What the slider would say at each place, as a table."""
        rows: list[list[TableCell | str]] = []
        for steps in range(1, MAX_STEPS + 1):
            rows.append([TableCell(str(steps), number=True), self.sentence(self.run(steps)).replace("`", "")])
        return table(f"{self.question} (guard: {self.guard})", ("max_steps", "the run"), rows)

    @property
    def box(self) -> Any:
        """Menus, slider and page as one widget."""
        if self._box is None:
            self._box = _box(self)
        return self._box

    def _ipython_display_(self) -> None:
        display_both(self.box, "the playground", self.still())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.still()._repr_mimebundle_()

    def __str__(self) -> str:
        return str(self.still())

    __repr__ = __str__


def _box(ground: Playground) -> Any:
    import ipywidgets

    from agentlib.views.guard import guarded

    wide = {"layout": {"width": "min(100%, 36rem)"}, "style": {"description_width": "6rem"}}

    def menu(name: str, choices: list[str], value: str) -> Any:
        return ipywidgets.Dropdown(options=choices, value=value, description=name, **wide)

    lab = menu("lab", list(LABS), ground.lab)
    question = menu("question", ground.questions, ground.question)
    model = menu("model", ground.models, ground.model)
    guard = menu("guard", list(GUARDS), ground.guard)
    steps = ipywidgets.IntSlider(
        value=ground.max_steps, min=1, max=MAX_STEPS, description="max_steps", **wide
    )
    page = ipywidgets.HTML(ground.page())

    def show(_: Any = None) -> None:
        ground.question, ground.model = question.value, model.value
        ground.guard, ground.max_steps = guard.value, steps.value
        page.value = ground.page()

    def other_lab(change: Any) -> None:
        ground.lab = change["new"]
        for part in (question, model):  # one picture when all is chosen anew, not one for each menu
            part.unobserve(show, names="value")
        question.options, model.options = ground.questions, ground.models
        for part in (question, model):
            part.observe(show, names="value")
        show()

    lab.observe(other_lab, names="value")
    for part in (question, model, guard, steps):
        part.observe(show, names="value")
    return guarded(lab, question, model, guard, steps, page)


def playground(lab: str = "capitals", *, guard: str = "none", max_steps: int = 10) -> Playground:
    """Show menus and a slider; the run beneath them changes while the slider moves.

    lab: where to begin, such as "capitals". guard: of `GUARDS`. max_steps: where the slider starts, 1 to 12.
    Raises ValueError if there is no such lab or guard.
    """
    for value, known in ((lab, LABS), (guard, GUARDS)):
        if value not in known:
            raise ValueError(f"There is no {value!r} in the playground; there are {', '.join(known)}.")
    if not 1 <= max_steps <= MAX_STEPS:
        raise ValueError(f"max_steps goes from 1 to {MAX_STEPS} here, but was {max_steps!r}.")
    return Playground(lab, guard=guard, max_steps=max_steps)
