"""The scores on the page of one run: those of its series, by what can stand in one table."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsbench_web.core import readable
from fsbench_web.core.conversion import base_of, unit_factor
from fsbench_web.core.readable import Scale
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.core.scoring.confidence import REPEATS, Interval
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.units import SUM
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Score

PLAIN = Scale("")


@dataclass(frozen=True)
class ScoreWithInterval:
    """A score with the half-width of its 95% interval in percent of its mean.

    The interval is that of the repeats, and of a single run that of its interval samples or trials
    (``is_of_samples``); None where there is neither. ``share`` is what it is of the LUN's own,
    ``scale`` the unit that it is written in.
    """

    score: Score
    half_width_percent: float | None = None
    is_of_samples: bool = False
    share: Share | None = None
    scale: Scale = PLAIN

    @classmethod
    def of(cls, score: Score, scale: Scale) -> "ScoreWithInterval":
        """``scale`` is what it is written in."""
        scored = replace(cls._of(score), scale=scale)
        return replace(scored, share=Share.from_dict(score.share)) if score.share else scored

    @property
    def written(self) -> str:
        """With the digits that its interval leaves, as in tables of comparisons."""
        percent, value = self.half_width_percent, self.score.value
        return self.scale.amount(value, None if percent is None else abs(value) * percent / 100)

    @property
    def written_with_unit(self) -> str:
        """The same for where no heading says the unit."""
        return readable.with_unit(self.written, self.score.unit, self.scale)

    @property
    def exact(self) -> str:
        """All digits with its unit, where they are others."""
        return readable.exact_words(self.score.value, self.score.unit, self.written)

    @classmethod
    def _of(cls, score: Score) -> "ScoreWithInterval":
        if score.half_width_percent is None and score.interval:
            interval = Interval.from_dict(score.interval)
            if interval.of != REPEATS and interval.relative_percent is not None:
                return cls(score, interval.relative_percent, True)
        return cls(score, score.half_width_percent)


@dataclass(frozen=True)
class ScoreLine:
    """The scores of one test, one a category or load of its table (None: not made).

    ``unit`` is what all are written in but the overall score, which is a sum (``units``).
    """

    test: str
    unit: str
    scores: list[ScoreWithInterval | None]


@dataclass(frozen=True)
class LoadTable:
    """Tests that gave one number at each of several loads, a column a load."""

    loads: list[str]
    lines: list[ScoreLine]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of the series that a run belongs to.

    ``lines`` are tests with a matrix; ``by_load`` and ``single`` those that give one value a
    repeat, as the times of mkfs and mount, and those of one cell and one repeat, whose scores are
    all that number. What was measured at two loads or more is in ``by_load``. ``has_more``: there
    are more scores than ``limits.MOST_LISTED_SCORES``, and these are the first.
    """

    categories: list[Any]
    lines: list[ScoreLine]
    by_load: list[LoadTable]
    single: list[ScoreWithInterval]
    has_more: bool = False

    @property
    def _all_scores(self) -> list[ScoreWithInterval]:
        tables = [self.lines, *(table.lines for table in self.by_load)]
        in_tables = [score for lines in tables for line in lines for score in line.scores]
        return [score for score in [*in_tables, *self.single] if score is not None]

    @property
    def has_samples(self) -> bool:
        """Whether any half-width is that of a single run's samples or trials."""
        return any(score.is_of_samples for score in self._all_scores)

    @property
    def has_shares(self) -> bool:
        """Whether any score is set against what the LUN does by itself."""
        return any(score.share is not None for score in self._all_scores)


def score_table(run: Run) -> ScoreTable:
    """Scores of the run's series; only categories that any test has. One query."""
    by_test: dict[str, dict[str, Score]] = defaultdict(dict)
    limit = limits.MOST_LISTED_SCORES
    listed = list(Score.objects.filter(series=run.series_id).order_by("id")[: limit + 1])
    for score in listed[:limit]:
        by_test[score.test][score.category] = score
    present = {category for scores in by_test.values() for category in scores}
    categories = [category for slug, category in CATEGORIES.items() if slug in present]
    ordered = sorted(by_test.items(), key=lambda item: testnames.place(item[0]))
    single = [
        scores[MEAN] if MEAN in scores else scores["total_average"]
        for _, scores in ordered
        if MEAN in scores or _is_one_number(scores)
    ]
    tool = _tool_of(run)
    lines = [
        _line(test, [scores.get(category.slug) for category in categories], tool)
        for test, scores in ordered
        if any(category.slug in scores for category in categories) and not _is_one_number(scores)
    ]
    by_load, rest = _by_load(single, tool)
    scored = [ScoreWithInterval.of(score, _scale([score], tool)) for score in rest]
    return ScoreTable(categories, lines, by_load, scored, len(listed) > limit)


def _tool_of(run: Run) -> str:
    """Whose words the units of its scores are."""
    series = run.series
    return series.workload.tool if series.workload else f"study:{series.study.slug}"


def _line(test: str, scores: Sequence[Score | None], tool: str) -> ScoreLine:
    """One of a test whose scores are in one unit, but for the sum of them."""
    rates = [score for score in scores if score and score.unit != SUM]
    scale, of_sum = _scale(rates, tool), readable.scale_of(SUM, ())
    return ScoreLine(
        test,
        scale.unit if rates else SUM,
        [
            ScoreWithInterval.of(score, of_sum if score.unit == SUM else scale) if score else None
            for score in scores
        ],
    )


def _scale(scores: Sequence[Score], tool: str) -> Scale:
    """What scores of one unit are written in, as tables of comparisons have it."""
    if not scores:
        return PLAIN
    unit = scores[0].unit
    factor = unit_factor(unit, tool)
    base = None if factor is None else base_of(unit, factor.factor)
    return readable.scale_of(unit, [score.value for score in scores], base)


def _by_load(scores: Iterable[Score], tool: str) -> tuple[list[LoadTable], list[Score]]:
    """Tables of the tests with several loads, one for each set of loads, and all other scores."""
    by_test: dict[tuple[str, str], dict[str, Score]] = defaultdict(dict)
    for score in scores:
        name, load = testnames.parts(score.test)
        by_test[name, score.unit][load] = score
    tables: dict[tuple[str, ...], LoadTable] = {}
    rest: list[Score] = []
    for (name, _), at_loads in by_test.items():
        if len(at_loads) < 2:
            rest += at_loads.values()
            continue
        loads = tuple(at_loads)
        table = tables.setdefault(loads, LoadTable(list(loads), []))
        table.lines.append(_line(name, [at_loads[load] for load in loads], tool))
    return list(tables.values()), rest


def _is_one_number(scores: Mapping[str, Score]) -> bool:
    """Whether every score of a test is the one number of its only cell and repeat."""
    return "total_average" in scores and all(
        score.cells == 1 and score.repeats == 1 for score in scores.values()
    )
