"""What there is to choose from where scores are compared."""

import json
from collections.abc import Iterable, Sequence
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
from fsbench_web.catalog.models import FilesystemConfiguration
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
    words, "" where nobody said.
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


def count_tables(most: int) -> int:
    """How many tests in how many categories any scores have, at most ``most``. One query."""
    if connection.vendor != "postgresql" or hidden_studies():
        return Score.objects.order_by().values("test", "category").distinct()[:most].count()
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Score._meta.db_table)
        cursor.execute(_PAIRS.format(table=table) + " LIMIT %s", [most])
        return len(cursor.fetchall())


def score_choices() -> ScoreChoices:
    """Everything that any score belongs to, and every study. Five queries.

    None reads all series: there are thousands, and what they belong to is few.
    """
    studies = tuple(Study.objects.values_list("slug", "title").order_by("-is_published", "title"))
    shown = _distinct_pairs()
    scored = Series.objects.filter(Exists(Score.objects.filter(series=OuterRef("pk"))))
    configurations = _Columns(
        ("filesystem", "label", "scheduler", "external_journal", "is_known", "options"),
        FilesystemConfiguration.objects.filter(
            Exists(scored.filter(configuration=OuterRef("pk")))
        ).order_by(),
    )
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
    circumstances = _circumstances(scored)
    prepared = {preparation.in_words(json.loads(text)) for text in circumstances.each("prepared")}
    machines = [Machine.of(json.loads(text)) for text in circumstances.each("machine_text")]
    workloads = circumstances.each("workload__slug", "workload__title")
    hardware = circumstances.each("hardware__slug", "hardware__name")
    luns = circumstances.each("lun__name", "lun__worker__name")
    return ScoreChoices(
        studies=studies,
        tests=tuple(sorted({test for test, _ in shown})),
        categories=tuple(sorted({category for _, category in shown})),
        filesystems=tuple(sorted(configurations.each("filesystem"))),
        workloads=tuple(sorted(pair for pair in workloads if pair[0])),
        hardware=tuple(sorted(pair for pair in hardware if pair[0])),
        configurations=tuple(sorted(configurations.each("label"))),
        kernels=tuple(sorted(circumstances.each("kernel"))),
        distributions=tuple(sorted(circumstances.each("distribution"))),
        luns=tuple(sorted(on_worker(*pair) or "" for pair in luns)),
        schedulers=tuple(sorted(configurations.each("scheduler", "is_known"))),
        journals=tuple(sorted(configurations.each("external_journal", "is_known"))),
        option_sets=tuple(sorted(option_sets)),
        preparations=tuple(sorted(prepared)),
        machines=tuple(sorted({machine.words for machine in machines})),
        has_emulated=any(machine.is_emulated for machine in machines),
    )


class _Columns:
    """Some columns of rows, read at once."""

    def __init__(self, names: Sequence[str], rows: QuerySet[Any] | Iterable[tuple[Any, ...]]):
        read = rows.values_list(*names) if isinstance(rows, QuerySet) else rows
        self._columns = dict(zip(names, zip(*read, strict=True), strict=False))

    def each(self, *names: str) -> set[Any]:
        """The different values of a column, or of several together."""
        return set(self._columns.get(names[0], ())) if len(names) == 1 else set(self.pairs(*names))

    def pairs(self, *names: str) -> Iterable[tuple[Any, ...]]:
        """The values of several columns, row by row."""
        return zip(*(self._columns.get(name, ()) for name in names), strict=True)


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


# The same jumps in the index of migration 0043, whose expressions these are.
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
SELECT alike.kernel, oldest, (
    SELECT id FROM {table}
    WHERE ({columns}) = (alike.kernel, alike.distribution, alike.workload, alike.hardware,
        alike.lun, alike.prepared, alike.ran_in)
    ORDER BY {descending}, id DESC LIMIT 1
) FROM alike
"""
_ALIKE_COLUMNS = (
    *("kernel", "distribution", "COALESCE(workload_id, 0)", "COALESCE(hardware_id, 0)"),
    *("COALESCE(lun_id, 0)", "md5(preparation::text)", "md5(machine::text)"),
)


def _alike() -> list[tuple[str, int, int]]:
    """(kernel, oldest, newest) of each group of series with alike circumstances. One query."""
    if connection.vendor != "postgresql" or hidden_studies():  # as for pairs
        every = Series.objects.order_by().annotate(**_AS_TEXT)
        groups = every.values("kernel", *_KEYS, *_CIRCUMSTANCES[7:])
        ends = groups.annotate(oldest=Min("pk"), newest=Max("pk"))
        return list(ends.values_list("kernel", "oldest", "newest"))
    statement = _ALIKE.format(
        table=connection.ops.quote_name(Series._meta.db_table),
        columns=", ".join(_ALIKE_COLUMNS),
        descending=", ".join(f"{column} DESC" for column in _ALIKE_COLUMNS),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _circumstances(scored: QuerySet[Series]) -> _Columns:
    """What series are measured with, of those that have scores (``scored``). Two queries.

    Whether each of thousands of series has scores is a long question. Of each group of alike
    series the oldest and the newest are asked, and all only where neither has any.
    """
    groups = _alike()
    ends = {pk for _, *both in groups for pk in both}
    asked = scored.order_by().annotate(**_AS_TEXT)
    known: dict[int, tuple[Any, ...]] = {}
    if len(ends) <= MOST_LISTED:
        rows = asked.filter(pk__in=ends).values_list("pk", *_CIRCUMSTANCES)
        known = {row[0]: row[1:] for row in rows}
    found = [known.get(oldest) or known.get(newest) for _, oldest, newest in groups]
    if None in found:
        # Jobs that wait, or failed: a kernel of which nothing was measured is no choice.
        rest = asked.values_list(*_CIRCUMSTANCES)
        if len(ends) <= MOST_LISTED:
            unsure = {group[0] for group, row in zip(groups, found, strict=True) if row is None}
            rest = rest.filter(kernel__in=unsure)
        found += rest.distinct()
    return _Columns(_CIRCUMSTANCES, [row for row in found if row is not None])
