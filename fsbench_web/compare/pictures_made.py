"""The pictures of a comparison, each with the table of its numbers and what it does not show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import plotly.graph_objects as go

from fsbench_web.compare.pictures_offer import Contender
from fsbench_web.compare.pictures_table import COUNT, SIZE, VALUE, Column, PictureTable, Row
from fsbench_web.compare.wording import flag_label
from fsbench_web.figures import heatmap, lines, numbers, strip, surface
from fsbench_web.figures.lines import Line, Point
from fsbench_web.figures.sizes import size_name
from fsbench_web.scoring import loads, testnames
from fsbench_web.scoring.confidence import REPEATS, Interval
from fsbench_web.scoring.quality import FLAGS as FLAGS_OF_CELLS
from fsbench_web.scoring.quality import ordered
from fsbench_web.scoring.units import is_known, lower_is_better
from fsbench_web.studies import run_quality
from fsbench_web.studies.cells import Cell, LoadCurve, Matrix, Repeats, RepeatsOfSeries
from fsbench_web.studies.run_list import address_of

Found = TypeVar("Found", Matrix, RepeatsOfSeries)


@dataclass(frozen=True)
class Picture:
    """A figure, its numbers, and sentences about what is missing from it.

    Without a figure the sentences say why there is none.
    """

    figure: go.Figure | None
    table: PictureTable | None = None
    notes: list[str] = field(default_factory=list)


RECORD, FILE = Column("Record size", SIZE), Column("File size", SIZE)
FLAGS = Column("Flags")


def matrix(
    test: str,
    contender: Contender,
    found: Sequence[Matrix],
    kind: str,
    quality: Mapping[str, Any] | None = None,
) -> Picture:
    """The heat map or the 3-D surface of one contender.

    ``quality`` is of its series: flagged cells are hatched and the cache boundary is a line.
    """
    if not found:
        return Picture(None, notes=[f"{contender.name} has no matrix of {testnames.label(test)}."])
    shown = max(found, key=lambda one: len(one.cells))
    means = {cell: repeats.mean for cell, repeats in shown.cells.items()}
    links = {cell: address_of(repeats.run_ids) for cell, repeats in shown.cells.items()}
    notes = {cell: _note(repeats) for cell, repeats in shown.cells.items()}
    title = f"{testnames.label(test)}: {contender.name}{_of_runs(shown.cells.values())}"
    less = is_lower(shown.unit)
    if kind == "surface":
        figure = surface.surface(means, shown.unit, title, less, links=links, notes=notes)
    else:
        figure = heatmap.matrix(
            means,
            shown.unit,
            title,
            less,
            links=links,
            notes=notes,
            flagged=_flagged(shown.cells),
            edges=run_quality.edges(quality, test),
        )
    columns = [RECORD, FILE, _mean(shown.unit), *_interval_columns(shown.unit), FLAGS]
    rows = [
        Row(
            (*cell, repeats.mean, *_interval_cells(repeats.interval), _flags(repeats)),
            run_links(repeats.run_ids),
        )
        for cell, repeats in sorted(shown.cells.items())
    ]
    said = [_blank_cells(shown.cells), *_other_units(found, shown), *_unknown_unit(shown.unit)]
    if kind == "surface":
        said.append(
            "The surface joins neighbouring cells for the eye; measured are the markers alone."
        )
    return Picture(figure, PictureTable(columns, rows), [text for text in said if text])


def ratio(test: str, first: Contender, second: Contender, found: Sequence[Matrix]) -> Picture:
    """How many times as fast ``first`` is as ``second``, in the cells that both have."""
    of_first = {one.unit: one for one in found if one.series_id == first.key}
    of_second = {one.unit: one for one in found if one.series_id == second.key}
    units = [unit for unit in of_first if unit in of_second]
    if not units:
        text = f"{first.name} and {second.name} have no cell of {testnames.label(test)} in common"
        return Picture(None, notes=[f"{text}, or none in the same unit."])
    unit = max(units, key=lambda one: len(of_first[one].cells.keys() & of_second[one].cells.keys()))
    ours, theirs = of_first[unit].cells, of_second[unit].cells
    less = is_lower(unit)
    matched = sorted(ours.keys() & theirs.keys())
    ratios = {
        cell: theirs[cell].mean / ours[cell].mean if less else ours[cell].mean / theirs[cell].mean
        for cell in matched
        if ours[cell].mean > 0 and theirs[cell].mean > 0
    }
    links = {cell: address_of([*ours[cell].run_ids, *theirs[cell].run_ids]) for cell in ratios}
    notes = {
        cell: f"{first.name} {numbers.with_unit(ours[cell].mean, unit)}, "
        f"{second.name} {numbers.with_unit(theirs[cell].mean, unit)}"
        for cell in ratios
    }
    title = f"{testnames.label(test)}: speed of {first.name} over speed of {second.name}"
    figure = heatmap.ratio(ratios, first.name, second.name, title, links, notes)
    columns = [
        RECORD,
        FILE,
        Column(f"Mean of {first.name}", VALUE, unit),
        Column(f"Mean of {second.name}", VALUE, unit),
        Column("Times as fast", VALUE),
    ]
    rows = [
        Row(
            (*cell, ours[cell].mean, theirs[cell].mean, ratios.get(cell)),
            (*run_links(ours[cell].run_ids), *run_links(theirs[cell].run_ids)),
        )
        for cell in matched
    ]
    said = [
        ("1 cell is matched." if len(matched) == 1 else f"{len(matched)} cells are matched.")
        + _only(first.name, ours.keys() - theirs.keys())
        + _only(second.name, theirs.keys() - ours.keys()),
        f"{len(matched) - len(ratios)} matched cells hold a zero and have no ratio."
        if len(ratios) < len(matched)
        else "",
        "Times are taken as speeds (1 / time), so that more is faster." if less else "",
        *_unknown_unit(unit),
    ]
    return Picture(figure, PictureTable(columns, rows), [text for text in said if text])


def profile(
    test: str,
    contenders: Sequence[Contender],
    found: Sequence[Matrix],
    record_kb: int | None,
    file_kb: int | None,
) -> Picture:
    """A line for each contender, at one record size or one file size."""
    kept, unit, said = _of_one_unit(contenders, found)
    if not kept:
        return Picture(None, notes=["No contender was measured at this size: choose another."])
    along = 0 if record_kb is None else 1

    def x(cell: Cell) -> int:
        return cell[along]

    drawn = [
        Line(
            contender.name,
            [_point(x(cell), repeats) for cell, repeats in sorted(one.cells.items())],
        )
        for contender, one in kept
    ]
    at = (
        f"record {size_name(record_kb)}"
        if record_kb is not None
        else f"file {size_name(file_kb or 0)}"
    )
    places = {point.x for line in drawn for point in line.points}
    figure = lines.curves(
        drawn,
        unit,
        f"{testnames.label(test)} at {at}",
        "file size" if along else "record size",
        {place: size_name(place) for place in places},
        is_lower(unit),
    )
    columns = [Column("Contender"), RECORD, FILE, _mean(unit), *_interval_columns(unit), FLAGS]
    rows = [
        Row(
            (
                contender.name,
                *cell,
                repeats.mean,
                *_interval_cells(repeats.interval),
                _flags(repeats),
            ),
            run_links(repeats.run_ids),
        )
        for contender, one in kept
        for cell, repeats in sorted(one.cells.items())
    ]
    gaps = [
        f"{contender.name} was not measured at {len(places) - len(one.cells)} of the sizes: "
        "its line has gaps there."
        for contender, one in kept
        if len(one.cells) < len(places)
    ]
    return Picture(figure, PictureTable(columns, rows), [*said, *gaps, *_unknown_unit(unit)])


def load(test: str, contenders: Sequence[Contender], found: Sequence[LoadCurve]) -> Picture:
    """A curve for each contender over the load, each number with its interval."""
    if not found:
        return Picture(None, notes=[f"{testnames.label(test)} was not measured at several loads."])
    names = {contender.key: contender.name for contender in contenders}
    unit = max((one.unit for one in found), key=[one.unit for one in found].count)
    curves = [one for one in found if one.unit == unit and one.series_id in names]
    axis = loads.varied(load for one in curves for load in one.loads)
    parts: dict[str, list[tuple[float, str, Repeats]]] = {}
    order = {contender.key: place for place, contender in enumerate(contenders)}
    has_sizes = len({one.sizes for one in curves}) > 1
    for one in sorted(curves, key=lambda one: order[one.series_id]):
        for text, repeats in one.loads.items():
            number, rest = loads.split(text, axis)
            if number is None:
                continue
            record, file = one.sizes
            extra = [
                *([f"record {size_name(record)}"] if has_sizes and record else []),
                *([f"file {size_name(file)}"] if has_sizes and file else []),
                *([rest] if rest else []),
            ]
            name = ", ".join([names[one.series_id], *extra])
            parts.setdefault(name, []).append((number, text, repeats))
    drawn = list(parts.items())[: lines.MOST_LINES]
    if not drawn:
        return Picture(None, notes=["The loads of these measurements name no number to draw by."])
    figure = lines.curves(
        [
            Line(name, [_point(number, repeats) for number, _, repeats in points])
            for name, points in drawn
        ],
        unit,
        f"{testnames.label(test)} over {loads.label(axis)}",
        loads.label(axis),
        lower_is_better=is_lower(unit),
    )
    columns = [
        Column("Contender"),
        Column("Load"),
        Column(loads.label(axis).capitalize(), COUNT),
        _mean(unit),
        *_interval_columns(unit),
        FLAGS,
    ]
    rows = [
        Row(
            (
                name,
                text,
                number,
                repeats.mean,
                *_interval_cells(repeats.interval),
                _flags(repeats),
            ),
            run_links(repeats.run_ids),
        )
        for name, points in drawn
        for number, text, repeats in sorted(points, key=lambda point: point[0])
    ]
    alone = sum(1 for _, points in drawn for _, _, repeats in points if not repeats.interval)
    said = [
        f"{alone} of {len(rows)} numbers have no interval: a single run without interval samples."
        if alone
        else "",
        f"{len(parts) - len(drawn)} further curves are not drawn: choose fewer contenders."
        if len(parts) > len(drawn)
        else "",
        *_unknown_unit(unit),
    ]
    return Picture(figure, PictureTable(columns, rows), [text for text in said if text])


def repeats(
    test: str,
    contenders: Sequence[Contender],
    found: Sequence[RepeatsOfSeries],
    record_kb: int | None,
    file_kb: int | None,
) -> Picture:
    """A strip for each contender, a point for each run."""
    kept, unit, said = _of_one_unit(contenders, found)
    if not kept:
        return Picture(None, notes=["No run measured this cell: choose another size."])
    is_mean = any(count > 1 for _, one in kept for count in one.cells)
    at = [
        *([f"record {size_name(record_kb)}"] if record_kb is not None else []),
        *([f"file {size_name(file_kb)}"] if file_kb is not None else []),
    ]
    what = (["mean of each run"] if is_mean else []) + at
    figure = strip.repeats(
        [
            strip.Strip(
                contender.name,
                one.repeats.values,
                [address_of([run_id]) for run_id in one.repeats.run_ids],
                [
                    f"run {run_id}" + (f", {count} cells" if count > 1 else "")
                    for run_id, count in zip(one.repeats.run_ids, one.cells, strict=True)
                ],
                one.repeats.interval,
            )
            for contender, one in kept
        ],
        unit,
        ": ".join([f"{testnames.label(test)}, repeats", *([", ".join(what)] if what else [])]),
        is_lower(unit),
    )
    columns = [
        Column("Contender"),
        Column("Run"),
        Column("Mean of its cells" if is_mean else "Value", VALUE, unit),
        Column("Cells", COUNT),
    ]
    rows = [
        Row((contender.name, f"run {run_id}", value, count), run_links([run_id]))
        for contender, one in kept
        for run_id, value, count in zip(
            one.repeats.run_ids, one.repeats.values, one.cells, strict=True
        )
    ]
    single = [contender.name for contender, one in kept if len(one.cells) == 1]
    uneven = [contender.name for contender, one in kept if len(set(one.cells)) > 1]
    said += [f"Of one run there is no interval: {', '.join(single)}."] if single else []
    said += (
        [f"Runs of {', '.join(uneven)} have different cells: their means are of unlike sets."]
        if uneven
        else []
    )
    return Picture(figure, PictureTable(columns, rows), [*said, *_unknown_unit(unit)])


def run_links(run_ids: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Each run by its own page; more than a handful as one list of them."""
    if len(run_ids) > 5:
        return ((f"{len(run_ids)} runs", address_of(run_ids)),)
    return tuple((f"run {run_id}", address_of([run_id])) for run_id in run_ids)


