"""The matrix of one test: record size by file size, both on logarithmic axes."""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import colourscale, marks
from fsbench_web.figures.frame import figure, heading, plain_text
from fsbench_web.figures.sizes import SizeAxis, size_axis, size_name

Cell = tuple[int, int]
"""(record size KB, file size KB)"""

# From this ratio of largest to smallest the colours follow the logarithm: read rates of one matrix
# differ by a factor of 20, and a linear scale would show the cached cells and nothing else.
LOGARITHMIC_FROM = 8
TEXT_CELLS_AT_MOST = 130
# The scale of ratios goes this far at least, so that noise of a percent does not look like a
# victory.
LEAST_RATIO = 1.25
LABELS = "cell labels"
_PLATE_A_LETTER = 4.5  # plotly draws such a marker 1.4 times as long as its size


def matrix(
    cells: Mapping[Cell, float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    limits: tuple[float, float] | None = None,
    links: Mapping[Cell, str] | None = None,
    notes: Mapping[Cell, str] | None = None,
    flagged: Mapping[str, Collection[Cell]] | None = None,
    edges: Mapping[int, tuple[int, int]] | None = None,
    block: str = "block",
) -> go.Figure:
    """A heat map of ``{(record KB, file KB): value in unit}``, records upwards, files rightwards.

    Cells that are missing or None stay blank: IOzone has none where a record does not fit into the
    file. The colour scale is viridis (even steps to the eye, readable for the colour-blind),
    brightest for the fastest; it is logarithmic where the values span a factor of eight or more.
    ``limits`` are the ends of the colour scale in ``unit``, for figures that share one. ``links``
    are where a click on a cell leads, and ``notes`` a further line of its hover text. ``flagged``
    are cells to be hatched by what the legend says of them, and ``edges`` the cache boundary,
    {record KB: (last file KB within it, first beyond it)}. ``block`` is the word for a record
    (``testnames.block_word``).
    """
    cells = {
        key: None if value is None else numbers.scaled(value, unit) for key, value in cells.items()
    }
    limits = limits and (numbers.scaled(limits[0], unit), numbers.scaled(limits[1], unit))
    unit = numbers.unit_name(unit)
    cell_values = {key: value for key, value in cells.items() if value is not None}
    low, high = limits or (
        (min(cell_values.values()), max(cell_values.values())) if cell_values else (0.0, 0.0)
    )
    is_log = low > 0 and high / low >= LOGARITHMIC_FROM
    shade: Callable[[float], float] = math.log10 if is_log else float
    return _map(
        cells,
        cell_values,
        shade=shade,
        ends=(shade(low), shade(high)) if cell_values else (None, None),
        stops=colourscale.VIRIDIS,
        reverse=lower_is_better,
        label=numbers.compact,
        words=lambda value: numbers.with_unit(value, unit),
        title=title,
        bar={
            "title": {"text": plain_text(unit) + (", log" if is_log else ""), "side": "right"},
            **(_log_ticks(low, high) if is_log else {}),
        },
        summary=_summary(cell_values, unit, title, block)
        + marks.in_words(flagged or {}, bool(edges)),
        links=links or {},
        notes=notes or {},
        flagged=flagged or {},
        edges=edges or {},
        block=block,
    )


def ratio(
    cells: Mapping[Cell, float],
    first: str,
    second: str,
    title: str,
    links: Mapping[Cell, str] | None = None,
    notes: Mapping[Cell, str] | None = None,
    block: str = "block",
) -> go.Figure:
    """A heat map of speed of ``first`` over speed of ``second``, {(record KB, file KB): ratio}.

    The scale diverges around 1, by the logarithm: twice as fast is as far from it as half as fast.
    Ratios are positive; raises ValueError for another.
    """
    if any(not value > 0 or not math.isfinite(value) for value in cells.values()):
        raise ValueError("a ratio of speeds is a positive number")
    widest = max([LEAST_RATIO, *(max(value, 1 / value) for value in cells.values())])
    ticks = _ratio_ticks(widest)
    return _map(
        cells,
        cells,
        shade=math.log2,
        ends=(-math.log2(widest), math.log2(widest)),
        stops=colourscale.DIVERGING,
        reverse=False,
        label=_ratio_text,
        words=lambda value: f"{_times(value)} ×",
        title=title,
        bar={
            "title": {"text": "times as fast, log", "side": "right"},
            "tickvals": [math.log2(tick) for tick in ticks],
            "ticktext": [_ratio_text(tick) for tick in ticks],
        },
        summary=_ratio_summary(cells, first, second, title, block),
        links=links or {},
        notes=notes or {},
        block=block,
    )


def _map(
    cells: Mapping[Cell, float | None] | Mapping[Cell, float],
    cell_values: Mapping[Cell, float],
    *,
    shade: Callable[[float], float],
    ends: tuple[float | None, float | None],
    stops: colourscale.Stops,
    reverse: bool,
    label: Callable[[float], str],
    words: Callable[[float], str],
    title: str,
    bar: Mapping[str, Any],
    summary: str,
    links: Mapping[Cell, str],
    notes: Mapping[Cell, str],
    flagged: Mapping[str, Collection[Cell]] = MappingProxyType({}),
    edges: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    block: str,
) -> go.Figure:
    """A heat map with an axis for each size; what ``cell_values`` does not hold stays blank."""
    records = size_axis(record for record, _ in cells)
    files = size_axis(file for _, file in cells)
    # A size is one of a dozen, and a unit is one: written once, and not with each cell.
    record_names = {size: plain_text(size_name(size)) for size in records.sizes}
    file_names = {size: plain_text(size_name(size)) for size in files.sizes}

    def text(cell: Cell) -> str:
        value = plain_text(words(cell_values[cell]))
        sizes = f"{block} {record_names[cell[0]]}, file {file_names[cell[1]]}<br>{value}"
        return f"{sizes}<br>{plain_text(notes[cell])}" if notes.get(cell) else sizes

    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(files.edges),
        "y": list(records.edges),
        "z": _grid(records, files, cell_values, lambda cell: shade(cell_values[cell])),
        "customdata": _grid(records, files, cell_values, text),
        **({"zmin": ends[0], "zmax": ends[1]} if cell_values else {}),
        "colorscale": colourscale.as_plotly(stops),
        "reversescale": reverse,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorbar": {"thickness": 12, "outlinewidth": 0, **bar},
    }
    if links:
        trace["meta"] = {"links": _grid(records, files, links, links.__getitem__)}
    traces = [trace, *marks.hatching(flagged, records, files)]
    if 0 < len(cell_values) <= TEXT_CELLS_AT_MOST:
        hatched = {cell for cells_of_flag in flagged.values() for cell in cells_of_flag}
        traces.append(_labels(cell_values, shade, ends, stops, reverse, label, hatched))
    traces += marks.boundary(edges, records, files)
    is_marked = any(trace.get("name") for trace in traces)
    return figure(
        traces,
        {
            "title": heading(title),
            "height": (200 if is_marked else 150) + 30 * max(4, len(records.sizes)),
            "margin": {"l": 8, "r": 8, "t": 44, "b": 48},
            **(marks.LEGEND if is_marked else {"showlegend": False}),
            "hovermode": "closest",
            "xaxis": files.layout("file size"),
            "yaxis": records.layout(f"{block} size"),
            "meta": {"summary": summary},
        },
    )


