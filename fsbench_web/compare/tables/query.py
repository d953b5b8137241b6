"""From a spec to the contenders of each table: who competes, and the best score of each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import compress
from typing import Any

from django.db.models import Q, QuerySet

from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.comparison.delta_tables import (
    BestPerValue,
    Contender,
    TableKey,
    best_by_table,
    configuration_names,
    direction,
)
from fsbench_web.core.comparison.rows import (
    Candidate,
    PrintKey,
    ScoreRow,
    SeriesFacts,
    Value,
    print_key,
)
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.deltas import Delta, Published, delta_rows, published_differs
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.units import lower_is_better
from fsbench_web.platform import limits
from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.queries import (
    CONFIGURATION,
    SERIES,
    PrintedScore,
    best_candidates,
    configurations_in,
    configurations_of_each,
    emulated_in,
    printed_in,
    rows_of,
    series_facts,
    workload_of_all,
)

OUT, WITH, ONLY = "out", "with", "only"
"""What a spec can say of emulated scores."""

Facts = dict[tuple[str, tuple[str, ...]], Mapping[int, Any]]
"""Facts that were read, by (configuration or series, studies)."""


@dataclass(frozen=True)
class Field:
    """Who competes: ``values`` by configuration or series, as ``by`` says.

    ``scores`` pass the column filters, ``considered`` all. ``left_out``: emulated series.
    """

    by: str
    facts: Mapping[int, Any]
    values: Mapping[int, Value]
    scores: QuerySet[Score]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()

    @property
    def names(self) -> dict[int, str]:
        return {key: value.slug for key, value in self.values.items()}

    def value_of(self, facts: SeriesFacts) -> Value:
        return self.values[facts.series_id if self.by == SERIES else facts.configuration_id]

    def announced(self, spec: ComparisonSpec) -> frozenset[int]:
        """Of what is left out, what pages say: who asks for emulated ones alone knows."""
        return frozenset() if spec.emulated == ONLY else self.left_out

    def narrowed(self, **columns: Any) -> "Field":
        """The same contenders with only the scores that have these values of columns."""
        return replace(
            self,
            scores=self.scores.filter(**columns),
            considered=self.considered.filter(**columns),
        )


def field_of(spec: ComparisonSpec, known_facts: Facts | None = None) -> Field:
    """Who competes in ``spec``, without emulated results unless asked. One to five queries."""
    field = _filtered_field(spec, {} if known_facts is None else known_facts)
    if spec.emulated or any(field.facts[key].is_emulated for key in field.values):
        field = _without_emulated(field, spec)
    return _window(field, spec.from_row) if spec.from_row else field


def has_scores(spec: ComparisonSpec, known_facts: Facts) -> bool:
    """Whether ``spec`` shows anything. One or two queries; ``known_facts`` caches facts."""
    considered = _filtered_field(spec, known_facts).considered
    # Unless it is said, emulated ones are left out only where there are others.
    if spec.emulated in (OUT, ONLY):
        is_emulated = Q(series_id__in=list(emulated_in(spec.studies)))
        is_only = spec.emulated == ONLY
        considered = considered.filter(is_emulated if is_only else ~is_emulated)
    return considered.order_by().exists()


def _filtered_field(spec: ComparisonSpec, known_facts: Facts) -> Field:
    """Who passes the filters. By configuration where that is enough: there are few of them."""
    score_filter, compared = spec.score_filter, PROPERTIES[spec.by]
    is_enough = compared.is_of_configuration and spec.by != "configuration"
    of_configuration = is_enough and score_filter.of_configuration
    by = CONFIGURATION if of_configuration else SERIES
    if (by, spec.studies) not in known_facts:
        known_facts[by, spec.studies] = (
            configurations_in(spec.studies)
            if of_configuration
            else series_facts(None, spec.studies)
        )
    facts = known_facts[by, spec.studies]
    values = {
        key: compared.value_of(competitor)
        for key, competitor in facts.items()
        if score_filter.takes(competitor)
    }
    scores = score_filter.scores
    is_whole = len(values) == len(facts)
    considered = scores if is_whole else scores.filter(**{f"{by}__in": list(values)})
    return Field(by, facts, values, scores, considered)


def _without_emulated(field: Field, spec: ComparisonSpec) -> Field:
    """Without what was emulated, or what was not. Two queries; one where series are known."""
    passing = _series_in(field.considered)
    emulated = passing & (
        {pk for pk, facts in field.facts.items() if facts.is_emulated}
        if field.by == SERIES
        else emulated_in(spec.studies)
    )
    if spec.emulated == WITH or (not spec.emulated and emulated == passing):
        return field
    left_out = frozenset(passing - emulated if spec.emulated == ONLY else emulated)
    if not left_out:
        return field
    return replace(field.narrowed(series_id__in=list(passing - left_out)), left_out=left_out)


def _series_in(scores: QuerySet[Score]) -> set[int]:
    return set(scores.order_by().values_list("series_id", flat=True).distinct())


def _window(field: Field, first: int) -> Field:
    """Of one table the scores from the ``first`` on, best first. Two queries."""
    scores = field.considered.order_by()
    units = list(scores.values_list("unit", flat=True)[:1])
    is_lower = bool(units and direction(units[0]))
    ranked = scores.order_by("unit", "value" if is_lower else "-value", "pk")
    window = ranked.values_list("pk", flat=True)[first - 1 : first - 1 + limits.WINDOW]
    return field.narrowed(pk__in=list(window))


@dataclass(frozen=True)
class TableContenders:
    """The contenders of each table in the paper's order.

    ``checked``: prints of papers, checked. ``considered``: scores that passed all filters.
    ``left_out``: emulated series. ``work``: of each profile asked for.
    """

    groups: list[tuple[TableKey, list[Contender]]]
    checked: Mapping[PrintKey, Published]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()
    work: tuple[WorkAnswer, ...] = ()


def choose(
    spec: ComparisonSpec, known_facts: Facts | None = None, *, is_again: bool = False
) -> TableContenders:
    """The best score of each contender in each table. Four to six queries.

    ``is_again``: chosen scores were replaced before they were read.
    """
    field = field_of(spec, known_facts)
    if spec.by == "configuration":
        field = _each_by_itself(field)
    shown = _shown_part(field, spec)
    candidates = best_candidates(shown.scores, shown.names, shown.by)
    is_printed = any(score.is_printed for score in candidates)
    # Whatever else is asked for: a printed delta is of the paper's whole table.
    printed = printed_in(spec.score_filter.tables.scores) if is_printed else []
    series = _series_behind(shown, [*candidates, *printed], spec.studies)
    ranked = _best_by_table(shown, candidates, series, spec.units)
    if spec.by not in ("workload", "configuration"):
        ranked, series = _of_one_workload(shown, ranked, series, spec)
    scores = [winner.score for _, winners in ranked for winner in winners]
    checked = _printed_tables(scores, printed, series)
    wanted = {score.score_id for score in scores} | checked
    rows = rows_of(series, wanted)
    if not is_again and len(rows) < len(wanted):
        return choose(spec, is_again=True)
    counts = _configurations(shown, ranked)
    groups = [
        (
            key,
            [
                Contender(
                    *winner.value,
                    rows[winner.score.score_id],
                    counts.get((*key[:2], winner.value.slug), winner.score.configurations),
                    winner.times,
                )
                for winner in winners
            ],
        )
        for key, winners in ranked
    ]
    return TableContenders(
        groups,
        checked_prints(rows[score_id] for score_id in sorted(checked)),
        shown.considered if spec.by == "configuration" else field.considered,
        field.announced(spec),
    )


def _each_by_itself(field: Field) -> Field:
    """Of single configurations each series with scores is a contender. One query."""
    series = {pk: field.facts[pk] for pk in sorted(_series_in(field.considered))}
    names = configuration_names(series.values())
    values = {pk: Value(names[pk], facts.configuration) for pk, facts in series.items()}
    return replace(field, values=values)


def _shown_part(field: Field, spec: ComparisonSpec) -> Field:
    """The scores of the tables that are shown. Contenders have the names of the whole."""
    if spec.part_tests:
        field = field.narrowed(test__in=spec.part_tests)
    if spec.part_categories:
        field = field.narrowed(category__in=spec.part_categories)
    return field


def _printed_tables(
    scores: Iterable[Candidate],
    printed: Iterable[PrintedScore],
    series: Mapping[int, SeriesFacts],
) -> set[int]:
    """The printed scores that stand in the tables of those shown: each paper's table whole."""

    def table(study: str, score: Candidate | PrintedScore) -> tuple[str, ...]:
        return study, score.test, score.category, score.unit

    tables = {table(series[score.series_id].study, score) for score in scores if score.is_printed}
    return {score.score_id for score in printed if table(score.study, score) in tables}


