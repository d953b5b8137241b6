"""What is in memory of a file system whose run is stopped: nobody waits until that is written."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.agent.test_agent import await_file, finish, plan, shell, start
from tests.services.process import holds

pytestmark = pytest.mark.root


@pytest.fixture
def point(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "point"
    point.mkdir()
    yield point
    while os.path.ismount(point):
        subprocess.run(["umount", point], check=True)


def mounting(tmp_path: Path, point: Path, loop: str, script: str, kind: str) -> dict[str, Any]:
    force = {"xfs": "-f", "btrfs": "-f"}.get(kind, "-F")
    return plan(
        tmp_path,
        {"phase": "mkfs", "argv": [f"mkfs.{kind}", "-q", force, loop]},
        {"phase": "mount", "argv": ["mount", "-t", kind, loop, str(point)]},
        shell(script),
        filesystem=kind,
        mount_point=str(point),
        unmount=["umount", str(point)],
        device=loop,
    )


def left_in_memory(tmp_path: Path, point: Path, then: str) -> str:
    """A script that leaves 8 MiB there, and says when it has."""
    return (
        f"echo > {point}/logged; sync -f {point}; head -c 8M /dev/zero > {point}/data; {then} "
        f"echo $$ > {tmp_path}/written; sleep 100"
    )


def was_given_up(loop: str, kind: str = "ext4") -> bool:
    """Whether it was unmounted without what unmounting writes. Not whether the data is there:
    whoever calls sync(2) on this machine writes that.
    """
    argv = {"ext4": ["dumpe2fs", "-h"], "xfs": ["xfs_logprint", "-t"]}[kind]
    printed = subprocess.run([*argv, loop], check=True, capture_output=True, text=True).stdout
    return {"ext4": "needs_recovery", "xfs": "<DIRTY>"}[kind] in printed


def assert_unmounted(loop: str) -> None:
    """A process that another test has just started may have a copy of the mount for a while."""
    deadline = time.monotonic() + 60
    while not holds(lambda: not was_given_up(loop)):
        assert time.monotonic() < deadline


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
@pytest.mark.parametrize("how", ["worker gone", "worker silent", "cancelled"])
def test_it_is_not_written_any_more(
    tmp_path: Path, point: Path, other_loop: str, kind: str, how: str
) -> None:
    # The smallest that XFS takes is 300 MiB.
    os.truncate(tmp_path / "other.img", 320 * 2**20)
    subprocess.run(["losetup", "--set-capacity", other_loop], check=True)
    content = mounting(tmp_path, point, other_loop, left_in_memory(tmp_path, point, ""), kind)
    if how == "worker silent":
        content["worker_silence_s"] = 3.0
    process = start(content)
    await_file(tmp_path / "written")
    if how == "worker gone":
        assert process.stdin is not None
        process.stdin.close()
    elif how == "cancelled":
        process.send_signal(signal.SIGTERM)
    status, messages = finish(process)
    assert status == (4 if how == "worker silent" else 3), messages
    assert not os.path.ismount(point)
    assert was_given_up(other_loop, kind)


def test_a_run_that_ends_well_has_written_all(tmp_path: Path, point: Path, other_loop: str) -> None:
    script = left_in_memory(tmp_path, point, "exit;")
    status, messages = finish(start(mounting(tmp_path, point, other_loop, script, "ext4")))
    assert status == 0, messages
    assert_unmounted(other_loop)


def test_what_is_mounted_there_by_somebody_else_goes_on(
    tmp_path: Path, point: Path, other_loop: str
) -> None:
    subprocess.run(["mkfs.ext4", "-q", other_loop], check=True)
    subprocess.run(["mount", other_loop, point], check=True)
    script = f"echo $$ > {tmp_path}/written; sleep 100"
    content = plan(tmp_path, shell(script), mount_point=str(point), unmount=["true"])
    process = start(content | {"device": other_loop})
    await_file(tmp_path / "written")
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 3
    (point / "theirs").write_text("still there")
    subprocess.run(["sync", "-f", point], check=True)


def test_what_has_another_mount_on_top_is_given_up_below_it(
    tmp_path: Path, point: Path, other_loop: str
) -> None:
    cover = f"mount -t tmpfs above {point};"
    content = mounting(tmp_path, point, other_loop, left_in_memory(tmp_path, point, cover), "ext4")
    process = start(content)
    await_file(tmp_path / "written")
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 3
    assert not os.path.ismount(point)
    assert was_given_up(other_loop)


def test_a_guest_unmounts_as_ever(tmp_path: Path, point: Path, other_loop: str) -> None:
    """Its kernel says of what is given up that it shuts down, which is read as an I/O error."""
    content = mounting(tmp_path, point, other_loop, left_in_memory(tmp_path, point, ""), "ext4")
    process = start(content | {"guest": {"kernel": "debian-6.1"}})
    await_file(tmp_path / "written")
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 3
    assert not os.path.ismount(point)
    assert_unmounted(other_loop)
