"""Dump and load of the two databases, each with its own means: pg_dump(1), and SQLite's backup."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from fsbench_web.catalog.workers import maintenance
from fsbench_web.operations.models import Backup
from fsbench_web.serving.backup.manifest import BackupError

# Sessions are not worth keeping count of: they come and go, and end with another secret key.
_NOT_COUNTED = ("django_session", "django_migrations", Backup._meta.db_table)


def kind() -> str:
    """ "postgresql" or "sqlite"."""
    return connection.vendor


def dump(folder: Path) -> tuple[Path, dict[str, int], list[str]]:
    """Write the database into the folder: the file, rows by table, and its migrations.

    All three are of one moment, whoever writes meanwhile. Raises BackupError.
    """
    if kind() == "sqlite":
        return _dump_sqlite(folder)
    file = folder / "database.dump"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = str(cursor.fetchone()[0])
        # A site that is made from it has made no backups of its own.
        left_out = f"--exclude-table-data=public.{Backup._meta.db_table}"
        _tool("pg_dump", "--format=custom", f"--snapshot={snapshot}", left_out, f"--file={file}")
        return file, counts(), migrations()


def _dump_sqlite(folder: Path) -> tuple[Path, dict[str, int], list[str]]:
    file = folder / "database.sqlite3"
    connection.ensure_connection()
    with sqlite3.connect(file) as copy:
        connection.connection.backup(copy)
        # One file, whatever the mode of the original: no log lies beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
        if Backup._meta.db_table in connection.introspection.table_names():
            copy.execute(f"DELETE FROM {Backup._meta.db_table}")  # noqa: S608 - name of a table
    of_copy = {}
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as copy:
        for table in _counted_tables(connection.introspection.table_names()):
            of_copy[table] = int(copy.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # noqa: S608 - names from the schema
        applied = copy.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1")
        return file, of_copy, [str(row[0]) for row in applied]


def counts() -> dict[str, int]:
    """Rows by table, as they are now."""
    by_table = {}
    with connection.cursor() as cursor:
        for table in _counted_tables(connection.introspection.table_names(cursor)):
            cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608 - names from the schema
            by_table[table] = int(cursor.fetchone()[0])
    return by_table


def _counted_tables(tables: list[str]) -> list[str]:
    return sorted(set(tables) - set(_NOT_COUNTED))


def migrations() -> list[str]:
    """Those that were applied, as "app.name"."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
        return [f"{app}.{name}" for app, name in cursor.fetchall()]


def server() -> str:
    """The server's version, in words."""
    with connection.cursor() as cursor:
        if kind() == "sqlite":
            return f"SQLite {sqlite3.sqlite_version}"
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0]}"


def is_empty() -> bool:
    """Whether there is not even a table."""
    return not connection.introspection.table_names()


# Of connections of another role a role may see neither the address nor the type. Processes of the
# server itself have no role.
_USERS = (
    "SELECT DISTINCT coalesce(host(client_addr), CASE WHEN backend_type IS NULL "
    "THEN 'unknown address' ELSE 'this machine' END) || ' (' || usename || ')' AS name "
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND coalesce(backend_type, 'client backend') = 'client backend' AND usename IS NOT NULL"
)


def users() -> list[str]:
    """Who else is connected to the database. Of SQLite's file that is not known by name."""
    if kind() == "sqlite":
        try:
            with _alone():
                return []
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                return ["a process that has the file open"]
            raise BackupError(f"The database cannot be used: {error}.") from None
    with connection.cursor() as cursor:
        cursor.execute(f"{_USERS} ORDER BY name")
        return [str(row[0]) for row in cursor.fetchall()]


def load(file: Path, *, drained_at: datetime, drained_by: str) -> None:
    """Replace everything in the database with the dump, its workers drained: all of it, or nothing
    is changed, also where somebody connects meanwhile. What was there goes when the dump is whole,
    so that there must be room for both. Raises BackupError.
    """
    drained = {
        "at": str(connection.ops.adapt_datetimefield_value(drained_at)),
        "by": drained_by,
    }
    if kind() == "sqlite":
        try:
            _load_copy(file, drained)
        except (sqlite3.Error, OSError) as error:
            raise BackupError(f"The database cannot be loaded: {error}. {_AS_IT_WAS}") from None
        return
    # Known before tables are locked: that the tool is there, and reads what this pg_dump wrote.
    _tool("pg_restore", "--list", str(file))
    connection.close()
    _load_script(file, drained)


_AS_IT_WAS = "Nothing was changed. There must be room for what is there and for the backup."


@contextmanager
def _alone() -> Iterator[sqlite3.Connection]:
    """SQLite's file, which nobody else has open or can open meanwhile.

    Raises sqlite3.OperationalError.
    """
    connection.close()
    name = str(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(name, timeout=0, isolation_level=None)) as database:
        # Whoever has a database with a log open shares its lock for as long (sqlite.org/wal.html,
        # 8: without shared memory).
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
        yield database


