"""Tools: made from functions, arguments checked, and every way in which they can fail."""

import functools
import json
import threading
import time
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from agentlib import answer, ask, run_agent, tool
from agentlib.errors import FatalToolError, ToolError, UnrunError
from agentlib.models import ScriptedModel
from agentlib.tools import Tool, ToolOutcome, Worker, read_tools, run_tool, words_of
from tests.invariants import assert_json_ready, assert_sound
from tests.odd_values import ODD_VALUES


def stock_level(warehouse: str, at_least: int = 0) -> int:
    """Count the mugs in a warehouse.

    More about it.
    """
    return 140


def outcome_of(function, input=None, **options) -> ToolOutcome:
    """Run one function as a tool called "it"."""
    return run_tool({"it": tool(function, name="it")}, "it", json.dumps(input or {}), **options)


def result_of(function, input=None):
    outcome = outcome_of(function, input)
    assert json.loads(outcome.text) == outcome.result
    return outcome.result


# --- making tools -----------------------------------------------------------------------------------


def test_a_tool_knows_its_name_its_first_paragraph_and_a_schema_for_a_provider():
    made = tool(stock_level)
    assert (made.name, made.description) == ("stock_level", "Count the mugs in a warehouse.")
    assert made.schema["properties"]["warehouse"]["type"] == "string"
    assert made.schema["properties"]["at_least"]["type"] == "integer"
    assert (made.schema["required"], made.schema["additionalProperties"]) == (["warehouse"], False)
    assert (made.risky, made.repeatable, made.timeout_seconds) == (False, False, None)
    assert_json_ready(made.schema)


def test_tool_is_a_decorator_with_and_without_options():
    @tool
    def plain():
        """Do nothing."""

    @tool(risky=True, repeatable=True, timeout_seconds=0.5, name="other")
    def full():
        """Do nothing."""

    assert (plain.name, plain.risky) == ("plain", False)
    assert (full.name, full.risky, full.repeatable, full.timeout_seconds) == ("other", True, True, 0.5)


def test_a_tool_can_be_called_like_its_function():
    assert tool(stock_level)("north") == tool(stock_level)(warehouse="north") == 140
    assert repr(tool(stock_level)) == "Tool(stock_level)"


def test_a_tool_made_from_a_tool_keeps_what_is_not_given_anew():
    risky = tool(stock_level, risky=True, timeout_seconds=2)
    again = tool(risky, repeatable=True, name="count")
    assert (again.name, again.risky, again.repeatable, again.timeout_seconds) == ("count", True, True, 2)


def test_all_kinds_of_functions_can_be_tools():
    class Shop:
        def count(self, shelf: int) -> int:
            """Count."""
            return shelf

        def __call__(self, shelf: int) -> int:
            """Count too."""
            return shelf + 1

        @staticmethod
        def static(shelf: int) -> int:
            return shelf + 2

        @classmethod
        def of_class(cls, shelf: int) -> int:
            return shelf + 3

    def two(shelf: int, add: int) -> int:
        return shelf + add

    functions = [Shop().count, Shop(), Shop.static, Shop.of_class, functools.partial(two, add=4)]
    functions.append(lambda shelf: shelf)
    assert [result_of(function, {"shelf": 1}) for function in functions] == [1, 2, 3, 4, 5, 1]
    for function in functions[:-1]:
        assert result_of(function, {"shelf": "1"})["error"] == "invalid_input"


def test_a_function_that_shows_no_signature_checks_its_arguments_itself():
    assert result_of(min, {"a": 1})["error"] == "tool_failed"
    assert tool(min).schema == {"type": "object", "additionalProperties": True}


@pytest.mark.parametrize("wrong", [None, 5, "look", {"name": "look"}, object()])
def test_what_is_no_function_is_no_tool(wrong):
    model = ScriptedModel([])
    with pytest.raises(TypeError, match="A tool is a function, but"):
        tool(name="it")(wrong)
    with pytest.raises(TypeError, match="A tool is a function, but"):
        run_agent(model, {"it": wrong}, "Goal")
    with pytest.raises(TypeError, match="A tool is a function, but"):
        run_agent(model, [stock_level, wrong], "Goal")
    assert model.calls == 0


