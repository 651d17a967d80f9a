"""Count the tests in a JUnit report of pytest. A skipped test counts as failed: in CI all is installed.

`python3 .ci/no_skips.py REPORT.xml` names what was skipped and ends with the line `N passed, N failed`.
`python3 .ci/no_skips.py --files REPORT.xml` prints the test files in which something was skipped.
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


def skipped_files(report: str) -> list[str]:
    """The files in which a test was skipped, or all of them were."""
    cases = [case for case in ET.fromstring(report).iter("testcase") if case.find("skipped") is not None]
    # A file that was skipped as a whole has no class, and its name in place of a test's.
    modules = {case.get("classname") or case.get("name") or "" for case in cases}
    return sorted(f"{module.replace('.', '/')}.py" for module in modules)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1:-1] not in ([], ["--files"]):
        sys.exit("usage: no_skips.py [--files] REPORT.xml")
    report = Path(sys.argv[-1]).read_text(encoding="utf-8")
    if sys.argv[1] == "--files":
        print(*skipped_files(report))
        sys.exit()
    passed, problems = count(report)
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems or not passed else 0)
