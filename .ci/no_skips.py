"""Count the tests in a JUnit report of pytest. A skipped test counts as failed: in CI all is installed.

`python3 .ci/no_skips.py REPORT.xml` names what was skipped and ends with the line `N passed, N failed`.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def count(report: str) -> tuple[int, list[str]]:
    """How many tests passed, and one line for each that failed or was skipped."""
    passed, problems = 0, []
    for case in ET.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        found = [(part.tag, part) for part in case if part.tag in ("failure", "error", "skipped")]
        if not found:
            passed += 1
        for kind, part in found:
            problems.append(f"{kind}: {name}: {part.get('message')}")
    return passed, problems


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: no_skips.py REPORT.xml")
    passed, problems = count(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems or not passed else 0)
