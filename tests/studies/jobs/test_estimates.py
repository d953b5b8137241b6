from datetime import timedelta

import pytest
from django.utils import timezone

from fsbench_web.catalog.models import Lun, Workload
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs.estimates import Estimate, Experience, total
from fsbench_web.studies.jobs.spec import ConfigurationSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState, Series
from tests.studies.conftest import complete, worker_announcement


def took(run: Run, seconds: float) -> None:
    complete(run)
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(started_at=now - timedelta(seconds=seconds), ended_at=now)


@pytest.fixture
def workload(runs) -> Workload:
    return Workload.objects.get()


def test_nothing_is_known_before_anything_was_done(runs, workload, disk):
    assert Experience([workload.pk]).of((workload.pk, disk.pk, "ext4")) is None


def test_the_nearest_experience_counts(runs, workload, disk, spec, ann):
    took(runs[0], 100)  # ext4
    took(runs[2], 140)
    took(runs[1], 300)  # xfs
    experience = Experience([workload.pk])
    assert experience.of((workload.pk, disk.pk, "ext4")) == Estimate(
        120, 2, "with ext4 on this LUN"
    )
    assert experience.of((workload.pk, disk.pk, "ext3")) == Estimate(180, 3, "on this LUN")
    other = Lun.objects.get(worker=announce(worker_announcement(name="lab2")), name="disk1")
    assert experience.of((workload.pk, other.pk, "xfs")) == Estimate(
        300, 1, "with xfs on other LUNs"
    )
    assert experience.of((workload.pk, other.pk, "ext2")) == Estimate(180, 3, "on other LUNs")


def test_runs_that_were_prepared_differently_are_no_experience(runs, workload, disk):
    took(runs[0], 100)
    kind = (workload.pk, disk.pk, "ext4")
    assert Experience([workload.pk]).of(kind, {"precondition": True}) is None
    Series.objects.update(preparation={"precondition": True, "fill_percent": 5})
    experience = Experience([workload.pk])
    assert experience.of(kind) is None
    assert experience.of(kind, {"fill_percent": 5, "precondition": True}) == Estimate(
        100, 1, "with ext4 on this LUN"
    )


def test_a_run_that_did_not_end_well_is_no_experience(runs, workload, disk):
    from fsbench_web.studies.runs import lifecycle
    from tests.studies.conftest import start

    lifecycle.finish(start(runs[0]), RunState.FAILED, "x")
    lifecycle.cancel(runs[1].pk, "ann")
    assert Experience([workload.pk]).of((workload.pk, disk.pk, "ext4")) is None


def test_another_workload_is_no_experience(runs, workload, disk, spec, ann):
    (other,) = submit(
        spec(
            new_study="Second",
            parameters={"maximum_file_kb": 1024},
            configurations=(ConfigurationSpec("ext4", {}, "none"),),
            repeats=1,
        ),
        "disk1",
        ann,
    )
    took(runs[0], 100)
    assert other.series.workload_id != workload.pk
    assert Experience([other.series.workload_id]).of((other.series.workload_id, 1, "ext4")) is None


@pytest.mark.parametrize(
    ("seconds", "estimate"),
    [
        ([100, -123048], Estimate(100, 1, "with ext4 on this LUN")),
        ([100, 0], Estimate(100, 1, "with ext4 on this LUN")),
        ([100, 140, 3730], Estimate(140, 3, "with ext4 on this LUN")),
    ],
    ids=["back", "back by as much", "ahead"],
)
def test_a_clock_that_was_set_while_a_run_was_measured_spoils_no_estimate(
    workload, disk, spec, ann, seconds, estimate
):
    configurations = (ConfigurationSpec("ext4", {}, "none"),)
    runs = submit(
        spec(new_study="Steps", configurations=configurations, repeats=len(seconds)), "disk1", ann
    )
    for run, duration_s in zip(runs, seconds, strict=True):
        took(run, duration_s)
    workload_id = runs[0].series.workload_id
    assert Experience([workload_id]).of((workload_id, disk.pk, "ext4")) == estimate


def test_it_takes_one_query(runs, workload, disk, django_assert_num_queries):
    took(runs[0], 100)
    with django_assert_num_queries(1):
        experience = Experience([workload.pk])
        experience.of((workload.pk, disk.pk, "ext4"))
        experience.of((workload.pk, disk.pk, "xfs"))


def test_a_sum_with_a_gap_is_no_sum():
    estimate = Estimate(10, 1, "")
    assert total([estimate, estimate]).duration_s == 20
    partly = total([estimate, None])
    assert (partly.duration_s, partly.known_s, partly.unknown) == (None, 10, 1)
    assert total([]).duration_s == 0
