"""How far the reference of a job had moved around each of its runs."""

from datetime import UTC, datetime, timedelta

import pytest

from fsbench_web.studies.models import Job, Run, Score, Series, Study
from fsbench_web.studies.scores import rejudging
from fsbench_web.studies.scores.drift import Drift, ReferencePoint, drift_of_runs
from tests.studies.scores.test_quality import flat, measured, series_of

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def drift(*changes: tuple[int, float]) -> Drift:
    """(minute, change in percent) of each reference; their runs are 100, 101, ..."""
    points = [
        ReferencePoint(100 + place, at(minute), (1.0,), (change,))
        for place, (minute, change) in enumerate(changes)
    ]
    return Drift("overall", ("write",), tuple(points))


def test_a_run_has_the_worse_of_the_references_beside_it() -> None:
    by_run = drift_of_runs(drift((0, 0), (10, -6), (20, 2)), {1: at(5), 2: at(15), 3: at(25)})
    assert by_run == {1: -6, 2: -6, 3: 2}


def test_a_reference_has_its_own() -> None:
    by_run = drift_of_runs(drift((0, 0), (10, -6)), {100: at(0), 101: at(10)})
    assert by_run == {100: 0, 101: -6}


def test_one_reference_says_nothing() -> None:
    assert drift_of_runs(drift((0, 0)), {1: at(5)}) == {}


@pytest.fixture
def job(db: None) -> Job:
    return Job.objects.create(token="t")


def finished(job: Job, series: Series, minute: int, value: float, *, ref: bool) -> Run:
    return measured(series, flat(value), job=job, is_reference=ref, started_at=at(minute))


def test_a_run_between_references_that_moved_is_not_sound(job: Job) -> None:
    study = Study.objects.create(slug="lab", title="Lab")
    reference, other = series_of(study), series_of(study)
    finished(job, reference, 0, 10_000, ref=True)
    early = finished(job, other, 5, 5000, ref=False)
    assert rejudging.note_drift(job.pk) == []
    finished(job, reference, 10, 9990, ref=True)
    late = finished(job, other, 15, 5001, ref=False)
    assert rejudging.note_drift(job.pk) == []
    # The next reference is a tenth slower: it reaches the run before it, too.
    finished(job, reference, 20, 9000, ref=True)
    assert rejudging.note_drift(job.pk) == sorted([reference.pk, other.pk])
    early.refresh_from_db()
    late.refresh_from_db()
    assert early.drift_percent == pytest.approx(-0.1, abs=0.01)
    assert late.drift_percent == pytest.approx(-10, abs=0.1)
    sound = Score.selections.get(series=other, selection="sound", category="total_average")
    whole = Score.objects.get(series=other, category="total_average")
    assert (sound.repeats, whole.repeats) == (1, 2)
    assert "drifted" in whole.flags
    # Asked again, nothing is left to do.
    assert rejudging.note_drift(job.pk) == []


def test_a_job_without_references_has_no_drift(job: Job) -> None:
    study = Study.objects.create(slug="lab", title="Lab")
    run = finished(job, series_of(study), 0, 1000, ref=False)
    assert rejudging.note_drift(job.pk) == []
    run.refresh_from_db()
    assert run.drift_percent is None
    assert rejudging.jobs_with_references() == []
