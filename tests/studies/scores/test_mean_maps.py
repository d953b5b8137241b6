"""Matrices averaged over runs, and a run's numbers one by one."""

import pytest
from django.db import transaction
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.quality import FLAGS
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.runs.shown import quality
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.scores.cells import mean_maps
from fsbench_web.studies.scores.measurements import rows_of
from fsbench_web.studies.series import next_repeat, series_for
from fsbench_web.studies.views import run_details
from tests.measured import change, finished_run, without_flags

CLOCK, OUTLIER = list(FLAGS)[:2]


@pytest.fixture
def series(db: None) -> Series:
    return series_for(Study.objects.create(slug="lab", title="Lab"), configuration_for("ext4", {}))


def finished(series: Series, *values: float, test: str = "write", load: str = "") -> Run:
    """A run with 4 KB records in files of 8, 16, ... KB, and one number without sizes."""
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        cells = [
            ParsedValue(test, 4, 8 * 2**place, value, "KB/s", place + 1, load=load)
            for place, value in enumerate(values)
        ]
        artefact = ingest.store_artefact(run, "out.txt", b"out\n")
        ingest.store_values(run, artefact, [*cells, ParsedValue("mount", None, None, 1, "s", 99)])
        ingest.rescore(series)
    return run


def flag(run: Run, file_kb: int, *flags: str) -> None:
    change(lambda row: row._replace(flags=list(flags)) if row.file_size_kb == file_kb else row, run)


def test_means_and_flags_of_all_repeats_come_together(series: Series) -> None:
    first, second = finished(series, 10, 20, 30), finished(series, 20, 20, 60)
    finished(series, 1, 1, 1, test="read")
    finished(series, 1, 1, 1, load="threads=2")
    without_flags()
    flag(first, 8, OUTLIER)
    flag(second, 8, CLOCK, OUTLIER)
    flag(second, 32, "of-another-version")
    (mean_map,) = mean_maps([series.pk], "write", 10) or []
    assert (mean_map.series_id, mean_map.unit) == (series.pk, "KB/s")
    assert mean_map.means == {(4, 8): 15, (4, 16): 20, (4, 32): 45}
    assert list(mean_map.flagged.items()) == [
        (FLAGS[CLOCK].of_cells, {(4, 8)}),
        (FLAGS[OUTLIER].of_cells, {(4, 8)}),
        ("of-another-version", {(4, 32)}),
    ]


def test_runs_that_did_not_finish_are_left_out(series: Series) -> None:
    finished(series, 10)
    Run.objects.filter(pk=finished(series, 30).pk).update(state="failed")
    (mean_map,) = mean_maps([series.pk], "write", 10) or []
    assert mean_map.means == {(4, 8): 10}


def test_too_many_cells_are_no_map(series: Series) -> None:
    finished(series, 10, 20, 30)
    assert mean_maps([series.pk], "write", 3) is not None
    assert mean_maps([series.pk], "write", 2) is None


def test_the_numbers_of_a_run_tell_what_the_database_would(series: Series) -> None:
    finished(series, 10, 20, 30)
    run = finished(series, 10, 20, 30, 40)
    without_flags()
    flag(run, 8, CLOCK)
    flag(run, 16, CLOCK, OUTLIER)
    flag(run, 32, OUTLIER, CLOCK)
    numbers = rows_of(run.pk, 5)
    assert numbers is not None
    assert [number.value for number in numbers] == [10, 20, 30, 40, 1]
    assert rows_of(run.pk, 4) is None
    queried, counted = quality.run_quality(run, 5), quality.run_quality(run, 5, numbers)
    assert counted == queried
    assert [(line.flag, line.count) for line in counted.lines] == [
        (FLAGS[CLOCK], 3),
        (FLAGS[OUTLIER], 2),
    ]
    assert list(run_details.artefacts(run, numbers)) == list(run_details.artefacts(run))


def test_a_run_with_too_many_numbers_shows_its_flags(
    series: Series, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(series, 10, 20)
    flag(run, 8, CLOCK)
    monkeypatch.setattr(limits, "MOST_NUMBERS", 2)
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert "The run holds 3 numbers" in html
    assert "1 of 3" in html
    assert 'data-figure="' not in html
