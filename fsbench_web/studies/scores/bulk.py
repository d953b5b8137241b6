"""Writing very many measurements: COPY on PostgreSQL, one prepared statement on SQLite.

The caller holds the transaction. Rows come as columns and leave as they come, in pieces, so that
memory does not grow with their number.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

from django.db import connection

from fsbench_web.studies.models import Measurement
from fsbench_web.studies.scores import quality

_COLUMNS = (
    *("run_id", "artefact_id", "line", "test", "load", "record_size_kb", "file_size_kb"),
    *("value", "unit", "flags"),
)
_PIECE = 5000
NO_SIZE = -1
# What the column holds for each combination of flags, as Django writes JSON.
_FLAGS = [
    json.dumps(quality.slugs(bits)) if bits else None
    for bits in range(1 << len(quality.CELL_FLAGS))
]
Piece = tuple[
    Sequence[int], Sequence[int], Sequence[int], Sequence[float], Sequence[int], Sequence[int]
]
"""Columns: test, record size, file size, value, line, flags as bits (studies.scores.quality)."""


class MeasurementWriter:
    """Writes the numbers of runs; ``say`` is told after each piece how many were written."""

    def __init__(self, artefact_id: int, say: Callable[[int], None]) -> None:
        self.artefact_id = artefact_id
        self.say = say

    def write(self, runs: Iterator[tuple[int, "Rows"]]) -> None:
        """Store all rows of all runs, (run id, rows)."""
        if connection.vendor == "postgresql":
            self._copy(runs)
        else:
            self._insert(runs)

    def _copy(self, runs: Iterator[tuple[int, "Rows"]]) -> None:
        table = connection.ops.quote_name(Measurement._meta.db_table)
        written = 0
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(_COLUMNS)}) FROM STDIN") as copy,
        ):
            for run_id, rows in runs:
                head = f"{run_id}\t{self.artefact_id}\t"
                names = [f"\t{_escaped(test)}\t\t" for test, _ in rows.tests]
                units = [f"\t{_escaped(unit)}\t" for _, unit in rows.tests]
                flags = [f"{_escaped(text)}\n" if text else "\\N\n" for text in _FLAGS]
                for start in range(0, len(rows.values), _PIECE):
                    columns = rows.piece(start, start + _PIECE)
                    copy.write(
                        "".join(
                            [
                                f"{head}{line}{names[test]}{record}\t{file}\t{value!r}{units[test]}"
                                f"{flags[bits]}"
                                if record >= 0
                                else f"{head}{line}{names[test]}\\N\t\\N\t{value!r}{units[test]}"
                                f"{flags[bits]}"
                                for test, record, file, value, line, bits in zip(
                                    *columns, strict=True
                                )
                            ]
                        ).encode()
                    )
                    written += len(columns[0])
                    self.say(written)

    def _insert(self, runs: Iterator[tuple[int, "Rows"]]) -> None:
        connection.ensure_connection()
        table = connection.ops.quote_name(Measurement._meta.db_table)
        marks = ", ".join("?" * len(_COLUMNS))
        # Straight to sqlite3: Django would read the statement anew for every piece.
        sql = f"INSERT INTO {table} ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        written = 0
        for run_id, rows in runs:
            for start in range(0, len(rows.values), _PIECE):
                tests, records, files, values, lines, bits = rows.piece(start, start + _PIECE)
                connection.connection.executemany(
                    sql,
                    zip(
                        repeat(run_id),
                        repeat(self.artefact_id),
                        lines,
                        [rows.tests[test][0] for test in tests],
                        repeat(""),
                        [None if record < 0 else record for record in records],
                        [None if file < 0 else file for file in files],
                        values,
                        [rows.tests[test][1] for test in tests],
                        [_FLAGS[one] for one in bits],
                        strict=False,
                    ),
                )
                written += len(values)
                self.say(written)


class Rows:
    """The numbers of one run as columns; ``tests`` are (name, unit), which the first column counts.

    Sizes are KB, NO_SIZE for none.
    """

    def __init__(
        self,
        tests: Sequence[tuple[str, str]],
        columns: Piece,
    ) -> None:
        self.tests = tests
        self.columns = columns
        self.values = columns[3]

    def piece(self, start: int, end: int) -> Piece:
        """Some rows of all columns."""
        tests, records, files, values, lines, bits = self.columns
        return (
            tests[start:end],
            records[start:end],
            files[start:end],
            values[start:end],
            lines[start:end],
            bits[start:end],
        )


def _escaped(text: str) -> str:
    """A text in COPY's text format."""
    for sign, escape in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(sign, escape)
    return text
