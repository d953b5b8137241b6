"""Limits of the control group as an option of a job: what is compared, kept, and refused."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.limits import MIB, Limits
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.repeating import repeating_job
from fsbench_web.studies.jobs.spec import GuestSpec, JobSpec, LimitsSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.views import run_details
from fsbench_web.studies.views.job_review import review_context

pytestmark = pytest.mark.django_db


@pytest.fixture
def limiting(disk: Lun) -> Lun:
    """The LUN of a worker that limits rates and memory."""
    worker = disk.worker
    worker.capabilities = worker.capabilities | {"limits": {"rates": "", "memory": ""}}
    worker.save()
    return disk


def test_everything_is_run_with_each_combination_in_each_block(
    limiting: Lun, spec: Callable[..., JobSpec], ann: User
) -> None:
    job = spec(limits=LimitsSpec(read_mib_s=(0, 16), cpus=(2,)))
    assert job.run_count == 8
    context = review_context(job, planned(job), "t")
    assert context["limits"] == ["at most 2 CPUs", "at most reads 16 MiB/s, 2 CPUs"]
    runs = submit(job, "disk1", ann)
    machines = {run.series.pk: run.series.machine for run in runs}
    assert sorted(map(str, machines.values())) == sorted(
        2 * [str({"limits": {"cpus": 2}})] + 2 * [str({"limits": {"read_mib_s": 16, "cpus": 2}})]
    )
    assert {run.block for run in runs if run.repeat == 1} != {""}
    assert len({run.block for run in runs}) == 2  # both limits are beside each other
    assert Series.objects.count() == 4


def test_without_limits_a_series_keeps_its_key(
    limiting: Lun, spec: Callable[..., JobSpec], ann: User
) -> None:
    submit(spec(), "disk1", ann)
    before = set(Series.objects.values_list("key", flat=True))
    submit(spec(new_study="", study="first-look", limits=LimitsSpec(cpus=(0,))), "disk1", ann)
    assert set(Series.objects.values_list("key", flat=True)) == before
    assert {run.series.machine == {} for run in Run.objects.all()} == {True}


def test_what_repeats_a_run_keeps_its_limits(
    limiting: Lun, spec: Callable[..., JobSpec], ann: User
) -> None:
    run = submit(spec(limits=LimitsSpec(read_mib_s=(16,), cpus=(2,))), "disk1", ann)[0]
    job = repeating_job([run.series], 5)
    assert job is not None
    assert {repeated.machine for repeated in planned(job).runs} == {run.series.runs_on}
    assert "limit_read_mib_s=16" in run_details.submit_again(run)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (LimitsSpec(read_mib_s=(-1,)), "A limit is 0 (none) to"),
        (LimitsSpec(write_iops=(10**12,)), "A limit is 0 (none) to"),
        (LimitsSpec(memory_mib=(8,)), "no benchmark runs"),
        (LimitsSpec(cpus=(1, 1)), "appears twice"),
        (LimitsSpec((1, 2, 3, 4), (1, 2, 3), (1, 2, 3)), "36 combinations"),
    ],
)
def test_what_cannot_be_is_refused(
    limiting: Lun, spec: Callable[..., JobSpec], limits: LimitsSpec, message: str
) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(limits=limits))
    assert message in str(refused.value.by_part)
    assert all(part.startswith("limits") for part in refused.value.by_part)


def test_a_worker_that_limits_nothing_is_not_asked_to(
    disk: Lun, spec: Callable[..., JobSpec]
) -> None:
    job = spec(limits=LimitsSpec(read_mib_s=(16,)))
    with pytest.raises(JobRefused) as refused:
        planned(job)
    assert "a version of fsbench that limits no run" in refused.value.by_part["limits"][0]
    worker = disk.worker
    worker.capabilities = worker.capabilities | {"limits": {"rates": "No groups.", "memory": ""}}
    worker.save()
    with pytest.raises(JobRefused) as refused:
        planned(job)
    assert refused.value.by_part["limits"] == ["No groups."]
    assert planned(spec(limits=LimitsSpec(memory_mib=(512,))))


def test_guests_and_folders_have_none(limiting: Lun, spec: Callable[..., JobSpec]) -> None:
    limits = LimitsSpec(read_mib_s=(16,))
    with pytest.raises(JobRefused) as refused:
        planned(spec(limits=limits, guest=GuestSpec(("debian-6.1",))))
    assert "A guest has memory and CPUs of its own" in refused.value.by_part["limits"][0]
    Lun.objects.filter(pk=limiting.pk).update(kind=Lun.Kind.DIRECTORY)
    with pytest.raises(JobRefused) as refused:
        planned(spec(limits=limits))
    assert "no device of its own" in refused.value.by_part["limits"][0]


def test_the_form_shows_them_and_says_what_is_wrong_there(limiting: Lun, ann: User) -> None:
    client = Client()
    client.force_login(ann)
    page = client.get(f"/runs/new/?lun={limiting.pk}&limit_read_mib_s=0,+16").content.decode()
    assert 'name="limit_read_mib_s" inputmode="numeric" maxlength="120" value="0, 16"' in page
    page = client.get(f"/runs/new/?lun={limiting.pk}&limit_cpus=many&review=yes").content.decode()
    assert 'value="many"' in page


def test_a_machine_says_its_limits_and_comes_back() -> None:
    machine = Machine(limits=Limits(read_mib_s=16, write_iops=200, memory_mib=512, cpus=1))
    assert Machine.of(machine.stored()) == machine
    assert machine.words == "at most reads 16 MiB/s, 200 writes/s, 512 MiB of memory, 1 CPU"
    assert machine.limits.rates == {"read_bps": 16 * MIB, "write_iops": 200}
    assert (machine.is_guest, Machine().stored(), Machine().words) == (False, {}, "")
