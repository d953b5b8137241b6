"""Scores: the rows of a delta table as bars, by test and category or by somebody's own work."""

from collections.abc import Sequence
from dataclasses import replace

from fsbench_web.compare.pictures.base import CategoryPicture, Picture, PictureUnavailable, Select
from fsbench_web.compare.pictures.drawable import SCORES, DrawableTests, emulated_notices, tables
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.pictures.table import (
    ChartColumn,
    PictureTable,
    bar_chart,
    count,
    interval,
    links_of,
    text,
    value,
)
from fsbench_web.compare.selection import profiles, wording
from fsbench_web.compare.selection.set_aside import set_aside
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.categories import RANGE
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.stats.intervals import mean


class BestCases(CategoryPicture):
    slug = "bars"
    label = "Scores"
    words = "Each contender: the mean of its repeats, or its score."
    needs = SCORES

    def __init__(self, spec: PictureSpec, test: str, offer: DrawableTests) -> None:
        super().__init__(spec, test, offer)
        self.answers: Sequence[WorkAnswer] = ()
        work = _work_of(spec)
        if work is None:
            self.tables, emulated = tables(spec, [test], self.category)
        else:
            ranking = comparison(work)
            self.category = f"{categories.PROFILE}{work.profile}" if work.profile else RANGE
            self.tables = [
                table for table in ranking.tables if table.test == test
            ] or ranking.tables[:1]
            if self.category == RANGE and self.tables:
                self.test = self.tables[0].test
            self.answers = ranking.work
            emulated = emulated_notices(ranking)
            ignored = set_aside(work)
            self.notices += [str(ignored)] if ignored else []
            if work.profile and not ignored:
                self.notices.append("A work profile is of its own tests, whichever test is chosen.")
        self.notices += emulated

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
        drawn = _picture(max(self.tables, key=lambda table: len(table.rows)))
        return replace(drawn, notes=[*drawn.notes, *parts])


def _work_of(spec: PictureSpec) -> ComparisonSpec | None:
    """The comparison by the work that is asked for in the place of a category; None: by none.

    The category that is chosen goes before what the comparison ranks by.
    """
    whole, category = replace(spec.comparison.whole, sort=""), spec.category
    if category.startswith(categories.PROFILE):
        return whole.without_work.with_profile(category.removeprefix(categories.PROFILE))
    is_asked = not category or category == RANGE
    return whole if is_asked and whole.is_of_work else None


def _picture(table: DeltaTable) -> Picture:
    rows = table.rows[::-1]  # best first
    columns: list[ChartColumn[DeltaRow]] = [
        text("Contender", lambda row: row.contender),
        text("Configuration", lambda row: row.configuration or ""),
        value("Score", table.unit, lambda row: row.score),
        value(
            "Mean of repeats", table.unit, lambda row: mean(row.repeats) if row.repeats else None
        ),
        *interval(table.unit)[:2],
        count("Number of runs", lambda row: row.runs, "Runs"),
    ]
    flags = wording.flags_in_words({row.contender: row.flags for row in rows})
    return Picture(
        bar_chart(table),
        PictureTable(columns, rows, links_of),
        [f"Flags: {flags}."] if flags else [],
    )
