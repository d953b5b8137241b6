"""A run erases the device that was confirmed with its job, whatever its LUN's name leads to.

Real loop devices are swapped behind the name, while the run waits or while it is checked.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.studies.models import Run, RunState
from runner.execution import last_checks
from runner.worker import Host
from tests.runner.conftest import MIB, sparse_lun, tool, write_luns

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


class Disks:
    """Two equal disks, and a name in /dev that leads to one of them."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self.files = [folder / f"{name}-{number}.img" for number in (1, 2)]
        self.devices = []
        for file in self.files:
            with file.open("wb") as image:
                image.truncate(400 * MIB)
            device = tool("losetup", "--direct-io=on", "--find", "--show", str(file))
            stack.callback(tool, "losetup", "--detach", device)
            self.devices.append(device)
        self.name = Path(f"/dev/fsbench-test-{folder.name}-{name}")
        stack.callback(self.name.unlink, missing_ok=True)
        self.name.symlink_to(self.devices[0])

    def swap(self) -> None:
        self.name.unlink()
        self.name.symlink_to(self.devices[1])


@pytest.fixture
def make_disks(tmp_path: Path) -> Iterator[Callable[[str], Disks]]:
    with ExitStack() as stack:
        yield lambda name: Disks(tmp_path, name, stack)


def device_lun(disks: Disks, **changes: Any) -> dict[str, Any]:
    return {"name": "scratch", "kind": "device", "path": str(disks.name)} | changes


def assert_refused(run: Run, started: list[int]) -> None:
    assert run.state == RunState.FAILED
    assert run.cause == "refused"
    assert run.commands == []
    assert started == []


def test_a_name_that_leads_to_another_disk_is_refused_and_both_are_named(
    lun_file: Path,
    make_disks: Callable[[str], Disks],
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
) -> None:
    disks = make_disks("data")
    write_luns(lun_file, device_lun(disks))
    host = make_host()
    run = submitted(host)
    confirmed = dict(run.confirmed["data"])
    disks.swap()
    host.refresh()
    run = carry_out(run, host)
    assert_refused(run, started)
    assert "scratch is another device now than the one that was confirmed" in run.reason
    for file, word in zip(disks.files, ("Confirmed: ", "Now: "), strict=True):
        assert f"inode {file.stat().st_ino}" in run.reason.split(word)[1]
    assert not AuditEntry.objects.filter(what="LUN erased").exists()
    # Whoever submits it again confirms what it is now.
    again = submitted(host)
    assert again.confirmed["data"] != confirmed
    assert carry_out(again, host).state == RunState.DONE


def test_a_list_that_gives_the_name_to_another_disk_is_refused_too(
    lun_file: Path,
    make_disks: Callable[[str], Disks],
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
) -> None:
    disks = make_disks("data")
    write_luns(lun_file, device_lun(disks, path=disks.devices[0]))
    host = make_host()
    run = submitted(host)
    write_luns(lun_file, device_lun(disks, path=disks.devices[1]))
    assert_refused(carry_out(run, host), started)
    write_luns(lun_file, device_lun(disks, path=disks.devices[0]))
    assert carry_out(submitted(host), host).state == RunState.DONE


def test_so_is_another_disk_behind_the_journals_name(
    lun_file: Path,
    make_disks: Callable[[str], Disks],
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
) -> None:
    data, journal = make_disks("data"), make_disks("log")
    write_luns(
        lun_file,
        device_lun(data),
        device_lun(journal, name="log", role="journal"),
    )
    host = make_host()
    run = submitted(host, journal="log")
    assert set(run.confirmed) == {"data", "journal"}
    journal.swap()
    run = carry_out(run, host)
    assert_refused(run, started)
    assert "log is another device now" in run.reason


def test_it_is_looked_at_in_the_last_moment(
    lun_file: Path,
    make_disks: Callable[[str], Disks],
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file under the device becomes another one after all checks had passed once."""
    disks = make_disks("data")
    os.setxattr(disks.files[0], "user.fsbench.id", b"one")
    write_luns(lun_file, device_lun(disks, path=disks.devices[0]))
    host = make_host()
    run = submitted(host)
    note = last_checks.note_erasures

    def swapped_meanwhile(*arguments: Any) -> None:
        note(*arguments)
        os.setxattr(disks.files[0], "user.fsbench.id", b"another")

    monkeypatch.setattr(last_checks, "note_erasures", swapped_meanwhile)
    assert_refused(carry_out(run, host), started)


def test_a_sparse_file_that_was_made_again_is_another_one(
    lun_file: Path,
    tmp_path: Path,
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
) -> None:
    host = make_host()
    assert carry_out(submitted(host), host).state == RunState.DONE
    later = submitted(host)
    assert carry_out(later, host).state == RunState.DONE, "erased, it is still the same file"
    started.clear()
    later = submitted(host)
    (tmp_path / "scratch.img").unlink()
    host.refresh()
    assert (tmp_path / "scratch.img").exists(), "made again, of the same size"
    later = carry_out(later, host)
    assert_refused(later, started)
    assert "mark" in later.reason.split("Now: ")[1]


def test_a_run_of_before_it_was_kept_is_refused(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, started: list[int]
) -> None:
    host = make_host()
    run = submitted(host)
    Run.objects.filter(pk=run.pk).update(confirmed={})
    run = carry_out(run, host)
    assert_refused(run, started)
    assert "What scratch was when this run was submitted is not known" in run.reason


def test_a_folder_that_was_replaced_is_another_one(
    lun_file: Path,
    tmp_path: Path,
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_luns(lun_file, {"name": "scratch", "kind": "directory", "path": str(folder)})
    host = make_host()
    run = submitted(host)
    folder.rename(tmp_path / "before")
    folder.mkdir()
    run = carry_out(run, host)
    assert_refused(run, started)
    assert "scratch is another device now" in run.reason


def test_the_files_identity_stays_with_the_worker_and_a_new_loop_device(
    lun_file: Path, make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = submitted(host)
    host.stop()
    write_luns(lun_file, sparse_lun(lun_file.with_name("scratch.img")))
    assert carry_out(run, make_host()).state == RunState.DONE
