"""How everything else reads scores: filters, facts of series, whole rows, the best."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import FilesystemConfiguration, Lun
from fsbench_web.catalog.workers.machines import EMULATED as EMULATED_MACHINE
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.comparison.rows import (
    EMULATED,
    PARTIAL,
    Candidate,
    ConfigurationFacts,
    ScoreRow,
    SeriesFacts,
)
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.studies.models import Score, Selection, Series
from fsbench_web.studies.scores.source_runs import MOST_LISTED

NO_PAPERS, ONLY_PAPERS = "no", "only"

PRINTED_UNIT = Coalesce("summed_unit", "unit")
"""The unit that its tool printed: sums of unlike units are no more alike than what they sum."""

_COLUMNS = {
    "studies": "series__study__slug",
    "tests": "test",
    "categories": "category",
    "filesystems": "series__configuration__filesystem",
    "workloads": "series__workload__slug",
    "hardware": "series__hardware__slug",
}
"""What is filtered by a list of values, and its column."""


@dataclass(frozen=True)
class Condition:
    """What a comparison asks of a series, or only of its configuration, and no column holds."""

    takes: Callable[[Any], bool]
    is_of_configuration: bool = False


@dataclass(frozen=True)
class ScoreFilter:
    """Which scores pass; what is empty takes all.

    ``tests`` are names with loads. ``selection``: the cells. ``min_runs``: above 1 a score
    must know its runs. ``conditions`` are asked of series that were read, not of ``scores``.
    ``papers``: NO_PAPERS or ONLY_PAPERS; "" takes all.
    """

    studies: Collection[str] = ()
    tests: Collection[str] = ()
    categories: Collection[str] = ()
    filesystems: Collection[str] = ()
    workloads: Collection[str] = ()
    hardware: Collection[str] = ()
    selection: str = Selection.ALL
    min_runs: int = 1
    conditions: tuple[Condition, ...] = ()
    papers: str = ""

    @property
    def scores(self) -> QuerySet[Score]:
        columns: dict[str, Any] = {
            f"{column}__in": list(getattr(self, name))
            for name, column in _COLUMNS.items()
            if getattr(self, name)
        }
        if self.papers:
            columns["series__study__is_published"] = self.papers == ONLY_PAPERS
        scores = Score.selections.filter(selection=self.selection, **columns)
        return scores.filter(repeats__gte=self.min_runs) if self.min_runs > 1 else scores

    def takes(self, facts: Any) -> bool:
        """Whether the facts of a series, or of a configuration, meet the conditions."""
        return all(condition.takes(facts) for condition in self.conditions)

    @property
    def of_configuration(self) -> bool:
        """Whether the facts of a configuration are enough for ``takes``."""
        return all(condition.is_of_configuration for condition in self.conditions)

    @property
    def tables(self) -> "ScoreFilter":
        """Everything in the tables that any score that passes is in."""
        return ScoreFilter(
            *(self.studies, self.tests, self.categories),
            selection=self.selection,
            papers=self.papers,
        )

    @property
    def of_all_cells(self) -> "ScoreFilter":
        """The same series and tests: their scores of every category, over all cells."""
        return replace(self, categories=(), selection=Selection.ALL, min_runs=1)


_OF_CONFIGURATION = {
    "configuration": "label",
    "configuration_id": "pk",
    "configuration_is_known": "is_known",
    **{n: n for n in ("filesystem", "options", "scheduler", "external_journal", "stack")},
}
_OF_SERIES = {
    **{name: f"configuration__{column}" for name, column in _OF_CONFIGURATION.items()},
    "study": "study__slug",
    "study_title": "study__title",
    "series_id": "pk",
    "workload": "workload__slug",
    "workload_title": "workload__title",
    "tool": "workload__tool",
    "hardware": "hardware__slug",
    "hardware_name": "hardware__name",
    **{name: name for name in ("stack_luns", "kernel", "distribution")},
}
_IS_EMULATED = {"machine__accelerator": EMULATED_MACHINE}


def configurations_in(study_slugs: Collection[str]) -> dict[int, ConfigurationFacts]:
    """Every configuration of these studies, or of all studies. One query."""
    # Not asked of each configuration: with thousands of them in one study that is a long question.
    series = Series.objects.order_by()
    wanted = FilesystemConfiguration.objects.order_by()
    if study_slugs:
        series = series.filter(study__slug__in=list(study_slugs))
        wanted = wanted.filter(pk__in=series.values("configuration"))
    emulated = series.filter(**_IS_EMULATED).values("configuration")
    rows = wanted.annotate(is_emulated=Q(pk__in=emulated)).values_list(
        *_OF_CONFIGURATION.values(), "is_emulated"
    )
    names = (*_OF_CONFIGURATION, "is_emulated")
    found = (ConfigurationFacts(**dict(zip(names, row, strict=True))) for row in rows)
    return {facts.configuration_id: facts for facts in found}


def emulated_in(study_slugs: Collection[str]) -> frozenset[int]:
    """Every emulated series of these studies, or of all where none is named. One query."""
    series = Series.objects.filter(**_IS_EMULATED).order_by()
    if study_slugs:
        series = series.filter(study__slug__in=list(study_slugs))
    return frozenset(series.values_list("pk", flat=True))


def series_facts(
    ids: Collection[int] | None, study_slugs: Collection[str]
) -> dict[int, SeriesFacts]:
    """The facts of these series, or of all in the studies (None, or above MOST_LISTED)."""
    wanted = Series.objects.order_by()
    if ids is not None and len(ids) <= MOST_LISTED:
        wanted = wanted.filter(pk__in=ids)
    elif study_slugs:
        wanted = wanted.filter(study__slug__in=list(study_slugs))
    columns = ("lun_id", "journal_lun_id", "preparation", "machine", *_OF_SERIES.values())
    rows = list(wanted.values_list(*columns))
    names = _luns_on_workers({pk for row in rows for pk in row[:2] if pk is not None})
    by_series = {}
    for lun, journal_lun, prepared, stored, *of_series in rows:
        machine = Machine.of(stored)
        facts: dict[str, Any] = dict(zip(_OF_SERIES, of_series, strict=True))
        by_series[facts["series_id"]] = SeriesFacts(
            **facts,
            lun=names.get(lun),
            journal_lun=names.get(journal_lun),
            preparation=preparation.in_words(prepared) if prepared else "",
            machine=machine.words,
            guest_kernel=machine.kernel,
            is_emulated=machine.is_emulated,
        )
    return by_series


_ROW = (
    *("series_id", "selection", "test", "category", "value", "unit", "repeats", "cells"),
    *("cells_expected", "origin", "published", "half_width", "half_width_percent", "left_out"),
    *("summed_unit", "flags", "interval", "run_ids", "repeat_scores", "share"),
)


def rows_of(series: Mapping[int, SeriesFacts], score_ids: Collection[int]) -> dict[int, ScoreRow]:
    """The whole rows of the scores, by score. One query a MOST_LISTED."""
    rows = {}
    wanted = sorted(score_ids)
    for start in range(0, len(wanted), MOST_LISTED):
        scores = Score.selections.filter(pk__in=wanted[start : start + MOST_LISTED])
        for score_id, *columns in scores.values_list("pk", *_ROW):
            rows[score_id] = _row(series, dict(zip(_ROW, columns, strict=True)))
    return rows


def _row(series_by_id: Mapping[int, SeriesFacts], score: dict[str, Any]) -> ScoreRow:
    series = series_by_id[score.pop("series_id")]
    flags, cells, expected = score["flags"], score["cells"], score["cells_expected"]
    # Of a selection fewer cells are what was asked for; left_out counts them.
    is_whole = score.pop("selection") == Selection.ALL.value
    if is_whole and None not in (cells, expected) and cells < expected and PARTIAL not in flags:
        flags = [*flags, PARTIAL]
    if series.is_emulated:
        flags = [*flags, EMULATED]
    interval, share, repeats = score["interval"], score["share"], score["repeat_scores"]
    score |= {
        "flags": tuple(flags),
        "interval": Interval.from_dict(interval) if interval else None,
        "run_ids": tuple(score["run_ids"] or ()),
        "repeat_scores": repeats and tuple((block, value) for block, value in repeats),
        "share": Share.from_dict(share) if share else None,
    }
    return ScoreRow(**vars(series), **score)


def _luns_on_workers(ids: Collection[int]) -> dict[int, str | None]:
    """LUNs in words, by key. One query; none without any."""
    rows = Lun.objects.filter(pk__in=ids).values_list("pk", "name", "worker__name") if ids else ()
    return {pk: on_worker(name, worker) for pk, name, worker in rows}


def on_worker(lun: str | None, worker: str | None) -> str | None:
    """A LUN in words; None where there is none."""
    return f"{lun} on {worker}" if lun else None


# The best score of each contender, chosen where scores are stored: what is read grows with what is
# shown and not with what there is.

CONFIGURATION = "series__configuration_id"
SERIES = "series_id"


# The scores are reduced twice, to each configuration and then to each contender, so that counting
# configurations takes no sorting. Which direction is better is not known here: both ends are kept.
# Scores are then looked for in the few configurations that have an end, not in all: these are
# materialized, as a planner that has no statistics of them would compare each score with every best
# one. All scores are not: written down to be read twice, 105,000 of them took 1.6 times as long.
_LEADERS = """
WITH scored(score_id, series_id, test, category, unit, value, is_printed, configuration, member)
    AS NOT MATERIALIZED ({scores}),
