"""Moves measurements from a row each into blocks of columns, some runs at a time.

Each run is moved in a transaction of its own, and one that has blocks was moved: after a kill at
any moment it goes on with the rest. Nothing is taken away here. 0021 drops the old table, and only
once every run has the same numbers in both.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

import numpy as np
from django.db import migrations, transaction

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.measurement_columns import MOST_IN_BLOCK, MeasuredTest

FIELDS = (
    *("artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
    *("value", "unit", "samples", "flags"),
)


def rows_of(apps: Any, run_id: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a run in the order in which they were stored."""
    rows = apps.get_model("studies", "Measurement").objects.filter(run_id=run_id).order_by("id")
    return iter(rows.values_list(*FIELDS).iterator(chunk_size=5000))


def runs_with_rows(apps: Any) -> Iterator[int]:
    """The runs that have any, in order; a look-up in the index for each."""
    rows = apps.get_model("studies", "Measurement").objects.order_by("run_id")
    last = 0
    while (
        found := rows.filter(run_id__gt=last).values_list("run_id", flat=True).first()
    ) is not None:
        last = found
        yield last


def blocks_of(apps: Any, run_id: int) -> Iterator[dict[str, Any]]:
    """What the blocks of a run are to hold."""
    for artefact_id, of_artefact in groupby(rows_of(apps, run_id), key=lambda row: row[0]):
        while some := list(islice(of_artefact, MOST_IN_BLOCK)):
            columns = columns_of.of_rows(
                (MeasuredTest(test, load, unit), record_kb, file_kb, value, line)
                for _, line, test, load, record_kb, file_kb, value, unit, _, _ in some
            )
            flags = [None if row[9] is None else tuple(row[9]) for row in some]
            kinds = list(dict.fromkeys(flags))
            codes = np.array([kinds.index(one) for one in flags], dtype=np.int64)
            samples = {place: row[8] for place, row in enumerate(some) if row[8] is not None}
            yield {
                "run_id": run_id,
                "artefact_id": artefact_id,
                "count": len(some),
                "tests": columns.summary(),
                "content": columns_of.encode(columns),
                "flags": columns_of.encode_flags(kinds, codes),
                "samples": columns_of.encode_samples(samples),
            }


def move(apps: Any, schema_editor: Any) -> None:
    MeasurementBlock = apps.get_model("studies", "MeasurementBlock")
    for run_id in runs_with_rows(apps):
        with transaction.atomic():
            if not MeasurementBlock.objects.filter(run_id=run_id).exists():
                for block in blocks_of(apps, run_id):
                    MeasurementBlock.objects.create(**block)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("studies", "0019_measurement_blocks"),
    ]

    operations = [migrations.RunPython(move, migrations.RunPython.noop, elidable=True)]
