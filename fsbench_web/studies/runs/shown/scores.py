"""The scores on the page of one run: its own, each with the mean of its series' repeats."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.core.numbers import Scale
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.core.scoring.quality import Flag
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import REPEATS, Interval, mean
from fsbench_web.core.units import SUM, base_of, unit_factor
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Score

PLAIN = Scale("")


@dataclass(frozen=True)
class RunScore:
    """One run's own score, and the mean of the ``repeats``; None where nobody kept them."""

    value: float | None
    mean: float | None
    repeats: int

    @classmethod
    def of(cls, run_id: int, score: Score) -> "RunScore":
        """Read from ``Score.run_ids`` and ``Score.repeat_scores``."""
        runs = score.run_ids or []
        own_scores = [value for _, value in score.repeat_scores or ()]
        if len(runs) == 1:
            own_scores = [score.value]
        values = [value for value in own_scores if value is not None]
        return cls(
            dict(zip(runs, own_scores, strict=False)).get(run_id),
            mean(values) if values else None,
            len(values),
        )

    @property
    def percent_from_mean(self) -> float | None:
        """How far the run is above the mean of several repeats; negative is below."""
        if self.value is None or not self.mean or self.repeats < 2:
            return None
        return (self.value / self.mean - 1) * 100


@dataclass(frozen=True)
class ShownScore:
    """A run's own score, the mean of the repeats and the half-width of its 95% interval in percent;
    of a single run that of its samples (``is_of_samples``). ``share``: in percent of the LUN's own.
    """

    score: Score
    own: RunScore
    half_width_percent: float | None = None
    is_of_samples: bool = False
    share: Share | None = None
    scale: Scale = PLAIN
    flags: Sequence[Flag] = ()

    @classmethod
    def of(
        cls, run_id: int, score: Score, scale: Scale, flags: Sequence[Flag] = ()
    ) -> "ShownScore":
        share = Share.from_dict(score.share) if score.share else None
        half_width_percent, is_of_samples = score.half_width_percent, False
        if half_width_percent is None and score.interval:
            interval = Interval.from_dict(score.interval)
            is_of_samples = interval.of != REPEATS and interval.relative_percent is not None
            half_width_percent = interval.relative_percent if is_of_samples else None
        own = RunScore.of(run_id, score)
        return cls(score, own, half_width_percent, is_of_samples, share, scale, flags)

    @property
    def mean(self) -> float:
        """Of the repeats' own scores; the series' score if nobody kept them."""
        return self.score.value if self.own.mean is None else self.own.mean

    @property
    def has_repeats(self) -> bool:
        """Whether the score is of several runs, or of others than this one."""
        return self.own.value is None or self.own.repeats > 1

    @property
    def written(self) -> str:
        """The run's own score, with the digits that the interval leaves."""
        return self._write(self.own.value)

    @property
    def written_mean(self) -> str:
        return self._write(self.mean)

    @property
    def unit(self) -> str:
        """A space and the unit, for where no heading names it."""
        return self.scale.suffix(self.score.unit)

    @property
    def exact(self) -> str:
        """All digits of the run's own score with its unit, if ``written`` has fewer."""
        value = self.own.value
        return "" if value is None else numbers.exact_words(value, self.score.unit, self.written)

    def _write(self, value: float | None) -> str:
        if value is None:
            return numbers.MISSING
        percent = self.half_width_percent
        return self.scale.amount(value, None if percent is None else abs(self.mean) * percent / 100)


@dataclass(frozen=True)
class ScoreLine:
    """The scores of one test by category or load (None: not made); the overall score is a sum."""

    test: str
    unit: str
    scores: list[ShownScore | None]
    flags: list[Flag]


