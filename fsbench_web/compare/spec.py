"""What a comparison shows: the whole state of the page is its query string."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from fsbench_web.catalog.filesystems import FILESYSTEMS
from fsbench_web.scoring import categories, testnames
from fsbench_web.studies.queries import ScoreChoices

CONTENDERS = {
    "filesystem": "File systems, each by its best configuration",
    "configuration": "Configurations, each on its own",
}
LONGEST_VALUE = 200
MOST_VALUES = 500


class SpecError(ValueError):
    """A comparison that cannot be shown, with all its problems at once, as sentences."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class ComparisonSpec:
    """Filters (an empty one takes all), and what is ranked. Always in canonical order.

    Two specs that mean the same are equal, and so are their addresses:
    ``ComparisonSpec.from_query(spec.to_query()) == spec``.
    """

    studies: tuple[str, ...] = ()
    by: str = "filesystem"
    tests: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Frozen, so that it can be a key: this is the only way to put the canonical order in.
        for name, key in _ORDER.items():
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)), key=key)))

    @classmethod
    def from_query(cls, query: QueryDict | str) -> "ComparisonSpec":
        """The comparison of a query string, its form checked.

        Raises SpecError for a parameter, a contender or a category that does not exist, and for
        values too long or too many. Whether a study or file system exists is asked later, by
        ``unknown_values``, because only the database knows.
        """
        given = QueryDict(query) if isinstance(query, str) else query
        problems = [
            f'A comparison has no "{_short(name)}"; it has {", ".join([*_PARAMETERS, "by"])}.'
            for name in given
            if name not in (*_PARAMETERS, "by")
        ]
        by = given.get("by") or "filesystem"
        if by not in CONTENDERS:
            problems.append(f'by is "{_short(by)}"; it can be {" or ".join(CONTENDERS)}.')
        if len(set(given.getlist("by"))) > 1:
            problems.append("by is given more than once: give it once.")
        values: dict[str, tuple[str, ...]] = {}
        for parameter, name in _PARAMETERS.items():
            texts = [text for text in given.getlist(parameter) if text]
            if len(texts) > MOST_VALUES:
                problems.append(
                    f"More than {MOST_VALUES} values of {parameter}: leave it out for all."
                )
            elif any(len(text) > LONGEST_VALUE or "\x00" in text for text in texts):
                problems.append(
                    f"A value of {parameter} is not a name that fsbench could have given."
                )
            else:
                values[name] = tuple(texts)
        problems += _unknown("category", values.get("categories", ()), categories.all_slugs())
        if problems:
            raise SpecError(problems)
        return cls(by=by, **values)

    def to_query(self) -> str:
        """The canonical query string, without "?"; empty for the comparison of everything."""
        pairs = [
            (parameter, value)
            for parameter, name in _PARAMETERS.items()
            for value in getattr(self, name)
        ]
        if self.by != "filesystem":
            pairs.append(("by", self.by))
        return urlencode(pairs)

    def without(self, name: str) -> "ComparisonSpec":
        """The same comparison with one filter taking all."""
        nothing: dict[str, Any] = {name: ()}
        return replace(self, **nothing)

    def unknown_values(self, choices: ScoreChoices) -> list[str]:
        """Sentences about values of filters that exist nowhere; empty when all do.

        A test or file system that fsbench knows is never unknown, also while nothing of it is
        measured: then the comparison is empty, which is something else than a wrong address.
        """
        return [
            *_unknown("study", self.studies, [slug for slug, _ in choices.studies]),
            *_unknown("test", self.tests, [*testnames.IOZONE_TESTS, *choices.tests]),
            *_unknown("filesystem", self.filesystems, [*FILESYSTEMS, *choices.filesystems]),
            *_unknown("workload", self.workloads, [slug for slug, _ in choices.workloads]),
            *_unknown("hardware", self.hardware, [slug for slug, _ in choices.hardware]),
        ]


_PARAMETERS = {
    "study": "studies",
    "test": "tests",
    "category": "categories",
    "filesystem": "filesystems",
    "workload": "workloads",
    "hardware": "hardware",
}
_ORDER = {field.name: str for field in fields(ComparisonSpec) if field.name != "by"} | {
    "tests": testnames.place,
    "categories": categories.place,
}


def _unknown(parameter: str, values: Iterable[str], known: Iterable[str]) -> list[str]:
    known = dict.fromkeys(known)
    listed = ", ".join(known) or "none yet"
    return [
        f'There is no {parameter} "{_short(value)}"; there is {listed}.'
        for value in values
        if value not in known
    ]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
