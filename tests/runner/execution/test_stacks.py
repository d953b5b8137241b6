"""Stacks on real loop devices: one file system over several LUNs, all of them or none."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.studies.models import Lease, Run, RunState, StackLun
from fsbench_web.studies.runs import leases
from runner.execution import execute
from runner.executors.base import Message, Target
from runner.executors.local import LocalExecutor
from runner.plan import plan_run
from runner.safety import blockdev, checks
from runner.worker import Host
from tests.measured import measured
from tests.runner.conftest import LONG, sparse_lun, tool, write_luns
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]
RAID1 = {"data_profile": "raid1", "metadata_profile": "raid1"}
WITH_SECOND = [("data", "second")]


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    """An allow-list with ``scratch`` and ``second`` of 400 MiB, and ``fast`` for journals."""
    path = tmp_path / "luns.toml"
    write_luns(
        path,
        sparse_lun(tmp_path / "scratch.img"),
        sparse_lun(tmp_path / "second.img", name="second"),
        sparse_lun(tmp_path / "fast.img", name="fast", size="100 MiB", role="journal"),
    )
    return path


def device_of(host: Host, name: str) -> str:
    return host.device(host.entry(name))


def verdict(host: Host, name: str) -> str:
    entry = host.entry(name)
    return checks.problem(checks.verify(entry, host.config.lun_file, host.device(entry)))


def sectors_written(device: str) -> int:
    """Sectors of 512 bytes written so far (Documentation/block/stat.rst)."""
    number = blockdev.device_number(device)
    assert number is not None
    return int((blockdev.sys_folder(number) / "stat").read_text().split()[6])


def test_btrfs_raid1_is_measured_on_two_luns_that_are_leased_together(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host(LocalExecutor())
    devices = [device_of(host, name) for name in ("scratch", "second")]
    before = [sectors_written(device) for device in devices]
    held: list[set[str | None]] = []
    run_plan = execute._run_plan

    def look(*arguments: object) -> object:
        rows = Lease.objects.exclude(run=None)
        held.append(set(rows.values_list("lun__name", flat=True)))
        return run_plan(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "_run_plan", look)
    run = submitted(host, "btrfs", options=RAID1, members=WITH_SECOND, scheduler="mq-deadline")
    assert run.series.configuration.label == "btrfs_data-raid1_meta-raid1_2luns_mq-deadline"
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert held == [{"scratch", "second"}]
    assert len(measured(run, test="write")) == 4
    # Two copies: what was written went to both, and not mkfs's few blocks alone.
    grown = [sectors_written(device) - was for device, was in zip(devices, before, strict=True)]
    assert min(grown) > 0.8 * max(grown)
    mkfs = next(command for command in run.commands if command["phase"] == "mkfs")
    assert mkfs["argv"][-2:] == devices
    assert run.environment is not None
    assert ["Name", "second"] in run.environment.facts["LUN of the stack second"]
    mounted = dict(run.environment.facts["File system"])
    assert mounted["Type"] == "btrfs" if "Type" in mounted else mounted
    # Both are free, and known as fsbench's own: the next run may erase each by itself.
    assert (verdict(host, "scratch"), verdict(host, "second")) == ("", "")
    assert not Lease.objects.exclude(run=None).exists()
    alone = carry_out(submitted(host, "ext4", lun="second"), host)
    assert alone.state == RunState.DONE, alone.reason


def test_a_killed_agent_leaves_none_of_its_luns_in_use(make_host: MakeHost) -> None:
    """As the kernel ends it when its worker is killed: all at once, in the middle of measuring."""
    host = make_host(LocalExecutor())
    devices = [device_of(host, name) for name in ("scratch", "second")]
    member = execute.places.Member("data", devices[1])
    plan = plan_run("btrfs", RAID1, "iozone", LONG, device=devices[0], members=[member])
    messages: list[Message] = []

    def fail_when_running() -> bool:
        if any(message.get("phase") == "benchmark" for message in messages):
            raise LookupError("lease lost")
        return False

    target = Target(1, host.name, "scratch", devices[0], members=(("second", devices[1]),))
    with pytest.raises(LookupError):
        host.executor.run(plan, target, messages.append, fail_when_running)
    deadline = time.monotonic() + 60
    while problem := verdict(host, "scratch") + verdict(host, "second"):
        assert time.monotonic() < deadline, problem
        time.sleep(0.1)


# ---- refused before anything is erased ----
@pytest.fixture
def counters(make_host: MakeHost) -> tuple[Host, Callable[[], list[int]]]:
    """A host that would erase (its agent is played), and how much was written to each LUN."""
    host = make_host(FakeExecutor())
    return host, lambda: [
        sectors_written(device_of(host, name)) for name in ("scratch", "second", "fast")
    ]


def assert_refused(run: Run, host: Host, *words: str) -> None:
    assert run.state == RunState.FAILED
    for word in words:
        assert word in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert not Lease.objects.exclude(run=None).exists()


def test_a_member_of_another_mounted_file_system_is_not_erased(
    counters: tuple[Host, Callable[[], list[int]]],
    submitted: Submit,
    carry_out: CarryOut,
    tmp_path: Path,
) -> None:
    """The second device of a mounted Btrfs is in no list of mounts: the kernel holds it."""
    host, _ = counters
    run = submitted(host, "btrfs", members=WITH_SECOND)
    other = tmp_path / "elsewhere.img"
    other.touch()
    os.truncate(other, 400 * MIB)
    loop = tool("losetup", "--find", "--show", str(other))
    point = tmp_path / "mounted"
    point.mkdir()
    second = device_of(host, "second")
    tool("mkfs.btrfs", "-q", "-f", "-L", "fsbench", "-d", "raid1", "-m", "raid1", loop, second)
    tool("mount", "-o", f"device={second}", loop, str(point))
    try:
        (point / "precious").write_text("kept")
        carry_out(run, host)
        assert_refused(run, host, "second was not erased", "It is in use")
        assert (point / "precious").read_text() == "kept"
    finally:
        tool("umount", str(point))
        assert blockdev.wait_until_free(second, blockdev.FREE_AGAIN_S, lambda: None)
        tool("losetup", "--detach", loop)


def test_what_somebody_else_wrote_on_a_member_is_not_erased(
    counters: tuple[Host, Callable[[], list[int]]], submitted: Submit, carry_out: CarryOut
) -> None:
    host, count = counters
    run = submitted(host, "btrfs", members=WITH_SECOND)
    tool("mkfs.btrfs", "-q", "-f", "-L", "theirs", device_of(host, "second"))
    before = count()
    carry_out(run, host)
    assert_refused(run, host, "second was not erased", "btrfs “theirs”")
    assert count() == before


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (None, "lists no LUN “second”"),
        ({"role": "journal"}, "second is set aside for external journals"),
    ],
)
def test_the_host_decides_which_luns_are_in_a_stack(
    counters: tuple[Host, Callable[[], list[int]]],
    submitted: Submit,
    carry_out: CarryOut,
    lun_file: Path,
    second: dict[str, str] | None,
    words: str,
) -> None:
    host, _ = counters
    run = submitted(host, "btrfs", members=WITH_SECOND)
    listed = [sparse_lun(lun_file.parent / "scratch.img")]
    if second is not None:
        listed.append(sparse_lun(lun_file.parent / "second.img", name="second", **second))
    write_luns(lun_file, *listed)
    carry_out(run, host)
    assert_refused(run, host, words)


def test_a_stack_that_lost_a_lun_is_never_made_of_the_rest(
    counters: tuple[Host, Callable[[], list[int]]], submitted: Submit, carry_out: CarryOut
) -> None:
    host, count = counters
    run = submitted(host, "btrfs", members=WITH_SECOND)
    before = count()
    StackLun.objects.update(lun=None)
    carry_out(run, host)
    assert_refused(run, host, "A LUN of its stack is no longer known")
    again = submitted(host, "btrfs", members=[("data", "second")])
    StackLun.objects.filter(series=again.series).delete()
    carry_out(again, host)
    assert_refused(again, host, "Its LUNs are not those of its configuration")
    assert count() == before


def test_two_names_of_one_device_are_no_stack(
    counters: tuple[Host, Callable[[], list[int]]],
    submitted: Submit,
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, count = counters
    run = submitted(host, "btrfs", members=WITH_SECOND)
    before, scratch = count(), device_of(host, "scratch")
    monkeypatch.setattr(host, "device", lambda entry: scratch)
    carry_out(run, host)
    assert_refused(run, host, "Two of scratch, second are one device")
    monkeypatch.undo()
    assert count() == before


def test_all_luns_are_leased_or_none(
    counters: tuple[Host, Callable[[], list[int]]], submitted: Submit
) -> None:
    """While another run has the second LUN, the stack waits and holds nothing."""
    host, _ = counters
    other = submitted(host, "ext4", lun="second")
    stacked = submitted(host, "btrfs", members=WITH_SECOND)
    worker = stacked.series.lun.worker  # type: ignore[union-attr]
    assert execute.lifecycle.claim(other.pk, worker) is not None
    assert execute.lifecycle.claim(stacked.pk, worker) is None
    assert set(Lease.objects.exclude(run=None).values_list("lun__name", flat=True)) == {"second"}
    assert leases.shared_in_use(stacked.series) == [(f"second on {worker}", other.pk)]
    assert execute.queue.next_run(stacked.series.lun_id) is None  # type: ignore[arg-type]
    other.refresh_from_db()
    execute.lifecycle.leases.free(other)
    handle = execute.lifecycle.claim(stacked.pk, worker)
    assert handle is not None
    assert len(handle.others) == 1
    # Losing either lease stops every write.
    Lease.objects.filter(lun__name="second").update(token=99)
    with pytest.raises(leases.LeaseLost):
        leases.lock(handle)
