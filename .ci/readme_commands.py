"""The two command lines at the top of README.md, read out of it, so that what is written is what is run.

`python3 .ci/readme_commands.py start` prints the line that opens the course, `test` the one that runs all
tests.
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


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("start", "test"):
        sys.exit("usage: readme_commands.py start|test")
    print(readme_commands(README.read_text(encoding="utf-8"))[sys.argv[1]])
