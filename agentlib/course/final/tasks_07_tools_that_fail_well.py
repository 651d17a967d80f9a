"""Tasks of lesson 07: several requests at once, time limits, and errors that help."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend, numbered, run_code

TOOL_NAMES = ("lookup_order", "search_help", "change_address", "send_mail", "read_note", "stock_level")


def shown_several_requests(rng: Random) -> FinalTask:
    """Show a loop over the requests of one reply, and ask which stay without a result."""
    ids, at = ["a", "b", "c", "d"], rng.randint(0, 2)
    does = rng.choice(["break", "continue", 'results[call["id"]] = "unknown tool"'])
    calls = [f'{{"id": "{id}", "tool": "{"weather" if n != at else "wether"}"}}' for n, id in enumerate(ids)]
    more = "\n            continue" if does.startswith("results") else ""
    code = f"""
calls = [{("," + chr(10) + "         ").join(calls)}]
tools = {{"weather": lambda: "12 C"}}
results = {{}}
for call in calls:
    if call["tool"] not in tools:
        {does}{more.replace("            ", "        ")}
    results[call["id"]] = tools[call["tool"]]()
"""
    results = run_code(code)["results"]
    left = [id for id in ids if id not in results]

    def words(left: list[str]) -> str:
        return f"without a result: {', '.join(left) or 'none'}"

    why = {
        "break": "`break` leaves the loop, so what comes after the failure is not run either. A provider refuses a history with open requests.",
        "continue": "`continue` goes to the next request, and this one stays open. A provider refuses such a history.",
    }.get(
        does, "The unknown tool is answered with an error, and the others run: each request has its result."
    )
    wrong = [
        (words([ids[at]]), "What becomes of those that come after it, and of this one itself?"),
        (words(ids[at:]), "The others are still run."),
        (words([]), "Who writes a result for the request that failed?"),
        (words(ids), "Those before the failure have run already, or they still run."),
        (words(ids[:at]), "They ran before the failure came."),
    ]
    return choose(
        rng,
        "Which of the four requests have no result at the end?",
        numbered(code),
        (words(left), why),
        wrong,
        "several-words",
    )


def shown_a_slow_tool(rng: Random) -> FinalTask:
    """Show a tool that outlasts its time limit, and ask what it has done."""
    takes, limit, tries = rng.randint(2, 6), rng.randint(2, 6), rng.randint(2, 4)
    order = rng.randint(1000, 9999)
    in_time = takes < limit
    calls = 1 if in_time else tries
    shown = f"""time limit of a tool: {limit} s
send_mail takes {takes} s and cannot be cancelled; it sends the mail at its end

1 model requests send_mail(order={order})
2 tool  {"sent" if in_time else "error: no result in time"}
3 model {"answers: the mail is sent" if in_time else f"requests send_mail(order={order}) again, {tries} times in all"}"""
    if takes == limit:
        return shown_a_slow_tool(rng)
    why = (
        "The tool was done before its time was over, and nothing was tried again."
        if in_time
        else f"The loop stops waiting, the tool does not stop working: each of the {tries} calls sends its mail."
    )
    wrong = [
        ("none", "The limit ends the waiting. What was begun goes on, and the mail goes out at its end."),
        ("1", "Each call sends a mail of its own: no result in time does not mean that nothing was done."),
        (str(calls + 1), "So often the tool was not called."),
        (str(tries + 2), "Count the calls of the tool; one call sends one mail."),
    ]
    return choose(
        rng,
        "How many mails has the customer got a minute later?",
        shown,
        (str(calls), why),
        wrong,
        "hang-words",
    )


def repair_the_unknown_tool(rng: Random) -> FinalTask:
    """Show an error for an unknown tool that names none of the tools there are."""
    poor = rng.choice(['f"There is no tool {name}."', '"Unknown tool. Try again."', 'f"KeyError: {name!r}"'])
    code = f"""
def act(tools, name, given):
    if name not in tools:
        words = {poor}
        return {{"error": "unknown_tool", "message": words}}
    return tools[name](**given)
"""

    def judge(names: dict[str, Any]) -> str:
        for count in (2, 3):
            tools = dict.fromkeys(rng.sample(TOOL_NAMES, count), lambda: "done")
            came = names["act"](tools, "lokup", {})
            said = came.get("message") if isinstance(came, dict) else came
            missing = [name for name in tools if name not in str(said)]
            if missing or not isinstance(came, dict) or came.get("error") != "unknown_tool":
                return f"There are {' and '.join(tools)}, and the model reads: {str(said)[:80]!r}."
            done = names["act"](tools, next(iter(tools)), {})
            if done != "done":
                return f"A tool that is there came back as {done!r}."
        return ""

    return mend(
        "The model writes a tool's name wrong, reads this error and writes it wrong again. Let the error say which tools there are. "
        "Mend one line.",
        code, (3, 'words = f"There is no tool {name}. There are: {\', \'.join(tools)}."'),
        "An error should say what to do next. Told the names, the model can choose one.", judge, "by-hand-words",
    )  # fmt: skip
