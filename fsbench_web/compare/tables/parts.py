"""Links to the parts of a comparison that has more rows than a page shows."""

from dataclasses import dataclass, replace

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.bounds import Part
from fsbench_web.core.scoring import categories, testnames


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
    are filters: each is a comparison by itself (``Part.is_apart``).
    """

    def way(label: str, is_shown: bool, other: ComparisonSpec) -> RelaxedFilter:
        return RelaxedFilter(
            label, is_shown, (other if names_study else replace(other, studies=())).to_query()
        )

    whole = part.whole
    tests = spec.part_tests or spec.tests
    slugs = spec.part_categories or spec.categories
    of_table = replace(whole, tests=tests, categories=slugs)
    found = {
        "Tests": [
            way(testnames.label(name), name in tests, replace(whole, part_tests=(name,)))
            for name in part.tests
        ],
        "Categories": [
            way(
                categories.label(name),
                name in slugs,
                replace(whole, part_tests=tests, part_categories=(name,)),
            )
            for name in part.categories
        ],
        "File systems": [
            way(name, name in spec.filesystems, replace(of_table, filesystems=(name,)))
            for name in part.filesystems
        ],
    }
    return {title: ways for title, ways in found.items() if ways}
