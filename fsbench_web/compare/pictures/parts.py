"""What the pictures have in common: their table's columns, the runs behind a row, words."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from fsbench_web.compare.pictures.table import COUNT, SIZE, VALUE, Column, Content, Row
from fsbench_web.compare.selection.wording import flag_label
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import SAMPLES, Interval
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.figures.ceilings import Ceilings
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.cells import Repeats

FILE = Column("File size", SIZE)


def block_column(test: str) -> Column:
    """The sizes of records, or of blocks; a file calls both by one name, as it always did."""
    title = f"{testnames.block_word(test).capitalize()} size"
    return Column(title, SIZE, stored_title="Record size")


def run_links(run_ids: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Each run by its own page; more than a handful as one list of them."""
    if len(run_ids) > 5:
        return ((f"{len(run_ids)} runs", address_of(run_ids)),)
    return tuple((f"run {run_id}", address_of([run_id])) for run_id in run_ids)


def link_of(row: DeltaRow) -> str:
    """The runs behind a row, or the study that published it."""
    return address_of(row.run_ids) or reverse("studies:study", args=[row.study])


def links_of(row: DeltaRow) -> tuple[tuple[str, str], ...]:
    """The same as words and addresses, each run by itself."""
    return run_links(row.run_ids) or (
        (row.study_title, reverse("studies:study", args=[row.study])),
    )


def ends_of(row: DeltaRow) -> tuple[float, float] | None:
    """The ends of its interval."""
    return (row.interval.low, row.interval.high) if row.interval else None


def bars_of(table: DeltaTable) -> dict[str, Any]:
    """Keywords of ``figures.bars.best_case`` for the rows, without labels and title."""
    rows, scale = table.rows[::-1], table.scale
    times = scale.divisor
    return {
        "values": [table.bar_of(row) / times for row in rows],
        "unit": scale.unit,
        "lower_is_better": table.lower_is_better,
        "best": [table.mark_of(row) == "best" for row in rows],
        "errors": [ends and (ends[0] / times, ends[1] / times) for ends in map(ends_of, rows)],
        "links": [link_of(row) for row in rows],
        "repeats": [tuple(repeat / times for repeat in row.repeats) for row in rows],
        "scores": [row.score / times if table.shows_mean(row) else None for row in rows],
        "names": [row.contender for row in rows],
        "counts": [row.runs for row in rows],
        "ceilings": ceilings_of(rows, times),
    }


def is_lower(unit: str) -> bool:
    """Whether less is better; False where nobody said so, which a note then says."""
    return is_known(unit) and lower_is_better(unit)


def unknown_unit(unit: str) -> list[str]:
    return [] if is_known(unit) else [f'Nobody said whether more or less of "{unit}" is better.']


def note(repeats: Repeats) -> str:
    count = len(repeats.values)
    words = [f"mean of {count} runs" if count > 1 else f"run {repeats.run_ids[0]}"]
    return ", ".join([*words, *(flag_label(flag) for flag in repeats.flags)])


def load_column(axis: str) -> Column:
    """The number of what a load varies; files call a queue depth as they always did."""
    stored_title = "Outstanding I/O" if axis in loads.DEPTHS else ""
    return Column(loads.label(axis).capitalize(), COUNT, stored_title=stored_title)


def repeats_columns(unit: str) -> list[Column]:
    """Those of ``repeats_row``, after what it is of."""
    return [Column("Mean", VALUE, unit), *interval_columns(unit), Column("Flags")]


def repeats_row(subject: Sequence[Content], repeats: Repeats) -> Row:
    """The mean of repeats with its interval and its flags; ``subject`` says of what."""
    flags = ", ".join(flag_label(flag) for flag in repeats.flags)
    cells = (*subject, repeats.mean, *interval_cells(repeats.interval), flags)
    return Row(cells, run_links(repeats.run_ids))


def interval_columns(unit: str) -> list[Column]:
    return [
        Column("95% low", VALUE, unit),
        Column("95% high", VALUE, unit),
        Column("Interval of"),
    ]


def interval_cells(interval: Interval | None) -> tuple[float | None, float | None, str]:
    if interval is None:
        return None, None, ""
    words = "interval samples" if interval.of == SAMPLES else interval.of
    return interval.low, interval.high, f"{interval.count} {words}"


def ceilings_of(rows: Sequence[DeltaRow], divisor: float = 1.0) -> Ceilings:
    """Those of ``rows``, in their unit divided by ``divisor``; a row without a share has none."""
    shares = [row.share for row in rows]
    subjects = {share.of for share in shares if share is not None}
    return Ceilings(
        tuple(share.ceiling / divisor if share is not None else None for share in shares),
        next(iter(subjects)) if len(subjects) == 1 else "",
        tuple(_ceiling_words(share) for share in shares),
    )


def _ceiling_words(share: Share | None) -> str:
    if share is None:
        return ""
    return share.short if share.is_unreliable else f"{share.short} itself"
