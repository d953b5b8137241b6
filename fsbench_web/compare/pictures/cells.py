"""Pictures of a matrix: the heat map and the surface of one contender, the ratio of two."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
from fsbench_web.compare.pictures.table import VALUE, Column, PictureTable, Row
from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import FLAGS as FLAGS_OF_CELLS
from fsbench_web.core.scoring.quality import ordered
from fsbench_web.figures import heatmap, surface
from fsbench_web.studies.runs import quality as run_quality
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.scores.cells import Cell, Matrix, Repeats


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
    notes = {cell: note(repeats) for cell, repeats in shown.cells.items()}
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
    columns = [RECORD, FILE, mean_column(shown.unit), *interval_columns(shown.unit), FLAGS]
    rows = [
        Row(
            (*cell, repeats.mean, *interval_cells(repeats.interval), flags(repeats)),
            run_links(repeats.run_ids),
        )
        for cell, repeats in sorted(shown.cells.items())
    ]
    said = [_blank_cells(shown.cells), *_other_units(found, shown), *unknown_unit(shown.unit)]
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
        f"Above 1, purple: {first.name} is faster. Below 1, orange: {second.name} is faster."
        if ratios
        else "",
        ("1 cell is matched." if len(matched) == 1 else f"{len(matched)} cells are matched.")
        + _only(first.name, ours.keys() - theirs.keys())
        + _only(second.name, theirs.keys() - ours.keys()),
        f"{len(matched) - len(ratios)} matched cells hold a zero and have no ratio."
        if len(ratios) < len(matched)
        else "",
        "Times are taken as speeds (1 / time), so that more is faster." if less else "",
        *unknown_unit(unit),
    ]
    return Picture(figure, PictureTable(columns, rows), [text for text in said if text])


def _flagged(cells: Mapping[Cell, Repeats]) -> dict[str, list[Cell]]:
    """The cells of each flag, {what the legend says: cells}."""
    present = {flag for repeats in cells.values() for flag in repeats.flags}
    return {
        FLAGS_OF_CELLS[slug].of_cells if slug in FLAGS_OF_CELLS else slug: [
            cell for cell, repeats in cells.items() if slug in repeats.flags
        ]
        for slug in ordered(present)
    }


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
