"""The same numbers twice: digests of what runs hold."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db.models import F

from fsbench_web.core.comparison import digests
from fsbench_web.core.comparison.repeats import KnownCells, Repeats
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.imports.models import RunContent
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.scores import measurements, quality
from fsbench_web.studies.scores.measurements import StoredBlock

_READ = ("series_id", "repeat", "state", "origin", "created_by_id")
MOST_COMPARED = 1_000_000
"""Numbers of a series that are read to know what its repeats measured."""


@dataclass
class ExistingRuns:
    """What a series holds: finished runs by digest, all repeats with their runs and blocks.

    A repeat of this import has no run yet. ``measured``: None if not asked for, or too much.
    ``runs`` also has parts of runs that came as several files.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    repeats: dict[int, int | None] = field(default_factory=dict)
    blocks: dict[int, str] = field(default_factory=dict)
    next_repeat: int = 1
    finished: list[Run] = field(default_factory=list)
    measured: Repeats | None = None

    def run_to_join(self, repeat: int, user: User | None) -> Run | None:
        """The run of a repeat that ``user`` imported, which further files of theirs may add to."""
        return next(
            (
                run
                for run in self.finished
                if run.pk == self.repeats.get(repeat)
                and run.origin == Run.Origin.IMPORTED
                and run.created_by_id == (user.pk if user else None)
            ),
            None,
        )


def of_series(serieses: Iterable[Series], *, with_cells: bool = False) -> dict[int, ExistingRuns]:
    """What each series holds, by its key. The caller holds their locks (series.lock_all).

    Missing digests are counted now. ``with_cells``: what its runs measured is read too.
    """
    by_series = {series.pk: ExistingRuns() for series in serieses}
    runs = Run._base_manager.filter(series__in=by_series).order_by("pk")
    for run in runs.only(*_READ, *quality.READ_OF_RUNS).annotate(digest=F("content__digest")):
        existing = by_series[run.series_id]
        existing.repeats[run.repeat], existing.blocks[run.repeat] = run.pk, run.block
        existing.next_repeat = max(existing.next_repeat, run.repeat + 1)
        if run.state == RunState.DONE:
            existing.finished.append(run)
            existing.runs[run.digest or digest_of(run.pk)] = run
    if with_cells:
        _add_cells(by_series)
    return by_series


def _add_cells(by_series: dict[int, ExistingRuns]) -> None:
    """What the finished runs measured; one query where there are any."""
    finished = {run.pk: run for existing in by_series.values() for run in existing.finished}
    blocks: dict[int, list[StoredBlock]] = defaultdict(list)
    if finished:
        for block in measurements.listed(measurements.of_finished(by_series), samples=False):
            blocks[block.series_id].append(block)
    for pk, existing in by_series.items():
        count = sum(block.count for block in blocks[pk])
        if count > MOST_COMPARED:
            continue
        existing.measured, cells = Repeats(), KnownCells()
        by_output: dict[tuple[int, int | None], list[MeasurementColumns]] = defaultdict(list)
        for block in blocks[pk]:
            columns = block.read().columns
            existing.measured.add(finished[block.run_id].repeat, cells.of(columns))
            by_output[block.run_id, block.artefact_id].append(columns)
        outputs = Counter(run_id for run_id, _ in by_output)
        for (run_id, _), parts in by_output.items():
            if outputs[run_id] > 1:
                existing.runs.setdefault(digests.digest_of(*parts), finished[run_id])


def digest_of(run_id: int) -> str:
    """The digest of the numbers that a run holds, counted now."""
    blocks = measurements.read(measurements.of_run(run_id))
    return digests.digest_of(*(numbers.columns for numbers in blocks))


def forget(run_ids: Sequence[int]) -> None:
    """The numbers of these runs have changed."""
    if run_ids:
        RunContent.objects.filter(run_id__in=run_ids).delete()
