"""The database's clock, and what is seen by one that nobody sets."""

from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from fsbench_web.platform import clock
from fsbench_web.platform.clock import ChangeWatch

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def test_a_step_of_the_databases_clock_is_seen_by_who_asks_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "connection", Mock(vendor="postgresql"))
    monkeypatch.setattr(clock, "_known", None)
    monkeypatch.setattr(clock, "_asked", 0.0)
    monkeypatch.setattr(clock, "_ticks", lambda: 1000.0)
    answers = [NOON, NOON + timedelta(hours=1)]
    monkeypatch.setattr(clock, "_ask", lambda: (1000.0, answers.pop(0)))
    assert clock.now() == clock.now() == NOON
    clock.ask_soon()
    assert clock.now() == clock.now() == NOON + timedelta(hours=1)


def test_a_database_that_is_away_keeps_the_time_that_it_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "connection", Mock(vendor="postgresql"))
    monkeypatch.setattr(clock, "_known", (1000.0, NOON))
    monkeypatch.setattr(clock, "_asked", 1000.0)
    monkeypatch.setattr(clock, "_ticks", lambda: 1001.0)
    monkeypatch.setattr(clock, "_ask", Mock(side_effect=clock.DatabaseError))
    clock.ask_soon()
    assert clock.now() == NOON + timedelta(seconds=1)


def test_a_silence_is_counted_from_the_answer_to_the_question() -> None:
    """Both may take long: what was written meanwhile is no silence."""
    ticks = iter([0.0, 20.0, 25.0, 26.0, 60.0, 61.0, 70.0, 71.0])
    watch = ChangeWatch(lambda: next(ticks))
    assert watch.unchanged_s(lambda: {1: "a"}) == {1: 0.0}
    assert watch.unchanged_s(lambda: {1: "a", 2: "x"}) == {1: 5.0, 2: 0.0}
    assert watch.unchanged_s(lambda: {1: "b"}) == {1: 0.0}
    assert watch.unchanged_s(lambda: {1: "b", 2: "x"}) == {1: 9.0, 2: 0.0}