def is_lower(unit: str) -> bool:
    """Whether less is better; False where nobody said so, which a note then says."""
    return is_known(unit) and lower_is_better(unit)


def _unknown_unit(unit: str) -> list[str]:
    return [] if is_known(unit) else [f'Nobody said whether more or less of "{unit}" is better.']


def _of_one_unit(
    contenders: Sequence[Contender], found: Sequence[Found]
) -> tuple[list[tuple[Contender, Found]], str, list[str]]:
    """What is in the commonest unit, by contender; and sentences about what is not."""
    units = [one.unit for one in found]
    if not units:
        return [], "", []
    unit = max(units, key=units.count)
    measured = {one.series_id for one in found}
    right = {one.series_id: one for one in found if one.unit == unit}
    kept = [(one, right[one.key]) for one in contenders if one.key in right]
    said = [
        f"{one.name} is not drawn: "
        + ("it is measured in another unit." if one.key in measured else "it has no such number.")
        for one in contenders
        if one.key not in right
    ]
    return kept, unit, said


def _point(x: float, repeats: Repeats) -> Point:
    interval = repeats.interval
    return Point(
        x,
        repeats.mean,
        (interval.low, interval.high) if interval else None,
        _note(repeats),
        address_of(repeats.run_ids),
    )


def _note(repeats: Repeats) -> str:
    count = len(repeats.values)
    words = [f"mean of {count} runs" if count > 1 else f"run {repeats.run_ids[0]}"]
    return ", ".join([*words, *(flag_label(flag) for flag in repeats.flags)])


