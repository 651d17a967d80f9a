"""The files that set up a hub: they agree with each other, and the script does what its page says."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from agentlib.course.cli import parse
from agentlib.course.lab import CONFIG_DIR
from tests.notebook_checks import link_problem, markdown_links, without_code

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "agentlib" / "course" / "hub"
PAGE = (FOLDER / "HUB.md").read_text(encoding="utf-8")
VALUES = yaml.safe_load((FOLDER / "values.yaml").read_text(encoding="utf-8"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def test_one_version_of_the_hub_and_of_its_pull_stands_everywhere():
    assert EXTRAS["hub"] == ["jupyterhub==5.5.0", "nbgitpuller==1.3.0"]
    assert " ".join(EXTRAS["hub"]) in (FOLDER / "Dockerfile").read_text()
    assert EXTRAS["hub"][1] in (FOLDER / "tljh.sh").read_text()
    assert "JupyterHub 5.5.0" in (FOLDER / "values.yaml").read_text()
    assert set(re.findall(r"JupyterHub\s\(?([\d.]+\d)", PAGE)) == {"5.5.0"}
    assert set(re.findall(r"nbgitpuller ([\d.]+\d)", PAGE)) == {"1.3.0"}
    assert "--version 4.4.0" in PAGE


def test_the_limits_are_those_of_the_page():
    assert VALUES["singleuser"]["memory"] == {"guarantee": "300M", "limit": "1G"}
    assert "The limit is 1 GB" in PAGE
    assert VALUES["cull"]["timeout"] == 3600


def test_each_start_pulls_into_the_same_folder_and_opens_a_lesson_that_is_there():
    query = parse_qs(urlsplit(VALUES["singleuser"]["defaultUrl"]).query)
    assert query["targetPath"] == ["course"]
    assert (ROOT / query["urlpath"][0].removeprefix("lab/tree/course/")).is_file()
    (link,) = re.findall(r"`HUB/hub/user-redirect(\S+)`", PAGE)
    query = parse_qs(urlsplit(link).query)
    assert (ROOT / query["urlpath"][0].removeprefix("lab/tree/course/")).is_file()


def test_every_link_and_command_of_the_page_is_there():
    links = markdown_links(without_code(PAGE))
    assert [link for link in links if link_problem(link, FOLDER / "HUB.md")] == []
    (words,) = re.findall(r"^\.venv/bin/python -m agentlib (.+)", PAGE, re.MULTILINE)
    assert callable(parse(words.split()).run)
    for name in re.findall(r"`(tests/[\w/]+\.py|agentlib/[\w/]+)`", PAGE):
        assert (ROOT / name).exists()


def test_the_image_is_made_of_what_a_handout_holds():
    copied = re.findall(r"^COPY (.+) \S+$", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    assert copied == ["requirements.txt agentlib_course-*.whl"]
    assert "\nARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n" in (FOLDER / "Dockerfile").read_text()


@pytest.mark.skipif(
    os.name != "posix" or not shutil.which("bash"), reason="the script is for Linux: it needs bash"
)
def test_the_script_for_one_machine_installs_the_handout_and_lets_each_start_pull_it(tmp_path):
    """With stand-ins for the machine's two programs, whose folders are this test's own."""
    up = tmp_path / "up"
    up.mkdir()
    (up / "requirements.txt").write_text("./agentlib_course-1-py3-none-any.whl\n")
    (up / "agentlib_course-1-py3-none-any.whl").write_text("")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=up, check=True
        )
    asked = tmp_path / "asked"
    stand_ins = {
        tmp_path / "bin" / "tljh-config": f'echo "tljh-config $@" >> {asked}',
        tmp_path / "tljh/user/bin/python": f'if [ "$1" = -m ]; then echo "$@" >> {asked}; '
        f'else PYTHONPATH={ROOT} exec {sys.executable} "$@"; fi',
    }
    for path, line in stand_ins.items():
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    settings = tmp_path / "tljh/config/jupyterhub_config.d/agentlib.py"
    settings.parent.mkdir(parents=True)
    script = (FOLDER / "tljh.sh").read_text().replace("/opt/", f"{tmp_path}/")
    (tmp_path / "tljh.sh").write_text(script)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["bash", "tljh.sh", str(up)], cwd=tmp_path, env=environment, check=True)
    lines = asked.read_text().splitlines()
    assert "-m pip install -q -r requirements.txt nbgitpuller==1.3.0" in lines
    assert "tljh-config set limits.memory 1G" in lines
    assert lines[-1] == "tljh-config reload"
    config = SimpleNamespace(Spawner=SimpleNamespace())
    exec(settings.read_text(), {"c": config})
    query = parse_qs(urlsplit(config.Spawner.default_url).query)
    assert query["repo"] == [str(up)]
    assert query["urlpath"] == ["lab/tree/course/notebooks/00_start_here.ipynb"]
    assert config.Spawner.environment == {"JUPYTER_CONFIG_PATH": str(CONFIG_DIR)}
