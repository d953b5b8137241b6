"""What a comparison shows: the whole state of the page is its query string."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from fsbench_web.compare.selection.fields import (
    ATTRIBUTES,
    FILTERS,
    LISTS,
    LONGEST_VALUE,
    PARTS,
    SETTINGS,
    UNITS,
    Filter,
    query_of,
    quoted,
    shortened,
    unknown,
)
from fsbench_web.compare.selection.properties import STAGE_FILTERS, condition
from fsbench_web.core.scoring import categories
from fsbench_web.core.stats.freenix import MARGIN_PERCENT
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT, FREENIX
from fsbench_web.core.units import PRINTED
from fsbench_web.studies.models import Selection
from fsbench_web.studies.scores.choices import ScoreChoices
from fsbench_web.studies.scores.queries import NO_PAPERS, ScoreFilter
from fsbench_web.studies.scores.renamed import names_seen

WITH_PAPERS = "yes"
MOST_VALUES = 500


class SpecError(ValueError):
    """A comparison that cannot be shown: problems as sentences, and their only ``parameter``."""

    def __init__(self, problems: Iterable[str], parameter: str | None = None) -> None:
        self.problems = list(problems)
        self.parameter = parameter
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class ComparisonSpec:
    """Filters (an empty one takes all), and what is ranked. Always in canonical order.

    Specs that mean the same are equal, and so are their addresses:
    ``ComparisonSpec.from_query(spec.to_query()) == spec``. ``fields`` has the values of each
    parameter.

    ``by``: what contenders are (``properties``). ``baseline``: slug of the contender that all are
    compared with besides the best. ``matched``: only cells that all contenders of a test have.
    ``margin``: percent, for the rule of FREENIX 2002; ``equivalence``: percent, for the others.

    ``part_tests`` and ``part_categories`` show some tables of the same comparison. ``from_test``
    and ``from_row``: where a part begins, from 1; 0: no part (``compare.tables.bounds``).

    ``profile`` (``oltp``, ``oltp@1``) or a range (``operations``, ``block``, ``file``, ``cached``,
    ``flushed``) is ranked instead of tests and categories (``selection.profiles``).

    ``papers``: published studies. "" takes them in files and the API and leaves them out on pages
    (``without_papers``). A spec with ``studies`` has none.
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
        for entry in LISTS:
            if values := getattr(self, entry.name):
                ordered = tuple(sorted(set(values), key=entry.order))
                object.__setattr__(self, entry.name, ordered)

    @classmethod
    def from_query(cls, query: QueryDict | str) -> "ComparisonSpec":
        """The comparison of a query string. Raises SpecError; ``unknown_values`` checks names."""
        parsed_query = QueryDict(query) if isinstance(query, str) else query
        others = [name for name in parsed_query if name not in ATTRIBUTES]
        problems = (
            [f"A comparison has no {quoted(others)}; it has {', '.join(ATTRIBUTES)}."]
            if others
            else []
        )
        values: dict[str, Any] = {}
        problems += _read_settings(parsed_query, values)
        for entry in LISTS:
            texts = [text for text in parsed_query.getlist(entry.parameter) if text]
            problems += _problems_of(entry, texts)
            values[entry.name] = tuple(texts)
        problems += _work_of_category(values)
        if problems:
            raise SpecError(problems)
        return cls(**values)

    @classmethod
    def of_address(cls, query: QueryDict | str) -> "ComparisonSpec":
        """The same of an address that may be old: renamed tests by the names of today."""
        spec = cls.from_query(query)
        renamed = names_seen({*spec.tests, *spec.part_tests})
        if not renamed:
            return spec
        tests, part_tests = (
            tuple(dict.fromkeys(name for test in asked for name in renamed.get(test, [test])))
            for asked in (spec.tests, spec.part_tests)
        )
        if max(len(tests), len(part_tests)) > MOST_VALUES:
            raise SpecError([f"More than {MOST_VALUES} tests had these names: leave them out."])
        return replace(spec, tests=tests, part_tests=part_tests)

    def to_query(self) -> str:
        """The canonical query string, without "?"; empty for the comparison of everything."""
        return query_of(self, EVERYTHING, ATTRIBUTES)

    def with_default(self, name: str) -> "ComparisonSpec":
        """The same comparison with one filter or setting as it is when nothing is said."""
        default: dict[str, Any] = {name: getattr(EVERYTHING, name)}
        return replace(self, **default)

    def with_profile(self, name: str) -> "ComparisonSpec":
        return replace(self, profile=name)

    @property
    def for_programs(self) -> "ComparisonSpec":
        """The same with units as printed by default: version 1 of the API promises it."""
        return self if self.units else replace(self, units=PRINTED)

    @property
    def on_page(self) -> "ComparisonSpec":
        """The comparison with a page that shows what files and the API answer to this one."""
        is_open = not self.studies and not self.papers
        return replace(self, papers=WITH_PAPERS) if is_open else self

    @property
    def without_papers(self) -> "ComparisonSpec":
        """What a page shows of it: measurements alone, unless it says something else."""
        is_open = not self.studies and not self.papers
        return replace(self, papers=NO_PAPERS) if is_open else self

    @property
    def is_part(self) -> bool:
        return bool(self.part_tests or self.part_categories)

    @property
    def whole(self) -> "ComparisonSpec":
        """The comparison that this one is a part of, or is itself."""
        if not (self.is_part or self.from_test or self.from_row):
            return self
        return replace(self, part_tests=(), part_categories=(), from_test=0, from_row=0)

    @property
    def without_work(self) -> "ComparisonSpec":
        return replace(self, profile="", operations=(), block="", file="", cached="", flushed="")

    @property
    def has_range(self) -> bool:
        return bool(self.operations or self.block or self.file or self.cached or self.flushed)

    @property
    def is_of_work(self) -> bool:
        """Whether it ranks by a work profile, or by a range, which is one without a name."""
        return bool(self.profile) or self.has_range

    @property
    def score_filter(self) -> ScoreFilter:
        """The scores that the whole comparison considers, emulated ones among them."""
        return ScoreFilter(
            *(self.studies, self.tests, self.categories),
            *(self.filesystems, self.workloads, self.hardware),
            selection=self.cells or Selection.ALL,
            min_runs=self.min_runs,
            conditions=tuple(
                condition(entry.parameter, getattr(self, entry.name))
                for entry in FILTERS
                if entry.is_condition and getattr(self, entry.name)
            ),
            papers="" if self.papers == WITH_PAPERS else self.papers,
        )

    def shows(self, test: str, category: str) -> bool:
        return (not self.part_tests or test in self.part_tests) and (
            not self.part_categories or category in self.part_categories
        )

    @property
    def names_only_studies(self) -> bool:
        """Whether nothing else that may be unknown is filtered by (categories are known)."""
        return not any(
            getattr(self, entry.name)
            for entry in FILTERS
            if entry.name not in ("studies", "categories")
        )

    def unknown_values(self, choices: ScoreChoices) -> list[str]:
        """Sentences about filter values that exist nowhere; empty for none."""
        return [
            problem
            for entry in (*FILTERS, *PARTS)
            if not entry.is_closed
            for problem in entry.unknown(
                [
                    value
                    for value in getattr(self, entry.name)
                    # What a range of sizes ranks by is a test of its tables.
                    if entry.parameter != "part_test" or value not in self.operations
                ],
                choices,
            )
        ]

    def configurations_of(self, contender: str) -> "ComparisonSpec | None":
        """The comparison of one contender's configurations; None where no filter selects it."""
        name = next((entry.name for entry in FILTERS if entry.parameter == self.by), None)
        if name is None or self.by in ("configuration", *STAGE_FILTERS):
            return None
        # Filters that take rows of the database; what is without one cannot be chosen.
        if self.by in ("workload", "hardware") and contender == "unknown":
            return None
        filters: dict[str, Any] = {name: (contender,)}
        return replace(self, by="configuration", baseline="", sort="", **filters)