contender(member, number) AS (VALUES {members}),
fine AS (
    SELECT test, category, unit, configuration, member, MAX(value) AS high, MIN(value) AS low
    FROM scored GROUP BY test, category, unit, configuration, member
),
best AS (
    SELECT test, category, unit, number, MAX(high) AS high, MIN(low) AS low,
        COUNT({configurations}) AS configurations
    FROM fine JOIN contender ON contender.member = fine.member
    GROUP BY test, category, unit, number
),
first AS MATERIALIZED (
    SELECT fine.test, fine.category, fine.unit, fine.configuration, fine.member, best.high,
        best.low, best.configurations
    FROM fine
    JOIN contender ON contender.member = fine.member
    JOIN best ON best.test = fine.test AND best.category = fine.category
        AND best.unit = fine.unit AND best.number = contender.number
    WHERE fine.high = best.high OR fine.low = best.low
)
SELECT scored.score_id, scored.series_id, scored.test, scored.category, scored.unit, scored.value,
    scored.is_printed, first.configurations
FROM first
JOIN scored ON scored.member = first.member AND scored.configuration = first.configuration
    AND scored.test = first.test AND scored.category = first.category AND scored.unit = first.unit
WHERE scored.value = first.high OR scored.value = first.low
ORDER BY scored.score_id
"""


def best_candidates(
    scores: QuerySet[Score], contenders: Mapping[int, str], by: str
) -> list[Candidate]:
    """The highest and the lowest scores of each contender in each table, with ties. At most one
    query.

    A table is a test, category and unit. ``contenders``: names by configuration or series, as
    ``by`` says (CONFIGURATION, SERIES); others do not compete.
    """
    if not contenders:
        return []
    numbers: dict[str, int] = {}
    members = ", ".join(
        f"({int(member)}, {numbers.setdefault(name, len(numbers))})"
        for member, name in contenders.items()
    )
    chosen = (
        scores.order_by()
        .annotate(
            is_printed=Q(published__isnull=False),
            printed_unit=PRINTED_UNIT,
            configuration=F(CONFIGURATION),
            member=F(by),
        )
        .values_list(
            *("pk", "series_id", "test", "category", "printed_unit", "value"),
            *("is_printed", "configuration", "member"),
        )
    )
    try:
        inner, parameters = chosen.query.sql_with_params()
    except EmptyResultSet:  # its filters let none pass
        return []
    statement = _LEADERS.format(
        scores=inner,
        members=members,
        configurations="*" if by == CONFIGURATION else "DISTINCT configuration",
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    # SQLite has no booleans.
    return [
        Candidate._make((*rest, bool(is_printed), configurations))
        for *rest, is_printed, configurations in rows
    ]


def configurations_of_each(
    scores: QuerySet[Score],
    contenders: Mapping[int, str],
    by: str,
    tables: Collection[tuple[str, str]],
) -> dict[tuple[str, str, str], int]:
    """How many configurations each contender has in these tests and categories. One query."""
    wanted = scores.order_by().filter(
        test__in={test for test, _ in tables}, category__in={slug for _, slug in tables}
    )
    configurations: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for test, slug, member, configuration in wanted.values_list(
        *("test", "category"), F(by), F(CONFIGURATION)
    ).distinct():
        if member in contenders:
            configurations[test, slug, contenders[member]].add(configuration)
    return {key: len(ids) for key, ids in configurations.items()}


def workload_of_all(
    scores: QuerySet[Score], contenders: Mapping[int, str], by: str, tests: Collection[str]
) -> dict[str, str]:
    """The workload of each test that all its contenders have, with the most repeats of each."""
    repeats: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    wanted = scores.order_by().filter(test__in=list(tests))
    for test, member, workload, count in wanted.values_list(
        *("test", F(by), "series__workload__slug")
    ).annotate(Max("repeats")):
        if member in contenders:
            of_workload = repeats[test][workload or ""]
            name = contenders[member]
            of_workload[name] = max(count or 0, of_workload.get(name, 0))
    chosen = {}
    for test, by_workload in repeats.items():
        everyone = {name for names in by_workload.values() for name in names}
        of_all = [
            (-min(counts.values()), workload)
            for workload, counts in by_workload.items()
            if workload and counts.keys() == everyone
        ]
        if of_all:
            chosen[test] = min(of_all)[1]
    return chosen


@dataclass(frozen=True)
class PrintedScore:
    """A score with a print of a paper, and its study."""

    score_id: int
    series_id: int
    study: str
    test: str
    category: str
    unit: str


def printed_in(scores: QuerySet[Score]) -> list[PrintedScore]:
    """Those of the scores with a print of a paper. One query."""
    columns = ("pk", "series_id", "series__study__slug", "test", "category")
    rows = scores.filter(published__isnull=False).order_by("pk").values_list(*columns, PRINTED_UNIT)
    return [PrintedScore(*row) for row in rows]
