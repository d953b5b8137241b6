"""Which scores a comparison shows: of each table, the best one of each contender."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from fsbench_web.compare.selection import properties
from fsbench_web.compare.selection.spec import FILTERS, ComparisonSpec
from fsbench_web.compare.tables import emulation, pairs, published_values
from fsbench_web.compare.tables.contenders import (
    Contender,
    best_of_each,
    configuration_names,
    each_configuration,
)
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.units import lower_is_better
from fsbench_web.platform import limits
from fsbench_web.studies.models import Score, Selection
from fsbench_web.studies.scores import best_score_query as best_candidates
from fsbench_web.studies.scores.best_score_query import Candidate, Printed
from fsbench_web.studies.scores.queries import ScoreRow, SeriesFacts, scores_for, series_facts

_Score = TypeVar("_Score", ScoreRow, Candidate)

TableKey = tuple[str, str, str]
"""(test, category, unit): values of different units are never ranked together."""


@dataclass(frozen=True)
class Chosen:
    """The contenders of each table, tables in the paper's order.

    ``checked`` is what papers printed beside scores that are shown, against the papers' own tables.
    ``considered`` are all scores that passed the filters; ``left_out`` the series of those that did
    and are not shown, because they were emulated (``compare.tables.emulation``). ``among`` are the
    p-values of all pairs of the comparison where ``groups`` are a part of its tables; None where
    they are all.
    """

    groups: list[tuple[TableKey, list[Contender]]]
    checked: Mapping[published_values.PrintKey, published_values.Published]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()
    run_count: int | None = None
    among: Collection[float] | None = None


def choose(spec: ComparisonSpec, counts_runs: bool = False) -> Chosen:
    """The scores that ``spec`` shows. Four queries; five with printed scores, two of everything.

    ``counts_runs`` has the runs behind ``considered`` counted with them, which by configuration
    it does not: ``run_count`` stays None there.

    The filters of contenders come after the query of printed scores: whether a printed delta is
    right is asked of the paper's whole table, also when the comparison shows a part of it.

    Of a part of a comparison by configuration only that part is read whole: three queries, five
    with printed scores. Of any other part everything is chosen, and the caller leaves the rest out.
    """
    if spec.by == "configuration" and spec.from_row:
        return _some(spec)
    if spec.is_part and spec.by == "configuration" and not spec.matched:
        return _part(spec)
    return _every_configuration(spec) if spec.by == "configuration" else _best(spec, counts_runs)


Facts = dict[tuple[str, tuple[str, ...]], Mapping[int, Any]]
"""What was read of configurations or series, by which of them and of which studies."""


def has_scores(spec: ComparisonSpec, known: Facts) -> bool:
    """Whether ``spec`` shows anything. One query; two where it says what of emulated results.

    ``known`` keeps what is read of configurations and series, one query more, for the next call.
    """
    considered = Field(spec, known, leaves_out=False).considered
    if spec.emulated in (emulation.OUT, emulation.ONLY):
        emulated = list(best_candidates.emulated_in(spec.studies))
        is_of_them = Q(series_id__in=emulated)
        considered = considered.filter(
            is_of_them if spec.emulated == emulation.ONLY else ~is_of_them
        )
    # Otherwise emulated ones are left out only where there are others.
    return considered.order_by().exists()


def direction(unit: str) -> bool | None:
    """Whether lower is better; None where nobody said."""
    try:
        return lower_is_better(unit)
    except ValueError:
        return None


class Field:
    """Who competes: the values of the property compared, by configuration or by series.

    By configuration where neither the property nor a filter asks for more: there are few of them,
    and thousands of series. One query; three where anything was emulated.
    """

    series: Mapping[int, SeriesFacts] | None

    def __init__(
        self, spec: ComparisonSpec, known: Facts | None = None, leaves_out: bool = True
    ) -> None:
        known = {} if known is None else known
        compared = properties.PROPERTIES[spec.by]
        wanted = _wanted(spec)
        facts: Mapping[int, Any]
        # What a property asks for is there in either case (Property.is_of_configuration).
        if all(each.is_of_configuration for each in (compared, *(one.of for one in wanted))):
            self.by = best_candidates.CONFIGURATION
            self.series = None
        else:
            self.by = best_candidates.SERIES
        if (self.by, spec.studies) not in known:
            known[self.by, spec.studies] = (
                best_candidates.configurations_in(spec.studies)
                if self.by == best_candidates.CONFIGURATION
                else series_facts(None, spec.studies)
            )
        facts = known[self.by, spec.studies]
        if self.by == best_candidates.SERIES:
            self.series = facts
        self.values = {
            key: compared.of(known)
            for key, known in facts.items()
            if all(each.takes(known) for each in wanted)
        }
        self.scores = _scores(spec)
        if len(self.values) < len(facts):
            self.considered = self.scores.filter(**{f"{self.by}__in": list(self.values)})
        else:
            self.considered = self.scores
        self.left_out: frozenset[int] = frozenset()
        if leaves_out and (spec.emulated or any(facts[key].is_emulated for key in self.values)):
            self._leave_out(spec)
        if spec.from_row:
            self._take_some(spec.from_row)

    def _take_some(self, first: int) -> None:
        """Of one table the scores from the ``first`` on, best first, as many as are shown at once.

        Two queries.
        """
        found = self.considered.order_by()
        units = list(found.values_list("unit", flat=True)[:1])
        is_lower = bool(units and direction(units[0]))
        kept = list(
            found.order_by("unit", "value" if is_lower else "-value", "pk").values_list(
                "pk", flat=True
            )[first - 1 : first - 1 + limits.WINDOW]
        )
        self.scores = self.scores.filter(pk__in=kept)
        self.considered = self.considered.filter(pk__in=kept)

    def _leave_out(self, spec: ComparisonSpec) -> None:
        """Leave out what was emulated, or what was not. Two queries."""
        passing = set(self.considered.order_by().values_list("series_id", flat=True).distinct())
        emulated = best_candidates.emulated_in(spec.studies)
        self.left_out = emulation.left_out({pk: pk in emulated for pk in passing}, spec)
        if self.left_out:
            kept = list(passing - self.left_out)
            self.scores = self.scores.filter(series_id__in=kept)
            self.considered = self.considered.filter(series_id__in=kept)

    def best_candidates(self, counts_runs: bool = False) -> best_candidates.BestCandidates:
        """The scores that may be shown. One query."""
        names = {key: value.slug for key, value in self.values.items()}
        return best_candidates.best_candidates(self.scores, names, self.by, counts_runs)


def considered(spec: ComparisonSpec) -> QuerySet[Score]:
    """All scores that pass the filters of ``spec``. One query now, and one when it is read."""
    return Field(spec).considered


def _wanted(spec: ComparisonSpec) -> list[properties.Wanted]:
    """The filters of ``spec`` that are no columns of scores."""
    return [
        properties.wanted(parameter, getattr(spec, name))
        for parameter, name in FILTERS.items()
        if parameter in properties.OFFERED and getattr(spec, name)
    ]


def _scores(spec: ComparisonSpec) -> QuerySet[Score]:
    """The scores that pass the filters that are columns of theirs."""
    return best_candidates.scores_of(
        spec.studies,
        spec.tests,
        spec.categories,
        spec.filesystems,
        spec.workloads,
        spec.hardware,
        spec.cells or Selection.ALL,
        spec.min_runs,
    )


def _every_configuration(spec: ComparisonSpec) -> Chosen:
    everything = scores_for(
        spec.studies,
        spec.tests,
        spec.categories,
        selection=spec.cells or Selection.ALL,
    )
    wanted = _wanted(spec)
    passing = [
        row
        for row in everything
        if (not spec.filesystems or row.filesystem in spec.filesystems)
        and (not spec.workloads or row.workload in spec.workloads)
        and (not spec.hardware or row.hardware in spec.hardware)
        and all(each.takes(row) for each in wanted)
        and _has_runs(row.repeats, spec)
    ]
    left_out = emulation.left_out({row.series_id: row.is_emulated for row in passing}, spec)
    passing = [row for row in passing if row.series_id not in left_out]
    names = configuration_names({row.series_id: row for row in passing}.values())
    return Chosen(
        [
            (key, each_configuration(rows, names))
            for key, rows in sorted(_by_table(passing).items(), key=_place)
        ],
        published_values.check(everything),
        _scores(spec).filter(series__in=list(names)) if wanted or left_out else _scores(spec),
        emulation.announced(left_out, spec),
    )


def _some(spec: ComparisonSpec) -> Chosen:
    """Of one table of configurations those from ``from_row`` on, as a comparison by itself."""
    field = Field(spec)
    found = dict(field.considered.order_by("pk").values_list("pk", "series_id"))
    series = series_facts(set(found.values()), spec.studies)
    rows = best_candidates.rows_of(series, list(found))
    names = configuration_names(series[pk] for pk in found.values())
    return Chosen(
        [
            (key, each_configuration(kept, names))
            for key, kept in sorted(_by_table(rows[pk] for pk in found).items(), key=_place)
        ],
        published_values.check(rows.values()),
        field.considered,
        emulation.announced(field.left_out, spec),
    )


def _part(spec: ComparisonSpec) -> Chosen:
    """The part of a comparison by configuration that is shown, as it stands in the whole.

    Whose contenders are called what, who is left out as emulated, and the p-values of all pairs
    come from a few columns of every score; the rows are read of those that are shown.
    """
    scores = _scores(spec)
    columns = ("pk", "series_id", "test", "category", "unit", "value")
    text = Cast("interval", TextField())
    found: list[pairs.Scored] = list(
        scores.order_by("pk").annotate(text=text).values_list(*columns, "text")
    )
    series = series_facts({one[1] for one in found}, spec.studies)
    wanted = _wanted(spec)
    passing = {
        pk: series[pk]
        for pk in dict.fromkeys(one[1] for one in found)
        if all(each.takes(series[pk]) for each in wanted)
    }
    emulated = {pk: one.is_emulated for pk, one in passing.items()}
    left_out = emulation.left_out(emulated, spec)
    names = configuration_names(one for pk, one in passing.items() if pk not in left_out)
    competing = [one for one in found if one[1] in names] if wanted or left_out else found
    tables = {table for table in {one[2:4] for one in competing} if spec.shows(*table)}
    shown = [one[0] for one in competing if one[2:4] in tables]
    rows = best_candidates.rows_of(series, shown)
    of_part = replace(
        spec, tests=tuple(test for test, _ in tables), categories=tuple(slug for _, slug in tables)
    )
    considered = _scores(of_part) if shown else scores.none()
    return Chosen(
        [
            (key, each_configuration(kept, names))
            for key, kept in sorted(
                _by_table(rows[score_id] for score_id in shown).items(), key=_place
            )
        ],
        _checked(of_part, rows.values()),
        considered.filter(series__in=list(names)) if wanted or left_out else considered,
        emulation.announced(left_out, spec),
        among=pairs.p_values(
            competing, names, spec.baseline, {pk for pk, is_so in emulated.items() if is_so}
        ),
    )


def _checked(
    spec: ComparisonSpec, shown: Iterable[ScoreRow]
) -> Mapping[published_values.PrintKey, published_values.Published]:
    """What papers printed beside the tables of ``spec``. No query where none of ``shown`` is."""
    if all(row.published is None for row in shown):
        return {}
    printed = _tables_of_prints(spec)
    series = series_facts({score.series_id for score in printed}, spec.studies)
    rows = best_candidates.rows_of(series, {score.score_id for score in printed})
    return published_values.check(rows[score_id] for score_id in sorted(rows))


def _best(spec: ComparisonSpec, counts_runs: bool) -> Chosen:
    field = Field(spec)
    found, run_count = field.best_candidates(counts_runs)
    printed = _tables_of_prints(spec) if any(score.is_printed for score in found) else []
    series = field.series
    if series is None:
        behind = {score.series_id for score in found} | {score.series_id for score in printed}
        series = series_facts(behind, spec.studies)
    values = {
        score.series_id: field.values[
            series[score.series_id].configuration_id
            if field.by == best_candidates.CONFIGURATION
            else score.series_id
        ]
        for score in found
    }
    best = [
        (key, best_of_each(scores, values, series, bool(direction(key[2]))))
        for key, scores in sorted(_by_table(found).items(), key=_place)
    ]
    shown = [each.score for _, kept in best for each in kept]

    def table(study: str, score: Candidate | Printed) -> tuple[str, ...]:
        return study, score.test, score.category, score.unit

    asked = {table(series[one.series_id].study, one) for one in shown if one.is_printed}
    checked = {one.score_id for one in printed if table(one.study, one) in asked}
    rows = best_candidates.rows_of(series, {score.score_id for score in shown} | checked)
    return Chosen(
        [
            (
                key,
                [
                    Contender(
                        each.value.slug,
                        each.value.label,
                        rows[each.score.score_id],
                        each.score.configurations,
                    )
                    for each in kept
                ],
            )
            for key, kept in best
        ],
        published_values.check(rows[score_id] for score_id in sorted(checked)),
        field.considered,
        emulation.announced(field.left_out, spec),
        run_count,
    )


def _tables_of_prints(spec: ComparisonSpec) -> list[Printed]:
    """Every printed score of the tests and categories, whatever else is asked for. One query."""
    return best_candidates.printed_in(
        best_candidates.scores_of(
            spec.studies, spec.tests, spec.categories, selection=spec.cells or Selection.ALL
        )
    )


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
