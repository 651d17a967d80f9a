"""`quick_check`: one line, the learner's function back if it is right, and nothing of ours in the way."""

import inspect
import itertools

import pytest

from agentlib import answer, ask
from agentlib.course.quick_checks import find_task, quick_check
from agentlib.course.quick_checks.task import Made, SmallTask, call, itself, run
from agentlib.labs.trains import too_often

STARTED = "not started yet: the course's own is used here."
OURS = "The course's own is used below."


def stub(count, times):
    raise NotImplementedError  # your line here


def with_docstring_alone(count, times):
    """Nothing yet."""


def with_dots(count, times):
    enough = ...
    return enough


def task(ours, *cases, **more):
    return SmallTask("00 sample", ours, cases, (), **more)


DOUBLE = task(lambda number: number * 2, call(2), call(5, hint="Try it with 5"))


def a_loop(model, tools, goal, max_steps=3):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "more": 1}
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})
    return {"answer": None, "steps": max_steps}


KEYS = ("answer", "steps")
TOOLS = {"twice": lambda number: number * 2}
LOOP = task(
    a_loop,
    run("Twice 4?", TOOLS, [ask("twice", number=4), answer("8")], keys=KEYS),
    run("Twice 5?", TOOLS, [ask("twice", number=5)], for_ever=True, max_steps=2, keys=KEYS),
)


# --- what comes back, and the line --------------------------------------------------------------------


def test_a_right_function_comes_back_and_the_line_says_what_was_seen(capsys):
    mine = lambda count, times: count >= times  # noqa: E731
    assert quick_check("04 too often", mine) is mine
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "04 too often: right, yours is used below. Seen for (2, times=2), it gave True."


def test_a_wrong_function_is_replaced_by_the_course_s_own_with_the_first_case_that_differs(capsys):
    assert quick_check("04 too often", lambda count, times: count > times) is too_often
    (line,) = capsys.readouterr().out.splitlines()
    assert line == (
        "04 too often: not yet: for (4, times=4), it gave False, not True. "
        f"The fourth of four is one too many, not the fifth. {OURS}"
    )


@pytest.mark.parametrize("mine", [stub, with_docstring_alone, with_dots, lambda count, times: None])
def test_an_untouched_stub_is_told_kindly_in_one_line(mine, capsys):
    assert quick_check("04 too often", mine) is too_often
    assert capsys.readouterr().out == f"04 too often: {STARTED}\n"


def test_a_second_run_of_the_line_alone_does_not_praise_the_course_s_own_function():
    judged = find_task("04 too often").judge(too_often)
    assert judged.line == "this is the course's own. Run the cell with your lines, then this one again."


def test_what_a_learner_s_function_raises_is_shown_with_its_line():
    def mine(number):
        return {}["total"]

    line = DOUBLE.judge(mine).line
    assert line == f"""not yet: for (2), it raised KeyError: 'total', in `return {{}}["total"]`. {OURS}"""


def test_a_function_that_takes_other_arguments_is_told_so_without_a_line_of_the_course():
    def without_a_number():
        return 4

    line = DOUBLE.judge(without_a_number).line
    assert "takes 0 positional arguments but 1 was given. " + OURS in line


def test_a_value_that_cannot_be_looked_at_is_shown_itself():
    dollars = task(lambda number: number / 100, call(250, look=lambda value: f"{value:.2f} dollars"))
    assert 'for (250), it gave (250, 2.5), not "2.50 dollars".' in dollars.judge(lambda n: (n, n / 100)).line
    six = task(6, itself(lambda value: value + 1))
    assert "your value, it is six, not 7." in six.judge("six").line.replace('"', "")


def test_a_number_and_its_text_do_not_look_alike():
    added = task(lambda number: ["the goal", number], call(288))
    assert (
        "it gave ['the goal', '288'], not ['the goal', 288]."
        in added.judge(lambda n: ["the goal", "288"]).line
    )


@pytest.mark.parametrize("problem", [SystemExit, ValueError("own"), RecursionError, BaseException("odd")])
def test_whatever_is_raised_becomes_a_line(problem):
    def mine(number):
        raise problem

    assert "it raised " in DOUBLE.judge(mine).line


def test_a_person_s_interrupt_is_a_person_s():
    def mine(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DOUBLE.judge(mine)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (7, "7 is no function; write its name without brackets"),
        (int, "a class"),
        (abs, "a built-in function"),
        (lambda number: (yield number), "a generator"),
        (lambda: 4, "it raised TypeError"),
        (lambda number: None if number else 1, "it gave None, not 4"),
    ],
)
def test_what_is_no_such_function_is_told_in_words(mine, words):
    judged = DOUBLE.judge(mine)
    assert not judged.right
    assert words in judged.line
    assert judged.line.endswith(OURS)


