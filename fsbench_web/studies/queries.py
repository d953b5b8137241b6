"""How everything else reads scores: plain rows, in a constant number of queries."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog import preparation
from fsbench_web.catalog.machines import Machine
from fsbench_web.catalog.models import Environment
from fsbench_web.scoring.confidence import Interval
from fsbench_web.studies.models import Run, RunState, Score, Selection, Series, Study

PARTIAL = "partial"
"""The score is made of fewer cells than its region has in the workload's full matrix."""
EMULATED = "emulated"
"""It was measured in a guest that was emulated: for function, not for speed."""


@dataclass(frozen=True, kw_only=True)
class SeriesFacts:
    """What a score says of its series: the same for dozens of scores, and read once.

    ``preparation`` says in words what was done to the LUN before each run beyond a new file system.
    ``machine`` is a guest in words, "" for the worker's own executor, and ``guest_kernel`` the name
    of its kernel. ``options`` are mkfs and mount options by key (catalog.filesystems), empty where
    the configuration is not known.
    """

    study: str
    study_title: str
    series_id: int
    configuration: str
    configuration_id: int
    configuration_is_known: bool
    filesystem: str
    workload: str | None
    workload_title: str | None
    hardware: str | None
    hardware_name: str | None
    lun: str | None
    kernel: str
    distribution: str
    preparation: str = ""
    machine: str = ""
    guest_kernel: str = ""
    is_emulated: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    scheduler: str = ""
    external_journal: bool = False
    journal_lun: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreRow(SeriesFacts):
    """One score with all that says what it is a score of.

    ``repeats``, ``cells`` and ``cells_expected`` are None where nobody said how many. ``published``
    is what a paper printed beside it, as text (see Score). ``half_width`` is of the 95% interval of
    the repeats' own scores, in unit and in percent of their mean; ``interval`` is the same with
    what it is of, or that of the samples of a single run. ``run_ids`` are the finished runs of the
    series, oldest first; a published score has none. ``left_out`` is how many cells a selection is
    without, and why (see Score); None where nothing was left out.
    """

    test: str
    category: str
    value: float
    unit: str
    repeats: int | None
    cells: int | None
    cells_expected: int | None
    origin: str
    published: Mapping[str, Any] | None = None
    half_width: float | None = None
    half_width_percent: float | None = None
    interval: Interval | None = None
    flags: tuple[str, ...] = ()
    run_ids: tuple[int, ...] = field(default=())
    left_out: Mapping[str, Any] | None = None


_OF_SERIES = {
    "study": "study__slug",
    "study_title": "study__title",
    "series_id": "pk",
    "configuration": "configuration__label",
    "configuration_id": "configuration_id",
    "configuration_is_known": "configuration__is_known",
    "options": "configuration__options",
    "scheduler": "configuration__scheduler",
    "external_journal": "configuration__external_journal",
    "filesystem": "configuration__filesystem",
    "workload": "workload__slug",
    "workload_title": "workload__title",
    "hardware": "hardware__slug",
    "hardware_name": "hardware__name",
    "kernel": "kernel",
    "distribution": "distribution",
}
_OF_SCORE = (
    *("test", "category", "value", "unit", "repeats", "cells", "cells_expected", "origin"),
    *("published", "half_width", "half_width_percent", "left_out"),
)
_ROW = ("series_id", "flags", "selection", "interval", *_OF_SCORE)
_BRIEF = ("pk", "series_id", "test", "category", "unit", "value", "repeats")
_LUN = ("lun__name", "lun__worker__name")
_JOURNAL_LUN = ("journal_lun__name", "journal_lun__worker__name")


