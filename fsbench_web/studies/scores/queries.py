"""How everything else reads scores: plain rows, in a constant number of queries."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.studies.models import COMPUTED, Score, Selection, Series
from fsbench_web.studies.scores.score_filter import ScoreFilter
from fsbench_web.studies.scores.source_runs import MOST_LISTED, finished_runs

PARTIAL = "partial"
"""The score is made of fewer cells than its region has in the workload's full matrix."""
EMULATED = "emulated"
"""It was measured in a guest that was emulated: for function, not for speed."""


RepeatScores = tuple[tuple[str, float | None], ...]
"""(block, "" for none; score of the repeat by itself, None where it has none)."""


@dataclass(kw_only=True)
class ConfigurationFacts:
    """What is said of a configuration.

    ``options`` are mkfs and mount options by key (catalog.configurations.filesystems), empty where
    the configuration is not known. ``is_emulated``: of any series of it, or of this one.
    """

    configuration: str
    configuration_id: int
    configuration_is_known: bool
    filesystem: str
    options: Mapping[str, Any] = field(default_factory=dict)
    scheduler: str = ""
    external_journal: bool = False
    stack: Mapping[str, Any] = field(default_factory=dict)
    is_emulated: bool = False


@dataclass(kw_only=True)
class SeriesFacts(ConfigurationFacts):
    """What a score says of its series: the same for dozens of scores, and read once.

    ``preparation`` says in words what was done to the LUN before each run beyond a new file system.
    ``machine`` is a guest in words, "" for the worker's own executor, and ``guest_kernel`` the name
    of its kernel. ``tool`` is that of the workload; None of a table, which names none.
    """

    study: str
    study_title: str
    series_id: int
    workload: str | None
    workload_title: str | None
    tool: str | None = None
    hardware: str | None
    hardware_name: str | None
    lun: str | None
    kernel: str
    distribution: str
    preparation: str = ""
    machine: str = ""
    guest_kernel: str = ""
    journal_lun: str | None = None
    stack_luns: str = ""


