"""Rows of the table that held a measurement each, as versions before 0019 wrote them."""

import hashlib
import json
import random
from typing import Any

from django.db import connection, transaction
from django.db.migrations.state import StateApps

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import series_for

FIELDS = (
    *("run_id", "artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
    *("value", "unit", "samples", "flags"),
)


def _run_of(apps: StateApps) -> Any:
    """A run as the database is: later versions have more columns, with defaults of theirs."""
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, Run._meta.db_table)
    is_of_today = "measured_source" in {column.name for column in columns}
    return Run if is_of_today else apps.get_model("studies", "Run")


def _series_of(apps: StateApps, study: Study) -> Any:
    """Likewise a series."""
    configuration = configuration_for("xfs", {})
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, Series._meta.db_table)
    if "stack_luns" in {column.name for column in columns}:
        return series_for(study, configuration)
    identity = [study.pk, configuration.pk, None, None, None, "", ""]
    return apps.get_model("studies", "Series").objects.create(
        key=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
        study_id=study.pk,
        configuration_id=configuration.pk,
    )


def store_old_rows(apps: StateApps, runs: int = 10) -> list[tuple[Any, ...]]:
    """117 numbers for each of ``runs``, of two outputs and of none; returns what was stored."""
    table = apps.get_model("studies", "Measurement")
    chance = random.Random(1)
    study = Study.objects.create(slug="old", title="Old")
    series = _series_of(apps, study)
    for repeat in range(1, runs + 1):
        with transaction.atomic():
            run = _run_of(apps).objects.create(
                series_id=series.pk, repeat=repeat, origin="imported", state="done"
            )
            first, second = (
                ingest.store_artefact(Run(pk=run.pk), name, b"out\n").pk for name in ("1", "2")
            )
        cells = [
            (test, "", 2**record, 2**file)
            for test in ("write", "read")
            for record in range(4)
            for file in range(4, 44, 3)
        ]
        flags = (None, None, ["clock"], ["spike", "of-a-later-version"], [])
        rows: list[tuple[Any, ...]] = [
            (first, line, *cell, chance.uniform(1, 1e6), "KB/s", None, chance.choice(flags))
            for line, cell in enumerate(cells, start=1)
        ]
        rows += [
            (second, None, "tput", f"jobs={jobs}", None, None, 0.1 * jobs, "MB/s", samples, None)
            for jobs, samples in ((1, None), (2, [1, 2.5, None]), (3, []))
        ]
        rows += [
            (None, 7, "\u00b5 %s \\ '", "", 4, None, -0.0, "\u00b5s", None, None),
            (None, 8, "whole", "", None, 2**60, 5e-324, "s", None, None),
        ]
        table.objects.bulk_create(
            table(**dict(zip(FIELDS, (run.pk, *row), strict=True))) for row in rows
        )
    return list(table.objects.order_by("id").values_list(*FIELDS))
