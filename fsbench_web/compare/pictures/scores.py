"""Pictures of scores: bars, write and read, queue depths, phases of a work, all tests."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from fsbench_web.compare.pictures.base import (
    SCORES,
    CategoryPicture,
    Need,
    Picture,
    PictureKind,
    PictureSpec,
    PictureUnavailable,
    ScoredTests,
    Select,
    commonest_unit,
    of_tests,
    scale_select,
)
from fsbench_web.compare.pictures.sections import contenders_of
from fsbench_web.compare.pictures.table import (
    CONTENDER,
    ChartColumn,
    Drawn,
    PictureTable,
    bar_chart,
    count,
    drawn_table,
    interval,
    lines_of,
    link_of,
    links_of,
    load,
    text,
    value,
)
from fsbench_web.compare.selection import profiles, wording
from fsbench_web.compare.selection.spec import ComparisonSpec, set_aside
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, loads, phases, testnames
from fsbench_web.core.scoring.categories import RANGE
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.units import BINARY
from fsbench_web.figures import bars, lines, panels
from fsbench_web.figures.bars import Halves
from fsbench_web.figures.lines import MOST_LINES, Point
from fsbench_web.figures.panels import MOST_PANELS, Panel, SmallMultiple


class BestCases(CategoryPicture):
    slug = "bars"
    label = "Scores"
    words = "Each entry: the mean of its repeats, or its score."
    needs = SCORES

    def prepare(self) -> None:
        super().prepare()
        self.answers: Sequence[WorkAnswer] = ()
        work = _work_of(self.spec)
        if work is None:
            self.tables = self.scores_of([self.test], self.category)
        else:
            ranking = comparison(work)
            self.category = f"{categories.PROFILE}{work.profile}" if work.profile else RANGE
            self.tables = [
                table for table in ranking.tables if table.test == self.test
            ] or ranking.tables[:1]
            if self.category == RANGE and self.tables:
                self.test = self.tables[0].test
            self.answers = ranking.work
            ignored = set_aside(work)
            self.notices += [str(ignored)] if ignored else []
            if work.profile and not ignored:
                self.notices.append("A work profile is of its own tests, whichever test is chosen.")
            self.noticed(ranking)

    @property
    def substitutions(self) -> list[str]:
        """Of a range another operation than is asked for; of a profile ``notices`` say it."""
        if not categories.is_of_work(self.category):
            return self.other_category
        if self.category != RANGE or self.spec.test in ("", self.test):
            return []
        requested, drawn = testnames.label(self.spec.test), testnames.label(self.test)
        return [f"The range is not of {requested}; shown is {drawn}."]

    @property
    def selects(self) -> Sequence[Select]:
        """Categories, and whatever else contenders are ranked by: somebody's own work."""
        [category] = super().selects
        offered = [
            (f"{categories.PROFILE}{name}", title) for name, title in profiles.titles().items()
        ]
        values = {value for value, _ in offered}
        if categories.is_of_work(self.category) and self.category not in values:
            offered.insert(0, (self.category, profiles.label_of(self.category)))
        elif self.spec.comparison.has_range:
            offered.insert(0, (RANGE, categories.label(RANGE)))
        work_options = [(value, f"Your work: {title}") for value, title in offered]
        return [replace(category, options=[*category.options, *work_options], chosen=self.category)]

    def draw(self) -> Picture:
        parts = [sentence for answer in self.answers for sentence in answer.sentences]
        if not self.tables:
            if parts:
                return Picture(None, notes=parts)
            raise PictureUnavailable(self.needs.refusal)
        table = max(self.tables, key=lambda table: len(table.rows))
        rows, unit = table.rows[::-1], table.unit  # best first
        columns: list[ChartColumn[DeltaRow]] = [
            text("Entry", lambda row: row.contender, "Contender"),
            text("Configuration", lambda row: row.configuration or ""),
            value("Score", unit, lambda row: row.score),
            value("Mean of repeats", unit, lambda row: mean(row.repeats) if row.repeats else None),
            *interval(unit)[:2],
            count("Number of runs", lambda row: row.runs, "Runs"),
        ]
        flags = wording.flags_in_words({row.contender: row.flags for row in rows})
        notes = [*([f"Flags: {flags}."] if flags else []), *parts]
        return Picture(bar_chart(table), PictureTable(columns, rows, links_of), notes)


def _work_of(spec: PictureSpec) -> ComparisonSpec | None:
    """The comparison by the work that is asked for in the place of a category; None: by none.

    The category that is chosen goes before what the comparison ranks by.
    """
    whole, category = replace(spec.comparison.whole, sort=""), spec.category
    if category.startswith(categories.PROFILE):
        return whole.without_work.with_profile(category.removeprefix(categories.PROFILE))
    is_asked = not category or category == RANGE
    return whole if is_asked and whole.is_of_work else None


