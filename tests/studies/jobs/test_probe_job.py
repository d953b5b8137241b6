"""Jobs that measure their LUN itself before each block."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobRefused, JobSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, Run
from fsbench_web.studies.runs import probes

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
    wanted = spec(
        repeats=2,
        probe_s=30,
        reference=ReferenceSpec(ConfigurationSpec("ext4", scheduler="none"), 2),
    )
    runs = planned(wanted).runs
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
    wanted = spec(probe_s=30)
    submit(wanted, with_fio.name, None)
    assert Job.objects.get().probe_s == 30
    assert [probes.wanted_s(run) for run in Run.objects.all()] == [30] * 4
    Lun.objects.update(kind=Lun.Kind.DIRECTORY)
    assert [probes.wanted_s(run) for run in Run.objects.all()] == [0] * 4


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
