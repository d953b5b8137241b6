"""Statements that PostgreSQL reads and plans once a connection, and not each time.

That was half of what it did for an upload. By its own PREPARE and EXECUTE rather than by the
driver's protocol: so several go in one visit, as Django's statements they are.
"""

from collections.abc import MutableMapping
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection

_numbers = count(1)
_EXECUTIONS: MutableMapping[Any, dict[str, str]] = WeakKeyDictionary()
"""By connection what carries out a text, by text."""


def prepared(cursor: Any, text: str) -> str:
    """What to execute instead of ``text``, with the same values for its %s.

    The server keeps each text as long as the connection lasts: of a text there may be few forms,
    and but for %s no percent sign in it. Raises what Django's own queries raise.
    """
    if connection.vendor != "postgresql":
        return text
    server = cursor.connection
    executions = _EXECUTIONS.setdefault(server, {})
    if text not in executions:
        name = f"fsbench_{next(_numbers)}"
        first, *others = text.split("%s")
        numbered = (f"${number}{part}" for number, part in enumerate(others, start=1))
        # Not by the cursor: it would count as one of the statements that somebody asked for.
        with connection.wrap_database_errors:
            server.execute(f"PREPARE {name} AS {first}{''.join(numbered)}")
        marks = ", ".join(["%s"] * len(others))
        executions[text] = f"EXECUTE {name}({marks})" if marks else f"EXECUTE {name}"
    return executions[text]


def forget_prepared(cursor: Any) -> None:
    """Prepare all anew on this connection: a column that a SELECT gives has another type since."""
    _EXECUTIONS.pop(cursor.connection, None)
