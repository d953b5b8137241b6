"""The measurements of runs, read from their blocks and written into them. Nobody else does either.

Lists go by ``MeasurementBlock.count`` and ``tests``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from django.db import IntegrityError
from django.db.models import Case, QuerySet, Sum, When

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.measurement_columns import (
    MOST_IN_BLOCK,
    Column,
    MeasuredTest,
    MeasurementColumns,
    UnreadableBlock,
)
from fsbench_web.core.scoring.quality import FLAGS, Flag
from fsbench_web.studies.models import UNTRACED, MeasurementBlock, RunState

IsWanted = Callable[[tuple[str, str]], bool]
"""Takes a test and its load."""
Flags = tuple[Sequence[Sequence[str] | None], Column]
"""The combinations of flags there are, None among them, and the place in these of each number."""
_WITH_THE_LIST = 5_000
"""Blocks of more numbers are read one at a time, so that not all are in memory."""
_AT_ONCE = 100


class Measurement(NamedTuple):
    """One number of a run. It exists only where the tool printed it."""

    run_id: int
    artefact_id: int | None
    line: int | None
    test: str
    load: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str
    samples: Any
    flags: list[str] | None

    @property
    def flag_words(self) -> list[Flag]:
        """Its flags in words; those of another version are left out."""
        return [FLAGS[slug] for slug in self.flags or () if slug in FLAGS]


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run from one output, in stored order.

    ``flag_codes`` are places in ``kinds``, the combinations of flags; ``samples`` by place.
    """

    series_id: int
    run_id: int
    artefact_id: int | None
    columns: MeasurementColumns
    kinds: Sequence[list[str] | None]
    flag_codes: Column
    samples: Mapping[int, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def flags(self) -> list[list[str] | None]:
        return [self.kinds[code] for code in self.flag_codes.tolist()]

    def subset(self, mask: Column) -> "Numbers":
        places = np.flatnonzero(mask)
        samples = {
            new: self.samples[old]
            for new, old in enumerate(places.tolist() if self.samples else ())
            if old in self.samples
        }
        return Numbers(
            self.series_id,
            self.run_id,
            self.artefact_id,
            self.columns.subset(places),
            self.kinds,
            self.flag_codes[places],
            samples,
        )

    def rows(self) -> Iterator[Measurement]:
        for place, ((test, record_kb, file_kb, value, line), flags) in enumerate(
            zip(self.columns.rows(), self.flags, strict=True)
        ):
            yield Measurement(
                self.run_id,
                self.artefact_id,
                line,
                test.test,
                test.load,
                record_kb,
                file_kb,
                value,
                test.unit,
                self.samples.get(place),
                flags,
            )


@dataclass(frozen=True)
class StoredBlock:
    """A block as a list knows it. ``tests`` are those of ``MeasurementBlock``."""

    pk: int
    series_id: int
    run_id: int
    artefact_id: int | None
    count: int
    tests: list[list[Any]]
    _flags: bytes | None
    _samples: bytes | None
    _content: bytes | None

    def holds(self, is_wanted: IsWanted) -> bool:
        return any(is_wanted((test, load)) for test, load, *_ in self.tests)

    def read(self) -> Numbers:
        """Its numbers. Raises UnreadableBlock."""
        content = self._content
        if content is None:
            rows = MeasurementBlock._base_manager.filter(pk=self.pk)
            content = bytes(rows.values_list("content", flat=True).get())
        try:
            columns = columns_of.decode(content)
            return Numbers(
                self.series_id,
                self.run_id,
                self.artefact_id,
                columns,
                *columns_of.decode_flags(self._flags, len(columns)),
                columns_of.decode_samples(self._samples),
            )
        except UnreadableBlock as error:
            raise UnreadableBlock(
                f"Measurements of run {self.run_id}, block {self.pk}: {error}"
            ) from error


def of_run(run_id: int) -> QuerySet[MeasurementBlock]:
    return MeasurementBlock.objects.filter(run_id=run_id)


def of_finished(series_ids: Iterable[int]) -> QuerySet[MeasurementBlock]:
    """Those of the finished runs of some series, which scores are made of."""
    return MeasurementBlock.objects.filter(
        run__series__in=list(series_ids), run__state=RunState.DONE, run__tracing=UNTRACED
    )


def listed(blocks: QuerySet[MeasurementBlock], *, samples: bool = True) -> list[StoredBlock]:
    """The blocks in order of series, run and storing; large ones take a query each when read."""
    small = Case(When(count__lte=_WITH_THE_LIST, then="content"))
    fields = ("id", "run__series_id", "run_id", "artefact_id", "count", "tests", "flags")
    rows = blocks.order_by("run__series_id", "run_id", "id").values_list(
        *fields, *(["samples"] if samples else []), small
    )
    return [
        StoredBlock(*row[:6], row[6], row[7] if samples else None, row[-1])  # type: ignore[call-arg]
        for row in rows
    ]


def read(
    blocks: QuerySet[MeasurementBlock],
    is_wanted: IsWanted | None = None,
    *,
    samples: bool = False,
) -> Iterator[Numbers]:
    """Numbers of wanted tests, block by block, as ``listed``. Raises UnreadableBlock."""
    for block in listed(blocks, samples=samples):
        if is_wanted is None:
            yield block.read()
        elif block.holds(is_wanted):
            numbers = block.read()
            yield numbers.subset(numbers.columns.of_tests(is_wanted))


def rows(blocks: QuerySet[MeasurementBlock]) -> list[Measurement]:
    """All numbers one by one, with their samples: for a run or two. Raises UnreadableBlock."""
    return [row for numbers in read(blocks, samples=True) for row in numbers.rows()]


def count(run_id: int) -> int:
    """How many numbers a run has. One query that reads none of them."""
    return of_run(run_id).aggregate(numbers=Sum("count"))["numbers"] or 0


def runs_of(artefact_id: int) -> set[int]:
    blocks = MeasurementBlock.objects.filter(artefact_id=artefact_id).order_by()
    return set(blocks.values_list("run_id", flat=True).distinct())


def rows_of(run_id: int, limit: int) -> list[Measurement] | None:
    """All numbers of a run in stored order; None for more than ``limit``. One query."""
    blocks = listed(of_run(run_id))
    if sum(block.count for block in blocks) > limit:
        return None
    return [row for block in blocks for row in block.read().rows()]


def unreadable() -> list[str]:
    """What is wrong with blocks that cannot be read, a sentence each. Reads all there are."""
    problems = []
    blocks = MeasurementBlock._base_manager.order_by("id")
    fields = ("id", "run__series_id", "run_id", "flags", "samples")
    for pk, series_id, run_id, flags, samples in blocks.values_list(*fields).iterator(
        chunk_size=500
    ):
        try:
            StoredBlock(pk, series_id, run_id, None, 0, [], flags, samples, None).read()
        except UnreadableBlock as error:
            problems.append(str(error))
    return problems


def page(run_id: int, test: str, offset: int, limit: int) -> tuple[int, list[Measurement]]:
    """How many numbers of ``test`` ("": of all) a run has at any load, and some of them."""
    total = 0
    measurements: list[Measurement] = []
    for block in listed(of_run(run_id)):
        numbers_of = sum(count for name, _, _, count, _ in block.tests if test in ("", name))
        start, end = max(0, offset - total), min(numbers_of, offset + limit - total)
        total += numbers_of
        if start < end:
            numbers = block.read()
            if test:
                numbers = numbers.subset(numbers.columns.of_tests(lambda pair: pair[0] == test))
            mask = np.zeros(len(numbers), dtype=np.bool_)
            mask[start:end] = True
            measurements += numbers.subset(mask).rows()
    return total, measurements


@dataclass(frozen=True)
class NewBlock:
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
    """Write numbers in pieces; returns how many. The caller holds the transaction."""
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

    ``is_new``: the run has none yet. Raises IntegrityError for a repeated cell.
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
    MeasurementBlock.objects.filter(pk=block.pk).update(flags=columns_of.encode_flags(*flags))


def coded(flags: Sequence[Sequence[str] | None]) -> Flags:
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
