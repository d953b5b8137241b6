"""How far an installation is, told from the stages that its program prints. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

# At the end of a line, wherever it comes from: BuildKit puts times before it.
LINE = re.compile(r"fsbench-stage: ([a-z]+)(?: ([0-9.]+))?\s*$")
# A stage that does not say how far it is is never taken for over before the next begins.
MOST_OF_A_STAGE = 0.95
LEAST_SHARE = 0.05


@dataclass(frozen=True)
class Stage:
    """``typical_s``: how long it takes on a machine of two processors near a mirror."""

    name: str
    typical_s: float


# Those that are not needed (a registry answers, the base is there) are passed over.
IMAGE = (
    Stage("registry", 10),
    Stage("debootstrap", 15),
    Stage("base", 50),
    Stage("import", 15),
    Stage("tools", 60),
    Stage("root", 30),
    Stage("guests", 40),
)
PACKAGES = (Stage("lists", 10), Stage("download", 15), Stage("install", 40))


class Progress:
    """Times are seconds of a clock that never goes back."""

    def __init__(self, stages: Sequence[Stage], now: float) -> None:
        self._stages = stages
        self._current: int | None = None
        self._began = now
        self._stage_share: float | None = None
        # What finished stages took, of what they typically take.
        self._took = self._typical = 0.0
        self._share = 0.0

    def read_line(self, line: str, now: float) -> bool:
        """Whether the line told of a stage. Stages come in their order, or not at all."""
        match = LINE.search(line)
        names = [stage.name for stage in self._stages]
        if match is None or match[1] not in names:
            return match is not None
        number = names.index(match[1])
        if self._current is not None and number < self._current:
            return True
        if number != self._current:
            if self._current is not None:
                self._took += now - self._began
                self._typical += self._stages[self._current].typical_s
            self._current, self._began, self._stage_share = number, now, None
        if match[2]:
            self._stage_share = min(1.0, max(0.0, float(match[2])))
        return True

    def share(self, now: float) -> float | None:
        """0 to 1 of the whole, never less than before; None until the first stage."""
        if self._current is None:
            return None
        stage = self._stages[self._current]
        within = self._stage_share
        if within is None:
            within = MOST_OF_A_STAGE * (1 - math.exp(-(now - self._began) / stage.typical_s))
        whole = sum(stage.typical_s for stage in self._stages)
        before = sum(stage.typical_s for stage in self._stages[: self._current])
        self._share = max(self._share, (before + within * stage.typical_s) / whole)
        return min(self._share, 0.99)

    def remaining_s(self, now: float) -> float | None:
        """An estimate in seconds; None where there is none (a stage takes longer than ever)."""
        if self._current is None:
            return None
        pace = 1.0
        if self._typical:
            pace = min(4.0, max(0.25, self._took / self._typical))
        elapsed = now - self._began
        if self._stage_share is not None and self._stage_share >= LEAST_SHARE:
            rest = elapsed * (1 - self._stage_share) / self._stage_share
        else:
            rest = self._stages[self._current].typical_s * pace - elapsed
            if rest <= 0:
                return None
        later = sum(stage.typical_s for stage in self._stages[self._current + 1 :])
        return rest + pace * later
