"""What a kind of picture is: what a test must have, what its form asks, how it is drawn."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import plotly.graph_objects as go

from fsbench_web.compare.pictures.table import PictureTable
from fsbench_web.compare.selection import profiles, wording
from fsbench_web.compare.selection.fields import query_of
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.bounds import BoundedComparison, by_rows
from fsbench_web.compare.tables.delta_tables import Comparison, comparison
from fsbench_web.core.comparison.delta_tables import tool_of
from fsbench_web.core.comparison.headlines import headline_of
from fsbench_web.core.comparison.rows import DeltaTable, shown_names
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.units import shown_units
from fsbench_web.figures.heatmap import size_name
from fsbench_web.figures.lines import LINEAR, LOG, MOST_LINES
from fsbench_web.platform import limits
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import LoadCurve, Matrix, RepeatsOfSeries, ScoredTest

# What there is to draw of a comparison: tests by what they have, and contenders by name.

PUBLISHED = "published"


@dataclass(frozen=True)
class Contender:
    """A measured configuration; ``key`` is that of its series. ``score`` is in ``unit``."""

    key: int
    name: str
    filesystem: str
    study: str
    score: float
    unit: str
    tool: str


ScoredTests = Mapping[str, Collection[ScoredTest]]
"""The scores of each test, tests in the order of all pages."""


@dataclass(frozen=True)
class Need:
    """What a test must have to be drawn, and the ``refusal`` where no test has it."""

    tests_of: Callable[[ScoredTests], list[str]]
    refusal: str


@dataclass(frozen=True)
class DrawableTests:
    """The tests of a comparison with the scores of each, and the ``categories`` of these."""

    scored: ScoredTests
    categories: Mapping[str, list[str]]

    def is_printed(self, test: str) -> bool:
        """Whether a paper states any of its scores."""
        return any(kind.origin == PUBLISHED for kind in self.scored.get(test, ()))

    def of(self, need: Need) -> list[str]:
        """The tests that can be drawn, in the order of all pages."""
        return need.tests_of(self.scored)


def is_measured(kinds: Iterable[ScoredTest]) -> bool:
    """Whether runs stand behind any score of a test, and not only a paper."""
    return any(kind.origin != PUBLISHED for kind in kinds)


SCORES = Need(lambda scored: [*scored], "No score matches this comparison.")
RUNS = Need(
    lambda scored: [test for test, kinds in scored.items() if is_measured(kinds)],
    "No finished run matches this comparison. Scores that were published have no repeats.",
)
MATRIX = Need(
    lambda scored: [
        test
        for test, kinds in scored.items()
        if is_measured(kind for kind in kinds if kind.category != categories.MEAN)
    ],
    "No finished run of this comparison has a matrix of record and file sizes. Scores that were "
    "published have no data points: nothing is read off a printed picture.",
)


def offer(spec: ComparisonSpec) -> DrawableTests:
    """What can be drawn of ``spec``. One query."""
    by_test: dict[str, list[ScoredTest]] = defaultdict(list)
    for scored_test in cells.scored_tests(spec.score_filter.of_all_cells):
        by_test[scored_test.test].append(scored_test)
    scored = {test: by_test[test] for test in sorted(by_test, key=testnames.place)}
    return DrawableTests(
        scored,
        {
            test: sorted({kind.category for kind in kinds}, key=categories.place)
            for test, kinds in scored.items()
        },
    )


def category_of(requested: str, slugs: Iterable[str], *, is_printed: bool) -> str:
    """The category that is ``requested``, else the one that page and report lead with."""
    listed = list(slugs)
    if requested in listed:
        return requested
    return headline_of(listed, is_printed=is_printed) if listed else ""


def contenders(compared: Comparison) -> list[Contender]:
    """The measured configurations of a comparison, best first."""
    by_series: dict[int, Contender] = {}
    for member, unit in (
        (member, table.unit)
        for table, group in zip(compared.tables, compared.shown_contenders, strict=True)
        for member in group
    ):
        row = member.row
        if row.origin != PUBLISHED:
            score = float(member.exact)
            by_series[row.series_id] = Contender(
                *(row.series_id, member.name, row.filesystem, row.study, score, unit, tool_of(row))
            )
    lower = {table.unit for table in compared.tables if table.lower_is_better}
    names = shown_names(contender.name for contender in by_series.values())
    return sorted(
        (replace(contender, name=names[contender.name]) for contender in by_series.values()),
        key=lambda contender: (
            contender.score if contender.unit in lower else -contender.score,
            contender.name,
        ),
    )


def of_tests(
    spec: ComparisonSpec, tests: Iterable[str], slugs: Iterable[str], by: str = ""
) -> Comparison:
    """The comparison of some tests and categories; of every cell, without a baseline."""
    wanted = replace(
        spec.whole.without_work,
        tests=tuple(tests),
        categories=tuple(slugs),
        by=by or spec.by,
        baseline="",
        cells="" if by else spec.cells,
        sort="",
    )
    # Of more contenders than a page has room for the best: no picture shows more.
    return comparison(by_rows(BoundedComparison(wanted)).spec)


def commonest_unit(tables: Sequence[DeltaTable]) -> tuple[str, list[DeltaTable]]:
    """The unit that most of the tables are in, and these tables."""
    [(unit, _)] = Counter(table.unit for table in tables).most_common(1)
    return unit, [table for table in tables if table.unit == unit]


# Which picture of a comparison is shown: the address is the whole state of the page.

NUMBERS = {"a": "a", "b": "b", "record": "record_kb", "file": "file_kb"}
"""The parameters that are whole numbers, and the fields they are."""
PARAMETERS = {
    **{"picture": "kind", "of": "test", "in": "category", "line": "lines", "scale": "scale"},
    **{"show": "show", "percent": "percent", "hide": "hide", **NUMBERS},
}
SCALES = {"": "As the values ask for", LOG: "Logarithmic", LINEAR: "Linear"}
LARGEST = "max"
PERCENTS = {"50": "p50", "": "p99", "99.9": "p99.9", LARGEST: "Maximum"}
PERCENTILES, CDF, COMPLETIONS, OVER_TIME = "percentiles", "cdf", "completions", "time"
SHOWS = {
    PERCENTILES: "Percentiles",
    CDF: "CDF",
    COMPLETIONS: "All completions",
    OVER_TIME: "Over time",
}
"""The charts of latencies."""
MOST_HIDDEN = 50


@dataclass(frozen=True)
class PictureSpec:
    """A picture of a comparison. None and "" mean the first offered.

    ``a``, ``b`` and ``lines`` are keys of series: a name may mean another configuration tomorrow.
    ``hide``: names of the legend. ``views.spec_of(spec.to_query()) == spec``.
    """

    comparison: ComparisonSpec = field(default_factory=ComparisonSpec)
    kind: str = "bars"
    test: str = ""
    category: str = ""
    a: int | None = None
    b: int | None = None
    lines: tuple[int, ...] = ()
    record_kb: int | None = None
    file_kb: int | None = None
    scale: str = ""
    show: str = ""
    percent: str = ""
    hide: tuple[str, ...] = ()

    def to_query(self) -> str:
        """The canonical query string, without "?"."""
        own_query = query_of(self, PictureSpec, PARAMETERS)
        return "&".join(filter(None, (self.comparison.to_query(), own_query)))

    def of_kind(self, kind: str) -> "PictureSpec":
        """Another kind of picture of the same test and contenders."""
        return replace(self, kind=kind, record_kb=None, file_kb=None)


Measurement = TypeVar("Measurement", LoadCurve, Matrix, RepeatsOfSeries)

GONE = (
    "An entry of this address is not in this comparison, or has no finished run of the test any "
    "more. Choose another."
)


class PictureUnavailable(ValueError):
    """Why there is no picture, as a sentence."""


@dataclass(frozen=True)
class Picture:
    """A figure, its numbers, and sentences on what is missing, or on why there is no figure."""

    figure: go.Figure | None
    table: PictureTable[Any] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Select:
    """A select box of the form: a parameter of the address, with (value, words) to choose from."""

    parameter: str
    label: str
    options: Sequence[tuple[object, str]]
    chosen: object = None


class PictureKind(ABC):
    """A kind of picture; an instance is the one that ``spec`` says, of ``test``.

    Its form offers ``contenders``, best first, and draws ``lines`` (None: it does not ask for
    several). ``undrawn``: how many more lines there are. ``notices``: sentences for the page.
    """

    slug: ClassVar[str]
    label: ClassVar[str]
    words: ClassVar[str]
    needs: ClassVar[Need]

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        self.spec, self.test, self.offer = spec, test, offer
        self.prepare()

    def prepare(self) -> None:
        """Settle what its form shows."""
        self.contenders: Sequence[Contender] = ()
        self.lines: Sequence[Contender] | None = None
        self.undrawn = 0
        self.notices: list[str] = []

    @staticmethod
    def label_of(test: str) -> str:
        """What a test is called where this kind asks for one; any name has a label."""
        return testnames.label(test)

    @property
    def substitutions(self) -> list[str]:
        """What to say where something else is drawn than the address asks for besides the test."""
        category = self.spec.category
        if not self.spec.comparison.is_of_work and not categories.is_of_work(category):
            return []
        name = category.removeprefix(categories.PROFILE) or self.spec.comparison.profile
        work = f"the work profile {name}" if name and name != categories.RANGE else "the range"
        return [f"This chart is of single tests, and not of {work}: Scores draws that."]

    @property
    def selects(self) -> Sequence[Select]:
        """What its form asks besides the test and several contenders."""
        return ()

    def noticed(self, compared: Comparison) -> list[DeltaTable]:
        """The tables of a comparison; a notice says what was emulated."""
        self.notices += [compared.emulated.sentence] if compared.emulated else []
        return compared.tables

    def scores_of(self, tests: Iterable[str], *slugs: str) -> list[DeltaTable]:
        """The delta tables of some tests and categories, by what the comparison ranks."""
        return self.noticed(of_tests(self.spec.comparison, tests, slugs))

    def left_out(self, count: int, noun: str = "entries") -> list[str]:
        """A sentence on so many lines that a limit left out; the legend says it too."""
        self.undrawn += count
        return [f"{count} further {noun} are not drawn: choose fewer."] if count > 0 else []

    @abstractmethod
    def draw(self) -> Picture:
        """The picture. Raises PictureUnavailable, and ``studies.scores.cells.TooManyValues``."""


def scale_select(spec: PictureSpec) -> Select:
    """What the axis of values is like."""
    return Select("scale", "Axis of values", list(SCALES.items()), spec.scale)


class CategoryPicture(PictureKind):
    """One that is of one ``category`` of scores."""

    def prepare(self) -> None:
        super().prepare()
        slugs = self.drawable_categories
        if self.spec.comparison.categories:
            slugs = [slug for slug in slugs if slug in self.spec.comparison.categories] or slugs
        self.category = self.category_of(self.test, slugs)

    def category_of(self, test: str, slugs: Sequence[str]) -> str:
        """The category of the address if a test has it, else the test's headline."""
        return category_of(self.spec.category, slugs, is_printed=self.offer.is_printed(test))

    @property
    def substitutions(self) -> list[str]:
        return super().substitutions or self.other_category

    @property
    def other_category(self) -> list[str]:
        """A sentence if it shows another category than the address asks for."""
        requested = (self.spec.category,) if self.spec.category else self.spec.comparison.categories
        if not requested or self.category in requested:
            return []
        wanted = wording.joined(
            [categories.in_sentence(profiles.label_of(slug)) for slug in requested]
        )
        drawn = categories.in_sentence(profiles.label_of(self.category))
        return [f"{testnames.label(self.test)} has no {wanted} here; shown is its {drawn}."]

    @property
    def drawable_categories(self) -> list[str]:
        """The categories in which it can be drawn."""
        return self.offer.categories.get(self.test, [])

    @property
    def selects(self) -> Sequence[Select]:
        slugs = self.offer.categories.get(self.test, [])
        offered = [(slug, profiles.label_of(slug)) for slug in slugs]
        return [Select("in", "Category", offered, self.category)]


