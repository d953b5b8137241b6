"""Runs and measurements in tests: one by one, and changed as if another version stored them."""

from collections.abc import Callable
from typing import Any

from fsbench_web.core.comparison.rows import ScoreRow
from fsbench_web.studies.models import Artefact, MeasurementBlock, Run, Score, Series
from fsbench_web.studies.runs.new_runs import FinishedRun, record_all_finished
from fsbench_web.studies.scores import ingest, measurements
from fsbench_web.studies.scores.measurements import Measurement
from fsbench_web.studies.scores.queries import ScoreFilter, rows_of, series_facts


class Measured(Measurement):
    """A measurement with the output that it stands in."""

    __slots__ = ()

    @property
    def artefact(self) -> Artefact | None:
        return Artefact.objects.filter(pk=self.artefact_id).first()


def finished_run(series: Series, repeat: int) -> Run:
    """A run that somebody else executed, without results yet."""
    return record_all_finished([FinishedRun(series, repeat, "A test.")], by=None)[0]


def measured(run: Run | None = None, **values: Any) -> list[Measured]:
    """All measurements, or those of a run, with these values: ``measured(run, test="write")``."""
    blocks = MeasurementBlock.objects.all()
    rows = measurements.rows(blocks if run is None else blocks.filter(run=run))
    return [
        Measured(*row)
        for row in rows
        if all(getattr(row, name) == value for name, value in values.items())
    ]


def scores_for(score_filter: ScoreFilter) -> list[ScoreRow]:
    """The rows of the scores that pass, but for its conditions, in the order they were made."""
    ids = list(score_filter.scores.order_by("pk").values_list("pk", flat=True))
    rows = rows_of(series_facts(None, score_filter.studies), ids)
    return [rows[pk] for pk in ids]


def change(of: Callable[[Measurement], Measurement | None], run: Run | None = None) -> None:
    """Put what ``of`` says into the place of each measurement; None takes it away."""
    blocks = MeasurementBlock.objects.all()
    for block in measurements.listed(blocks if run is None else blocks.filter(run=run)):
        changed = [of(row) for row in block.read().rows()]
        measurements.rewrite(block, [row for row in changed if row is not None])


def without_flags() -> None:
    """As if nothing had been judged."""
    MeasurementBlock.objects.update(flags=None)


Judged = tuple[list[tuple[Any, ...]], list[dict[str, Any]]]


def judged_now() -> Judged:
    """The flags of all numbers, and all scores but the keys under which they are stored."""
    flags = [(row.run_id, row.test, row.load, row.line, row.flags) for row in measured()]
    scores = Score.selections.order_by("series", "test", "category", "selection").values()
    score_values = [
        {name: value for name, value in score.items() if name != "id"} for score in scores
    ]
    return sorted(flags, key=str), score_values


def judged_again() -> Judged:
    """The same once every series is read and judged again."""
    for series in Series.objects.all():
        ingest.rescore(series)
    return judged_now()


def measurement_of(run: Run, **values: Any) -> Measured:
    """The one that there is."""
    (measurement,) = measured(run, **values)
    return measurement