def _series_behind(
    field: Field, scores: Iterable[Candidate | PrintedScore], studies: Sequence[str]
) -> Mapping[int, SeriesFacts]:
    """What is said of the series of the scores. One query, unless the field has it."""
    ids = {score.series_id for score in scores}
    if field.by == SERIES and ids <= field.facts.keys():
        return field.facts
    return series_facts(ids, studies)


_Ranked = list[tuple[TableKey, list[BestPerValue]]]


def _best_by_table(
    field: Field, candidates: Sequence[Candidate], series: Mapping[int, SeriesFacts], units: str
) -> _Ranked:
    values = {pk: field.value_of(series[pk]) for pk in {one.series_id for one in candidates}}
    return best_by_table(candidates, values, series, units)


def _of_one_workload(
    field: Field, ranked: _Ranked, series: Mapping[int, SeriesFacts], spec: ComparisonSpec
) -> tuple[_Ranked, Mapping[int, SeriesFacts]]:
    """The same, with mkfs and mount times from one workload, if all contenders have one.

    Every run makes and mounts its file system. The best of each may share no block.
    """
    mixed = {
        key.test
        for key, winners in ranked
        if key.test in testnames.CREATION_TESTS
        and len({series[winner.score.series_id].workload for winner in winners}) > 1
    }
    chosen = workload_of_all(field.considered, field.names, field.by, mixed) if mixed else {}
    if not chosen:
        return ranked, series
    of_chosen = Q()
    for test, workload in chosen.items():
        of_chosen |= Q(test=test, series__workload__slug=workload)
    candidates = best_candidates(field.considered.filter(of_chosen), field.names, field.by)
    of_candidates = _series_behind(field, candidates, spec.studies)
    instead = dict(_best_by_table(field, candidates, of_candidates, spec.units))
    return (
        [(key, instead.get(key, winners)) for key, winners in ranked],
        {**series, **of_candidates},
    )


