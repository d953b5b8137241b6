"""Which scores a comparison shows: of each table, the best one of each contender."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import emulation, published_values
from fsbench_web.compare.tables.contenders import (
    BestPerValue,
    Contender,
    TableKey,
    best_of_each,
    by_table,
    configuration_names,
    each_configuration,
    tool_of,
)
from fsbench_web.compare.tables.field import Facts, Field, direction, field_of
from fsbench_web.compare.tables.headlines import headlines
from fsbench_web.compare.tables.work.ranking import rank
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.best_score_query import (
    CONFIGURATION,
    SERIES,
    Candidate,
    PrintedScore,
    best_candidates,
    configurations_of_each,
    printed_in,
    rows_of,
    workload_of_all,
)
from fsbench_web.studies.scores.queries import (
    ROW,
    ScoreRow,
    SeriesFacts,
    columns_of,
    row_of,
    scores_for,
    series_facts,
)
from fsbench_web.studies.scores.score_filter import ScoreFilter


@dataclass(frozen=True)
class TableContenders:
    """The contenders of each table, tables in the paper's order.

    ``checked`` is what papers printed beside scores that are shown, against the papers' own tables.
    ``considered`` are all scores that passed the filters; ``left_out`` the series of those that did
    and are not shown, because they were emulated (``compare.tables.emulation``). ``work`` is what
    is known of each work profile that was asked for, whether or not it has a table.
    """

    groups: list[tuple[TableKey, list[Contender]]]
    checked: Mapping[published_values.PrintKey, published_values.Published]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()
    work: tuple[WorkAnswer, ...] = ()


def choose(
    spec: ComparisonSpec, known_facts: Facts | None = None, *, headlines_only: bool = False
) -> TableContenders:
    """The scores that ``spec`` shows. Four queries; five with printed scores, two of everything.

    With ``known_facts`` of contenders (``field_of``) it is one query less.

    The filters of contenders come after the query of printed scores: whether a printed delta is
    right is asked of the paper's whole table, also when the comparison shows a part of it.

    Of a part only its tables are read whole; by configuration it takes three queries, five with
    printed scores. With ``headlines_only`` other categories of a matrix are not read, one query
    more by configuration; where nothing is saved, the caller leaves them out.
    """
    if spec.is_of_work:
        return _of_work(spec)
    if spec.by != "configuration":
        return _best_of_contenders(spec, known_facts, headlines_only=headlines_only)
    if spec.from_row:
        return _table_window(spec)
    if spec.is_part and not spec.matched:
        return _part(spec, headlines_only=headlines_only)
    return _every_configuration(spec)


def _of_work(spec: ComparisonSpec) -> TableContenders:
    ranking = rank(spec)
    left_out = emulation.to_announce(ranking.left_out, spec.emulated)
    return TableContenders(ranking.groups, {}, ranking.considered, left_out, work=ranking.answers)


@dataclass(frozen=True)
class _Configurations:
    """Those that compete by themselves: their ``names`` by series, and which are left out."""

    names: Mapping[int, str]
    left_out: frozenset[int]

    @classmethod
    def of(cls, passing: Mapping[int, SeriesFacts], choice: str) -> "_Configurations":
        """Of the series whose scores pass the filters; ``choice`` of emulated ones."""
        emulated = {pk: facts.is_emulated for pk, facts in passing.items()}
        left_out = emulation.left_out(emulated, choice)
        names = configuration_names(facts for pk, facts in passing.items() if pk not in left_out)
        return cls(names, left_out)

    def considered(self, score_filter: ScoreFilter) -> QuerySet[Score]:
        if score_filter.conditions or self.left_out:
            return score_filter.scores.filter(series__in=list(self.names))
        return score_filter.scores

    def groups(
        self, rows: Iterable[ScoreRow], units: str
    ) -> list[tuple[TableKey, list[Contender]]]:
        """The contenders of each table."""
        tables = by_table(
            rows, lambda row: (row.test, row.category, row.printed_unit, tool_of(row)), units
        )
        return [(key, each_configuration(scores, self.names)) for key, scores in tables]


def _every_configuration(spec: ComparisonSpec) -> TableContenders:
    score_filter = spec.score_filter
    everything = scores_for(score_filter.tables)
    passing = score_filter.passing(everything)
    competing = _Configurations.of({row.series_id: row for row in passing}, spec.emulated)
    return TableContenders(
        competing.groups((row for row in passing if row.series_id in competing.names), spec.units),
        published_values.check(everything),
        competing.considered(score_filter),
        emulation.to_announce(competing.left_out, spec.emulated),
    )


def _table_window(spec: ComparisonSpec) -> TableContenders:
    """Of one table of configurations those from ``from_row`` on, as a comparison by itself."""
    field = field_of(spec)
    series_by_score = dict(field.considered.order_by("pk").values_list("pk", "series_id"))
    series = series_facts(set(series_by_score.values()), spec.studies)
    rows = rows_of(series, list(series_by_score))
    names = configuration_names(series[pk] for pk in series_by_score.values())
    return TableContenders(
        _Configurations(names, field.left_out).groups(
            (rows[pk] for pk in series_by_score), spec.units
        ),
        published_values.check(rows.values()),
        field.considered,
        emulation.to_announce(field.left_out, spec.emulated),
    )


def _shown_tables(
    spec: ComparisonSpec, tables: Iterable[tuple[str, str]], *, headlines_only: bool
) -> set[tuple[str, str]]:
    """Of tests and categories those that are read whole."""
    pairs = {pair for pair in tables if spec.shows(*pair)}
    return headlines(pairs) if headlines_only else pairs


def _part(spec: ComparisonSpec, *, headlines_only: bool) -> TableContenders:
    """The part of a comparison by configuration that is shown, as it stands in the whole.

    Whose contenders are called what, and who is left out as emulated, is asked of the series of
    every score; the rows are read of those that are shown.
    """
    score_filter = spec.score_filter
    everyone = set(score_filter.scores.order_by().values_list("series_id", flat=True).distinct())
    series = series_facts(everyone, spec.studies)
    passing = {pk: series[pk] for pk in everyone if score_filter.takes(series[pk])}
    competing = _Configurations.of(passing, spec.emulated)
    scores = score_filter.scores
    if spec.part_tests:
        scores = scores.filter(test__in=spec.part_tests)
    if spec.part_categories:
        scores = scores.filter(category__in=spec.part_categories)
    if headlines_only:
        tables = scores.order_by().values_list("test", "category").distinct()
        pairs = _shown_tables(spec, tables, headlines_only=True)
        scores = scores.filter(category__in={category for _, category in pairs})
    columns = columns_of(scores.order_by("pk"), *ROW)
    rows = [row_of(series[record[0]], record) for record in columns if record[0] in competing.names]
    of_part = replace(
        score_filter, tests={row.test for row in rows}, categories={row.category for row in rows}
    )
    return TableContenders(
        competing.groups(rows, spec.units),
        _published_scores(of_part.tables, rows),
        competing.considered(of_part) if rows else score_filter.scores.none(),
        emulation.to_announce(competing.left_out, spec.emulated),
    )


def _published_scores(
    tables: ScoreFilter, shown_rows: Iterable[ScoreRow]
) -> Mapping[published_values.PrintKey, published_values.Published]:
    """What papers printed beside these ``tables``. No query where none is printed."""
    if all(row.published is None for row in shown_rows):
        return {}
    printed = printed_in(tables.scores)
    series = series_facts({score.series_id for score in printed}, tables.studies)
    rows = rows_of(series, {score.score_id for score in printed})
    return published_values.check(rows[score_id] for score_id in sorted(rows))


def _best_of_contenders(
    spec: ComparisonSpec,
    known_facts: Facts | None,
    is_again: bool = False,
    *,
    headlines_only: bool,
) -> TableContenders:
    """The best of each contender, chosen by the database.

    ``is_again``: some that were chosen had been replaced before they were read.
    """
    field = field_of(spec, known_facts)
    candidates = best_candidates(field.scores, field.names, field.by)
    is_printed = any(score.is_printed for score in candidates)
    # Whatever else is asked for: a printed delta is of the paper's whole table.
    printed = printed_in(spec.score_filter.tables.scores) if is_printed else []
    series = _series_behind(field, [*candidates, *printed], spec.studies)
    ranked = _best_by_table(field, candidates, series, spec.units)
    if spec.by != "workload":
        ranked, series = _of_one_workload(field, ranked, series, spec)
    wanted_tables = _shown_tables(
        spec, (key[:2] for key, _ in ranked), headlines_only=headlines_only
    )
    best = [(key, winners) for key, winners in ranked if key[:2] in wanted_tables]
    scores = [winner.score for _, winners in best for winner in winners]

    def table(study: str, score: Candidate | PrintedScore) -> tuple[str, ...]:
        return study, score.test, score.category, score.unit

    printed_tables = {
        table(series[score.series_id].study, score) for score in scores if score.is_printed
    }
    checked = {score.score_id for score in printed if table(score.study, score) in printed_tables}
    wanted = {score.score_id for score in scores} | checked
    rows = rows_of(series, wanted)
    if not is_again and len(rows) < len(wanted):
        return _best_of_contenders(spec, None, is_again=True, headlines_only=headlines_only)
    counts = _configurations(field, best)
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
        for key, winners in best
    ]
    return TableContenders(
        groups,
        published_values.check(rows[score_id] for score_id in sorted(checked)),
        field.considered,
        emulation.to_announce(field.left_out, spec.emulated),
    )


def _series_behind(
    field: Field, scores: Iterable[Candidate | PrintedScore], studies: Sequence[str]
) -> Mapping[int, SeriesFacts]:
    """What is said of the series of the scores. One query, unless the field has it."""
    if field.by == SERIES:
        return field.facts
    return series_facts({score.series_id for score in scores}, studies)


def _best_by_table(
    field: Field, candidates: Sequence[Candidate], series: Mapping[int, SeriesFacts], units: str
) -> "_Ranked":
    """The best score of each contender, by table."""
    values = {
        score.series_id: field.values[
            series[score.series_id].configuration_id
            if field.by == CONFIGURATION
            else score.series_id
        ]
        for score in candidates
    }
    tools = {score.series_id: tool_of(series[score.series_id]) for score in candidates}
    tables = by_table(
        candidates,
        lambda score: (score.test, score.category, score.unit, tools[score.series_id]),
        units,
    )
    return [
        (key, best_of_each(scores, values, series, bool(direction(key.unit))))
        for key, scores in tables
    ]


_Ranked = list[tuple[TableKey, list[BestPerValue]]]


def _of_one_workload(
    field: Field, ranked: _Ranked, series: Mapping[int, SeriesFacts], spec: ComparisonSpec
) -> tuple[_Ranked, Mapping[int, SeriesFacts]]:
    """The same, with making and mounting a file system told by runs of one workload for all, where
    all contenders have such runs, and the series behind it.

    Every run makes and mounts its file system, whatever it measures then. The best of each may be
    of another workload, with which it shares no block. Three queries, where that is so.
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
    """How many configurations each contender of a table has that was measured in several units.

    By test, category and contender. One query; none where every contender has one unit.
    """
    pairs = {
        (key.test, key.category)
        for key, winners in tables
        if any(winner.has_several_units for winner in winners)
    }
    return configurations_of_each(field.considered, field.names, field.by, pairs) if pairs else {}
