"""Writing rows with less work than Django's own ways take.

*Many rows as they are*: COPY on PostgreSQL, one statement on SQLite. Django's ``bulk_create`` makes
an object of every row, asks each of its fields and quotes each value in Python. For the twenty
numbers and twenty scores of a small upload that was a quarter of all its work.

*Some objects together*: one visit to PostgreSQL for all that need no key of each other. Django
writes an object's statement anew each time, and waits for the answer of each.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models

_AT_ONCE = 200
"""Objects in one visit: each is some hundred bytes of text, or a whole compressed file."""


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


def insert_together(*rows: models.Model) -> None:
    """Write new objects of any models, in their order, and set their keys, as ``save`` does.

    None of them may need the key that another one gets here. Their classes' own ``save`` is not
    called, and no signals are sent. The caller holds the transaction. Raises what Django's own
    queries raise.
    """
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor != "postgresql" or options.get("server_side_binding"):
        # Several statements in one text are PostgreSQL's, and only where values are written into
        # them before they are sent.
        for row in rows:
            models.Model.save(row, force_insert=True)
        return
    for start in range(0, len(rows), _AT_ONCE):
        _insert_at_once(rows[start : start + _AT_ONCE])


def _insert_at_once(rows: Sequence[models.Model]) -> None:
    texts: list[str] = []
    values: list[Any] = []
    for row in rows:
        text, fields = _insertion(type(row), row.pk is None)
        for one in fields:
            # As Django's own save: null in place of what was never written would lose it.
            unkeyed = one.is_relation and getattr(row, one.attname) is None
            if unkeyed and getattr(row, one.name, None) is not None:
                raise ValueError(f"insert_together() of an unsaved related object '{one.name}'.")
        texts.append(text)
        values += [one.get_db_prep_save(one.pre_save(row, True), connection) for one in fields]
    with connection.cursor() as cursor:
        cursor.execute("; ".join(texts), values)
        for row in rows:
            row.pk = cursor.fetchone()[0]
            row._state.adding, row._state.db = False, connection.alias
            cursor.nextset()


@cache
def _insertion(
    model: type[models.Model], is_numbered: bool
) -> "tuple[str, list[models.Field[Any, Any]]]":
    """The statement that writes one object and gives its key, and the fields that it is given.

    ``is_numbered``: the database gives the key.
    """
    meta, quote = model._meta, connection.ops.quote_name
    assert meta.pk is not None
    fields = [one for one in meta.local_concrete_fields if not (is_numbered and one is meta.pk)]
    columns = ", ".join(quote(str(one.column)) for one in fields)
    marks = ", ".join(["%s"] * len(fields))
    text = f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608
    return f"{text} RETURNING {quote(str(meta.pk.column))}", fields
