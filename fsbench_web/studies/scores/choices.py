"""What there is to choose from where scores are compared."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import (
    Case,
    Exists,
    Max,
    Min,
    OuterRef,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import (
    FilesystemConfiguration,
    HardwareProfile,
    Lun,
    Worker,
    Workload,
)
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.scores.queries import on_worker
from fsbench_web.studies.scores.source_runs import MOST_LISTED


@dataclass(frozen=True)
class ScoreChoices:
    """What there is to choose from: studies as (slug, title) in the studies' order, and names.

    What series are told apart by is as it is stored: ``schedulers`` and ``journals`` with whether
    the configuration is known, so are ``option_sets`` (with the file system; mkfs and mount options
    by key, those of a configuration together), ``luns``, ``preparations`` and ``machines`` in
    words, "" where nobody said. ``tables`` is in how many tests and categories anything has scores.
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
    option_sets: tuple[tuple[str, bool, tuple[tuple[str, str], ...]], ...] = ()
    preparations: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    has_emulated: bool = False
    tables: int = 0


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


def _is_plain() -> bool:
    """Whether statements written here may be asked. SQLite has no LATERAL, and reads its index in
    one go; where a study is hidden from who asks, the names of its tests are too, and they know
    nothing of that.
    """
    return connection.vendor == "postgresql" and not hidden_studies()


def _distinct_pairs() -> list[tuple[str, str]]:
    """Every (test, category) that any score has. One query."""
    if not _is_plain():
        return list(Score.objects.order_by().values_list("test", "category").distinct())
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Score._meta.db_table)
        cursor.execute(_PAIRS.format(table=table))
        return [(test, category) for test, category in cursor.fetchall()]


def count_tables(limit: int) -> int:
    """How many tests in how many categories any scores have, at most ``limit``. One query."""
    if not _is_plain():
        return Score.objects.order_by().values("test", "category").distinct()[:limit].count()
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Score._meta.db_table)
        cursor.execute(_PAIRS.format(table=table) + " LIMIT %s", [limit])
        return len(cursor.fetchall())


def score_choices(studies: Collection[str] = ()) -> ScoreChoices:
    """Everything that any score of ``studies`` belongs to, and every study; of none: of any study.

    Three queries for some studies, five or four for all. Studies with more than MOST_LISTED
    different series have the choices of all studies.
    """
    titles = tuple(Study.objects.values_list("slug", "title").order_by("-is_published", "title"))
    series = _series_of(studies) if studies else None
    if series is None:
        pairs = _distinct_pairs()
        configurations = _Columns(_CONFIGURATION, _configurations())
        circumstances = _Columns(_CIRCUMSTANCES, _circumstances())
    else:
        scores = Score.objects.filter(series__study__slug__in=list(studies)).order_by()
        pairs = list(scores.values_list("test", "category").distinct())
        width = len(_CONFIGURATION)
        configurations = _Columns(_CONFIGURATION, (row[:width] for row in series))
        circumstances = _Columns(_CIRCUMSTANCES, (row[width:] for row in series))
    option_sets = {
        (
            filesystem,
            is_known,
            tuple(sorted((key, str(sentence)) for key, sentence in options.items())),
        )
        for filesystem, is_known, options in configurations.pairs(
            "filesystem", "is_known", "options"
        )
    }
    prepared = {
        preparation.in_words(json.loads(text)) for text in circumstances.distinct("prepared")
    }
    machines = [Machine.of(json.loads(text)) for text in circumstances.distinct("machine_text")]
    workloads = circumstances.distinct("workload__slug", "workload__title")
    hardware = circumstances.distinct("hardware__slug", "hardware__name")
    luns = circumstances.distinct("lun__name", "lun__worker__name")
    return ScoreChoices(
        studies=titles,
        tests=tuple(sorted({test for test, _ in pairs})),
        categories=tuple(sorted({category for _, category in pairs})),
        filesystems=tuple(sorted(configurations.distinct("filesystem"))),
        workloads=tuple(sorted(pair for pair in workloads if pair[0])),
        hardware=tuple(sorted(pair for pair in hardware if pair[0])),
        configurations=tuple(sorted(configurations.distinct("label"))),
        kernels=tuple(sorted(circumstances.distinct("kernel"))),
        distributions=tuple(sorted(circumstances.distinct("distribution"))),
        luns=tuple(sorted(on_worker(*pair) or "" for pair in luns)),
        schedulers=tuple(sorted(configurations.distinct("scheduler", "is_known"))),
        journals=tuple(sorted(configurations.distinct("external_journal", "is_known"))),
        option_sets=tuple(sorted(option_sets)),
        preparations=tuple(sorted(prepared)),
        machines=tuple(sorted({machine.words for machine in machines})),
        has_emulated=any(machine.is_emulated for machine in machines),
        tables=len(pairs),
    )


