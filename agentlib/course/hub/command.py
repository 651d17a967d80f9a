"""The command `handout` of `python -m agentlib`: the folder that learners are handed."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.check_command import say
from agentlib.course.errors import HandoutError
from agentlib.course.hub.handout import Handout, make_handout

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_handout"]

NEVER_FORCE = (
    "Never push with --force: learners' next pull would fail. If a push is refused, run git pull first."
)


def run_handout(arguments: argparse.Namespace) -> int:
    """Make or update the handout. Returns 0, or 2 if that cannot be done."""
    try:
        handout = make_handout(arguments.out, arguments.take)
    except (HandoutError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    say("\n".join(_said(handout)))
    return 0


def _said(handout: Handout) -> list[str]:
    stays = [
        f"{name} was changed or deleted by hand, and stays so. To take the course's, add  --take {name}"
        for name in handout.kept
    ]
    if not handout.commit:
        return [f"{handout.folder}: nothing has changed since the last time.", *stays]
    where = f"git -C {handout.folder}"
    count = len(handout.changed)
    files = f"{count} file{'' if count == 1 else 's'}"
    push = (
        [f"Push it:  {where} push"]
        if handout.remote
        else [
            "Push it to a repository of yours that learners can read, a new and empty one:",
            f"  {where} remote add origin ADDRESS",
            f"  {where} push --set-upstream origin main",
        ]
    )
    return [f"{handout.folder}: {files} in commit {handout.commit}.", *stays, *push, NEVER_FORCE]


def add_handout(commands: "Commands") -> None:
    """Add `handout` to the command line."""
    parser = commands.add_parser(
        "handout",
        help="make the folder that learners are handed",
        description="Make the folder that learners are handed, as a git repository ready to push: lessons, "
        "exercises and what installs the course; no solutions, no tests. A folder that was made before gets "
        "one more commit with what has changed.",
        epilog="How a hub pulls it stands in agentlib/course/hub/HUB.md.",
    )
    parser.add_argument("out", type=Path, help="a new folder, or one that this command made before")
    parser.add_argument(
        "--take",
        action="append",
        default=[],
        metavar="FILE",
        help="take the course's again for a file that you have changed or deleted there, such as README.md",
    )
    parser.set_defaults(run=run_handout)
