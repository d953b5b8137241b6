"""Results become measurements and scores: of finished runs, and of nothing else."""

import gzip
import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.formats import ParsedResult, ParsedValue
from fsbench_web.studies.models import Artefact, Run, RunState, Score, Series, Study
from fsbench_web.studies.runs.environments import environment_for
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run, measured

SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 8,
    "minimum_file_kb": 8,
    "maximum_file_kb": 16,
}
CELLS = {(4, 8): 10.0, (8, 8): 20.0, (4, 16): 30.0, (8, 16): 40.0}


def parsed(
    cells: dict[tuple[int, int], float], test: str = "write", unit: str = "KB/s"
) -> ParsedResult:
    values = [
        ParsedValue(test, record_kb, file_kb, value, unit, line)
        for line, ((record_kb, file_kb), value) in enumerate(cells.items(), start=1)
    ]
    return ParsedResult("iozone", "iozone", values=values)


def single(value: float, test: str = "untar", unit: str = "s") -> ParsedResult:
    return ParsedResult("table", "table", values=[ParsedValue(test, None, None, value, unit, 2)])


@pytest.fixture
def series(db: None) -> Series:
    study = Study.objects.create(slug="lab", title="Lab")
    workload = Workload.objects.create(slug="small", title="S", tool="iozone", parameters=SMALL)
    return series_for(study, configuration_for("ext4", {}), workload=workload)


def finished(series: Series, *results: ParsedResult, state: RunState = RunState.DONE) -> Run:
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        for result in results:
            artefact = ingest.store_artefact(run, "out.txt", b"raw")
            ingest.store_values(run, artefact, result.values)
        Run.objects.filter(pk=run.pk).update(state=state)
        ingest.rescore(series)
    return run


def scores(series: Series, test: str = "write") -> dict[str, float]:
    return dict(series.scores.filter(test=test).values_list("category", "value"))


def test_a_matrix_gets_the_seven_categories(series: Series) -> None:
    finished(series, parsed(CELLS))
    finished(series, parsed({cell: value + 2 for cell, value in CELLS.items()}))
    assert scores(series) == {
        "maximum": 42,
        "minimum": 10,
        "total_average": 26,
        "target_average": 26,
        "ora_ta": 26,
        "specfp_ta": 21,
        "overall": 42 + 10 + 26 + 26 + 26 + 21,
    }
    maximum, specfp = (series.scores.get(category=c) for c in ("maximum", "specfp_ta"))
    assert (maximum.repeats, maximum.cells, maximum.cells_expected) == (2, 4, 4)
    assert (specfp.repeats, specfp.cells, specfp.cells_expected) == (2, 2, 2)
    assert (maximum.unit, maximum.origin, maximum.flags) == ("KB/s", "computed", [])


def test_a_matrix_with_missing_cells_says_how_many_were_expected(series: Series) -> None:
    finished(series, parsed({(4, 8): 10.0}))
    score = series.scores.get(category="total_average")
    assert (score.value, score.cells, score.cells_expected) == (10, 1, 4)


def test_repeats_with_different_cells_are_flagged(series: Series) -> None:
    finished(series, parsed(CELLS))
    finished(series, parsed({(4, 8): 10.0}))
    assert series.scores.get(category="total_average").flags == ["unequal_repeats"]


def test_a_test_without_sizes_gets_its_mean(series: Series) -> None:
    finished(series, single(10))
    finished(series, single(13))
    assert scores(series, "untar") == {"mean": 11.5}
    assert series.scores.get().cells_expected is None


@pytest.mark.parametrize("state", [state for state in RunState if state != RunState.DONE])
def test_a_run_that_did_not_finish_enters_no_score(series: Series, state: RunState) -> None:
    finished(series, parsed({(4, 8): 99.0}), state=state)
    assert len(measured()) == 1
    assert scores(series) == {}


def test_scores_that_lost_their_basis_go(series: Series) -> None:
    first = finished(series, parsed(CELLS))
    finished(series, parsed(CELLS, "read"))
    Run.objects.filter(pk=first.pk).update(state=RunState.FAILED)
    ingest.rescore(series)
    assert set(series.scores.values_list("test", flat=True)) == {"read"}


