"""Watch this run: what a check found wrong, shown on the learner's own function, where it can be seen."""

import time
from dataclasses import replace

import ipywidgets
import pytest

from agentlib.course import check
from agentlib.course.checking.engine import check_functions, named_functions
from agentlib.course.checking.report import CheckReport
from agentlib.course.checking.watching import RunWatcher
from agentlib.course.exercises import EXERCISES, find_exercise
from agentlib.course.grading.grade import GRADED, Row
from agentlib.course.grading.pages import feedback_page
from agentlib.views.describe import full_call, sketch
from agentlib.views.on_press import on_press
from tests.zoo import ex01, ex02, ex04, ex05, ex06, ex07, ex08, ex09, specimens

SEED = 7


def report_of(number, specimen):
    exercise = find_exercise(number)
    given = specimen.functions if isinstance(specimen.functions, tuple) else (specimen.functions,)
    return check_functions(exercise, named_functions(exercise, given), SEED)


def opened(number, specimen):
    """The report, and the timeline of its first part that is not yet met, with the frame where it opens."""
    report = report_of(number, specimen)
    played = report.watch().live.player.timelines[0]
    return report, played, played["frames"][played["start"] - 1]


def test_a_forgotten_request_is_seen_where_the_model_reads_without_it():
    report, played, frame = opened("ex01", ex01.only_the_result_recorded)
    assert (frame["step"], frame["move"]) == (2, "ask")
    assert "2 entries" in frame["caption"]
    assert played["wanted"].startswith("keeps every request of the model in the history. Seen: call 2 read")
    assert report.watchable[0].seen in played["wanted"]


# Its step, as the words of the report name it, and what happens there.
WHERE = [
    ("ex01", ex01.starts_with_an_empty_history, 1, "It reads 0 entries"),
    ("ex01", ex01.history_made_anew_each_step, 3, "asked"),
    ("ex01", ex01.zero_taken_for_no_result, 4, "asked"),
    ("ex01", ex01.crashes_on_a_request, 1, "raised `KeyError"),
    ("ex01", ex01.goes_on_after_the_answer, 5, "asked"),
    ("ex01", ex01.one_call_too_many, 4, "asked"),
    ("ex01", ex01.steps_from_zero, 4, "The run is over"),
    ("ex02", ex02.no_repeat_rule, 3, "asked"),
    ("ex02", ex02.interrupt_swallowed, 1, ""),
    ("ex04", ex04.guards_the_tool_alone, None, ""),
    ("ex04", ex04.earlier_result_given_again, 3, "asked"),
    ("ex05", ex05.no_budget, None, "asked"),
    ("ex06", ex06.first_interrupt_of_a_batch_swallowed, 1, ""),
    ("ex07", ex07.everything_taken_for_text, 0, "raised `TypeError"),
    ("ex09", ex09.interrupt_swallowed, 1, ""),
]


@pytest.mark.parametrize(("number", "specimen", "step", "words"), WHERE)
def test_the_player_opens_where_the_fault_can_be_seen(number, specimen, step, words):
    _, played, frame = opened(number, specimen)
    assert words in frame["caption"]
    if step is None:  # it depends on the data, and is not the end
        assert 0 < frame["step"] < played["frames"][-1]["step"]
    else:
        assert frame["step"] == step


def test_the_run_has_the_model_the_tools_and_the_data_of_the_part_that_failed():
    report = report_of("ex01", ex01.only_the_result_recorded)
    trace = report.watcher.trace(report.watchable[0].scenario)
    runs = [event.entry for event in trace.events if event.kind == "act"]
    assert [full_call(run["tool"], run["input"]) for run in runs] == [
        row.given for row in report.watchable[0].saw if not row.who.startswith("model")
    ]
    read = [sketch(history) for history in trace.histories()]
    assert [
        row.given.split(": ")[1] for row in report.watchable[0].saw if row.who.startswith("model")
    ] == read
    assert trace.about["source"].startswith("def loop")


