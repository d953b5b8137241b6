"""The matrix of one test: record size by file size, both on logarithmic axes.

Plotly's heat maps know no patterns: each flag is a trace of filled outlines of its cells.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.core.scoring.quality import FLAGS, OF_RUNS
from fsbench_web.figures.frame import heading, log_ticks, plain_text, summary

# Colour scales that the colour-blind can read, and the text colour for each shade.

Stops = Sequence[tuple[float, str]]


def _evenly_spaced(colours: str) -> Stops:
    named = colours.split()
    return tuple((place / (len(named) - 1), colour) for place, colour in enumerate(named))


VIRIDIS = _evenly_spaced(
    "#440154 #48186a #472d7b #424086 #3b528b #33638d #2c728e #26828e #21918c #1fa088 #28ae80 "
    "#3fbc73 #5ec962 #84d44b #addc30 #d8e219 #fde725"
)
BETWEEN = [(place / 9, colour) for place, (_, colour) in enumerate(VIRIDIS[5:15])]
"""Of Viridis what is seen on a light page and on a dark one: for cells that stand alone on it."""
DIVERGING = _evenly_spaced(
    "#7f3b08 #b35806 #e08214 #fdb863 #fee0b6 #f7f7f7 #d8daeb #b2abd2 #8073ac #542788 #2d004b"
)
DARK, LIGHT = "#000000", "#ffffff"


def as_plotly(stops: Stops) -> list[list[float | str]]:
    """The stops as plotly takes them."""
    return [[place, colour] for place, colour in stops]


def colour_at(stops: Stops, share: float) -> tuple[float, float, float]:
    """Red, green and blue (0 to 255) at ``share`` of the scale; what lies outside is its end."""
    share = min(1.0, max(0.0, share))
    for (before, first), (after, second) in itertools.pairwise(stops):
        if share <= after:
            part = (share - before) / (after - before)
            low, high = _rgb(first), _rgb(second)
            red, green, blue = (a + part * (b - a) for a, b in zip(low, high, strict=True))
            return red, green, blue
    raise ValueError("a colour scale ends at 1")


def css_at(stops: Stops, share: float) -> str:
    """The same as CSS writes it, ``rgb(1,2,3)``."""
    return f"rgb({','.join(str(round(part)) for part in colour_at(stops, share))})"


def text_on(stops: Stops, share: float) -> str:
    """Black or white, whichever reads better there: never below a contrast of 4.5 to 1."""
    background = luminance(colour_at(stops, share))
    return DARK if (background + 0.05) / 0.05 >= 1.05 / (background + 0.05) else LIGHT


def luminance(rgb: tuple[float, float, float]) -> float:
    """The relative luminance of WCAG 2.2, 0 for black and 1 for white."""

    def linear(channel: float) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(channel) for channel in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[int, int, int]:
    value = int(colour[1:], 16)
    return value >> 16, value >> 8 & 255, value & 255


# A logarithmic axis of sizes. Neighbours that are further apart than a doubling leave a gap.

DOUBLING = 2.0


@dataclass(frozen=True)
class SizeAxis:
    """The columns of a matrix along one size, in KB, smallest first; None is a gap.

    ``edges`` are one more than the columns.
    """

    columns: tuple[int | None, ...]
    edges: tuple[float, ...]

    @property
    def sizes(self) -> list[int]:
        return [size for size in self.columns if size is not None]

    def layout(self, title: str) -> dict[str, Any]:
        """The axis as plotly takes it, with a tick for each size."""
        return {
            "title": {"text": f"{title} (log)", "standoff": 12},
            "type": "log",
            "range": [math.log10(self.edges[0]), math.log10(self.edges[-1])],
            "tickmode": "array",
            "tickvals": self.sizes,
            "ticktext": [size_name(size) for size in self.sizes],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        }


def size_axis(sizes: Iterable[int]) -> SizeAxis:
    """The axis of these sizes in KB, which are positive."""
    return _axis_of(tuple(sorted(set(sizes))) or (1,))


# The matrices of a page have the same sizes, a dozen times over.
@lru_cache(maxsize=64)
def _axis_of(ordered: tuple[int, ...]) -> SizeAxis:
    columns: list[int | None] = []
    edges: list[float] = []
    for place, size in enumerate(ordered):
        before = size / ordered[place - 1] if place else DOUBLING
        after = ordered[place + 1] / size if place + 1 < len(ordered) else DOUBLING
        low, high = size / _half_step(before), size * _half_step(after)
        if edges and before > DOUBLING * 1.001:
            columns.append(None)
            edges.append(low)
        elif not edges:
            edges.append(low)
        columns.append(size)
        edges.append(high)
    return SizeAxis(tuple(columns), tuple(edges))


@lru_cache(maxsize=1024)
def size_name(size_kb: float) -> str:
    """A size in KB in a readable unit."""
    return numbers.benchmark_size(size_kb)


def _half_step(ratio: float) -> float:
    return math.sqrt(min(ratio, DOUBLING))


Cell = tuple[int, int]
"""(record size KB, file size KB)"""
HATCHING = "hatching"
_SHAPES = ("/", "\\", "x", "+", "-", "|", ".")
# A flag has the same pattern on every map; what is not known by name has the last.
_SHAPE_OF = dict(
    zip(
        (flag.of_cells for slug, flag in FLAGS.items() if slug not in OF_RUNS),
        _SHAPES,
        strict=False,
    )
)
LEGEND = {
    "showlegend": True,
    "legend": {
        "orientation": "h",
        "x": 0,
        # Below the axis and its title, however high the map and however its sizes are turned.
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "font": {"size": 11},
        "itemclick": False,
        "itemdoubleclick": False,
    },
}
"""Part of the layout of a figure with marks."""

# From this ratio of largest to smallest the colours follow the logarithm: read rates of one matrix
# differ by a factor of 20, and a linear scale would show the cached cells and nothing else.
LOGARITHMIC_FROM = 8
TEXT_CELLS_AT_MOST = 130
# The scale of ratios goes this far at least, so that noise of a percent does not look like a
# victory.
LEAST_RATIO = 1.25
LABELS = "cell labels"
_PLATE_A_LETTER = 4.5  # plotly draws such a marker 1.4 times as long as its size


@dataclass(frozen=True)
class _Scale:
    """The colours between the ``limits``, by what ``shade`` makes of a value. ``bar`` says it."""

    stops: Stops
    shade: Callable[[float], float]
    limits: tuple[float, float]
    bar: Mapping[str, Any]
    is_reversed: bool = False

    @property
    def low(self) -> float:
        return self.shade(self.limits[0])

    @property
    def high(self) -> float:
        return self.shade(self.limits[1])

    def share(self, value: float) -> float:
        """Where a value stands on the scale, 0 to 1."""
        width = self.high - self.low
        part = (self.shade(value) - self.low) / width if width > 0 else 0.5
        return 1 - part if self.is_reversed else part


def matrix(
    cells: Mapping[Cell, float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    limits: tuple[float, float] | None = None,
    links: Mapping[Cell, str] = MappingProxyType({}),
    notes: Mapping[Cell, str] = MappingProxyType({}),
    flagged: Mapping[str, Collection[Cell]] = MappingProxyType({}),
    edges: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    block: str = "block",
) -> go.Figure:
    """A heat map of ``{(record KB, file KB): value in unit}``; missing cells stay blank.

    Colours are viridis, logarithmic from a factor of eight. ``limits``: ends of the scale in
    ``unit``. ``links`` and ``notes``: of each cell. ``flagged``: cells to hatch, by the words of
    the legend. ``edges``: {record KB: (last file KB within the cache, first beyond)}. ``block``:
    the word for a record.
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
    ticks = log_ticks(low, high) if is_log else []
    scale = _Scale(
        VIRIDIS,
        math.log10 if is_log else float,
        (low, high),
        {
            "title": {"text": plain_text(unit) + (", log" if is_log else ""), "side": "right"},
            **({"tickvals": [math.log10(tick) for tick in ticks]} if is_log else {}),
            **({"ticktext": [numbers.compact(tick) for tick in ticks]} if is_log else {}),
        },
        is_reversed=lower_is_better,
    )
    return _map(
        cells,
        cell_values,
        scale,
        label=numbers.compact,
        words=lambda value: numbers.with_unit(value, unit),
        title=title,
        text=summary(
            title,
            f"heat map of {numbers.counted(len(cell_values), 'cell')}, {block} size by file size",
            [*_ends_in_words(cell_values, unit, block), *_marks_in_words(flagged, edges)],
            lower_is_better,
        ),
        links=links,
        notes=notes,
        flagged=flagged,
        edges=edges,
        block=block,
    )