def test_async_functions_are_refused():
    async def later():
        """Come later."""

    async def drip():
        """Come bit by bit."""
        yield 1

    class Later:
        async def __call__(self):
            """Come later."""

    for function in (later, drip, Later(), functools.partial(later)):
        with pytest.raises(TypeError, match="async def"):
            tool(function)


def test_a_lambda_needs_a_name():
    with pytest.raises(TypeError, match="lambda has no name"):
        tool(lambda: 1)
    with pytest.raises(TypeError, match="lambda has no name"):
        read_tools([lambda: 1])
    assert list(read_tools({"one": lambda: 1})) == ["one"]


def test_a_parameter_that_cannot_be_given_by_name_is_refused():
    def look(at, /):
        """Look."""

    with pytest.raises(TypeError, match=r'"at" cannot be given by name.*Take the / out'):
        tool(look)


def test_a_type_that_cannot_be_checked_or_read_is_refused():
    class Shelf:
        pass

    def look(at: Shelf):
        """Look."""

    def see(at: "NotThere"):  # noqa: F821
        """See."""

    with pytest.raises(TypeError, match=r"arguments of tool look have a type that cannot be checked"):
        tool(look)
    with pytest.raises(TypeError, match=r"types of tool see cannot be read.*NotThere"):
        tool(see)


@pytest.mark.parametrize("wrong", [0, -1, 0.0, "1", True, float("nan"), [1]])
def test_a_time_limit_is_a_number_above_0(wrong):
    with pytest.raises(ValueError, match="timeout_seconds is a number above 0, or None"):
        tool(stock_level, timeout_seconds=wrong)


# --- the table --------------------------------------------------------------------------------------


def test_tools_come_as_a_dict_of_functions_or_tools_or_as_a_list_of_either():
    risky = tool(stock_level, risky=True, name="other")
    assert list(read_tools({"a": stock_level, "b": risky})) == ["a", "b"]
    assert (read_tools({"b": risky})["b"].name, read_tools({"b": risky})["b"].risky) == ("b", True)
    assert list(read_tools([stock_level, risky])) == ["stock_level", "other"]
    assert list(read_tools((stock_level,))) == ["stock_level"]
    assert read_tools([]) == read_tools({}) == {}


@pytest.mark.parametrize("wrong", [None, "look", b"look", 5, stock_level])
def test_what_is_no_table_of_tools_is_refused(wrong):
    with pytest.raises(TypeError, match="tools is a dict of names and functions, or a list of functions"):
        read_tools(wrong)


def test_names_are_texts_and_come_once():
    with pytest.raises(TypeError, match=r"The name of a tool is text, but was 1 \(int\)"):
        read_tools({1: stock_level})
    with pytest.raises(ValueError, match='Two tools are called "stock_level"'):
        read_tools([stock_level, stock_level])


# --- the check of arguments -------------------------------------------------------------------------


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Parcel(BaseModel):
    weight: float
    to: str = "shop"


def order(
    mugs: int,
    colour: Literal["blue", "red"] = "blue",
    sizes: list[Size] | None = None,
    parcel: Parcel | None = None,
    price: Annotated[float, Field(gt=0)] = 1.0,
) -> str:
    """Order mugs."""
    return f"{mugs} {colour} {sizes} {parcel} {price}"


