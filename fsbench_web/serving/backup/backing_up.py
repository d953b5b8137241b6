"""Take a backup, while people work, and bring one back, while nobody does."""

import gzip
import hashlib
import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.platform import clock, table_version
from fsbench_web.platform.version import VERSION
from fsbench_web.serving.backup import databases, manifest
from fsbench_web.serving.backup.manifest import BackupError, Manifest
from fsbench_web.studies.models import Artefact
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import measurements

BY = "manage.py restore"
_CHUNK = 1024 * 1024


def take(folder: Path) -> Manifest:
    """Write a backup into a new folder, which appears when it is whole. Raises BackupError."""
    if folder.exists():
        raise BackupError(f"{folder} is there already: name a new folder.")
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        # For this user's eyes only: password hashes and what is private are in it.
        unfinished.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise BackupError(f"{unfinished} cannot be made: {error}.") from None
    try:
        file, counts, migrations = databases.dump(unfinished)
        files = [file]
        luns = settings.DATA_DIR / "luns.toml"
        if luns.is_file():
            files.append(unfinished / "luns.toml")
            shutil.copyfile(luns, files[-1])
        backup = Manifest(
            version=VERSION,
            taken_at=clock.now().isoformat(timespec="seconds"),
            database=databases.kind(),
            server=databases.server(),
            migrations=migrations,
            counts=counts,
            files=[manifest.describe(unfinished, path) for path in files],
        )
        backup.write(unfinished)
        unfinished.rename(folder)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise BackupError(f"{folder} cannot be written: {error}.") from None
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return backup


def restore(folder: Path, *, overwrite: str, echo: Callable[[str], None]) -> Manifest:
    """Replace the database with that of a backup, and make it fit to go on. Raises BackupError.

    ``overwrite`` is the name of a database that is not empty, written out by whoever wants it gone.
    """
    backup = manifest.read(folder)
    _refuse_unreadable_backup(backup)
    _refuse_to_overwrite(overwrite)
    echo(f"Restoring {backup.dump} of {backup.taken_at} ...")
    drained_at = clock.now()
    databases.load(folder / backup.dump, drained_at=drained_at, drained_by=BY)
    with _saying_that_it_was_replaced(echo):
        _make_fit(backup, drained_at, echo)
        _refuse_damaged_content(echo)
    return backup


@contextmanager
def _saying_that_it_was_replaced(echo: Callable[[str], None]) -> Iterator[None]:
    """Whatever goes wrong behind the loading, nobody takes what is there for what was there."""
    said = "The database was replaced all the same; all its workers are drained."
    again = (
        "Not all of what follows was done (tables of this version, runs that were under way, "
        "sessions). Put right what stopped it, then restore again, with --overwrite "
        f"{_database_name()}."
    )
    try:
        yield
    except _DamagedContentError as error:
        raise BackupError(
            f"{error} {said} All else was done: restore an older backup, with --overwrite "
            f"{_database_name()}, or go on without what is damaged."
        ) from None
    except DatabaseError as error:
        raise BackupError(
            f"The database does not take what follows: {error}. {said} {again}"
        ) from None
    except (BackupError, CommandError) as error:
        raise BackupError(f"{error}\n{said} {again}") from None
    except BaseException:
        echo(f"{said} {again}")
        raise


class _DamagedContentError(BackupError):
    """What the backup itself has is not what it was."""


def _database_name() -> str:
    return Path(str(connection.settings_dict["NAME"])).name


def _make_fit(backup: Manifest, drained_at: datetime, echo: Callable[[str], None]) -> None:
    """What was loaded is whole, of this version, and nobody works in it. Raises BackupError."""
    counts = databases.counts()
    differing = sorted(
        table for table in backup.counts if backup.counts[table] != counts.get(table, -1)
    )
    if differing:
        raise BackupError(f"What was restored is not what was backed up: {', '.join(differing)}.")
    echo("Bringing the tables to this version ...")
    with table_version.changing():
        call_command("migrate", interactive=False, verbosity=0)
    maintenance.note_drained(drained_at, by=BY)
    _end_recorded_runs(echo)
    # Somebody may have signed out since, or lost the account: nobody is signed in any more.
    Session.objects.all().delete()


def _refuse_damaged_content(echo: Callable[[str], None]) -> None:
    echo("Reading all raw output ...")
    damaged = damaged_artefacts()
    if damaged:
        raise _DamagedContentError(
            f"Raw output does not have its digest any more: artefacts {damaged}."
        )
    echo("Reading all measurements ...")
    unreadable = measurements.unreadable()
    if unreadable:
        raise _DamagedContentError(
            f"Measurements cannot be read: {unreadable[0]} Of {len(unreadable)}."
        )


def _refuse_unreadable_backup(backup: Manifest) -> None:
    if backup.database != databases.kind():
        raise BackupError(
            f"The backup is of {backup.database}, and DATABASE_URL names {databases.kind()}."
        )
    if table_version.is_before_0_11(backup.migrations):
        raise BackupError(
            f"The backup was made by fsbench {backup.version}. Restore it with 0.11, and upgrade "
            "from there."
        )
    if unknown := table_version.unknown_migrations(backup.migrations):
        raise BackupError(
            f"The backup was made by a later version of fsbench ({backup.version}), with "
            f"{', '.join(unknown[:5])}: restore it with that version."
        )


def _refuse_to_overwrite(overwrite: str) -> None:
    users = databases.users()
    if users:
        raise BackupError(
            f"Somebody is connected to the database: {', '.join(users)}. Stop web and workers."
        )
    name = _database_name()
    if not databases.is_empty() and overwrite != name:
        raise BackupError(
            f"The database {name} is not empty, and all in it would be lost. If that is meant: "
            f"--overwrite {name}"
        )


def damaged_artefacts() -> list[int]:
    """The keys of raw output that cannot be read, or does not have its digest."""
    keys = []
    for key in Artefact.objects.order_by("pk").values_list("pk", flat=True).iterator():
        packed, expected = Artefact.objects.values_list("content_gzip", "sha256").get(pk=key)
        digest = hashlib.sha256()
        try:
            with gzip.open(io.BytesIO(packed)) as raw:
                while chunk := raw.read(_CHUNK):
                    digest.update(chunk)
        except (OSError, EOFError):
            keys.append(key)
            continue
        if digest.hexdigest() != expected:
            keys.append(key)
    return keys


def _end_recorded_runs(echo: Callable[[str], None]) -> None:
    """What ran when the backup was made runs no more. Runs that waited then may be done or unwanted
    by now: no worker takes them before somebody resumes it (maintenance.DRAIN_ALL).
    """
    for worker in Worker.objects.order_by("name"):
        with transaction.atomic():
            lost = lifecycle.recover(worker)
        if lost:
            echo(f"Runs that {worker.name} was carrying out are lost: {lost}")