@dataclass(kw_only=True)
class ScoreRow(SeriesFacts):
    """One score with all that says what it is a score of. Not frozen, which is three times as quick
    to make: a page has hundreds.

    ``repeats``, ``cells`` and ``cells_expected`` are None where nobody said how many. ``published``
    is what a paper printed beside it, as text (see Score). ``half_width`` is of the 95% interval of
    the repeats' own scores, in unit and in percent of their mean; ``interval`` is the same with
    what it is of, or that of the samples of a single run. ``run_ids`` are the runs that it is made
    of, oldest first: as many as ``repeats``; a published score has none. ``left_out`` is how many
    cells a selection is without, and why (see Score); None where nothing was left out.
    ``repeat_scores`` are those of each of the runs by itself, None where there are fewer than two
    or nobody kept them. ``share`` is what it is of what its LUN does by itself.
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
    summed_unit: str | None = None
    repeat_scores: RepeatScores | None = None
    share: Share | None = None

    @property
    def printed_unit(self) -> str:
        """What its tool printed: of an overall score, what is summed where that is known."""
        return self.summed_unit or self.unit

    @property
    def lacks_runs(self) -> bool:
        """Whether it was made of runs before scores kept which (``runs_of_old``)."""
        return not self.run_ids and self.origin == COMPUTED


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
    "stack": "configuration__stack",
    "stack_luns": "stack_luns",
    "filesystem": "configuration__filesystem",
    "workload": "workload__slug",
    "workload_title": "workload__title",
    "tool": "workload__tool",
    "hardware": "hardware__slug",
    "hardware_name": "hardware__name",
    "kernel": "kernel",
    "distribution": "distribution",
}
ROW = (
    *("series_id", "flags", "selection", "interval", "run_ids", "repeat_scores", "share"),
    *("test", "category", "value", "unit", "repeats", "cells", "cells_expected", "origin"),
    *("published", "half_width", "half_width_percent", "left_out", "summed_unit"),
)
_JSON = frozenset(
    ("flags", "interval", "run_ids", "repeat_scores", "share", "published", "left_out")
)


def columns_of(scores: QuerySet[Score], *names: str) -> Iterable[tuple[Any, ...]]:
    """The columns called ``names`` of the scores, in their order. One query.

    As ``values_list`` has them: but that decodes each JSON text by itself, of which a page reads
    over a thousand, and here those of a column are decoded at once.
    """
    try:
        statement, parameters = scores.values_list(*names).query.sql_with_params()
    except EmptyResultSet:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        columns = zip(*cursor.fetchall(), strict=True)
    return zip(
        *(
            _decoded(column) if name in _JSON else column
            for name, column in zip(names, columns, strict=False)
        ),
        strict=True,
    )


def _decoded(texts: Sequence[str | None]) -> list[Any]:
    values: list[Any] = json.loads(f"[{','.join(text or 'null' for text in texts)}]")
    return values


def scores_for(score_filter: ScoreFilter) -> list[ScoreRow]:
    """The scores that pass, but for its conditions, in the order they were made.

    Two queries: the scores and their series.
    """
    rows = list(columns_of(score_filter.scores.order_by("id"), *ROW))
    series = series_facts({row[0] for row in rows}, score_filter.studies)
    return [row_of(series[row[0]], row) for row in rows]


def runs_of_old(
    rows: Iterable[ScoreRow], study_slugs: Collection[str] = ()
) -> dict[int, tuple[int, ...]]:
    """Of scores that lack their runs all finished runs of their series, by series.

    One query; none where every score names its runs. A run that did not measure the test is among
    them too: which did is known once the score is made anew (``studies.scores.rejudging``).
    """
    series = {row.series_id for row in rows if row.lacks_runs}
    return finished_runs(study_slugs, series) if series else {}


def series_facts(
    ids: Collection[int] | None, study_slugs: Collection[str]
) -> dict[int, SeriesFacts]:
    """What a ScoreRow says of its series, by series; None for all of the studies. One query, and
    one where any has a LUN: to plan the joins with both LUNs and their workers takes longer.

    More than MOST_LISTED are read with all others of the studies.
    """
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


def row_of(series: SeriesFacts, values: Sequence[Any]) -> ScoreRow:
    """``values`` are the columns of ``ROW``."""
    _, flags, selection, interval, run_ids, repeat_scores, share, *rest = values
    test, category, value, unit, repeats, cells, expected, origin, *others = rest
    published, half_width, half_width_percent, left_out, summed_unit = others
    # Of a selection fewer cells are what was asked for; left_out counts them.
    is_whole = selection == Selection.ALL.value
    if is_whole and None not in (cells, expected) and cells < expected and PARTIAL not in flags:
        flags = [*flags, PARTIAL]
    if series.is_emulated:
        flags = [*flags, EMULATED]
    return ScoreRow(
        **vars(series),
        interval=Interval.from_dict(interval) if interval else None,
        flags=tuple(flags),
        run_ids=tuple(run_ids or ()),
        repeat_scores=repeat_scores and tuple((block, value) for block, value in repeat_scores),
        share=Share.from_dict(share) if share else None,
        test=test,
        category=category,
        value=value,
        unit=unit,
        repeats=repeats,
        cells=cells,
        cells_expected=expected,
        origin=origin,
        published=published,
        half_width=half_width,
        half_width_percent=half_width_percent,
        left_out=left_out,
        summed_unit=summed_unit,
    )


def _luns_on_workers(ids: Collection[int]) -> dict[int, str | None]:
    """LUNs in words, by key. One query; none without any."""
    rows = Lun.objects.filter(pk__in=ids).values_list("pk", "name", "worker__name") if ids else ()
    return {pk: on_worker(name, worker) for pk, name, worker in rows}


def on_worker(lun: str | None, worker: str | None) -> str | None:
    """A LUN in words; None where there is none."""
    return f"{lun} on {worker}" if lun else None
