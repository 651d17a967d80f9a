"""Containers: what is said where one cannot be had, and what a child finds in one.

A small program that plays docker stands in where there is none; where docker or podman has the image (see
`tests/hostile/local_image.py`), the last tests and `tests/hostile` run in real containers.
"""

import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib.course.errors import ChildEndedError
from agentlib.course.grading import BACKENDS, Limits, choose_backend, containers, sandbox
from agentlib.course.grading.channel import Child
from agentlib.course.grading.containers import (
    IMAGE,
    client_environment,
    container_command,
    container_missing,
    remove_container,
)
from agentlib.course.grading.sandbox import ENVIRONMENT
from agentlib.course.grading.selection import try_backend

ROOT = Path(__file__).parent.parent
DOCKER, PODMAN = (
    next(backend for backend in BACKENDS if backend.name == name) for name in ("docker", "podman")
)
SHORT = Limits(cell_seconds=5.0, call_seconds=1.0, grace_seconds=0.5, wall_seconds=20.0, processes=8)
HOME = Path("/home of a child")
WORKING = [backend for backend in (DOCKER, PODMAN) if not backend.available()]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the program that plays docker needs a shell")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes a program `docker` of lines for the shell, and gives the file with what it was called with."""

    def make(*lines: str) -> Path:
        log, program = tmp_path / "log", tmp_path / "bin" / "docker"
        program.parent.mkdir()
        program.write_text("\n".join(["#!/bin/sh", f'echo "$*" >> {shlex.quote(str(log))}', *lines]))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return log

    return make


# --- whether there is one


def test_a_program_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "/none")
    assert container_missing("docker") == "is not installed"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Error: No such image: agentlib-grading", "docker build -t agentlib-grading "),
        ("Error: agentlib-grading: image not known", "docker build -t agentlib-grading "),
        ("Cannot connect to the Docker daemon. Is it running?", "does not work here (Cannot connect"),
        ("permission denied while trying to connect", "does not work here (permission denied"),
        ("", "does not work here (it ended with 3)"),
    ],
)
def test_why_it_does_not_work_is_said_with_what_to_do(fake, said, wanted):
    log = fake(f"echo {shlex.quote(said)} >&2", "exit 3")
    assert wanted in container_missing("docker")
    assert log.read_text().startswith(f"image inspect --format {{{{.Id}}}} {IMAGE}\n"), "nothing is fetched"


def test_the_line_that_makes_the_image_names_a_folder_with_its_recipe(fake, monkeypatch):
    fake("echo no such image >&2", "exit 1")
    monkeypatch.chdir(ROOT)
    folder = container_missing("docker").split()[-1]
    assert folder == "agentlib/course/grading"
    assert (ROOT / folder / "Dockerfile").is_file()


def test_a_service_that_hangs_is_left_after_a_short_time(fake, monkeypatch, root):
    fake("sleep 60")
    assert containers.ANSWER_SECONDS <= 5
    monkeypatch.setattr(containers, "ANSWER_SECONDS", 0.3)
    began = time.monotonic()
    monkeypatch.setattr(sandbox, "is_root", lambda: False)
    selection = choose_backend(root, SHORT, backends=(DOCKER, BACKENDS[-1]))
    assert time.monotonic() - began < 5
    assert selection.backend is BACKENDS[-1]
    assert selection.passed_over == (("docker", "did not answer within 0 seconds; is its service running?"),)


def test_a_container_that_hangs_or_fails_when_it_is_tried_is_passed_over_and_removed(fake, root):
    log = fake('test "$1" = run || exit 0', "echo no such runtime >&2", "exit 125")
    assert try_backend(DOCKER, root, SHORT) == "did not run here (ended its own process: no such runtime)"
    (name,) = re.findall(r"--name (\S+)", log.read_text())
    assert log.read_text().splitlines()[-1] == f"rm --force {name}"


def test_a_docker_that_walls_nothing_off_is_not_taken(fake, root):
    """It starts the child as it is, outside of any container: the selection's own trial finds that out."""
    start = shlex.join([sys.executable, "-I", "-S", f"{root.folder}/start.py", str(root.folder)])
    fake('test "$1" = run || exit 0', f"exec {start} {shlex.join(map(str, root.packages))}")
    assert "does not keep its promise" in try_backend(DOCKER, root, SHORT)


def test_containers_stand_between_sandlock_and_resource_limits():
    names = [backend.name for backend in BACKENDS]
    assert names[:4] == ["bubblewrap", "sandlock", "docker", "podman"]
    assert names[4:] == ["resource limits", "time limit"]


# --- the command line