def _flags(repeats: Repeats) -> str:
    return ", ".join(flag_label(flag) for flag in repeats.flags)


def _flagged(cells: Mapping[Cell, Repeats]) -> dict[str, list[Cell]]:
    """The cells of each flag, {what the legend says: cells}."""
    present = {flag for repeats in cells.values() for flag in repeats.flags}
    return {
        FLAGS_OF_CELLS[slug].of_cells if slug in FLAGS_OF_CELLS else slug: [
            cell for cell, repeats in cells.items() if slug in repeats.flags
        ]
        for slug in ordered(present)
    }


def _mean(unit: str) -> Column:
    return Column("Mean", VALUE, unit)


def _interval_columns(unit: str) -> list[Column]:
    return [
        Column("95% low", VALUE, unit),
        Column("95% high", VALUE, unit),
        Column("Interval of"),
    ]


def _interval_cells(interval: Interval | None) -> tuple[float | None, float | None, str]:
    if interval is None:
        return None, None, ""
    words = "repeats" if interval.of == REPEATS else "interval samples"
    return interval.low, interval.high, f"{interval.count} {words}"


def _of_runs(cells: Iterable[Repeats]) -> str:
    counts = {len(repeats.values) for repeats in cells}
    if counts == {1}:
        return ""
    few, most = min(counts), max(counts)
    return f", mean of {most} runs" if few == most else f", mean of {few} to {most} runs"


def _blank_cells(cells: Mapping[Cell, Repeats]) -> str:
    records, files = {record for record, _ in cells}, {file for _, file in cells}
    blank = len(records) * len(files) - len(cells)
    if not blank:
        return ""
    larger = sum(record > file for record in records for file in files)
    why = f", {larger} of which have a record larger than the file" if larger else ""
    return (
        f"{blank} of {len(records) * len(files)} cells were not measured and stay blank"
        f"{why if larger <= blank else ''}."
    )


def _only(name: str, cells: Iterable[Cell]) -> str:
    count = len(list(cells))
    stay = "stays" if count == 1 else "stay"
    return f" {count} that only {name} has {stay} blank." if count else ""


def _other_units(found: Sequence[Matrix], shown: Matrix) -> list[str]:
    others = [one.unit for one in found if one is not shown]
    return [f"There are numbers in {', '.join(others)} too, which are not drawn."] if others else []
