"""What stands behind scores: cells, loads and repeats with their runs, in one query each."""

import pytest
from django.db import transaction

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.formats import ParsedValue
from fsbench_web.studies.models import Run, RunState, Series, Study
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores import cells, ingest
from fsbench_web.studies.scores.queries import ScoreFilter
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run


def at(record: int, file: int, number: float, test: str = "write") -> ParsedValue:
    return ParsedValue(test, record, file, number, "KB/s", 1)


def loaded(number: float, load: str, samples: tuple[float, ...] = ()) -> ParsedValue:
    return ParsedValue("mail", None, None, number, "ops/s", 1, load=load, samples=samples)


def finished(series: Series, *values: ParsedValue) -> Run:
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    return run


@pytest.fixture
def lab(db: None) -> Study:
    return Study.objects.create(slug="lab", title="Lab")


@pytest.fixture
def ext4(lab: Study) -> Series:
    return series_for(lab, configuration_for("ext4", {}))


@pytest.fixture
def xfs(lab: Study) -> Series:
    return series_for(lab, configuration_for("xfs", {}))


def test_a_cell_knows_its_values_and_the_runs_that_measured_it(ext4: Series) -> None:
    first = finished(ext4, at(4, 64, 10), at(8, 64, 5))
    second = finished(ext4, at(4, 64, 14))
    (matrix,) = cells.matrices([ext4.pk], "write")
    assert matrix.cells[4, 64].mean == 12
    assert matrix.cells[4, 64].run_ids == [first.pk, second.pk]
    assert matrix.cells[8, 64].run_ids == [first.pk]
    assert matrix.cells[8, 64].interval is None
    interval = matrix.cells[4, 64].interval
    assert interval is not None
    assert interval.low < 10 < 14 < interval.high


def test_a_run_that_did_not_finish_counts_nowhere(ext4: Series) -> None:
    run = finished(ext4, at(4, 64, 10), loaded(1, "threads=1"))
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED)
    assert cells.matrices([ext4.pk], "write") == []
    assert cells.load_curves([ext4.pk], "mail") == []
    assert cells.repeats([ext4.pk], "write") == []


def test_one_row_or_column_of_a_matrix(ext4: Series) -> None:
    finished(ext4, at(4, 64, 1), at(4, 128, 2), at(8, 128, 3))
    (row,) = cells.matrices([ext4.pk], "write", record_kb=4)
    assert set(row.cells) == {(4, 64), (4, 128)}
    (column,) = cells.matrices([ext4.pk], "write", file_kb=128)
    assert set(column.cells) == {(4, 128), (8, 128)}
    assert cells.sizes_of([ext4.pk], "write") == ([4, 8], [64, 128])


def test_a_load_has_an_interval_of_its_repeats_or_of_its_samples(ext4: Series, xfs: Series) -> None:
    finished(ext4, loaded(10, "threads=1", (9, 11)), loaded(80, "threads=8"))
    finished(xfs, loaded(20, "threads=1", (1, 1)))
    finished(xfs, loaded(30, "threads=1", (2, 2)))
    of_ext4, of_xfs = cells.load_curves([ext4.pk, xfs.pk], "mail")
    assert of_ext4.loads["threads=1"].interval.of == "samples"
    assert of_ext4.loads["threads=8"].interval is None
    assert of_xfs.loads["threads=1"].interval.of == "repeats"
    assert of_xfs.loads["threads=1"].interval.mean == 25


def test_repeats_are_a_cell_or_the_mean_of_all_a_run_measured(ext4: Series) -> None:
    first = finished(ext4, at(4, 64, 10), at(8, 64, 20))
    second = finished(ext4, at(4, 64, 14))
    (means,) = cells.repeats([ext4.pk], "write")
    assert means.repeats.run_ids == [first.pk, second.pk]
    assert means.repeats.values == [15, 14]
    assert means.cells == [2, 1]
    (cell,) = cells.repeats([ext4.pk], "write", record_kb=8, file_kb=64)
    assert (cell.repeats.values, cell.repeats.run_ids) == ([20], [first.pk])


def test_units_are_never_mixed(lab: Study, ext4: Series, xfs: Series) -> None:
    finished(ext4, at(4, 64, 10))
    finished(xfs, ParsedValue("write", 4, 64, 10, "MB/s", 1))
    assert [matrix.unit for matrix in cells.matrices([ext4.pk, xfs.pk], "write")] == [
        "KB/s",
        "MB/s",
    ]


def test_each_answer_is_one_query_however_many_series(
    ext4: Series, xfs: Series, django_assert_num_queries
) -> None:
    for series in (ext4, xfs):
        for _ in range(2):
            finished(series, at(4, 64, 10), loaded(1, "threads=1"))
    keys = [ext4.pk, xfs.pk]
    for ask in (
        lambda: cells.matrices(keys, "write"),
        lambda: cells.load_curves(keys, "mail"),
        lambda: cells.repeats(keys, "write"),
        lambda: cells.sizes_of(keys, "write"),
        lambda: cells.scored_tests(ScoreFilter(["lab"])),
    ):
        with django_assert_num_queries(1):
            assert ask()


def test_a_picture_of_too_many_numbers_is_refused(
    ext4: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "MOST_VALUES", 1)
    finished(ext4, at(4, 64, 10), at(4, 128, 10))
    with pytest.raises(cells.TooManyValues, match="fewer contenders"):
        cells.matrices([ext4.pk], "write")


def test_runs_behind_a_number_have_an_address() -> None:
    assert address_of([]) == ""
    assert address_of([7]) == "/runs/7/"
    assert address_of([7, 8]) == "/runs/?runs=7,8"


@pytest.mark.django_db
def test_the_list_of_runs_shows_those_behind_a_number(client, ext4: Series) -> None:
    runs = [finished(ext4, at(4, 64, 10 + place)) for place in range(3)]
    page = client.get(address_of([runs[0].pk, runs[2].pk])).content.decode()
    assert f"/runs/{runs[0].pk}/" in page
    assert f"/runs/{runs[2].pk}/" in page
    assert f"/runs/{runs[1].pk}/" not in page
    assert client.get("/runs/?runs=x,99999999999999999999").status_code == 200