READS = {
    "write": "read",
    "rewrite": "reread",
    "random_write": "random_read",
    "fwrite": "fread",
    "refwrite": "refread",
}
"""The test that reads what a test writes, drawn on top of it."""


class WriteAndRead(CategoryPicture):
    slug = "stacked"
    label = "Write and read"
    words = "Write and read on top of each other, as the combined charts of the Unisys paper."
    needs = Need(
        lambda scored: [write for write, read in READS.items() if {write, read} <= scored.keys()],
        "This comparison has no test that writes together with the one that reads.",
    )

    def prepare(self) -> None:
        super().prepare()
        self.read = READS[self.test]
        wanted = ((self.test, self.read), (self.category,))
        compared = of_tests(self.spec.comparison, *wanted)
        if len({table.unit for table in compared.tables}) > 1 and not self.spec.comparison.units:
            # One test agrees in a unit, and the other in another.
            compared = of_tests(replace(self.spec.comparison, units=BINARY), *wanted)
        self.by_test = {table.test: table for table in self.noticed(compared)}

    @property
    def drawable_categories(self) -> list[str]:
        of_read = self.offer.categories[READS[self.test]]
        return [slug for slug in super().drawable_categories if slug in of_read]

    def draw(self) -> Picture:
        writes, reads = self.by_test.get(self.test), self.by_test.get(self.read)
        halves = (testnames.label(self.test), testnames.label(self.read))
        if writes is None or reads is None or writes.unit != reads.unit:
            text = f"{halves[0]} and {halves[1].lower()} are not both scored in this category, or "
            return Picture(None, notes=[f"{text}not in one unit. Choose another category."])
        rows = [{row.contender: row for row in table.rows} for table in (writes, reads)]
        pairs = [
            _halves(name, *(of.get(name) for of in rows)) for name in sorted({**rows[0], **rows[1]})
        ]
        category = categories.in_sentence(categories.label(self.category))
        figure = bars.read_write(
            pairs, writes.unit, f"{halves[0]} plus {halves[1].lower()}: {category}", halves
        )
        table = PictureTable(
            [
                CONTENDER,
                value(halves[0], writes.unit, lambda pair: pair.write),
                value(halves[1], writes.unit, lambda pair: pair.read),
                value("Sum", writes.unit, lambda pair: pair.total),
            ],
            sorted(pairs, key=lambda pair: -(pair.total or 0.0)),
            lambda pair: tuple(
                dict.fromkeys(
                    link for of in rows if pair.name in of for link in links_of(of[pair.name])
                )
            ),
        )
        lacking = [pair.name for pair in pairs if pair.total is None]
        notes = [f"Without both halves: {', '.join(lacking)}."] if lacking else []
        return Picture(figure, table, notes)


def _halves(name: str, write: DeltaRow | None, read: DeltaRow | None) -> Halves:
    return Halves(
        name,
        write.score if write else None,
        read.score if read else None,
        (link_of(write) if write else "", link_of(read) if read else ""),
    )


Place = tuple[float, str]
"""A queue depth, and the rest of the load in words."""


def depth_of(test: str) -> Place | None:
    """The queue depth of a test, None where its load names none."""
    load = testnames.parts(test)[1]
    for name in loads.DEPTHS:
        number, rest = loads.split(load, name)
        if number is not None:
            return number, rest
    return None


def work_of(test: str) -> tuple[str, str]:
    """(work, "rate" or "latency") of a test: ``randread_iops`` and ``randread_clat_mean`` are of
    ``randread``; "" for what is neither."""
    name = testnames.parts(test)[0]
    latency = testnames.latency_of(test)
    if latency:
        is_mean = name == f"{latency}_mean"
        return (latency.rpartition("_")[0], "latency") if is_mean else ("", "")
    for ending in ("_bw", "_iops"):
        if name.endswith(ending):
            return name.removesuffix(ending), "rate"
    return name, "rate"


