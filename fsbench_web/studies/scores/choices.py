"""What there is to choose from where scores are compared."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Case, Exists, Model, OuterRef, TextField, Value, When
from django.db.models.functions import Cast

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.scores.queries import on_worker
from fsbench_web.studies.scores.source_runs import MOST_LISTED


@dataclass(frozen=True)
class ScoreChoices:
    """What there is to choose from: studies as (slug, title), and names.

    ``schedulers`` and ``journals``: with whether the configuration is known.
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


def _is_plain() -> bool:
    """Whether own statements may be asked: PostgreSQL (LATERAL), and no study is hidden."""
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
    """Everything that any score of ``studies`` (none: of any) belongs to, and every study."""
    titles = tuple(Study.objects.values_list("slug", "title").order_by("-is_published", "title"))
    scores = Score.objects.filter(series__study__slug__in=list(studies)).order_by()
    pairs = set(scores.values_list("test", "category").distinct()) if studies else _distinct_pairs()
    columns = [set(column) for column in zip(*_scored_series(studies), strict=True)]
    keys, texts = columns[: len(_KEYS)], columns[len(_KEYS) :]
    kernels, distributions, prepared, machine_texts = texts or [set()] * 4
    workloads, hardware, luns, configurations = (
        _rows_of(model, ids, names)
        for (model, names), ids in zip(_KEYS.values(), keys or [set()] * 4, strict=True)
    )
    machines = [Machine.of(json.loads(text)) for text in machine_texts]
    return ScoreChoices(
        studies=titles,
        tests=tuple(sorted({test for test, _ in pairs})),
        categories=tuple(sorted({category for _, category in pairs})),
        filesystems=_sorted(row[0] for row in configurations),
        workloads=_sorted(row for row in workloads if row[0]),
        hardware=_sorted(row for row in hardware if row[0]),
        configurations=_sorted(row[1] for row in configurations),
        kernels=_sorted(kernels),
        distributions=_sorted(distributions),
        luns=_sorted(on_worker(*row) or "" for row in luns),
        schedulers=_sorted((row[2], row[4]) for row in configurations),
        journals=_sorted((row[3], row[4]) for row in configurations),
        option_sets=_sorted(
            (row[0], row[4], tuple(sorted((key, str(value)) for key, value in row[5].items())))
            for row in configurations
        ),
        preparations=_sorted(preparation.in_words(json.loads(text)) for text in prepared),
        machines=_sorted(machine.words for machine in machines),
        has_emulated=any(machine.is_emulated for machine in machines),
    )


def _sorted(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


_KEYS: dict[str, tuple[type[Model], tuple[str, ...]]] = {
    "workload_id": (Workload, ("slug", "title")),
    "hardware_id": (HardwareProfile, ("slug", "name")),
    "lun_id": (Lun, ("name", "worker__name")),
    "configuration_id": (
        FilesystemConfiguration,
        ("filesystem", "label", "scheduler", "external_journal", "is_known", "options"),
    ),
}
"""What a series refers to, and the columns of that."""


def _text(column: str) -> Case:
    """As text: a database compares no JSON. Nearly all are empty, and need not be written out."""
    empty = When(**{column: {}}, then=Value("{}"))
    return Case(empty, default=Cast(column, TextField()), output_field=TextField())


def _scored_series(studies: Collection[str]) -> list[tuple[Any, ...]]:
    """_KEYS, kernel, distribution, preparation and machine of scored series, each once."""
    series = Series.objects.order_by().filter(Exists(Score.objects.filter(series=OuterRef("pk"))))
    if studies:
        series = series.filter(study__slug__in=list(studies))
    as_text = {"prepared": _text("preparation"), "machine_text": _text("machine")}
    columns = (*_KEYS, "kernel", "distribution", *as_text)
    return list(series.annotate(**as_text).values_list(*columns).distinct())


def _rows_of(
    model: type[Model], ids: Collection[int | None], names: Collection[str]
) -> list[tuple[Any, ...]]:
    """The columns of the rows with these keys, and empty ones where a key is None. One query."""
    rows = model._default_manager.order_by().values_list("pk", *names)
    if len(ids) <= MOST_LISTED:
        rows = rows.filter(pk__in=[pk for pk in ids if pk is not None])
    found = [tuple(row) for pk, *row in rows if pk in ids]
    return [*found, (None,) * len(names)] if None in ids else found
