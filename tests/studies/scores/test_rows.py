"""Rows of several models that are written together are read back as they were given."""

import pytest
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.imports.models import RunContent
from fsbench_web.studies.models import (
    Artefact,
    Run,
    RunState,
    StateChange,
    Study,
)
from fsbench_web.studies.scores.rows import insert_together
from fsbench_web.studies.series import series_for
from tests.measured import finished_run


@pytest.fixture
def run(db: None) -> Run:
    study = Study.objects.create(slug="lab", title="Lab")
    series = series_for(study, configuration_for("ext4", {}))
    return finished_run(series, 1)


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


def test_neighbours_of_one_model_share_a_statement(run: Run, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    rows = rows_of(run)
    with transaction.atomic(), django_assert_num_queries(4):
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
