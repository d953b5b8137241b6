"""Back up the whole installation into a folder, and restore it.

PostgreSQL goes by pg_dump(1) and psql(1), SQLite by VACUUM INTO. The database has raw output, too.
"""

import gzip
import hashlib
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from pydantic import BaseModel, Field

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.operations.models import Backup
from fsbench_web.platform import clock, table_version
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.models import Artefact
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import measurements

BY = "manage.py restore"
FORMAT = 1
MANIFEST = "manifest.json"
AS_IT_WAS = "Nothing changed. The disk needs room for the present data and the backup."
_CHUNK = 1024 * 1024


class BackupError(Exception):
    """It cannot be made or restored; the text says why and what to do."""


class BackupFile(BaseModel, frozen=True):
    """A file of the backup."""

    path: Annotated[str, Field(pattern=r"^[a-z0-9]+\.[a-z0-9]+$")]
    size_bytes: int
    sha256: str


class Manifest(BaseModel, frozen=True):
    """What a backup says of itself. ``migrations`` are "app.name"."""

    version: str
    taken_at: str
    database: str
    migrations: list[str]
    files: list[BackupFile]
    format: int = FORMAT

    @property
    def dump(self) -> str:
        """The file of the database. Raises ValueError."""
        paths = [file.path for file in self.files if file.path.startswith("database.")]
        if len(paths) != 1:
            raise ValueError(f"it names {len(paths)} files of a database, not one")
        return paths[0]


def describe(path: Path) -> BackupFile:
    """Name, size and digest of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return BackupFile(path=path.name, size_bytes=path.stat().st_size, sha256=digest)


def read(folder: Path) -> Manifest:
    """The manifest, once every file is as it says. Raises BackupError."""
    try:
        backup = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        _ = backup.dump
    except OSError as error:
        raise BackupError(f"{folder} is not a backup: {error}.") from None
    except ValueError as error:
        raise BackupError(f"{folder / MANIFEST} cannot be read: {error}.") from None
    if backup.format != FORMAT:
        raise BackupError(f"{folder} has format {backup.format}; this fsbench reads {FORMAT}.")
    for file in backup.files:
        path = folder / file.path
        if not path.is_file():
            raise BackupError(f"The backup is incomplete: {file.path} is missing.")
        # The size first: a hole of many terabytes is read for days.
        if path.stat().st_size != file.size_bytes or describe(path) != file:
            raise BackupError(f"The backup is damaged: {file.path} has changed since.")
    return backup


def take(folder: Path) -> Manifest:
    """Write a backup into a new folder, which appears when it is whole. Raises BackupError."""
    if folder.exists():
        raise BackupError(f"{folder} is there already: name a new folder.")
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        # Password hashes are in it.
        unfinished.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise BackupError(f"{unfinished} cannot be made: {error}.") from None
    try:
        files = [_dump(unfinished)]
        luns = settings.DATA_DIR / "luns.toml"
        if luns.is_file():
            files.append(Path(shutil.copyfile(luns, unfinished / "luns.toml")))
        applied = MigrationRecorder(connection).applied_migrations()
        backup = Manifest(
            version=VERSION,
            taken_at=clock.now().isoformat(timespec="seconds"),
            database=connection.vendor,
            migrations=sorted(f"{app}.{name}" for app, name in applied),
            files=[describe(path) for path in files],
        )
        (unfinished / MANIFEST).write_text(backup.model_dump_json(indent=2), encoding="utf-8")
        unfinished.rename(folder)
    except (OSError, sqlite3.Error, DatabaseError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise BackupError(f"{folder} cannot be written: {error}.") from None
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return backup


def _dump(folder: Path) -> Path:
    """The database of one moment, without the notes on backups: a restored site has made none."""
    notes = Backup._meta.db_table
    if connection.vendor == "postgresql":
        file = folder / "database.dump"
        left_out = f"--exclude-table-data=public.{notes}"
        _run_tool("pg_dump", "--dbname", _name(), "--format=custom", left_out, f"--file={file}")
        return file
    file = folder / "database.sqlite3"
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(file)])
    with closing(sqlite3.connect(file)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
        if notes in connection.introspection.table_names():
            copy.execute(f"DELETE FROM {notes}")  # noqa: S608 - name of a table
        copy.commit()
    return file


def restore(folder: Path, *, overwrite: str, echo: Callable[[str], None]) -> Manifest:
    """Replace the database with that of a backup, its workers drained. Raises BackupError.

    ``overwrite`` is the typed name of a database that is not empty.
    """
    backup = read(folder)
    _refuse_unreadable(backup)
    _refuse_to_overwrite(overwrite)
    echo(f"Restoring {backup.dump} of {backup.taken_at} ...")
    drained_at = clock.now()
    load(folder / backup.dump, drained_at)
    replaced = (
        "The database was replaced anyway; all its workers are drained. Fix the cause, then "
        f"restore again with --overwrite {Path(_name()).name}."
    )
    try:
        _make_fit(drained_at, echo)
        _refuse_damaged_content(echo)
    except (BackupError, CommandError, DatabaseError) as error:
        raise BackupError(f"{error}\n{replaced}") from None
    except BaseException:
        echo(replaced)
        raise
    return backup


def _refuse_unreadable(backup: Manifest) -> None:
    if backup.database != connection.vendor:
        raise BackupError(
            f"The backup is of {backup.database}, and DATABASE_URL names {connection.vendor}."
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
    if users := _users():
        raise BackupError(
            f"Somebody is connected to the database: {', '.join(users)}. Stop web and workers."
        )
    name = Path(_name()).name
    if connection.introspection.table_names() and overwrite != name:
        raise BackupError(
            f"The database {name} is not empty, and all in it would be lost. If that is meant: "
            f"--overwrite {name}"
        )


def _users() -> list[str]:
    """Who else is connected to the database. SQLite does not know them by name."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # A role sees neither address nor type of other roles' connections. Processes of the
            # server have no role.
            cursor.execute(
                "SELECT DISTINCT coalesce(host(client_addr), CASE WHEN backend_type IS NULL "
                "THEN 'unknown address' ELSE 'this machine' END) || ' (' || usename || ')' "
                "FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND usename IS NOT NULL "
                "AND coalesce(backend_type, 'client backend') = 'client backend' ORDER BY 1"
            )
            return [str(row[0]) for row in cursor.fetchall()]
    connection.close()
    try:
        with closing(sqlite3.connect(_name(), timeout=0, isolation_level=None)) as database:
            # Others share its lock for as long as they have the file open (sqlite.org/wal.html, 8).
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return ["a process that has the file open"]
        raise BackupError(f"The database cannot be used: {error}.") from None
    return []


