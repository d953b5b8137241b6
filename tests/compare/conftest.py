"""Small factories: a study with scores in one line a score."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from fsbench_web.catalog.configurations.records import unknown_configuration
from fsbench_web.catalog.models import HardwareProfile, Workload
from fsbench_web.studies.models import Run, RunState, Score, Series, Study
from fsbench_web.studies.series import series_for

MakeScore = Callable[..., Score]


def make_study(slug: str, **columns: Any) -> Study:
    return Study.objects.get_or_create(slug=slug, defaults={"title": slug.title(), **columns})[0]


def make_series(
    label: str = "ext4",
    *,
    study: str = "lab",
    filesystem: str = "",
    workload: str = "",
    hardware: str = "",
    **circumstances: Any,
) -> Series:
    return series_for(
        make_study(study),
        unknown_configuration(filesystem or label.split("_")[0], label),
        workload=Workload.objects.get_or_create(
            slug=workload, defaults={"title": workload, "tool": "iozone"}
        )[0]
        if workload
        else None,
        hardware=HardwareProfile.objects.get_or_create(slug=hardware, defaults={"name": hardware})[
            0
        ]
        if hardware
        else None,
        **circumstances,
    )


def make_score(
    label: str = "ext4",
    value: float = 100.0,
    *,
    test: str = "write",
    category: str = "maximum",
    unit: str = "KB/s",
    repeats: int | None = 1,
    cells: int | None = None,
    cells_expected: int | None = None,
    published: dict[str, Any] | None = None,
    flags: list[str] | None = None,
    summed_unit: str | None = None,
    **series: Any,
) -> Score:
    """A score of ``label`` (file system before the first underscore), replacing an older one."""
    return Score.objects.update_or_create(
        series=make_series(label, **series),
        test=test,
        category=category,
        defaults={
            "value": value,
            "unit": unit,
            "repeats": repeats,
            "cells": cells,
            "cells_expected": cells_expected,
            "published": published,
            "flags": flags or [],
            "summed_unit": summed_unit,
        },
    )[0]


def make_scores(series: Series, values: dict[str, float], category: str) -> None:
    """One of each test, in KB/s, where there is none yet; ``make_score`` for all else."""
    columns = {"category": category, "unit": "KB/s", "repeats": 1}
    Score.objects.bulk_create(
        Score(series=series, test=test, value=value, **columns) for test, value in values.items()
    )


def make_run(series: Series, state: RunState = RunState.DONE) -> Run:
    run = Run.objects.create(series=series, repeat=1, origin=Run.Origin.MEASURED, state=state)
    if state == RunState.DONE:
        for score in Score.selections.filter(series=series, origin="computed"):
            score.run_ids = [*(score.run_ids or ()), run.pk]
            score.save()
    return run


def printed(best: bool, delta1: str, delta2: str) -> dict[str, Any]:
    return {"best": best, "delta1_percent": delta1, "delta2_percent": delta2}


@pytest.fixture
def published_studies(papers: None, db: None) -> None:
    """The studies that ship with fsbench."""


@pytest.fixture
def jo(db: None) -> User:
    return User.objects.create_user("jo")