EVERYTHING = ComparisonSpec()
"""The comparison of everything. An address only says how it differs from this one."""


def units_of(query: QueryDict) -> str:
    """The units that the address of a study, its report or a line over time asks for."""
    units = query.get("units", "")
    return units if units in UNITS else ""


def _read_settings(query: QueryDict, values: dict[str, Any]) -> list[str]:
    """Problems of settings, which an address gives once. Puts valid ones into ``values``."""
    problems = [
        f"{name} is given more than once: give it once."
        for name in SETTINGS
        if len(set(query.getlist(name))) > 1
    ]
    for name, setting in SETTINGS.items():
        if text := query.get(name) or "":
            try:
                values[name] = setting.read(text)
            except ValueError as error:
                problems.append(f'{name} is "{shortened(text)}"; it can be {error}.')
    return problems


def _problems_of(entry: Filter, texts: Sequence[str]) -> list[str]:
    """What is wrong with the values of a filter whatever there is to choose from."""
    parameter = entry.parameter
    if len(texts) > MOST_VALUES:
        return [f"More than {MOST_VALUES} values of {parameter}: leave it out for all."]
    if any(len(text) > LONGEST_VALUE or "\x00" in text for text in texts):
        return [f"A value of {parameter} is not a name that fsbench could have given."]
    if entry.is_closed:
        measured = [text for text in texts if not categories.is_of_work(text)]
        return unknown(parameter, measured, entry.known)
    return []


def _work_of_category(values: dict[str, Any]) -> list[str]:
    """Read ``category=profile:oltp`` as ``profile=oltp``. Returns problems."""
    slugs = values["categories"]
    of_work = [slug for slug in slugs if categories.is_of_work(slug)]
    if not of_work:
        return []
    if len(slugs) > 1:
        return ["A comparison ranks by one work profile or by categories: leave the others out."]
    [slug] = of_work
    has_range = bool(values.get("block") or values.get("file") or values["operations"])
    if slug == categories.RANGE:
        if not has_range:
            return ["category is range, and no range is given: say block=8k-16k and file=1g-4g."]
    else:
        name = slug.removeprefix(categories.PROFILE)
        profile = values.setdefault("profile", name)
        if not name or name.partition("@")[0] != profile.partition("@")[0]:
            given = f'category is "{shortened(slug)}", and profile is "{shortened(profile)}"'
            return [f"{given}: leave one out."]
    values["categories"] = ()
    return []


# Filters of an address that choose nothing: its work profile has operations of its own.


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