@dataclass(frozen=True)
class LoadTable:
    """Tests that gave one number at each of several loads, a column a load."""

    loads: list[str]
    lines: list[ScoreLine]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one run and of its series.

    ``lines`` have a matrix. ``by_load`` was measured at two loads or more, ``single`` are all
    others. ``has_more``: more than ``limits.MOST_LISTED_SCORES``.
    """

    categories: list[Any]
    lines: list[ScoreLine]
    by_load: list[LoadTable]
    single: list[ShownScore]
    has_more: bool = False

    @property
    def _all_scores(self) -> list[ShownScore]:
        tables = [self.lines, *(table.lines for table in self.by_load)]
        in_tables = [score for lines in tables for line in lines for score in line.scores]
        return [score for score in [*in_tables, *self.single] if score is not None]

    @property
    def has_samples(self) -> bool:
        """Whether any half-width is that of a single run's samples or trials."""
        return any(score.is_of_samples for score in self._all_scores)

    @property
    def has_shares(self) -> bool:
        """Whether any score is set against what the LUN does alone."""
        return any(score.share is not None for score in self._all_scores)


def score_table(run: Run, flags: Mapping[str, Sequence[Flag]]) -> ScoreTable:
    """The run's scores with those of its series. ``flags`` by test (RunQuality.flags)."""
    by_test: dict[str, dict[str, Score]] = defaultdict(dict)
    limit = limits.MOST_LISTED_SCORES
    listed = list(Score.objects.filter(series=run.series_id).order_by("id")[: limit + 1])
    for score in listed[:limit]:
        by_test[score.test][score.category] = score
    present = {category for scores in by_test.values() for category in scores}
    categories = [category for slug, category in CATEGORIES.items() if slug in present]
    ordered = sorted(by_test.items(), key=lambda item: testnames.place(item[0]))
    make = _Maker(run.pk, _tool_of(run), flags)
    single = [
        scores[MEAN] if MEAN in scores else scores["total_average"]
        for _, scores in ordered
        if MEAN in scores or _is_one_number(scores)
    ]
    lines = [
        make.line(test, [scores.get(category.slug) for category in categories])
        for test, scores in ordered
        if any(category.slug in scores for category in categories) and not _is_one_number(scores)
    ]
    by_load, rest = make.by_load(single)
    return ScoreTable(
        categories, lines, by_load, [make.single(score) for score in rest], len(listed) > limit
    )


def _tool_of(run: Run) -> str:
    """The tool that names the units of its scores."""
    series = run.series
    return series.workload.tool if series.workload else f"study:{series.study.slug}"


@dataclass(frozen=True)
class _Maker:
    """Makes lines of the scores of one run. ``tool`` names units, ``flags`` are by test."""

    run_id: int
    tool: str
    flags: Mapping[str, Sequence[Flag]]

    def single(self, score: Score) -> ShownScore:
        """One in a line of its own."""
        flags = self.flags.get(score.test, ())
        return ShownScore.of(self.run_id, score, self._scale([score]), flags)

    def line(self, name: str, scores: Sequence[Score | None]) -> ScoreLine:
        """One of a test with scores in one unit, but for the sum of them."""
        present = [score for score in scores if score]
        rates = [score for score in present if score.unit != SUM]
        scale, of_sum = self._scale(rates), numbers.scale_of(SUM, ())
        tests = dict.fromkeys(score.test for score in present)
        return ScoreLine(
            name,
            scale.unit if rates else SUM,
            [
                ShownScore.of(self.run_id, score, of_sum if score.unit == SUM else scale)
                if score
                else None
                for score in scores
            ],
            list(dict.fromkeys(flag for test in tests for flag in self.flags.get(test, ()))),
        )

    def by_load(self, scores: Iterable[Score]) -> tuple[list[LoadTable], list[Score]]:
        """Tables of the tests with several loads, one for each set of loads, and all others."""
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
            table = tables.setdefault(tuple(at_loads), LoadTable(list(at_loads), []))
            table.lines.append(self.line(name, list(at_loads.values())))
        return list(tables.values()), rest

    def _scale(self, scores: Sequence[Score]) -> Scale:
        """What scores of one unit are written in, as tables of comparisons have it."""
        if not scores:
            return PLAIN
        unit = scores[0].unit
        factor = unit_factor(unit, self.tool)
        base = None if factor is None else base_of(unit, factor.factor)
        return numbers.scale_of(unit, [score.value for score in scores], base)


def _is_one_number(scores: Mapping[str, Score]) -> bool:
    """Whether every score of a test is the one number of its only cell and repeat."""
    return "total_average" in scores and all(
        score.cells == 1 and score.repeats == 1 for score in scores.values()
    )
