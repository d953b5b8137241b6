"""When a schedule comes next, over changes of the clocks too, and when a window is open."""

from datetime import UTC, datetime, time

import pytest

from fsbench_web.studies.triggers.schedule import (
    ScheduleError,
    next_after,
    parsed,
    window,
    zone_named,
)

BERLIN = "Europe/Berlin"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(expression: str, after: str, count: int, zone: str = BERLIN) -> list[str]:
    found, last = [], moment(after)
    for _ in range(count):
        last = next_after(expression, zone, last)
        found.append(f"{last:%Y-%m-%dT%H:%M}")
    return found


def test_a_time_that_is_skipped_in_spring_comes_once_and_later() -> None:
    assert times("30 2 * * *", "2026-03-27T12:00", 4) == [
        "2026-03-28T01:30",
        "2026-03-29T01:30",  # 03:30: there is no 02:30
        "2026-03-30T00:30",
        "2026-03-31T00:30",
    ]


def test_a_time_that_comes_twice_in_autumn_is_taken_once() -> None:
    expected = ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]
    assert times("30 2 * * *", "2026-10-23T12:00", 3) == expected
    # Asked between the two: the first was it.
    assert times("30 2 * * *", "2026-10-25T01:10", 1) == ["2026-10-26T01:30"]
    assert times("30 2 * * *", "2026-10-25T00:50", 1) == ["2026-10-26T01:30"]


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC"])
@pytest.mark.parametrize("expression", ["*/20 * * * *", "0 * * * *", "15,45 1-3 * * *"])
def test_times_only_go_forward_and_none_comes_twice(expression: str, zone: str) -> None:
    for start in ("2026-03-07T20:00", "2026-03-28T20:00", "2026-10-24T20:00", "2026-10-31T20:00"):
        found = times(expression, start, 120, zone)
        assert found == sorted(set(found))
        local = [moment(text).astimezone(zone_named(zone)) for text in found]
        walls = [f"{one:%Y-%m-%dT%H:%M}" for one in local]
        assert len(set(walls)) == len(walls)


def test_both_day_fields_must_match() -> None:
    assert times("0 0 13 * fri", "2026-01-01T00:00", 3, "UTC") == [
        "2026-02-13T00:00",
        "2026-03-13T00:00",
        "2026-11-13T00:00",
    ]


def test_a_leap_day_is_found() -> None:
    assert times("0 5 29 2 *", "2026-10-24T00:00", 2, "UTC") == [
        "2028-02-29T05:00",
        "2032-02-29T05:00",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        *("", "* * * *", "* * * * * *", "61 * * * *", "*/0 * * * *", "0 0 30 2 *", "0 0 * * 7"),
        *("1-5;rm * * * *", "a b c d e", "* * * * */", "١ * * * *", "-1 * * * *", "1--5 * * * *"),
        *("1," * 60 + "1 * * * *", "9" * 60 + " * * * *", "@daily"),
    ],
)
def test_what_is_no_schedule_is_refused(expression: str) -> None:
    with pytest.raises(ScheduleError):
        parsed(expression)


@pytest.mark.parametrize(
    "name", ["", "Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "x" * 5000]
)
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError):
        zone_named(name)


@pytest.mark.parametrize(
    ("now", "begin", "end"),
    [
        ("2026-03-27T12:00", "2026-03-27T21:00", "2026-03-28T05:00"),
        ("2026-03-27T22:00", None, "2026-03-28T05:00"),
        ("2026-03-28T04:59", None, "2026-03-28T05:00"),
        ("2026-03-28T05:00", "2026-03-28T21:00", "2026-03-29T04:00"),  # one hour less
    ],
)
def test_a_window_goes_past_midnight(now: str, begin: str | None, end: str) -> None:
    expected = moment(begin) if begin else None, moment(end)
    assert window(time(22), time(6), BERLIN, moment(now)) == expected


def test_a_window_within_a_day() -> None:
    found = window(time(1), time(5), "UTC", moment("2026-03-27T06:00"))
    assert found == (moment("2026-03-28T01:00"), moment("2026-03-28T05:00"))
