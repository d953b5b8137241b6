"""What entries differ in besides the compared property. Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

from fsbench_web.compare.selection.properties import (
    PROPERTIES,
    STAGE_FILTERS,
    STAGES,
    UNKNOWN,
    keys_of,
)
from fsbench_web.core.comparison.delta_tables import Contender
from fsbench_web.core.comparison.rows import DeltaTable, shown_names

Facts = Mapping[str, Mapping[str, frozenset[str]]]
"""What environments say: {section: {label: values}}; several where runs of a series differ."""

_LUNS = frozenset({"lun", "journal_lun", "stack_luns"})
_TUNING = frozenset({"scheduler", "journal", "journal_lun", "stack", "stack_luns"}) | {
    f"option.{key}" for _, key in STAGES
}
# What belongs to a property: whoever compares it compares this too, and is not warned.
_BELONGS = {
    "filesystem": _TUNING,
    "configuration": _TUNING | {"filesystem"},
    "journal": frozenset({"journal_lun"}),
    "journal_lun": frozenset({"journal"}),
    "stack": frozenset({"stack_luns"}),
    "stack_luns": frozenset({"stack"}),
    "hardware": _LUNS,
}
# Sections of environment facts that only repeat a property, and follow from it.
_SECTION_OF = {"LUN": "lun", "File system": "filesystem"}
# The label says all of it, and options are compared one by one.
_TOGETHER = ("configuration", "mkfs", "mount")


@dataclass(frozen=True)
class Group:
    """The contenders that have one value; one of several configurations may be in several."""

    value: str
    contenders: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """One property that differs in so many ``tables``; ``is_unsure``: not known of every entry."""

    title: str
    one: str
    groups: tuple[Group, ...]
    tables: int
    is_compared: bool
    is_unsure: bool


@dataclass(frozen=True)
class Differences:
    """``properties`` of the series and ``facts`` of their environments, over so many ``tables``."""

    properties: tuple[Difference, ...]
    facts: tuple[Difference, ...]
    tables: int

    @cached_property
    def unintended(self) -> tuple[Difference, ...]:
        """What makes it unclear where a difference of the scores comes from."""
        return tuple(d for d in self.properties if not d.is_compared and not d.is_unsure)

    @cached_property
    def unsure(self) -> tuple[Difference, ...]:
        return tuple(d for d in self.properties if not d.is_compared and d.is_unsure)

    @cached_property
    def listed(self) -> tuple[Difference, ...]:
        """What is laid side by side: all but tuning that nobody is known to have differently."""
        return tuple(d for d in self.properties if not (d.is_compared and d.is_unsure))

    @cached_property
    def half_known(self) -> tuple[Difference, ...]:
        """What belongs to the property compared, is known of some only, and the same there."""
        return tuple(d for d in self.properties if d.is_compared and d.is_unsure)

    @property
    def has_any(self) -> bool:
        return bool(self.properties or self.facts)


def differences(
    tables: Iterable[Sequence[Contender]], by: str, facts: Mapping[int, Facts] | None = None
) -> Differences:
    """What differs between rows of the same table. ``facts``: of the series' environments."""
    tables = list(tables)
    shown = shown_names(contender.name for table in tables for contender in table)
    rows = {contender.row.series_id: contender.row for table in tables for contender in table}
    # Tables of one test mostly show the same series: each set of series is looked at once.
    counts: dict[frozenset[int], int] = defaultdict(int)
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for table in tables:
        counts[frozenset(contender.row.series_id for contender in table)] += 1
        for contender in table:
            names[contender.row.series_id][shown[contender.name]] = None
    belongs = _related_properties(by, {row.filesystem for row in rows.values()})
    of_properties = []
    for attribute in PROPERTIES.values():
        if attribute.slug in _TOGETHER and attribute.slug != by:
            continue
        labels = {series: attribute.value_of(row).label for series, row in rows.items()}
        short = shown_names(labels.values()) if attribute.slug == "configuration" else {}
        values = {series: frozenset({short.get(text, text)}) for series, text in labels.items()}
        difference = _difference(
            attribute.title, attribute.singular, values, counts, names, attribute.slug in belongs
        )
        if difference is not None:
            of_properties.append(difference)
    return Differences(
        tuple(sorted(of_properties, key=lambda d: (d.is_compared, d.is_unsure))),
        tuple(_of_facts(facts or {}, counts, names, belongs)),
        len(tables),
    )


