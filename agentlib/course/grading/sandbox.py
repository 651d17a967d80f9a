"""The backends of the sandbox: ways to start a child, from the safest down."""

import json
import os
import platform
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentlib.course.grading.cgroup import enclose
from agentlib.course.grading.containers import (
    client_environment,
    container_command,
    container_missing,
    remove_container,
)
from agentlib.course.grading.limits import SPARE_MB, Limits
from agentlib.course.grading.sandbox_root import SandboxRoot, package_folders
from agentlib.course.grading.syscalls import call_filter

__all__ = ["BACKENDS", "PROMISES", "Backend", "Started"]

PROMISES = {
    "network": "no network",
    "files": "no files but its own",
    "processes": "no reach into other processes",
    "forks": "a limit on processes",
    "memory": "a limit on memory",
    "disk": "a limit on the size of a file",
    "space": "a limit on all files together",
    "time": "a limit on time",
}
"""What a backend may promise, in words for the banner."""

MB = 1_000_000
TMP = "/tmp"
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",  # plots are drawn, and no window is opened
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Everything that a child sees of the environment, except for its folder for files."""


@dataclass
class Started:
    """A child that was started. user: the number that it must take on; None = it stays who it is.

    folder: to be removed after the end; None = there is none outside the sandbox.
    stop: ends what is not below the process, since a service started it; None = there is nothing.
    guarded: the sandbox ends the child with itself, and lets it get no new rights; the child need not.
    cgroup: its control group; None = there is none.
    """

    process: subprocess.Popen[bytes]
    user: int | None = None
    folder: Path | None = None
    stop: Callable[[], None] | None = None
    guarded: bool = False
    cgroup: Path | None = None


@dataclass(frozen=True)
class Backend:
    """One way to start a child.

    name: as it stands in results. keeps: what it promises, see `PROMISES`.
    available: says why it cannot be tried at all here, "" if it can. start: starts a child.
    by_name_alone: says why it is not taken here unless it is asked for by its name, "" if it is.
    """

    name: str
    keeps: frozenset[str]
    available: Callable[[], str]
    start: Callable[[SandboxRoot, Limits], Started]
    by_name_alone: Callable[[], str] = lambda: ""


def python() -> str:
    """The Python behind this one: an environment of its own could lead to the project's folder."""
    return os.path.realpath(sys.executable)


def start_command(root: str, packages: Iterable[str]) -> list[str]:
    """The command line of a child; root, packages: as the child sees them."""
    return [python(), "-I", "-S", f"{root}/start.py", root, *packages]


def spawn(
    command: list[str],
    environment: dict[str, str],
    folder: Path | None = None,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, with three pipes."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
        bufsize=0,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def other_user() -> int:
    """A user number for one child, and for nothing else on the machine.

    Nothing gives out the numbers from 65536 to 99999: before them come people and services, behind them the
    users inside containers. Each child has one of its own: limits on processes count by user.
    """
    return 65_536 + secrets.randbelow(34_464)


def is_root() -> bool:
    """Whether this process may do everything."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


# --- bubblewrap


def bubblewrap_missing() -> str:
    """Why bubblewrap cannot be tried."""
    if sys.platform != "linux":
        return "needs Linux"
    return "" if shutil.which("bwrap") else "is not installed (Debian, Ubuntu: apt-get install bubblewrap)"


def system_mounts() -> list[str]:
    """Mounts of what a program needs of the system, to read only."""
    words = []
    for name in ("/usr", "/lib", "/lib32", "/lib64", "/bin"):
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    base = Path(sys.base_prefix).resolve()
    if not base.is_relative_to("/usr"):
        words += [*open_folders(base), "--ro-bind", str(base), str(base)]
    return words


def open_folders(path: Path) -> list[str]:
    """Words that make the folders above a path, open to all users; bubblewrap's own are for root alone."""
    return [
        word for parent in reversed(path.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))
    ]


def bubblewrap_command(
    root: SandboxRoot, limits: Limits, *, as_root: bool, filter_fd: int | None
) -> list[str]:
    """The command line that starts a child in bubblewrap.

    Root starts it without a user namespace and leaves it the rights to become another user, which the child
    does before it runs anything: the limit on processes does not bind root, whatever a namespace calls it.
    """
    packages = [f"/packages/{number}" for number in range(len(root.packages))]
    size = ["--size", str(limits.disk_mb * MB)]
    words = [
        shutil.which("bwrap") or "bwrap",
        "--die-with-parent",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]
    words += [f"--unshare-{name}" for name in ("pid", "net", "ipc", "uts", "cgroup-try")]
    if as_root:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        words += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    words += [*system_mounts(), "--ro-bind", str(root.folder), "/course"]
    words += ["--perms", "0755", "--dir", "/packages"]
    for inside, outside in zip(packages, root.packages, strict=True):
        words += ["--ro-bind", str(outside), inside]
    # What is mapped of /dev/zero is memory as well, which no look at a process shows.
    words += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", "/dev/null", "/dev/zero"]
    words += [*size, "--perms", "1777", "--tmpfs", "/dev/shm"]
    words += [*size, "--perms", "1777", "--tmpfs", TMP, "--remount-ro", "/dev", "--remount-ro", "/"]
    words += ["--chdir", TMP, "--clearenv"]
    for name, value in {**ENVIRONMENT, "HOME": TMP}.items():
        words += ["--setenv", name, value]
    if filter_fd is not None:
        words += ["--seccomp", str(filter_fd)]
    return [*words, *start_command("/course", packages)]