def test_it_can_be_watched_again_and_gives_the_same():
    report = report_of("ex02", ex02.no_repeat_rule)
    first, second = (report.watcher.trace(report.watchable[0].scenario) for _ in range(2))
    assert first.events == second.events


def test_another_part_is_watched_by_its_id_and_a_part_that_is_met_is_not():
    report = report_of("ex01", ex01.only_the_result_recorded)
    with pytest.raises(ValueError, match="not yet met"):
        report.watch("goal_first")
    assert report.watch("request_kept").live.player.frame > 1
    with pytest.raises(ValueError, match="none"):
        check("ex01", ex01.while_loop.functions[0]).watch()


# --- loops that do not end


def spins(model, tools, goal, max_steps=10):
    while True:
        max_steps += 1


def sleeps(model, tools, goal, max_steps=10):
    model([{"role": "user", "text": goal}])
    while True:
        time.sleep(0.01)


def swallows(model, tools, goal, max_steps=10):
    while True:
        try:  # noqa: SIM105
            model([{"role": "user", "text": goal}])
        except:  # noqa: E722
            pass


def swallows_in_tools(model, tools, goal, max_steps=10):
    model([{"role": "user", "text": goal}])
    while True:
        try:
            for tool in tools.values():
                tool()
        except BaseException:
            pass


