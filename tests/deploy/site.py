"""A site of its own, in processes of their own: for tests that replace a whole database.

Run as a module it carries out one step on the site of its environment, and prints JSON.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


class Site:
    """``manage("check")`` and ``step("content")`` work on its database and data folder."""

    def __init__(self, folder: Path, database_url: str = "", **variables: str) -> None:
        ours = re.compile(r"FSBENCH_|DJANGO_|DATABASE_URL|CELERY_")
        kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
        self.folder = folder
        self.environment = kept | {"FSBENCH_DATA": str(folder), "FSBENCH_INSTALL": "no"} | variables
        if database_url:
            self.environment["DATABASE_URL"] = database_url

    def try_to(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *command],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )

    def manage(self, *command: str) -> str:
        done = self.try_to(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def step(self, name: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "tests.deploy.site", name],
            env=self.environment | {"DJANGO_SETTINGS_MODULE": "fsbench_web.settings"},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


def _runs_that_are_not_over() -> object:
    """One run under way and one that waits, on a worker that nobody starts."""
    from django.db import transaction

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce
    from fsbench_web.studies.models import RunState, Study
    from fsbench_web.studies.runs import lifecycle
    from fsbench_web.studies.series import next_repeat, series_for

    lun = LunAnnouncement("disk", role="data", kind="device", device="/dev/x", size_bytes=2**30)
    worker = announce(WorkerAnnouncement("lab", executor="fake", capabilities={}, luns=[lun]))
    study = Study.objects.create(slug="under-way", title="Under way")
    configuration = configuration_for("ext4", {}, "none")
    series = series_for(study, configuration, lun=worker.luns.get())
    runs = []
    for _ in range(2):
        with transaction.atomic():
            repeat = next_repeat(series)
            runs.append(lifecycle.create_queued(series, repeat, by=None, submission=None))
    handle = lifecycle.claim(runs[0].pk, worker)
    assert handle is not None
    lifecycle.advance(handle, RunState.PREPARING)
    return [run.pk for run in runs]


def _content() -> object:
    """Scores and raw bytes, as the site has them."""
    import gzip
    import hashlib

    from fsbench_web.studies.models import Artefact, Score

    scores = Score.objects.order_by("pk").values_list("pk", "test", "category", "value")
    raw = Artefact.objects.order_by("pk").values_list("pk", "name", "content_gzip")
    return {
        "scores": [[*row[:3], str(row[3])] for row in scores],
        "raw": [
            [key, name, hashlib.sha256(gzip.decompress(content)).hexdigest()]
            for key, name, content in raw
        ],
    }


def _states() -> object:
    from fsbench_web.catalog.models import Worker
    from fsbench_web.studies.models import Lease, Run

    of_runs = Run.objects.filter(series__study__slug="under-way").order_by("pk")
    return {
        "runs": {run.pk: [run.state, run.reason] for run in of_runs},
        "leases": Lease.objects.filter(run__isnull=False).count(),
        "drained": list(Worker.objects.values_list("name", "drained_by")),
    }


def _spoil_raw_output() -> object:
    from fsbench_web.studies.models import Artefact

    return Artefact.objects.update(sha256="0" * 64)


def _spoil_measurements() -> object:
    from fsbench_web.studies.models import MeasurementBlock

    return MeasurementBlock.objects.update(content=b"fsbm\x01 not a block")


def _measurements() -> object:
    """All that is known of each measurement, run by run."""
    from fsbench_web.studies.models import MeasurementBlock
    from fsbench_web.studies.scores import measurements

    return [[*row] for row in measurements.rows(MeasurementBlock.objects.all())]


def _old_rows() -> object:
    """Measurements as rows of the table that 0020 drops, as versions before it wrote them.

    Returns them as ``measurements`` does once they were moved.
    """
    import random

    from django.db import connection, transaction
    from django.db.migrations.loader import MigrationLoader

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.studies.models import Study
    from fsbench_web.studies.runs import lifecycle
    from fsbench_web.studies.scores import ingest
    from fsbench_web.studies.series import series_for

    apps = MigrationLoader(connection).project_state(("studies", "0018_measurement_blocks")).apps
    table = apps.get_model("studies", "Measurement")
    chance = random.Random(1)
    series = series_for(Study.objects.create(slug="old", title="Old"), configuration_for("xfs", {}))
    fields = (
        *("run_id", "artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
        *("value", "unit", "samples", "flags"),
    )
    for repeat in range(1, 41):
        with transaction.atomic():
            run = lifecycle.record_finished(series, repeat, by=None, reason="Of old.")
            kept = [ingest.store_artefact(run, name, b"out\n").pk for name in ("one", "two")]
        rows = [
            (run.pk, kept[0], place + 1, test, "", 2**record, 2**file, chance.uniform(1, 1e6))
            + ("KB/s", None, chance.choice([None, None, ["clock"], ["spike", "of-a-later"], []]))
            for place, (test, record, file) in enumerate(
                (test, record, file)
                for test in ("write", "read")
                for record in range(4)
                for file in range(4, 44, 3)
            )
        ]
        rows += [
            (run.pk, kept[1], None, "tput", f"jobs={jobs}", None, None, 0.1 * jobs)
            + ("MB/s", [1, 2.5, None] if jobs == 2 else None, None)
            for jobs in (1, 2, 3)
        ]
        rows += [
            (run.pk, None, 7, "\u00b5 %s \\", "", 4, None, -0.0, "\u00b5s", None, None),
            (run.pk, None, 8, "whole", "", None, 2**60, 5e-324, "s", [], None),
        ]
        table.objects.bulk_create(table(**dict(zip(fields, row, strict=True))) for row in rows)
    return [[*row] for row in table.objects.order_by("id").values_list(
        *("run_id", "artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
        *("value", "unit", "samples", "flags"),
    )]


_STEPS: dict[str, Callable[[], object]] = {
    "runs_that_are_not_over": _runs_that_are_not_over,
    "content": _content,
    "states": _states,
    "spoil_raw_output": _spoil_raw_output,
    "spoil_measurements": _spoil_measurements,
    "measurements": _measurements,
    "old_rows": _old_rows,
}

if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(_STEPS[sys.argv[1]]()))
