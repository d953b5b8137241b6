"""From one comparison to another. Pure."""

from dataclasses import replace

from fsbench_web.compare.selection.properties import STAGE_FILTERS
from fsbench_web.compare.selection.spec import FILTERS, ComparisonSpec


def configurations_of(contender: str, spec: ComparisonSpec) -> ComparisonSpec | None:
    """The comparison of all configurations of one contender of ``spec``.

    None where contenders are configurations already, or what they are is nothing to filter by. To
    have an option is less than to have it and no other, so that is not what options filter by.
    """
    name = FILTERS.get(spec.by)
    if name is None or spec.by == "configuration" or spec.by in STAGE_FILTERS:
        return None
    if spec.by in _KNOWN_ALONE and contender == "unknown":
        return None
    filters: dict[str, tuple[str, ...]] = {name: (contender,)}
    return replace(spec, by="configuration", baseline="", sort="", **filters)  # type: ignore[arg-type]


_KNOWN_ALONE = ("workload", "hardware")
"""Filters that take rows of the database; those without one cannot be chosen."""
