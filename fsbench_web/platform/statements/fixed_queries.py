"""SELECTs whose text is made once in a process, for what a site is asked many times a second, and
which PostgreSQL keeps prepared.

Django makes the text of a query anew each time: of a lookup by key that is four fifths of its work
in Python. Here values come through the same converters as Django's, and rows become the same
objects. What the managers of studies hide is not hidden: whoever asks knows that the rows may be
seen, or that it does not matter who asks.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar

from django.db import NotSupportedError, connection, models

from fsbench_web.platform.statements.prepared_statements import forget_prepared, prepared

_Row = TypeVar("_Row", bound=models.Model)
Values = Sequence[Any]


class FixedQuery:
    """A SELECT of ``columns``, which are fields of models or SQL; ``rest`` is FROM and all behind.

    ``{many}`` in ``rest`` stands for as many values as ``rows`` is given of them.
    """

    def __init__(self, columns: Sequence["models.Field[Any, Any] | str"], rest: str) -> None:
        self._columns, self._rest = columns, rest

    @cached_property
    def _text(self) -> str:
        columns = (
            column if isinstance(column, str) else _column_name(column) for column in self._columns
        )
        return f"SELECT {', '.join(columns)} {self._rest}"

    @cached_property
    def _converted(self) -> list[tuple[int, list[Callable[..., Any]], models.Value]]:
        """The columns whose values the database gives in another form than Django does."""
        converted = []
        for place, column in enumerate(self._columns):
            if isinstance(column, str):
                continue
            value = models.Value(None, output_field=column)
            converters = [
                *connection.ops.get_db_converters(value),
                *value.get_db_converters(connection),
            ]
            if converters:
                converted.append((place, converters, value))
        return converted

    def rows(self, *values: Any, many: Values = ()) -> list[Values]:
        """All rows there are. ``many`` are the values of ``{many}``, behind all others."""
        text = self._text
        if many:
            text = text.replace("{many}", ", ".join(["%s"] * len(many)))
        with connection.cursor() as cursor:
            # Of several values there are as many forms as numbers of them.
            asked = text if len(many) > 1 else prepared(cursor, text)
            try:
                cursor.execute(asked, [*values, *many])
            except NotSupportedError:  # and without end, as long as the connection lasts
                forget_prepared(cursor)
                raise
            rows: list[Values] = cursor.fetchall()
        return [self._as_django(row) for row in rows] if self._converted else rows

    def _as_django(self, row: Values) -> Values:
        values = list(row)
        for place, converters, value in self._converted:
            for convert in converters:
                values[place] = convert(values[place], value, connection)
        return values


def fields_of(model: type[models.Model], *names: str) -> "list[models.Field[Any, Any]]":
    """The columns of a row, or those of some attributes, in the order ``object_of`` takes."""
    return [field for field in model._meta.concrete_fields if not names or field.attname in names]


def object_of(
    model: type[_Row], fields: "Sequence[models.Field[Any, Any]]", values: Values
) -> _Row:
    """The object of a row; of ``fields_of`` some attributes the others are read when asked for."""
    return model.from_db(connection.alias, [field.attname for field in fields], values)


def find(model: type[_Row], name: str, value: Any, *, is_locked: bool = False) -> _Row | None:
    """The row with this value of a unique field.

    ``is_locked``: nobody else locks or changes it until the caller's transaction ends.
    """
    assert connection.in_atomic_block or not is_locked
    query, fields = _by_value(model, name, is_locked)
    rows = query.rows(value)
    return object_of(model, fields, rows[0]) if rows else None


@cache
def _by_value(
    model: type[models.Model], name: str, is_locked: bool
) -> "tuple[FixedQuery, list[models.Field[Any, Any]]]":
    meta = model._meta
    rest = f"FROM {connection.ops.quote_name(meta.db_table)}"
    rest += f" WHERE {_column_name(meta.get_field(name))} = %s"
    # SQLite has one writer, who has locked everything.
    if is_locked and connection.features.has_select_for_update:
        rest += " FOR UPDATE"
    fields = fields_of(model)
    return FixedQuery(fields, rest), fields


def _column_name(field: Any) -> str:
    quote = connection.ops.quote_name
    return f"{quote(field.model._meta.db_table)}.{quote(field.column)}"
