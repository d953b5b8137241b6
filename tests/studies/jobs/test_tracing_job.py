"""Jobs with one more run of each configuration, which is traced and never counted."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.platform import clock
from fsbench_web.studies.jobs.features import times
from fsbench_web.studies.jobs.features.tracing import Tracing
from fsbench_web.studies.jobs.problems import JobRefused, Problems
from fsbench_web.studies.jobs.spec import GuestSpec, JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.windows.forecast import Window

pytestmark = pytest.mark.django_db


@pytest.fixture
def tracing_lun(disk: Lun) -> Lun:
    worker = disk.worker
    usable = {"usable": True, "reason": ""}
    worker.capabilities |= {"tracing": {"requests": usable, "operations": usable}}
    worker.save()
    return disk


def test_one_more_of_each_comes_after_all_that_count(
    tracing_lun: Lun, spec: Callable[..., JobSpec]
) -> None:
    job = spec(repeats=2, tracing=("requests",))
    plan = planned(job)
    without = planned(spec(repeats=2)).runs
    things = len(without) // 2
    assert [run.tracing for run in plan.runs] == [""] * len(without) + ["requests"] * things
    assert plan.most_runs == len(plan.runs) == job.run_count
    runs = submit(job, tracing_lun.name, None)
    assert [run.is_extra for run in runs] == [bool(run.tracing) for run in plan.runs]
    assert all(bool(run.block) != run.is_extra for run in Run.objects.all())


def test_no_rule_counts_it(tracing_lun: Lun, spec: Callable[..., JobSpec]) -> None:
    job = spec(until=RepeatTarget(5, 2, 4), tracing=("requests",))
    plan = planned(job)
    things = sum(bool(run.tracing) for run in plan.runs)
    assert plan.most_runs == job.run_count == 4 * things + things
    runs = submit(job, tracing_lun.name, None)
    assert all((run.repeat_rule is None) == run.is_extra for run in runs)


@pytest.mark.parametrize(
    ("tracers", "words"),
    [
        (("nosuch",), "not a tracer"),
        (("requests", "requests"), "more than once"),
    ],
)
def test_only_tracers_that_are_known(
    tracing_lun: Lun, spec: Callable[..., JobSpec], tracers: tuple[str, ...], words: str
) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(tracing=tracers))
    assert words in refused.value.by_part["tracing"][0]


def test_why_it_cannot_be_is_said_in_the_form_and_at_the_job(
    disk: Lun, spec: Callable[..., JobSpec], client: Client, admin_user: object
) -> None:
    client.force_login(admin_user)  # type: ignore[arg-type]
    address = f"/runs/new/?lun={disk.pk}"
    with pytest.raises(JobRefused) as refused:
        planned(spec(tracing=("requests",)))
    assert "another version" in refused.value.by_part["tracing"][0]
    why = "Only root may read the kernel&#x27;s block events"
    disk.worker.capabilities |= {
        "tracing": {"requests": {"usable": False, "reason": why.replace("&#x27;", "'")}}
    }
    disk.worker.save()
    assert why in client.get(address).content.decode()
    for kind, noun in ((Lun.Kind.DIRECTORY, "a directory"), (Lun.Kind.MOUNT, "a mount")):
        Lun.objects.update(kind=kind)
        with pytest.raises(JobRefused) as refused:
            planned(spec(tracing=("requests",)))
        assert f"{disk.name} is {noun}" in refused.value.by_part["tracing"][0]


def test_operations_are_not_traced_in_guests(
    tracing_lun: Lun, spec: Callable[..., JobSpec], client: Client, admin_user: User
) -> None:
    client.force_login(admin_user)
    address = f"/runs/new/?lun={tracing_lun.pk}"
    assert "root holds no bpftrace" not in client.get(address).content.decode()
    assert "root holds no bpftrace" in client.get(f"{address}&executor=guest").content.decode()
    problems = Problems({})
    for slugs, is_refused in ((("requests",), False), (("requests", "operations"), True)):
        job = spec(tracing=slugs, guest=GuestSpec(("debian-6.1",)))
        Tracing.check(job, tracing_lun, [], problems)
        assert problems.is_reported("tracing") == is_refused
    assert any("The guest's kernel" in problem for problem in problems.by_part["tracing"])


def test_a_race_has_none(tracing_lun: Lun, spec: Callable[..., JobSpec]) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(race=RaceSpec(hours=1), tracing=("requests",)))
    assert "race" in refused.value.by_part["tracing"][0]


def test_a_time_in_which_only_extra_runs_would_be_begun_is_refused(
    tracing_lun: Lun, spec: Callable[..., JobSpec]
) -> None:
    plan = planned(spec(repeats=2, tracing=("requests",)))
    counted = tuple(place for place, run in enumerate(plan.runs) if run.is_counted)
    begins_at = clock.now()
    problems = Problems({})
    for out, is_refused in ((counted[1:], False), (counted, True)):
        window = Window(begins_at, begins_at + timedelta(hours=1), len(plan.runs), out, 0, ())
        times.check_window(window, plan.runs, problems)
        assert problems.is_reported("stop_before") == is_refused
