"""A score in percent of what the LUN itself did of the same requests. Pure."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.ceilings import Ceiling
from fsbench_web.core.scoring.quality_cells import Mask, Numbers
from fsbench_web.core.units import OPERATIONS, RATE, TIME, unit_factor

NOT_OF_THE_DISK_PERCENT = 103.0
"""A share above it is not of the disk: a cache answered, or the benchmark did other work."""

MOST_RELIABLE_PERCENT = 105.0
"""More than this no score reaches of what bounds it: one of the two measured something else."""
MOST_DIFFERENCE_PERCENT = 10.0
"""Probes of one LUN that differ by more measured no ceiling."""
UNRELIABLE = "unreliable"


def is_unreliable(percent: float, differ_percent: float | None = None) -> bool:
    """Whether a share says nothing, so that no page or file states it."""
    return percent > MOST_RELIABLE_PERCENT or (differ_percent or 0.0) > MOST_DIFFERENCE_PERCENT


def most_percent(spread_percent: float) -> float:
    """The largest share that may be of the disk, where the ceiling is known to so many percent."""
    return NOT_OF_THE_DISK_PERCENT * (1 + spread_percent / 100)


_OUTSTANDING = re.compile(r"(?<![\d.e+])([\d.e+]++) outstanding$")


@dataclass(frozen=True)
class Share:
    """A score in percent of its ceiling, which is in the score's unit.

    ``of``: what the LUN did. ``probes``: blocks behind it. ``spread_percent``: None of one burst.
    """

    percent: float
    ceiling: float
    of: str
    probes: int
    spread_percent: float | None = None
    is_between: bool = False
    differ_percent: float | None = None

    @property
    def is_unreliable(self) -> bool:
        return is_unreliable(self.percent, self.differ_percent)

    @property
    def shown_percent(self) -> float | None:
        """The share where it says anything: what pages, files and the API state."""
        return None if self.is_unreliable else self.percent

    @property
    def is_not_of_the_disk(self) -> bool:
        """Whether it is above the LUN's own for sure, for all that this may scatter."""
        spread = self.spread_percent
        return spread is not None and self.percent > most_percent(spread)

    @property
    def percent_words(self) -> str:
        return UNRELIABLE if self.is_unreliable else percent_words(self.percent)

    @property
    def short(self) -> str:
        """What stands under a score: "83% of the LUN"."""
        if self.is_unreliable:
            return "LUN ceiling unreliable"
        return f"{self.percent_words} of the LUN"

    def sentence(self) -> str:
        blocks = f"the mean of {self.probes} rounds" if self.probes != 1 else "in its round"
        spread = self.spread_percent
        scatter = (
            "how much it scatters is not known" if spread is None else numbers.half_width(spread)
        )
        origin = "; taken from the nearest that was measured" if self.is_between else ""
        basis = f"LUN's own {self.of} ({blocks}; {scatter}{origin})."
        text = f"{self.percent_words} of the {basis}"
        if self.is_unreliable:
            why = (
                "its probes differ by more than 10%"
                if (self.differ_percent or 0.0) > MOST_DIFFERENCE_PERCENT
                else "the score is above it"
            )
            text = f"Unreliable, because {why}: the {basis}"
        if self.is_not_of_the_disk:
            return f"{text} More than the LUN alone does: a cache answered, not the disk."
        if self.percent > NOT_OF_THE_DISK_PERCENT:
            return f"{text} Whether that is of the disk the probe is not sure enough to tell."
        return text

    def scaled(self, times: float) -> "Share":
        """The same of a score in another unit; one of its own is ``times`` as many."""
        return replace(self, ceiling=self.ceiling * times)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def shown_dict(self) -> dict[str, Any]:
        """For other programs: without a percentage that says nothing."""
        return asdict(self) | {
            "percent": self.shown_percent,
            "is_unreliable": self.is_unreliable,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Share":
        """The inverse. Other fields are left out; an old "8 outstanding" becomes a queue depth."""
        fields = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**fields | {"of": _OUTSTANDING.sub(r"queue depth \1", fields["of"])})


def percent_words(percent: float) -> str:
    """Whole percents from 10 on: a probe is no surer than that."""
    return f"{percent:,.0f}%" if percent >= 10 else f"{percent:.2g}%"


def share_of(value: float, unit: str, test: str, ceiling: Ceiling, probes: int) -> Share | None:
    """The share of a score; None where its unit is not one of speed."""
    percent = share_percent(value, unit, test, ceiling)
    if percent is None:
        return None
    # A latency that is twice the LUN's own is half its speed.
    times = percent / 100 if is_of_time(unit) else 100 / percent
    return Share(
        percent,
        value * times,
        ceiling.request.words(),
        probes,
        ceiling.spread_percent,
        ceiling.is_between,
        ceiling.differ_percent,
    )


def is_of_time(unit: str) -> bool:
    """Whether less is better of it: the ceiling of a latency is the LUN's own, which is shorter."""
    meaning = unit_factor(unit)
    return meaning is not None and meaning.dimension == TIME


def share_percent(score: float, unit: str, test: str, ceiling: Ceiling) -> float | None:
    """A score in percent of its ceiling, by speed; None for units without one."""
    meaning = unit_factor(unit)
    if score <= 0 or (meaning is None and unit != "KB/s"):
        return None
    if meaning is None or meaning.dimension == RATE:
        # Every tool that fsbench runs itself prints KB of 1024 bytes (units.MEANT_BY).
        factor = float(meaning.factor) if meaning else 1024.0
        return 100 * score * factor / (1024 * ceiling.kb_s)
    if ceiling.request.sizes is not None:
        return None  # a ceiling of several sizes is of bytes alone (``ceilings.of_cells``)
    if meaning.dimension == OPERATIONS:
        return 100 * score / ceiling.iops
    if meaning.dimension == TIME and testnames.is_mean_latency(test):
        return 100 * ceiling.latency_ns / (score * float(meaning.factor) * 1e9)
    return None


def is_above(values: Numbers, percent_of_one: float, limit: float, is_of_time: bool) -> Mask:
    """``percent_of_one`` is the share of the value 1; of a time it is of the reciprocal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        percents = percent_of_one / values if is_of_time else percent_of_one * values
        return np.asarray((values > 0) & (percents > limit), dtype=np.bool_)
