"""A person is asked in text or on a card: only a clear yes is one, and the request is shown as it is."""

import re

import pytest

from agentlib import LATER, ScriptedModel, answer, ask, ask_together, resume, run_agent, tool
from agentlib.views import ask_person
from agentlib.views.person import MAX_ARGUMENTS, AskedByCard, request_shown

PAY = {"id": "1", "tool": "pay", "input": {"order": "2002", "euros": 120.0}}


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("yes", True),
        ("YES ", True),
        ("y", True),
        ("later", LATER),
        (" Later", LATER),
        ("no", False),
        ("N", False),
        ("", False),
        ("  ", False),
        ("no, because it is too much", "no, because it is too much"),
        ("l8r", "l8r"),
        ("yes, please", "yes, please"),
        ("yess", "yess"),
        ("True", "True"),
        (None, False),
        (True, False),
        (1, False),
    ],
)
def test_only_a_clear_yes_is_one_and_other_words_are_a_no_with_its_reason(said, given):
    answered = ask_person(ask=lambda words: said)(PAY)
    assert answered is given or (answered == given and type(answered) is str)


@pytest.mark.parametrize("problem", [EOFError(), NotImplementedError("this kernel has no input")])
def test_where_nobody_can_answer_the_request_waits(problem):
    def ask_nobody(words):
        raise problem

    assert ask_person(ask=ask_nobody)(PAY) is LATER


def test_an_interrupt_passes_through_and_ends_the_run():
    def interrupted(words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_person(ask=interrupted)(PAY)
    run = run_agent(
        ScriptedModel([ask("pay", order="1")]), paying([]), "Pay.", approve=ask_person(ask=interrupted)
    )
    assert run.stopped == "cancelled"


def test_without_an_ask_it_is_input_that_asks(monkeypatch):
    heard = []
    monkeypatch.setattr("builtins.input", lambda words: heard.append(words) or "yes")
    assert ask_person()(PAY) is True
    assert ask_person(go_on=print)(PAY) is True  # no notebook here
    assert heard == ['May pay run?\n  order = "2002"\n  euros = 120.0\n\nyes / no, because ... / later: '] * 2


# --- what is shown ----------------------------------------------------------------------------------


def test_markup_in_a_request_stays_text():
    harm = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    shown = request_shown({"id": "1", "tool": harm, "input": {harm: harm, "list": [harm]}})
    assert not re.search("<(img|script)", shown.html)
    assert shown.html.count("&lt;script&gt;") == 4
    assert shown.text.count(harm) == 4


def test_characters_that_act_are_written_as_their_code():
    shown = request_shown({"id": "1", "tool": "pay", "input": {"to\n": "a\u202eb\x1b[2K\nyes"}})
    assert shown.text == 'May pay run?\n  to\\n = "a\\u202eb\\u001b[2K\\nyes"'


def test_a_long_value_shows_both_ends_and_how_much_is_left_out():
    shown = request_shown(
        {"id": "1", "tool": "run", "input": {"line": "ls " + " " * 10_000_000 + "; rm -rf /"}}
    )
    assert len(shown.text) < 1_100
    assert len(shown.html) < 5_000
    assert 'line = "ls ' in shown.text
    assert shown.text.endswith('; rm -rf /"')
    assert re.search(r"9,?999,?\d\d\d characters", shown.text)


def test_of_very_many_arguments_it_says_how_many_are_not_shown():
    shown = request_shown({"id": "1", "tool": "run", "input": {f"a{n}": n for n in range(1_200)}})
    assert shown.text.startswith("May run run? 1,150 of its 1,200 arguments are not shown.")
    assert shown.text.count(" = ") == MAX_ARGUMENTS


@pytest.mark.parametrize("given", [None, [1, 2], "text", {}])
def test_an_odd_input_is_shown_too(given):
    assert request_shown({"tool": "pay", "input": given}).text.startswith("May pay run?")


# --- cards ------------------------------------------------------------------------------------------


class Page:
    """A job whose refunds wait for a person, with the cards that a page would show."""

    def __init__(self, *replies):
        self.replies = [*replies, answer("Done.")]
        self.cards, self.paid = [], []
        self.approve = AskedByCard(self.go_on, lambda box, request: self.cards.append((box, request)))
        self.run = self.play(run_agent, ScriptedModel(self.replies), self.tools(), "Pay.")

    def tools(self):
        return paying(self.paid)

    def play(self, loop, *args):
        return loop(*args, approve=self.approve)

    def go_on(self, approve):
        self.run = resume(self.run.trace, ScriptedModel(self.replies), self.tools(), approve=approve)

    def widgets(self, card):
        buttons, said = self.cards[card][0].children[1:3]
        return {one.description: one for one in buttons.children}, said

    def press(self, card, name, because=""):
        buttons, said = self.widgets(card)
        buttons["because"].value = because
        buttons[name].click()
        return re.sub("<.*?>", "", said.value)


def paying(paid):
    def pay(order: str) -> str:
        """Pay an order back."""
        paid.append(order)
        return "paid"

    return [tool(pay, risky=True)]


def test_a_run_waits_with_a_card_and_a_yes_goes_on_with_it():
    page = Page(ask("pay", order="2001"))
    assert (page.run.stopped, page.paid) == ("waiting", [])
    assert "2001" in page.cards[0][1].html
    assert page.press(0, "yes") == "You said yes."
    assert (page.run.answer, page.paid) == ("Done.", ["2001"])
    assert all(page.widgets(0)[0][name].disabled for name in ("yes", "no", "later"))


@pytest.mark.parametrize(
    ("because", "read"), [("", "said no."), ("  ", "said no."), ("too much", '"too much"')]
)
def test_a_no_is_told_to_the_model_with_its_reason(because, read):
    page = Page(ask("pay", order="2001"))
    assert page.press(0, "no", because) == "You said no."
    assert (page.run.answer, page.paid) == ("Done.", [])
    assert read in page.run.history[2]["result"]["message"]


def test_later_leaves_the_run_as_it_is_and_the_card_open():
    page = Page(ask("pay", order="2001"))
    assert page.press(0, "later") == "It waits. The run goes on when you say yes or no."
    assert (page.run.stopped, page.paid) == ("waiting", [])
    page.press(0, "yes")
    assert page.paid == ["2001"]


def test_two_requests_have_a_card_each_and_are_answered_one_by_one():
    page = Page(ask_together(ask("pay", order="2001"), ask("pay", order="2002")))
    assert len(page.cards) == 2
    page.press(1, "yes")
    assert (page.run.stopped, page.paid, len(page.cards)) == ("waiting", ["2002"], 2)
    page.press(0, "no")
    assert (page.run.answer, page.paid) == ("Done.", ["2002"])


def test_the_same_request_in_a_later_reply_is_asked_about_again():
    page = Page(*[{**ask("pay", order="2001"), "id": "one"}] * 2)
    page.press(0, "yes")
    assert (page.run.stopped, page.paid, len(page.cards)) == ("waiting", ["2001"], 2)
    page.press(1, "no")
    assert (page.run.answer, page.paid) == ("Done.", ["2001"])


def test_an_answer_that_came_too_late_counts_for_nothing_else():
    page = Page(ask("pay", order="2001"))
    page.run = resume(
        page.run.trace, ScriptedModel(page.replies), page.tools(), approve=lambda call: "not now"
    )
    assert page.press(0, "yes").startswith("Your answer was not asked for")
    assert (page.run.answer, page.paid, page.approve.answers) == ("Done.", [], {})