def test_the_command_line_gives_a_child_nothing_but_its_own():
    limits = replace(SHORT, memory_mb=100, disk_mb=20, processes=8, wall_seconds=90.0)
    words = container_command("docker", "a-name", HOME, limits, 61_000, {"LANG": "C.UTF-8"})
    line = " ".join(words)
    for wanted in (
        "--rm --name a-name",
        "--pull never",
        "--log-driver none --stop-timeout 0",
        "--network none",
        "--read-only ",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--user 61000:61000",
        "--pids-limit 9",
        "--cpus 1",
        "--memory 184m --memory-swap 184m",
        "--shm-size 20m",
        "--tmpfs /tmp:rw,nosuid,nodev,mode=1777,size=20m",
        "--volume /home of a child:/course:ro,z",
        f"{IMAGE} -i LANG=C.UTF-8 HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin timeout -s KILL 120 python3",
        "/course/start.py /course /packages",
    ):
        assert wanted in line, wanted
    assert "read-only-tmpfs" not in line
    assert "--read-only-tmpfs=false" in container_command("podman", "a", HOME, limits, 1, {})
    assert not {"--privileged", "--env", "-e", "--publish", "-p"} & set(words)


def test_no_proxy_is_passed_on_and_the_service_is_found():
    environment = {"DOCKER_HOST": "unix:///x", "HTTP_PROXY": "secret", "no_proxy": "x", "HOME": "/root"}
    assert client_environment(environment) == {"DOCKER_HOST": "unix:///x", "HOME": "/root"}


def test_the_recipe_has_the_versions_of_the_course_and_a_python_that_it_knows():
    recipe = (ROOT / "agentlib" / "course" / "grading" / "Dockerfile").read_text(encoding="utf-8")
    exact = re.findall(r"[\w-]+==[\w.]+", recipe)
    assert [one.split("==")[0] for one in exact] == ["pydantic", "matplotlib"]
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    assert [one for one in exact if one not in requirements] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = re.search(r"FROM python:(3\.\d+)-slim", recipe)[1]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


def test_a_container_that_cannot_be_removed_raises_nothing(fake, monkeypatch):
    fake("sleep 60")
    monkeypatch.setattr(containers, "REMOVE_SECONDS", 0.2)
    remove_container("docker", "a-name")
    monkeypatch.setenv("PATH", "/none")
    remove_container("docker", "a-name")


# --- in real ones


def left(backend) -> list[str]:
    command = [backend.name, "ps", "--all", "--format", "{{.Names}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if f"agentlib_child_{os.getpid()}_" in name]


ENDLESS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
while True:
    pass
"""

if WORKING:  # where Docker or Podman runs

    def begun(backend, root) -> Child:
        """Start a child; where the program is there and starts no container at all, it is not our fault."""
        try:
            return Child(backend, root, SHORT, time.monotonic() + 20)
        except ChildEndedError as end:
            if "OCI runtime" in str(end):
                pytest.skip(f"{backend.name} starts no container here: {end}")
            raise

    @pytest.mark.parametrize("backend", WORKING, ids=lambda backend: backend.name)
    def test_in_a_container_the_code_is_nobody_and_sees_nothing(backend, root):
        child = begun(backend, root)
        try:
            assert len(left(backend)) == 1
            source = "import ctypes, os\ndef f():\n    libc = ctypes.CDLL(None, use_errno=True)\n"
            source += "    return {'user': os.getuid(), 'names': sorted(os.environ), "
            source += "'unshare': libc.unshare(1 << 28), 'memory file': libc.memfd_create(b'x', 0), "
            source += "'root': os.access('/', os.W_OK), 'status': open('/proc/self/status').read()}"
            request = {
                "do": "cells",
                "cells": [{"number": 1, "source": source}],
                "functions": ["f"],
                "seconds": 5,
            }
            assert child.ask(request, 6)["problems"] == []
            call = {"do": "call", "request": {"function": "f", "args": [], "kwargs": {}}, "seconds": 5}
            seen = child.ask(call, 6)["returned"]
        finally:
            child.end()
        assert 60_000 < seen["user"] < 65_536
        assert set(seen["names"]) <= {*ENVIRONMENT, "HOME", "PATH", "LC_CTYPE"}
        assert (seen["unshare"], seen["memory file"], seen["root"]) == (-1, -1, False)
        assert re.search(r"CapBnd:\s+0+\n", seen["status"])
        assert re.search(r"NoNewPrivs:\s+1\n", seen["status"])
        assert left(backend) == []

    @pytest.mark.parametrize("backend", WORKING, ids=lambda backend: backend.name)
    def test_a_container_is_ended_by_name_though_its_code_never_ends(backend, root):
        child = begun(backend, root)
        request = {"do": "cells", "cells": [{"number": 1, "source": ENDLESS}], "functions": []}
        began = time.monotonic()
        with pytest.raises(ChildEndedError, match="ran too long"):
            child.ask({**request, "seconds": 60}, 1.0)
        assert time.monotonic() - began < 8, "it does not wait for the code to take notice"
        assert left(backend) == []
