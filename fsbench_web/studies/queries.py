"""How everything else reads scores: plain rows, in a constant number of queries."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.catalog import preparation
from fsbench_web.studies.models import Run, RunState, Score, Study

PARTIAL = "partial"
"""The score is made of fewer cells than its region has in the workload's full matrix."""


@dataclass(frozen=True)
class ScoreRow:
    """One score with all that says what it is a score of.

    ``repeats``, ``cells`` and ``cells_expected`` are None where nobody said how many. ``published``
    is what a paper printed beside it, as text (see Score). ``half_width`` is of the 95% interval of
    the repeats' own scores, in unit and in percent of their mean. ``preparation`` says in words
    what was done to the LUN before each run beyond a new file system. ``run_ids`` are the finished
    runs of the series, oldest first; a published score has none.
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
    preparation: str = ""
    flags: tuple[str, ...] = ()
    run_ids: tuple[int, ...] = field(default=())


_COLUMNS = {
    "study": "series__study__slug",
    "study_title": "series__study__title",
    "series_id": "series_id",
    "configuration": "series__configuration__label",
    "configuration_id": "series__configuration_id",
    "configuration_is_known": "series__configuration__is_known",
    "filesystem": "series__configuration__filesystem",
    "workload": "series__workload__slug",
    "workload_title": "series__workload__title",
    "hardware": "series__hardware__slug",
    "hardware_name": "series__hardware__name",
    "kernel": "series__kernel",
    "distribution": "series__distribution",
    "test": "test",
    "category": "category",
    "value": "value",
    "unit": "unit",
    "repeats": "repeats",
    "cells": "cells",
    "cells_expected": "cells_expected",
    "origin": "origin",
    "published": "published",
    "half_width": "half_width",
    "half_width_percent": "half_width_percent",
}
_LUN = ("series__lun__name", "series__lun__worker__name")


def scores_for(
    study_slugs: Collection[str] = (),
    tests: Collection[str] = (),
    categories: Collection[str] = (),
    filesystems: Collection[str] = (),
    workloads: Collection[str] = (),
    hardware: Collection[str] = (),
) -> list[ScoreRow]:
    """The scores that match every filter, in the order they were made; an empty filter takes all.

    Two queries: the scores, and the finished runs behind them.
    """
    filters = {
        "series__study__slug__in": study_slugs,
        "test__in": tests,
        "category__in": categories,
        "series__configuration__filesystem__in": filesystems,
        "series__workload__slug__in": workloads,
        "series__hardware__slug__in": hardware,
    }
    wanted = Score.objects.filter(
        **{name: list(values) for name, values in filters.items() if values}
    )
    runs = _finished_runs(study_slugs)
    return [
        _row(values, runs)
        for values in wanted.order_by("id").values(
            *_COLUMNS.values(), *_LUN, "series__preparation", "flags"
        )
    ]


def _finished_runs(study_slugs: Collection[str]) -> dict[int, tuple[int, ...]]:
    runs = Run.objects.filter(state=RunState.DONE)
    if study_slugs:
        runs = runs.filter(series__study__slug__in=list(study_slugs))
    found: dict[int, list[int]] = defaultdict(list)
    for series_id, run_id in runs.order_by("id").values_list("series_id", "id"):
        found[series_id].append(run_id)
    return {series_id: tuple(ids) for series_id, ids in found.items()}


def _row(values: Mapping[str, Any], runs: Mapping[int, tuple[int, ...]]) -> ScoreRow:
    lun, worker = (values[column] for column in _LUN)
    cells, expected = values["cells"], values["cells_expected"]
    flags = list(values["flags"])
    if cells is not None and expected is not None and cells < expected and PARTIAL not in flags:
        flags.append(PARTIAL)
    return ScoreRow(
        **{name: values[column] for name, column in _COLUMNS.items()},
        lun=f"{lun} on {worker}" if lun else None,
        preparation=preparation.in_words(values["series__preparation"]),
        flags=tuple(flags),
        run_ids=runs.get(values["series_id"], ()),
    )


@dataclass(frozen=True)
class ScoreChoices:
    """What there is to choose from: studies as (slug, title) in the studies' order, and names."""

    studies: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    categories: tuple[str, ...]
    filesystems: tuple[str, ...]
    workloads: tuple[tuple[str, str], ...]
    hardware: tuple[tuple[str, str], ...]


def score_choices() -> ScoreChoices:
    """Everything that any score belongs to, and every study. Two queries."""
    studies = tuple(Study.objects.values_list("slug", "title").order_by("-is_published", "title"))
    combinations = list(
        Score.objects.order_by()
        .values_list(
            "test",
            "category",
            "series__configuration__filesystem",
            "series__workload__slug",
            "series__workload__title",
            "series__hardware__slug",
            "series__hardware__name",
        )
        .distinct()
    )
    return ScoreChoices(
        studies=studies,
        tests=tuple(sorted({row[0] for row in combinations})),
        categories=tuple(sorted({row[1] for row in combinations})),
        filesystems=tuple(sorted({row[2] for row in combinations})),
        workloads=tuple(sorted({(row[3], row[4]) for row in combinations if row[3]})),
        hardware=tuple(sorted({(row[5], row[6]) for row in combinations if row[5]})),
    )
