"""Rows that are written without Django's objects: they are read back as they were given."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.utils import timezone

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.imports.models import RunContent
from fsbench_web.studies.models import (
    Artefact,
    MeasurementBlock,
    Run,
    RunState,
    Score,
    StateChange,
    Study,
)
from fsbench_web.studies.scores.rows import (
    as_json,
    execute_together,
    insert_rows,
    insert_together,
    written_if_many,
)
from fsbench_web.studies.series import series_for
from tests.measured import finished_run

COLUMNS = (
    *("series_id", "repeats", "test", "category", "selection", "origin", "value", "unit"),
    *("left_out", "flags"),
)
BLOCK = ("id", "run_id", "artefact_id", "count", "tests", "content")


@pytest.fixture
def run(db: None) -> Run:
    study = Study.objects.create(slug="lab", title="Lab")
    series = series_for(study, configuration_for("ext4", {}))
    return finished_run(series, 1)


def row(run: Run, test: str, value: float = 1.5, left_out: object = None) -> tuple[object, ...]:
    fields = (run.series_id, 3, test, "mean", "all", "computed", value, "KB/s")
    return (*fields, as_json(left_out), as_json([]))


def test_it_writes_texts_and_numbers_as_they_are(run: Run) -> None:
    tests = ["tab\there", "back\\slash", "\\N", "line\nline", "100 % \u2264 'quoted' \"twice\" %s"]
    values = [0.1 + 0.2, 1e-300, 123456789.123456789, 5e-324, 1.7976931348623157e308]
    rows = [row(run, test, value) for test, value in zip(tests, values, strict=True)]
    assert insert_rows(Score, COLUMNS, rows) == 5
    scores = Score.objects.filter(series=run.series).order_by("id")
    assert [(score.test, score.value) for score in scores] == list(zip(tests, values, strict=True))
    assert {(score.repeats, score.cells, score.left_out) for score in scores} == {(3, None, None)}


def test_it_writes_bytes_as_they_are(run: Run) -> None:
    content = bytes(range(256)) + b"\\x00\t\n"
    assert insert_rows(MeasurementBlock, BLOCK, [(2**40, run.pk, None, 3, "[]", content)]) == 1
    block = MeasurementBlock.objects.get(pk=2**40)
    assert (bytes(block.content), block.tests, block.artefact_id) == (content, [], None)


def test_it_writes_json_and_null(run: Run) -> None:
    insert_rows(Score, COLUMNS, [row(run, "some", left_out=[1.5, 'a "b" \\ c']), row(run, "none")])
    by_test = dict(Score.objects.filter(series=run.series).values_list("test", "left_out"))
    assert by_test == {"some": [1.5, 'a "b" \\ c'], "none": None}
    assert Score.objects.filter(series=run.series, left_out__isnull=True).count() == 1


def test_statements_are_executed_in_their_order(run: Run, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    text = "UPDATE studies_run SET reason = %s WHERE id = %s"
    with django_assert_num_queries(1 if connection.vendor == "postgresql" else 2):
        execute_together((text, ["first", run.pk]), (text, ["100 % of 'it'; %s", run.pk]))
    run.refresh_from_db()
    assert run.reason == "100 % of 'it'; %s"
    with pytest.raises(IntegrityError), transaction.atomic():
        execute_together((text, ["second", run.pk]), (text, [None, run.pk]))
    run.refresh_from_db()
    assert run.reason == "100 % of 'it'; %s"


def test_no_rows_are_no_statement(run: Run, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    with django_assert_num_queries(0):
        assert insert_rows(MeasurementBlock, BLOCK, []) == 0


def test_it_raises_what_django_raises(run: Run) -> None:
    twice = [(10**9, run.pk, None, 1, "[]", b"")] * 2
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(MeasurementBlock, BLOCK, twice)
    with pytest.raises(DatabaseError), transaction.atomic():
        insert_rows(MeasurementBlock, ("no_such_column",), [(1,)])
    assert not run.measurement_blocks.exists()


def rows_of(run: Run) -> tuple[models.Model, ...]:
    return (
        Artefact(
            run=run, name="a %s; b.txt", sha256="0" * 64, size_bytes=3, content_gzip=b"\x00%s'\xff"
        ),
        StateChange(run=run, at=timezone.now(), state=RunState.DONE, reason="It's; 100 %"),
        RunContent(run=run, digest="f" * 64),
        AuditEntry(who="ada", what="imported", thing="run", detail={"a": ["%s", None, 1.5]}),
        AuditEntry(who="ada", what="imported", thing="run again"),
    )


def test_rows_that_are_written_together_are_those_that_were_given(run: Run) -> None:
    with transaction.atomic():
        insert_together(*(rows := rows_of(run)))
    for row in rows:
        stored = type(row)._base_manager.get(pk=row.pk)
        for field in row._meta.concrete_fields:
            was, now = getattr(row, field.attname), getattr(stored, field.attname)
            assert (bytes(now) if isinstance(now, memoryview) else now) == was, field
        assert not row._state.adding
    assert rows[2].pk == run.pk  # a key that was given stays
    assert [row.thing for row in AuditEntry.objects.order_by("id")] == ["run", "run again"]


def test_they_are_one_visit_to_the_database(run: Run, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    rows = rows_of(run)
    with django_assert_num_queries(1 if connection.vendor == "postgresql" else len(rows)):
        insert_together(*rows)
    with django_assert_num_queries(0):
        insert_together()


def test_many_are_written_too(run: Run) -> None:
    rows = [AuditEntry(who="ada", what="imported", thing=str(number)) for number in range(450)]
    insert_together(*rows)
    things = dict(AuditEntry.objects.filter(what="imported").values_list("pk", "thing"))
    assert things == {row.pk: row.thing for row in rows}


def test_of_rows_that_are_written_together_a_wrong_one_refuses_all(run: Run) -> None:
    twice = [RunContent(run=run, digest="a"), RunContent(run=run, digest="b")]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_together(AuditEntry(who="ada", what="imported", thing="it"), *twice)
    assert not AuditEntry.objects.filter(what="imported").exists()
    assert not RunContent.objects.exists()


def test_a_row_of_one_that_was_never_written_is_refused(run: Run) -> None:
    unwritten = Run(series=run.series, repeat=2)
    change = StateChange(run=unwritten, at=timezone.now(), state=RunState.DONE)
    with pytest.raises(ValueError, match="unsaved"):
        insert_together(change)


def test_a_large_file_is_stored_as_it_is_among_small_rows(run: Run) -> None:
    content = bytes(range(256)) * 1024
    rows = [
        AuditEntry(who="a", what="job submitted", thing="job 1"),
        Artefact(run=run, name="large.csv", content_gzip=content, size_bytes=1, sha256="a" * 64),
        Artefact(run=run, name="small.csv", content_gzip=b"\x00b", size_bytes=1, sha256="b" * 64),
    ]
    insert_together(*rows)
    assert len({row.pk for row in rows[1:]}) == 2
    contents = {
        artefact.pk: bytes(artefact.content_gzip) for artefact in Artefact.objects.filter(run=run)
    }
    assert contents == {rows[1].pk: content, rows[2].pk: b"\x00b"}
    assert AuditEntry.objects.filter(pk=rows[0].pk, thing="job 1").exists()
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_together(Artefact(run=run, sha256=None, content_gzip=content, size_bytes=1))


@pytest.mark.parametrize("count", [3, 60])
def test_rows_whose_keys_nobody_asks_for_are_the_same_few_or_many(run: Run, count: int) -> None:
    columns, now = ("run_id", "at", "state", "reason"), timezone.now()
    rows = [(run.pk, now, RunState.DONE, f"Tab\there, number {number}") for number in range(count)]
    given_back = written_if_many(StateChange, columns, rows)
    assert len(given_back) == (count if count == 3 else 0)
    insert_together(*given_back)
    stored = StateChange.objects.filter(run=run, reason__startswith="Tab").order_by("id")
    assert list(stored.values_list(*columns)) == rows
