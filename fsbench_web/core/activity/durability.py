"""What crash points say of a configuration. Pure.

Method and limits: docs/method.md#crash-points.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fsbench_web.core.stats.intervals import share_at_most

NOTHING_LOST, LOST, UNKNOWN = "nothing_lost", "lost", "unknown"
"""LOST where any point lost an acknowledged write, or was broken."""
ENDED_EARLY, NOT_CAUGHT, RAW_LOST = "ended_early", "not_caught", "raw_lost"
UNREADABLE = "unreadable"
REASONS = {
    ENDED_EARLY: "the crash points ended early, and the run's log says why",
    NOT_CAUGHT: "a disk that ignores flushes lost nothing, so a loss would not be seen",
    RAW_LOST: "direct writes with fdatasync were lost, so the disk's model is wrong",
    UNREADABLE: "fsbench cannot read what the guest reported, and the worker's log says why",
}
REORDERS = 2
"""Writes between two flushes that reach the disk out of order, at most."""
DEVICE_MODEL = "volatile cache with flush and FUA"
MOST_BYTES, MOST_LOSSES, MOST_POINTS = 4 * 1024 * 1024, 50, 100_000
MOST_NUMBER = 2**53
# PostgreSQL stores no NUL in JSON, and UTF-8 has no lone surrogates.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnreadablePoints(ValueError):
    """What was printed is no result of crash points; the text says why."""


@dataclass(frozen=True)
class Durability:
    """The verdict and the counts. ``at_most``: upper bound of the share of lost points, 95%.

    ``losses``: {"kind", "point", "operation", "why"}. ``possible``: points that there are.
    """

    verdict: str
    reason: str = ""
    points: int = 0
    possible: int = 0
    lost: int = 0
    broken: int = 0
    at_most: float = 1.0
    seed: int = 0
    raw_points: int = 0
    losses: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For ``Run.conditions["durability"]``."""
        return asdict(self)


def read_durability(printed: str) -> Durability:
    """Of what the agent printed (runner/agent/crash/crash.py). Raises UnreadablePoints."""
    if len(printed) > MOST_BYTES:
        raise UnreadablePoints("it is too large")
    try:
        lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        summary = lines[-1] if lines else {}
        if summary.get("crash") is None:
            return Durability(UNKNOWN, ENDED_EARLY)
        return _judged(summary, [loss for line in lines[:-1] if (loss := _loss(line))])
    except (LookupError, TypeError, OverflowError, RecursionError, ValueError) as error:
        raise UnreadablePoints(f"{type(error).__name__}: {error}") from None


def _judged(summary: Mapping[str, Any], losses: list[dict[str, Any]]) -> Durability:
    if summary["crash"] != 1:
        raise ValueError("it is of another version")
    names = ("points", "possible", "fine", "lost", "broken", "seed", "raw_points", "raw_lost")
    counts = {name: _number(summary[name]) for name in names}
    points, lost, broken = counts["points"], counts["lost"], counts["broken"]
    is_sum = counts["fine"] + lost + broken == points <= counts["possible"]
    is_sum = is_sum and counts["raw_lost"] <= counts["raw_points"]
    if min(counts.values()) < 0 or not is_sum or not 0 < points <= MOST_POINTS:
        raise ValueError("its counts do not add up")
    reason = ""
    if summary["ignored_flushes_lose"] is not True:
        reason = NOT_CAUGHT
    elif counts["raw_lost"] or not counts["raw_points"]:
        reason = RAW_LOST
    verdict = UNKNOWN if reason else LOST if lost or broken else NOTHING_LOST
    return Durability(
        verdict,
        reason,
        points,
        counts["possible"],
        lost,
        broken,
        share_at_most(lost, points),
        counts["seed"],
        counts["raw_points"],
        losses[:MOST_LOSSES],
    )


def _loss(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """A point that was not fine; None for other lines."""
    kind = next((kind for kind in ("lost", "broken") if isinstance(line.get(kind), str)), None)
    if kind is None:
        return None
    return {
        "kind": kind,
        "point": _UNSTORABLE.sub("\ufffd", line[kind][:200]),
        "operation": _number(line["operation"]),
        "why": _UNSTORABLE.sub("\ufffd", str(line["why"])[:400]),
    }


def _number(value: object) -> int:
    """A whole number that every database and browser can hold. Raises ValueError."""
    if type(value) is not int or abs(value) > MOST_NUMBER:
        raise ValueError("it has a number that is not whole, or too large")
    return value


def in_words(noted: Mapping[str, Any]) -> str:
    """One line for a page, of what ``as_dict`` gave."""
    if noted["verdict"] == UNKNOWN:
        return f"Not known: {REASONS.get(noted['reason'], noted['reason'])}."
    broken = f", {noted['broken']} did not mount, read or check" if noted["broken"] else ""
    return (
        f"{noted['lost']} of {noted['points']} crash points lost an acknowledged write "
        f"(at most {100 * noted['at_most']:.1f}%, 95%){broken}; "
        f"device model: {DEVICE_MODEL}; {REORDERS} reorders"
    )
