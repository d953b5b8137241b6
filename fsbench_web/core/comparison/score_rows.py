"""Scores with all that describes them, wherever they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fsbench_web.core.scoring.shares import Share
from fsbench_web.core.stats.intervals import Interval

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