def scores_for(
    study_slugs: Collection[str] = (),
    tests: Collection[str] = (),
    categories: Collection[str] = (),
    filesystems: Collection[str] = (),
    workloads: Collection[str] = (),
    hardware: Collection[str] = (),
    selection: str = Selection.ALL,
    with_runs: bool = True,
) -> list[ScoreRow]:
    """The scores that match every filter, in the order they were made; an empty filter takes all.

    ``selection`` says of which cells: a series of which it leaves nothing has no score there.
    Three queries: the scores, their series, and the finished runs behind them; without
    ``with_runs`` two, and no row names its runs.
    """
    filters = {
        "series__study__slug__in": study_slugs,
        "test__in": tests,
        "category__in": categories,
        "series__configuration__filesystem__in": filesystems,
        "series__workload__slug__in": workloads,
        "series__hardware__slug__in": hardware,
    }
    wanted = Score.selections.filter(
        selection=selection,
        **{name: list(values) for name, values in filters.items() if values},
    )
    runs = finished_runs(study_slugs) if with_runs else {}
    found = list(wanted.order_by("id").values_list(*_ROW))
    series = _series({row[0] for row in found}, study_slugs)
    return [_row(series[row[0]], row, runs.get(row[0], ())) for row in found]


class Candidate(NamedTuple):
    """As much of a score as it takes to choose which are shown. ``is_printed``: of a paper."""

    score_id: int
    series_id: int
    test: str
    category: str
    unit: str
    value: float
    repeats: int | None
    is_printed: bool


@dataclass(frozen=True)
class Candidates:
    """The scores of a comparison, and what is known of their series."""

    scores: Sequence[Candidate]
    series: Mapping[int, SeriesFacts]


def candidates_for(
    study_slugs: Collection[str] = (),
    tests: Collection[str] = (),
    categories: Collection[str] = (),
    selection: str = Selection.ALL,
) -> Candidates:
    """The scores that ``scores_for`` gives, in brief and in its order. Two queries.

    A comparison shows a few of them: the others are never decoded (``rows_of``).
    """
    filters = {
        "series__study__slug__in": study_slugs,
        "test__in": tests,
        "category__in": categories,
    }
    found = (
        Score.selections.filter(
            selection=selection,
            **{name: list(values) for name, values in filters.items() if values},
        )
        .order_by("id")
        .annotate(is_printed=Q(published__isnull=False))
        .values_list(*_BRIEF, "is_printed")
    )
    scores = list(map(Candidate._make, found))
    return Candidates(scores, _series({score.series_id for score in scores}, study_slugs))


def rows_of(found: Candidates, score_ids: Collection[int]) -> dict[int, ScoreRow]:
    """The whole rows of some of the candidates, by score, without their runs.

    One query; one for each MOST_LISTED scores where they are more.
    """
    wanted = sorted(score_ids)
    rows = {}
    for start in range(0, len(wanted), MOST_LISTED):
        part = Score.selections.filter(pk__in=wanted[start : start + MOST_LISTED])
        for score_id, *row in part.values_list("pk", *_ROW):
            rows[score_id] = _row(found.series[row[0]], row, ())
    return rows


MOST_LISTED = 900
"""Above this many series, runs are read by study and not by a list of series."""


def finished_runs(
    study_slugs: Collection[str] = (), series_ids: Collection[int] | None = None
) -> dict[int, tuple[int, ...]]:
    """The finished runs by series, oldest first. One query.

    ``series_ids`` limits them to these series, all of which are of the studies. Above MOST_LISTED
    it is no limit, and more may come.
    """
    runs = _finished(study_slugs)
    if series_ids is not None and len(series_ids) <= MOST_LISTED:
        runs = runs.filter(series__in=series_ids)
    found: dict[int, list[int]] = defaultdict(list)
    for series_id, run_id in runs.order_by("id").values_list("series_id", "id"):
        found[series_id].append(run_id)
    return {series_id: tuple(ids) for series_id, ids in found.items()}


def finished_run_counts(study_slugs: Collection[str] = ()) -> dict[int, int]:
    """How many finished runs each series has; one without any is not in it. One query."""
    rows = _finished(study_slugs).order_by().values_list("series_id").annotate(Count("id"))
    return dict(rows)


