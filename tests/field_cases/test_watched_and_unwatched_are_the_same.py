"""A watched loop gives the values, calls and side effects that it gives unwatched.

Known bugs of this kind: cpython 74929 (variables written back), PySnooper 232, lineapy 674, wraptor 1.
"""

# The loops stand here as learners write them.
# ruff: noqa: B018, E702

import bdb
import contextvars
import dataclasses
import functools
import sys
import threading
import time
import weakref

import pytest

from agentlib import answer, ask
from agentlib.models import ScriptedModel
from agentlib.watch import watch

GOAL = "How many?"


def result_of(run_agent, tools, watched):
    """What a loop returns: a value, or the exception that it raises."""
    model = ScriptedModel([ask("look"), ask("look"), answer("end")])
    if watched:
        trace = watch(run_agent, model, tools, GOAL, max_lines=10_000_000)
        return trace.events[-1].entry["returned"] if trace.stopped == "returned" else trace.detail
    try:
        return run_agent(model, tools, GOAL)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def assert_same(run_agent, make_tools=lambda: {"look": lambda: 1}):
    """Run a loop both ways and give back what came out."""
    unwatched = result_of(run_agent, make_tools(), watched=False)
    assert result_of(run_agent, make_tools(), watched=True) == unwatched
    return unwatched


# --- threads ----------------------------------------------------------------------------------------


def counts_in_a_thread(model, tools, goal):
    count = 0

    def add():
        nonlocal count
        for _ in range(200):
            count += 1
            time.sleep(0)

    worker = threading.Thread(target=add)
    worker.start()
    waits = 0
    while worker.is_alive():
        waits += 1
    worker.join()
    return [count, len(model([{"role": "user", "text": goal}]))]


def counts_in_a_tool_that_has_a_thread(model, tools, goal):
    count = 0

    def add(number):
        nonlocal count
        for _ in range(number):
            count += 1
            time.sleep(0)

    workers = [threading.Thread(target=functools.partial(tools["spread"], add)) for _ in range(3)]
    for worker in workers:
        worker.start()
    waits = 0
    while any(worker.is_alive() for worker in workers):
        waits += 1
    return count > 0 and [worker.join() for worker in workers]


def counts_in_an_inner_function(model, tools, goal):
    count = 0

    def both():
        def add():
            nonlocal count
            for _ in range(200):
                count += 1
                time.sleep(0)

        worker = threading.Thread(target=add)
        worker.start()
        waits = 0
        while worker.is_alive():
            waits += 1
        return count

    return [both(), count]


@pytest.mark.parametrize(
    "run_agent", [counts_in_a_thread, counts_in_an_inner_function, counts_in_a_tool_that_has_a_thread]
)
def test_no_change_that_a_thread_makes_is_lost(run_agent):
    def spread(add):
        add(100)

    assert_same(run_agent, lambda: {"spread": spread})


def test_a_thread_of_a_tool_changes_what_a_loop_in_a_function_sees():
    def made():
        beats, over = 0, False

        def beat():
            nonlocal beats, over
            for _ in range(200):
                beats += 1
                time.sleep(0)
            over = True

        def loop(model, tools, goal):
            tools["begin"]()
            waits = 0
            while not over:
                waits += 1
            return beats

        return loop, {"begin": lambda: threading.Thread(target=beat).start()}

    for watched in (False, True):
        loop, tools = made()
        assert result_of(loop, tools, watched) == 200


@pytest.mark.parametrize("watched", [False, True])
def test_a_thread_of_its_own_runs_on_while_a_debugger_follows_the_loop(watched):
    def every_line(frame, event, arg):
        return every_line

    before = sys.gettrace()
    sys.settrace(every_line)
    try:
        assert result_of(counts_in_a_thread, {}, watched) == [200, 3]
    finally:
        sys.settrace(before)


# --- locals() and other looks at variables ------------------------------------------------------------


def keeps_its_locals(model, tools, goal):
    before = locals()
    count = 1
    count += 1
    later = count
    return ["count" in before, "later" in before, sorted(before)]


def changes_its_locals(model, tools, goal):
    count = 1
    locals()["count"] = 9
    seen = locals()
    count += 1
    tools["look"]()
    return [count, seen["count"]]


