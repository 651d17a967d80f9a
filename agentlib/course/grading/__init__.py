"""Grades a class: learners' code runs in a child without tests; the model and the tools are played here.

`python -m agentlib grade FOLDER --out DIR` grades a folder. `grade_notebook` grades one file.
"""

from agentlib.course.grading.batch import Batch, grade_folder
from agentlib.course.grading.grade import Row, grade_notebook
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.results import write_results
from agentlib.course.grading.sandbox import RUNGS, Rung
from agentlib.course.grading.sandbox_root import Home, make_home, temporary_home
from agentlib.course.grading.selection import Choice, SandboxError, banner, choose_rung

__all__ = [
    "RUNGS",
    "Batch",
    "Choice",
    "Home",
    "Limits",
    "Row",
    "Rung",
    "SandboxError",
    "banner",
    "choose_rung",
    "grade_folder",
    "grade_notebook",
    "make_home",
    "temporary_home",
    "write_results",
]
