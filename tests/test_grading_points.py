"""No points without the work: what a child says of itself earns nothing in any exercise."""

import pytest

from agentlib.course.checking.engine import check_with
from agentlib.course.exercises import EXERCISES

ERROR = {"type": "ValueError", "message": "no", "line": 1, "code": "", "place": ""}
VALUES = (None, [], {}, "", True, 0)
OUTCOMES = [
    *({"returned": value, "type": type(value).__name__, "changed": []} for value in VALUES),
    {"returned": {"answer": None, "steps": 0, "stopped": "step limit"}, "type": "dict", "changed": []},
    {"interrupted": True},
    {"raised": ERROR},
    {"ended": "ran too long"},
]


class Says:
    """A learner that calls nothing, and says of every call that it ended like this."""

    def __init__(self, outcome):
        self.outcome = outcome

    def run(self, request, called, seconds):
        return dict(self.outcome)


class SaysAfterOneAsk(Says):
    """One that asks the model once, with the request that it was given, and looks at nothing."""

    def run(self, request, called, seconds):
        called("model", [[{"role": "user", "text": "?"}]], {})
        return dict(self.outcome)


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_what_is_only_said_earns_no_points(name, outcome):
    for seed in range(3):
        report = check_with(EXERCISES[name], Says(outcome), seed)
        assert report.points == 0, [one for one in report.results if one.points]


@pytest.mark.parametrize("name", [name for name in EXERCISES if EXERCISES[name].functions == ("run_agent",)])
@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_nor_does_it_after_the_model_was_asked_once(name, outcome):
    report = check_with(EXERCISES[name], SaysAfterOneAsk(outcome), 0)
    assert report.points == 0, [one for one in report.results if one.points]