def environments_of(
    series_ids: Collection[int],
) -> dict[int, dict[str, dict[str, frozenset[str]]]]:
    """What the environments of the finished runs say, {series: {section: {label: values}}}.

    Several values are of several runs. A series whose runs have no environment is not in it; of
    more than MOST_LISTED series nothing is read. Two queries.
    """
    if len(series_ids) > MOST_LISTED:
        return {}
    pairs = list(
        Run.objects.filter(
            state=RunState.DONE, series__in=list(series_ids), environment__isnull=False
        )
        .order_by()
        .values_list("series_id", "environment_id")
        .distinct()
    )
    facts = dict(
        Environment.objects.filter(pk__in={pk for _, pk in pairs}).values_list("pk", "facts")
    )
    found: dict[int, dict[str, dict[str, set[str]]]] = {}
    for series_id, environment_id in sorted(pairs):
        of_series = found.setdefault(series_id, {})
        for section, rows in facts[environment_id].items():
            for label, value in rows:
                of_series.setdefault(section, {}).setdefault(label, set()).add(value)
    return {
        series_id: {
            section: {label: frozenset(values) for label, values in rows.items()}
            for section, rows in of_series.items()
        }
        for series_id, of_series in found.items()
    }


def _finished(study_slugs: Collection[str]) -> QuerySet[Run]:
    runs = Run.objects.filter(state=RunState.DONE)
    return runs.filter(series__study__slug__in=list(study_slugs)) if study_slugs else runs


def _series(ids: Collection[int], study_slugs: Collection[str]) -> dict[int, SeriesFacts]:
    """What a ScoreRow says of its series, by series. One query."""
    wanted = Series.objects.order_by()
    if len(ids) <= MOST_LISTED:
        wanted = wanted.filter(pk__in=ids)
    elif study_slugs:
        wanted = wanted.filter(study__slug__in=list(study_slugs))
    columns = (*_OF_SERIES.values(), *_LUN, *_JOURNAL_LUN, "preparation", "machine")
    found = {}
    for values in wanted.values_list(*columns):
        *said, lun, worker, journal_lun, journal_worker, prepared, stored = values
        machine = Machine.of(stored)
        known: dict[str, Any] = dict(zip(_OF_SERIES, said, strict=True))
        found[known["series_id"]] = SeriesFacts(
            **known,
            lun=_on_worker(lun, worker),
            journal_lun=_on_worker(journal_lun, journal_worker),
            preparation=preparation.in_words(prepared) if prepared else "",
            machine=machine.words,
            guest_kernel=machine.kernel,
            is_emulated=machine.is_emulated,
        )
    return found


def _row(series: SeriesFacts, values: Sequence[Any], runs: tuple[int, ...]) -> ScoreRow:
    """``values`` are the columns of ``_ROW``."""
    _, flags, selection, interval, *rest = values
    score = dict(zip(_OF_SCORE, rest, strict=True))
    cells, expected = score["cells"], score["cells_expected"]
    # Of a selection fewer cells are what was asked for; left_out counts them.
    is_whole = selection == Selection.ALL
    if is_whole and None not in (cells, expected) and cells < expected and PARTIAL not in flags:
        flags = [*flags, PARTIAL]
    if series.is_emulated:
        flags = [*flags, EMULATED]
    # Comparisons make thousands, and setting 35 fields of a frozen class one by one takes ten
    # times as long. A key that is no field would be as much of a mistake here as there.
    row = object.__new__(ScoreRow)
    row.__dict__.update(
        series.__dict__,
        interval=Interval.from_dict(interval) if interval else None,
        flags=tuple(flags),
        run_ids=runs,
        **score,
    )
    return row


def _on_worker(lun: str | None, worker: str | None) -> str | None:
    return f"{lun} on {worker}" if lun else None


@dataclass(frozen=True)
class ScoreChoices:
    """What there is to choose from: studies as (slug, title) in the studies' order, and names.

    What series are told apart by is as it is stored: ``schedulers`` and ``journals`` with whether
    the configuration is known, ``luns``, ``preparations`` and ``machines`` in words, "" where
    nobody said.
    """

    studies: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    categories: tuple[str, ...]
    filesystems: tuple[str, ...]
    workloads: tuple[tuple[str, str], ...]
    hardware: tuple[tuple[str, str], ...]
    configurations: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    luns: tuple[str, ...] = ()
    schedulers: tuple[tuple[str, bool], ...] = ()
    journals: tuple[tuple[bool, bool], ...] = ()
    preparations: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    has_emulated: bool = False


