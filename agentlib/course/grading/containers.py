"""Containers as a way to start a child: docker or podman, with an image that holds Python and no network.

Docker is there on macOS and Windows too, where it runs Linux beside the system. The image is made once, by
hand (see `Dockerfile` beside this file); nothing is ever fetched while a class is graded.

Tried on Linux with docker 20.10 and podman 4.3, started by root, in an image made of the running Python
(`tests/hostile/local_image.py`); not on macOS or Windows, and not without root. Where podman says "cgroups in
hybrid mode not supported", that is its program crun; with `runtime = "runc"` in its containers.conf it works.
"""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agentlib.course.grading.limits import SPARE_MB, Limits
from agentlib.course.grading.syscalls import ARCHITECTURES, call_filter

__all__ = ["IMAGE", "container_command", "container_missing", "remove_container"]

IMAGE = "agentlib-grading"
"""The image that is wanted. It is looked for on this computer alone."""

ANSWER_SECONDS = 5.0
"""A service that has not answered by then does not work: docker's may hang for ever."""

REMOVE_SECONDS = 10.0
"""Time to end a container; a busy computer takes a while."""

# Where the parts stand inside the image.
PATH = "/usr/local/bin:/usr/bin:/bin"
COURSE, PACKAGES, FILES = "/course", "/packages", "/tmp"

OPEN_FILES = 1024

# Runs first in the container: takes on our filter for system calls beside the container's own, for good. It
# is chosen there, since a container may be another kind of machine. 38 is PR_SET_NO_NEW_PRIVS; 22 and 2 are
# PR_SET_SECCOMP and SECCOMP_MODE_FILTER, which take a struct sock_fprog: the number of steps, and where.
FILTERED = """
import ctypes, json, os, platform, struct, sys
program = bytes.fromhex(json.loads(sys.argv[1]).get(platform.machine(), ""))
steps = ctypes.create_string_buffer(program)
about = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(steps)))
libc = ctypes.CDLL(None, use_errno=True)
if program and (libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, about, 0, 0)):
    sys.exit(f"no filter for system calls: {os.strerror(ctypes.get_errno())}")
os.execv(sys.executable, [sys.executable, "-I", "-S", *sys.argv[2:]])
"""

SPARE_SECONDS = 30
"""A container whose grader was killed ends by itself so long after the time for everything."""


def container_missing(program: str) -> str:
    """Why a program for containers cannot be tried, and what to do about it; "" if it can."""
    path = shutil.which(program)
    if path is None:
        return "is not installed"
    command = [path, "image", "inspect", "--format", "{{.Id}}", IMAGE]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"did not answer within {ANSWER_SECONDS:.0f} seconds; is its service running?"
    except OSError as problem:
        return f"cannot be started ({problem.strerror})"
    if done.returncode == 0:
        return ""
    output = done.stderr.strip().splitlines()
    if "no such image" in done.stderr.lower() or "not known" in done.stderr.lower():
        folder = os.path.relpath(Path(__file__).parent)
        return f"has no image {IMAGE}; make it once, with a network: {program} build -t {IMAGE} {folder}"
    return f"does not work here ({output[-1] if output else f'it ended with {done.returncode}'})"


def container_command(
    program: str, name: str, root: Path, limits: Limits, user: int, environment: Mapping[str, str]
) -> list[str]:
    """The command line that starts a child in a container.

    name: of the container. root: the folder that becomes the sandbox root, to read only. user: a number.
    environment: all that the child sees of it.
    """
    disk, memory = f"{limits.disk_mb}m", f"{limits.memory_mb + limits.disk_mb + SPARE_MB}m"
    words = [shutil.which(program) or program, "run", "--interactive", "--rm", "--name", name]
    # What it prints is not kept on the disk a second time, and its end does not wait for its signals.
    words += ["--pull", "never", "--log-driver", "none", "--stop-timeout", "0"]
    if program == "podman":
        words += ["--read-only-tmpfs=false"]  # else it adds folders without a limit on their size
    words += ["--network", "none", "--hostname", "sandbox", "--read-only"]
    words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", f"{user}:{user}"]
    # One process more than the child may have: the one that ends it in time.
    words += ["--pids-limit", str(limits.processes + 1), "--cpus", "1"]
    # Else podman asks for more than it may give where it has fewer rights. The child lowers them itself.
    words += [word for name in ("nofile", "nproc") for word in ("--ulimit", f"{name}={OPEN_FILES}")]
    words += ["--memory", memory, "--memory-swap", memory, "--shm-size", disk]
    words += ["--tmpfs", f"{FILES}:rw,nosuid,nodev,mode=1777,size={disk}", "--workdir", FILES]
    words += ["--volume", f"{root}:{COURSE}:ro,z", "--entrypoint", "env", IMAGE, "-i"]
    words += [f"{key}={value}" for key, value in {**environment, "HOME": FILES, "PATH": PATH}.items()]
    words += ["timeout", "-s", "KILL", f"{limits.wall_seconds + SPARE_SECONDS:.0f}"]
    filters = json.dumps({machine: (call_filter(machine) or b"").hex() for machine in ARCHITECTURES})
    words += ["python3", "-I", "-S", "-c", FILTERED, filters]
    return [*words, f"{COURSE}/start.py", COURSE, PACKAGES]


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the program needs of the environment to find its service; no proxy, which it would pass on."""
    return {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}


def remove_container(program: str, name: str) -> None:
    """End a container and remove it. One that has ended already is gone; that is no error."""
    command = [shutil.which(program) or program, "rm", "--force", name]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=REMOVE_SECONDS,
            check=False,
        )
