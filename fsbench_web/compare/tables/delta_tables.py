"""Delta tables as in Appendix A of the Unisys 2005 paper: the same for page, CSV, API and link."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import QuerySet

from fsbench_web.catalog.configurations.labels import current_label
from fsbench_web.compare.selection.fields import FILTERS, unknown
from fsbench_web.compare.selection.spec import (
    EVERYTHING,
    ComparisonSpec,
    SpecError,
)
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.query import Facts, TableContenders, choose, has_scores
from fsbench_web.compare.tables.work.ranking import rank
from fsbench_web.core.comparison import headlines
from fsbench_web.core.comparison.answer import ComparisonAnswer, answer_from
from fsbench_web.core.comparison.delta_tables import (
    Contender,
    TableKey,
    delta_table,
    over_common_cells,
)
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.comparison.significance import Rule, with_verdicts
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.scoring.quality import LEAVE_NOTHING_OUT
from fsbench_web.core.units import BINARY
from fsbench_web.studies.models import Score, Study
from fsbench_web.studies.scores.cells import TooManyValues, cells_of_runs
from fsbench_web.studies.scores.choices import ScoreChoices, score_choices
from fsbench_web.studies.scores.source_runs import (
    MOST_LISTED,
    count_runs_of_scores,
    page_cached_series,
    runs_of_scores,
    series_without,
)

TOO_MANY_TO_MATCH = (
    "Too many numbers to score again over shared data points. Choose fewer tests, studies or "
    "configurations, or leave matched out."
)


@dataclass(frozen=True)
class Comparison:
    """The tables of a spec and what stands behind them.

    ``considered``: all scores that passed the filters. ``left_out``: emulated series. ``work``: of
    each work profile asked for.
    """

    spec: ComparisonSpec
    tables: list[DeltaTable]
    shown_contenders: Sequence[Sequence[Contender]]
    considered: QuerySet[Score]
    left_out: frozenset[int] = frozenset()
    work: tuple[WorkAnswer, ...] = ()
    known_choices: ScoreChoices | None = None

    @cached_property
    def choices(self) -> ScoreChoices:
        """What there is to choose from. Six queries, unless the spec was held against it."""
        return self.known_choices or score_choices(self.spec.studies)

    @cached_property
    def by_default(self) -> "Comparison":
        """The same with the tables that are meant where no category is named (tables.answer)."""
        kept = {id(table) for table in default_tables(self.tables, self.spec)}
        pairs = [
            (table, group)
            for table, group in zip(self.tables, self.shown_contenders, strict=True)
            if id(table) in kept
        ]
        return replace(
            self,
            tables=[table for table, _ in pairs],
            shown_contenders=[group for _, group in pairs],
        )

    @cached_property
    def emulated(self) -> findings.EmulationNotice | None:
        return findings.emulation_notice(self.spec, self.tables, len(self.left_out))

    @cached_property
    def run_ids(self) -> frozenset[int]:
        """Every run that was considered. One query, the first time; ``run_count`` is cheaper."""
        return frozenset(runs_of_scores(self.considered).values_list("pk", flat=True))

    @cached_property
    def shown_series(self) -> frozenset[int]:
        return frozenset(
            contender.row.series_id for table in self.shown_contenders for contender in table
        )

    @cached_property
    def run_count(self) -> int:
        """How many runs were considered. One query, the first time."""
        return count_runs_of_scores(self.considered, self.spec.studies)


def delta_tables(spec: ComparisonSpec) -> list[DeltaTable]:
    """The delta tables of ``spec`` in the paper's order. At most six queries. Raises SpecError."""
    return comparison(spec).tables


def comparison(spec: ComparisonSpec, known_facts: Facts | None = None) -> Comparison:
    """The tables with what a page needs around them. Raises SpecError."""
    choices = None if spec.names_only_studies else _choices_that_hold(spec)
    if spec.matched and spec.cells:
        raise SpecError(["cells and matched cannot be combined: leave one of them out."])
    chosen = rank(spec) if spec.is_of_work else choose(spec, known_facts)
    tables, contenders = _tables(spec, chosen)
    if choices is None:
        count = len(spec.studies)
        is_known = not count or (tables and count == 1)
        is_known = is_known or Study.objects.filter(slug__in=spec.studies).count() == count
        if not is_known or (spec.is_part and not tables):  # the name may be one that nothing has
            choices = _choices_that_hold(spec)
    return Comparison(
        *(spec, tables, contenders, chosen.considered, chosen.left_out),
        work=chosen.work,
        known_choices=choices,
    )


def _choices_that_hold(spec: ComparisonSpec) -> ScoreChoices:
    """What there is to choose from in the studies. Raises SpecError for unknown values."""
    choices = score_choices(spec.studies)
    # What these studies lack is known if another has it.
    if problems := spec.unknown_values(choices) and spec.unknown_values(score_choices()):
        raise SpecError(problems)
    return choices