class _Columns:
    """Some columns of rows, read at once."""

    def __init__(self, names: Sequence[str], rows: Iterable[tuple[Any, ...]]):
        self._columns = dict(zip(names, zip(*rows, strict=True), strict=False))

    def distinct(self, *names: str) -> set[Any]:
        """The different values of a column, or of several together."""
        return set(self._columns.get(names[0], ())) if len(names) == 1 else set(self.pairs(*names))

    def pairs(self, *names: str) -> Iterable[tuple[Any, ...]]:
        """The values of several columns, row by row."""
        return zip(*(self._columns.get(name, ()) for name in names), strict=True)


def _scored() -> QuerySet[Series]:
    return Series.objects.filter(Exists(Score.objects.filter(series=OuterRef("pk"))))


def _tables() -> dict[str, str]:
    """The tables' names, quoted."""
    models = (FilesystemConfiguration, Series, Score, Workload, HardwareProfile, Lun, Worker)
    return {
        model._meta.model_name or "": connection.ops.quote_name(model._meta.db_table)
        for model in models
    }


_CONFIGURATION = ("filesystem", "label", "scheduler", "external_journal", "is_known", "options")
# To have Django write this and what follows took a millisecond of a page each.
_CONFIGURATIONS = """
SELECT filesystem, label, scheduler, external_journal, is_known, options
FROM {filesystemconfiguration} AS configuration
WHERE EXISTS (
    SELECT 1 FROM {series} AS series WHERE series.configuration_id = configuration.id
        AND EXISTS (SELECT 1 FROM {score} AS score WHERE score.series_id = series.id)
)
"""


def _configurations() -> Iterable[tuple[Any, ...]]:
    """Every configuration of which anything has scores. One query."""
    if not _is_plain():
        of_any = Exists(_scored().filter(configuration=OuterRef("pk")))
        configurations = FilesystemConfiguration.objects.filter(of_any).order_by()
        return list(configurations.values_list(*_CONFIGURATION))
    with connection.cursor() as cursor:
        cursor.execute(_CONFIGURATIONS.format(**_tables()))
        return [(*rest, json.loads(options)) for *rest, options in cursor.fetchall()]


_CIRCUMSTANCES = (
    *("workload__slug", "workload__title", "hardware__slug", "hardware__name"),
    *("lun__name", "lun__worker__name", "kernel", "distribution", "prepared", "machine_text"),
)

_KEYS = ("workload", "hardware", "lun")


def _text(column: str) -> Case:
    """As text: a database compares no JSON. Nearly all are empty, and need not be written out."""
    empty = When(**{column: {}}, then=Value("{}"))
    return Case(empty, default=Cast(column, TextField()), output_field=TextField())


_AS_TEXT = {"prepared": _text("preparation"), "machine_text": _text("machine")}


