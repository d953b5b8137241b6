"""Latencies of requests and operations, and where requests went when."""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import heatmap
from fsbench_web.figures.frame import axis, heading, line_layout, plain_text, summary

Bins = Sequence[tuple[int, int, int]]
"""(from ns, below ns, how many), rising; each from a power of two of ``smallest_ns`` on."""

_MOST_LABELS = 6
"""Of an axis: more of them are turned and run into the legend on a telephone."""


def latencies(
    bins: Mapping[str, Bins], title: str, noun: str = "requests", smallest_ns: int = 1000
) -> go.Figure:
    """How many by the time that they took, a line an operation, both in powers of two."""

    def place_of(low: int) -> int:
        return int(math.log2(max(low // smallest_ns, 1)))

    edges = sorted({low for rows in bins.values() for low, _, _ in rows})
    order = list(range(place_of(edges[0]), place_of(edges[-1]) + 1))
    labels = {place: _latency(smallest_ns << place if place else 0) for place in order}
    step = math.ceil(len(order) / _MOST_LABELS)
    traces = []
    for number, (name, rows) in enumerate(bins.items()):
        by_place = {place_of(low): (low, high, count) for low, high, count in rows}
        total = sum(count for _, _, count in rows)
        traces.append(
            {
                "type": "bar",
                "name": plain_text(name),
                "x": [labels[place] for place in order],
                "y": [by_place[place][2] if place in by_place else None for place in order],
                "customdata": [
                    f"{_latency(by_place[place][0])} to {_latency(by_place[place][1])}: "
                    f"{by_place[place][2]:,} of {total:,}"
                    if place in by_place
                    else ""
                    for place in order
                ],
                "hovertemplate": "%{customdata}<extra>" + plain_text(name) + "</extra>",
                "meta": {"series": number % 7 + 1},
            }
        )
    return go.Figure(
        traces,
        line_layout(
            title,
            axis(
                "latency, from",
                type="category",
                tickmode="array",
                tickvals=[labels[place] for place in order[::step]],
                ticktext=[
                    _short_latency(smallest_ns << place if place else 0) for place in order[::step]
                ],
                tickangle=0,
                fixedrange=True,
            ),
            axis(f"{noun} (log)", standoff=12, type="log", dtick=1, fixedrange=True),
            summary(
                title, f"bars of {noun}", [(name, _words(rows)) for name, rows in bins.items()]
            ),
            height=320,
            legend_y=-0.3,
            barmode="group",
        ),
    )


def _latency(nanos: int) -> str:
    return numbers.with_unit(nanos, "ns")


def _short_latency(nanos: int) -> str:
    """For an axis, three digits: ``8.19 µs``."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (1000, "µs")):
        if nanos >= size:
            return f"{nanos / size:.3g} {unit}"
    return f"{nanos} ns"


def _words(rows: Bins) -> str:
    low, high, count = max(rows, key=lambda row: row[2])
    total = sum(row[2] for row in rows)
    return f"{total:,}, most ({count:,}) took {_latency(low)} to {_latency(high)}"


def over_device(
    cells: Mapping[tuple[int, int], int],
    parts: tuple[int, int],
    ends: tuple[float, int],
    title: str,
) -> go.Figure:
    """Requests by time and place. ``cells``: {(part of the time, of the device): requests}.

    ``parts``: how many of each there are; ``ends``: the seconds and the bytes of all.
    """
    (times, places), (seconds, size) = parts, ends
    shades: list[list[float | None]] = [[None] * times for _ in range(places)]
    entries: list[list[str | None]] = [[None] * times for _ in range(places)]
    for (time_part, device_part), count in cells.items():
        shades[device_part][time_part] = round(math.log10(count), 2)
        entries[device_part][time_part] = f"{count:,}"
    largest = max(cells.values(), default=1)
    touched_parts = len({device_part for _, device_part in cells})
    touched = (
        f"in {seconds:.4g} s, to {touched_parts} of {places} equal parts of {numbers.size(size)}"
    )
    ticks = [0, *(power for power in range(1, 12) if 10**power <= largest)]
    unit, factor = next(
        (name, factor)
        for name, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
        if size >= factor or name == "KiB"
    )
    return go.Figure(
        [
            {
                "type": "heatmap",
                "z": shades,
                "customdata": entries,
                "x0": seconds / times / 2,
                "dx": seconds / times,
                "y0": size / factor / places / 2,
                "dy": size / factor / places,
                "hovertemplate": "%{x:.4~g} s, %{y:.4~g} "
                + unit
                + "<br>%{customdata} requests<extra></extra>",
                "hoverongaps": False,
                "colorscale": heatmap.as_plotly(heatmap.BETWEEN),
                "zmin": 0,
                "zmax": max(math.log10(largest), 0.3),
                "colorbar": {
                    "title": {"text": "requests, log", "side": "right"},
                    "tickvals": ticks,
                    "ticktext": [f"{10**power:,}" for power in ticks],
                    "thickness": 12,
                },
            }
        ],
        {
            "title": heading(title),
            "height": 420,
            "margin": {"l": 8, "r": 8, "t": 44, "b": 48},
            "xaxis": axis(
                "seconds of the trace", range=[0, seconds], fixedrange=True, zeroline=False
            ),
            "yaxis": axis(
                f"place on the LUN, {unit}",
                range=[0, size / factor],
                fixedrange=True,
                zeroline=False,
            ),
            "meta": {
                "summary": summary(
                    title,
                    "map of time and place",
                    [(numbers.counted(sum(cells.values()), "request"), touched)],
                )
            },
        },
    )
