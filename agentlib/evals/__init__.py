"""Graded cases over many runs: how often an agent passes, how sure that is, what it costs.

One run says little about an agent whose path varies. Each case is run many times, each time with another
seed; the pass rate comes with an interval, and two versions are compared on the same seeds.

A judge that is a model can check what no rule can; `measure_judge` says how often it errs. A build fails if a
change makes the agent worse: `assert got_worse(before, after) == []`.
"""

from agentlib.evals.comparing import Comparison, compare_reports, got_worse
from agentlib.evals.judge import JudgeErrors, measure_judge, model_judge
from agentlib.evals.rates import Rate, pass_hat, rate_of, wilson_interval
from agentlib.evals.report import Report, Result, Spread
from agentlib.evals.running import Case, evaluate, load_report

__all__ = [
    "Case",
    "Comparison",
    "JudgeErrors",
    "Rate",
    "Report",
    "Result",
    "Spread",
    "compare",
    "compare_reports",
    "evaluate",
    "got_worse",
    "load_report",
    "measure_judge",
    "model_judge",
    "pass_hat",
    "rate_of",
    "wilson_interval",
]

compare = compare_reports  # as lesson 11 called it: `evals.compare(many, yours)`
