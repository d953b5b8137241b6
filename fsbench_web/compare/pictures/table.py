"""The numbers of a chart: a table for pages and CSV, the runs behind each, bars and lines."""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
from django.urls import reverse

from fsbench_web.compare.selection.wording import flag_label
from fsbench_web.compare.tables.columns import ColumnOf
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable, shown_names
from fsbench_web.core.numbers import as_text
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import SAMPLES, Interval
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.figures import bars
from fsbench_web.figures.bars import Bar
from fsbench_web.figures.ceilings import Ceilings
from fsbench_web.figures.lines import Line, Point
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.cells import Repeats

Row = TypeVar("Row")
Content = str | float | None
Links = tuple[tuple[str, str], ...]
"""(words, address)"""


@dataclass(frozen=True)
class ChartColumn(ColumnOf[Row]):
    """``name``: its heading in files. ``exact``: the stored number if pages show another unit."""

    name: str = ""
    exact: Callable[[Row], str] = lambda _: ""

    @property
    def is_number(self) -> bool:
        return self.kind == "number"


@dataclass(frozen=True)
class PictureTable(Generic[Row]):
    """What a picture is made of, row by row, and the runs behind each row."""

    columns: Sequence[ChartColumn[Row]]
    rows: Sequence[Row]
    links_of: Callable[[Row], Links]

    @property
    def written(self) -> list[tuple[list[tuple[str, bool, str]], Links]]:
        """(text, is a number, stored number) of every cell, and the links of each row."""
        return [
            (
                [
                    (column.text(row), column.is_number, column.exact(row))
                    for column in self.columns
                ],
                self.links_of(row),
            )
            for row in self.rows
        ]


