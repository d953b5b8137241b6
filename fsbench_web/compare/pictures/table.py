"""The numbers of a picture as a table, for pages and as CSV: the same rows for both."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.compare.tables.csv import as_text
from fsbench_web.core import numbers

TEXT, SIZE, COUNT, VALUE = "text", "size", "count", "value"
Content = str | float | None


@dataclass(frozen=True)
class Column:
    """``kind`` says how its numbers are written; a SIZE is in KB, a VALUE in ``unit``."""

    title: str
    kind: str = TEXT
    unit: str = ""
    stored_title: str = ""
    """Its title in files, where pages have another word."""

    @property
    def heading(self) -> str:
        """For people: in the unit that ``write`` writes."""
        return f"{self.title}, {numbers.unit_name(self.unit)}" if self.unit else self.title

    @property
    def stored_heading(self) -> str:
        """For numbers as they are stored."""
        title = self.stored_title or self.title
        if self.kind == SIZE:
            return f"{title} KB"
        return f"{title}, {self.unit}" if self.unit else title

    @property
    def is_number(self) -> bool:
        return self.kind != TEXT

    def write(self, content: Content) -> str:
        """As people read it; what is missing is an en dash."""
        if content is None or content == "":
            return numbers.MISSING
        if isinstance(content, str):
            return content
        if self.kind == SIZE:
            return numbers.benchmark_size(content)
        if self.kind == COUNT:
            return f"{content:,.0f}"
        return numbers.amount(content, self.unit)

    def exactly(self, content: Content) -> str:
        """The number as it is stored, where pages write it in another unit; else ""."""
        is_value = self.kind == VALUE and not isinstance(content, str)
        return numbers.exact_amount(content, self.unit) if is_value else ""  # type: ignore[arg-type]


@dataclass(frozen=True)
class Row:
    """``cells`` one a column; ``links`` are (words, address) of the runs behind it."""

    cells: tuple[Content, ...]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PictureTable:
    """What a picture is made of, row by row."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    @property
    def written(self) -> list[tuple[list[tuple[str, bool, str]], tuple[tuple[str, str], ...]]]:
        """(text, whether it is a number, the stored one where it is another) of every cell, and
        the row's links."""
        return [
            (
                [
                    (column.write(content), column.is_number, column.exactly(content))
                    for column, content in zip(self.columns, row.cells, strict=True)
                ],
                row.links,
            )
            for row in self.rows
        ]


def as_csv(table: PictureTable) -> str:
    """The table with numbers unrounded and sizes in KB; text that no spreadsheet will run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(
        [
            *(as_text(column.stored_heading) for column in table.columns),
            "runs",
        ]
    )
    for row in table.rows:
        cells = [as_text(cell) if isinstance(cell, str) else _number(cell) for cell in row.cells]
        writer.writerow([*cells, as_text(" ".join(address for _, address in row.links))])
    return out.getvalue()


def _number(content: float | None) -> str:
    return "" if content is None else str(content)
