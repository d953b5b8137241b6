"""What an administrator wants to know of the installation before somebody else complains."""

import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import celery
import django
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import QuerySet

from fsbench_web.api.health import broker_state
from fsbench_web.catalog.workers.states import luns_with_use, worker_states
from fsbench_web.core import numbers
from fsbench_web.operations.gauges import DAY, read_gauges
from fsbench_web.operations.models import Chore
from fsbench_web.platform import clock, disk_room, program_files, table_version
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.models import Run, RunState

LATEST = 20


@dataclass(frozen=True)
class Disk:
    """Bytes; ``data_bytes`` is what is in the data folder itself."""

    folder: Path
    total_bytes: int
    free_bytes: int
    data_bytes: int

    @property
    def is_short(self) -> bool:
        return disk_room.is_short(self.free_bytes, self.total_bytes)


class Installation:
    """Everything as it is now. Takes as long as the broker needs to answer, four seconds at most.

    ``database_bytes`` and ``database_folder`` are None where the database does not tell.
    """

    def __init__(self) -> None:
        self.database, self.database_bytes = _database()
        self.files_have_changed = program_files.have_changed()
        # They are read from files: those of another version fit to no code here.
        missing = [] if self.files_have_changed else table_version.missing_migrations()
        self.unapplied = [name.replace(".", " ", 1) for name in missing]
        self.applied = (
            MigrationRecorder(connection).migration_qs.order_by("-applied", "-pk").first()
        )
        self.now = clock.now()
        self.gauges = read_gauges()
        self.workers = worker_states(luns_with_use())
        self.disk = disk_of(settings.DATA_DIR)
        self.database_folder = database_folder()
        self.broker = broker_state()
        self.broker_kind = settings.CELERY_BROKER_URL.partition(":")[0]
        self.ended_badly = list(ended_badly()[:LATEST])
        self.chores = list(Chore.objects.order_by("name"))
        self.versions = [
            ("fsbench", VERSION),
            ("Python", platform.python_version()),
            ("Django", django.get_version()),
            ("Celery", celery.__version__),
            ("Database", self.database),
            ("System", f"{platform.system()} {platform.release()}"),
        ]

    @property
    def problems(self) -> list[str]:
        """Sentences, each with what to do; none when all is well."""
        problems = []
        if self.files_have_changed:
            problems.append(program_files.NEEDS_A_RESTART)
        if self.unapplied:
            problems.append(
                f"{len(self.unapplied)} migrations are not applied: run `manage.py prepare`, "
                "then restart web and workers."
            )
        if self.broker != "ok":
            problems.append(f"{self.broker} Runs that are submitted wait until it is back.")
        if self.disk.is_short:
            problems.append(
                f"The disk of {self.disk.folder} is nearly full: make room, or uploads and "
                "(with SQLite) every write will fail."
            )
        if self.database_folder:
            problems.extend(
                f"The disk of the database ({folder}) is nearly full: make room, or nothing can be "
                "stored."
                for folder in disk_room.short_folders([self.database_folder])
                if not (self.disk.is_short and _are_on_one_disk(folder, self.disk.folder))
            )
        if not self.disk.is_short:
            # Where uploads arrive that do not fit into memory.
            problems.extend(
                f"The disk of {folder} is nearly full: make room, or large uploads will fail."
                for folder in disk_room.short_folders([Path(tempfile.gettempdir())])
            )
        if not self.workers:
            problems.append("No worker has announced itself: start one on the host with the disks.")
        for entry in self.workers:
            problems.extend(
                f"The disk of {folder} on {entry.worker.name} is nearly full: make room, or its "
                "runs will fail."
                for folder in entry.worker.capabilities.get("full_disks", [])
                if entry.is_alive
            )
            if entry.version_problem:
                problems.append(f"{entry.worker.name}: {entry.version_problem}")
            # A drained one that was stopped is meant to be silent.
            if not entry.is_alive and not entry.worker.is_drained:
                waiting = numbers.counted(entry.waiting, "run")
                problems.append(
                    f"{entry.worker.name} is silent, with {waiting} waiting for it: start it on "
                    "its host."
                )
        problems.extend(
            f"{chore.name} failed last time: {chore.problem}"
            for chore in self.chores
            if chore.problem
        )
        problems.extend(self.gauges.backups.problems)
        return problems


def ended_badly() -> "QuerySet[Run]":
    """Runs of the last 24 hours that failed or were lost, the latest first."""
    return (
        Run.objects.filter(
            state__in=[RunState.FAILED, RunState.LOST], ended_at__gt=clock.now() - DAY
        )
        .select_related("series__lun__worker", "series__configuration", "series__study")
        .order_by("-ended_at", "-pk")
    )


def disk_of(folder: Path) -> Disk:
    """Room on the file system of the folder, and what the folder takes."""
    usage = shutil.disk_usage(folder)
    return Disk(folder, usage.total, usage.free, _used_bytes(folder))


def _used_bytes(folder: Path) -> int:
    """Bytes on the disk: a sparse file counts with what is written. Files may vanish meanwhile."""
    size_bytes = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size_bytes += (Path(place) / name).lstat().st_blocks * 512
            except OSError:
                continue
    return size_bytes


def _database() -> tuple[str, int | None]:
    """Its name with version, and its size in bytes."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT current_setting('server_version'), pg_database_size(current_database())"
            )
            version, size = cursor.fetchone()
            return f"PostgreSQL {version}", int(size)
        cursor.execute("SELECT sqlite_version()")
        version = cursor.fetchone()[0]
    # The log that is not written back yet is part of it.
    files = [Path(f"{connection.settings_dict['NAME']}{end}") for end in ("", "-wal")]
    sizes = [file.stat().st_size for file in files if file.is_file()]
    return f"SQLite {version}", sum(sizes) if sizes else None


def database_folder() -> Path | None:
    """PostgreSQL's data folder, if it is on this host and this role may read the setting."""
    if connection.vendor != "postgresql":
        return None  # SQLite's file is in the data folder
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_backend_pid(), CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') "
            "THEN current_setting('data_directory') END"
        )
        process, folder = cursor.fetchone()
    try:
        is_here = Path(f"/proc/{process}/comm").read_text().startswith("postgres")
    except OSError:
        return None
    return Path(folder) if folder and is_here else None


def _are_on_one_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
