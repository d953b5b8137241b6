"""Jobs that measure their LUN itself before each block."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.stacks import Stack
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.platform import clock
from fsbench_web.studies.jobs.features.probe import first_of_blocks
from fsbench_web.studies.jobs.parts import THIS_HOST
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec
from fsbench_web.studies.jobs.submit_warnings import of_probe
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, LunProbe, Run
from fsbench_web.studies.runs import ledger, probes
from fsbench_web.studies.sequence import Slot
from tests.core.scoring.test_ceilings import DISK
from tests.studies.conftest import GB, USABLE, worker_announcement

pytestmark = pytest.mark.django_db

FIO = {"usable": True, "version": "3.33"}


@pytest.fixture
def with_fio(disk: Lun) -> Lun:
    worker = disk.worker
    worker.capabilities = worker.capabilities | {
        "tools": worker.capabilities["tools"] | {"fio": FIO}
    }
    worker.save()
    return disk


def test_the_first_run_of_each_block_measures_the_lun(
    with_fio: Lun, spec: Callable[..., JobSpec]
) -> None:
    job = spec(
        repeats=2,
        probe_s=30,
        reference=ReferenceSpec(ConfigurationSpec("ext4", scheduler="none"), 2),
    )
    runs = planned(job).runs
    probed = [
        (run.repeat, run.is_reference)
        for run in runs
        if any(command.phase == "probe" for command in run.commands)
    ]
    assert probed == [(1, False), (2, False)]
    commands = next(run for run in runs if not run.is_reference).commands
    phases = [command.phase for command in commands]
    assert phases[:2] == ["probe", "mkfs"]
    assert commands[0].argv == ("fsbench-probe", "--seconds", "30", with_fio.device)


def test_a_job_keeps_for_how_long_and_its_runs_ask_it(
    with_fio: Lun, spec: Callable[..., JobSpec]
) -> None:
    job = spec(probe_s=30)
    submit(job, with_fio.name, None)
    assert Job.objects.get().probe_s == 30
    assert [probes.due_s(run) for run in Run.objects.all()] == [30] * 4
    Lun.objects.update(kind=Lun.Kind.DIRECTORY)
    assert [probes.due_s(run) for run in Run.objects.all()] == [0] * 4


@pytest.mark.parametrize("seconds", [-1, 4, 601])
def test_the_time_has_bounds(with_fio: Lun, spec: Callable[..., JobSpec], seconds: int) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(probe_s=seconds))
    assert "5 to 600 seconds" in refused.value.by_part["probe_s"][0]


def test_it_takes_a_device_and_fio(disk: Lun, spec: Callable[..., JobSpec]) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(probe_s=30))
    assert "fio" in refused.value.by_part["probe_s"][0]
    Lun.objects.update(kind=Lun.Kind.DIRECTORY)
    with pytest.raises(JobRefused) as refused:
        planned(spec(probe_s=30))
    assert "no device of its own" in refused.value.by_part["probe_s"][0]


@pytest.fixture
def with_two_disks(disk: Lun) -> Worker:
    usual = worker_announcement()
    can = {
        "filesystems": usual.capabilities["filesystems"] | {"btrfs": USABLE},
        "tools": usual.capabilities["tools"] | {"fio": FIO},
    }
    other = LunAnnouncement("disk2", "data", "device", "/dev/disk2", 20 * GB, [], ["none"])
    return announce(
        worker_announcement(capabilities=usual.capabilities | can, luns=[*usual.luns, other])
    )


def test_what_lies_on_several_luns_is_not_measured_and_the_reason_is_said(
    with_two_disks: Worker, spec: Callable[..., JobSpec]
) -> None:
    on_two = ConfigurationSpec("btrfs", {"data_profile": "raid1"}, "none", stack=Stack(("disk2",)))
    job = spec(
        probe_s=30, repeats=1, configurations=(on_two, ConfigurationSpec("ext4", scheduler="none"))
    )
    runs = planned(job).runs
    probed = [any(command.phase == "probe" for command in run.commands) for run in runs]
    # The block's first run is no place for it where that is of several LUNs.
    assert probed == [False, True]
    (warning,) = of_probe(job, runs)
    assert warning.startswith(f"{runs[0].configuration}: on several LUNs that no layer")
    assert of_probe(spec(probe_s=0, configurations=(on_two,)), runs) == []
    submit(job, "disk1 disk2", None)
    first, second = Run.objects.order_by("pk").select_related("series", "job")
    assert [probes.due_s(run) for run in (first, second)] == [0, 30]
    assert "no bound" in probes.missing_reason(first)
    assert "log of the round's first run" in probes.missing_reason(second)
    second.block = ""
    assert "reference" in probes.missing_reason(second)
    first.job = None
    assert probes.missing_reason(first) == ""


MIRROR = Stack(("disk2",), layers=(Layer.of({"layer": "md", "level": "raid1"}),))


def test_each_stack_that_is_one_device_is_measured_once_in_a_block() -> None:
    configurations = [
        ConfigurationSpec("ext4", stack=stack)
        for stack in (MIRROR, Stack(), MIRROR, Stack(("disk2",)), Stack(log=("disk2",)))
    ]
    slots = [Slot(index, repeat) for repeat in (1, 2) for index in (None, 0, 1, 2, 3, 4)]
    indexes = first_of_blocks(
        slots, [(configuration, THIS_HOST, None) for configuration in configurations]
    )
    assert indexes == {1, 2, 7, 8}
    assert [probes.target(configuration.stack) for configuration in configurations] == [
        *("disk2 md-raid1", "", "disk2 md-raid1", None, None)
    ]


def test_what_stands_on_layers_is_set_against_their_device_and_no_ledger_has_it(
    with_two_disks: Worker, spec: Callable[..., JobSpec]
) -> None:
    on_two = ConfigurationSpec("btrfs", {"data_profile": "raid1"}, "none", stack=Stack(("disk2",)))
    alone = ConfigurationSpec("ext4", scheduler="none")
    submit(spec(probe_s=30, repeats=1, configurations=(on_two, alone)), "disk1 disk2", None)
    on_layers, plain = Run.objects.order_by("pk").select_related("series__configuration", "job")
    configuration = on_layers.series.configuration
    configuration.stack = MIRROR.shape.stored()
    configuration.save()
    plain.block = on_layers.block
    lun = plain.series.lun
    assert lun is not None

    def make_probe(run: Run, target: str) -> LunProbe:
        return LunProbe.objects.create(run=run, lun=lun, target=target, at=clock.now(), result=DISK)

    assert probes.due_s(on_layers) == 30
    of_layers = make_probe(on_layers, probes.target_of(on_layers.series) or "")
    assert of_layers.target == "disk2 md-raid1"
    assert [probes.due_s(run) for run in (on_layers, plain)] == [0, 30]
    assert probes.probe_of_block(plain) is None
    of_lun = make_probe(plain, "")
    assert [probes.probe_of_block(run) for run in (on_layers, plain)] == [of_layers, of_lun]
    assert [row.key for row in ledger.ledger(lun).probes] == [of_lun.pk]