# The same jumps in the index of migration 0043, whose expressions these are. What series of a group
# are measured with is the same: that of the oldest is read, if it or the newest has scores.
_ALIKE = """
WITH RECURSIVE alike(kernel, distribution, workload, hardware, lun, prepared, ran_in, oldest) AS (
    (SELECT {columns}, id FROM {table} ORDER BY {columns}, id LIMIT 1)
    UNION ALL
    SELECT following.* FROM alike, LATERAL (
        SELECT {columns}, id FROM {table}
        WHERE ({columns}) > (alike.kernel, alike.distribution, alike.workload, alike.hardware,
            alike.lun, alike.prepared, alike.ran_in)
        ORDER BY {columns}, id LIMIT 1
    ) AS following
)
SELECT workload.slug, workload.title, hardware.slug, hardware.name, lun.name, worker.name,
    one.kernel, one.distribution, one.preparation::text, one.machine::text,
    EXISTS (SELECT 1 FROM {score} AS score WHERE score.series_id = oldest)
    OR EXISTS (SELECT 1 FROM {score} AS score WHERE score.series_id = (
        SELECT id FROM {table}
        WHERE ({columns}) = (alike.kernel, alike.distribution, alike.workload, alike.hardware,
            alike.lun, alike.prepared, alike.ran_in)
        ORDER BY {descending}, id DESC LIMIT 1
    ))
FROM alike JOIN {table} AS one ON one.id = oldest
LEFT JOIN {workload} AS workload ON workload.id = one.workload_id
LEFT JOIN {hardwareprofile} AS hardware ON hardware.id = one.hardware_id
LEFT JOIN {lun} AS lun ON lun.id = one.lun_id
LEFT JOIN {worker} AS worker ON worker.id = lun.worker_id
"""
_ALIKE_COLUMNS = (
    *("kernel", "distribution", "COALESCE(workload_id, 0)", "COALESCE(hardware_id, 0)"),
    *("COALESCE(lun_id, 0)", "md5(preparation::text)", "md5(machine::text)"),
)


def _series_of(studies: Collection[str]) -> list[tuple[Any, ...]] | None:
    """Configuration and circumstances of the series of some studies; None of very many.

    One query. Each is (*_CONFIGURATION, *_CIRCUMSTANCES), once.
    """
    scored = _scored().order_by().annotate(**_AS_TEXT).filter(study__slug__in=list(studies))
    columns = (*(f"configuration__{name}" for name in _CONFIGURATION), *_CIRCUMSTANCES)
    rows = list(scored.values_list(*columns).distinct()[: MOST_LISTED + 1])
    return rows if len(rows) <= MOST_LISTED else None


def _grouped_circumstances() -> list[tuple[str, tuple[Any, ...] | None]]:
    """The kernel of each group of series with alike circumstances, and these; None of a group whose
    oldest and newest series have no scores. One query, or two.
    """
    if not _is_plain():
        series = Series.objects.order_by().annotate(**_AS_TEXT)
        groups = series.values("kernel", *_KEYS, *_CIRCUMSTANCES[7:])
        ends = groups.annotate(oldest=Min("pk"), newest=Max("pk"))
        return _known_circumstances(list(ends.values_list("kernel", "oldest", "newest")))
    tables = _tables()
    statement = _ALIKE.format(
        **tables,
        table=tables["series"],
        columns=", ".join(_ALIKE_COLUMNS),
        descending=", ".join(f"{column} DESC" for column in _ALIKE_COLUMNS),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [(row[6], row if is_scored else None) for *row, is_scored in cursor.fetchall()]


def _known_circumstances(
    groups: Collection[tuple[str, int, int]],
) -> list[tuple[str, tuple[Any, ...] | None]]:
    """The same of (kernel, oldest, newest) of each group. One query; none of very many groups."""
    ends = {pk for _, *keys in groups for pk in keys}
    by_series: dict[int, tuple[Any, ...]] = {}
    if len(ends) <= MOST_LISTED:
        series = _scored().order_by().annotate(**_AS_TEXT).filter(pk__in=ends)
        by_series = {row[0]: row[1:] for row in series.values_list("pk", *_CIRCUMSTANCES)}
    return [
        (kernel, by_series.get(oldest) or by_series.get(newest))
        for kernel, oldest, newest in groups
    ]


def _circumstances() -> list[tuple[Any, ...]]:
    """What series are measured with, of those that have scores. Two queries, or one.

    Whether each of thousands of series has scores is a long question. Of each group of alike
    series the oldest and the newest are asked, and all with its kernel only where neither has any.
    """
    groups = _grouped_circumstances()
    rows = [row for _, row in groups if row is not None]
    unsure_kernels = {kernel for kernel, row in groups if row is None}
    if unsure_kernels:
        # Jobs that wait, or failed: a kernel of which nothing was measured is no choice.
        rest = _scored().order_by().annotate(**_AS_TEXT).values_list(*_CIRCUMSTANCES)
        rows += (rest.filter(kernel__in=unsure_kernels) if rows else rest).distinct()
    return rows