def ratio(
    cells: Mapping[Cell, float],
    first: str,
    second: str,
    title: str,
    links: Mapping[Cell, str] = MappingProxyType({}),
    notes: Mapping[Cell, str] = MappingProxyType({}),
    block: str = "block",
) -> go.Figure:
    """A heat map of the speed of ``first`` over ``second``, {(record KB, file KB): ratio}.

    The scale diverges around 1, by the logarithm. Raises ValueError for a ratio below zero or 0.
    """
    if any(not value > 0 or not math.isfinite(value) for value in cells.values()):
        raise ValueError("a ratio of speeds is a positive number")
    widest = max([LEAST_RATIO, *(max(value, 1 / value) for value in cells.values())])
    ticks = _ratio_ticks(widest)
    scale = _Scale(
        DIVERGING,
        math.log2,
        (1 / widest, widest),
        {
            "title": {"text": "times as fast, log", "side": "right"},
            "tickvals": [math.log2(tick) for tick in ticks],
            "ticktext": [_ratio_text(tick) for tick in ticks],
        },
    )
    extremes = (min(cells.values(), default=1.0), max(cells.values(), default=1.0))
    return _map(
        cells,
        cells,
        scale,
        label=_ratio_text,
        words=lambda value: f"{_times(value)} ×",
        title=title,
        text=summary(
            title,
            f"heat map of {numbers.counted(len(cells), 'matched cell')}, {block} size by file size",
            [
                (first, f"is faster in {sum(value > 1 for value in cells.values())}"),
                (second, f"is faster in {sum(value < 1 for value in cells.values())}"),
                ("the ratio lies between", " and ".join(map(_times, extremes))),
            ]
            if cells
            else [],
        ),
        links=links,
        notes=notes,
        block=block,
    )


