"""The columns of delta tables on pages: texts of ``compare.tables.columns`` with what opens below.

A column is made once for a table and then asked for each row: see ``delta_tables`` for why this is
not a template.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fsbench_web.compare.selection.table_view import (
    AGAINST_BEST,
    COLUMNS,
    PAIR,
    TableView,
)
from fsbench_web.compare.selection.wording import change_words
from fsbench_web.compare.tables.columns import columns_of, half_width_of
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts import intervals, reasons, uncertainty
from fsbench_web.compare.tables.verdicts.intervals import median_sentence
from fsbench_web.compare.templatetags.writing import attribute, escaped
from fsbench_web.core import numbers, readable
from fsbench_web.core.stats.intervals import REPEATS
from fsbench_web.core.stats.significance import Verdict

NOT_PRINTED = '<span class="sub">not printed</span>'
_ALWAYS = ("score", "behind", "change", "cells", "runs")
"""Those that a table has unless others are chosen, where they say anything."""


class Column(NamedTuple):
    """``heading`` and what ``cell`` makes of a row are HTML; ``sort`` is a key of SORTS, about."""

    slug: str
    heading: str
    cell: Callable[[DeltaRow], str]
    sort: str = ""
    is_number: bool = True
    title: str = ""
    classes: str = ""

    @property
    def attributes(self) -> str:
        """Of its cells."""
        classes = " ".join(filter(None, ("num" if self.is_number else "", self.classes)))
        return f' class="{classes}"' if classes else ""

    def head(self, view: TableView, form: str) -> str:
        """Its heading: a button of ``form`` that sorts by it, where there is a form."""
        title = attribute("title", self.title)
        if not self.sort or not form:
            return f'<th scope="col"{self.attributes}{title}>{self.heading}</th>'
        now, following = _orders(self.sort, view.sort)
        return (
            f'<th scope="col"{self.attributes} data-sort="{self.sort}"'
            f"{attribute('aria-sort', now)}{title}>"
            f'<button type="submit" class="sorter" form="{form}" name="sort" value="{following}">'
            f"{self.heading}</button></th>"
        )


_LARGEST_FIRST = ("score", "change", "cells", "runs")


def _orders(name: str, sort: str) -> tuple[str, str]:
    """How a column is sorted now (``aria-sort``, "" if it is not), and the order to ask for next.

    Rows go by how far they are behind the best unless another order is asked for.
    """
    if name == "delta":
        now = {"": "descending", "best": "ascending"}.get(sort, "")
        return now, "" if sort == "best" else "best"
    if sort.removeprefix("-") != name:
        return "", f"-{name}" if name in _LARGEST_FIRST else name
    is_descending = sort.startswith("-")
    return "descending" if is_descending else "ascending", name if is_descending else f"-{name}"


CONTENDER = Column("contender", "Contender", str, "contender", is_number=False)
"""The heading of the first column."""


def page_columns(table: DeltaTable, view: TableView) -> list[Column]:
    """The columns beside the contender, those that are pinned first."""
    slugs = view.columns or _ALWAYS
    columns = [
        column
        for slug in COLUMNS
        if slug in slugs or slug in view.pinned
        for column in _MADE[slug](table, view)
    ]
    pinned = [column for column in columns if _slug(column) in view.pinned]
    rest = [column for column in columns if _slug(column) not in view.pinned]
    return [column._replace(classes=f"pin {column.classes}".strip()) for column in pinned] + rest


def _slug(column: Column) -> str:
    return "behind" if column.slug.startswith("delta") else column.slug


def _score(table: DeltaTable, view: TableView) -> Iterable[Column]:
    has_interval = "interval" not in view.columns
    has_share = "share" not in (*view.columns, *view.pinned)
    is_plain = view.is_exact or table.has_published_rows

    def cell(row: DeltaRow) -> str:
        score = repr(row.score) if view.is_exact else table.amount(row.score, half_width_of(row))
        if is_plain:
            title = f"Printed: {row.printed_words}" if row.printed_unit is not None else ""
        else:
            title = exact_words(table, row)
        if title:
            score = f'<span title="{escaped(title)}">{score}</span>'
        return (
            score
            + (_interval_details(table, row, view) if has_interval else "")
            + (_share_details(row) if has_share else "")
        )

    yield Column("score", "Score", cell, "score")


def exact_words(table: DeltaTable, row: DeltaRow) -> str:
    """The number as it is stored, and as its tool printed it where that is another."""
    unit = f" {table.unit}" if table.unit != "score" else ""
    printed = f"; printed: {row.printed_words}" if row.printed_unit is not None else ""
    return f"{row.score!r}{unit}{printed}"


def _interval_details(table: DeltaTable, row: DeltaRow, view: TableView) -> str:
    """Under a score its interval: around what and of what on demand, exact where that is asked."""
    if row.interval is None:
        return ""
    short = intervals.half_width(row.interval, table.unit)
    of = "" if row.interval.of == REPEATS else f" of {row.interval.of}"
    sentence = intervals.interval_sentence(row.interval, table.unit, table.harmonic_mean_of(row))
    if view.is_exact:
        interval, unit = row.interval, "" if table.unit == "score" else f" {table.unit}"
        short = f"{interval.low!r} to {interval.high!r}"
        sentence += f" Exactly {short}{unit}, around {interval.mean!r}{unit}."
    if median := row.median:
        sentence += f" {median_sentence(median, row.interval, table.unit)}"
    return details(f"{short}{of}", sentence)


def _share_details(row: DeltaRow) -> str:
    """Under a score what it is of what its LUN does by itself."""
    share = row.share
    if share is None:
        return ""
    text = "not of the disk" if share.is_not_of_the_disk else share.short
    return details(text, share.sentence())


def _interval(table: DeltaTable, view: TableView) -> Iterable[Column]:
    def cell(row: DeltaRow) -> str:
        return _interval_details(table, row, view) or numbers.MISSING

    yield Column("interval", "95% interval", cell, "interval")


def _delta_columns(table: DeltaTable, view: TableView) -> Iterable[Column]:
    """How far a row is behind the best: one column, or the paper's pair."""
    is_pair = view.deltas == PAIR or (table.has_published_values and view.deltas != AGAINST_BEST)
    if not is_pair:
        yield Column("behind", "Against the best, %", _of_best(table, view), "delta")
        return
    has_printed, has_standing = table.has_published_values, uncertainty.has_standing(table)

    def delta1(row: DeltaRow) -> str:
        return (
            _delta(row.delta1_percent, view)
            + (_printed(row, "delta1_percent") if has_printed else "")
            + (standing(uncertainty.verdict_words(row), row.verdict) if has_standing else "")
        )

    def delta2(row: DeltaRow) -> str:
        return _delta(row.delta2_percent, view) + (
            _printed(row, "delta2_percent") if has_printed else ""
        )

    yield Column("delta1", "Delta 1, %", delta1, "delta")
    yield Column("delta2", "Delta 2, %", delta2)  # its order is that of delta 1


