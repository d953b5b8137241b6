"""The systems that a study was measured on, each fact once. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from fsbench_web.core import numbers

Facts = tuple[tuple[str, str], ...]
Sections = Mapping[str, Iterable[Sequence[object]]]

_FIRST = ("Operating system", "Machine", "Tools", "Execution", "LUN", "File system")
"""What readers look for; the kernel's own settings come after it."""
_UNAFFECTED = "Not affected"
_MOST_NAMED = 6


def systems(
    recorded: Iterable[tuple[str, Sequence[str], Sections]],
) -> tuple[tuple[str, Facts], ...]:
    """(heading, facts) of each of ``recorded``, which are (name, configurations, facts by section).

    The first is told whole, and the others by what of them is otherwise: ext4 and XFS on one
    machine have all but their tools and mount options in common.
    """
    entries: list[tuple[str, Facts]] = []
    first_facts: dict[str, str] = {}
    for name, configurations, sections in recorded:
        facts: dict[str, str] = {}
        for label, value in _in_order(sections):
            facts[label] = f"{facts[label]}; {value}" if label in facts else value
        heading = f"{name}: {_joined_names(configurations)}" if configurations else name
        if not entries:
            first_facts = facts
            entries.append((heading, tuple(facts.items())))
            continue
        other = tuple(fact for fact in facts.items() if first_facts.get(fact[0]) != fact[1])
        lacking = tuple((label, numbers.MISSING) for label in first_facts if label not in facts)
        entries.append((f"{heading}; what differs from the first", (*other, *lacking)))
    return tuple(entries)


def _joined_names(configurations: Sequence[str]) -> str:
    more = len(configurations) - _MOST_NAMED
    named = ", ".join(configurations[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _in_order(sections: Sections) -> Iterable[tuple[str, str]]:
    """Facts with their section before them; what a processor is not affected by is one fact."""
    place = {name: number for number, name in enumerate(_FIRST)}
    for section in sorted(sections, key=lambda name: place.get(name, len(place))):
        facts = [(str(label), str(value)) for label, value in sections[section]]
        unaffected = [label for label, value in facts if value == _UNAFFECTED]
        for label, value in facts:
            if len(unaffected) < 2 or value != _UNAFFECTED:
                yield f"{section}: {label}", value
        if len(unaffected) > 1:
            yield f"{section}: not affected", ", ".join(unaffected)