def _configurations(
    field: Field, tables: Iterable[tuple[TableKey, Sequence[BestPerValue]]]
) -> Mapping[tuple[str, str, str], int]:
    """Configurations of each contender measured in several units, by test, category, contender."""
    pairs = {
        (key.test, key.category)
        for key, winners in tables
        if any(winner.has_several_units for winner in winners)
    }
    return configurations_of_each(field.considered, field.names, field.by, pairs) if pairs else {}


def checked_prints(rows: Iterable[ScoreRow]) -> dict[PrintKey, Published]:
    """What papers printed with scores, checked. ``rows`` must hold each paper's whole tables."""
    tables: dict[tuple[str, str, str, str], list[ScoreRow]] = defaultdict(list)
    for row in rows:
        if row.published is not None:
            tables[row.study, row.test, row.category, row.unit].append(row)
    checked = {}
    for table in tables.values():
        for row, delta in zip(table, _printed_deltas(table), strict=True):
            checked[print_key(row)] = _published(row.published or {}, delta)
    return checked


def _printed_deltas(table: list[ScoreRow]) -> list[Delta | None]:
    try:
        return [*delta_rows([row.value for row in table], lower_is_better(table[0].unit))]
    except ValueError:
        return [None] * len(table)


def _published(printed: Mapping[str, Any], delta: Delta | None) -> Published:
    best = printed.get("best") in (True, "best", "true", "True")
    first, second = (_decimal(printed.get(f"delta{n}_percent")) for n in (1, 2))
    if delta is None:
        return Published(best, first, second)
    is_wrong = (
        best != delta.best,
        _is_wrong(first, delta.delta1_percent),
        _is_wrong(second, delta.delta2_percent),
    )
    differs = tuple(compress(Delta._fields, is_wrong))
    return Published(best, first, second, differs, *delta)


def _is_wrong(printed: Decimal | None, recomputed: float | None) -> bool:
    if printed is None:
        return False
    return recomputed is None or published_differs(printed, recomputed)


def _decimal(text: object) -> Decimal | None:
    if text is None or text == "":
        return None
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