class ContenderPicture(PictureKind):
    """One of measured configurations."""

    def prepare(self) -> None:
        super().prepare()
        ranked_by = ("total_average", categories.MEAN)
        compared = of_tests(
            self.spec.comparison, self.measured_tests, ranked_by, by="configuration"
        )
        self.noticed(compared)
        self.contenders = contenders(compared)

    @property
    def measured_tests(self) -> list[str]:
        """A contender must have one of these tests."""
        return [self.test]

    def draw(self) -> Picture:
        if not self.contenders:
            raise PictureUnavailable(self.needs.refusal)
        return self.draw_contenders()

    @abstractmethod
    def draw_contenders(self) -> Picture:
        """As ``draw``, where there is any contender."""

    def in_one_unit(self, measurements: Iterable[Measurement]) -> list[Measurement]:
        """The same in one unit of each dimension, as the comparison has them."""
        tools = {contender.key: contender.tool for contender in self.contenders}
        listed = list(measurements)
        printed = {(measurement.unit, tools[measurement.series_id]) for measurement in listed}
        display_units = shown_units(printed, self.spec.comparison.units)
        return [
            measurement
            if display.unit == measurement.unit and not display.is_converted
            else measurement.converted(display)
            for measurement in listed
            for display in [display_units[measurement.unit, tools[measurement.series_id]]]
        ]

    def select(self, parameter: str, label: str, chosen: Contender | None) -> Select:
        """A box to choose one contender in."""
        offered = [
            (contender.key, contender.name) for contender in self.contenders[: limits.MOST_OPTIONS]
        ]
        return Select(parameter, label, offered, chosen.key if chosen else None)


