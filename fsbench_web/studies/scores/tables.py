"""Measurements with their samples, and scores, of a study as files for programs: Parquet and Arrow.

The web process reads blocks as they are stored. The process that renders reads their numbers, and
it alone loads pyarrow.
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models.functions import Coalesce

from fsbench_web.core import measurement_columns, number_tables
from fsbench_web.core.number_tables import COLUMNS as COLUMNS
from fsbench_web.core.number_tables import RunNumbers
from fsbench_web.studies.models import UNTRACED, MeasurementBlock, RunState, Score, Study
from fsbench_web.studies.scores import queries

if TYPE_CHECKING:
    import pyarrow

MOST_NUMBERS = 1_000_000
"""Of one file, and a block more: blocks stay whole."""
MOST_BYTES = 12 * 1024 * 1024
"""Stored bytes behind one file: it may have 64 MB (renderings.worker)."""
BYTES_OF_FACTS = 500
MOST_SCORES = 20_000
MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "arrows": "application/vnd.apache.arrow.stream",
}
_SERIES = "run__series__"
_OF_RUN: dict[str, Any] = {
    "run": "run_id",
    "series": "run__series_id",
    "filesystem": f"{_SERIES}configuration__filesystem",
    "configuration": f"{_SERIES}configuration__label",
    "workload": f"{_SERIES}workload__slug",
    "tool": f"{_SERIES}workload__tool",
    "hardware": f"{_SERIES}hardware__slug",
    "lun": f"{_SERIES}lun__name",
    "kernel": f"{_SERIES}kernel",
    "accelerator": f"{_SERIES}machine__accelerator",
    "repeat": "run__repeat",
    "block": "run__block",
    "date": Coalesce("run__measured_at", "run__ended_at"),
}
Part = tuple[list[list[Any]], int | None]
"""The rows of a file as plain data, and ``after`` of the part behind it, if there is one."""


def part_of(study: Study, table: str, after: int) -> Part:
    """As much of a table as one file holds, from the score or block behind ``after`` on."""
    return _scores(study, after) if table == "scores" else _blocks(study, after)


def _blocks(study: Study, after: int) -> Part:
    """Blocks of finished runs, as they are stored: facts of the run, numbers, flags, samples."""
    blocks = MeasurementBlock.objects.filter(
        run__series__study=study, run__state=RunState.DONE, run__tracing=UNTRACED, pk__gt=after
    )
    columns = ("pk", "count", *_OF_RUN.values(), "content", "flags", "samples")
    rows: list[list[Any]] = []
    numbers = size = 0
    for pk, count, *row in blocks.order_by("pk").values_list(*columns).iterator(chunk_size=100):
        if numbers > MOST_NUMBERS or size > MOST_BYTES:
            return rows, after
        stored = [value and bytes(value) for value in row[len(_OF_RUN) :]]
        rows.append([*row[: len(_OF_RUN)], *stored])
        numbers += count
        size += BYTES_OF_FACTS + sum(map(len, filter(None, stored)))
        after = pk
    return rows, None


def _scores(study: Study, after: int) -> Part:
    wanted = Score.objects.filter(series__study=study, pk__gt=after).order_by("pk")
    ids = list(wanted.values_list("pk", flat=True)[: MOST_SCORES + 1])
    rows = queries.rows_of(queries.series_facts(None, [study.slug]), ids[:MOST_SCORES])
    names = [{"series": "series_id"}.get(name, name) for name in COLUMNS["scores"]]
    shown = [[getattr(row, name) for name in names] for _, row in sorted(rows.items())]
    return shown, ids[MOST_SCORES - 1] if len(ids) > MOST_SCORES else None


def write(table: str, suffix: str, rows: Sequence[Any]) -> bytes:
    """The file of the rows of a part. Asks no database. Raises UnreadableBlock."""
    out = io.BytesIO()
    number_tables.write(_batches(table, rows), out, suffix)
    return out.getvalue()


def _batches(table: str, rows: Sequence[Any]) -> "Iterator[pyarrow.RecordBatch]":
    names = COLUMNS[table]
    schema = number_tables.schema_of(names)
    if table == "measurements":
        return number_tables.batches_of(map(_run, rows), schema)
    values = [dict(zip(names, row, strict=True)) for row in rows]
    return iter([number_tables.batch_of_rows(values, schema)])


def _run(row: Sequence[Any]) -> RunNumbers:
    *facts, content, flags, stored_samples = row
    columns = measurement_columns.decode(content)
    kinds, codes = measurement_columns.decode_flags(flags, len(columns))
    samples = measurement_columns.decode_samples(stored_samples)
    places = range(len(columns))
    return RunNumbers(
        dict(zip(_OF_RUN, facts, strict=True)),
        columns,
        {
            "flags": [kinds[code] for code in codes.tolist()],
            "samples": [samples.get(place) for place in places]
            if samples
            else [None] * len(columns),
        },
    )
