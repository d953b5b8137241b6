"""Whether the tables are those of this version; it must not write into any others."""

import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

_SQUASHED = re.compile(r"[0-9]{4}_squashed_([0-9]{4}_.+)")
# Of PostgreSQL's advisory locks, the one that whoever changes the tables has: "fsbench" in ASCII.
CHANGING = 0x667362656E6368
_at_start: frozenset[tuple[str, str]] | None = None


def missing_migrations() -> list[str]:
    """The migrations that this version has and the tables have not, as "app.name"."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def unsuited() -> str:
    """Why this version cannot upgrade the tables; empty: it can. Raises DatabaseError."""
    apps = {name.partition(".")[0] for name in _replaced()}
    applied = [
        f"{app}.{name}"
        for app, name in MigrationRecorder(connection).applied_migrations()
        if app in apps  # apps that are not installed any more left theirs
    ]
    if is_before_0_11(applied):
        return (
            "The database is of a version of fsbench before 0.11. Upgrade it to 0.11 first "
            "(docs/deployment.md, Upgrade)."
        )
    if unknown := unknown_migrations(applied):
        return (
            f"The database is of a later version of fsbench ({', '.join(unknown[:3])}): start that "
            "version, or restore a backup of this one (docs/deployment.md, Upgrade)."
        )
    return ""


def is_before_0_11(names: Iterable[str]) -> bool:
    """Whether tables with these migrations have only some of those that one of today replaces."""
    applied = set(names)
    return any(applied & replaced and replaced - applied for replaced in _replaced().values())


def unknown_migrations(names: Iterable[str]) -> list[str]:
    """Those of these migrations, "app.name", that this version does not know.

    A squashed migration of an earlier version is known by the last migration in it.
    """
    known = set().union(_replaced(), *_replaced().values())
    unknown_names = []
    for migration in set(names):
        app, _, name = migration.partition(".")
        squashed = _SQUASHED.fullmatch(name)
        if migration not in known and not (squashed and f"{app}.{squashed[1]}" in known):
            unknown_names.append(migration)
    return sorted(unknown_names)


@cache
def _replaced() -> dict[str, set[str]]:
    """The migrations of this version with those that each replaces, all as "app.name"."""
    return {
        f"{app}.{name}": {f"{app}.{name}" for app, name in migration.replaces}
        for (app, name), migration in (MigrationLoader(None).disk_migrations or {}).items()
    }


def problem() -> str:
    """Why this version must not work with the tables; empty: they are its own.

    Raises DatabaseError.
    """
    if reason := unsuited():
        return reason
    if unapplied := missing_migrations():
        are = "1 migration is" if len(unapplied) == 1 else f"{len(unapplied)} migrations are"
        return (
            f"The database is not prepared for this version: {are} missing. "
            "Run `manage.py prepare` first (docs/deployment.md)."
        )
    return ""


@contextmanager
def changing() -> Iterator[None]:
    """Wait until nobody else changes the tables of this database, on whichever host; the lock goes
    however this process ends. Raises DatabaseError.
    """
    if connection.vendor == "sqlite":
        descriptor = os.open(_lock_file(), os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
        return
    # A connection of its own: what a migration does to the other cannot release the lock.
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [CHANGING])
        yield


def _lock_file() -> Path:
    return Path(str(connection.settings_dict["NAME"])).with_name("prepare.lock")


def note() -> None:
    """What the tables are now, for ``has_changed``."""
    global _at_start
    _at_start = _applied()


def has_changed() -> bool:
    """Whether somebody migrated the tables since ``note``, in whichever direction."""
    return _at_start is not None and _applied() != _at_start


def _applied() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationRecorder(connection).applied_migrations())
