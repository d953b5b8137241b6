"""Dump and load of the two databases, each with its own means: pg_dump(1), and SQLite's backup."""

import os
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from fsbench_web.serving.backup.manifest import BackupError

# Sessions are not worth keeping count of: they come and go, and end with another secret key.
_NOT_COUNTED = ("django_session", "django_migrations")


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
        _tool("pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={file}")
        return file, counts(), migrations()


def _dump_sqlite(folder: Path) -> tuple[Path, dict[str, int], list[str]]:
    file = folder / "database.sqlite3"
    connection.ensure_connection()
    with sqlite3.connect(file) as copy:
        connection.connection.backup(copy)
        # One file, whatever the mode of the original: no log lies beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
    of_copy = {}
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as copy:
        for table in _counted(connection.introspection.table_names()):
            of_copy[table] = int(copy.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # noqa: S608 - names from the schema
        applied = copy.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1")
        return file, of_copy, [str(row[0]) for row in applied]


def counts() -> dict[str, int]:
    """Rows by table, as they are now."""
    found = {}
    with connection.cursor() as cursor:
        for table in _counted(connection.introspection.table_names(cursor)):
            cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608 - names from the schema
            found[table] = int(cursor.fetchone()[0])
    return found


def _counted(tables: list[str]) -> list[str]:
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


def users() -> list[str]:
    """Who else is connected to the database, where it tells."""
    if kind() == "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(host(client_addr), 'this machine') || ' (' || usename || ')' "
            "FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return sorted({str(row[0]) for row in cursor.fetchall()})


def load(file: Path) -> None:
    """Replace everything in the database with the dump. Raises BackupError."""
    if kind() == "sqlite":
        connection.ensure_connection()
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as source:
            source.backup(connection.connection)
        connection.close()
        return
    # Known before anything is lost: that the tool is there, and reads what this pg_dump wrote.
    _tool("pg_restore", "--list", str(file))
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS public CASCADE")
        cursor.execute("CREATE SCHEMA public")
    connection.close()
    _tool(
        "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-acl", str(file)
    )


def _tool(name: str, *arguments: str) -> None:
    """Run it on the database of the settings; the password is in its environment alone."""
    values = connection.settings_dict
    try:
        # pg_restore without a database writes a script to its standard output.
        done = subprocess.run(
            [name, "--dbname", str(values["NAME"]), "--no-password", *arguments],
            env=_environment(values),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise BackupError(
            f"{name} is not installed. On Debian: apt-get install postgresql-client, of the "
            "server's major version or a later one."
        ) from None
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise BackupError(f"{name} failed: {last}")


def _environment(values: Mapping[str, Any]) -> dict[str, str]:
    """libpq's variables (libpq, 34.15), with what DATABASE_URL says of TLS."""
    options = {key: str(value) for key, value in values.get("OPTIONS", {}).items()}
    given = {
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
    return os.environ | {name: value for name, value in given.items() if value}