def _map(
    cells: Mapping[Cell, float | None] | Mapping[Cell, float],
    cell_values: Mapping[Cell, float],
    scale: _Scale,
    *,
    label: Callable[[float], str],
    words: Callable[[float], str],
    title: str,
    text: str,
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

    def hover_text(cell: Cell) -> str:
        value = plain_text(words(cell_values[cell]))
        sizes = f"{block} {record_names[cell[0]]}, file {file_names[cell[1]]}<br>{value}"
        return f"{sizes}<br>{plain_text(notes[cell])}" if notes.get(cell) else sizes

    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(files.edges),
        "y": list(records.edges),
        "z": _grid(records, files, cell_values, lambda cell: scale.shade(cell_values[cell])),
        "customdata": _grid(records, files, cell_values, hover_text),
        **({"zmin": scale.low, "zmax": scale.high} if cell_values else {}),
        "colorscale": as_plotly(scale.stops),
        "reversescale": scale.is_reversed,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorbar": {"thickness": 12, "outlinewidth": 0, **scale.bar},
    }
    if links:
        trace["meta"] = {"links": _grid(records, files, links, links.__getitem__)}
    traces = [trace, *hatching(flagged, records, files)]
    if 0 < len(cell_values) <= TEXT_CELLS_AT_MOST:
        hatched = {cell for cells_of_flag in flagged.values() for cell in cells_of_flag}
        traces.append(_labels(cell_values, scale, label, hatched))
    traces += boundary(edges, records)
    is_marked = any(trace.get("name") for trace in traces)
    return go.Figure(
        traces,
        {
            "title": heading(title),
            "height": (200 if is_marked else 150) + 30 * max(4, len(records.sizes)),
            "margin": {"l": 8, "r": 8, "t": 44, "b": 48},
            **(LEGEND if is_marked else {"showlegend": False}),
            "hovermode": "closest",
            "xaxis": files.layout("file size"),
            "yaxis": records.layout(f"{block} size"),
            "meta": {"summary": text},
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
    scale: _Scale,
    label: Callable[[float], str],
    hatched: Collection[Cell],
) -> dict[str, Any]:
    """The numbers in the cells; in a hatched cell on a plate of its colour.

    The plate is a thick stroke: no other marker is wider than high.
    """
    shares = [scale.share(value) for value in cell_values.values()]
    texts = [label(value) for value in cell_values.values()]
    trace: dict[str, Any] = {
        "type": "scatter",
        "x": [file for _, file in cell_values],
        "y": [record for record, _ in cell_values],
        "text": texts,
        "mode": "markers+text" if hatched else "text",
        "hoverinfo": "skip",
        "showlegend": False,
        "textfont": {
            "size": 10,
            "color": [text_on(scale.stops, part) for part in shares],
        },
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
                "color": [css_at(scale.stops, part) for part in shares],
            },
        }
    return trace


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


