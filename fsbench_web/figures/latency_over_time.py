"""Latencies over the seconds of a test, on a logarithmic axis: a line a percentile."""

from collections.abc import Mapping, Sequence

from fsbench_web.core import numbers
from fsbench_web.figures import palette, ticks
from fsbench_web.figures.frame import Plain, heading, plain_text
from fsbench_web.figures.palette import DASHES


def over_time(
    lines: Mapping[str, Sequence[float]],
    seconds: Sequence[float],
    counts: Sequence[int],
    unit: str,
    title: str,
) -> Plain:
    """``lines`` are values in ``unit`` by what they are called, one an interval that ended at one
    of ``seconds`` with so many completions. Raises ValueError where lengths differ.
    """
    if any(len(line) != len(seconds) for line in (*lines.values(), counts)):
        raise ValueError("every line must have a value for every interval")
    shown = numbers.unit_name(unit)
    values = [numbers.scaled(one, unit) for line in lines.values() for one in line if one > 0]
    marks = ticks.log_ticks(min(values) / 1.1, max(values) * 1.1) if values else []
    return {
        "data": [
            {
                "type": "scatter",
                "name": plain_text(name),
                "x": list(seconds),
                "y": [float(f"{numbers.scaled(one, unit):.5g}") or None for one in line],
                "mode": "lines+markers" if len(seconds) < 30 else "lines",
                "line": {
                    "color": palette.colour(place % 7 + 1),
                    "dash": DASHES[place % 7],
                    "width": 1.5,
                },
                "marker": {"color": palette.colour(place % 7 + 1), "size": 5},
                "customdata": [
                    f"{numbers.with_unit(one, unit)} of {count:,}"
                    for one, count in zip(line, counts, strict=True)
                ],
                "hovertemplate": "until %{x:.4~g} s<br>%{customdata}<extra>"
                + plain_text(name)
                + "</extra>",
                "meta": {"series": place % 7 + 1},
            }
            for place, (name, line) in enumerate(lines.items())
        ],
        "layout": {
            "title": heading(title),
            "height": 380,
            "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
            "showlegend": True,
            "legend": {"orientation": "h", "y": -0.25, "yanchor": "top"},
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": "seconds of the test", "font": {"size": 12}},
                "rangemode": "tozero",
                "fixedrange": True,
                "automargin": True,
                "zeroline": False,
            },
            "yaxis": {
                "title": {
                    "text": plain_text(f"{shown}, less is better (log)"),
                    "font": {"size": 12},
                    "standoff": 12,
                },
                "type": "log",
                "tickmode": "array",
                "tickvals": marks,
                "ticktext": ticks.names(marks),
                "fixedrange": True,
                "automargin": True,
                "zeroline": False,
            },
            "meta": {"summary": _summary(lines, seconds, unit, title)},
        },
    }


def _summary(
    lines: Mapping[str, Sequence[float]], seconds: Sequence[float], unit: str, title: str
) -> str:
    said = [
        f"{name} from {numbers.with_unit(min(line), unit)} to {numbers.with_unit(max(line), unit)}"
        for name, line in lines.items()
    ]
    return f"{title}, {len(seconds)} intervals: {'; '.join(said)}."