@pytest.mark.parametrize(
    ("input", "words"),
    [
        ({}, 'argument "mugs" is missing'),
        ({"mugs": "3"}, 'argument "mugs": expected a valid integer, got "3" (text)'),
        ({"mugs": 3.5}, 'argument "mugs": expected a valid integer, got 3.5 (float)'),
        ({"mugs": True}, 'argument "mugs": expected a valid integer, got True (bool)'),
        ({"mugs": None}, 'argument "mugs": expected a valid integer, got None'),
        ({"mugs": [3]}, 'argument "mugs": expected a valid integer, got [3] (list)'),
        ({"mugs": 3, "mug": 4}, 'there is no argument "mug"'),
        (
            {"mugs": 3, "colour": "green"},
            "argument \"colour\": expected 'blue' or 'red', got \"green\" (text)",
        ),
        ({"mugs": 3, "sizes": ["small", "tiny"]}, "expected 'small' or 'large', got \"tiny\" (text)"),
        ({"mugs": 3, "sizes": "small"}, "expected a valid array"),
        ({"mugs": 3, "parcel": {"to": "me"}}, 'argument "parcel.weight" is missing'),
        ({"mugs": 3, "price": 0}, 'argument "price": expected greater than 0, got 0'),
        ({"mugs": "3", "colour": "green", "x": 1}, "; "),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected_and_the_tool_does_not_run(input, words):
    outcome = outcome_of(order, input)
    assert (outcome.ran, outcome.failed, outcome.fatal) == (False, True, False)
    assert outcome.result["error"] == "invalid_input"
    assert words in outcome.result["message"]
    assert outcome.result["message"].endswith("Its arguments: mugs, colour, sizes, parcel, price.")


def test_right_arguments_reach_the_function_in_its_own_types():
    result = result_of(order, {"mugs": 3, "sizes": ["small"], "parcel": {"weight": 1}, "price": 2})
    assert result == "3 blue [<Size.SMALL: 'small'>] weight=1.0 to='shop' 2.0"
    assert result_of(order, {"mugs": 3}) == "3 blue None None 1.0"


@pytest.mark.parametrize(
    "text", ["", "{", '{"mugs": 3', '{"mugs": 3} {}', "[]", "null", "3", '"mugs"', '{"mugs": NaN}', "\ud800"]
)
@pytest.mark.parametrize("function", [order, min])
def test_arguments_that_are_no_json_object_are_refused(text, function):
    outcome = run_tool({"it": tool(function, name="it")}, "it", text)
    assert outcome.result["error"] in ("invalid_input", "tool_failed")
    assert_json_ready(outcome.result)


def test_a_function_with_free_keywords_takes_any_argument_by_name():
    def look(at: int, **more):
        return [at, sorted(more)]

    assert result_of(look, {"at": 1, "x": 2, "y": [3]}) == [1, ["x", "y"]]
    assert result_of(look, {"x": 2})["error"] == "invalid_input"


def test_arguments_without_types_take_any_json_value():
    assert result_of(lambda at: [at], {"at": {"deep": [None]}}) == [{"deep": [None]}]


def test_a_check_of_the_tools_own_may_raise_anything():
    def no_exit(value: str) -> str:
        raise SystemExit(f"{value} is out of order")

    def look(at: Annotated[str, AfterValidator(no_exit)]):
        """Look."""

    outcome = outcome_of(look, {"at": "shelf"})
    assert (outcome.ran, outcome.result["error"]) == (False, "invalid_input")
    assert "shelf is out of order" in outcome.result["message"]


def test_the_words_about_100_wrong_arguments_stay_short():
    outcome = outcome_of(order, {f"argument_{number}" * 30: number for number in range(100)})
    assert len(outcome.result["message"]) <= 2_000


# --- failing ----------------------------------------------------------------------------------------


def raising(problem):
    def it():
        raise problem

    return it


class Own(BaseException):
    pass


class Wordless(Exception):
    def __str__(self):
        raise SystemExit("no words")


class BareToolError(ToolError):
    def __init__(self):  # forgets to call the one above it
        pass


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (ValueError('Use "north".'), "tool_failed", 'Use "north".'),
        (RuntimeError("no line"), "tool_failed", "no line"),
        (KeyError("north"), "tool_failed", "KeyError: 'north'"),
        (ZeroDivisionError("division by zero"), "tool_failed", "ZeroDivisionError: division by zero"),
        (OSError(2, "No such file"), "tool_failed", "FileNotFoundError: [Errno 2] No such file"),
        (ValueError(), "tool_failed", "ValueError with no message"),
        (ValueError(" \n"), "tool_failed", "ValueError with no message"),
        (Wordless(), "tool_failed", "Wordless with no message"),
        (SystemExit(3), "tool_failed", "SystemExit: 3"),
        (GeneratorExit(), "tool_failed", "GeneratorExit with no message"),
        (StopIteration("end"), "tool_failed", "StopIteration: end"),
        (Own("mine"), "tool_failed", "Own: mine"),
        (MemoryError(), "tool_failed", "MemoryError with no message"),
        (ToolError("No order 1099."), "tool_failed", "No order 1099."),
        (ToolError("No order 1099.", "not_found"), "not_found", "No order 1099."),
        (ToolError("No code.", ""), "tool_failed", "No code."),
        (ToolError("Half.", "\ud800"), "\ufffd", "Half."),
        (BareToolError(), "tool_failed", "BareToolError with no message"),
        (ValueError("half \ud800"), "tool_failed", "half \ufffd"),
    ],
)
def test_whatever_a_tool_raises_becomes_its_result(problem, code, message):
    outcome = outcome_of(raising(problem))
    assert outcome.result == {"error": code, "message": message}
    assert (outcome.ran, outcome.failed, outcome.fatal) == (True, True, False)
    assert_json_ready(outcome.result)


