"""What holds a submission as a whole, and what keeps it from the others: groups of Linux, and processors."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentlib.course.grading import BACKENDS, Limits
from agentlib.course.grading.batch import EarlyPool
from agentlib.course.grading.cgroup import enclose, places, remove_cgroup, remove_old_cgroups
from agentlib.course.grading.channel import Child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these are Linux's own")


def made(folder: Path, *lines: str) -> dict[str, Path]:
    """Make a folder that looks as Linux's does to a process in these groups."""
    (folder / "own").write_text("".join(f"{line}\n" for line in lines))
    return {"root": folder, "own": folder / "own"}


def test_a_group_is_made_in_our_own_one_and_in_version_2_beside_it(tmp_path):
    assert places(**made(tmp_path, "9:name=systemd:/", "4:memory:/a/b", "0::/user/ann/shell")) == [
        (tmp_path / "memory/a/b", "memory.limit_in_bytes"),
        (tmp_path / "user/ann", "memory.max"),
    ]
    assert places(**made(tmp_path, "0::/")) == [(tmp_path, "memory.max")]
    assert places(tmp_path, tmp_path / "none") == []


@pytest.mark.parametrize(
    ("line", "place", "limit"),
    [("4:memory:/a", "memory/a", "memory.limit_in_bytes"), ("0::/a/b", "a", "memory.max")],
)
def test_a_process_is_put_into_a_group_with_its_limit(tmp_path, line, place, limit):
    (tmp_path / place).mkdir(parents=True)
    group = enclose(123, 5_000, **made(tmp_path, line))
    assert group.parent == tmp_path / place
    assert {path.name: path.read_text() for path in group.iterdir()} == {limit: "5000", "cgroup.procs": "123"}


def test_where_no_group_can_be_made_there_is_none(tmp_path):
    assert enclose(123, 5_000, **made(tmp_path, "4:memory:/not/there", "0::/neither/nor")) is None
    assert enclose(123, 5_000, tmp_path, tmp_path / "none") is None


def test_groups_of_graders_that_have_ended_are_removed_and_no_others(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = (f"agentlib_{ended.pid}_ab", f"agentlib_{os.getpid()}_ab", "agentlib_x_ab", "other")
    for name in names:
        (tmp_path / "a" / name).mkdir(parents=True)
    remove_old_cgroups(**made(tmp_path, "0::/a/b"))
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(names[1:])


HOLDS_SHARED = """
import mmap
input()
shared = mmap.mmap(-1, 300_000_000)
for place in range(0, len(shared), 4096):
    shared[place] = 1
shared.madvise(mmap.MADV_DONTNEED)
"""


def test_a_group_ends_a_process_that_holds_memory_which_no_look_at_it_shows():
    with subprocess.Popen([sys.executable, "-c", HOLDS_SHARED], stdin=subprocess.PIPE) as process:
        group = enclose(process.pid, 100_000_000)
        try:
            if group is None:
                pytest.skip("no control group can be made here")
            process.communicate(b"\n", timeout=60)
            assert process.returncode == -9
        finally:
            process.kill()
            process.wait()
            if group is not None:
                remove_cgroup(group)
                assert not group.exists()


@pytest.mark.skipif(bool(BACKENDS[0].available()), reason=f"bubblewrap {BACKENDS[0].available()}")
def test_a_child_in_bubblewrap_leaves_no_group(root):
    child = Child(BACKENDS[0], root, Limits(), time.monotonic() + 20)
    group = child._started.cgroup
    child.end()
    assert group is None or not group.exists()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one processor")
def test_each_worker_and_what_it_starts_has_a_processor_of_its_own():
    with contextlib.closing(EarlyPool(2, now=2)) as pools, pools(2) as pool:
        until = time.monotonic() + 30
        found = []
        while len(found) < 2 and time.monotonic() < until:
            found = [os.sched_getaffinity(pid) for pid in pool._processes]
            found = [one for one in found if len(one) == 1]
            time.sleep(0.01)
        assert len(set.union(*found)) == 2


def test_a_worker_that_is_alone_may_use_every_processor():
    with contextlib.closing(EarlyPool(1, now=1)) as pools, pools(1) as pool:
        assert pool.submit(os.sched_getaffinity, 0).result() == os.sched_getaffinity(0)
