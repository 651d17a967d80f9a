"""The command line: what is started, with which settings, and what is said when it cannot start."""

import argparse
import json
import os
import socket
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentlib.course import lab
from agentlib.course.cli import parse

COURSE = Path("/course")
PLAIN = {"is_root": False, "has_browser": True}


def settings(command: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in command if "=" in word)


def test_lab_runs_the_jupyterlab_of_the_same_python_on_the_course():
    command = lab.lab_command(COURSE, None, [], **PLAIN)
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert settings(command)["--ServerApp.root_dir"] == str(COURSE)
    assert settings(command)["--LabApp.default_url"] == "/lab/tree/notebooks/00_start_here.ipynb"


def test_a_port_is_set_only_when_asked_for_and_then_no_other_is_tried():
    assert "--ServerApp.port" not in settings(lab.lab_command(COURSE, None, [], **PLAIN))
    asked = settings(lab.lab_command(COURSE, 9000, [], **PLAIN))
    assert (asked["--ServerApp.port"], asked["--ServerApp.port_retries"]) == ("9000", "0")


def test_root_is_allowed_only_for_root_and_then_on_this_computer_alone():
    nobody = settings(lab.lab_command(COURSE, None, [], is_root=False, has_browser=True))
    assert not {"--ServerApp.allow_root", "--ServerApp.ip"} & set(nobody)
    root = settings(lab.lab_command(COURSE, None, [], is_root=True, has_browser=True))
    assert (root["--ServerApp.allow_root"], root["--ServerApp.ip"]) == ("True", "127.0.0.1")


def test_no_browser_is_opened_where_there_is_none():
    without = settings(lab.lab_command(COURSE, None, [], is_root=False, has_browser=False))
    assert without["--ServerApp.open_browser"] == "False"
    assert "--ServerApp.open_browser" not in settings(lab.lab_command(COURSE, None, [], **PLAIN))


def test_extra_words_come_last_as_they_are():
    extra = ["--no-browser", "--ServerApp.base_url=/a b/", "--"]
    assert lab.lab_command(COURSE, None, extra, **PLAIN)[-3:] == extra


@pytest.mark.parametrize(
    ("extra", "ours"),
    [
        (["--ip=0.0.0.0"], "--ServerApp.ip=127.0.0.1"),
        (["--ip", "0.0.0.0"], "--ServerApp.ip=127.0.0.1"),
        (["--ServerApp.ip=0.0.0.0"], "--ServerApp.ip=127.0.0.1"),
        (["--port=9100"], "--ServerApp.port=9000"),
        (["--notebook-dir=/elsewhere"], f"--ServerApp.root_dir={COURSE}"),
        (["--allow-root"], "--ServerApp.allow_root=True"),
        (["--LabApp.default_url=/lab"], "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb"),
    ],
)
def test_an_extra_setting_replaces_ours(extra, ours):
    assert ours in lab.lab_command(COURSE, 9000, [], is_root=True, has_browser=False)
    assert ours not in lab.lab_command(COURSE, 9000, extra, is_root=True, has_browser=False)


def test_notes_say_what_the_command_does_and_no_more():
    def notes(extra=(), **kind):
        return "\n".join(lab.lab_notes(lab.lab_command(COURSE, None, extra, **kind)))

    assert "root" not in notes(**PLAIN)
    assert "address" not in notes(**PLAIN)
    assert "listens on 127.0.0.1 alone" in notes(is_root=True, has_browser=True)
    assert "listens" not in notes(["--ip=0.0.0.0"], is_root=True, has_browser=True)
    assert "open the address" in notes(is_root=False, has_browser=False)


@pytest.mark.parametrize(
    ("platform", "environment", "here"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
    ],
)
def test_browser_is_here(platform, environment, here):
    assert lab.browser_is_here(platform, environment) is here


@pytest.mark.parametrize("text", ["1", "8888", "65535"])
def test_port_number(text):
    assert lab.port_number(text) == int(text)


@pytest.mark.parametrize("text", ["0", "-1", "65536", "80.0", "eight", ""])
def test_a_port_that_is_none_is_named(text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"from 1 to 65535, not {text!r}"):
        lab.port_number(text)


def test_port_is_free():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert not lab.port_is_free(port)
    assert lab.port_is_free(port)


def test_what_keeps_jupyterlab_from_starting(tmp_path):
    def problem(port=None, jupyterlab_is_here=True, port_free=True):
        return lab.lab_problem(tmp_path, port, jupyterlab_is_here=jupyterlab_is_here, port_free=port_free)

    missing = problem()
    assert "00_start_here.ipynb" in missing
    assert "requirements.txt" in missing

    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").write_text("{}")
    assert problem() is None
    assert problem(port=9000) is None
    assert "JupyterLab is not installed" in problem(jupyterlab_is_here=False)
    assert sys.executable in problem(jupyterlab_is_here=False)
    assert "9000" in problem(port=9000, port_free=False)


def test_what_stands_after_two_dashes_is_passed_on_unread():
    arguments = parse(["lab", "--port", "9000", "--", "--port", "1", "--", "x"])
    assert arguments.port == 9000
    assert arguments.extra == ["--port", "1", "--", "x"]
    assert parse(["lab"]).extra == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["lab", "--port", "0"], "a port is a whole number"),
        (["lab", "--no-browser"], "unrecognized arguments: --no-browser"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        ([], "required: COMMAND"),
    ],
)
def test_a_wrong_command_line_ends_with_code_2(argv, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_environment_puts_the_course_settings_first_and_keeps_the_rest():
    ours = str(lab.CONFIG_DIR)
    alone = lab.lab_environment({"HOME": "/home/me"})
    assert alone == {"HOME": "/home/me", "JUPYTER_CONFIG_PATH": ours}
    both = lab.lab_environment({"JUPYTER_CONFIG_PATH": "/mine"})
    assert both["JUPYTER_CONFIG_PATH"] == ours + os.pathsep + "/mine"


def setting_and_schema(plugin):
    """What the course sets for a plugin of JupyterLab, and which settings that plugin has."""
    overrides = json.loads((lab.CONFIG_DIR / "labconfig" / "default_setting_overrides.json").read_text())
    assert len(overrides) == 2
    folder, _, name = plugin.partition(":")
    jupyterlab_dir = Path(find_spec("jupyterlab").origin).parent
    return overrides[plugin], json.loads((jupyterlab_dir / "schemas" / folder / f"{name}.json").read_text())


def test_news_are_turned_off_by_a_setting_that_jupyterlab_knows():
    values, schema = setting_and_schema("@jupyterlab/apputils-extension:notification")
    assert values == {"fetchNews": "false"}
    assert "false" in [choice["const"] for choice in schema["properties"]["fetchNews"]["oneOf"]]


def test_the_glossary_opens_as_a_page_by_a_setting_that_jupyterlab_knows():
    values, schema = setting_and_schema("@jupyterlab/docmanager-extension:plugin")
    assert values == {"defaultViewers": {"markdown": "Markdown Preview"}}
    assert schema["properties"]["defaultViewers"]["type"] == "object"


def test_lab_really_starts_the_jupyterlab_of_this_python():
    done = subprocess.run(
        [sys.executable, "-m", "agentlib", "lab", "--", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == version("jupyterlab")


def test_exit_code_is_that_of_jupyterlab():
    done = subprocess.run(
        [sys.executable, "-m", "agentlib", "lab", "--", "--ServerApp.port=none"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "none" in done.stderr