def _delta(value: float | None, view: TableView) -> str:
    if view.is_exact and value is not None:
        return repr(value)
    return numbers.percent(value)


def _of_best(table: DeltaTable, view: TableView) -> Callable[[DeltaRow], str]:
    has_standing, is_alone = uncertainty.has_standing(table), len(table.rows) == 1

    def cell(row: DeltaRow) -> str:
        if is_alone:
            return numbers.MISSING
        percent = row.delta1_percent
        text = _signed(None if percent is None else -percent, row.verdict, view)
        return text + (
            standing(uncertainty.verdict_words(row), row.verdict) if has_standing else ""
        )

    return cell


def _signed(value: float | None, verdict: Verdict | None, view: TableView) -> str:
    """A difference in percent with as many digits as its interval has; all of them on demand."""
    if view.is_exact and value is not None:
        return repr(value + 0.0)
    text = readable.percent(value, _half_width(verdict))
    return f'<span title="{value!r}%">{text}</span>' if value else text


def _half_width(verdict: Verdict | None) -> float | None:
    """Of the interval of a ratio, in percent."""
    if verdict is None or verdict.ratio_low is None or verdict.ratio_high is None:
        return None
    return 50 * (verdict.ratio_high - verdict.ratio_low)


def _change(table: DeltaTable, view: TableView) -> Iterable[Column]:
    base = escaped(table.baseline)
    if not base:
        return
    has_sure = uncertainty.has_change_standing(table)

    def cell(row: DeltaRow) -> str:
        word = change_words(row.change_percent, row.is_baseline)
        standing_text = (
            standing(uncertainty.change_standing(row), row.change_verdict) if has_sure else ""
        )
        text = _signed(row.change_percent, row.change_verdict, view)
        return f'{text}<span class="sub">{word}</span>{standing_text}'

    yield Column(
        "change",
        f"Against {base}, %",
        cell,
        "change",
        title=f"By how much faster than {table.baseline}, negative: slower",
    )