_CHOICES = {
    "filesystem": "configuration__filesystem",
    "workload": "workload__slug",
    "workload_title": "workload__title",
    "hardware": "hardware__slug",
    "hardware_name": "hardware__name",
    "configuration": "configuration__label",
    "kernel": "kernel",
    "distribution": "distribution",
    "lun": "lun__name",
    "worker": "lun__worker__name",
    "scheduler": "configuration__scheduler",
    "is_external": "configuration__external_journal",
    "is_known": "configuration__is_known",
    "preparation": "prepared",
    "machine": "machine_text",
}


# Distinct pairs by jumping from one to the next in the index (a "loose index scan", which neither
# database does by itself): the work grows with the pairs and not with the scores.
_PAIRS = """
WITH RECURSIVE pair(test, category) AS (
    (SELECT test, category FROM {table} ORDER BY test, category LIMIT 1)
    UNION ALL
    SELECT following.test, following.category FROM pair, LATERAL (
        SELECT test, category FROM {table}
        WHERE (test, category) > (pair.test, pair.category)
        ORDER BY test, category LIMIT 1
    ) AS following
)
SELECT test, category FROM pair
"""


def _distinct_pairs() -> list[tuple[str, str]]:
    """Every (test, category) that any score has. One query."""
    if connection.vendor != "postgresql" or hidden_studies():
        # SQLite has no LATERAL, and reads its index in one go. Where a study is hidden from who
        # asks, the names of its tests are too, and this statement knows nothing of that.
        return list(Score.objects.order_by().values_list("test", "category").distinct())
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Score._meta.db_table)
        cursor.execute(_PAIRS.format(table=table))
        return [(test, category) for test, category in cursor.fetchall()]


def score_choices() -> ScoreChoices:
    """Everything that any score belongs to, and every study. Three queries."""
    studies = tuple(Study.objects.values_list("slug", "title").order_by("-is_published", "title"))
    shown = _distinct_pairs()
    series = list(
        Series.objects.filter(Exists(Score.objects.filter(series=OuterRef("pk"))))
        .order_by()
        # As text: nearly all preparations are empty, and decoding thousands takes its time.
        .annotate(
            prepared=Cast("preparation", TextField()), machine_text=Cast("machine", TextField())
        )
        .values_list(*_CHOICES.values())
    )
    found: dict[str, Sequence[Any]] = dict(zip(_CHOICES, zip(*series, strict=True), strict=False))

    def each(*names: str) -> set[Any]:
        columns = [found.get(name, ()) for name in names]
        return set(columns[0]) if len(columns) == 1 else set(zip(*columns, strict=True))

    machines = [Machine.of(json.loads(text)) for text in each("machine")]
    prepared = {preparation.in_words(json.loads(text)) for text in each("preparation")}
    return ScoreChoices(
        studies=studies,
        tests=tuple(sorted({test for test, _ in shown})),
        categories=tuple(sorted({category for _, category in shown})),
        filesystems=tuple(sorted(each("filesystem"))),
        workloads=tuple(sorted(pair for pair in each("workload", "workload_title") if pair[0])),
        hardware=tuple(sorted(pair for pair in each("hardware", "hardware_name") if pair[0])),
        configurations=tuple(sorted(each("configuration"))),
        kernels=tuple(sorted(each("kernel"))),
        distributions=tuple(sorted(each("distribution"))),
        luns=tuple(sorted(_on_worker(*pair) or "" for pair in each("lun", "worker"))),
        schedulers=tuple(sorted(each("scheduler", "is_known"))),
        journals=tuple(sorted(each("is_external", "is_known"))),
        preparations=tuple(sorted(prepared)),
        machines=tuple(sorted({machine.words for machine in machines})),
        has_emulated=any(machine.is_emulated for machine in machines),
    )
