"""The command line of the course: `python -m agentlib COMMAND`.

Each command is a function `(arguments) -> exit code`; the `add_...` function beside it adds its parser here.
"""

import argparse
import sys
from collections.abc import Sequence

from agentlib.course.check_command import add_check
from agentlib.course.grading.commands import add_grade, add_gradebook
from agentlib.course.hub.command import add_handout
from agentlib.course.lab import add_lab
from agentlib.course.record import add_record
from agentlib.course.reset_command import add_reset
from agentlib.course.site.command import add_site

__all__ = ["build_parser", "main", "parse"]


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="python -m agentlib",
        description="The course on agent loops: open it, check exercises, grade a class.",
        epilog="Help on one command: python -m agentlib COMMAND --help",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (add_lab, add_check, add_reset, add_grade, add_gradebook, add_record, add_site, add_handout):
        add(commands)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. Everything after the first `--` becomes `extra`, unread.

    Raises `SystemExit` with code 2, after a message, if the part before it is wrong.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    arguments = build_parser().parse_args(argv[:end])
    arguments.extra = list(argv[end + 1 :])
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (None: this process's own) and return its exit code."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    return int(arguments.run(arguments))
