"""Series: what makes two runs repeats of each other."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import HardwareProfile, Workload
from fsbench_web.studies.models import Run, RunState, Series, Study
from fsbench_web.studies.runs import lifecycle, new_runs
from fsbench_web.studies.scores.ingest import move_to_kernel
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return Study.objects.create(slug="lab", title="Lab")


def test_every_circumstance_makes_another_series(study: Study) -> None:
    ext4, xfs = configuration_for("ext4", {}), configuration_for("xfs", {})
    workload = Workload.objects.create(slug="w", title="W", tool="iozone")
    hardware = HardwareProfile.objects.create(slug="h", name="H")
    other = Study.objects.create(slug="other", title="Other")
    all_series = [
        series_for(study, ext4),
        series_for(study, xfs),
        series_for(other, ext4),
        series_for(study, ext4, workload=workload),
        series_for(study, ext4, hardware=hardware),
        series_for(study, ext4, kernel="6.1"),
        series_for(study, ext4, distribution="6.1"),
    ]
    assert len({series.pk for series in all_series}) == len(all_series)
    assert series_for(study, ext4, kernel="6.1").pk == all_series[5].pk


def test_repeats_are_numbered_from_one_and_never_reused(study: Study) -> None:
    series = series_for(study, configuration_for("ext4", {}))
    with transaction.atomic():
        assert next_repeat(series) == 1
        first = new_runs.create_queued(series, 1, by=None, job=None)
        lifecycle.cancel(first.pk, "ada")
        assert next_repeat(series) == 2


def test_a_run_moves_to_the_series_of_its_kernel(study: Study) -> None:
    ext4 = configuration_for("ext4", {})
    expected = series_for(study, ext4, kernel="6.1")
    real = series_for(study, ext4, kernel="6.8", distribution="Debian")
    finished_run(real, 1)
    run = new_runs.create_queued(expected, 1, by=None, job=None)
    with transaction.atomic():
        assert move_to_kernel(run, "6.8", "Debian").pk == real.pk
    run.refresh_from_db()
    assert (run.series_id, run.repeat, run.state) == (real.pk, 2, RunState.QUEUED)
    assert Series.objects.filter(pk=expected.pk).exists()


def test_a_run_whose_kernel_is_as_expected_stays(study: Study) -> None:
    series = series_for(study, configuration_for("ext4", {}), kernel="6.1")
    run = new_runs.create_queued(series, 1, by=None, job=None)
    with transaction.atomic(), CaptureQueriesContext(connection) as queries:
        assert move_to_kernel(run, "6.1", "").pk == series.pk
    assert len(queries) == 0  # of nearly all runs
    assert Run.objects.get().repeat == 1
