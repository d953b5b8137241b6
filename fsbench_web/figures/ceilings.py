"""What LUNs do without a file system, over the bars of contenders. Pure.

One dashed line where all bars have the same ceiling; else a mark on each bar.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.figures.frame import plain_text

OWN = "the LUN itself"
COLOUR = "#8a96a5"
FAR = 4.0
"""Times the longest bar: a ceiling beyond it would leave the bars no room, and is only said."""
LINE_PX = 16


@dataclass(frozen=True)
class Ceilings:
    """``values``: one for each bar, in its unit; None: not measured.

    ``of``: the requests, "" where they differ. ``shares``: the bars in percent of them, in words.
    """

    values: tuple[float | None, ...]
    of: str = ""
    shares: tuple[str, ...] = ()

    @property
    def common(self) -> float | None:
        """The ceiling of all bars; None for several, or if a bar has none."""
        first = self.values[0] if self.values else None
        if first is None or any(
            value is None or not math.isclose(value, first) for value in self.values
        ):
            return None
        return first

    @property
    def is_known(self) -> bool:
        return any(value is not None for value in self.values)

    def visible(self, longest: float) -> "tuple[float | None, ...]":
        """Those that are drawn with bars up to this length."""
        return tuple(
            value if value is not None and value <= FAR * longest else None for value in self.values
        )

    def words(self, unit: str, longest: float) -> str:
        """What they are, for the words of an axis; numbers are in ``unit``, the shown one."""
        if not self.is_known:
            return ""
        label = f"{OWN}{f', {self.of}' if self.of else ''}"
        common, drawn = self.common, self.visible(longest)
        if common is not None:
            text = f"{label}: {numbers.with_unit(common, unit)}"
            return f"dashed: {text}" if drawn[0] is not None else f"{text}, beyond this axis"
        cut = sum(value is not None for value in self.values) - sum(
            value is not None for value in drawn
        )
        beyond = f" ({cut} beyond this axis)" if cut else ""
        missing = sum(value is None for value in self.values)
        none = f"; {missing} without" if missing else ""
        return f"grey marks: {label}, of each bar{beyond}{none}"


def put(
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
    ceilings: Ceilings,
    labels: Sequence[str],
    unit: str,
) -> None:
    """Add them to the parts of a figure of horizontal bars; all in ``unit``, the shown one."""
    if not ceilings.is_known:
        return
    longest = _longest(traces)
    drawn, common = ceilings.visible(longest), ceilings.common
    if common is not None and drawn[0] is not None:
        layout.setdefault("shapes", []).append(
            {
                **{"type": "line", "xref": "x", "yref": "paper", "layer": "above"},
                **{"x0": common, "x1": common, "y0": 0, "y1": 1},
                "line": {"dash": "dash", "width": 2, "color": COLOUR},
            }
        )
        reach = max(longest, common) * 1.05
        layout["xaxis"]["range"] = [0, max(reach, *layout["xaxis"].get("range", [0]))]
        layout["annotations"].append(
            {
                **{"name": "ceiling", "xref": "x", "yref": "paper", "x": common, "y": 1},
                "xanchor": "right" if common > 0.6 * reach else "center",
                **{"yanchor": "bottom", "showarrow": False, "font": {"size": 11}},
                "text": plain_text(f"{OWN} {numbers.with_unit(common, unit)}"),
            }
        )
    elif any(value is not None for value in drawn):
        traces.append(_marks(drawn, labels))
    words = plain_text(ceilings.words(unit, longest))
    layout["xaxis"]["title"]["text"] += f"<br>{words}"
    layout["margin"] = {**layout["margin"], "b": layout["margin"]["b"] + LINE_PX}
    layout["meta"] = {**layout["meta"], "summary": f"{layout['meta']['summary']} {words}."}


def _marks(values: Sequence[float | None], labels: Sequence[str]) -> dict[str, Any]:
    """An upright stroke on each bar."""
    marks = [
        (value, label) for value, label in zip(values, labels, strict=True) if value is not None
    ]
    return {
        "type": "scatter",
        "x": [value for value, _ in marks],
        "y": [plain_text(label) for _, label in marks],
        "mode": "markers",
        "marker": {
            **{"symbol": "line-ns-open", "size": 26, "color": COLOUR},
            "line": {"width": 2.5, "color": COLOUR},
        },
        "hoverinfo": "skip",
        "meta": {"role": "ceiling"},
    }


def _longest(traces: Sequence[dict[str, Any]]) -> float:
    """The farthest that a bar, a repeat or an interval reaches."""
    ends = [0.0]
    for trace in traces:
        error = trace.get("error_x", {}).get("array", [])
        values = [value for value in trace["x"] if value is not None]
        ends += (
            [value + more for value, more in zip(values, error, strict=True)] if error else values
        )
    return max(ends)
