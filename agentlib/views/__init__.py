"""What a learner looks at: tables, the tracer and plots. Each has a form in HTML and one in plain text."""

from typing import Any

from agentlib.views import plots
from agentlib.views.moving import moving
from agentlib.views.person import ask_person
from agentlib.views.playground import playground
from agentlib.views.quiz import quiz
from agentlib.views.quiz.predictions import predict, predicted
from agentlib.views.tables import history_table, run_table
from agentlib.views.tracer import save_page, tracer

__all__ = [
    "ask_person",
    "history_table",
    "moving",
    "playground",
    "plots",
    "predict",
    "predicted",
    "quiz",
    "run_table",
    "save_page",
    "tracer",
]


def __getattr__(name: str) -> Any:
    """Give what the first form of the course had here; saved notebooks still import it from here."""
    if name == "final_test":
        from agentlib.course import final_test

        return final_test
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
