"""Measurements read from the blocks of runs: of one run, of one series, or of those that a page is
about. Lists go by ``MeasurementBlock.count`` and ``tests``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Case, Q, QuerySet, Sum, When

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.studies.models import UNTRACED, MeasurementBlock, RunState
from fsbench_web.studies.scores.measurements.numbers import IsWanted, Measurement, Numbers

_WITH_THE_LIST = 5_000
"""Blocks of more numbers are read one at a time, so that not all are in memory."""


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
    _numbers: Numbers | None = None

    def loaded(self) -> "StoredBlock":
        """The same, with its numbers in memory for all who read it. Raises UnreadableBlock."""
        return replace(self, _content=None, _samples=None, _numbers=self.read())

    def holds(self, is_wanted: IsWanted) -> bool:
        """Whether it has numbers of a wanted test."""
        return any(is_wanted((test, load)) for test, load, *_ in self.tests)

    def read(self) -> Numbers:
        """Its numbers. Raises UnreadableBlock."""
        if self._numbers is not None:
            return self._numbers
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
    return MeasurementBlock.objects.filter(_is_finished(series_ids))


def _is_finished(series_ids: Iterable[int]) -> Q:
    return Q(run__series__in=list(series_ids), run__state=RunState.DONE, run__tracing=UNTRACED)


def listed_of_finished(series_ids: Iterable[int]) -> list[StoredBlock]:
    """``listed`` of ``of_finished``, without samples, for a writer of scores."""
    blocks = MeasurementBlock._base_manager.filter(_is_finished(series_ids))
    return listed(blocks, samples=False)


def listed(blocks: QuerySet[MeasurementBlock], *, samples: bool = True) -> list[StoredBlock]:
    """The blocks in order of series, run and storing; without ``samples`` where nobody wants them.

    One query, and one for each large block that is read.
    """
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
    """Numbers in order of series, run and storing, block by block; those of wanted tests alone.

    One query, and one for each large block. Raises UnreadableBlock.
    """
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
    """The runs that have numbers in an output."""
    blocks = MeasurementBlock.objects.filter(artefact_id=artefact_id).order_by()
    return set(blocks.values_list("run_id", flat=True).distinct())


def rows_of(run_id: int, limit: int) -> list[Measurement] | None:
    """All numbers of a run in the order in which they were stored; None for more than ``limit``.

    One query.
    """
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
    """How many numbers of ``test`` (at whatever load; empty: of all) a run has, and some of them.

    Only the blocks that these are in are read. One query, and one for each very large block.
    """
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