def test_a_function_that_does_not_end_is_ended():
    def mine(number):
        for _ in itertools.count():
            try:
                number += 1
            except BaseException:
                continue

    short = task(DOUBLE.ours, *DOUBLE.cases, seconds=0.2)
    assert short.judge(mine).line == f"not yet: it did not end within 0.2 seconds: is there a way out? {OURS}"


def test_what_is_printed_is_counted_and_not_shown(capsys):
    def mine(number):
        print("so far", number)
        return number * 2

    assert DOUBLE.judge(mine).line == (
        "right, yours is used below. Seen for (5), it gave 10. (It printed 2 lines, not shown.)"
    )
    assert capsys.readouterr().out == ""


def test_each_call_gets_arguments_of_its_own():
    def mine(numbers, model):
        numbers.append(1)
        return len(numbers) + next(model)

    ours = lambda numbers, model: len(numbers) + 1 + next(model)  # noqa: E731
    assert task(ours, call([], Made(itertools.count)), call([], Made(itertools.count))).judge(mine).right


def test_a_task_can_ask_for_a_value():
    sizes = task([1, 3, 5], itself(lambda value: list(value), said="your sizes"))
    assert sizes.judge([1, 3, 5]).right
    assert sizes.judge(None).line == STARTED
    assert sizes.judge([1, 2, 3]).line == f"not yet: your sizes, it is [1, 2, 3], not [1, 3, 5]. {OURS}"


def test_a_task_can_ask_for_an_error():
    refuses = task(int, call("x", raises=True))
    assert refuses.judge(lambda text: int(text)).right
    assert "it raised nothing and gave 0, not ValueError" in refuses.judge(lambda text: 0).line


# --- loops ----------------------------------------------------------------------------------------------


def test_a_right_loop_is_right():
    def mine(model, tools, goal, max_steps=3):
        return {**a_loop(model, tools, goal, max_steps), "history": "anything"}

    assert LOOP.judge(mine).line == (
        "right, yours is used below. Seen for 'Twice 5?' with max_steps=2, "
        'in what it gave back, "steps" is 2.'
    )


def edited(old, new):
    source = inspect.getsource(a_loop)
    assert source.count(old) == 1
    names = {}
    exec(source.replace(old, new), names)
    return names["a_loop"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("        history.append(reply)\n", "", "call 2 of the model read user, result, not user, request"),
        ("max_steps + 1)", "max_steps)", "model calls: 1, not 2"),
        ("(**reply", "(number=4 or reply", "tool runs: twice(number=4), twice(number=4), not twice(number=5"),
        ("range(1, max_steps + 1)", "range(1, 10_000)", "was asked 30 times, and nothing ended the run"),
        ('"answer": None', '"answer": "8"', 'in what it gave back, "answer" is "8", not None'),
        ('== "answer"', '== "text"', "it raised KeyError: 'tool'"),
        ('return {"answer": reply["text"], "steps": step, "more": 1}', "continue", "was asked once more"),
        ('return {"answer": None, "steps": max_steps}', "pass", "it gave back None, and not a dict"),
    ],
)  # fmt: skip
def test_a_wrong_loop_is_told_by_what_the_model_and_the_tools_saw(old, new, words):
    assert words in LOOP.judge(edited(old, new)).line


def test_a_model_that_gets_a_text_in_place_of_the_history_is_told_so_in_one_piece():
    def with_the_goal(model, tools, goal, max_steps=3):
        return a_loop(lambda history: model(goal), tools, goal, max_steps)

    assert 'call 1 of the model read "Twice 4?", not user.' in LOOP.judge(with_the_goal).line


def test_a_task_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match='There are: "04 same call", "04 times asked"'):
        quick_check("04 nothing", stub)
    with pytest.raises(ValueError, match="There are: for lessons"):
        quick_check("too often", stub)


def test_a_rule_that_counts_the_entries_of_the_history_is_right_too():
    """Lesson 03 plays rules with a run as `run_agent` shows it."""
    task_of_03 = find_task("03 own rule")
    assert task_of_03.judge(lambda run: "history too long" if len(run.history) > 5 else None).right
    assert not task_of_03.judge(lambda run: "history too long" if len(run.history) > 4 else None).right
