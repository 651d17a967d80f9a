"""The scripts behind .ci/run: each can say no, and the files around them agree."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import no_skips
import open_and_close
import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    line
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line[:1] not in ("", "#")
]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))

# What JupyterLab is to open_and_close.py: it prints its address, answers a few questions, ends at Ctrl-C.
FAKE_LAB = """
import http.server, json, subprocess, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404 if FAULT == "no notebook" and "contents" in self.path else 200)
        self.end_headers()
        cells = [] if FAULT == "empty" else [1]
        news = {"schema": {"properties": {"fetchNews": {"default": "none" if FAULT == "news" else "false"}}}}
        body = {"type": "notebook", "content": {"cells": cells}, "note": "jupyter-config-data", **news}
        self.wfile.write(json.dumps(body).encode())
    do_POST = do_GET
    def log_message(self, *words): pass

FAULT = sys.argv[1]
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
address = f"http://127.0.0.1:{server.server_port}/lab/tree/notebooks/00_start_here.ipynb?token=abc"
print("open", "nothing" if FAULT == "no address" else address, flush=True)
if FAULT == "left over":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
try:
    if FAULT != "no address":
        server.serve_forever()
except KeyboardInterrupt:
    sys.exit(3 if FAULT == "bad end" else 0)
"""


@pytest.fixture
def fake_lab(tmp_path):
    """Makes the command line of a fake JupyterLab with one fault."""
    script = tmp_path / "fake_lab.py"
    script.write_text(FAKE_LAB)
    return lambda fault: shlex.join([sys.executable, str(script), fault])


needs_groups = pytest.mark.skipif(
    os.name != "posix", reason=".ci/run needs bash and process groups, so not Windows"
)


@needs_groups
def test_a_jupyterlab_that_opens_and_closes_passes(fake_lab, capsys):
    open_and_close.open_and_close(fake_lab("none"))
    assert "no process is left" in capsys.readouterr().out


@needs_groups
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no address", "ended with code 0 before it printed an address"),
        ("no notebook", "404"),
        ("empty", "notebook 00 is empty"),
        ("news", "ask about news"),
        ("bad end", "ended with code 3, not 0"),
        ("left over", "still running after the end"),
    ],
)
def test_a_fault_of_jupyterlab_is_found(fake_lab, fault, said):
    if fault == "left over" and not Path("/proc/self/environ").exists():
        pytest.skip("processes can be looked up by what they inherited only where there is a /proc")
    with pytest.raises((open_and_close.Failure, OSError), match=said):
        open_and_close.open_and_close(fake_lab(fault), end_seconds=2)


@needs_groups
def test_a_command_line_that_fails_is_found():
    with pytest.raises(open_and_close.Failure, match="ended with code 7"):
        open_and_close.open_and_close("exit 7")


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("http://127.0.0.1:8888/lab/tree/notebooks/00_start_here.ipynb?token=abc1", "http://127.0.0.1:8888"),
        ("  http://localhost:9/x/lab/tree/notebooks/00_start_here.ipynb?token=a\n", "http://localhost:9/x"),
    ],
)
def test_find_address(line, address):
    assert open_and_close.find_address(line).address == address


@pytest.mark.parametrize(
    "line",
    [
        "file:///root/jpserver-1-open.html",
        "http://127.0.0.1:8888/lab?token=abc",
        "http://127.0.0.1:8888/lab/tree/notebooks/00_start_here.ipynb",
    ],
)
def test_another_line_is_no_address(line):
    assert open_and_close.find_address(line) is None


def report(*cases):
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


PASSED = '<testcase classname="tests.test_a" name="test_1"><system-out>words</system-out></testcase>'
SKIPPED = '<testcase classname="tests.test_a" name="test_2"><skipped message="no dask"/></testcase>'
FAILED = '<testcase classname="tests.test_a" name="test_3"><failure message="1 != 2">...</failure></testcase>'
BROKEN = '<testcase classname="tests.test_a" name="test_4"><error message="no fixture">...</error></testcase>'


def test_a_skipped_test_counts_as_failed():
    assert no_skips.count(report(PASSED, PASSED)) == (2, [])
    passed, problems = no_skips.count(report(PASSED, SKIPPED, FAILED, BROKEN))
    assert passed == 1
    assert problems == [
        "skipped: tests.test_a::test_2: no dask",
        "failure: tests.test_a::test_3: 1 != 2",
        "error: tests.test_a::test_4: no fixture",
    ]


def test_the_files_with_something_skipped_are_found():
    whole = '<testcase classname="" name="tests.providers.test_b"><skipped message="no dask"/></testcase>'
    assert no_skips.skipped_files(report(PASSED, FAILED, BROKEN)) == []
    assert no_skips.skipped_files(report(SKIPPED, SKIPPED, whole)) == [
        "tests/providers/test_b.py",
        "tests/test_a.py",
    ]


@pytest.mark.parametrize(("cases", "code"), [([PASSED], 0), ([PASSED, SKIPPED], 1), ([], 1)])
def test_the_last_line_is_plain_and_the_exit_code_agrees(cases, code, tmp_path):
    (tmp_path / "report.xml").write_text(report(*cases))
    command = [sys.executable, ROOT / ".ci" / "no_skips.py", tmp_path / "report.xml"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code
    assert re.fullmatch(r"\d+ passed, \d+ failed", done.stdout.splitlines()[-1])


def test_requirements_are_exact_each_with_its_reason_and_end_with_the_package():
    assert [line for line in REQUIREMENTS if not re.fullmatch(r"([\w-]+==[\w.]+|-e \.) +# \S.*", line)] == []
    assert REQUIREMENTS[-1].startswith("-e .")


def test_requirements_keep_to_the_ranges_of_the_package():
    exact = dict(line.split()[0].split("==") for line in REQUIREMENTS[:-1])
    ranges = {need.name: need.specifier for need in map(Requirement, PROJECT["dependencies"])}
    assert exact["ipywidgets"] == "8.1.8"
    assert {name for name in exact if name in ranges and exact[name] not in ranges[name]} == set()
    # Two come with pydantic, which chooses their versions.
    assert set(ranges) - set(exact) == {"pydantic-core", "typing-extensions"}


def test_extra_all_is_all_extras():
    extras = PROJECT["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    # What `site` brings for JupyterLab works in a browser alone; .ci/run gives it an environment of its own.
    assert everything.extras == set(extras) - {"all", "site"}


def test_ci_runs_the_same_script_on_every_python():
    job = WORKFLOW["jobs"]["run"]
    said = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert job["strategy"]["matrix"]["python"] == said == ["3.11", "3.12", "3.13", "3.14"]
    assert {"run": "bash .ci/run"} in job["steps"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_site_is_published_only_after_the_tests_of_that_very_site():
    pages = yaml.safe_load((ROOT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8"))
    steps = pages["jobs"]["publish"]["steps"]
    build, test = (step["run"] for step in steps if "name" in step)
    assert 'agentlib site "$RUNNER_TEMP/site" --with-plots' in build
    assert 'SITE="$RUNNER_TEMP/site"' in test
    assert "pytest -n 0 tests/browser/test_site.py" in test
    assert [step["uses"].split("@")[0] for step in steps[-2:]] == [
        "actions/upload-pages-artifact", "actions/deploy-pages",
    ]  # fmt: skip
    assert steps[-2]["with"]["path"] == "${{ runner.temp }}/site"


@pytest.mark.parametrize(
    ("system", "ask"),
    [
        ("macOS", "$(python3 .ci/readme_commands.py {})"),
        ("Windows", "$(python .ci/readme_commands.py {} windows)"),
    ],
)
def test_macos_and_windows_run_the_two_lines_of_readme(system, ask):
    job = WORKFLOW["jobs"]["elsewhere"]
    assert f"{system.lower()}-latest" in job["strategy"]["matrix"]["os"]
    steps = [step["run"] for step in job["steps"] if step.get("if") == f"runner.os == '{system}'"]
    assert all(ask.format(line) in "\n".join(steps) for line in ("start", "test"))
