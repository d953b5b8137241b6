"""When repeating ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.scoring.repeating import Continue, RepeatTarget, Stop, repeats_verdict

TARGET = RepeatTarget(5, least=3, most=10)
values = st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=2, max_size=30)


def verdict(
    scores: dict[str, list[float]], done: int | None = None, ended: int | None = None
) -> Continue | Stop:
    count = done if done is not None else len(next(iter(scores.values()), []))
    return repeats_verdict(scores, TARGET, done=count, ended=count if ended is None else ended)


STEADY = [100.0, 101.0, 99.0]
WILD = [100.0, 140.0, 60.0]


def test_it_stops_when_the_interval_is_narrow_enough() -> None:
    assert verdict({"write": STEADY}) == Stop("3 repeats: half-width 2.5% ≤ 5%")


def test_every_test_has_to_be_sure() -> None:
    assert verdict({"write": STEADY, "read": WILD}) == Continue(
        "half-width 99% > 5% in the widest of 2 tests, read"
    )
    assert verdict({"write": STEADY, "random_read": STEADY}) == Stop(
        "3 repeats: half-width 2.5% ≤ 5% in the widest of 2 tests, write"
    )


def test_it_goes_on_below_the_least_however_sure_it_is() -> None:
    assert verdict({"write": [100.0, 100.0]}) == Continue("2 of at least 3 repeats are finished")


def test_it_stops_at_the_most_and_says_how_unsure_it_still_is() -> None:
    assert verdict({"write": WILD * 3}, done=10) == Stop(
        "stopped at the most, 10: half-width still 27%"
    )


def test_failed_repeats_count_against_the_most() -> None:
    assert verdict({}, done=0, ended=9) == Continue("0 of at least 3 repeats are finished")
    assert verdict({}, done=0, ended=10) == Stop(
        "stopped at the most, 10, 10 of them without a result: "
        "too few finished repeats for an interval"
    )
    assert verdict({"write": [100.0, 101.0]}, done=2, ended=10) == Stop(
        "stopped at the most, 10, 8 of them without a result: half-width still 6.3%"
    )
    assert verdict({"write": [100.0, 100.1]}, done=2, ended=10) == Stop(
        "stopped at the most, 10, 8 of them without a result: half-width 0.63%, with fewer "
        "finished repeats than the least, 3"
    )


def test_a_test_that_misses_a_score_is_not_sure() -> None:
    assert isinstance(verdict({"write": STEADY, "read": [100.0]}), Continue)


@pytest.mark.parametrize(
    ("spread", "reason"),
    [(2.0137, "half-width 5.0023% > 5%"), (2.0127, "3 repeats: half-width 5% ≤ 5%")],
)
def test_what_is_printed_never_contradicts_what_is_decided(spread: float, reason: str) -> None:
    assert verdict({"write": [100.0, 100.0 + spread, 100.0 - spread]}).reason == reason


@settings(deadline=None)
@given(st.lists(st.floats(min_value=50, max_value=150), min_size=0, max_size=12))
def test_repeating_ends_whatever_is_measured(numbers: list[float]) -> None:
    decision = verdict(
        {"write": numbers} if numbers else {}, done=len(numbers), ended=max(10, len(numbers))
    )
    assert isinstance(decision, Stop)
