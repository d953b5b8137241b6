"""How a reference changes over time."""

from datetime import UTC, datetime

from fsbench_web.figures.over_time import reference_drift


def test_a_change_reads_alike_under_the_pointer_and_in_words() -> None:
    """In decimals, which a browser would round by their binary digits."""
    times = [datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2, 3)]
    drawn = reference_drift(times, {"write": [0.0, -4.305, None]}, "Reference")
    words = ("0.00%", "\u22124.31%", "no value")
    assert drawn.data[0].customdata == words
    assert f"write {', '.join(words)}." in drawn.layout.meta["summary"]
