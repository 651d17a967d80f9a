"""Tasks of lesson 08: what leaks, and who says yes."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend, numbered, run_code

PRIVATE = ("read_inbox", "read_orders", "open_notes")
UNTRUSTED = ("fetch_page", "read_reviews", "open_attachment")
WAYS_OUT = ("send_mail", "post_comment", "fetch_any_url")
HARMLESS = ("add_numbers", "today", "convert_units")


def shown_what_can_leak(rng: Random) -> FinalTask:
    """Show four agents with their tools, and ask which can be talked into giving private data away."""
    groups = [PRIVATE, UNTRUSTED, WAYS_OUT]
    agents = [[rng.choice(group) for group in groups]]
    agents += [[rng.choice(group) for group in groups if group is not left] for left in groups]
    for tools in agents[1:]:
        tools.append(rng.choice(HARMLESS))
    for tools in agents:
        rng.shuffle(tools)
    rng.shuffle(agents)
    names = [f"agent {letter}" for letter in "ABCD"]
    legend = [
        f"private data: {', '.join(PRIVATE)}",
        f"text by strangers: {', '.join(UNTRUSTED)}",
        f"goes out of the house: {', '.join(WAYS_OUT)}",
        "",
    ]
    shown = [f"{name}: {', '.join(tools)}" for name, tools in zip(names, agents, strict=True)]
    missing = [
        "no private data to give away",
        "no stranger's text that could give an order",
        "no way out of the house",
    ]
    right, wrong = ("", ""), []
    for name, tools in zip(names, agents, strict=True):
        lacks = [words for group, words in zip(groups, missing, strict=True) if not set(tools) & set(group)]
        if lacks:
            wrong.append((name, f"It has {lacks[0]}."))
        else:
            right = (
                name,
                "It has all three: private data, text by strangers, and a way out. Take any one away and nothing leaves.",
            )
    text = "A stranger's text tells the model to give private data away, and the model obeys. From which agent does something leave?"
    return choose(rng, text, "\n".join([*legend, *shown]), right, wrong, "role-words")


def shown_a_no(rng: Random) -> FinalTask:
    """Show how a person is asked, and ask what a certain reply does."""
    test = rng.choice(["if not yes:", "if yes is not True:", "if yes is False:"])
    said = rng.choice([True, False, "No, that is too much.", None])
    code = f"""
def act(tools, call, approve):
    yes = approve(call)
    {test}
        return "refused"
    return tools[call["tool"]](**call["input"])
"""
    euros = rng.randint(20, 900)
    call = {"tool": "refund", "input": {"euros": euros}}
    came = run_code(code)["act"]({"refund": lambda euros: "paid"}, call, lambda call: said)
    paid, refused = f"{euros} euros are paid", "nothing is paid"
    condition = test[3:-1]
    why = (
        f"`{condition}` is not so for {said!r}, and so the tool runs."
        if came == "paid"
        else f"`{condition}` is so for {said!r}, and so the tool does not run."
    )
    right = paid if came == "paid" else refused
    other = refused if came == "paid" else paid
    wrong = [
        (other, f"Put {said!r} into `{condition}` and see."),
        ("an error ends the run", "Each of these values can be tested like that; nothing raises."),
        ("the person is asked again", "It is asked once: there is no loop."),
    ]
    text = f"The model wants to refund {euros} euros. The person's reply comes as `{said!r}`. What happens?"
    return choose(rng, text, numbered(code), (right, why), wrong, "measure-seen")


def repair_the_yes(rng: Random) -> FinalTask:
    """Show an approval that takes a reason for a yes."""
    test = rng.choice(["if yes is False:", "if not yes:", "if yes is None:"])
    code = f"""
def act(tools, call, approve):
    yes = approve(call)
    {test}
        return {{"error": "refused", "message": str(yes)}}
    return tools[call["tool"]](**call["input"])
"""

    def judge(names: dict[str, Any]) -> str:
        for said in (True, False, "No, that is too much.", None, "yes", 0):
            ran: list[int] = []

            def pay(ran: list[int] = ran) -> str:
                ran.append(1)
                return "paid"

            names["act"]({"pay": pay}, {"tool": "pay", "input": {}}, lambda call, said=said: said)
            if bool(ran) is not (said is True):
                return f"The reply was {said!r}, and the tool {'ran' if ran else 'did not run'}."
        return ""

    return mend(
        "A person's yes is `True`. Anything else is a no, and a text is the reason for it. This code pays where it must not. "
        "Mend one line.",
        code, (3, "if yes is not True:"),
        "Only `True` is a yes. Whatever else comes, by mistake or as a reason, the risky tool does not run.", judge, "your-yes",
    )  # fmt: skip
