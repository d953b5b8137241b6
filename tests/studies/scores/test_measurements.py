"""Measurements in their blocks: cut, paged, changed, refused, read no further than asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.comparison import imported
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.imports.storing.numbering import digest_of
from fsbench_web.studies.models import Artefact, MeasurementBlock, Run, Study
from fsbench_web.studies.scores import ingest, measurements
from fsbench_web.studies.series import series_for
from tests.measured import change, finished_run, measured

VALUES = [
    *(ParsedValue("write", 4, 8 << n, 10.0 + n, "KB/s", n + 1) for n in range(7)),
    *(ParsedValue("read", 4, 8 << n, 20.0 + n, "KB/s", n + 8, load="threads=2") for n in range(5)),
    ParsedValue("mount", None, None, 0.5, "s", 13, samples=(0.25, 0.75)),
]


@pytest.fixture
def run(db: None) -> Run:
    series = series_for(Study.objects.create(slug="lab", title="L"), configuration_for("ext4", {}))
    with transaction.atomic():
        return finished_run(series, 1)


@pytest.fixture
def cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose numbers are in blocks of three, each read by itself."""
    monkeypatch.setattr(measurements, "MOST_IN_BLOCK", 3)
    monkeypatch.setattr(measurements, "_WITH_THE_LIST", 2)
    ingest.store_values(run, None, VALUES)
    ingest.rescore(run.series)
    return run


def expected(value: ParsedValue) -> tuple[Any, ...]:
    return (value.test, value.load, value.value, value.line, list(value.samples) or None)


def measurements_of(run: Run) -> list[tuple[Any, ...]]:
    return [(row.test, row.load, row.value, row.line, row.samples) for row in measured(run)]


def test_blocks_are_cut_and_read_in_order(cut: Run) -> None:
    blocks = MeasurementBlock.objects.filter(run=cut)
    assert list(blocks.values_list("count", flat=True)) == [3, 3, 3, 3, 1]
    assert [block.tests for block in blocks][2] == [
        ["write", "", "KB/s", 1, 1],
        ["read", "threads=2", "KB/s", 2, 2],
    ]
    assert measurements_of(cut) == [expected(value) for value in VALUES]
    assert digest_of(cut.pk) == imported.digest_of(measurements.of_values(VALUES)[0])


def test_however_it_is_cut_the_scores_are_the_same(cut: Run) -> None:
    def scores() -> list[Any]:
        rows = cut.series.scores.values_list("test", "category", "value", "cells", "flags")
        return sorted(rows, key=repr)

    in_pieces = scores()
    MeasurementBlock.objects.all().delete()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "MOST_IN_BLOCK", 1000)
        ingest.store_values(cut, None, VALUES)
    assert MeasurementBlock.objects.count() == 1
    ingest.rescore(cut.series)
    assert scores() == in_pieces


@pytest.mark.parametrize("test", ["", "write", "read", "nothing"])
@pytest.mark.parametrize(("offset", "limit"), [(0, 2), (2, 4), (0, 99), (5, 1), (12, 5), (99, 1)])
def test_a_page_is_a_part_of_all(cut: Run, test: str, offset: int, limit: int) -> None:
    of_test = [value for value in VALUES if test in ("", value.test)]
    total, rows = measurements.page(cut.pk, test, offset, limit)
    assert total == len(of_test)
    assert [(row.test, row.value) for row in rows] == [
        (value.test, value.value) for value in of_test[offset : offset + limit]
    ]


def test_what_is_not_asked_for_is_not_read(cut: Run, django_assert_num_queries: Callable) -> None:
    with django_assert_num_queries(1 + 1):
        measurements.page(cut.pk, "", 4, 1)
    with django_assert_num_queries(1):
        assert measurements.rows_of(cut.pk, len(VALUES) - 1) is None
    with django_assert_num_queries(1 + 3):
        names = {("write", "")}
        blocks = measurements.read(measurements.of_run(cut.pk), names.__contains__)
        assert [len(numbers) for numbers in blocks] == [3, 3, 1]
    with django_assert_num_queries(1):
        assert measurements.count(cut.pk) == len(VALUES)


def test_a_cell_that_is_there_is_refused(cut: Run) -> None:
    ingest.store_values(cut, None, [ParsedValue("write", 8, 8, 1.0, "KB/s", 1)])
    ingest.store_values(cut, None, [ParsedValue("write", 4, 8, 1.0, "KB/s", 1, load="jobs=1")])
    for values in ([VALUES[6]], [ParsedValue("new", None, None, 1.0, "s", n) for n in (1, 2)]):
        with pytest.raises(IntegrityError, match="given twice"), transaction.atomic():
            ingest.store_values(cut, None, values)
    assert len(measured(cut)) == len(VALUES) + 2


def test_flags_are_changed_without_the_numbers(cut: Run) -> None:
    before = list(MeasurementBlock.objects.values_list("pk", "content", "samples"))
    (block, *_) = measurements.listed(measurements.of_run(cut.pk))
    measurements.write_flags(block, ([None, ["clock"]], np.array([0, 1, 0])))
    assert [measurement.flags for measurement in measured(cut)][:4] == [None, ["clock"], None, None]
    assert list(MeasurementBlock.objects.values_list("pk", "content", "samples")) == before
    measurements.write_flags(block, ([None], np.zeros(3, dtype=np.int64)))
    assert MeasurementBlock.objects.get(pk=block.pk).flags is None


def test_a_block_without_numbers_goes(cut: Run) -> None:
    change(lambda measurement: None if measurement.test == "write" else measurement)
    assert list(MeasurementBlock.objects.values_list("count", flat=True)) == [2, 3, 1]
    assert measurements_of(cut) == [expected(value) for value in VALUES if value.test != "write"]


def test_numbers_stay_when_their_output_goes(run: Run) -> None:
    artefact = ingest.store_artefact(run, "out.txt", b"out\n")
    ingest.store_values(run, artefact, VALUES)
    assert measurements.runs_of(artefact.pk) == {run.pk}
    assert {measurement.artefact_id for measurement in measured(run)} == {artefact.pk}
    Artefact.objects.all().delete()
    assert {measurement.artefact_id for measurement in measured(run)} == {None}


def test_a_hidden_study_shows_none(cut: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fsbench_web.studies.visibility.hidden_studies", lambda: {cut.series.study_id}
    )
    assert measured(cut) == []
    assert measurements.count(cut.pk) == 0


def test_a_damaged_block_names_its_run(cut: Run, client: Client) -> None:
    last = MeasurementBlock.objects.last()
    assert last is not None
    MeasurementBlock.objects.filter(pk=last.pk).update(content=bytes(last.content)[:-1])
    message = f"Measurements of run {cut.pk}, block {last.pk}: The block is damaged"
    with pytest.raises(UnreadableBlock, match=message):
        measured(cut)
    assert [text.startswith(message) for text in measurements.unreadable()] == [True]
    assert client.get("/runs/").status_code == 200
