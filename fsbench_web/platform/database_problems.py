"""Why the database refused, as a sentence for the user of a command."""

import errno
import sqlite3
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from fsbench_web.platform import log_lines


def is_disk_full(exception: Exception) -> bool:
    """Whether the database, or a file, found no room: PostgreSQL's error 53100, SQLite's
    SQLITE_FULL, ENOSPC and EDQUOT.
    """
    match exception.__cause__ if isinstance(exception, DatabaseError) else exception:
        case sqlite3.Error() as cause:
            return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        case OSError() as cause:
            return cause.errno in (errno.ENOSPC, errno.EDQUOT)
        case cause:
            return getattr(cause, "sqlstate", None) == "53100"


def will_pass(exception: Exception) -> bool:
    """Whether what was asked is not the cause: nobody answers, or the disk has no room. To ask
    again helps once that is over, however long it takes.
    """
    if is_disk_full(exception) or isinstance(exception, InterfaceError):
        return True
    if not isinstance(exception, OperationalError) or isinstance(
        exception.__cause__, sqlite3.Error
    ):
        return False
    state = getattr(exception.__cause__, "sqlstate", None)
    # PostgreSQL's classes 08 (connections) and 57P (it is stopped or starts); None: it was not
    # reached, or went away.
    return state is None or state.startswith(("08", "57P"))


def sentences(error: Exception) -> str:
    """What the database said, on one line and without secrets, and what can be done."""
    said = log_lines.hide_secrets(" ".join(str(error).split()), [])
    if not said.endswith((".", "!", "?")):
        said += "."
    if is_disk_full(error):
        return (
            f"The disk of the database is full: {said} Make room, then start this again: nothing "
            "was left half done, and `manage.py prepare` goes on where it was."
        )
    if _is_unusable_file(error):
        folder = Path(settings.DATABASES["default"]["NAME"]).parent
        return (
            f"The database cannot be used: {said} Make {folder} writable, with room on its disk, "
            "or choose another folder with FSBENCH_DATA."
        )
    return (
        f"The database cannot be used: {said} Check DATABASE_URL and that the database runs; "
        "`manage.py prepare` makes the tables of this version."
    )


def _is_unusable_file(error: Exception) -> bool:
    """Whether SQLite can open, read or write no file there: result codes of its C interface."""
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    # The lowest eight bits of an extended code are the code.
    return code is not None and code & 0xFF in (
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM),
    )