def _works_at_depths(scored: ScoredTests) -> list[str]:
    """A test of each work that has a rate and a latency at two queue depths or more."""
    by_work: dict[tuple[str, str], dict[str, list[tuple[str, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for test in scored:
        depth = depth_of(test)
        work, kind = work_of(test)
        if depth and work:
            by_work[work, depth[1]][kind].append((test, depth[0]))
    return [
        kinds["rate"][0][0]
        for kinds in by_work.values()
        if all(len({depth for _, depth in kinds[kind]}) > 1 for kind in ("rate", "latency"))
    ]


class QueueDepth(PictureKind):
    slug = "queue"
    label = "Queue depth"
    words = "What a deeper queue brings, and what it costs: throughput above latency."
    needs = Need(
        _works_at_depths,
        "No test of this comparison has a rate and a mean latency at two queue depths, as fio "
        "prints them at iodepth=1 and iodepth=16.",
    )

    def prepare(self) -> None:
        super().prepare()
        depth = depth_of(self.test)
        self.work, self.rest = work_of(self.test)[0], depth[1] if depth else ""
        wanted = [other for other in self.offer.of(SCORES) if self._is_of_it(other)]
        self.tables = self.scores_of(wanted, categories.MEAN)

    def _is_of_it(self, test: str) -> bool:
        depth = depth_of(test)
        return work_of(test)[0] == self.work and depth is not None and depth[1] == self.rest

    @staticmethod
    def label_of(test: str) -> str:
        depth = depth_of(test)
        label = testnames.label(work_of(test)[0])
        return f"{label}, {depth[1]}" if depth and depth[1] else label

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    def draw(self) -> Picture:
        """One panel for each test without its load, rates above latencies."""
        by_name: dict[str, list[DeltaTable]] = defaultdict(list)
        for table in self.tables:
            by_name[testnames.parts(table.test)[0]].append(table)
        names = sorted(by_name, key=lambda name: (work_of(name)[1] != "rate", name))
        counts = Counter(row.contender for table in self.tables for row in table.rows)
        every = sorted(counts, key=lambda name: (-counts[name], name))
        chosen = set(every[:MOST_LINES])
        drawn: list[Panel] = []
        numbers: list[Drawn] = []
        for name in names:
            unit, of_unit = commonest_unit(by_name[name])
            label = testnames.label(name)
            of_panel = _depth_numbers(of_unit, chosen, label, unit)
            drawn.append(
                Panel(
                    label.removeprefix(f"{testnames.label(self.work)}, ").capitalize(),
                    unit,
                    of_unit[0].lower_is_better,
                    lines_of(of_panel),
                )
            )
            numbers += of_panel
        if not drawn:
            return Picture(None, notes=["No entry has numbers at several queue depths."])
        title = f"{self.label_of(self.test)} over queue depth"
        figure = panels.stacked(drawn, loads.QUEUE_DEPTH, title, among=every, scale=self.spec.scale)
        columns: list[ChartColumn[Drawn]] = [
            *(CONTENDER, text("Test", lambda row: row.at[0])),
            *(load("iodepth", lambda row: row.x), value("Value", "", lambda row: row.value)),
            *(text("Unit", lambda row: row.at[1]), *interval("")),
        ]
        listed = PictureTable(columns, numbers, lambda row: row.links)
        return Picture(figure, listed, self.left_out(len(every) - len(chosen)))


def _depth_numbers(
    of_unit: Iterable[DeltaTable], chosen: Collection[str], label: str, unit: str
) -> list[Drawn]:
    """By contender and depth; ``at`` is the test and the unit, as each panel has its own."""
    numbers: dict[tuple[str, float], Drawn] = {}
    for table in of_unit:
        depth = depth_of(table.test)
        for row in table.rows if depth else ():
            if row.contender in chosen and depth:
                numbers[row.contender, depth[0]] = Drawn.of_row(depth[0], row, label, unit)
    return [numbers[key] for key in sorted(numbers)]


def _works_of_phases(scored: ScoredTests) -> list[str]:
    """Each work once for each load, called by the first of its phases; of several phases alone."""
    works = {tuple(phases.tests_of(test)) for test in scored}
    measured = [[test for test in work if test in scored] for work in works]
    return sorted((tests[0] for tests in measured if len(tests) > 1), key=phases.place)


class Phases(PictureKind):
    slug = "phases"
    label = "Phases"
    words = (
        "What each phase of a work takes, several entries side by side, each with its 95% interval."
    )
    needs = Need(
        _works_of_phases,
        "No test of this comparison is a phase of a work, as those of Mongo and of a compilation "
        "are.",
    )

    def prepare(self) -> None:
        super().prepare()
        scored = self.offer.of(SCORES)
        wanted = [name for name in phases.tests_of(self.test) if name in scored]
        self.tables = self.scores_of(wanted, categories.MEAN)

    @property
    def selects(self) -> Sequence[Select]:
        return [scale_select(self.spec)]

    @staticmethod
    def label_of(test: str) -> str:
        return phases.label(test)

    def draw(self) -> Picture:
        """All phases of the work at its load."""
        work = phases.work_of(self.test)
        if work is None or not self.tables:
            return Picture(None, notes=["No entry has a phase of this work."])
        unit, of_unit = commonest_unit(self.tables)
        by_test = {testnames.parts(table.test)[0]: table for table in of_unit}
        # What nobody has is no phase of these: of a generated tree there is no bzImage.
        names = {name: phase for name, phase in work.phases.items() if name in by_test}
        by_contender: dict[str, dict[str, DeltaRow]] = {}
        for name, phase in names.items():
            for row in by_test[name].rows:
                by_contender.setdefault(row.contender, {})[phase] = row
        # Those with the most phases first; of these the quickest in all of them.
        ranked = sorted(
            by_contender,
            key=lambda name: (
                -len(by_contender[name]),
                sum(row.score for row in by_contender[name].values()),
                name,
            ),
        )
        chosen = {name: by_contender[name] for name in sorted(ranked[:MOST_LINES])}
        drawn = [
            Drawn.of_row(float(place), rows[phase], phase)
            for rows in chosen.values()
            for place, phase in enumerate(names.values())
            if phase in rows
        ]
        figure = lines.phases(
            lines_of(drawn),
            list(names.values()),
            unit,
            phases.label(self.test),
            of_unit[0].lower_is_better,
            among=by_contender,
            scale=self.spec.scale,
        )
        columns = [
            text("Phase", lambda row: row.at[0]),
            CONTENDER,
            text("Configuration", lambda row: row.note),
        ]
        missing = [
            f"{contender} has no {phase}."
            for contender, rows in chosen.items()
            for phase in names.values()
            if phase not in rows
        ]
        by_phase = sorted(drawn, key=lambda each: each.x)
        undrawn = self.left_out(len(by_contender) - len(chosen))
        return Picture(figure, drawn_table(by_phase, columns, unit), [*undrawn, *missing])


MOST_ROWS = 10


class Multiples(CategoryPicture):
    slug = "multiples"
    label = "All tests"
    words = (
        "A small chart a test, from the one that is chosen on: each entry in percent of the "
        "speed of the best."
    )
    needs = SCORES

    def prepare(self) -> None:
        super().prepare()
        scored = self.offer.of(SCORES)
        start = scored.index(self.test) if self.test in scored else 0
        tests = scored[start : start + MOST_PANELS]
        self.more_tests = len(scored) - start - len(tests)
        slugs = {self.category_of(name, self.offer.categories[name]) for name in tests}
        slugs.add(self.category)
        self.tables = _one_each(self.scores_of(tests, *slugs), self.category)

    def draw(self) -> Picture:
        """A panel a test, in the order of all pages."""
        ranked = [
            table
            for table in self.tables
            if any(row.delta1_percent is not None for row in table.rows)
        ]
        if not ranked:
            raise PictureUnavailable(self.needs.refusal)
        largest = max(len(table.rows) for table in ranked)
        cut = f", the best {MOST_ROWS} of up to {largest} entries" if largest > MOST_ROWS else ""
        figure = panels.multiples(
            [_panel(table) for table in ranked],
            f"Percent of the speed of the best of each test{cut}",
            among=contenders_of(ranked),
        )
        shown: PictureTable[tuple[DeltaTable, DeltaRow]] = PictureTable(
            [
                text("Test", lambda pair: testnames.label(pair[0].test)),
                text("Category", lambda pair: pair[0].category_label),
                text("Entry", lambda pair: pair[1].contender, "Contender"),
                value("Percent of the best", "%", lambda pair: _percent_of_best(pair[1])),
                value("Score", "", lambda pair: pair[1].score),
                text("Unit", lambda pair: pair[0].unit),
            ],
            [(table, row) for table in ranked for row in table.rows[::-1]],
            lambda pair: links_of(pair[1]),
        )
        notes = []
        if self.more_tests > 0:
            notes.append(f"{self.more_tests} further tests are not drawn: choose a later one.")
        if largest > MOST_ROWS:
            notes.append(f"Of each test the best {MOST_ROWS} of up to {largest} entries are drawn.")
        return Picture(figure, shown, notes)


def _percent_of_best(row: DeltaRow) -> float | None:
    return None if row.delta1_percent is None else 100 - row.delta1_percent


def _one_each(tables: list[DeltaTable], category: str) -> list[DeltaTable]:
    """Of each test the table of the category, else its last."""
    chosen: dict[str, DeltaTable] = {}
    for table in tables:
        previous = chosen.get(table.test)
        if previous is None or previous.category != category:
            chosen[table.test] = table
    return list(chosen.values())


def _panel(table: DeltaTable) -> SmallMultiple:
    rows = [row for row in table.rows[::-1] if row.delta1_percent is not None][:MOST_ROWS]
    label = testnames.label(table.test)
    if table.category != categories.MEAN:
        label += f", {table.category_in_sentence}"
    return SmallMultiple(label, [(row.contender, _percent_point(table, row)) for row in rows])


def _percent_point(table: DeltaTable, row: DeltaRow) -> Point:
    scale = table.scale
    if table.has_published_rows:
        text = numbers.with_unit(row.score, table.unit)
    else:
        text = f"{scale.amount(row.score, row.shown_half_width)} {scale.unit}"
        text = text.removesuffix(" score")
    count = f", n = {row.runs}" if row.runs is not None else ""
    return Point(100 - (row.delta1_percent or 0), 0, None, f"{text}{count}", link_of(row))
