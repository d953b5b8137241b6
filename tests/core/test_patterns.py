"""No pattern takes more than linear time, whatever line it meets."""

import re
import time

import pytest

from tests.core.hostile_patterns import TAILS, Use, hostile_texts, uses

# The longest line that a reader takes.
LONG = 10_000
# Linear: some ten nanoseconds a letter. Quadratic: a hundred million steps.
MOST_S = 0.005


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
            for length in (LONG // 8, LONG):
                text = start + unit * (length // len(unit)) + tail
                if (
                    seconds(use, text) > MOST_S
                    and min(seconds(use, text) for _ in range(3)) > MOST_S
                ):
                    return (
                        f"{use.place}.{use.method}: {use.pattern.pattern!r} on {start!r} + {unit!r}"
                    )
    return ""


def seconds(use: Use, text: str) -> float:
    call = getattr(use.pattern, use.method)
    arguments = ("", text) if use.method == "sub" else (text,)
    began = time.thread_time()
    result = call(*arguments)
    if use.method == "finditer":
        list(result)
    return time.thread_time() - began
