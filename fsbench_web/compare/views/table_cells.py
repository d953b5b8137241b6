"""What a page shows of a delta table: order of rows, columns, cells. Files share the texts."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fsbench_web.compare.selection.table_view import (
    AGAINST_BEST,
    COLUMNS,
    DIFFERENT,
    EQUIVALENT,
    INCONCLUSIVE,
    NOT_KNOWN,
    PAIR,
    TableView,
)
from fsbench_web.compare.selection.wording import change_words
from fsbench_web.compare.tables.columns import Value, columns_of
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats import verdicts
from fsbench_web.core.stats.intervals import REPEATS, SAMPLES, Interval, MedianInterval
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT, Verdict

_ALWAYS = ("score", "behind", "change", "cells", "runs")
"""Those that a table has unless others are chosen, where they say anything."""
_LARGEST_FIRST = ("score", "change", "cells", "runs")
Opened = tuple[str, str]
"""A word, and the sentence that it opens to."""


class Cell(NamedTuple):
    """``sub``, ``opens``: below the text. ``is_printed``: by a paper; ``expected``: if wrong."""

    text: str
    title: str = ""
    sub: str = ""
    opens: tuple[Opened, ...] = ()
    is_printed: bool = False
    expected: str = ""


@dataclass(frozen=True)
class Column:
    """A heading and what ``cell`` makes of a row. ``sort`` is a key of SORTS, about."""

    slug: str
    heading: str
    cell: Callable[[DeltaRow], Cell]
    sort: str = ""
    title: str = ""
    classes: str = "num"
    sorted_by: str = ""

    @property
    def order_now(self) -> str:
        """``aria-sort``; "" where the rows are in another order. Usually the worst is first."""
        if self.sort == "delta":
            return {"": "descending", "best": "ascending"}.get(self.sorted_by, "")
        if self.sorted_by.removeprefix("-") != self.sort:
            return ""
        return "descending" if self.sorted_by.startswith("-") else "ascending"

    @property
    def order_next(self) -> str:
        if self.sort == "delta":
            return "" if self.sorted_by == "best" else "best"
        if self.sorted_by.removeprefix("-") != self.sort:
            return f"-{self.sort}" if self.sort in _LARGEST_FIRST else self.sort
        return self.sort if self.sorted_by.startswith("-") else f"-{self.sort}"


def page_columns(table: DeltaTable, view: TableView) -> list[Column]:
    """The columns after the contender, pinned ones first."""
    slugs = view.columns or _ALWAYS
    columns = [
        column
        for slug in COLUMNS
        if slug in slugs or slug in view.pinned
        for column in _columns(slug, table, view)
    ]
    pinned = [column for column in columns if column.slug in view.pinned]
    rest = [column for column in columns if column.slug not in view.pinned]
    return [replace(column, classes=f"{column.classes} pin".strip()) for column in pinned] + rest


def contender_column(view: TableView) -> Column:
    return Column(
        *("contender", "Entry", lambda row: Cell(row.contender), "contender"),
        classes="",
        sorted_by=view.sort,
    )


def _columns(slug: str, table: DeltaTable, view: TableView) -> list[Column]:
    """The columns of the table that ``slug`` stands for: none where it says nothing."""

    def column(
        heading: str, cell: Callable[[DeltaRow], Cell], sort: str = slug, title: str = ""
    ) -> Column:
        return Column(slug, heading, cell, sort, title, sorted_by=view.sort)

    if slug == "score":
        return [column("Score", _score(table, view))]
    if slug == "interval":
        return [
            column(
                "95% interval",
                lambda row: (
                    Cell("", opens=opened)
                    if (opened := _interval(table, row, view))
                    else Cell(numbers.MISSING)
                ),
            )
        ]
    if slug == "behind":
        is_pair = view.deltas == PAIR or (
            table.has_published_values and view.deltas != AGAINST_BEST
        )
        if not is_pair:
            return [column("Against the best, %", _behind(table, view), "delta")]
        return [
            column("Delta 1, %", _delta(table, view, 1), "delta"),
            column("Delta 2, %", _delta(table, view, 2), ""),  # its order is that of delta 1
        ]
    if slug == "change":
        title = f"By how much faster than {table.baseline}, negative: slower"
        heading = f"Against {table.baseline}, %"
        return [column(heading, _change(table, view), title=title)] if table.baseline else []
    if slug == "share":
        title = (
            "The score in percent of what its LUN did of the same requests, without a file "
            "system, in the same blocks"
        )
        return [column("Of the LUN, %", _share(view), title=title)] if table.has_shares else []
    if slug == "cells":
        title = "Data points that the score is made of, of those that its workload has"
        is_shown = table.has_coverage or slug in view.columns
        return [_plain(table, view, slug, "cells", title)] if is_shown else []
    if slug == "runs":
        is_shown = (table.has_runs and not table.runs_of_each) or slug in view.columns
        return [_plain(table, view, slug, "n")] if is_shown else []
    return [_plain(table, view, slug, "study_title" if slug == "study" else slug)]


def _plain(table: DeltaTable, view: TableView, slug: str, name: str, title: str = "") -> Column:
    column = columns_of(table)[name]
    classes = "num folds" if column.kind == "number" else ""
    return Column(
        *(slug, COLUMNS[slug], lambda row: Cell(column.text(row)), slug, title),
        classes,
        view.sort,
    )


def _score(table: DeltaTable, view: TableView) -> Callable[[DeltaRow], Cell]:
    has_interval = "interval" not in view.columns
    has_share = "share" not in (*view.columns, *view.pinned)
    is_plain = view.is_exact or table.has_published_rows

    def cell(row: DeltaRow) -> Cell:
        score = repr(row.score) if view.is_exact else table.amount(row.score, row.shown_half_width)
        if is_plain:
            title = f"Printed: {row.printed_words}" if row.printed_unit is not None else ""
        else:
            title = _exact_words(table, row)
        opened = _interval(table, row, view) if has_interval else ()
        if has_share and row.share is not None:
            text = "not of the disk" if row.share.is_not_of_the_disk else row.share.short
            opened = (*opened, (text, row.share.sentence()))
        return Cell(score, title, opens=opened)

    return cell


def _exact_words(table: DeltaTable, row: DeltaRow) -> str:
    """The number as it is stored, and as its tool printed it where that is another."""
    unit = f" {table.unit}" if table.unit != "score" else ""
    printed = f"; printed: {row.printed_words}" if row.printed_unit is not None else ""
    return f"{row.score!r}{unit}{printed}"


def _interval(table: DeltaTable, row: DeltaRow, view: TableView) -> tuple[Opened, ...]:
    """The interval of a score: around what and of what on demand, exact where that is asked."""
    if row.interval is None:
        return ()
    short = half_width(row.interval, table.unit)
    of = "" if row.interval.of == REPEATS else f" of {row.interval.of}"
    sentence = interval_sentence(row.interval, table.unit, table.harmonic_mean_of(row))
    if view.is_exact:
        interval, unit = row.interval, "" if table.unit == "score" else f" {table.unit}"
        short = f"{interval.low!r} to {interval.high!r}"
        sentence += f" Exactly {short}{unit}, around {interval.mean!r}{unit}."
    if median := row.median:
        sentence += f" {median_sentence(median, row.interval, table.unit)}"
    return ((f"{short}{of}", sentence),)


def _delta(table: DeltaTable, view: TableView, number: int) -> Callable[[DeltaRow], Cell]:
    """Delta 1, which has the verdict, or delta 2: with what a paper printed."""
    name = f"delta{number}_percent"
    has_standing = number == 1 and uncertainty.has_standing(table)

    def cell(row: DeltaRow) -> Cell:
        value: float | None = getattr(row, name)
        is_exact = view.is_exact and value is not None
        text = repr(value) if is_exact else numbers.percent(value)
        words = uncertainty.verdict_words(row) if has_standing else ""
        shown = Cell(text, opens=_standing(words, row.verdict))
        published = row.published
        if not table.has_published_values:
            return shown
        if published is None or getattr(published, name) is None:
            return shown._replace(sub="not printed")
        expected = published.expected1 if number == 1 else published.expected2
        return shown._replace(
            sub=str(getattr(published, name)),
            is_printed=True,
            expected=numbers.percent(expected) if name in published.differs else "",
        )

    return cell


def _behind(table: DeltaTable, view: TableView) -> Callable[[DeltaRow], Cell]:
    has_standing, is_alone = uncertainty.has_standing(table), len(table.rows) == 1

    def cell(row: DeltaRow) -> Cell:
        if is_alone:
            return Cell(numbers.MISSING)
        percent = row.delta1_percent
        words = uncertainty.verdict_words(row) if has_standing else ""
        signed = _signed(None if percent is None else -percent, row.verdict, view)
        return signed._replace(opens=_standing(words, row.verdict))

    return cell


def _change(table: DeltaTable, view: TableView) -> Callable[[DeltaRow], Cell]:
    has_standing = uncertainty.has_change_standing(table)

    def cell(row: DeltaRow) -> Cell:
        words = uncertainty.change_standing(row) if has_standing else ""
        signed = _signed(row.change_percent, row.change_verdict, view)
        below = change_words(row.change_percent, row.is_baseline)
        return signed._replace(sub=below, opens=_standing(words, row.change_verdict))

    return cell


def _signed(value: float | None, verdict: Verdict | None, view: TableView) -> Cell:
    """A difference in percent with as many digits as its interval has; all of them on demand."""
    if view.is_exact and value is not None:
        return Cell(repr(value + 0.0))
    half_width = None
    if verdict and verdict.ratio_low is not None and verdict.ratio_high is not None:
        half_width = 50 * (verdict.ratio_high - verdict.ratio_low)
    return Cell(numbers.percent_by_width(value, half_width), f"{value!r}%" if value else "")


def _standing(words: str, verdict: Verdict | None) -> tuple[Opened, ...]:
    """Whether the best is ahead of the row by more than chance (of the best: of all), and why."""
    return ((words, uncertainty.reason_sentences(verdict) if verdict else ""),) if words else ()


def _share(view: TableView) -> Callable[[DeltaRow], Cell]:
    def cell(row: DeltaRow) -> Cell:
        share = row.share
        if share is None:
            return Cell(numbers.MISSING)
        is_exact = view.is_exact and not share.is_unreliable
        text = repr(share.percent) if is_exact else share.percent_words.removesuffix("%")
        spread = share.spread_percent
        short = "one burst" if spread is None else numbers.half_width(spread)
        word = "not of the disk" if share.is_not_of_the_disk else short
        return Cell(text, opens=((word, share.sentence()),))

    return cell


REFERENCE = "reference"
_STATUS = {
    verdicts.SIGNIFICANT: DIFFERENT,
    verdicts.EQUAL: EQUIVALENT,
    verdicts.TIE: INCONCLUSIVE,
    verdicts.UNKNOWN: NOT_KNOWN,
}


_SORTED_BY = {
    "change": "change_percent",
    "share": "share_percent",
    "runs": "n",
    "interval": "interval_percent",
    "study": "study_title",
}
"""The column that an order of rows is by, where it has another name."""


def in_order(table: DeltaTable, sort: str) -> DeltaTable:
    """The table in the order ``sort``, worst first without one; missing values last."""
    if not sort:
        return table
    if sort == "best":
        return replace(table, rows=table.rows[::-1])
    name = sort.removeprefix("-")
    value_of = columns_of(table)[_SORTED_BY.get(name, name)].value_of
    known = [(_natural(value), row) for row in table.rows if (value := value_of(row)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    missing = (row for row in table.rows if value_of(row) is None)
    return replace(table, rows=(*(row for _, row in known), *missing))


def _natural(value: Value) -> Any:
    """A sort key: numbers in text count as numbers, so that 6.9 is before 6.10."""
    if not isinstance(value, str):
        return value
    parts = re.findall("[0-9]+|[^0-9]+", value.lower())
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]


def verdict_of(row: DeltaRow, has_baseline: bool) -> str:
    """The row against the baseline, else the best: a key of VERDICTS; REFERENCE itself."""
    if row.is_baseline if has_baseline else row.best:
        return REFERENCE
    verdict = row.change_verdict if has_baseline else row.verdict
    return NOT_KNOWN if verdict is None else _STATUS[verdict.status]


def distance_percent(row: DeltaRow, has_baseline: bool) -> float | None:
    """How far it is from that one, in percent of its speed; None where that is not defined."""
    value = row.change_percent if has_baseline else row.delta1_percent
    return None if value is None else abs(value)


def worth_percent(row: DeltaRow, has_baseline: bool) -> float:
    """What is worth a decision: the margin of equivalence that the row was judged by."""
    verdict = row.change_verdict if has_baseline else row.verdict
    margin = verdict.equivalence_percent if verdict else None
    return EQUIVALENCE_PERCENT if margin is None else margin


def hidden_places(table: DeltaTable, view: TableView) -> frozenset[int]:
    """The places of hidden rows. A reference row stays as long as any other row is shown."""
    if not view.is_filtered:
        return frozenset()
    has_baseline = bool(table.baseline)
    others = {
        place for place, row in enumerate(table.rows) if verdict_of(row, has_baseline) != REFERENCE
    }
    shown_places = {place for place in others if _is_shown(table.rows[place], has_baseline, view)}
    return frozenset(others - shown_places) if shown_places else frozenset(range(len(table.rows)))


def _is_shown(row: DeltaRow, has_baseline: bool, view: TableView) -> bool:
    verdict, distance = verdict_of(row, has_baseline), distance_percent(row, has_baseline)
    if view.verdicts and verdict not in view.verdicts:
        return False
    if view.least_percent and (distance is None or distance < view.least_percent):
        return False
    return not view.important or (
        verdict == DIFFERENT
        and distance is not None
        and distance >= (view.least_percent or worth_percent(row, has_baseline))
    )


BELOW_ZERO = "It reaches below zero: with this scatter the value may be close to nothing."


def half_width(interval: Interval, unit: str) -> str:
    """``± 2.48%``, or in the unit where the mean is zero."""
    relative = interval.relative_percent
    if relative is None:
        return f"± {numbers.with_unit(interval.half_width, unit)}"
    return numbers.half_width(relative)


def interval_sentence(interval: Interval, unit: str, harmonic: float | None = None) -> str:
    """The interval in words. ``harmonic``: the mean if all repeats did equal work."""
    ends = numbers.with_minus(numbers.span(interval.low, interval.high, unit))
    centre = numbers.with_unit(interval.mean, unit)
    count = f"{interval.count} {interval.of}"
    if interval.of == REPEATS:
        sentences = [f"95% interval {ends} around {centre}, the mean of {count}."]
        if harmonic is not None:
            other = numbers.with_unit(harmonic, unit)
            sentences.append(f"If each did the same work, the harmonic mean counts: {other}.")
    else:
        sentences = [f"95% interval {ends} around {centre}, the mean of {count} of one run."]
        sentences += _dependence(interval)
    if interval.low < 0 < interval.mean:
        sentences.append(BELOW_ZERO)
    return " ".join(sentences)


def _dependence(interval: Interval) -> list[str]:
    """How much neighbouring values of one run are alike."""
    if interval.autocorrelation is None:
        return ["They are all the same."]
    correlation = numbers.with_minus(numbers.number(interval.autocorrelation))
    values = "samples" if interval.of == SAMPLES else "trials"
    sentence = f"Neighbouring {values} correlate by {correlation} (lag 1)."
    return [sentence, *["So the interval is too narrow."] * interval.follows]


def median_sentence(median: MedianInterval, mean: Interval, unit: str) -> str:
    """The median with its interval, and whether the ``mean`` of the same repeats disagrees."""
    text = (
        f"Median {numbers.with_unit(median.median, unit)}, 95% interval "
        f"{numbers.span(median.low, median.high, unit)} (order statistics)."
    )
    if not median.low <= mean.mean <= median.high:
        few = "large" if mean.mean > median.median else "small"
        text += f" The mean lies outside of it: a few repeats are very {few}."
    elif not mean.low <= median.median <= mean.high:
        text += " It lies outside of the interval of the mean: the repeats are skewed."
    return text
