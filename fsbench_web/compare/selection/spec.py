"""What a comparison shows: the whole state of the page is its query string."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.compare.selection import properties
from fsbench_web.compare.selection.settings import (
    UNITS,
)
from fsbench_web.compare.selection.values import (
    LONGEST_VALUE,
    as_text,
    quoted,
    read,
    shortened,
    unknown,
)
from fsbench_web.core.conversion import PRINTED
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.stats.freenix import MARGIN_PERCENT
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT, FREENIX
from fsbench_web.studies.models import Selection
from fsbench_web.studies.scores.choices import ScoreChoices
from fsbench_web.studies.scores.queries import ScoreFilter

WITH_PAPERS = "yes"
MOST_VALUES = 500


class SpecError(ValueError):
    """A comparison that cannot be shown, with all its problems at once, as sentences.

    ``parameter`` is that which all of them are of, None where they are of several.
    """

    def __init__(self, problems: Iterable[str], parameter: str | None = None) -> None:
        self.problems = list(problems)
        self.parameter = parameter
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class ComparisonSpec:
    """Filters (an empty one takes all), and what is ranked. Always in canonical order.

    Two specs that mean the same are equal, and so are their addresses:
    ``ComparisonSpec.from_query(spec.to_query()) == spec``.

    ``by`` is what contenders are (``compare.selection.properties``). ``baseline`` is the slug of
    the contender that all are set against besides the best, "" for none. ``cells`` says of which
    cells the scores are (``CELLS``); ``matched`` takes only those that all contenders of a test
    have. ``emulated`` says what becomes of scores that were emulated: for function, not for speed
    (``EMULATED``). ``units`` are those that scores of one test are shown in, side by side
    (``UNITS``). ``sort`` is the order in which rows are shown (``SORTS``), ``rule`` how verdicts
    are made (``RULES``), ``margin`` the percent of the rule of FREENIX 2002, ``equivalence`` the
    percent below which a difference is none by the others, ``min_runs`` the least number of runs
    behind a score.

    ``part_tests`` and ``part_categories`` take a part of the tables that all the rest asks for: it
    is shown as it stands among them. Filters make another comparison, a part is a part of the same
    one.

    ``from_test`` and ``from_row`` say where a part begins that is too long to be named: at which
    of the tests in their order, and, of a single table, at which of its scores, best first; they
    count from 1, and 0 is no part. ``compare.tables.bounds`` makes tests of the former.

    ``profile`` ranks by a work profile (``oltp``, or one version of it, ``oltp@1``) instead of by
    tests and categories. So do ``operations``, ``block``, ``file``, ``cached`` and ``flushed``: a
    range of sizes, which is a profile without a name (``compare.selection.profiles``).

    ``papers`` says what becomes of published studies (``PAPERS``); who names studies has said it.
    "" takes them with all others in files and answers of the API, while a page leaves them out
    (``compare.views.picker``).
    """

    studies: tuple[str, ...] = ()
    by: str = "filesystem"
    tests: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    luns: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    journals: tuple[str, ...] = ()
    mkfs: tuple[str, ...] = ()
    mount: tuple[str, ...] = ()
    preparations: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    baseline: str = ""
    cells: str = ""
    matched: bool = False
    emulated: str = ""
    units: str = ""
    sort: str = ""
    rule: str = ""
    margin: float = MARGIN_PERCENT
    equivalence: float = EQUIVALENCE_PERCENT
    min_runs: int = 1
    part_tests: tuple[str, ...] = ()
    part_categories: tuple[str, ...] = ()
    from_test: int = 0
    from_row: int = 0
    profile: str = ""
    operations: tuple[str, ...] = ()
    block: str = ""
    file: str = ""
    cached: str = ""
    flushed: str = ""
    papers: str = ""

    def __post_init__(self) -> None:
        # Of before there was another rule: who says a margin asks for the rule that has one.
        # Frozen, so that it can be a key: this is the only way to put the canonical order in.
        if self.margin != MARGIN_PERCENT:
            object.__setattr__(self, "rule", FREENIX)
        if self.studies and self.papers:
            object.__setattr__(self, "papers", "")
        for name, key in _ORDER.items():
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)), key=key)))

    @classmethod
    def from_query(cls, query: QueryDict | str) -> "ComparisonSpec":
        """The comparison of a query string, its form checked.

        Raises SpecError for a parameter, a contender or a category that does not exist, and for
        values too long or too many. Whether a study or file system exists is asked later, by
        ``unknown_values``, because only the database knows.
        """
        parsed_query = QueryDict(query) if isinstance(query, str) else query
        parameters = [*FILTERS, *_SINGLE, *PARTS, *RANGES]
        others = [name for name in parsed_query if name not in parameters]
        problems = (
            [f"A comparison has no {quoted(others)}; it has {', '.join(parameters)}."]
            if others
            else []
        )
        problems += [
            f"{name} is given more than once: give it once."
            for name in _SINGLE
            if len(set(parsed_query.getlist(name))) > 1
        ]
        single, wrong = _single(parsed_query)
        problems += wrong
        values: dict[str, Any] = {}
        for parameter, name in (FILTERS | PARTS | RANGES).items():
            texts = [text for text in parsed_query.getlist(parameter) if text]
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
        for parameter, name in (("category", "categories"), ("part_category", "part_categories")):
            score_categories = [
                category for category in values.get(name, ()) if not categories.is_of_work(category)
            ]
            problems += unknown(parameter, score_categories, categories.all_slugs())
        problems += _work_of_category(single, values)
        if problems:
            raise SpecError(problems)
        return cls(**single, **values)

    def to_query(self) -> str:
        """The canonical query string, without "?"; empty for the comparison of everything."""
        pairs = [
            (parameter, value)
            for parameter, name in FILTERS.items()
            for value in getattr(self, name)
        ]
        pairs += [
            (name, as_text(getattr(self, name)))
            for name in _SINGLE
            if getattr(self, name) != getattr(EVERYTHING, name)
        ]
        pairs += [
            (parameter, value)
            for parameter, name in (PARTS | RANGES).items()
            for value in getattr(self, name)
        ]
        return urlencode(pairs)

    def with_default(self, name: str) -> "ComparisonSpec":
        """The same comparison with one filter or setting as it is when nothing is said."""
        default: dict[str, Any] = {name: getattr(EVERYTHING, name)}
        return replace(self, **default)

    def with_profile(self, name: str) -> "ComparisonSpec":
        """The same by this profile."""
        return replace(self, profile=name)

    @property
    def for_programs(self) -> "ComparisonSpec":
        """The same with units as printed, unless it says others: what version 1 of the API answers.

        A program must not find its numbers in another unit because a study was added.
        """
        return self if self.units else replace(self, units=PRINTED)

    @property
    def on_page(self) -> "ComparisonSpec":
        """The one whose page shows the same as files and the API answer to this one."""
        is_open = not self.studies and not self.papers
        return replace(self, papers=WITH_PAPERS) if is_open else self

    @property
    def is_part(self) -> bool:
        """Whether some of the tables of ``whole`` are shown."""
        return bool(self.part_tests or self.part_categories)

    @property
    def whole(self) -> "ComparisonSpec":
        """The comparison that this one is a part of, or is itself."""
        if not (self.is_part or self.from_test or self.from_row):
            return self
        return replace(self, part_tests=(), part_categories=(), from_test=0, from_row=0)

    @property
    def without_work(self) -> "ComparisonSpec":
        """The same ranked by tests and categories."""
        return replace(self, profile="", operations=(), block="", file="", cached="", flushed="")

    @property
    def has_range(self) -> bool:
        """Whether it ranks by a range of sizes."""
        return bool(self.operations or self.block or self.file or self.cached or self.flushed)

    @property
    def is_of_work(self) -> bool:
        """Whether it ranks by a work profile, or by a range, which is one without a name."""
        return bool(self.profile) or self.has_range

    @property
    def score_filter(self) -> ScoreFilter:
        """The scores that it considers, but for what becomes of emulated ones.

        Of the whole: a part shows some of its tables.
        """
        return ScoreFilter(
            *(self.studies, self.tests, self.categories),
            *(self.filesystems, self.workloads, self.hardware),
            selection=self.cells or Selection.ALL,
            min_runs=self.min_runs,
            conditions=tuple(
                properties.condition(parameter, getattr(self, FILTERS[parameter]))
                for parameter in properties.OFFERED
                if getattr(self, FILTERS[parameter])
            ),
            papers="" if self.papers == WITH_PAPERS else self.papers,
        )

    def shows(self, test: str, category: str) -> bool:
        """Whether a table of the whole is in the part that is shown."""
        return (not self.part_tests or test in self.part_tests) and (
            not self.part_categories or category in self.part_categories
        )

    @property
    def names_only_studies(self) -> bool:
        """Whether nothing else that may be unknown is filtered by (categories are known)."""
        return not any(
            getattr(self, name)
            for name in FILTERS.values()
            if name not in ("studies", "categories")
        )

    def unknown_values(self, choices: ScoreChoices) -> list[str]:
        """Sentences about values of filters that exist nowhere; empty when all do.

        A test or file system that fsbench knows is never unknown, also while nothing of it is
        measured: then the comparison is empty, which is something else than a wrong address.
        """
        return [
            *unknown("study", self.studies, [slug for slug, _ in choices.studies]),
            *unknown("test", self.tests, [*testnames.IOZONE_TESTS, *choices.tests]),
            *unknown(
                "part_test",
                self.part_tests,
                [*testnames.IOZONE_TESTS, testnames.WORK, *self.operations, *choices.tests],
            ),
            *unknown("filesystem", self.filesystems, [*FILESYSTEMS, *choices.filesystems]),
            *unknown("workload", self.workloads, [slug for slug, _ in choices.workloads]),
            *unknown("hardware", self.hardware, [slug for slug, _ in choices.hardware]),
            *(
                problem
                for parameter in properties.OFFERED
                for problem in unknown(
                    parameter,
                    getattr(self, FILTERS[parameter]),
                    properties.known_slugs(choices, parameter, getattr(self, FILTERS[parameter])),
                )
            ),
        ]


FILTERS = {
    "study": "studies",
    "test": "tests",
    "category": "categories",
    "filesystem": "filesystems",
    "workload": "workloads",
    "hardware": "hardware",
    "configuration": "configurations",
    "kernel": "kernels",
    "distribution": "distributions",
    "lun": "luns",
    "scheduler": "schedulers",
    "journal": "journals",
    "mkfs": "mkfs",
    "mount": "mount",
    "preparation": "preparations",
    "machine": "machines",
}
PARTS = {"part_test": "part_tests", "part_category": "part_categories"}
RANGES = {"operation": "operations"}
WORK_PARAMETERS = ("profile", "operation", "block", "file", "cached", "flushed")
"""Those that rank by a work profile or by a range of sizes."""
_SINGLE = (
    *("profile", "block", "file", "cached", "flushed"),
    *("by", "baseline", "cells", "matched", "emulated", "papers", "units", "sort"),
    *("rule", "margin", "equivalence", "min_runs", "from_test", "from_row"),
)
_ORDER = dict.fromkeys(FILTERS.values(), str) | {
    "tests": testnames.place,
    "categories": categories.place,
    "part_tests": testnames.place,
    "part_categories": categories.place,
    "operations": testnames.place,
}
EVERYTHING = ComparisonSpec()
"""The comparison of all there is, of which addresses only say how they differ."""


def units_of(query: QueryDict) -> str:
    """The units that the address of a study, its report or a line over time asks for."""
    units = query.get("units", "")
    return units if units in UNITS else ""


def _work_of_category(single: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """A work profile in the place of a category is what is ranked by: ``category=profile:oltp`` is
    ``profile=oltp``. Problems where that cannot be.
    """
    slugs = values.get("categories", ())
    of_work = [slug for slug in slugs if categories.is_of_work(slug)]
    if not of_work:
        return []
    if len(slugs) > 1:
        return ["A comparison ranks by one work profile or by categories: leave the others out."]
    [slug] = of_work
    has_range = bool(single.get("block") or single.get("file") or values.get("operations"))
    if slug == categories.RANGE:
        if not has_range:
            return ["category is range, and no range is given: say block=8k-16k and file=1g-4g."]
    else:
        name = slug.removeprefix(categories.PROFILE)
        profile = single.setdefault("profile", name)
        if not name or name.partition("@")[0] != profile.partition("@")[0]:
            given = f'category is "{shortened(slug)}", and profile is "{shortened(profile)}"'
            return [f"{given}: leave one out."]
    values["categories"] = ()
    return []


def _single(query: QueryDict) -> tuple[dict[str, Any], list[str]]:
    """What is given once: values by name, what is left out being left out, and problems."""
    values: dict[str, Any] = {}
    problems = []
    for name in _SINGLE:
        text = query.get(name) or ""
        if not text:
            continue
        try:
            values[name] = read(name, text)
        except ValueError as error:
            problems.append(f'{name} is "{shortened(text)}"; it can be {error}.')
    return values, problems
