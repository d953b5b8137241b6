"""Pictures of several contenders: profile lines, load curves, strips of repeats."""

from collections.abc import Sequence
from typing import TypeVar

from fsbench_web.compare.pictures.offer import Contender
from fsbench_web.compare.pictures.parts import (
    FILE,
    FLAGS,
    RECORD,
    Picture,
    flags,
    interval_cells,
    interval_columns,
    is_lower,
    mean_column,
    note,
    run_links,
    unknown_unit,
)
from fsbench_web.compare.pictures.table import COUNT, VALUE, Column, PictureTable, Row
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.figures import lines, strip
from fsbench_web.figures.lines import Line, Point
from fsbench_web.figures.sizes import size_name
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.cells import Cell, LoadCurve, Matrix, Repeats, RepeatsOfSeries

Found = TypeVar("Found", Matrix, RepeatsOfSeries)


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
    columns = [Column("Contender"), RECORD, FILE, mean_column(unit), *interval_columns(unit), FLAGS]
    rows = [
        Row(
            (
                contender.name,
                *cell,
                repeats.mean,
                *interval_cells(repeats.interval),
                flags(repeats),
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
    return Picture(figure, PictureTable(columns, rows), [*said, *gaps, *unknown_unit(unit)])


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
        mean_column(unit),
        *interval_columns(unit),
        FLAGS,
    ]
    rows = [
        Row(
            (
                name,
                loads.words(text),
                number,
                repeats.mean,
                *interval_cells(repeats.interval),
                flags(repeats),
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
        *unknown_unit(unit),
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
                address_of(one.repeats.run_ids),
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
    return Picture(figure, PictureTable(columns, rows), [*said, *unknown_unit(unit)])


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
        note(repeats),
        address_of(repeats.run_ids),
    )