def _share(table: DeltaTable, view: TableView) -> Iterable[Column]:
    if not table.has_shares:
        return

    def cell(row: DeltaRow) -> str:
        share = row.share
        if share is None:
            return numbers.MISSING
        text = share.percent_words.removesuffix("%")
        if view.is_exact and not share.is_unreliable:
            text = repr(share.percent)
        spread = share.spread_percent
        short = "one burst" if spread is None else numbers.half_width(spread)
        return text + details(
            "not of the disk" if share.is_not_of_the_disk else short, share.sentence()
        )

    yield Column(
        "share",
        "Of the LUN, %",
        cell,
        "share",
        title="The score in percent of what its LUN did of the same requests, without a file "
        "system, in the same blocks",
    )


def _cells(table: DeltaTable, view: TableView) -> Iterable[Column]:
    if table.has_coverage or "cells" in view.columns:
        yield _plain(
            table,
            "cells",
            title="Data points that the score is made of, of those that its workload has",
            classes="folds",
        )


def _runs(table: DeltaTable, view: TableView) -> Iterable[Column]:
    if (table.has_runs and not table.runs_of_each) or "runs" in view.columns:
        yield _plain(table, "runs", "n", classes="folds")


def _text(slug: str, name: str = "") -> "_Maker":
    return lambda table, view: [_plain(table, slug, name)]


def _plain(
    table: DeltaTable, slug: str, name: str = "", *, title: str = "", classes: str = ""
) -> Column:
    """A column of the table as files have it."""
    column = columns_of(table)[name or slug]
    is_number = column.kind == "number"
    return Column(
        *(slug, COLUMNS[slug], lambda row: escaped(column.text(row)), slug, is_number),
        title,
        classes,
    )


_Maker = Callable[[DeltaTable, TableView], Iterable[Column]]
_MADE: dict[str, _Maker] = {
    "score": _score,
    "interval": _interval,
    "behind": _delta_columns,
    "change": _change,
    "share": _share,
    "cells": _cells,
    "runs": _runs,
    "configuration": _text("configuration"),
    "workload": _text("workload"),
    "hardware": _text("hardware"),
    "lun": _text("lun"),
    "kernel": _text("kernel"),
    "study": _text("study", "study_title"),
}


def standing(words: str, verdict: Verdict | None) -> str:
    """Whether the best is ahead of the row by more than chance (of the best: of all), and why."""
    return details(words, reasons.reason_sentences(verdict) if verdict else "") if words else ""


def details(summary: str, text: str) -> str:
    """A word that opens."""
    return (
        f'<details class="why"><summary>{escaped(summary)}</summary>'
        f"<span>{escaped(text)}</span></details>"
    )


def _printed(row: DeltaRow, name: str) -> str:
    """Under a delta what was printed for it, marked in words where it does not follow."""
    published = row.published
    value = None if published is None else getattr(published, name)
    if published is None or value is None:
        return NOT_PRINTED
    text = '<span class="sub"><span class="said">printed </span>'
    if name not in published.differs:
        return f"{text}{escaped(str(value))}</span>"
    expected = published.expected1 if name == "delta1_percent" else published.expected2
    sentence = f"The paper printed {value}; its own table gives {numbers.percent(expected)}."
    return (
        f'{text}<span class="differs" title="{escaped(sentence)}">{escaped(str(value))}</span> '
        "<span>differs</span></span>"
    )
