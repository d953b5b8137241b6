"""Which scores a comparison shows: of each table, the best one of each contender."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fsbench_web.compare import emulation, prints, properties
from fsbench_web.compare.contenders import (
    Contender,
    best_of_each,
    configuration_names,
    each_configuration,
)
from fsbench_web.compare.spec import FILTERS, ComparisonSpec
from fsbench_web.scoring import categories, testnames
from fsbench_web.scoring.units import lower_is_better
from fsbench_web.studies.models import Selection
from fsbench_web.studies.queries import (
    Candidate,
    Candidates,
    ScoreRow,
    SeriesFacts,
    candidates_for,
    rows_of,
    scores_for,
)

_Score = TypeVar("_Score", ScoreRow, Candidate)

TableKey = tuple[str, str, str]
"""(test, category, unit): values of different units are never ranked together."""


@dataclass(frozen=True)
class Chosen:
    """The contenders of each table, tables in the paper's order.

    ``checked`` is what papers printed beside scores that are shown, against the papers' own tables.
    ``considered`` are the series of all scores that passed the filters; ``left_out`` those that did
    and are not shown, because they were emulated (``compare.emulation``).
    """

    groups: list[tuple[TableKey, list[Contender]]]
    checked: Mapping[prints.PrintKey, prints.Published]
    considered: frozenset[int]
    left_out: frozenset[int] = frozenset()


def choose(spec: ComparisonSpec) -> Chosen:
    """The scores that ``spec`` shows. Three queries; two where every score is shown.

    The filters of contenders come after the query: whether a printed delta is right is asked of
    the paper's whole table, also when the comparison shows a part of it.
    """
    return _every_configuration(spec) if spec.by == "configuration" else _best(spec)


def tables_of(spec: ComparisonSpec) -> int:
    """How many tables ``spec`` has. Two queries."""
    return len(_by_table(_passing(_candidates(spec), spec)[0]))


def direction(unit: str) -> bool | None:
    """Whether lower is better; None where nobody said."""
    try:
        return lower_is_better(unit)
    except ValueError:
        return None


def _candidates(spec: ComparisonSpec) -> Candidates:
    return candidates_for(
        spec.studies, spec.tests, spec.categories, selection=spec.cells or Selection.ALL
    )


def _every_configuration(spec: ComparisonSpec) -> Chosen:
    everything = scores_for(
        spec.studies,
        spec.tests,
        spec.categories,
        selection=spec.cells or Selection.ALL,
        with_runs=False,
    )
    series = _passing_series({row.series_id: row for row in everything}, spec)
    passing = [
        row for row in everything if row.series_id in series and _has_runs(row.repeats, spec)
    ]
    left_out = emulation.left_out({row.series_id: row.is_emulated for row in passing}, spec)
    passing = [row for row in passing if row.series_id not in left_out]
    names = configuration_names({row.series_id: row for row in passing}.values())
    return Chosen(
        [
            (key, each_configuration(rows, names))
            for key, rows in sorted(_by_table(passing).items(), key=_place)
        ],
        prints.check(everything),
        frozenset(row.series_id for row in passing),
        emulation.told(left_out, spec),
    )


def _best(spec: ComparisonSpec) -> Chosen:
    found = _candidates(spec)
    passing, left_out = _passing(found, spec)
    of = properties.PROPERTIES[spec.by].of
    values = {
        series_id: of(found.series[series_id])
        for series_id in {score.series_id for score in passing}
    }
    best = [
        (key, best_of_each(scores, values, found.series, bool(direction(key[2]))))
        for key, scores in sorted(_by_table(passing).items(), key=_place)
    ]
    printed = _tables_of_prints(found, (each.score for _, kept in best for each in kept))
    shown = {each.score.score_id for _, kept in best for each in kept}
    rows = rows_of(found, shown | {score.score_id for score in printed})
    return Chosen(
        [
            (
                key,
                [
                    Contender(
                        each.value.slug,
                        each.value.label,
                        rows[each.score.score_id],
                        each.configurations,
                    )
                    for each in kept
                ],
            )
            for key, kept in best
        ],
        prints.check(rows[score.score_id] for score in printed),
        frozenset(score.series_id for score in passing),
        emulation.told(left_out, spec),
    )


def _tables_of_prints(found: Candidates, shown: Iterable[Candidate]) -> list[Candidate]:
    """Every printed score of the tables, of one study each, that a shown printed score is in."""

    def table(score: Candidate) -> tuple[str, ...]:
        return found.series[score.series_id].study, score.test, score.category, score.unit

    asked = {table(score) for score in shown if score.is_printed}
    if not asked:
        return []
    return [score for score in found.scores if score.is_printed and table(score) in asked]


def _passing(found: Candidates, spec: ComparisonSpec) -> tuple[list[Candidate], frozenset[int]]:
    """The scores that pass all filters, and the series that are left out as emulated."""
    series = _passing_series(found.series, spec)
    passing = [
        score
        for score in found.scores
        if score.series_id in series and _has_runs(score.repeats, spec)
    ]
    emulated = {
        series_id: found.series[series_id].is_emulated
        for series_id in {score.series_id for score in passing}
    }
    left_out = emulation.left_out(emulated, spec)
    if left_out:
        passing = [score for score in passing if score.series_id not in left_out]
    return passing, left_out


def _passing_series(series: Mapping[int, SeriesFacts], spec: ComparisonSpec) -> set[int]:
    wanted = [
        (properties.PROPERTIES[parameter].of, getattr(spec, name))
        for parameter, name in FILTERS.items()
        if parameter in properties.OFFERED and getattr(spec, name)
    ]
    return {
        series_id
        for series_id, facts in series.items()
        if (not spec.filesystems or facts.filesystem in spec.filesystems)
        and (not spec.workloads or facts.workload in spec.workloads)
        and (not spec.hardware or facts.hardware in spec.hardware)
        and all(of(facts).slug in chosen for of, chosen in wanted)
    }


def _has_runs(repeats: int | None, spec: ComparisonSpec) -> bool:
    return spec.min_runs <= 1 or (repeats or 0) >= spec.min_runs


def _by_table(scores: Iterable[_Score]) -> dict[TableKey, list[_Score]]:
    found: dict[TableKey, list[_Score]] = defaultdict(list)
    for score in scores:
        found[score.test, score.category, score.unit].append(score)
    return found


def _place(item: tuple[TableKey, Sequence[object]]) -> tuple[object, ...]:
    test, category, unit = item[0]
    return (testnames.place(test), categories.place(category), unit)
