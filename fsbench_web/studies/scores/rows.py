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
from itertools import groupby
from typing import Any, NamedTuple

from django.db import connection, connections, models

from fsbench_web.platform.statements.prepared_statements import prepared

_AT_ONCE = 200
"""Objects in one visit: each is some hundred bytes of text, or a whole compressed file."""
_LARGE_BYTES = 64 * 1024
"""Bytes of more than that are sent as they are."""
_MANY = 20
"""So many objects of one model are written by one statement: Django's own way of many."""


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> int:
    """Write rows of ``columns``, which are the database's names; returns how many.

    Values are None, text, numbers, and for JSON what ``as_json`` gives; columns without one get
    null, not a field's default. The caller holds the transaction. Whatever makes the rows must not
    ask the database. Raises what Django's own queries raise.
    """
    remaining = iter(rows)
    if (first := next(remaining, None)) is None:
        return 0
    quote, count = connection.ops.quote_name, 1
    place = f"{quote(model._meta.db_table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors, cursor.copy(f"COPY {place} FROM STDIN") as copy:
                # The server takes them in while the next ones are being made.
                copy.write_row(first)
                for row in remaining:
                    copy.write_row(row)
                    count += 1
        else:
            marks = ", ".join(["%s"] * len(columns))
            whole = [first, *remaining]
            count = len(whole)
            cursor.executemany(f"INSERT INTO {place} VALUES ({marks})", whole)  # noqa: S608
    return count


def written_if_many(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> list[models.Model]:
    """Write rows of ``columns`` now where they are many; few are given back as objects, which go
    with others by ``insert_together``.

    For those whose key nobody asks for: an object for each of hundreds, and its key from the
    database, are most of their work. Values are those of the fields; the others get null.
    """
    if len(rows) <= _MANY:
        return [model(**dict(zip(columns, row, strict=True))) for row in rows]
    fields = {field.column: field for field in model._meta.local_concrete_fields}
    written = [fields[name].get_db_prep_save for name in columns]
    insert_rows(
        model,
        columns,
        (
            [prepare(value, connection) for prepare, value in zip(written, row, strict=True)]
            for row in rows
        ),
    )
    return []


def as_json(value: object) -> str | None:
    """For a column of JSON, as Django writes it; None is null."""
    return None if value is None else json.dumps(value)


def execute_together(*statements: tuple[str, Sequence[Any]]) -> None:
    """Statements that give nothing back, with their values, in their order.

    The caller holds the transaction. Raises what Django's own queries raise.
    """
    with connection.cursor() as cursor:
        if _takes_several_at_once():
            text = "; ".join(prepared(cursor, text) for text, _ in statements)
            cursor.execute(text, [value for _, values in statements for value in values])
        else:
            for text, values in statements:
                cursor.execute(text, values)


def insert_together(*rows: models.Model) -> None:
    """Write new objects of any models, in their order, and set their keys, as ``save`` does.

    None of them may need the key that another one gets here. Their classes' own ``save`` is not
    called, and no signals are sent. The caller holds the transaction. Raises what Django's own
    queries raise.
    """
    pending: list[models.Model] = []
    for model, group in groupby(rows, key=lambda row: row._meta.model):
        model_rows = list(group)
        if len(model_rows) > _MANY:
            _insert(pending)
            model._base_manager.bulk_create(model_rows, batch_size=500)
            pending = []
        else:
            pending += model_rows
    _insert(pending)


def _insert(rows: Sequence[models.Model]) -> None:
    if not _takes_several_at_once():
        for row in rows:
            models.Model.save(row, force_insert=True)
        return
    for start in range(0, len(rows), _AT_ONCE):
        statements = [_written(row) for row in rows[start : start + _AT_ONCE]]
        _insert_at_once([statement for statement in statements if not statement.is_large])
        for statement in statements:
            if statement.is_large:
                _insert_as_bytes(statement)


def _takes_several_at_once() -> bool:
    """Several statements in one text are PostgreSQL's, and only where values are written into them
    before they are sent.
    """
    options = connection.settings_dict["OPTIONS"]
    return connection.vendor == "postgresql" and not options.get("server_side_binding")


class _Statement(NamedTuple):
    """What writes an object and gives its key, and the values in it."""

    row: models.Model
    text: str
    values: list[Any]
    is_large: bool


def _insert_at_once(statements: Sequence[_Statement]) -> None:
    with connection.cursor() as cursor:
        if statements:
            text = "; ".join(prepared(cursor, statement.text) for statement in statements)
            cursor.execute(text, [value for statement in statements for value in statement.values])
        for statement in statements:
            _has_key(statement.row, cursor.fetchone()[0])
            cursor.nextset()


def _insert_as_bytes(statement: _Statement) -> None:
    """By itself, its values beside the statement: written into it bytes are twice as long, and
    PostgreSQL reads them as text first (0.3 s for a file of 8 MB that is stored in 0.05 s so).
    """
    import psycopg  # not where SQLite is the database

    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement.text, [_unwrapped_bytes(value) for value in statement.values])
        returned = cursor.fetchone()
        assert returned is not None
        _has_key(statement.row, returned[0])


def _unwrapped_bytes(value: Any) -> Any:
    """Bytes out of what Django wraps them in, which psycopg would send as text."""
    from psycopg import Binary

    return value.obj if isinstance(value, Binary) else value


def _is_large(value: object) -> bool:
    bare = _unwrapped_bytes(value)
    return isinstance(bare, bytes | memoryview) and len(bare) > _LARGE_BYTES


def _has_key(row: models.Model, key: Any) -> None:
    row.pk = key
    row._state.adding, row._state.db = False, connection.alias


def _written(row: models.Model) -> _Statement:
    insertion = _insertion(type(row), row.pk is None)
    for field in insertion.relations:
        # As Django's own save: null in place of what was never written would lose it.
        if getattr(row, field.attname) is None and getattr(row, field.name, None) is not None:
            raise ValueError(f"insert_together() of an unsaved related object '{field.name}'.")
    # Not by the proxy, which looks for the thread's connection at each of their questions.
    database = connections[connection.alias]
    values = [
        field.get_db_prep_save(field.pre_save(row, True), database) for field in insertion.fields
    ]
    is_large = any(_is_large(values[place]) for place in insertion.of_bytes)
    return _Statement(row, insertion.text, values, is_large)


class _Insertion(NamedTuple):
    """A statement, and what is to know of its fields; ``of_bytes`` are places among them."""

    text: str
    fields: "list[models.Field[Any, Any]]"
    relations: "list[models.Field[Any, Any]]"
    of_bytes: list[int]


@cache
def _insertion(model: type[models.Model], is_numbered: bool) -> _Insertion:
    """``is_numbered``: the database gives the key."""
    meta, quote = model._meta, connection.ops.quote_name
    assert meta.pk is not None
    fields = [
        field for field in meta.local_concrete_fields if not (is_numbered and field is meta.pk)
    ]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    text = f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608
    return _Insertion(
        f"{text} RETURNING {quote(str(meta.pk.column))}",
        fields,
        [field for field in fields if field.is_relation],
        [place for place, field in enumerate(fields) if isinstance(field, models.BinaryField)],
    )
