"""A queued run on a LUN that stands on a disk which somebody uses by then: refused, nothing erased.

Of loop devices on a loop device, from the queue to the end.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.studies.models import Run, RunState
from runner.execution import last_checks
from runner.worker import Host
from tests.runner.conftest import MIB, tool, write_luns

pytestmark = [pytest.mark.django_db, pytest.mark.root]

CarryOut = Callable[[Run, Host], Run]


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A disk, and the LUN on it."""
    with ExitStack() as stack:
        made = [str(tmp_path / "disk.img")]
        Path(made[0]).touch()
        with Path(made[0]).open("r+b") as file:
            file.truncate(400 * MIB)
        for _ in range(2):
            made.append(tool("losetup", "--find", "--show", "--direct-io=on", made[-1]).strip())
            stack.callback(tool, "losetup", "--detach", made[-1])
        yield made[1], made[2]


@pytest.mark.parametrize("moment", ["while it waits", "after the first checks"])
def test_a_disk_that_is_mounted_under_the_lun_is_not_erased(
    lun_file: Path,
    devices: tuple[str, str],
    tmp_path: Path,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: CarryOut,
    started: list[int],
    moment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk, upper = devices
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", disk)
    write_luns(lun_file, {"name": "scratch", "kind": "device", "path": upper, "overwrite": True})
    host = make_host()
    run = submitted(host)
    (tmp_path / "point").mkdir()

    def mount() -> None:
        tool("mount", disk, str(tmp_path / "point"))
        (tmp_path / "point" / "thesis").write_text("mine")

    note = last_checks.note_erasures

    def noted(*arguments: object) -> None:
        note(*arguments)  # type: ignore[arg-type]
        mount()

    if moment == "while it waits":
        mount()
    else:
        monkeypatch.setattr(last_checks, "note_erasures", noted)
    try:
        run = carry_out(run, host)
        assert (run.state, run.cause, started) == (RunState.FAILED, "refused", [])
        assert f"What it stands on is mounted on {tmp_path / 'point'}: unmount it" in run.reason
        assert (tmp_path / "point" / "thesis").read_text() == "mine"
        erased = AuditEntry.objects.filter(what="LUN erased").exists()
        assert erased == (moment != "while it waits")
    finally:
        tool("umount", str(tmp_path / "point"))
    monkeypatch.setattr(last_checks, "note_erasures", note)
    assert carry_out(submitted(host), host).state == RunState.DONE


def test_another_lun_that_is_below_it_is_refused_as_its_journal(
    lun_file: Path,
    devices: tuple[str, str],
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: CarryOut,
    started: list[int],
) -> None:
    """A journal on the disk under the data would be written into the file system."""
    disk, upper = devices
    listed = {"kind": "device", "overwrite": True}
    write_luns(
        lun_file,
        {"name": "scratch", "path": upper} | listed,
        {"name": "log", "path": disk, "role": "journal"} | listed,
    )
    host = make_host()
    run = carry_out(submitted(host, "ext4", journal="log"), host)
    assert (run.state, started) == (RunState.FAILED, [])
    assert not AuditEntry.objects.filter(what="LUN erased").exists()
    assert "scratch is a part of log, or stands on it: one run cannot use both" in run.reason
