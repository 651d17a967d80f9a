"""The tasks of lesson 04: what is the same call, how often did it come, and is that too often?"""

from agentlib.course.quick_checks.task import SmallTask, Wrong, call
from agentlib.labs import by_hand
from agentlib.messages import ask

FERRY = ask("ferry_to", island="Texel", day="Monday")
TURNED = ask("ferry_to", day="Monday", island="Texel")
LATER = ask("ferry_to", island="Texel", day="Tuesday")
THERE = ask("ferry_to", island="Texel", start="Vlieland")
BACK = ask("ferry_to", island="Vlieland", start="Texel")
BUS = ask("bus_to", island="Texel", day="Monday")

TASKS = (
    SmallTask(
        name="04 same call",
        ours=by_hand.same_call,
        cases=(
            call(FERRY, LATER, said="for one tool with two days"),
            call(FERRY, BUS, said="for two tools with one input"),
            call(FERRY, FERRY, said="for the same request twice"),
            call(FERRY, TURNED, said="for the same input in another order"),
            call(THERE, BACK, said="for the way there and the way back", hint="Each value has its name"),
            call(
                FERRY,
                {**TURNED, "id": "call_7", "text": "Once more."},
                said="for the same call with another id",
                hint="Only the tool and the input count",
            ),
            call(
                ask("ferry_to", number=5),
                ask("ferry_to", number="5"),
                said="for the number 5 and the text 5",
                hint="Compare the values, not how they are written",
            ),
            call(
                ask("ferry_to", island="Texel"),
                FERRY,
                said="for an input with one name less",
                hint="All of the input counts",
            ),
        ),
        wrong=(
            Wrong(
                ' and one["input"] == other["input"]',
                "",
                "for one tool with two days, it gave True, not False",
            ),
            Wrong('one["tool"] == other["tool"] and ', "", "for two tools with one input, it gave True"),
            Wrong(
                'one["input"] == other["input"]', "str(one) == str(other)", "in another order, it gave False"
            ),
            Wrong(
                'one["input"] == other["input"]',
                'sorted(one["input"].values()) == sorted(other["input"].values())',
                "for the way there and the way back, it gave True",
            ),
            Wrong(
                'one["tool"] == other["tool"] and one["input"] == other["input"]',
                "one == other",
                "for the same call with another id, it gave False",
            ),
            Wrong(
                'one["input"] == other["input"]',
                "all(str(one['input'][key]) == str(other['input'].get(key)) for key in one['input'])",
                "for the number 5 and the text 5, it gave True",
            ),
        ),
    ),
    SmallTask(
        name="04 times asked",
        ours=by_hand.times_asked,
        cases=(
            call(FERRY, [], said="for a request that comes first", hint="This time counts, too"),
            call(FERRY, [FERRY, BUS, FERRY], said="for one that came twice before"),
            call(FERRY, [FERRY, BUS, LATER], said="for one that came first, with others in between"),
            call(FERRY, [TURNED, BUS], said="for one that came with its input in another order"),
            call(
                FERRY,
                [{**TURNED, "id": "call_7"}],
                said="for one that came with another id",
                hint="`same_call` looks at the tool and the input alone",
            ),
            call(
                FERRY,
                [BUS],
                changed=1,
                look=lambda earlier: [request["tool"] for request in earlier],
                said="in the list `earlier`",
                hint="The loop puts the request there afterwards",
            ),
            call(LATER, [BUS, FERRY], said="for one that never came before"),
        ),
        wrong=(
            Wrong(
                "count = 1\n",
                "count = 1\n    earlier += [request]\n    count -= 1\n",
                "in the list `earlier`, it left bus_to, ferry_to, not bus_to",
            ),
            Wrong("count = 1", "count = 0", "for a request that comes first, it gave 0, not 1"),
            Wrong("same_call(request, before)", "request == earlier[-1]", "it gave"),
            Wrong("same_call(request, before)", "str(request) == str(before)", "in another order, it gave 1"),
            Wrong(
                "same_call(request, before)",
                'request["tool"] == before["tool"]',
                "others in between, it gave 3",
            ),
            Wrong("earlier:", "earlier[-1:]:", "for one that came twice before, it gave 2, not 3"),
        ),
    ),
    SmallTask(
        name="04 too often",
        ours=by_hand.too_often,
        cases=(
            call(1, times=4),
            call(3, times=4, hint="The fourth request is the first that has come too often"),
            call(4, times=4, hint="The fourth of four is one too many, not the fifth"),
            call(5, times=4, hint="Once it has come too often, it has"),
            call(2, times=2, hint="`times` is not always the same"),
        ),
        wrong=(
            Wrong("count >= times", "count > times", "for (4, times=4), it gave False, not True"),
            Wrong("count >= times", "count == times", "for (5, times=4), it gave False, not True"),
            Wrong("count >= times", "count >= 3", "for (3, times=4), it gave True, not False"),
        ),
    ),
)
