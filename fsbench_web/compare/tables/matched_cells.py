"""Scores over the cells that all contenders of a table have, made anew from measurements. Pure.

Where contenders were measured on different cells, an average over all cells of each compares
different questions. Over the cells that all have it does not. Which configuration is the best of
its contender is still decided by its score over all of its cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fsbench_web.compare.tables.contenders import Contender
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, Cell
from fsbench_web.core.scoring.scores import UNEQUAL_REPEATS, ScoreValue, score_repeats
from fsbench_web.core.stats import intervals
from fsbench_web.studies.scores.queries import PARTIAL, ScoreRow

NOT_MATCHED = "not_matched"
"""Only the score is known and not its cells."""
NO_COMMON_CELLS = "no_common_cells"
"""The contenders of the table have no cell in common."""

Repeats = Mapping[int, Mapping[Cell, float]]
"""A mapping a run, by the run: (record size KB, file size KB) to the value."""


def over_common_cells(
    contenders: Sequence[Contender], category: str, measured: Mapping[int, Repeats]
) -> list[Contender]:
    """The contenders of one table with scores over the cells that all of them have.

    ``measured`` are the cells of a series in the table's test; a series that is not in it (a
    published score, a test that is no matrix) keeps its score and is flagged, and asks nothing of
    the others. ``cells`` of a score made anew are those compared, ``cells_expected`` those it had.
    """
    cells = {
        contender.row.series_id: set().union(*measured[contender.row.series_id].values())
        for contender in contenders
        if measured.get(contender.row.series_id)
    }
    if category == MEAN:
        return list(contenders)  # One value a run: there are no cells to choose from.
    if not cells:
        return [_with_flag(contender, NOT_MATCHED) for contender in contenders]
    common = set.intersection(*cells.values())
    scores = {series: _scores_over(measured[series], common).get(category) for series in cells}
    if any(score is None for score in scores.values()):
        return [_with_flag(contender, NO_COMMON_CELLS) for contender in contenders]
    return [
        _with_flag(contender, NOT_MATCHED)
        if contender.row.series_id not in cells
        else contender._replace(
            row=_rescored(
                contender.row, category, scores[contender.row.series_id], measured, common
            )
        )
        for contender in contenders
    ]


@dataclass(frozen=True)
class Coverage:
    """Which cells of one test a contender was measured on.

    ``common`` is how many all contenders have, ``missing`` those that it lacks and another has, in
    order. ``cells`` is None where only its scores are known.
    """

    contender: str
    configuration: str
    cells: int | None
    common: int
    missing: tuple[Cell, ...]


def coverage(contenders: Sequence[Contender], measured: Mapping[int, Repeats]) -> list[Coverage]:
    """The cells behind every score that is shown of one test, by contender and configuration."""
    rows = {(contender.name, contender.row.series_id): contender.row for contender in contenders}
    cells = {
        series: set().union(*measured[series].values())
        for _, series in rows
        if measured.get(series)
    }
    every = set().union(*cells.values())
    common = set.intersection(*cells.values()) if cells else set()
    return [
        Coverage(
            name,
            row.configuration,
            len(cells[series]) if series in cells else None,
            len(common),
            tuple(sorted(every - cells[series])) if series in cells else (),
        )
        for (name, series), row in sorted(rows.items())
    ]


def _scores_over(repeats: Repeats, common: set[Cell]) -> dict[str, ScoreValue]:
    return score_repeats(
        [{cell: value for cell, value in run.items() if cell in common} for run in repeats.values()]
    )


def _rescored(
    row: ScoreRow,
    category: str,
    score: ScoreValue | None,
    measured: Mapping[int, Repeats],
    common: set[Cell],
) -> ScoreRow:
    assert score is not None  # asked before, of all of them
    repeats = measured[row.series_id]
    of_runs = {pk: _scores_over({pk: run}, common).get(category) for pk, run in repeats.items()}
    interval = intervals.interval(
        [run_score.value for run_score in of_runs.values() if run_score is not None]
    )
    flags = [flag for flag in row.flags if flag not in (PARTIAL, UNEQUAL_REPEATS)]
    inside = set(filter(CATEGORIES[category].holds, common))
    runs = tuple(pk for pk, run in repeats.items() if not inside.isdisjoint(run))
    blocks = dict(zip(row.run_ids, row.repeat_scores or (), strict=False))
    return replace(
        row,
        value=score.value,
        repeats=score.repeats,
        run_ids=runs,
        repeat_scores=tuple(
            (
                blocks[pk][0] if pk in blocks else "",
                run_score.value if (run_score := of_runs[pk]) else None,
            )
            for pk in runs
        ),
        cells=score.cells,
        cells_expected=row.cells,
        flags=(*flags, *score.flags),
        published=None,
        share=None,  # it is of other cells
        interval=interval,
        half_width=interval.half_width if interval else None,
        half_width_percent=interval.relative_percent if interval else None,
    )


def _with_flag(contender: Contender, flag: str) -> Contender:
    row = contender.row
    return contender._replace(row=replace(row, flags=(*row.flags, flag)))
