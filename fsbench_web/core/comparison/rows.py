"""A delta table as data: what page, CSV, API and permalink have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from fsbench_web.core import numbers, units
from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.deltas import Published
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.core.scoring.quality import left_out_in_words
from fsbench_web.core.scoring.scores import harmonic_mean
from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import (
    REPEATS,
    Interval,
    MedianInterval,
    mean,
    median_interval,
)
from fsbench_web.core.stats.verdicts import FREENIX, Verdict

# Scores with all that describes them, wherever they are kept.

PARTIAL = "partial"
"""The score is made of fewer cells than its region has in the workload's full matrix."""
EMULATED = "emulated"
"""It was measured in a guest that was emulated: for function, not for speed."""


RepeatScores = tuple[tuple[str, float | None], ...]
"""(block, "" for none; score of this repeat alone, None where it has none)."""


PUBLISHED_DIFFERS = "published_differs"

PrintKey = tuple[int, str, str]
"""(series, test, category): one score."""


@dataclass(kw_only=True)
class ConfigurationFacts:
    """What is known of a configuration; ``options`` by key. ``is_emulated``: any series of it."""

    configuration: str
    configuration_id: int
    configuration_is_known: bool
    filesystem: str
    options: Mapping[str, Any] = field(default_factory=dict)
    scheduler: str = ""
    external_journal: bool = False
    stack: Mapping[str, Any] = field(default_factory=dict)
    is_emulated: bool = False


@dataclass(kw_only=True)
class SeriesFacts(ConfigurationFacts):
    """What scores share with their series. ``preparation`` and ``machine``: "" for none."""

    study: str
    study_title: str
    series_id: int
    workload: str | None
    workload_title: str | None
    tool: str | None = None
    hardware: str | None
    hardware_name: str | None
    lun: str | None
    kernel: str
    distribution: str
    preparation: str = ""
    machine: str = ""
    guest_kernel: str = ""
    journal_lun: str | None = None
    stack_luns: str = ""


@dataclass(kw_only=True)
class ScoreRow(SeriesFacts):
    """One score with all that describes it; None where unknown. Not frozen: pages have hundreds.

    ``half_width``: of the repeats' 95% interval. ``interval``: the same, or of one run's samples.
    ``left_out``: cells that a selection lacks, and why.
    """

    test: str
    category: str
    value: float
    unit: str
    repeats: int | None
    cells: int | None
    cells_expected: int | None
    origin: str
    published: Mapping[str, Any] | None = None
    half_width: float | None = None
    half_width_percent: float | None = None
    interval: Interval | None = None
    flags: tuple[str, ...] = ()
    run_ids: tuple[int, ...] = field(default=())
    left_out: Mapping[str, Any] | None = None
    summed_unit: str | None = None
    repeat_scores: RepeatScores | None = None
    share: Share | None = None

    @property
    def printed_unit(self) -> str:
        """What its tool printed: of an overall score, what is summed where that is known."""
        return self.summed_unit or self.unit


class Candidate(NamedTuple):
    """As much of a score as it takes to choose; ``configurations`` of its contender."""

    score_id: int
    series_id: int
    test: str
    category: str
    unit: str
    value: float
    is_printed: bool
    configurations: int


class Value(NamedTuple):
    """``slug`` is lower case without spaces; texts that differ in nothing else are one value."""

    slug: str
    label: str


def slug_of(text: str) -> str:
    """Lower case, without spaces: ``6.1 Debian`` is ``6.1-debian``."""
    return "-".join(text.lower().split())


def print_key(row: ScoreRow) -> PrintKey:
    """What names the row's score."""
    return (row.series_id, row.test, row.category)


