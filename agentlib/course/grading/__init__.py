"""Grades a class: learners' code runs in a child without tests; the model and the tools are played here.

`python -m agentlib grade FOLDER --out DIR` grades a folder. `grade_notebook` grades one file.
"""

from agentlib.course.grading.batch import Batch, grade_folder
from agentlib.course.grading.grade import Row, grade_notebook
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import BACKENDS, Backend
from agentlib.course.grading.sandbox_root import SandboxRoot, make_sandbox_root, temporary_sandbox_root
from agentlib.course.grading.selection import Selection, banner, choose_backend

__all__ = [
    "BACKENDS",
    "Backend",
    "Batch",
    "Limits",
    "Row",
    "SandboxRoot",
    "Selection",
    "banner",
    "choose_backend",
    "grade_folder",
    "grade_notebook",
    "make_sandbox_root",
    "temporary_sandbox_root",
]
