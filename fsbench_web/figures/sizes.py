"""A logarithmic axis of sizes. Neighbours that are further apart than a doubling leave a gap."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fsbench_web.core import numbers

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
