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
            runs.append(lifecycle.create_queued(series, repeat, by=None, job=None))
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


_STEPS: dict[str, Callable[[], object]] = {
    "runs_that_are_not_over": _runs_that_are_not_over,
    "content": _content,
    "states": _states,
    "spoil_raw_output": _spoil_raw_output,
}

if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(_STEPS[sys.argv[1]]()))