def start_in_bubblewrap(root: SandboxRoot, limits: Limits) -> Started:
    """Start a child in bubblewrap."""
    as_root = is_root()
    program = call_filter(platform.machine())
    with tempfile.TemporaryFile() as file:
        file.write(program or b"")
        file.seek(0)
        filter_fd = file.fileno() if program else None
        command = bubblewrap_command(root, limits, as_root=as_root, filter_fd=filter_fd)
        process = spawn(command, {"PATH": os.defpath}, pass_fds=(file.fileno(),) if program else ())
    # The two folders for files are memory, too. Nothing runs before the grader has sent the limits.
    cgroup = enclose(process.pid, (limits.memory_mb + 2 * limits.disk_mb + SPARE_MB) * MB)
    return Started(process, other_user() if as_root else None, guarded=True, cgroup=cgroup)


# --- sandlock

# Processes whose parent has ended come to this one (36 is PR_SET_CHILD_SUBREAPER), so that they are found.
SANDLOCK = """
import ctypes, json, sys
from sandlock import Sandbox
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
about = json.loads(sys.argv[1])
sys.exit(Sandbox(**about["sandbox"]).run_interactive(about["command"]))
"""


def sandlock_missing() -> str:
    """Why sandlock cannot be tried."""
    if sys.platform != "linux":
        return "needs Linux"
    try:
        import sandlock  # noqa: PLC0415  optional
    except ImportError:
        return 'is not installed (.venv/bin/pip install -e ".[sandbox]")'
    here, needed = sandlock.landlock_abi_version(), sandlock.min_landlock_abi()
    return "" if here >= needed else f"needs a newer Linux (Landlock {needed}; this one has {here})"


def start_in_sandlock(root: SandboxRoot, limits: Limits) -> Started:
    """Start a child in sandlock: it may read the system's programs and its root, and write in its folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"agentlib_child_{os.getpid()}_"))
    base = Path(sys.base_prefix).resolve()
    readable = ["/usr", "/lib", "/lib64", "/bin", "/dev/null", "/dev/urandom", "/proc"]
    readable += map(str, [base, root.folder, *root.packages])
    sandbox = {
        "fs_readable": [path for path in readable if Path(path).exists()],
        "fs_writable": [str(folder)],
        "max_processes": limits.processes,
        "clean_env": True,
        "env": {**ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)},
        "cwd": str(folder),
    }
    command = start_command(str(root.folder), map(str, root.packages))
    about = json.dumps({"sandbox": sandbox, "command": command})
    process = spawn([sys.executable, "-I", "-c", SANDLOCK, about], {"PATH": os.defpath})
    return Started(process, None, folder)


# --- containers


def start_in_container(program: str, root: SandboxRoot, limits: Limits) -> Started:
    """Start a child in a container of docker or podman.

    Each has a user of its own, since a limit on processes counts by user: numbers that no system gives out,
    below the 65,536 that a container has which an ordinary user started.
    """
    name = f"agentlib_child_{os.getpid()}_{secrets.token_hex(4)}"
    user = 60_578 + secrets.randbelow(606)
    command = container_command(program, name, root.folder, limits, user, ENVIRONMENT)
    process = spawn(command, client_environment(os.environ))
    return Started(process, stop=partial(remove_container, program, name))


# --- without a sandbox


def start_with_limits(root: SandboxRoot, limits: Limits) -> Started:
    """Start a child in a folder of its own. One that root starts becomes another user."""
    return start_in_folder(root, other_user() if is_root() else None)


def start_with_time(root: SandboxRoot, limits: Limits) -> Started:
    """Start a child in a folder of its own; what is bounded for sure is its time."""
    return start_in_folder(root, None)


def start_in_folder(root: SandboxRoot, user: int | None) -> Started:
    """Start a child in a folder of its own, which is the user's where there is one."""
    folder = Path(tempfile.mkdtemp(prefix=f"agentlib_child_{os.getpid()}_"))
    if user is not None:
        os.chown(folder, user, user)
    environment = {**ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)}
    if os.name == "nt":
        environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    command = start_command(str(root.folder), map(str, root.packages))
    return Started(spawn(command, environment, folder), user, folder)


def limits_missing() -> str:
    """Why resource limits cannot be tried. A child of root has to become another user: root is above some."""
    if os.name != "posix":
        return "Windows has none"
    if not is_root():
        return ""
    places = [Path(sys.base_prefix), *package_folders()]
    closed = [str(place) for place in places if not is_open(place)]
    return f"other users cannot read {closed[0]}" if closed else ""


def not_as_root() -> str:
    """Why a child that stays who it is should not be started by root."""
    return "the code would run as root; it is taken only by its name, with --isolation" if is_root() else ""


def is_open(folder: Path) -> bool:
    """Whether every user may read a folder."""
    folder = folder.resolve()
    return all(place.stat().st_mode & stat.S_IXOTH for place in [folder, *folder.parents])


BACKENDS = (
    Backend("bubblewrap", frozenset(PROMISES), bubblewrap_missing, start_in_bubblewrap),
    Backend("sandlock", frozenset(PROMISES) - {"space"}, sandlock_missing, start_in_sandlock),
    *(
        Backend(
            program,
            frozenset(PROMISES),
            partial(container_missing, program),
            partial(start_in_container, program),
        )
        for program in ("docker", "podman")
    ),
    Backend(
        "resource limits",
        frozenset({"memory", "disk", "time"} | ({"processes", "forks"} if is_root() else set())),
        limits_missing,
        start_with_limits,
    ),
    Backend("time limit", frozenset({"time"}), lambda: "", start_with_time, not_as_root),
)
"""All backends, the safest first."""
