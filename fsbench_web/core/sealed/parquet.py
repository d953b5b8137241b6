"""Tables of a sealed file as Parquet, and reading them from somebody's file. Pure; needs pyarrow.

Nothing in such a table is compressed, so a reader unpacks nothing. What a dictionary could still
blow up is refused before it is: texts that the right table does not have.
"""

import io
from math import isclose
from typing import TYPE_CHECKING, Any

from fsbench_web.core.sealed.problems import ODD, Unsealed, UnsealedFile

if TYPE_CHECKING:
    import pyarrow

CLOSE = 1e-9
"""Relative. Other versions of NumPy or SciPy round a mean or a quantile otherwise."""
MOST_VALUES = 8_000_000
"""Of one column, with the values of its lists."""
_ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "BIT_PACKED"}


def write(table: "pyarrow.Table") -> bytes:
    """The Parquet file of a table."""
    import pyarrow.parquet

    out = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(
        out, table.schema, compression="none", use_dictionary=_texts(table)
    ) as writer:
        writer.write_table(table)
    return out.getvalue()


def _texts(table: "pyarrow.Table") -> list[str]:
    return [field.name for field in table.schema if str(field.type) == "string"]


def check(name: str, data: bytes, expected: "pyarrow.Table") -> list[Unsealed]:
    """What of a table does not follow: the form of the file, or its first differing row."""
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        if [field.name for field in file.schema_arrow] != expected.column_names:
            return [Unsealed("table", name, "other columns")]
        _refuse_odd(name, file.metadata, expected)
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data), read_dictionary=_texts(expected))
        found = file.read(use_threads=False)
        for column in _texts(expected):
            known = set(expected[column].unique().to_pylist())
            for chunk in found[column].chunks:
                if not known.issuperset(chunk.dictionary.to_pylist()):
                    return [Unsealed("row", name, f"a value of the column {column}")]
        plain = found.cast(expected.schema)
        for field in expected.schema:
            if file.schema_arrow.field(field.name).metadata != field.metadata:
                return [Unsealed("table", name, f"another unit of the column {field.name}")]
    except (pyarrow.ArrowException, OSError, MemoryError, *ODD) as error:
        if isinstance(error, UnsealedFile):
            return list(error.problems)
        return [Unsealed("table", name, type(error).__name__)]
    return [] if plain.equals(expected) else _first_difference(name, plain, expected)


def _refuse_odd(name: str, metadata: Any, expected: "pyarrow.Table") -> None:
    """Raises UnsealedFile for what could unpack to more than there is in the file."""
    if metadata.num_rows != expected.num_rows:
        found, wanted = metadata.num_rows, expected.num_rows
        raise UnsealedFile(Unsealed("row", name, f"that it has {found} rows and not {wanted}"))
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            is_list = "." in column.path_in_schema
            if (
                column.compression != "UNCOMPRESSED"
                or not _ENCODINGS.issuperset(column.encodings)
                or column.num_values > MOST_VALUES
                or (is_list and column.has_dictionary_page)
            ):
                raise UnsealedFile(Unsealed("table", name, column.path_in_schema[:60]))


def _first_difference(
    name: str, found: "pyarrow.Table", expected: "pyarrow.Table"
) -> list[Unsealed]:
    """The first row that differs of each column that differs."""
    problems = []
    is_derived = "samples" not in expected.column_names
    for column in expected.column_names:
        if found[column].equals(expected[column]):
            continue
        pairs = zip(found[column].to_pylist(), expected[column].to_pylist(), strict=True)
        for row, (stated, right) in enumerate(pairs, start=1):
            if stated != right and not (is_derived and _is_close(stated, right)):
                text = f"{column} of row {row}, {_short(stated)} and not {_short(right)},"
                problems.append(Unsealed("row", name, text))
                break
    return problems


def _is_close(stated: object, right: object) -> bool:
    return (
        isinstance(stated, float)
        and isinstance(right, float)
        and isclose(stated, right, rel_tol=CLOSE)
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