def evaluates(model, tools, goal):
    count = 1
    names = eval("locals()")
    count = 2
    return [count, names["count"]]


def asks_vars(model, tools, goal):
    names = vars()
    count = 2
    history = [{"role": "user", "text": goal}]
    return ["count" in names, len(model(history)), count]


@pytest.mark.parametrize("run_agent", [keeps_its_locals, changes_its_locals, evaluates, asks_vars])
def test_locals_are_what_they_are_unwatched(run_agent):
    assert_same(run_agent)


# --- side effects of a look ---------------------------------------------------------------------------


class Shy:
    """Counts how often anybody looks."""

    def __init__(self):
        self.looks = []

    def __repr__(self):
        self.looks.append("repr")
        return "Shy"

    def __eq__(self, other):
        self.looks.append("eq")
        return self is other

    def __len__(self):
        self.looks.append("len")
        return 1

    def __bool__(self):
        self.looks.append("bool")
        return True

    def __getattr__(self, name):
        if not name.startswith("_"):
            self.looks.append(name)
        raise AttributeError(name)

    __hash__ = None


class ShyList(list):
    """A list that says when it is gone through."""

    looks = ()

    def __iter__(self):
        self.looks = [*self.looks, "iter"]
        return super().__iter__()

    def __len__(self):
        self.looks = [*self.looks, "len"]
        return super().__len__()


@pytest.mark.parametrize("make", [Shy, ShyList])
def test_no_method_of_a_value_is_called_by_a_look(make):
    def holding(model, tools, goal):
        one = make()
        both = [make(), {"in": make()}, (make(),)]
        history = [{"role": "user", "text": goal}]
        model(history)
        one, other = make(), one
        later = {"in": 1}
        later = {"in": other}
        later = 1
        looks = [list(thing.looks) for thing in (one, other, both[0], both[1]["in"], both[2][0])]
        return [looks, later]

    assert_same(holding)


def _counted(kind):
    """Make a class of dicts or lists that counts how often anybody asks it anything."""

    def counting(name):
        def asked(self, *args):
            asks[0] += 1
            return getattr(kind, name)(self, *args)

        return asked

    asks = [0]
    names = {"__eq__", "__iter__", "__len__", "__getitem__", "__contains__", "items", "keys", "values", "get",
             "copy", "__repr__"}  # fmt: skip
    own = {name: counting(name) for name in names if hasattr(kind, name)}
    return type(f"Counted{kind.__name__}", (kind,), {**own, "__hash__": None}), asks


@pytest.mark.parametrize("kind", [dict, list])
def test_no_method_of_an_entry_or_of_the_history_is_called_by_a_look(kind):
    def asked(model, tools, goal):
        made, asks = _counted(kind)
        first = {"role": "user", "text": goal}
        history = [made(first)] if kind is dict else made([first])
        beside = [made()]
        history.append(model(history))
        beside.append(2)
        history.append(model(history))
        return asks[0]

    assert assert_same(asked) == 0


def test_a_history_of_a_class_of_ones_own_is_followed():
    def loop(model, tools, goal):
        history = _counted(list)[0]([_counted(dict)[0](role="user", text=goal)])
        history.append(model(history))
        list.__getitem__(history, 0)["text"] = "changed"
        return model(history)["text"]

    trace = watch(loop, ScriptedModel([ask("look"), answer("end")]), {}, "Goal")
    assert [history[0]["text"] for history in trace.histories()] == ["Goal", "changed"]


class Proxy:
    """Says that it is of another class, as stand-ins do in tests and for what is loaded late."""

    def __init__(self, kind):
        self.kind = kind
        self.asked = 0

    @property
    def __class__(self):
        self.asked += 1
        return self.kind


@pytest.mark.parametrize("kind", [dict, list, str, int])
def test_what_claims_to_be_of_another_class_does_no_harm(kind):
    def holding(model, tools, goal):
        proxy = Proxy(kind)
        several = [proxy, {"in": proxy}]
        history = [{"role": "user", "text": goal}]
        model(history)
        later = several[0]
        return later.asked

    assert assert_same(holding) == 0