def _grid(
    records: SizeAxis,
    files: SizeAxis,
    cell_values: Mapping[Cell, Any],
    value_of: Callable[[Cell], Any],
) -> list[list[Any]]:
    """A row a record size, a column a file size; None where ``cell_values`` has no such cell."""
    by_cell: dict[tuple[int | None, int | None], Any]
    # No cell has None for a size, as a gap has.
    by_cell = {cell: value_of(cell) for cell in cell_values}
    return [[by_cell.get((record, file)) for file in files.columns] for record in records.columns]


def _labels(
    cell_values: Mapping[Cell, float],
    shade: Callable[[float], float],
    ends: tuple[float | None, float | None],
    stops: colourscale.Stops,
    reverse: bool,
    label: Callable[[float], str],
    hatched: Collection[Cell],
) -> dict[str, Any]:
    """The numbers in the cells, each in the colour that reads on its own.

    Where a cell is hatched a plate of its own colour lies under its number, which the lines would
    cross. The plate is a thick stroke: markers have no other that is wider than high.
    """
    low, high = ends[0] or 0.0, ends[1] or 0.0

    def share(value: float) -> float:
        part = (shade(value) - low) / (high - low) if high > low else 0.5
        return 1 - part if reverse else part

    shares = [share(value) for value in cell_values.values()]
    texts = [label(value) for value in cell_values.values()]
    trace: dict[str, Any] = {
        "type": "scatter",
        "x": [file for _, file in cell_values],
        "y": [record for record, _ in cell_values],
        "text": texts,
        "mode": "markers+text" if hatched else "text",
        "hoverinfo": "skip",
        "showlegend": False,
        "textfont": {"size": 10, "color": [colourscale.text_on(stops, part) for part in shares]},
        "meta": {"role": LABELS},
    }
    if hatched:
        trace["marker"] = {
            "symbol": "line-ew",
            # Markers of several sizes are bubbles to plotly, which lets the lines shine through.
            "opacity": 1,
            "size": [
                _PLATE_A_LETTER * (len(text) + 1) if cell in hatched else 0
                for cell, text in zip(cell_values, texts, strict=True)
            ],
            "line": {
                "width": [14 if cell in hatched else 0 for cell in cell_values],
                "color": [colourscale.css_at(stops, part) for part in shares],
            },
        }
    return trace


