"""Measurements written: new ones into blocks, others into the place of a block's."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from django.db import IntegrityError

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.measurement_columns import MOST_IN_BLOCK, MeasuredTest, MeasurementColumns
from fsbench_web.studies.models import MeasurementBlock
from fsbench_web.studies.scores.measurements.numbers import Flags, Measurement
from fsbench_web.studies.scores.measurements.reading import StoredBlock, of_run, read

_AT_ONCE = 100


@dataclass(frozen=True)
class NewBlock:
    """Numbers to be stored."""

    run_id: int
    artefact_id: int | None
    columns: MeasurementColumns
    flags: Flags | None = None
    samples: Mapping[int, Any] = field(default_factory=dict)

    def encoded(self) -> Iterator[dict[str, Any]]:
        """What the columns of rows are to hold, MOST_IN_BLOCK numbers a row."""
        for start in range(0, len(self.columns), MOST_IN_BLOCK):
            part = slice(start, start + MOST_IN_BLOCK)
            columns = self.columns.subset(part).pruned()
            yield {
                "run_id": self.run_id,
                "artefact_id": self.artefact_id,
                "count": len(columns),
                "tests": columns.summary(),
                "content": columns_of.encode(columns),
                "flags": self.flags and columns_of.encode_flags(self.flags[0], self.flags[1][part]),
                "samples": columns_of.encode_samples(
                    {
                        place - start: samples
                        for place, samples in self.samples.items()
                        if start <= place < part.stop
                    }
                ),
            }


def store(
    blocks: Iterable[NewBlock], on_progress: Callable[[int], None] = lambda stored: None
) -> int:
    """Write the numbers of runs; returns how many. The caller holds the transaction.

    ``on_progress`` gets how many are written, after each piece. What ``blocks`` makes as it goes
    is in memory a piece at a time.
    """
    stored = 0
    encoded = (MeasurementBlock(**row) for block in blocks for row in block.encoded())
    while piece := list(islice(encoded, _AT_ONCE)):
        MeasurementBlock.objects.bulk_create(piece)
        stored += sum(row.count for row in piece)
        on_progress(stored)
    return stored


def store_values(
    run_id: int, artefact_id: int | None, values: Iterable[ParsedValue], *, is_new: bool = False
) -> int:
    """Store numbers of one output; returns how many. The caller holds the transaction.

    ``is_new``: the run has none yet, which spares asking. Raises IntegrityError for a cell that the
    run holds already, or that comes twice.
    """
    all_values = list(values)
    if not all_values:
        return 0
    _refuse_repeated(run_id, all_values, is_new=is_new)
    columns, samples = of_values(all_values)
    return store([NewBlock(run_id, artefact_id, columns, samples=samples)])


def of_values(values: Sequence[ParsedValue]) -> tuple[MeasurementColumns, dict[int, Any]]:
    """Numbers of one output, at least one, as columns; and their samples by place."""
    columns = _columns(values)
    return columns, {
        place: list(value.samples) for place, value in enumerate(values) if value.samples
    }


def _columns(values: Iterable[ParsedValue | Measurement]) -> MeasurementColumns:
    return columns_of.of_rows(
        (
            MeasuredTest(value.test, value.load, value.unit),
            value.record_size_kb,
            value.file_size_kb,
            value.value,
            value.line,
        )
        for value in values
    )


def rewrite(block: StoredBlock, rows: Sequence[Measurement]) -> None:
    """Put other numbers into the place of a block's; of none it goes. At most MOST_IN_BLOCK."""
    stored = MeasurementBlock.objects.filter(pk=block.pk)
    if not rows:
        stored.delete()
        return
    columns = _columns(rows)
    samples = {place: row.samples for place, row in enumerate(rows) if row.samples is not None}
    flags = coded([row.flags for row in rows])
    (values,) = NewBlock(block.run_id, block.artefact_id, columns, flags, samples).encoded()
    stored.update(**values)


def write_flags(block: StoredBlock, flags: Flags) -> None:
    """Write the flags of a block's numbers in place of the old."""
    MeasurementBlock.objects.filter(pk=block.pk).update(flags=columns_of.encode_flags(*flags))


def coded(flags: Sequence[Sequence[str] | None]) -> Flags:
    """The flags of each number as they are stored."""
    keys = [None if slugs is None else tuple(slugs) for slugs in flags]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return list(places), np.array([places[key] for key in keys], dtype=np.int64)


def _refuse_repeated(run_id: int, values: Sequence[ParsedValue], *, is_new: bool) -> None:
    cells = {(value.test, value.load, value.record_size_kb, value.file_size_kb) for value in values}
    is_repeated = len(cells) < len(values)
    if not is_repeated and not is_new:
        tests = {cell[:2] for cell in cells}
        blocks = of_run(run_id)
        if any(
            (test, load) in tests
            for summary in blocks.values_list("tests", flat=True)
            for test, load, *_ in summary
        ):
            is_repeated = any(
                (test.test, test.load, record_kb, file_kb) in cells
                for numbers in read(blocks, tests.__contains__)
                for test, record_kb, file_kb, _, _ in numbers.columns.rows()
            )
    if is_repeated:
        raise IntegrityError(f"A cell of run {run_id} is given twice: a run has one number of it.")
