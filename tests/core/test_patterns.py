"""No pattern takes more than linear time, whatever line it meets."""

import re
import time

import pytest

from tests.core.hostile_patterns import TAILS, Use, hostile_texts, uses

# The longest line that a reader takes.
LONG = 10_000
SHORT = LONG // 8
# Linear: some ten nanoseconds a letter, and 8 times the time for 8 times the letters. Quadratic: a
# hundred million steps, and 64 times the time. A slow machine takes 5 ms for a linear one.
SUSPECT_S, MOST_S = 0.005, 0.025
MOST_GROWTH = 16


def test_every_pattern_takes_linear_time() -> None:
    """A quadratic one takes a hundred times as long, so that a slow machine changes nothing."""
    found = uses("fsbench_web.core", "fsbench_web.imports")
    assert len(found) > 300
    assert [slow for use in found if (slow := slow_text(use))] == []


@pytest.mark.parametrize(("text", "method"), [(r"(.+?)\s*\(", "match"), ("[0-9]+x", "search")])
def test_a_quadratic_pattern_is_found(text: str, method: str) -> None:
    assert slow_text(Use("", re.compile(text), method))


def slow_text(use: Use) -> str:
    """The first hostile text that takes superlinear time; "" where none does."""
    for start, unit in hostile_texts(use.pattern):
        for tail in TAILS:
            short, long = (start + unit * (n // len(unit)) + tail for n in (SHORT, LONG))
            if is_slow(use, short, long):
                return f"{use.place}.{use.method}: {use.pattern.pattern!r} on {start!r} + {unit!r}"
    return ""


def is_slow(use: Use, short: str, long: str) -> bool:
    """Whether time grows faster than the text, or is too long for any machine."""
    if seconds(use, short) > MOST_S and least_seconds(use, short) > MOST_S:
        return True
    if seconds(use, long) < SUSPECT_S or (took_s := least_seconds(use, long)) < SUSPECT_S:
        return False
    return took_s > MOST_S or took_s > MOST_GROWTH * least_seconds(use, short)


def least_seconds(use: Use, text: str) -> float:
    return min(seconds(use, text) for _ in range(3))


def seconds(use: Use, text: str) -> float:
    call = getattr(use.pattern, use.method)
    arguments = ("", text) if use.method == "sub" else (text,)
    began = time.thread_time()
    result = call(*arguments)
    if use.method == "finditer":
        list(result)
    return time.thread_time() - began
