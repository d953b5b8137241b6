"""Score rows in memory -> delta tables with verdicts, as the site makes them from its database."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fsbench_web.core.comparison.delta_tables import Contender, best_by_table, delta_table
from fsbench_web.core.comparison.headlines import default_tables
from fsbench_web.core.comparison.rows import Candidate, DeltaTable, ScoreRow, SeriesFacts, Value
from fsbench_web.core.comparison.significance import Rule, with_verdicts
from fsbench_web.core.scoring.judging import ComputedScore
from fsbench_web.core.stats.intervals import REPEATS


def row_of(series: Mapping[str, Any], score: ComputedScore) -> ScoreRow:
    """A score with what is known of its series (the fields of SeriesFacts)."""
    interval = score.interval
    of_repeats = interval if interval is not None and interval.of == REPEATS else None
    columns = {name: value for name, value in vars(score).items() if name != "selection"}
    columns |= {
        "flags": tuple(score.flags),
        "run_ids": tuple(score.run_ids),
        "repeat_scores": score.repeat_scores and tuple(score.repeat_scores),
    }
    return ScoreRow(
        **series,
        **columns,
        repeats=len(score.run_ids),
        origin="computed",
        half_width=of_repeats.half_width if of_repeats else None,
        half_width_percent=of_repeats.relative_percent if of_repeats else None,
    )


def judged_tables(
    score_rows: Sequence[ScoreRow],
    values: Mapping[int, Value],
    series: Mapping[int, SeriesFacts],
    *,
    by: str,
    baseline: str,
    rule: Rule,
    units: str,
) -> list[DeltaTable]:
    """The headline table of each test, with verdicts; the best configuration of each contender.

    ``values``: the contender of each series.
    """
    rows = dict(enumerate(score_rows))
    configurations: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for row in rows.values():
        table = (values[row.series_id].slug, row.test, row.category)
        configurations[table].add(row.configuration_id)
    candidates = [
        Candidate(
            *(score_id, row.series_id, row.test, row.category, row.printed_unit, row.value, False),
            len(configurations[values[row.series_id].slug, row.test, row.category]),
        )
        for score_id, row in rows.items()
    ]
    tables = [
        delta_table(
            key,
            [
                Contender(
                    *winner.value,
                    rows[winner.score.score_id],
                    winner.score.configurations,
                    winner.times,
                )
                for winner in winners
            ],
            by=by,
            baseline=baseline,
        )
        for key, winners in best_by_table(candidates, values, series, units)
    ]
    return default_tables(with_verdicts(tables, rule))