def _ends_in_words(
    cell_values: Mapping[Cell, float], unit: str, block: str
) -> list[tuple[str, str]]:
    """The lowest and the highest cell, for the text alternative."""
    ends = []
    for name, end in (("lowest", min), ("highest", max)) if cell_values else ():
        cell = end(cell_values, key=cell_values.__getitem__)
        sizes = f"{block} {size_name(cell[0])}, file {size_name(cell[1])}"
        ends.append((name, f"{numbers.with_unit(cell_values[cell], unit)} at {sizes}"))
    return ends


def _marks_in_words(
    flagged: Mapping[str, Collection[Cell]], edges: Mapping[int, tuple[int, int]]
) -> list[tuple[str, str]]:
    """Which flags there are, on how many cells, for the text alternative."""
    flags = [("hatched", f"{len(cells)} {label}") for label, cells in flagged.items() if cells]
    return [*flags, ("a line", "is the cache boundary along the file size")] if edges else flags


def hatching(
    flagged: Mapping[str, Collection[Cell]], records: SizeAxis, files: SizeAxis
) -> list[dict[str, Any]]:
    """A hatched trace for each flag with cells, {words of the legend: cells}.

    The lines are light on a shade, to be seen on every colour of the scale.
    """
    rows, columns = _spans(records), _spans(files)
    traces: list[dict[str, Any]] = []
    for label, cells in flagged.items():
        x: list[float | None] = []
        y: list[float | None] = []
        for record, file in sorted(cells):
            if record not in rows or file not in columns:
                continue
            (low, high), (left, right) = rows[record], columns[file]
            x += [left, right, right, left, left, None]
            y += [low, low, high, high, low, None]
        if not x:
            continue
        traces.append(
            {
                "type": "scatter",
                "x": x[:-1],
                "y": y[:-1],
                "mode": "lines",
                "line": {"width": 0},
                "fill": "toself",
                "fillcolor": "rgba(0,0,0,0.25)",
                "fillpattern": {
                    "shape": _SHAPE_OF.get(label, _SHAPES[-1]),
                    "size": 8,
                    "solidity": 0.28,
                    "fgcolor": "rgba(255,255,255,0.85)",
                    "bgcolor": "rgba(0,0,0,0.25)",
                    "fillmode": "replace",
                },
                "hoverinfo": "skip",
                "name": plain_text(f"{label}: {len(cells)} cell{'s' * (len(cells) != 1)}"),
                "meta": {"role": HATCHING},
            }
        )
    return traces


def boundary(edges: Mapping[int, tuple[int, int]], records: SizeAxis) -> list[dict[str, Any]]:
    """The cache boundary, {record KB: (last KB, first KB)}: red over white. No edges, no line."""
    spans = _spans(records)
    x: list[float] = []
    y: list[float] = []
    texts: list[str] = []
    for record in sorted(edges):
        if record not in spans:
            continue
        last, first = edges[record]
        x += [math.sqrt(last * first)] * 2
        y += spans[record]
        texts += [f"cache boundary: between files of {size_name(last)} and {size_name(first)}"] * 2
    if not x:
        return []
    line: dict[str, Any] = {"type": "scatter", "x": x, "y": y, "mode": "lines"}
    return [
        {
            **line,
            "line": {"color": "#fff", "width": 6},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            **line,
            "line": {"color": "#c92a2a", "width": 3},
            "name": "cache boundary",
            "text": [plain_text(text) for text in texts],
            "hovertemplate": "%{text}<extra></extra>",
        },
    ]


def _spans(axis: SizeAxis) -> dict[int, Sequence[float]]:
    """Where each size begins and ends on its axis."""
    return {
        size: (axis.edges[place], axis.edges[place + 1])
        for place, size in enumerate(axis.columns)
        if size is not None
    }