def load(dump: Path, drained_at: datetime) -> None:
    """Replace the database with the dump, workers drained: all or nothing. Raises BackupError."""
    is_sqlite = connection.vendor == "sqlite"
    drain = maintenance.DRAIN_ALL.format(
        table="catalog_worker" if is_sqlite else "public.catalog_worker",
        at=f"'{connection.ops.adapt_datetimefield_value(drained_at)}'",
        by=f"'{BY}'",
    )
    connection.close()
    try:
        _load_sqlite(dump, drain) if is_sqlite else _load_postgresql(dump, drain)
    except (BackupError, OSError, sqlite3.Error) as error:
        raise BackupError(f"The database cannot be loaded: {error} {AS_IT_WAS}") from None


def _load_sqlite(dump: Path, drain: str) -> None:
    """Drain in a copy, then rename it. ``_users`` left no log next to the old file."""
    database = Path(_name())
    copy = database.with_name(f"{database.name}.restoring")
    try:
        shutil.copyfile(dump, copy)
        copy.chmod(0o600)
        with closing(sqlite3.connect(copy)) as restored:
            restored.execute(drain)
            restored.commit()
        copy.replace(database)
    finally:
        copy.unlink(missing_ok=True)


def _load_postgresql(dump: Path, drain: str) -> None:
    """In one transaction, which ends with the drained workers."""
    with tempfile.NamedTemporaryFile(dir=settings.DATA_DIR, suffix=".sql") as script:
        _run_tool("pg_restore", "--no-owner", "--no-acl", "--file=-", str(dump), output=script)
        _run_tool(
            *("psql", "--dbname", _name(), "--no-psqlrc", "--quiet"),
            *("--single-transaction", "--set=ON_ERROR_STOP=1"),
            "--command=DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;",
            *(f"--file={script.name}", f"--command={drain}"),
        )


def _make_fit(drained_at: datetime, echo: Callable[[str], None]) -> None:
    """Bring the tables to this version, and end what was under way."""
    echo("Bringing the tables to this version ...")
    with table_version.changing():
        call_command("migrate", interactive=False, verbosity=0)
    maintenance.note_drained(drained_at, by=BY)
    for worker in Worker.objects.order_by("name"):
        with transaction.atomic():
            lost = lifecycle.recover(worker)
        if lost:
            echo(f"Runs that {worker.name} was carrying out are lost: {lost}")
    # People may have signed out since, or lost their accounts.
    Session.objects.all().delete()


def _refuse_damaged_content(echo: Callable[[str], None]) -> None:
    echo("Reading all raw output ...")
    if damaged := damaged_artefacts():
        raise BackupError(
            f"Raw output does not have its digest any more: artefacts {damaged}. Go on without it, "
            "or restore an older backup."
        )
    echo("Reading all measurements ...")
    if unreadable := measurements.unreadable():
        raise BackupError(
            f"Measurements cannot be read: {unreadable[0]} Of {len(unreadable)}. Go on without "
            "them, or restore an older backup."
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


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _run_tool(name: str, *arguments: str, output: IO[Any] | None = None) -> None:
    """Run a program of PostgreSQL; the password is in its environment alone."""
    values = connection.settings_dict
    options = values.get("OPTIONS", {})
    variables = {
        "PGHOST": values.get("HOST") or options.get("host"),
        "PGPORT": values.get("PORT"),
        "PGUSER": values.get("USER"),
        "PGPASSWORD": values.get("PASSWORD"),
        "PGSSLMODE": options.get("sslmode"),
        "PGSSLROOTCERT": options.get("sslrootcert"),
        "PGSSLCERT": options.get("sslcert"),
        "PGSSLKEY": options.get("sslkey"),
        "PGCONNECT_TIMEOUT": options.get("connect_timeout"),
    }
    try:
        done = subprocess.run(
            [name, *arguments],
            env=os.environ | {key: str(value) for key, value in variables.items() if value},
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise BackupError(
            f"{name} is not installed. On Debian: apt-get install postgresql-client, of the "
            "server's major version or a later one."
        ) from None
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise BackupError(f"{name} failed: {last}")
