"""Measurements at a load: stored with it, scored apart, and shown by every page."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.formats import ParsedResult, ParsedValue
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run, measured, measurement_of


def value(number: float, load: str, *, sizes: tuple[int, int] | None = None) -> ParsedValue:
    record_kb, file_kb = sizes or (None, None)
    return ParsedValue("randread_iops", record_kb, file_kb, number, "ops/s", 7, load=load)


def finished(series: Series, *values: ParsedValue) -> Run:
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    return run


@pytest.fixture
def series(db: None) -> Series:
    study = Study.objects.create(slug="lab", title="Lab")
    return series_for(study, configuration_for("ext4", {}))


def test_each_load_has_a_mean_of_its_own(series: Series) -> None:
    finished(series, value(100, "threads=1"), value(900, "threads=16"), value(5, ""))
    finished(series, value(300, "threads=1"), value(700, "threads=16"))
    assert set(series.scores.values_list("test", "category", "value", "repeats")) == {
        ("randread_iops", "mean", 5.0, 1),
        ("randread_iops@threads=1", "mean", 200.0, 2),
        ("randread_iops@threads=16", "mean", 800.0, 2),
    }


def test_a_matrix_at_a_load_is_not_mixed_with_one_without(series: Series) -> None:
    finished(
        series,
        value(10, "", sizes=(4, 64)),
        value(90, "processes=2", sizes=(4, 64)),
    )
    assert series.scores.get(test="randread_iops", category="maximum").value == 10
    assert series.scores.get(test="randread_iops@processes=2", category="maximum").value == 90


def test_the_same_cell_at_two_loads_is_two_measurements(series: Series) -> None:
    run = finished(series, value(1, "jobs=1", sizes=(4, 64)), value(1, "jobs=2", sizes=(4, 64)))
    assert len(measured(run)) == 2
    with pytest.raises(IntegrityError), transaction.atomic():
        ingest.store_values(run, None, [value(2, "jobs=1", sizes=(4, 64))])


def test_interval_samples_are_kept(series: Series) -> None:
    sampled = ParsedValue("tput", None, None, 3.0, "MB/s", 1, samples=(1.5, 4.5))
    run = finished(series, sampled, value(1, "jobs=1"))
    assert measurement_of(run, test="tput").samples == [1.5, 4.5]
    assert measurement_of(run, load="jobs=1").samples is None


def test_loads_are_in_the_order_of_their_numbers() -> None:
    names = ["randread@threads=16", "randread@threads=2", "write", "randread"]
    assert sorted(names, key=testnames.place) == [
        "write",
        "randread",
        "randread@threads=2",
        "randread@threads=16",
    ]
    assert (
        testnames.label("random_write@iodepth=4,jobs=8") == "Random write at queue depth 4, 8 jobs"
    )
    assert testnames.label("mail@home") == "Mail@home"


def test_pages_tell_loads_apart(series: Series, client: Client) -> None:
    result = ParsedResult("fio", "fio")
    result.values = [
        value(100, "jobs=1"),
        value(200, "jobs=16"),
        value(5, "jobs=16", sizes=(4, 64)),
    ]
    result.values[2] = ParsedValue("write", 4, 64, 5, "KB/s", 9, load="jobs=16")
    run = finished(series, *result.values)
    client.force_login(User.objects.create_user("ann"))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Randread, operations per second at 16 jobs" in page
    assert "Randread, operations per second at 1 job<" in page
    study = client.get("/studies/lab/").content.decode()
    assert "Randread, operations per second at 16 jobs" in study
    assert client.get("/studies/lab/matrix/?test=write@jobs=16").status_code == 200
    assert client.get("/studies/lab/matrix/?test=write").status_code == 404
    compared = client.get("/compare/?study=lab&test=randread_iops@jobs=16")
    assert "Randread, operations per second at 16 jobs" in compared.content.decode()
    tables = client.get("/api/v1/deltas?study=lab").json()["tables"]
    assert {table["test"] for table in tables if table["category"] == "mean"} == {
        "randread_iops@jobs=1",
        "randread_iops@jobs=16",
    }
