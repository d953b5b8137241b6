"""What must be there before the first request: the step before the web starts."""

from collections.abc import Callable
from io import StringIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from fsbench_web.serving.admin_account import prepare_admin


def connect() -> None:
    """Raises CommandError where the database cannot be reached."""
    try:
        connections[DEFAULT_DB_ALIAS].ensure_connection()
    except OperationalError as error:
        raise CommandError(
            f"The database cannot be reached: {str(error).strip()}\n"
            "Check DATABASE_URL, or leave it unset to use SQLite in the data folder."
        ) from None


def prepare_database(echo: Callable[[str], None], *, is_private: bool = False) -> str:
    """Tables of this version, the published studies and an account; returns how to sign in.

    ``is_private`` as of ``prepare_admin``.
    """
    echo("Preparing the database ...")
    connect()
    call_command("migrate", interactive=False, verbosity=0)
    echo("Loading the published studies ...")
    call_command("load_published", verbosity=0, stdout=StringIO())
    return prepare_admin(settings.DATA_DIR, is_private=is_private)


def require_prepared() -> None:
    """Raises CommandError unless somebody prepared the database for this version."""
    connect()
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise CommandError(
            f"The database is not prepared for this version: {len(missing)} migrations are "
            "missing. Run `manage.py prepare` first (docs/deployment.md)."
        )