def _log_ticks(low: float, high: float) -> dict[str, list[float] | list[str]]:
    """Ticks at 1, 2 and 5 times the powers of ten within the values, for a scale of logarithms."""
    values = [
        factor * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factor in (1, 2, 5)
        if low <= factor * 10.0**power <= high
    ]
    return {
        "tickvals": [math.log10(value) for value in values],
        "ticktext": [numbers.compact(value) for value in values],
    }


def _ratio_ticks(widest: float) -> list[float]:
    """1 and what one says of speeds, twice as fast or half, with room between their labels."""
    decade = 10.0 ** math.ceil(math.log10(widest) / 4)
    ladders: list[Sequence[float]] = [
        *((1.1, 1.2), (1.2, 1.5), (1.25, 1.5, 2), (1.5, 2, 3), (2, 5), (2, 5, 10, 20), (3, 10, 30)),
        [decade**power for power in range(1, 5)],
    ]
    for ladder in ladders:
        above = [tick for tick in ladder if tick <= widest * (1 + 1e-9)]
        # The next that the ladder does not have would lie within the scale: it is too fine.
        if not above or (widest > ladder[-1] * 1.6 and ladder is not ladders[-1]):
            continue
        gaps = [math.log(b / a) for a, b in itertools.pairwise([1, *above])]
        if min(gaps) >= 0.17 * math.log(widest):
            break
    return [*(1 / tick for tick in reversed(above)), 1, *above]


def _ratio_text(value: float) -> str:
    return f"{value:.3g}"


def _times(value: float) -> str:
    """Three decimals, and three digits of a small one: no ratio is written as zero."""
    return f"{value:.3f}" if value >= 0.1 else numbers.amount(value, "")


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _ratio_summary(
    cells: Mapping[Cell, float], first: str, second: str, title: str, block: str
) -> str:
    if not cells:
        return f"{title}: heat map without any cell that both have."
    faster = sum(value > 1 for value in cells.values())
    slower = sum(value < 1 for value in cells.values())
    return (
        f"{title}: heat map of {_count(len(cells), 'matched cell')}, {block} size by file size. "
        f"{first} is faster in {faster}, {second} in {slower}; the ratio lies between "
        f"{_times(min(cells.values()))} and {_times(max(cells.values()))}."
    )


def _summary(cell_values: Mapping[Cell, float], unit: str, title: str, block: str) -> str:
    if not cell_values:
        return f"{title}: heat map without any value."

    def cell_words(key: Cell) -> str:
        record, file = key
        return (
            f"{numbers.with_unit(cell_values[key], unit)} at {block} {size_name(record)}, "
            f"file {size_name(file)}"
        )

    lowest = min(cell_values, key=lambda key: cell_values[key])
    highest = max(cell_values, key=lambda key: cell_values[key])
    return (
        f"{title}: heat map of {_count(len(cell_values), 'cell')}, {block} size by file size. "
        f"Lowest {cell_words(lowest)}; highest {cell_words(highest)}."
    )