def test_a_code_that_is_no_text_is_refused_where_it_is_given():
    with pytest.raises(TypeError, match="The code of an error is text, but was 404"):
        ToolError("not there", 404)


@pytest.mark.parametrize(("length", "cut"), [(2_000, False), (2_001, True), (1_000_000, True)])
def test_the_message_of_an_error_is_cut_to_2000_characters(length, cut):
    message = result_of(raising(ValueError("x" * length)))["message"]
    assert len(message) == 2_000
    assert message.endswith(f"(cut, {length} characters in all)") == cut


def test_a_fatal_error_says_so_and_an_unrun_one_counts_as_not_run():
    fatal = outcome_of(raising(FatalToolError("The key is wrong.")))
    assert fatal[2:] == (True, True, True)
    assert fatal.result == {"error": "fatal", "message": "The key is wrong."}
    unrun = outcome_of(raising(UnrunError("No such shelf.", "not_found")))
    assert unrun[2:] == (False, True, False)
    harmless = outcome_of(raising(UnrunError("Not now.", failed=False)))
    assert harmless[2:] == (False, False, False)


def test_only_a_persons_interrupt_passes_through_a_tool():
    with pytest.raises(KeyboardInterrupt):
        outcome_of(raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        outcome_of(raising(KeyboardInterrupt()), wait_seconds=5)


def test_endless_recursion_in_a_tool_becomes_its_result():
    def it():
        return it()

    assert "maximum recursion depth" in result_of(it)["message"]


def test_an_unknown_tool_gets_an_error_that_names_the_tools_there_are():
    outcome = run_tool(read_tools({"b": min, "a": min}), "c" * 100, "{}")
    assert (outcome.ran, outcome.failed, outcome.result["error"]) == (False, True, "unknown_tool")
    assert outcome.result["message"] == f'There is no tool called "{"c" * 77}...". Tools: a, b.'
    assert run_tool({}, "a", "{}").result["message"].endswith("Tools: none.")


SAID = [(ValueError("plain"), "plain"), (KeyError("k"), "KeyError: 'k'")]


@pytest.mark.parametrize(("problem", "words"), [*SAID, (OSError("x" * 3_000), "OSError: xxx")])
def test_words_are_at_most_2000_characters_and_name_the_type_where_it_is_needed(problem, words):
    assert words_of(problem).startswith(words)
    assert len(words_of(problem)) <= 2_000


# --- returning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "text", [], {}, {"a": [1, {"b": None}]}])
def test_a_result_that_json_can_hold_is_kept_as_it_is(value):
    outcome = outcome_of(lambda: value)
    assert outcome == (value, json.dumps(value, separators=(",", ":")), True, False, False)


@pytest.mark.parametrize("name", ODD_VALUES)
def test_any_other_result_is_made_ready_for_json_and_says_so(name):
    outcome = outcome_of(ODD_VALUES[name])
    assert outcome.ran
    assert_json_ready(outcome.result)
    assert json.loads(outcome.text) == outcome.result


@pytest.mark.parametrize("name", ["a set", "not a number", "bytes", "an object", "a generator without end",
                                  "a list that contains itself", "half a character"])  # fmt: skip
def test_a_changed_result_carries_a_note_for_the_model(name):
    result = result_of(ODD_VALUES[name])
    assert sorted(result) == ["note", "value"]
    assert result["note"].startswith("Changed to fit JSON: ")


def test_a_generator_is_not_drained():
    taken = []

    def numbers():
        while True:
            taken.append(1)
            yield 1

    assert result_of(numbers)["value"] == "<generator>"
    assert taken == []


def test_a_result_whose_error_is_text_counts_as_failed_though_the_tool_ran():
    outcome = outcome_of(lambda: {"error": "not_found", "hint": "Look elsewhere."})
    assert (outcome.ran, outcome.failed) == (True, True)
    assert outcome.result == {"error": "not_found", "hint": "Look elsewhere."}
    assert not outcome_of(lambda: {"error": None}).failed


def test_a_coroutine_that_comes_back_is_closed_and_reported():
    async def later():
        """Come later."""

    outcome = outcome_of(lambda: later())
    assert outcome.result["message"] == "it returned a coroutine; a tool is a plain function."


# --- time limits ------------------------------------------------------------------------------------


def test_a_result_within_the_limit_comes_from_another_thread_that_is_used_again():
    worker = Worker()
    threads = [outcome_of(threading.get_ident, worker=worker, wait_seconds=5).result for _ in range(3)]
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()
    failed = outcome_of(raising(KeyError("n")), worker=worker, wait_seconds=5)
    assert failed.result["message"] == "KeyError: 'n'"
    worker.close()


def test_after_a_tool_that_hangs_the_next_one_gets_a_new_thread():
    worker, gate = Worker(), threading.Event()
    hung = outcome_of(gate.wait, worker=worker, wait_seconds=0.02)
    fine = outcome_of(lambda: "fine", worker=worker, wait_seconds=5)
    gate.set()
    worker.close()
    assert (hung.result["error"], hung.ran, hung.failed) == ("timed_out", True, True)
    assert hung.result["message"] == "it gave no result within 0.02 s. The work may still be running."
    assert fine.result == "fine"


def test_a_worker_that_is_closed_leaves_no_thread_behind_and_can_be_used_again():
    worker = Worker()
    threads = []
    assert worker.run(lambda: threads.append(threading.current_thread()), {}, 5) is None
    worker.close()
    worker.close()
    threads[0].join(5)
    assert not threads[0].is_alive()
    assert worker.run(lambda: "again", {}, 5) == "again"
    worker.close()


@pytest.mark.parametrize("seconds", [1e12, float("inf")])
def test_a_limit_of_thousands_of_years_is_no_problem(seconds):
    worker = Worker()
    assert worker.run(lambda: "now", {}, seconds) == "now"
    worker.close()


def test_a_run_leaves_no_thread_behind_however_it_ends():
    threads = []

    def look():
        """Look."""
        threads.append(threading.current_thread())
        if len(threads) == 2:
            raise KeyboardInterrupt
        return 1

    looking = tool(look, timeout_seconds=5)
    assert_sound(run_agent(ScriptedModel([ask("look"), answer("done")]), [looking], "Goal"))
    assert run_agent(ScriptedModel([ask("look"), answer("done")]), [looking], "Goal").stopped == "cancelled"
    for thread in threads:
        thread.join(5)
    assert [thread.is_alive() for thread in threads] == [False, False]


def test_a_tool_without_a_limit_runs_in_the_callers_own_thread():
    assert outcome_of(threading.get_ident).result == threading.get_ident()


def test_a_limit_does_not_slow_down_a_quick_tool():
    worker = Worker()
    began = time.perf_counter()
    for _ in range(200):
        worker.run(int, {}, 60)
    worker.close()
    assert time.perf_counter() - began < 2


def test_a_tool_is_a_frozen_record():
    made = tool(stock_level)
    assert isinstance(made, Tool)
    with pytest.raises(AttributeError):
        made.risky = True
