"""A site of its own, in processes of their own: for tests that replace a whole database.

Run as a module it carries out steps and commands on the site of its environment, one after the
other, and prints JSON.
"""

import gc
import io
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
    """``manage("check")`` and ``step("content")`` work on its database and data folder.

    Each is a process, whose start is most of its work: ``steps("content", ["backup", "/folder"])``
    are steps (by name) and commands (as lists) in one.
    """

    def __init__(self, folder: Path, database_url: str = "", **variables: str) -> None:
        ours = re.compile(r"FSBENCH_|DJANGO_|DATABASE_URL|CELERY_")
        inherited = {name: value for name, value in os.environ.items() if not ours.match(name)}
        self.folder = folder
        self.environment = (
            inherited | {"FSBENCH_DATA": str(folder), "FSBENCH_INSTALL": "no"} | variables
        )
        if database_url:
            self.environment["DATABASE_URL"] = database_url

    def try_to(
        self, *command: str, largest_file: int | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """``largest_file``: no file may become larger, in bytes, as on a disk that is full."""
        limit = [] if largest_file is None else ["prlimit", f"--fsize={largest_file}"]
        return subprocess.run(
            [*limit, sys.executable, str(ROOT / "manage.py"), *command],
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
        (value,) = self.steps(name)
        return value

    def steps(self, *steps: str | list[str]) -> list[Any]:
        """What each said: a step its value, a command its output, or why it refused."""
        done = self.try_steps(*steps)
        assert done.returncode == 0, done.stdout + done.stderr
        results: list[Any] = json.loads(done.stdout)
        return results

    def try_steps(self, *steps: str | list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "tests.deploy.site", json.dumps(steps)],
            env=self.environment | {"DJANGO_SETTINGS_MODULE": "fsbench_web.settings"},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )


def _runs_that_are_not_over() -> object:
    """One run under way and one that waits, on a worker that nobody starts; one is signed in."""
    from django.contrib.sessions.backends.db import SessionStore
    from django.db import transaction

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce
    from fsbench_web.studies.models import RunState, Study
    from fsbench_web.studies.runs import lifecycle, new_runs
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
            runs.append(new_runs.create_queued(series, repeat, by=None, job=None))
    handle = lifecycle.claim(runs[0].pk, worker)
    assert handle is not None
    lifecycle.advance(handle, RunState.PREPARING)
    SessionStore().create()
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
    from django.contrib.sessions.models import Session

    from fsbench_web.accounts.models import AuditEntry
    from fsbench_web.catalog.models import Worker
    from fsbench_web.operations.models import Backup
    from fsbench_web.studies.models import Lease, Run

    of_runs = Run.objects.filter(series__study__slug="under-way").order_by("pk")
    return {
        "runs": {run.pk: [run.state, run.reason] for run in of_runs},
        "leases": Lease.objects.filter(run__isnull=False).count(),
        "backups": Backup.objects.count(),
        "drained": list(Worker.objects.values_list("name", "drained_by")),
        "noted": AuditEntry.objects.filter(what="worker drained").count(),
        "sessions": Session.objects.count(),
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


def _tables() -> object:
    """Columns and constraints of each of our tables."""
    from django.db import connection

    tables = {}
    with connection.cursor() as cursor:
        introspection = connection.introspection
        for table in introspection.django_table_names(only_existing=True, include_views=False):
            columns = introspection.get_table_description(cursor, table)
            constraints = introspection.get_constraints(cursor, table)
            tables[table] = [
                sorted([column.name, str(column.type_code), column.null_ok] for column in columns),
                sorted(repr(sorted(found.items())) for found in constraints.values()),
            ]
    return tables


def _killed_behind_loading(folder: str) -> object:
    """``manage.py restore`` that is killed as soon as the database is that of the backup."""
    import os
    import signal

    from django.core.management import call_command

    from fsbench_web.serving import backup

    load = backup.load

    def load_and_die(*arguments: Any, **options: Any) -> None:
        load(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    backup.load = load_and_die
    call_command("restore", folder)
    return None


_STEPS: dict[str, Callable[..., object]] = {
    "runs_that_are_not_over": _runs_that_are_not_over,
    "content": _content,
    "states": _states,
    "spoil_raw_output": _spoil_raw_output,
    "spoil_measurements": _spoil_measurements,
    "measurements": _measurements,
    "tables": _tables,
    "killed_behind_loading": _killed_behind_loading,
}


def _carried_out(step: str | list[str]) -> object:
    from django.core.management import CommandError, call_command

    if isinstance(step, str):
        name, *arguments = step.split()
        return _STEPS[name](*arguments)
    output = io.StringIO()
    try:
        call_command(*step, stdout=output)
    except CommandError as error:
        return f"refused: {error}"
    return output.getvalue()


if __name__ == "__main__":
    import django

    gc.set_threshold(50_000)  # as manage.py does
    django.setup()
    print(json.dumps([_carried_out(step) for step in json.loads(sys.argv[1])]))
