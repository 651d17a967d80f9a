"""The two command lines at the top of README.md, read out of it, so that what is written is what is run.

`python3 .ci/readme_commands.py start` prints the line that opens the course, `test` the one that runs the
tests; `windows` behind it, the form for Windows.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def readme_commands(text: str) -> dict[str, str]:
    """The commands "start" and "test": the first two code blocks of a README, one line each.

    Raises `ValueError` if there are fewer blocks or one of the two has more or less than one line.
    """
    blocks = [block.strip() for block in FENCED.findall(text)[:2]]
    if len(blocks) < 2:
        raise ValueError(
            f"README has {len(blocks)} code blocks; the first two are the commands to start and to test"
        )
    for block in blocks:
        if not block or "\n" in block:
            raise ValueError(f"each of README's first two code blocks is one command line, not {block!r}")
    return {"start": blocks[0], "test": blocks[1]}


def windows_form(command: str) -> str:
    """The same command line for PowerShell on Windows."""
    return command.replace("python3 ", "py ").replace(" && ", "; ").replace(".venv/bin/", ".venv\\Scripts\\")


if __name__ == "__main__":
    which, *system = sys.argv[1:] or [""]
    if which not in ("start", "test") or system not in ([], ["windows"]):
        sys.exit("usage: readme_commands.py start|test [windows]")
    command = readme_commands(README.read_text(encoding="utf-8"))[which]
    print(windows_form(command) if system else command)
