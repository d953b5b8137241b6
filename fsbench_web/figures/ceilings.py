"""What LUNs do by themselves, over the bars of contenders: a line, or a mark on each bar. Pure.

Where all bars have the very same ceiling it is one dashed line with its number; else each bar has
a mark of its own, since contenders on several LUNs, or of several blocks, have several.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsbench_web.core import numbers
from fsbench_web.figures.frame import Plain, plain_text

OWN = "the LUN itself"
COLOUR = "#8a96a5"
FAR = 4.0
"""Times the longest bar: a ceiling beyond it would leave the bars no room, and is only said."""
_LINE_PX = 16


@dataclass(frozen=True)
class Ceilings:
    """``values`` are one a bar, in the unit of the bars; None: nobody measured its LUN.

    ``of`` says of which requests, "" where that differs. ``shares`` are the bars in percent of
    them, in words.
    """

    values: tuple[float | None, ...]
    of: str = ""
    shares: tuple[str, ...] = ()

    @property
    def common(self) -> float | None:
        """The one of all bars; None where there are several, or a bar has none."""
        first = self.values[0] if self.values else None
        if first is None or any(one is None or not math.isclose(one, first) for one in self.values):
            return None
        return first

    def in_shown_unit(self, unit: str) -> "Ceilings":
        """From ``unit`` into the one that people read."""
        return replace(
            self,
            values=tuple(None if one is None else numbers.scaled(one, unit) for one in self.values),
        )

    @property
    def is_known(self) -> bool:
        return any(one is not None for one in self.values)

    def within(self, longest: float) -> "tuple[float | None, ...]":
        """Those that are drawn beside bars of which the longest has this length."""
        return tuple(
            one if one is not None and one <= FAR * longest else None for one in self.values
        )

    def words(self, unit: str, longest: float) -> str:
        """What they are, for the words of an axis; numbers are in ``unit``, the shown one."""
        if not self.is_known:
            return ""
        what = f"{OWN}{f', {self.of}' if self.of else ''}"
        common, drawn = self.common, self.within(longest)
        if common is not None:
            text = f"{what}: {numbers.with_unit(common, unit)}"
            return f"dashed: {text}" if drawn[0] is not None else f"{text}, beyond this axis"
        cut = sum(one is not None for one in self.values) - sum(one is not None for one in drawn)
        beyond = f" ({cut} beyond this axis)" if cut else ""
        missing = sum(one is None for one in self.values)
        none = f"; {missing} without" if missing else ""
        return f"grey marks: {what}, of each bar{beyond}{none}"


def put(made: Plain, found: Ceilings, labels: Sequence[str], unit: str) -> None:
    """Draw them into a figure of horizontal bars; everything is in ``unit``, the shown one."""
    if not found.is_known:
        return
    layout = made["layout"]
    longest = _longest(made)
    drawn, common = found.within(longest), found.common
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
    elif any(one is not None for one in drawn):
        made["data"].append(_marks(drawn, labels))
    words = plain_text(found.words(unit, longest))
    layout["xaxis"]["title"]["text"] += f"<br>{words}"
    layout["margin"] = {**layout["margin"], "b": layout["margin"]["b"] + _LINE_PX}
    layout["height"] += _LINE_PX
    layout["meta"] = {**layout["meta"], "summary": f"{layout['meta']['summary']} {words}."}


def extra_px(values: Sequence[float | None]) -> int:
    """How much higher a figure is with them."""
    return _LINE_PX if any(one is not None for one in values) else 0


def _marks(drawn: Sequence[float | None], labels: Sequence[str]) -> Plain:
    """An upright stroke on each bar."""
    known = [(one, label) for one, label in zip(drawn, labels, strict=True) if one is not None]
    return {
        "type": "scatter",
        "x": [one for one, _ in known],
        "y": [plain_text(label) for _, label in known],
        "mode": "markers",
        "marker": {
            **{"symbol": "line-ns-open", "size": 26, "color": COLOUR},
            "line": {"width": 2.5, "color": COLOUR},
        },
        "hoverinfo": "skip",
        "meta": {"role": "ceiling"},
    }


def _longest(made: Plain) -> float:
    """The farthest that a bar, a repeat or an interval reaches."""
    ends = [0.0]
    for trace in made["data"]:
        error = trace.get("error_x", {}).get("array", [])
        known = [one for one in trace["x"] if one is not None]
        ends += [one + more for one, more in zip(known, error, strict=True)] if error else known
    return max(ends)
