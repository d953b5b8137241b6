"""Measurements of versions that had a row for each: they are moved whole, or not at all."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import StateApps

from fsbench_web.studies.models import MeasurementBlock
from fsbench_web.studies.scores import measurements
from tests.studies.scores.old_measurements import store_old_rows

moving = import_module("fsbench_web.studies.migrations.0020_move_measurements")
dropping = import_module("fsbench_web.studies.migrations.0021_drop_measurement_rows")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def old() -> Iterator[StateApps]:
    """The models of before, with the table that 0021 dropped."""
    loader = MigrationLoader(connection, replace_migrations=False)
    apps = loader.project_state(("studies", "0019_measurement_blocks")).apps
    table = apps.get_model("studies", "Measurement")
    with connection.schema_editor() as editor:
        editor.create_model(table)
    yield apps
    with connection.schema_editor() as editor:
        editor.delete_model(table)


def stored() -> list[tuple[Any, ...]]:
    return [tuple(row) for row in measurements.rows(MeasurementBlock.objects.all())]


def compare(apps: StateApps) -> None:
    with transaction.atomic():
        dropping.compare(apps, MigrationEditor())


class MigrationEditor:
    """What the comparison needs of a schema editor."""

    connection = connection


def test_every_field_of_every_number_is_moved(old: StateApps) -> None:
    rows = store_old_rows(old)
    moving.move(old, None)
    assert [repr(row) for row in stored()] == [repr(row) for row in rows]
    compare(old)
    assert MeasurementBlock.objects.filter(flags=None).exists()


def test_a_run_is_cut_into_blocks(old: StateApps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "MOST_IN_BLOCK", 10)
    rows = store_old_rows(old, runs=1)
    moving.move(old, None)
    assert max(MeasurementBlock.objects.values_list("count", flat=True)) == 10
    assert [repr(row) for row in stored()] == [repr(row) for row in rows]
    compare(old)


def test_what_was_moved_is_not_moved_again(old: StateApps) -> None:
    store_old_rows(old)
    moved: list[int] = []
    whole = moving.blocks_of

    def killed(apps: StateApps, run_id: int) -> Iterator[dict[str, Any]]:
        if len(moved) == 3:
            yield next(whole(apps, run_id))
            raise KeyboardInterrupt
        moved.append(run_id)
        yield from whole(apps, run_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving, "blocks_of", killed)
        with pytest.raises(KeyboardInterrupt):
            moving.move(old, None)
    block_ids = set(MeasurementBlock.objects.values_list("pk", flat=True))
    assert set(MeasurementBlock.objects.values_list("run_id", flat=True)) == set(moved)
    with pytest.raises(dropping.MeasurementsDiffer):
        compare(old)
    moving.move(old, None)
    assert block_ids < set(MeasurementBlock.objects.values_list("pk", flat=True))
    compare(old)


@pytest.mark.parametrize(
    "planted",
    [
        {"value": 1.5},
        {"unit": "KB/s"},
        {"line": 99},
        {"flags": ["clock", "planted"]},
        {"samples": [1.0]},
        {"artefact_id": None},
        {"load": "jobs=99"},
    ],
    ids=lambda planted: next(iter(planted)),
)
def test_a_difference_keeps_the_old_table(old: StateApps, planted: dict[str, Any]) -> None:
    store_old_rows(old, runs=2)
    moving.move(old, None)
    table = old.get_model("studies", "Measurement").objects
    row = table.filter(load="jobs=2").last()
    table.filter(pk=row.pk).update(**planted)
    with pytest.raises(dropping.MeasurementsDiffer, match=rf"runs \[{row.run_id}\] are not"):
        compare(old)
    MeasurementBlock.objects.filter(run=row.run_id).delete()
    moving.move(old, None)
    compare(old)


def test_a_row_that_is_lost_or_new_is_a_difference(old: StateApps) -> None:
    store_old_rows(old, runs=2)
    moving.move(old, None)
    table = old.get_model("studies", "Measurement").objects
    last = table.last()
    last.delete()
    with pytest.raises(dropping.MeasurementsDiffer):
        compare(old)
    last.save()
    compare(old)
    table.create(run_id=last.run_id, test="late", value=1.0, unit="s")
    with pytest.raises(dropping.MeasurementsDiffer):
        compare(old)


def test_a_damaged_block_is_a_difference(old: StateApps) -> None:
    store_old_rows(old, runs=1)
    moving.move(old, None)
    MeasurementBlock.objects.update(content=b"fsbm\x02 of another version")
    with pytest.raises(dropping.MeasurementsDiffer):
        compare(old)


def test_a_difference_is_told_without_a_traceback(old: StateApps) -> None:
    """Of the errors of a command, `migrate`, `prepare` and `serve` show the sentence alone."""
    store_old_rows(old, runs=1)
    moving.move(old, None)
    old.get_model("studies", "Measurement").objects.last().delete()
    with pytest.raises(CommandError, match="Nothing was dropped"):
        compare(old)