def test_printed_scores_stay_untouched(series: Series) -> None:
    series.study.is_published = True
    printed = Score.objects.create(
        series=series,
        test="write",
        category="maximum",
        value=7,
        unit="KB/s",
        published={"delta1_percent": "1.00"},
        origin="published",
    )
    finished(series, parsed(CELLS))
    score = series.scores.get(test="write", category="maximum")
    assert (score.pk, score.value, score.origin) == (printed.pk, 7, "published")
    assert series.scores.filter(origin="computed").count() == 6


def test_scores_of_other_series_stay(series: Series) -> None:
    other = series_for(series.study, configuration_for("xfs", {}))
    finished(other, parsed(CELLS))
    before = list(other.scores.order_by("id").values_list("id", "value"))
    finished(series, parsed(CELLS))
    assert list(other.scores.order_by("id").values_list("id", "value")) == before


def test_two_units_of_one_test_have_no_score(series: Series) -> None:
    finished(series, parsed(CELLS))
    with pytest.raises(ingest.MixedMeasurements, match="in KB/s and in ops/s"):
        finished(series, parsed(CELLS, unit="ops/s"))
    assert Run.objects.count() == 1
    assert scores(series)["maximum"] == 40


def test_cells_beside_a_single_value_have_no_score(series: Series) -> None:
    finished(series, parsed(CELLS))
    with pytest.raises(ingest.MixedMeasurements, match="with sizes and values without"):
        finished(series, single(5, "write", "KB/s"))


def test_a_series_without_a_known_matrix_expects_nothing(series: Series) -> None:
    Workload.objects.update(parameters={"modes": []})
    series.refresh_from_db()
    finished(series, parsed(CELLS))
    assert set(series.scores.values_list("cells_expected", flat=True)) == {None}


def test_raw_output_is_kept_as_it_came(series: Series) -> None:
    run = finished(series)
    data = b"\x00\xff raw \r\n" * 1000
    artefact = ingest.store_artefact(run, "name\x00.txt", data)
    artefact = Artefact.objects.get(pk=artefact.pk)
    assert ingest.artefact_bytes(artefact) == data
    assert artefact.sha256 == hashlib.sha256(data).hexdigest()
    assert artefact.size_bytes == len(data)
    assert len(gzip.decompress(artefact.content_gzip)) > len(artefact.content_gzip)


def test_a_measurement_names_its_line_and_artefact(series: Series) -> None:
    run = finished(series, parsed(CELLS))
    lines = sorted((measurement.line, measurement.value) for measurement in measured(run))
    assert lines == [(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)]
    assert {measurement.artefact_id for measurement in measured(run)} == {run.artefacts.get().pk}


def test_the_same_facts_are_one_environment(db: None) -> None:
    facts = {"Tools": [["IOzone", "3.489"]]}
    environment = environment_for(facts, kernel="6.1", distribution="Debian 12")
    assert environment_for(dict(facts), kernel="6.1", distribution="Debian 12").pk == environment.pk
    assert environment_for(facts, kernel="6.2", distribution="Debian 12").pk != environment.pk
    nul = environment_for({"a\x00": [["b\x00", "c\x00"]]}, kernel="k\x00")
    assert Environment.objects.get(pk=nul.pk).facts == {"a\ufffd": [["b\ufffd", "c\ufffd"]]}


@pytest.mark.django_db(transaction=True)
def test_runs_that_end_at_once_are_all_in_the_scores() -> None:
    study = Study.objects.create(slug="lab", title="Lab")
    series = series_for(study, configuration_for("ext4", {}))

    def end(number: int) -> None:
        try:
            finished(series, single(number))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(end, range(1, 9)))
    score = series.scores.get()
    assert (score.value, score.repeats) == (4.5, 8)
    assert sorted(series.runs.values_list("repeat", flat=True)) == list(range(1, 9))