class QuickExercise:
    """ex01 with little time for each run."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.name = "ex01_write_the_loop"

    def scenarios(self, rng):
        made = EXERCISES[self.name].scenarios(rng)
        return {name: replace(scenario, seconds=self.seconds) for name, scenario in made.items()}


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        (spins, "ran too long"),
        (sleeps, "ran too long"),
        (swallows, "asked too often"),
        (swallows_in_tools, "asked too often"),
    ],
)
def test_an_endless_loop_that_is_watched_ends_with_words(loop, reason):
    watcher = RunWatcher(QuickExercise(0.5), {"run_agent": loop}, SEED)
    trace = watcher.trace("errand")
    assert trace.stopped == reason
    assert "RunEnded" not in str(trace.events[-1])
    assert trace.detail


def test_the_time_is_said_where_it_was_over():
    trace = RunWatcher(QuickExercise(0.3), {"run_agent": sleeps}, SEED).trace("errand")
    assert trace.detail == "after 0.3 seconds it was still running"


# --- in the report


def test_the_terminal_says_how_in_one_line_and_only_where_something_is_not_yet_met():
    text = str(report_of("ex01", ex01.only_the_result_recorded))
    lines = [line for line in text.splitlines() if "watch" in line]
    assert lines == [
        'To watch this run, line by line, in your notebook: check("ex01", run_agent, seed=7).watch()'
    ]
    assert "watch" not in str(check("ex01", ex01.while_loop.functions[0], seed=7))

    def stub(model, tools, goal, max_steps=10):
        raise NotImplementedError

    assert "watch" not in str(check("ex01", stub))


def shown(report, monkeypatch):
    outputs = []
    monkeypatch.setattr("IPython.display.display", lambda what, **more: outputs.append(what))
    report._ipython_display_()
    return outputs


def test_a_notebook_gets_a_button_for_each_part_that_is_not_yet_met(monkeypatch):
    made = []
    button = ipywidgets.Button
    monkeypatch.setattr(ipywidgets, "Button", lambda **given: made.append(button(**given)) or made[-1])
    report = report_of("ex01", ex01.only_the_result_recorded)
    widget, static = shown(report, monkeypatch)
    assert "application/vnd.jupyter.widget-view+json" in widget
    assert [one.description for one in made] == [
        "watch this run: Part 3: keeps every request of the model in the history"
    ]
    assert widget["text/plain"] == ""
    assert "Run this cell to get buttons that show these runs." in static["text/html"]
    assert "not yet" in static["text/html"]
    assert static["text/plain"] == str(report)


def test_a_press_shows_the_player_and_a_run_that_cannot_be_made_says_why():
    report = report_of("ex01", ex01.only_the_result_recorded)
    box = on_press({"good": report.watch, "bad": lambda: report.watch("no_such_part")})
    good, bad, said, place, _ = box.children
    assert place.children == ()
    good.click()
    assert len(place.children) == 1
    assert said.value == ""
    bad.click()
    assert "no_such_part" in said.value or "not yet met" in said.value
    assert not bad.disabled


def test_a_report_that_passes_or_has_no_function_is_shown_as_before():
    with pytest.raises(NotImplementedError):
        check("ex01", ex01.while_loop.functions[0])._ipython_display_()
    report = report_of("ex01", ex01.only_the_result_recorded)
    with pytest.raises(NotImplementedError):
        CheckReport(report.exercise, report.title, 7, True, report.results)._ipython_display_()


def test_a_report_from_another_process_says_where_to_watch():
    report = report_of("ex01", ex01.only_the_result_recorded)
    alone = CheckReport(report.exercise, report.title, 7, True, report.results, call=report.call)
    with pytest.raises(ValueError, match=r'check\("ex01", run_agent, seed=7\)\.watch\(\)'):
        alone.watch()


# --- in a feedback page


def page_of(report):
    about = report.as_dict()
    return feedback_page(
        [Row("ann", "ex01_write_the_loop", "a.ipynb", 2, 10, GRADED, "none", 7, 1.0, (), about)]
    )


def test_a_feedback_page_has_a_table_of_what_model_and_tools_saw():
    report = report_of("ex01", ex01.only_the_result_recorded)
    page = page_of(report)
    assert page.count("What the model and the tools saw") == 1
    for row in report.watchable[0].saw:
        assert row.who in page
    assert "2 entries: [user, result]" in page
    assert "watch this run" not in page


def test_the_table_never_takes_what_the_code_says_of_itself():
    def liar(model, tools, goal, max_steps=10):
        """<script>docstring</script>"""
        print("<b>printed</b>")
        model([{"role": "user", "text": "<script>alert(1)</script>"}])
        return {"answer": "<i>returned</i>", "steps": 1, "stopped": "answered"}

    report = check("ex01", liar, seed=7)
    said = str([row for result in report.watchable for row in result.saw])
    assert "returned" not in said
    assert "printed" not in said
    assert "docstring" not in said
    assert "<script>" not in page_of(report)


def test_a_long_run_keeps_the_ends_of_its_table():
    def asks_on(model, tools, goal, max_steps=10):
        for _ in range(max_steps + 5):
            model([{"role": "user", "text": goal}, *[{"role": "tool", "result": 1}] * 50])

    for result in check("ex01", asks_on, seed=7).watchable:
        assert len(result.saw) <= 13
        assert all(len(row.given) <= 400 for row in result.saw)


def test_results_of_batches_before_have_no_table():
    about = report_of("ex01", ex01.only_the_result_recorded).as_dict()
    for result in about["results"]:
        del result["saw"]
    row = Row("ann", "ex01_write_the_loop", "a.ipynb", 2, 10, GRADED, "none", 7, 1.0, (), about)
    assert "What the model and the tools saw" not in feedback_page([row])


@pytest.mark.parametrize(
    "specimen", [one for one in specimens(ex08) if one.criterion][:4], ids=lambda one: one.name
)
def test_a_function_that_is_no_loop_can_be_watched_too(specimen):
    _, played, _ = opened("ex08", specimen)
    assert played["lines"]
    first, *_, last = (frame["caption"] for frame in played["frames"])
    assert first.startswith("`judge({")
    assert first.endswith("` is called.")
    assert last.startswith("The function is over: ")
    said = " ".join("".join(frame["caption"].split("`")[::2]) for frame in played["frames"])
    assert "loop" not in said
    assert "answer" not in last.split("`")[0]
