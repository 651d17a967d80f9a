"""Grades a class: learners' code runs in a child without tests; the model and the tools are played here.

`python -m agentlib grade FOLDER --out DIR` grades a folder. `grade_notebook` grades one file.
"""

from agentlib.grading.batch import Batch, grade_folder
from agentlib.grading.grade import Row, grade_notebook
from agentlib.grading.home import Home, make_home, temporary_home
from agentlib.grading.ladder import Choice, NoRung, banner, choose_rung
from agentlib.grading.limits import Limits
from agentlib.grading.results import write_results
from agentlib.grading.rungs import RUNGS, Rung

__all__ = [
    "RUNGS",
    "Batch",
    "Choice",
    "Home",
    "Limits",
    "NoRung",
    "Row",
    "Rung",
    "banner",
    "choose_rung",
    "grade_folder",
    "grade_notebook",
    "make_home",
    "temporary_home",
    "write_results",
]