def _load_copy(file: Path, drained: Mapping[str, str]) -> None:
    """By way of a copy, in which the workers are drained, and which then is loaded in one
    transaction (sqlite.org/backup.html). Its file has no name: it goes however this process ends.
    """
    with _alone() as database, ExitStack() as at_the_end:
        folder = Path(str(connection.settings_dict["NAME"])).parent
        with tempfile.NamedTemporaryFile(dir=folder) as place:
            copy = at_the_end.enter_context(closing(sqlite3.connect(place.name)))
        copy.execute("PRAGMA journal_mode=MEMORY")
        source = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        with closing(source):
            source.backup(copy)
        drain = maintenance.DRAIN_ALL.format(table="catalog_worker", at=":at", by=":by")
        copy.execute(drain, drained)
        copy.commit()
        copy.backup(database)


# Behind the dump, which leaves an empty search_path. Who comes now waits for the locks of tables
# that are gone: it is seen, and nothing is committed.
_END = f"""
{maintenance.DRAIN_ALL.format(table="public.catalog_worker", at=":'at'", by=":'by'")};
DO $$ DECLARE users text; BEGIN
    SELECT string_agg(name, ', ' ORDER BY name) INTO users FROM ({_USERS}) AS others;
    IF users IS NOT NULL THEN
        RAISE EXCEPTION 'Somebody connected meanwhile: %. Stop web and workers.', users;
    END IF;
END $$;
COMMIT;
"""  # noqa: S608 - nothing of it comes from elsewhere


def _load_script(file: Path, drained: Mapping[str, str]) -> None:
    """In one transaction: what ends before its COMMIT, of whatever cause, the server takes back."""
    dumping = ("pg_restore", "--no-owner", "--no-acl", "--file=-", str(file))
    loading = (
        *("psql", "--dbname", str(connection.settings_dict["NAME"]), "--no-password"),
        *("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"),
        *(f"--set={name}={value}" for name, value in drained.items()),
    )
    with tempfile.TemporaryFile() as errors, ExitStack() as at_the_end:

        def start(command: Sequence[str], **streams: Any) -> "subprocess.Popen[bytes]":
            environment = _environment(connection.settings_dict)
            with _installed(command[0]):
                process = subprocess.Popen(command, env=environment, stderr=errors, **streams)
            at_the_end.callback(process.wait)
            at_the_end.callback(process.kill)
            return process

        psql = start(loading, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        dump = start(dumping, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert psql.stdin is not None
        assert dump.stdout is not None
        with suppress(BrokenPipeError):  # psql has ended, and said why
            psql.stdin.write(
                b"BEGIN; DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;\n"
            )
            shutil.copyfileobj(dump.stdout, psql.stdin)
            if dump.wait() == 0:
                psql.stdin.write(_END.encode())
        with suppress(BrokenPipeError):
            psql.stdin.close()
        dump.stdout.close()
        for name, process in (("psql", psql), ("pg_restore", dump)):
            if process.wait():
                errors.seek(0)
                last = _last(errors.read().decode(errors="replace"))
                raise BackupError(f"{name} failed: {last}\n{_AS_IT_WAS}")


def _tool(name: str, *arguments: str) -> None:
    """Run it on the database of the settings; the password is in its environment alone."""
    values = connection.settings_dict
    with _installed(name):
        # pg_restore without a database writes a script to its standard output.
        process = subprocess.run(
            [name, "--dbname", str(values["NAME"]), "--no-password", *arguments],
            env=_environment(values),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    if process.returncode:
        raise BackupError(f"{name} failed: {_last(process.stderr)}")


def _last(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-5:])


@contextmanager
def _installed(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BackupError(
            f"{name} is not installed. On Debian: apt-get install postgresql-client, of the "
            "server's major version or a later one."
        ) from None


def _environment(values: Mapping[str, Any]) -> dict[str, str]:
    """libpq's variables (libpq, 34.15), with what DATABASE_URL says of TLS."""
    options = {key: str(value) for key, value in values.get("OPTIONS", {}).items()}
    variables = {
        "PGHOST": str(values.get("HOST") or options.get("host", "")),
        "PGPORT": str(values.get("PORT") or ""),
        "PGUSER": str(values.get("USER") or ""),
        "PGPASSWORD": str(values.get("PASSWORD") or ""),
        "PGSSLMODE": options.get("sslmode", ""),
        "PGSSLROOTCERT": options.get("sslrootcert", ""),
        "PGSSLCERT": options.get("sslcert", ""),
        "PGSSLKEY": options.get("sslkey", ""),
        "PGCONNECT_TIMEOUT": options.get("connect_timeout", ""),
    }
    return os.environ | {name: value for name, value in variables.items() if value}