def as_csv(table: PictureTable[Any]) -> str:
    """The table with numbers unrounded and sizes in KB; text that no spreadsheet will run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*(as_text(column.name) for column in table.columns), "runs"])
    for row in table.rows:
        cells = [_stored(column.value_of(row)) for column in table.columns]
        addresses = " ".join(address for _, address in table.links_of(row))
        writer.writerow([*cells, as_text(addresses)])
    return out.getvalue()


def _stored(content: object) -> str:
    if isinstance(content, str):
        return as_text(content)
    return "" if content is None else str(content)


def text(title: str, value_of: Callable[[Row], str], name: str = "") -> ChartColumn[Row]:
    return ChartColumn(
        *(title, "text", value_of, lambda row: value_of(row) or numbers.MISSING), name=name or title
    )


def value(
    title: str, unit: str, value_of: Callable[[Row], float | None], name: str = ""
) -> ChartColumn[Row]:
    """Values in ``unit``; pages write them in the unit that people read."""
    heading = f"{title}, {numbers.unit_name(unit)}" if unit else title
    return ChartColumn(
        *(heading, "number", value_of, lambda row: numbers.amount(value_of(row), unit)),
        name=f"{name or title}, {unit}" if unit else name or title,
        exact=lambda row: numbers.exact_amount(value_of(row), unit),
    )


def count(title: str, value_of: Callable[[Row], float | None], name: str = "") -> ChartColumn[Row]:
    def words(row: Row) -> str:
        number = value_of(row)
        return numbers.MISSING if number is None else f"{number:,.0f}"

    return ChartColumn(title, "number", value_of, words, name=name or title)


def size(title: str, value_of: Callable[[Row], float], name: str = "") -> ChartColumn[Row]:
    """Sizes in KB."""
    return ChartColumn(
        *(title, "number", value_of, lambda row: numbers.benchmark_size(value_of(row))),
        name=f"{name or title} KB",
    )


def sizes(test: str, cell_of: Callable[[Row], tuple[int, int]]) -> list[ChartColumn[Row]]:
    """The record size, or block size, and the file size; a file calls both by one name."""
    title = f"{testnames.block_word(test).capitalize()} size"
    return [
        size(title, lambda row: cell_of(row)[0], "Record size"),
        size("File size", lambda row: cell_of(row)[1]),
    ]


def load(axis: str, value_of: Callable[[Row], float]) -> ChartColumn[Row]:
    """The number of what a load varies; files call a queue depth as they always did."""
    name = "Outstanding I/O" if axis in loads.DEPTHS else ""
    return count(loads.label(axis).capitalize(), value_of, name)


def interval(unit: str) -> list[ChartColumn[Any]]:
    """The 95% interval of rows that have an ``interval``, and what it is of."""
    return [
        value("95% low", unit, lambda row: row.interval.low if row.interval else None),
        value("95% high", unit, lambda row: row.interval.high if row.interval else None),
        text("Interval of", lambda row: _interval_of(row.interval)),
    ]


def _interval_of(of_row: Interval | None) -> str:
    if of_row is None:
        return ""
    return f"{of_row.count} {'interval samples' if of_row.of == SAMPLES else of_row.of}"


@dataclass(frozen=True)
class Drawn:
    """A number of a line chart, where it stands, and its runs. ``at``: its place in the table."""

    name: str
    x: float
    value: float
    interval: Interval | None
    note: str
    link: str
    links: Links
    flags: str = ""
    at: tuple[Any, ...] = ()

    @classmethod
    def of_repeats(cls, name: str, x: float, repeats: Repeats, *at: object) -> "Drawn":
        """The mean of the repeats of one cell."""
        flags = [flag_label(flag) for flag in repeats.flags]
        return cls(
            *(name, x, repeats.mean, repeats.interval, note(repeats)),
            *(address_of(repeats.run_ids), run_links(repeats.run_ids), ", ".join(flags), at),
        )

    @classmethod
    def of_row(cls, x: float, row: DeltaRow, *at: object) -> "Drawn":
        """The score of a row of a delta table."""
        return cls(
            *(row.contender, x, row.score, row.interval, row.configuration or ""),
            *(link_of(row), links_of(row), "", at),
        )

    @property
    def point(self) -> Point:
        return Point(self.x, self.value, ends_of(self.interval), self.note, self.link)


def lines_of(drawn: Iterable[Drawn]) -> list[Line]:
    """A line for each name, in the order in which they come."""
    points: dict[str, list[Point]] = {}
    for each in drawn:
        points.setdefault(each.name, []).append(each.point)
    return [Line(name, of_one) for name, of_one in points.items()]


def drawn_table(
    drawn: Sequence[Drawn],
    places: Sequence[ChartColumn[Drawn]],
    unit: str,
    title: str = "Mean",
    *,
    has_flags: bool = False,
) -> PictureTable[Drawn]:
    """The table of a line chart: ``places`` say where each number stands."""
    flags: list[ChartColumn[Drawn]] = [text("Flags", lambda row: row.flags)] if has_flags else []
    columns = [*places, value(title, unit, lambda row: row.value), *interval(unit), *flags]
    return PictureTable(columns, drawn, lambda row: row.links)


CONTENDER: ChartColumn[Any] = text("Entry", lambda row: row.name, "Contender")


def run_links(run_ids: Sequence[int]) -> Links:
    """Each run by its own page; more than a handful as one list of them."""
    if len(run_ids) > 5:
        return ((f"{len(run_ids)} runs", address_of(run_ids)),)
    return tuple((f"run {run_id}", address_of([run_id])) for run_id in run_ids)


def link_of(row: DeltaRow) -> str:
    """The runs behind a row, or the study that published it."""
    return address_of(row.run_ids) or reverse("studies:study", args=[row.study])


def links_of(row: DeltaRow) -> Links:
    """The same as words and addresses, one for each run."""
    return run_links(row.run_ids) or (
        (row.study_title, reverse("studies:study", args=[row.study])),
    )


def ends_of(of_row: Interval | None) -> tuple[float, float] | None:
    return (of_row.low, of_row.high) if of_row else None


def note(repeats: Repeats) -> str:
    runs = len(repeats.values)
    words = [f"mean of {runs} runs" if runs > 1 else f"run {repeats.run_ids[0]}"]
    return ", ".join([*words, *(flag_label(flag) for flag in repeats.flags)])


def is_lower(unit: str) -> bool:
    """Whether less is better; False for an unknown unit."""
    return is_known(unit) and lower_is_better(unit)


def unknown_unit(unit: str) -> list[str]:
    return (
        [] if is_known(unit) else [f'It is not known whether more or less of "{unit}" is better.']
    )


def bar_chart(table: DeltaTable, among: Collection[str] = ()) -> go.Figure:
    """The rows as bars, best first. ``among`` are all contenders of the page."""
    rows, scale = table.rows[::-1], table.scale
    names = shown_names([*among, *(row.contender for row in rows)])

    def shown(number: float) -> float:
        return numbers.scaled(number / scale.divisor, scale.unit)

    def bar(row: DeltaRow) -> Bar:
        ends = ends_of(row.interval)
        return Bar(
            names[row.contender],
            shown(table.bar_of(row)),
            table.mark_of(row) == "best",
            ends and (shown(ends[0]), shown(ends[1])),
            tuple(map(shown, row.repeats)),
            shown(row.score) if table.shows_mean(row) else None,
            link=link_of(row),
            runs=row.runs,
        )

    shares = [row.share for row in rows]
    subjects = {share.of for share in shares if share is not None}
    return bars.best_case(
        [bar(row) for row in rows],
        numbers.unit_name(scale.unit),
        f"{testnames.label(table.test)}: {table.category_in_sentence}",
        table.lower_is_better,
        [names[name] for name in among],
        Ceilings(
            tuple(shown(share.ceiling) if share is not None else None for share in shares),
            subjects.pop() if len(subjects) == 1 else "",
            tuple(map(_ceiling_words, shares)),
        ),
    )


def _ceiling_words(share: Share | None) -> str:
    if share is None:
        return ""
    return share.short if share.is_unreliable else f"{share.short} itself"