def _related_properties(by: str, filesystems: Collection[str]) -> frozenset[str]:
    """``by`` and what goes with it; which options are of mkfs, the file systems say."""
    options = keys_of(by, filesystems) if by in STAGE_FILTERS else ()
    return _BELONGS.get(by, frozenset()) | {by} | {f"option.{key}" for key in options}


def _of_facts(
    facts: Mapping[int, Facts],
    counts: Mapping[frozenset[int], int],
    names: Mapping[int, Mapping[str, None]],
    belongs: Collection[str],
) -> Iterable[Difference]:
    labels = {
        (section, label): None
        for of_series in facts.values()
        for section, values in of_series.items()
        for label in values
    }
    missing = frozenset({UNKNOWN.label})
    for section, label in labels:
        values = {
            series: of_series.get(section, {}).get(label) or missing
            for series, of_series in facts.items()
        }
        title = label if label == section else f"{section}: {label}"
        is_compared = _SECTION_OF.get(section, "") in belongs
        difference = _difference(title, title, values, counts, names, is_compared)
        if difference is not None and not difference.is_unsure:
            yield difference


def _difference(
    title: str,
    singular: str,
    values: Mapping[int, frozenset[str]],
    counts: Mapping[frozenset[int], int],
    names: Mapping[int, Mapping[str, None]],
    is_compared: bool,
) -> Difference | None:
    if len(set(values.values())) < 2:
        return None
    differing, sure, differing_series = 0, 0, set[int]()
    for series_of_table, tables in counts.items():
        held = {values[series] for series in series_of_table if series in values}
        if len(held) > 1:
            differing += tables
            differing_series |= series_of_table & values.keys()
            if len(held - {frozenset({UNKNOWN.label})}) > 1:
                sure += tables
    if not differing:
        return None
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for series in sorted(differing_series):
        for value in sorted(values[series]):
            groups[value] |= dict(names[series])
    return Difference(
        title,
        singular,
        tuple(
            Group(value, tuple(sorted(contenders)))
            for value, contenders in sorted(
                groups.items(), key=lambda item: (item[0] == UNKNOWN.label, item[0])
            )
        ),
        sure or differing,
        is_compared,
        is_unsure=not sure,
    )


# Which entries ran at different times, so that time may explain a difference.

LEAST_APART = timedelta(days=1)
Span = tuple[datetime, datetime]
"""First and last."""


@dataclass(frozen=True)
class MeasuredPeriod:
    contender: str
    first: datetime
    last: datetime


@dataclass(frozen=True)
class OrderOverTime:
    """``turns``: the entries in the order they ran, if each had its own time, else ()."""

    turns: tuple[MeasuredPeriod, ...] = ()
    is_known: bool = True


def order_over_time(
    tables: Sequence[DeltaTable], spans_of: Callable[[Collection[int]], Mapping[int, Span]]
) -> OrderOverTime:
    """Whether each entry had its own time: no overlap, no shared block, more than a day in all."""
    if _shares_block(tables):
        return OrderOverTime()
    rows = [row for table in tables for row in table.rows]
    measured = [row for row in rows if row.origin != "published"]
    spans = spans_of({row.series_id for row in measured if row.series_id is not None})
    periods: dict[str, Span] = {}
    for row in rows:
        span = None if row.series_id is None else spans.get(row.series_id)
        if span is None:
            return OrderOverTime(is_known=False)
        first, last = periods.get(row.contender, span)
        periods[row.contender] = min(first, span[0]), max(last, span[1])
    turns = sorted(
        (MeasuredPeriod(name, *span) for name, span in periods.items()), key=lambda turn: turn.first
    )
    is_apart = all(turn.last < following.first for turn, following in pairwise(turns))
    if len(turns) < 2 or not is_apart:
        return OrderOverTime()
    is_long = turns[-1].last - turns[0].first > LEAST_APART
    return OrderOverTime(tuple(turns) if is_long else ())


def _shares_block(tables: Iterable[DeltaTable]) -> bool:
    first: dict[tuple[str, str], str] = {}
    return any(
        block and first.setdefault((row.study, block), row.contender) != row.contender
        for table in tables
        for row in table.rows
        for block, _ in row.repeat_scores or ()
    )