class SingleContenderPicture(ContenderPicture):
    """One of ``a``: the contender that is asked for, else the best."""

    def prepare(self) -> None:
        super().prepare()
        self.by_key = {contender.key: contender for contender in self.contenders}
        best = self.contenders[0] if self.contenders else None
        self.a = best if self.spec.a is None else self.by_key.get(self.spec.a, best)

    @property
    def selects(self) -> Sequence[Select]:
        return [self.select("a", "Entry", self.a)]

    def draw_contenders(self) -> Picture:
        if self.a is None or self.spec.a not in (None, self.a.key):
            raise PictureUnavailable(GONE)
        return self.draw_contender(self.a)

    @abstractmethod
    def draw_contender(self, contender: Contender) -> Picture:
        """As ``draw``, of this contender."""


class SeveralContendersPicture(ContenderPicture):
    """One of several contenders: those of the address, else the best; MOST_LINES at most."""

    def prepare(self) -> None:
        super().prepare()
        wanted = set(self.spec.lines)
        lines = [
            contender for contender in self.contenders if contender.key in wanted
        ] or self.contenders
        if self.contenders and wanted - {contender.key for contender in self.contenders}:
            self.notices.append("Some entries of this address are not in this comparison any more.")
        if len(lines) > MOST_LINES:
            self.notices.append(
                f"{MOST_LINES} of {len(lines)} entries are drawn, the best ones: more colours "
                "nobody tells apart. Choose others in the form."
            )
            self.undrawn = len(lines) - MOST_LINES
        self.lines = lines[:MOST_LINES]
        self.keys = [contender.key for contender in self.lines]

    def of_one_unit(
        self, measurements: Iterable[Measurement]
    ) -> tuple[list[tuple[Contender, Measurement]], str, list[str]]:
        """What is in the commonest unit, by contender; this unit; sentences on the rest."""
        listed = self.in_one_unit(measurements)
        units = [measurement.unit for measurement in listed]
        unit = max(units, key=units.count, default="")
        measured = {measurement.series_id for measurement in listed}
        drawn = [
            (contender, measurement)
            for contender in self.lines or ()
            for measurement in listed
            if measurement.series_id == contender.key and measurement.unit == unit
        ]
        in_unit = {contender.key for contender, _ in drawn}
        notes = [
            f"{contender.name} is not drawn: "
            + (
                "it is measured in another unit."
                if contender.key in measured
                else "it has no such number."
            )
            for contender in self.lines or ()
            if contender.key not in in_unit
        ]
        return drawn, unit, notes


