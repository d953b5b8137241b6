"""What else changed where a line changed its level: of what its runs recorded. One query."""

from collections.abc import Iterable, Mapping, Sequence

from fsbench_web.studies.scores.source_runs import facts_by_group

MOST_NAMED = 5


def events_at(
    places: Iterable[int], environments: Sequence[Sequence[int]]
) -> dict[int, tuple[str, ...]]:
    """By place of a change, the recorded facts that all runs before and after it differ in.

    ``environments`` are those of the runs of each point. A fact that one of the two points does
    not have, or has in several values, says nothing.
    """
    changed = list(places)
    beside = {point for place in changed for point in (place - 1, place)}
    facts = facts_by_group([(point, pk) for point in beside for pk in set(environments[point])])
    return {
        place: _named(list(_differing(facts.get(place - 1, {}), facts.get(place, {}))))
        for place in changed
    }


def _differing(
    before: Mapping[str, Mapping[str, frozenset[str]]],
    after: Mapping[str, Mapping[str, frozenset[str]]],
) -> Iterable[str]:
    # Sorted: a database need not keep the order of facts.
    for section, rows in sorted(after.items()):
        for label, values in sorted(rows.items()):
            old = before.get(section, {}).get(label, frozenset())
            if len(old) == len(values) == 1 and old != values:
                yield f"{section}, {label}: {next(iter(old))} to {next(iter(values))}"


def _named(events: Sequence[str]) -> tuple[str, ...]:
    more = len(events) - MOST_NAMED
    return (*events[:MOST_NAMED], f"{more} more") if more > 0 else tuple(events)
