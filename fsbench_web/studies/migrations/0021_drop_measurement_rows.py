"""Drops the table with a row for each measurement, once every run has the same in its blocks.

Each number is compared in all that is known of it, and each run by the digest of its numbers
(studies.scores.digests). A difference refuses the migration, and nothing is dropped.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import zip_longest
from typing import Any

import numpy as np
from django.core.management.base import CommandError
from django.db import migrations

from fsbench_web.core import measurement_columns as columns_of

moving = import_module("fsbench_web.studies.migrations.0020_move_measurements")
_CELL = struct.Struct(">qqd")
_SHOWN = 20


class MeasurementsDiffer(CommandError):
    """Runs whose blocks do not hold what their rows do. Whoever migrates reads this alone."""


def rows_of_blocks(apps: Any, run_id: int) -> Iterator[tuple[Any, ...]]:
    """What the blocks of a run say, as rows in their order. Raises UnreadableBlock."""
    blocks = apps.get_model("studies", "MeasurementBlock").objects.filter(run_id=run_id)
    for block in blocks.order_by("id").iterator(chunk_size=1):
        columns = columns_of.decode(block.content)
        kinds, codes = columns_of.decode_flags(block.flags, len(columns))
        samples = columns_of.decode_samples(block.samples)
        for place, ((test, record_kb, file_kb, value, line), code) in enumerate(
            zip(columns.rows(), codes.tolist(), strict=True)
        ):
            yield (
                *(block.artefact_id, line, test.test, test.load, record_kb, file_kb),
                *(value, test.unit, samples.get(place), kinds[code]),
            )


def digest(rows: Iterable[tuple[Any, ...]]) -> str:
    """The digest of a run's numbers, as studies.scores.digests made it at the time of this."""
    cells = bytearray()
    for _, _, test, load, record_kb, file_kb, value, unit, _, _ in rows:
        cells += hashlib.sha256("\x1f".join((test, load, unit)).encode()).digest()[:8]
        sizes = (-1 if one is None else one for one in (record_kb, file_kb))
        cells += _CELL.pack(*sizes, value)
    return hashlib.sha256(np.sort(np.frombuffer(cells, dtype="S32")).tobytes()).hexdigest()


def is_moved(apps: Any, run_id: int) -> bool:
    """Whether rows and blocks of a run are the same, one by one and in their digest."""
    pairs = zip_longest(moving.rows_of(apps, run_id), rows_of_blocks(apps, run_id))
    try:
        # What is no number is not equal to itself, and is the same all the same.
        return all(row == kept or repr(row) == repr(kept) for row, kept in pairs) and digest(
            moving.rows_of(apps, run_id)
        ) == digest(rows_of_blocks(apps, run_id))
    except columns_of.UnreadableBlock:
        return False


def compare(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    if connection.vendor == "postgresql":
        # Nobody writes a row between this look and the end of the table.
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE studies_measurement IN ACCESS EXCLUSIVE MODE")
    differing = [run_id for run_id in moving.runs_with_rows(apps) if not is_moved(apps, run_id)]
    if differing:
        more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        raise MeasurementsDiffer(
            f"The measurements of runs {differing[:_SHOWN]}{more} are not the same in their new "
            "form. Nothing was dropped: the rows are in studies_measurement, the new form is in "
            "studies_measurementblock. Delete the blocks of these runs, and `manage.py migrate "
            "studies 0019` and `manage.py migrate` make them anew."
        )


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0020_move_measurements"),
    ]

    operations = [
        migrations.RunPython(compare, elidable=True),
        migrations.DeleteModel(name="Measurement"),
    ]
