"""What must be there before the first request: the step before the web starts."""

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from fsbench_web.platform import database_problems, table_version
from fsbench_web.serving.admin_account import prepare_admin


def connect() -> None:
    """Raises CommandError where the database cannot be reached."""
    try:
        connections[DEFAULT_DB_ALIAS].ensure_connection()
    except OperationalError as error:
        raise CommandError(database_problems.sentences(error)) from None


def prepare_database(echo: Callable[[str], None], *, is_private: bool = False) -> str:
    """Tables of this version, the published studies and an account; returns how to sign in.

    ``is_private`` as of ``prepare_admin``.
    """
    echo("Preparing the database ...")
    connect()
    # Of two hosts that start at once, the second finds it done.
    with table_version.changing():
        if reason := table_version.unsuited():
            raise CommandError(reason)
        call_command("migrate", interactive=False, verbosity=0)
        echo("Loading the published studies ...")
        call_command("load_published", verbosity=0, stdout=StringIO())
        return prepare_admin(settings.DATA_DIR, is_private=is_private)


def collect_static_files() -> None:
    """Those of the last version go where the folder is fsbench's own. One that FSBENCH_STATIC names
    may have other files in it.
    """
    is_own = Path(settings.STATIC_ROOT) == settings.DATA_DIR / "static"
    if not is_own:
        # By their times alone an unpacked archive is older than what was collected before it.
        for name in _stale_files():
            (Path(settings.STATIC_ROOT) / name).unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, verbosity=0, clear=is_own)


def require_static_files() -> None:
    """Raises CommandError unless the static files are those of this version: pages name them by
    their content, and would have none of them, or older ones.
    """
    for name in _stale_files():
        raise CommandError(
            f"The static files are not those of this version: {name}. Run "
            "`manage.py prepare --static-files` first (docs/deployment.md)."
        )


def _stale_files() -> Iterator[str]:
    """The static files that are not collected as they are."""
    for finder in get_finders():
        for name, storage in finder.list([]):
            collected = Path(settings.STATIC_ROOT) / name
            with storage.open(name) as file:
                if not collected.is_file() or collected.read_bytes() != file.read():
                    yield name


def require_prepared() -> None:
    """Raises CommandError unless somebody prepared the database for this version."""
    connect()
    if problem := table_version.problem():
        raise CommandError(problem)
