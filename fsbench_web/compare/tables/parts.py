"""Links to the parts of a comparison that has more rows than are shown at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.bounds import Part
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.platform import limits


@dataclass(frozen=True)
class RelaxedFilter:
    """One part: what it is called, whether it is shown now, and its query string."""

    label: str
    is_shown: bool
    query: str


def part_links(
    spec: ComparisonSpec, part: Part, names_study: bool = True
) -> dict[str, list[RelaxedFilter]]:
    """How to get from ``spec``, which is a part, to the others, by what they differ in.

    Without ``names_study`` the query strings are for the page of the study itself. File systems
    are filters: each is a comparison by itself (``Part.is_apart``). Of more names than there is
    room for (``limits.MOST_LINKS``) those from the first that is shown on are links; "before" and
    "next" lead to all others.
    """

    def link(label: str, is_shown: bool, other: ComparisonSpec) -> RelaxedFilter:
        return RelaxedFilter(
            label, is_shown, (other if names_study else replace(other, studies=())).to_query()
        )

    whole = part.whole
    tests = spec.part_tests or spec.tests
    slugs = spec.part_categories or spec.categories
    of_table = replace(whole, tests=tests, categories=slugs)
    steps = _steps(part, whole, replace(spec, from_row=0))
    links = {
        "Parts": [link(label, False, other) for label, other in steps],
        "Tests": [
            link(testnames.label(name), name in tests, replace(whole, part_tests=(name,)))
            for name in _linked_names(part.tests, part.from_test)
        ],
        "Categories": [
            link(
                categories.label(name),
                name in slugs,
                replace(whole, part_tests=tests, part_categories=(name,)),
            )
            for name in part.categories
        ],
        "File systems": [
            link(name, name in spec.filesystems, replace(of_table, filesystems=(name,)))
            for name in part.filesystems
        ],
    }
    return {title: choices for title, choices in links.items() if choices}


def _linked_names(names: Sequence[str], first: int) -> Sequence[str]:
    """All names, or as many as there is room for: from the ``first`` that is shown on."""
    if len(names) <= limits.MOST_LINKS:
        return names
    start = max(0, min(first - 1, len(names) - limits.MOST_LINKS))
    return names[start : start + limits.MOST_LINKS]


def _steps(
    part: Part, whole: ComparisonSpec, table: ComparisonSpec
) -> list[tuple[str, ComparisonSpec]]:
    """Before and next, of the scores of one table (``table``) and of many tests."""
    steps = []
    if part.from_row > 1:
        before = max(1, part.from_row - limits.WINDOW)
        steps.append((f"Scores from {before:,}", replace(table, from_row=before)))
    if part.next_row:
        steps.append((f"Scores from {part.next_row:,}", replace(table, from_row=part.next_row)))
    if len(part.tests) <= limits.MOST_LINKS:
        return steps
    count = (part.next_test or len(part.tests) + 1) - part.from_test
    if part.from_test > 1:
        before = max(1, part.from_test - count)
        steps.append((f"Tests from {before:,}", replace(whole, from_test=before)))
    if part.next_test:
        steps.append((f"Tests from {part.next_test:,}", replace(whole, from_test=part.next_test)))
    return steps
