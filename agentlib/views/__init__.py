"""What a learner looks at: tables, the tracer and plots. Each has a form in HTML and one in plain text."""

from agentlib.views import plots
from agentlib.views.moving import moving
from agentlib.views.quiz import final_test, quiz
from agentlib.views.tables import history_table, run_table
from agentlib.views.tracer import tracer

__all__ = ["final_test", "history_table", "moving", "plots", "quiz", "run_table", "tracer"]
