"""Whether the tables are those of this version.

Older ones lack what this version writes; later ones want of whoever writes what it does not know
(a lease of a whole disk, say), so that it must not write into them at all.
"""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

_at_start: frozenset[tuple[str, str]] | None = None


def missing() -> list[str]:
    """The migrations that this version has and the tables have not, as "app.name"."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def later() -> list[str]:
    """The migrations that the tables have and this version does not know, as "app.name"."""
    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations or {})
    for migration in (loader.disk_migrations or {}).values():
        known |= {(str(app), str(name)) for app, name in migration.replaces}
    return sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations or {}
        if app in loader.migrated_apps and (app, name) not in known
    )


def problem() -> str:
    """Why this version must not work with the tables, and what to do; empty: they are its own.

    Raises DatabaseError.
    """
    if unknown := later():
        return (
            f"The database is of a later version of fsbench ({', '.join(unknown[:3])}): start that "
            "version, or restore a backup of this one (docs/deployment.md, Upgrade)."
        )
    if unapplied := missing():
        return (
            f"The database is not prepared for this version: {len(unapplied)} migrations are "
            "missing. Run `manage.py prepare` first (docs/deployment.md)."
        )
    return ""


def note() -> None:
    """What the tables are now, for ``has_changed``."""
    global _at_start
    _at_start = _applied()


def has_changed() -> bool:
    """Whether somebody migrated the tables since ``note``, in whichever direction."""
    return _at_start is not None and _applied() != _at_start


def _applied() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationRecorder(connection).applied_migrations())
