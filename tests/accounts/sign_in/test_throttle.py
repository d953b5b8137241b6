from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from fsbench_web.accounts.sign_in import throttle
from fsbench_web.platform import clock


def admitted(_: int) -> bool:
    try:
        return throttle.admit("alice", "192.0.2.1")
    finally:
        connection.close()


def test_many_at_once_do_not_slip_through(transactional_db: None) -> None:
    with ThreadPoolExecutor(max_workers=8) as threads:
        answers = list(threads.map(admitted, range(4 * throttle.LIMIT)))
    # Those that meet may refuse each other; more than the limit may never pass.
    assert 0 < sum(answers) <= throttle.LIMIT


@pytest.mark.django_db
def test_failures_of_a_clock_that_was_ahead_close_nothing_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = clock.now()
    monkeypatch.setattr(clock, "now", lambda: right + timedelta(days=60))
    for _ in range(throttle.LIMIT):
        assert throttle.admit("ada", "192.0.2.1")
    assert not throttle.admit("ada", "192.0.2.1")
    monkeypatch.setattr(clock, "now", lambda: right)
    assert throttle.admit("ada", "192.0.2.1")


@pytest.mark.django_db
def test_a_clock_that_is_a_little_behind_forgets_no_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two web processes: else each would forget what the other one counted."""
    right = clock.now()
    for _ in range(throttle.LIMIT):
        assert throttle.admit("ada", "192.0.2.1")
    monkeypatch.setattr(clock, "now", lambda: right - timedelta(seconds=5))
    assert not throttle.admit("ada", "192.0.2.1")
