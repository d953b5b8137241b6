"""Filters of an address that choose nothing: its work profile has operations of its own. Pure."""

from dataclasses import dataclass, replace

from fsbench_web.compare.selection.spec import ComparisonSpec


@dataclass(frozen=True)
class FiltersSetAside:
    """What to say of them, how to rank by them, and the query strings without and by them."""

    sentence: str
    advice: str
    without_filters: str
    by_filters: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}"


def set_aside(spec: ComparisonSpec) -> FiltersSetAside | None:
    """The filters that choose nothing, because a profile has its own operations; None for none."""
    filters = (("test", spec.tests), ("category", spec.categories))
    named = [name for name, chosen in filters if chosen]
    if not (named and spec.is_of_work):
        return None
    choose, them = ("choose", "them") if len(named) > 1 else ("chooses", "it")
    work = "a work profile" if spec.profile else "a range of sizes"
    leave = "profile" if spec.profile else "block, file and operation"
    return FiltersSetAside(
        f"{' and '.join(named).capitalize()} of this address {choose} nothing: ranked is by "
        f"{work}, which says its operations itself.",
        f"Leave out {leave} to rank by {them}.",
        without_set_aside(spec).to_query(),
        spec.whole.without_work.to_query(),
    )


def without_set_aside(spec: ComparisonSpec) -> ComparisonSpec:
    """The same numbers without the filters that choose nothing."""
    return replace(spec, tests=(), categories=()) if spec.is_of_work else spec
