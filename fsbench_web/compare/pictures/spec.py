"""Which picture of a comparison is shown: the address is the whole state of the page."""

from dataclasses import dataclass, field, replace

from fsbench_web.compare.selection.fields import query_of
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.figures.lines import LINEAR, LOG

NUMBERS = {"a": "a", "b": "b", "record": "record_kb", "file": "file_kb"}
"""The parameters that are whole numbers, and the fields they are."""
PARAMETERS = {
    **{"picture": "kind", "of": "test", "in": "category", "line": "lines", "scale": "scale"},
    **{"show": "show", "percent": "percent", "hide": "hide", **NUMBERS},
}
SCALES = {"": "As the values ask for", LOG: "Logarithmic", LINEAR: "Linear"}
LARGEST = "max"
PERCENTS = {"50": "p50", "": "p99", "99.9": "p99.9", LARGEST: "Maximum"}
PERCENTILES, CDF, COMPLETIONS, OVER_TIME = "percentiles", "cdf", "completions", "time"
SHOWS = {
    PERCENTILES: "Percentiles",
    CDF: "CDF",
    COMPLETIONS: "All completions",
    OVER_TIME: "Over time",
}
"""The charts of latencies."""
MOST_HIDDEN = 50


@dataclass(frozen=True)
class PictureSpec:
    """A picture of a comparison. None and "" mean the first offered.

    ``a``, ``b`` and ``lines`` are keys of series: a name may mean another configuration tomorrow.
    ``hide``: names of the legend. ``views.spec_of(spec.to_query()) == spec``.
    """

    comparison: ComparisonSpec = field(default_factory=ComparisonSpec)
    kind: str = "bars"
    test: str = ""
    category: str = ""
    a: int | None = None
    b: int | None = None
    lines: tuple[int, ...] = ()
    record_kb: int | None = None
    file_kb: int | None = None
    scale: str = ""
    show: str = ""
    percent: str = ""
    hide: tuple[str, ...] = ()

    def to_query(self) -> str:
        """The canonical query string, without "?"."""
        own_query = query_of(self, PictureSpec, PARAMETERS)
        return "&".join(filter(None, (self.comparison.to_query(), own_query)))

    def of_kind(self, kind: str) -> "PictureSpec":
        """Another kind of picture of the same test and contenders."""
        return replace(self, kind=kind, record_kb=None, file_kb=None)