class FixedSizesPicture(SeveralContendersPicture):
    """One of several at ``record_kb`` and ``file_kb``, None being every size."""

    def prepare(self) -> None:
        super().prepare()
        self.records, self.files = cells.sizes_of(self.keys, self.test) if self.keys else ([], [])
        self.record_kb, self.file_kb = self.spec.record_kb, self.spec.file_kb
        self.block = testnames.block_word(self.test)

    @property
    def selects(self) -> Sequence[Select]:
        if not self.records:
            return ()
        return [
            _size_select("record", f"{self.block.capitalize()} size", self.records, self.record_kb),
            _size_select("file", "File size", self.files, self.file_kb),
        ]

    @property
    def sizes_in_words(self) -> list[str]:
        """The sizes that are asked for: "record 4K", "file 64M"."""
        return sizes_in_words(self.record_kb, self.file_kb, self.block)


def sizes_in_words(record_kb: int | None, file_kb: int | None, block: str = "block") -> list[str]:
    """Sizes as "record 4K" and "file 64M", those that are asked for."""
    return [
        *([f"{block} {size_name(record_kb)}"] if record_kb is not None else []),
        *([f"file {size_name(file_kb)}"] if file_kb is not None else []),
    ]


def _size_select(parameter: str, label: str, sizes: Sequence[int], chosen: int | None) -> Select:
    offered = [("", "every size"), *((size, size_name(size)) for size in sizes)]
    return Select(parameter, label, offered, chosen)