def _tables(
    spec: ComparisonSpec, chosen: TableContenders
) -> tuple[list[DeltaTable], list[Sequence[Contender]]]:
    # A work profile is of the same cells for all as it is.
    is_matched = spec.matched and not spec.is_of_work
    groups = _over_common_cells(chosen.groups) if is_matched else chosen.groups
    tables = with_verdicts(
        [
            delta_table(
                *(key, group),
                by=spec.by,
                baseline=_baseline(spec, group),
                checked=chosen.checked,
            )
            for key, group in groups
        ],
        Rule(spec.rule, spec.margin, spec.equivalence),
    )
    answers = {(answer.test, answer.category): answer for answer in chosen.work}
    tables = [replace(table, work=answers.get((table.test, table.category))) for table in tables]
    places = [place for place, table in enumerate(tables) if spec.shows(table.test, table.category)]
    return [tables[place] for place in places], [groups[place][1] for place in places]


def _over_common_cells(
    groups: Sequence[tuple[TableKey, list[Contender]]],
) -> list[tuple[TableKey, list[Contender]]]:
    """The same tables over the cells that all of their contenders have. One query."""
    series = {contender.row.series_id for _, group in groups for contender in group}
    if len(series) > MOST_LISTED:
        raise SpecError([TOO_MANY_TO_MATCH])
    try:
        measured = cells_of_runs(series, {key.test for key, _ in groups})
    except TooManyValues:
        raise SpecError([TOO_MANY_TO_MATCH]) from None
    return [
        (key, over_common_cells(group, key.category, measured.get(key.test, {})))
        for key, group in groups
    ]


def refuse_missing_baseline(spec: ComparisonSpec, tables: Sequence[DeltaTable]) -> None:
    """Raise SpecError where neither ``tables`` nor the whole comparison has the baseline."""
    if not spec.baseline or not tables or _has_baseline(tables):
        return
    if spec.is_part:
        tables = delta_tables(spec.whole)
        if _has_baseline(tables):
            return
    names = dict.fromkeys(row.contender for table in tables for row in table.rows)
    raise SpecError(unknown("baseline", [spec.baseline], names), "baseline")


def _has_baseline(tables: Sequence[DeltaTable]) -> bool:
    return any(table.baseline for table in tables)


MOST_WAYS = 5


def relaxed_filters(spec: ComparisonSpec) -> list[tuple[str, ComparisonSpec]]:
    """Filters that hide everything alone, and the spec without each. At most MOST_WAYS."""
    relaxed: list[tuple[str, ComparisonSpec]] = []
    known_facts: Facts = {}
    for name in ("min_runs", "cells", "emulated", *(entry.name for entry in reversed(FILTERS))):
        if len(relaxed) < MOST_WAYS and getattr(spec, name) != getattr(EVERYTHING, name):
            looser = spec.with_default(name)
            if has_scores(looser, known_facts):
                relaxed.append((name, looser))
    return relaxed


def refuse_unknown_parts(spec: ComparisonSpec) -> None:
    """Raise SpecError where ``spec`` is a part by tests that exist nowhere."""
    if not spec.part_tests:
        return
    problems = replace(EVERYTHING, part_tests=spec.part_tests).unknown_values(score_choices())
    if problems:
        raise SpecError(problems, "part_test")


def in_units_of(spec: ComparisonSpec, tables: Iterable[DeltaTable]) -> ComparisonSpec:
    """``spec`` in the units that a page shows these tables in, for the API."""
    is_converted = not spec.units and any(table.has_printed_units for table in tables)
    return replace(spec, units=BINARY) if is_converted else spec


def _baseline(spec: ComparisonSpec, contenders: Sequence[Contender]) -> str:
    """The name of the contender that is meant: an old label means today's where none has it."""
    if spec.by == "configuration" and all(
        contender.name != spec.baseline for contender in contenders
    ):
        return current_label(spec.baseline)
    return spec.baseline


def default_tables(tables: Sequence[DeltaTable], spec: ComparisonSpec) -> list[DeltaTable]:
    """The tables shown by default: a test's headline, or all categories of published figures."""
    if spec.categories or spec.part_categories:
        return list(tables)
    return headlines.default_tables(tables)


def answer_of(
    tables: Sequence[DeltaTable], baseline: str = "", works: Sequence[WorkAnswer] = ()
) -> ComparisonAnswer:
    """The answer of delta tables. At most three queries. ``works``: profiles without any score."""
    series = {
        row.series_id
        for table in tables
        for row in table.rows
        if row.series_id is not None and row.origin != "published"
    }
    page_cached = page_cached_series(series) if series else ()
    flags = {flag for table in tables for row in table.rows for flag in row.flags}
    without = [(flag, series_without(flag, series)) for flag in flags & LEAVE_NOTHING_OUT]
    return answer_from(tables, baseline, page_cached, works, without)
