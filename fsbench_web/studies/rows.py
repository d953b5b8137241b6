"""Writing some rows as they are: COPY on PostgreSQL, one statement on SQLite.

Django's ``bulk_create`` makes an object of every row, asks each of its fields and quotes each value
in Python. For the twenty numbers and twenty scores of a small upload that was a quarter of all its
work.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> int:
    """Write rows of ``columns``, which are the database's names; returns how many.

    Values are None, text, numbers, and for JSON what ``as_json`` gives; columns without one get
    null, not a field's default. The caller holds the transaction. Raises what Django's own queries
    raise.
    """
    some = list(rows)
    if not some:
        return 0
    quote = connection.ops.quote_name
    place = f"{quote(model._meta.db_table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors, cursor.copy(f"COPY {place} FROM STDIN") as copy:
                for row in some:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {place} VALUES ({marks})", some)  # noqa: S608
    return len(some)


def as_json(value: object) -> str | None:
    """For a column of JSON, as Django writes it; None is null."""
    return None if value is None else json.dumps(value)