class DeltaRow(NamedTuple):
    """One contender of one table, in the table's unit; percents unrounded; None: unknown.

    ``configuration``: None where only the file system is known. ``half_width``: of the repeats' own
    scores. ``interval``: around the mean, which need not be the score. ``change_percent``: faster
    than the baseline. ``printed_score``: as its tool printed it, where that differs.
    ``repeat_scores``: (block, own score). ``share``: of what the raw LUN does.
    """

    contender: str
    configuration: str | None
    score: float
    best: bool
    delta1_percent: float | None
    delta2_percent: float | None
    runs: int | None
    published: Published | None
    flags: tuple[str, ...]
    filesystem: str
    study: str
    study_title: str
    hardware: str | None
    workload: str | None
    kernel: str | None
    distribution: str | None
    origin: str
    run_ids: tuple[int, ...]
    half_width: float | None = None
    half_width_percent: float | None = None
    preparation: str | None = None
    label: str | None = None
    configurations: int | None = None
    series_id: int | None = None
    lun: str | None = None
    cells: int | None = None
    cells_expected: int | None = None
    left_out: Mapping[str, Any] | None = None
    change_percent: float | None = None
    is_baseline: bool | None = None
    interval: Interval | None = None
    verdict: Verdict | None = None
    change_verdict: Verdict | None = None
    repeat_scores: RepeatScores | None = None
    printed_score: float | None = None
    printed_unit: str | None = None
    share: Share | None = None

    @property
    def printed_words(self) -> str:
        """What its tool printed, where the score was converted; "" where it was not."""
        if self.printed_score is None or self.printed_unit is None:
            return ""
        return f"{self.printed_score!r} {self.printed_unit}"

    @property
    def shown_half_width(self) -> float | None:
        """The half-width of the interval that pages show with its score."""
        return self.interval.half_width if self.interval else None

    @property
    def repeats(self) -> tuple[float, ...]:
        """The score of each of its repeats; () where fewer than two are known."""
        scores = tuple(value for _, value in self.repeat_scores or () if value is not None)
        return scores if len(scores) > 1 else ()

    @property
    def median(self) -> MedianInterval | None:
        """Of its repeats, with an interval that asks nothing of their distribution."""
        is_of_repeats = self.interval is not None and self.interval.of == REPEATS
        return median_interval(self.repeats) if is_of_repeats else None

    @property
    def left_out_words(self) -> str:
        """What the selection is without, and why; "" where it is without nothing."""
        return left_out_in_words(self.left_out) if self.left_out else ""

    @property
    def subline(self) -> str:
        """What stands under the contender: the configuration, where the name does not say it."""
        configuration = self.configuration or ""
        return "" if configuration.lower() == self.contender.split("@")[0] else configuration

    @property
    def coverage(self) -> str:
        """Cells compared of cells present, for people; empty where the number is unknown."""
        if self.cells is None:
            return ""
        return f"{self.cells} of {self.cells_expected}" if self.cells_expected else str(self.cells)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the keys of the contract first, then where the score comes from."""
        plain = self._asdict()
        return plain | {
            "published": None if self.published is None else self.published.as_dict(),
            "flags": list(self.flags),
            "run_ids": list(self.run_ids),
            "repeat_scores": self.repeat_scores and list(map(list, self.repeat_scores)),
            **{
                name: None if nested is None else nested.as_dict()
                for name in _NESTED
                for nested in [getattr(self, name)]
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "DeltaRow":
        """The inverse of ``as_dict``, of any version: unknown names are ignored."""
        values: dict[str, Any] = {name: data.get(name) for name in cls._fields}
        if values["published"] is not None:
            values["published"] = Published.from_dict(values["published"])
        for name, kind in _NESTED.items():
            if values[name] is not None:
                values[name] = kind.from_dict(values[name])
        repeat_scores = values["repeat_scores"]
        return cls(
            **values
            | {
                "flags": tuple(values["flags"]),
                "run_ids": tuple(values["run_ids"]),
                "repeat_scores": repeat_scores
                and tuple((block, value) for block, value in repeat_scores),
            }
        )


_NESTED: dict[str, type[Interval] | type[Verdict] | type[Share]] = {
    "interval": Interval,
    "share": Share,
    "verdict": Verdict,
    "change_verdict": Verdict,
}


@dataclass(frozen=True)
class DeltaTable:
    """One test and category in ``unit``, rows worst first.

    ``summed_unit``: of the rates that scores sum. ``unit_base``: 1000 or 1024 for KB, MB, GB.
    ``work``: of a table by a work profile.
    """

    test: str
    category: str
    unit: str
    lower_is_better: bool
    rows: tuple[DeltaRow, ...]
    summed_unit: str = ""
    is_unexplained: bool = False
    unit_base: int | None = None
    work: WorkAnswer | None = None

    @property
    def category_label(self) -> str:
        """The category as people read it; a work profile by the title that somebody gave it."""
        return categories.label(self.category, self.work.title if self.work else "")

    @property
    def category_in_sentence(self) -> str:
        """The same behind the first word of a sentence."""
        return categories.in_sentence(self.category_label)

    @property
    def unit_remark(self) -> str:
        """What stands behind its unit: what a sum is of, what was converted, what nobody knows."""
        summed = f" in {self.summed_unit}" if self.summed_unit else ""
        if self.is_unexplained:
            return f"{summed} as printed, of 1,000 or 1,024"
        printed = sorted({row.printed_unit for row in self.rows if row.printed_unit is not None})
        return f"{summed} from {' and '.join(printed)}" if printed else summed

    @cached_property
    def has_printed_units(self) -> bool:
        return any(row.printed_unit is not None for row in self.rows)

    @cached_property
    def has_shares(self) -> bool:
        return any(row.share is not None for row in self.rows)

    @cached_property
    def nearest_first(self) -> tuple[int, ...]:
        """The places of the rows from the best to the worst, however they are sorted."""
        sign = 1 if self.lower_is_better else -1
        rows = self.rows
        return tuple(
            sorted(
                range(len(rows)),
                key=lambda place: (
                    not rows[place].best,
                    sign * rows[place].score,
                    rows[place].contender,
                ),
            )
        )

    @property
    def best_first(self) -> list[DeltaRow]:
        return [self.rows[place] for place in self.nearest_first]

    @cached_property
    def is_ranked(self) -> bool:
        """Whether the direction of its unit is known, so that a row is the best."""
        return any(row.best for row in self.rows)

    def mark_of(self, row: DeltaRow) -> str:
        """*best*, or *top score* or *tied* while undecided; "" of other rows and of a row alone."""
        verdict = row.verdict
        if not row.best or len(self.rows) == 1:
            return ""
        if verdict is None or verdict.method == FREENIX or not verdict.is_inconclusive:
            return "best"
        return "tied" if self.is_shared_best else "top score"

    @cached_property
    def is_shared_best(self) -> bool:
        return sum(row.best for row in self.rows) > 1

    @cached_property
    def least_decimals(self) -> int:
        """How many decimals its scores have at least, as they stand under each other."""
        return numbers.least_decimals(row.score for row in self.rows)

    @cached_property
    def scale(self) -> numbers.Scale:
        """The unit that its scores are read in; what a paper printed is left as it is."""
        values = [] if self.has_published_rows else [row.score for row in self.rows]
        return numbers.scale_of(self.unit, values, self.unit_base)

    def amount(self, value: float | None, half_width: float | None = None) -> str:
        """A value below ``scale.unit``, with the digits of its interval; print keeps all."""
        if value is None or self.has_published_rows:
            return numbers.amount(value, self.unit, self.least_decimals)
        return self.scale.amount(value, half_width)

    @cached_property
    def has_published_rows(self) -> bool:
        return any(row.origin == "published" for row in self.rows)

    def shows_mean(self, row: DeltaRow) -> bool:
        """Whether a bar of ``row`` is the mean of its repeats. With a paper all bars are scores."""
        return bool(row.repeats) and not self.has_published_rows

    def bar_of(self, row: DeltaRow) -> float:
        return mean(row.repeats) if self.shows_mean(row) else row.score

    def harmonic_mean_of(self, row: DeltaRow) -> float | None:
        """The harmonic mean of its repeats; None of all but rates with one value a repeat."""
        is_rate = self.category == categories.MEAN and units.is_rate(self.unit)
        return harmonic_mean(row.repeats) if is_rate else None

    @cached_property
    def has_published_values(self) -> bool:
        return any(row.published is not None for row in self.rows)

    @cached_property
    def has_runs(self) -> bool:
        return any(row.runs is not None for row in self.rows)

    @cached_property
    def runs_of_each(self) -> int | None:
        """How many runs stand behind every row, where it is the same number."""
        counts = {row.runs for row in self.rows}
        return counts.pop() if len(counts) == 1 else None

    @cached_property
    def baseline(self) -> str:
        """The contender that all rows are set against besides the best; empty without one."""
        return next((row.contender for row in self.rows if row.is_baseline), "")

    @cached_property
    def has_different_cells(self) -> bool:
        """Whether scores are made of different numbers of cells, as far as that is known."""
        return len({row.cells for row in self.rows if row.cells is not None}) > 1

    @cached_property
    def coverage_of_each(self) -> str:
        """How many cells stand behind every row, in words, where it is the same and not one."""
        counts = {(row.coverage, row.cells) for row in self.rows}
        coverage, cells = counts.pop() if len(counts) == 1 else ("", None)
        return f"{coverage} data points" if cells and coverage not in ("1", "1 of 1") else ""

    @cached_property
    def has_coverage(self) -> bool:
        """Whether the rows stand on different cells, so that each must say on how many."""
        return len({row.coverage for row in self.rows}) > 1

    @cached_property
    def common_flags(self) -> tuple[str, ...]:
        """What concerns the whole table: it is said once, not in every row."""
        first = self.rows[0].flags if self.rows else ()
        return tuple(flag for flag in first if all(flag in row.flags for row in self.rows))

    @cached_property
    def has_several_studies(self) -> bool:
        return len({row.study for row in self.rows}) > 1

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the contract's keys, and of units what has to be said."""
        return self.head | {"rows": [row.as_dict() for row in self.rows]}

    @property
    def head(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "category": self.category,
            "unit": self.unit,
            **({"summed_unit": self.summed_unit} if self.summed_unit else {}),
            **({"is_unexplained": True} if self.is_unexplained else {}),
            **({"unit_base": self.unit_base} if self.unit_base else {}),
            **({"work": self.work.as_dict()} if self.work else {}),
            "lower_is_better": self.lower_is_better,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "DeltaTable":
        values = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        work = WorkAnswer.from_dict(data["work"]) if data.get("work") else None
        rows = tuple(map(DeltaRow.from_dict, data["rows"]))
        return cls(**values | {"rows": rows, "work": work})


# Names of entries for people: without what all of them share. Addresses keep the names.

SCHEDULER = "none"


def shown_names(names: Iterable[str]) -> dict[str, str]:
    """Each name as pages show it: ``ext4`` for ``ext4_none`` if all have the scheduler ``none``."""
    full = sorted(set(names))
    short = [_without_scheduler(name) for name in full]
    is_clear = all(short) and len(set(short)) == len(full)
    return dict(zip(full, short if is_clear else full, strict=True))


def _without_scheduler(name: str) -> str:
    """The name without its scheduler; "" where it has another or none at all."""
    label, at, circumstances = name.partition("@")
    filesystem, *words = label.split("_")
    if SCHEDULER not in words:
        return ""
    words.remove(SCHEDULER)
    return "_".join([filesystem, *words]) + at + circumstances


def with_shown_names(table: DeltaTable) -> DeltaTable:
    """The same table with the names of its entries and configurations as pages show them."""
    names = shown_names(row.contender for row in table.rows)
    labels = shown_names(row.configuration for row in table.rows if row.configuration)
    rows = tuple(
        row._replace(
            contender=names[row.contender],
            configuration=row.configuration and labels[row.configuration],
            label=row.label and labels.get(row.label, row.label),
            verdict=row.verdict and _renamed(row.verdict, names),
            change_verdict=row.change_verdict and _renamed(row.change_verdict, names),
        )
        for row in table.rows
    )
    return replace(table, rows=rows)


def _renamed(verdict: Verdict, names: Mapping[str, str]) -> Verdict:
    return verdict._replace(against=tuple(names.get(name, name) for name in verdict.against))
