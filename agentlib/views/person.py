"""A person is asked whether a request may run: on a card with buttons, or in text."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from agentlib._approval import LATER, Approve, Later
from agentlib.memory import trim
from agentlib.messages import Entry, call_key
from agentlib.views.describe import one_line, value_words
from agentlib.views.shown import Shown, display_both, static_html, table, tag

__all__ = ["AskedByCard", "ask_person"]

MAX_ARGUMENTS = 50
MAX_CHARS = 1_000
"""Of more arguments, or of a longer value, the person is told how much is not shown."""

ANSWERS = "yes / no, because ... / later: "


def ask_person(
    go_on: Callable[[Approve], Any] | None = None, *, ask: Callable[[str], Any] | None = None
) -> Approve:
    """Make an `approve` that shows a person each risky request, tool and arguments: yes, no or later?

    go_on: `lambda approve: resume(run.trace, model, tools, approve=approve)`, for a notebook. A cell hears
    no button while it runs. So the request is shown on a card and waits (`LATER`); the run ends with
    "waiting", and *yes* or *no* calls `go_on`, with an `approve` that knows the answer. What comes of it is
    shown beneath. ask(words): asks in text. None = `input`, if there is no `go_on`, or there are no widgets.
    In text, "yes" and "y" are a yes, in any case; "later" is `LATER`, and so is that nobody can answer. All
    else is a no, and the model reads the words as its reason.
    """
    if go_on is not None and ask is None and _has_cards():
        return AskedByCard(go_on)

    def approve(call: Entry) -> bool | str | Later:
        try:
            return read_answer((ask or input)(f"{request_shown(call).text}\n\n{ANSWERS}"))
        except (EOFError, NotImplementedError):  # no input is left, or this kernel has none
            return LATER

    return approve


def read_answer(said: object) -> bool | str | Later:
    """Read what a person said: True, LATER, or a no: False, or its words."""
    words = said.strip() if isinstance(said, str) else ""
    if words.casefold() in ("yes", "y"):
        return True
    if words.casefold() == "later":
        return LATER
    return False if words.casefold() in ("no", "n", "") else words


def request_shown(call: Entry) -> Shown:
    """Show a request: its tool, and each argument in a row of its own."""
    given = call.get("input")
    arguments = given if isinstance(given, Mapping) else {"input": given}
    rows = []
    for name, value in list(arguments.items())[:MAX_ARGUMENTS]:
        rows.append([one_line(str(name), 80), trim(value_words(value), MAX_CHARS)])
    title = f"May {one_line(str(call.get('tool')), 80)} run?"
    if len(arguments) > MAX_ARGUMENTS:
        title += f" {len(arguments) - MAX_ARGUMENTS:,} of its {len(arguments):,} arguments are not shown."
    heads = ("argument", "value")
    shown = table(title, heads, rows)
    text = "\n".join([title, *(f"  {name} = {value}" for name, value in rows)])
    return Shown(shown.html, text)


def display_card(box: Any, request: Shown) -> None:
    """Put a card on the page, and beneath it the request for places without widgets."""
    waits = "It waits for a person's yes or no."
    page = static_html("The request that waits", request.html, tag("p", waits))
    display_both(box, "the buttons", Shown(page, f"{request.text}\n\n{waits}"))


def _display(value: Any) -> None:
    from IPython.display import display

    display(value)  # type: ignore[no-untyped-call]


def _has_cards() -> bool:
    """True in a notebook with widgets."""
    if find_spec("anywidget") is None or find_spec("IPython") is None:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")


class AskedByCard:
    """An `approve` that shows each request on a card and gives `LATER`; when the run goes on, the answer.

    go_on: see `ask_person`. show(box, request): puts a card on the page.
    """

    def __init__(
        self, go_on: Callable[[Approve], Any], show: Callable[[Any, Shown], None] = display_card
    ) -> None:
        self.go_on = go_on
        self.show = show
        self.answers: dict[str, bool | str] = {}  # given, and not asked for yet
        self.open: set[str] = set()  # requests that have a card

    def __call__(self, call: Entry) -> bool | str | Later:
        """Give the answer that a card has brought, once; `LATER` if there is none."""
        name = f"{call.get('id')} {call_key(str(call.get('tool')), call.get('input'))}"
        if name in self.answers:
            self.open.discard(name)
            return self.answers.pop(name)  # the same request may come again, and is asked about again
        if name not in self.open:
            self.open.add(name)
            self._card(name, request_shown(call))
        return LATER

    def _card(self, name: str, request: Shown) -> None:
        import ipywidgets

        from agentlib.views.guard import guarded

        yes, no, later = (
            ipywidgets.Button(description=words, layout={"width": "auto"}) for words in ("yes", "no", "later")
        )
        because = ipywidgets.Text(description="because", placeholder="the model reads it")
        said, came = ipywidgets.HTML(), ipywidgets.Output()

        def press(answer: bool | str) -> None:
            yes.disabled = no.disabled = later.disabled = True
            say(f"You said {'yes' if answer is True else 'no'}.")
            self.answers[name] = answer
            with came:
                gave = self.go_on(self)
                if gave is not None:
                    _display(gave)
            if self.answers.pop(name, None) is not None:
                say("Your answer was not asked for: the run did not come to this request again.")
                yes.disabled = no.disabled = later.disabled = False

        def say(words: str) -> None:
            said.value = str(tag("span", words, role="status"))

        yes.on_click(lambda button: press(True))
        no.on_click(lambda button: press(because.value.strip() or False))
        later.on_click(lambda button: say("It waits. The run goes on when you say yes or no."))
        buttons = ipywidgets.HBox([yes, no, because, later], layout={"flex_flow": "row wrap"})
        buttons.add_class("agentlib-person")  # guard.js says there that the kernel has gone
        self.show(guarded(ipywidgets.HTML(str(request.html)), buttons, said, came), request)
