"""All tests are spread over three processes; a part of them, named on the command line, runs in one.

Some tests wait for a clock, so on two cores a third process still makes it shorter.
"""

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentlib.course.grading import SandboxRoot


@pytest.fixture(scope="session", autouse=True)
def _nobodys_progress() -> Iterator[None]:
    """Keep what tests and notebooks answer apart from what the learner on this computer has done."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("AGENTLIB_DATA_DIR", folder)
        yield


@pytest.fixture(scope="session")
def root() -> "Iterator[SandboxRoot]":
    """Give one sandbox root, from which all tests start their children."""
    from agentlib.course.grading import temporary_sandbox_root  # noqa: PLC0415  few tests grade

    with temporary_sandbox_root() as made:
        yield made


@pytest.hookimpl(optionalhook=True)  # the hook is pytest-xdist's
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Say how many processes `-n auto` stands for."""
    return 3 if config.args_source is pytest.Config.ArgsSource.TESTPATHS else 0