def test_what_a_loop_lets_go_is_gone_by_its_next_line():
    class Thing:
        pass

    def lets_go(model, tools, goal):
        thing = Thing()
        gone = weakref.ref(thing)
        many = [thing]
        del thing
        del many
        first = gone() is None
        history = [{"role": "user", "text": goal}]
        model(history)
        return first

    assert assert_same(lets_go) is True


# --- generators, recursion, classes, context ---------------------------------------------------------


def yields(model, tools, goal):
    def rounds(most):
        done = 0
        try:
            while done < most:
                got = yield done
                done += 1 if got is None else got
        finally:
            tools["look"]()

    going = rounds(6)
    seen = [next(going), going.send(2), next(going)]
    going.close()
    return [seen, list(rounds(3)), tools["count"]()]


def recurses(model, tools, goal, depth=4, history=None):
    history = [*(history or []), {"role": "user", "text": goal}]
    total = depth
    if depth:
        total += recurses(model, tools, goal, depth - 1, history)
    else:
        model(history)
    return total


def catches_on_one_line(model, tools, goal):
    found = 0
    try:
        found = tools["look"](); 1 / 0  # fmt: skip
    except ZeroDivisionError:
        return found


class Counting:
    coins = 0

    def run(self, model, tools, goal):
        self.history = [{"role": "user", "text": goal}]
        while self.turn(model):
            pass
        return [self.coins, len(self.history)]

    def turn(self, model):
        reply = model(self.history)
        self.coins += len(self.history)
        self.history.append(reply)
        return reply["type"] != "answer"

    def __call__(self, model, tools, goal):
        return Counting().run(model, tools, goal)


def closes_over(model, tools, goal):
    made = [lambda number=number: number + base for number in range(3)]
    base = 10
    first = [one() for one in made]
    base = 20
    return [first, [one() for one in made]]


def counting_tools():
    runs = []
    return {"look": lambda: runs.append(1) or len(runs), "count": lambda: len(runs)}


@pytest.mark.parametrize("run_agent", [yields, recurses, catches_on_one_line, Counting(), closes_over])
def test_loops_of_every_shape_come_out_the_same(run_agent):
    assert_same(run_agent, counting_tools)


def test_context_variables_are_the_callers():
    level = contextvars.ContextVar("level", default=0)

    def deeper(model, tools, goal):
        level.set(level.get() + 1)
        model([{"role": "user", "text": goal}])
        return [level.get(), tools["look"](), level.get()]

    def look():
        level.set(level.get() + 10)
        return level.get()

    for watched in (False, True):
        context = contextvars.copy_context()
        returned = context.run(result_of, deeper, {"look": look}, watched)
        assert (returned, context[level]) == ([1, 11, 11], 11)


# --- beside a debugger --------------------------------------------------------------------------------


class Changes(bdb.Bdb):
    """Sets a variable of the loop where it stops at a line, as one does at a debugger's prompt."""

    def __init__(self):
        super().__init__()
        self.stops = 0

    def user_line(self, frame):
        if frame.f_code is to_be_changed.__code__:
            self.stops += 1
            if "count" in frame.f_locals and frame.f_locals["count"] == 1:
                frame.f_locals["count"] = 50
        self.set_step()


def to_be_changed(model, tools, goal):
    count = 1
    count += 1
    reply = model([{"role": "user", "text": goal}])
    count += len(reply)
    return count


def test_what_a_debugger_sets_stays_set():
    stops = []
    before = sys.gettrace()
    for watched in (False, True):
        debugger = Changes()
        try:
            assert debugger.runcall(result_of, to_be_changed, {}, watched) == 54
        finally:
            sys.settrace(before)
        stops.append(debugger.stops)
    assert stops[0] == stops[1] >= 5


@dataclasses.dataclass
class Account:
    coins: int = 0


def test_objects_are_the_very_same_for_the_loop():
    account = Account()

    def spends(model, tools, goal):
        history = [account]
        model(history)
        history[0].coins += 1
        return [history[0] is account, account.coins]

    assert result_of(spends, {}, watched=True) == [True, 1]
    assert account == Account(1)
