"""What an earlier benchmark left in the load average is not taken for the work of others."""

import pytest

from fsbench_web.core.scoring.busy import is_busy, load_of_others


@pytest.mark.parametrize(
    ("load", "earlier", "others"),
    [
        (3.79, [], 3.79),
        (3.79, [("iozone", 0)], 1.79),
        (2.0, [("iozone", 60), ("postmark", 5)], 2 - 2 * 0.92004),
        (1.0, [("iozone", 0)], 0.0),
        (3.79, [("iozone", -2)], 1.79),  # clocks of two machines
        (3.79, [("filemark", 200)], None),
        (3.79, [("iozone", 5), ("", 299.9)], None),
        (3.79, [("filemark", 300)], 3.79),
    ],
)
def test_what_is_left_of_the_load(
    load: float, earlier: list[tuple[str, float]], others: float | None
) -> None:
    remaining = load_of_others(load, earlier)
    assert remaining == (None if others is None else pytest.approx(others, abs=1e-4))


def test_more_than_half_a_task_a_processor_is_busy() -> None:
    assert is_busy(3.79, 2)
    assert not is_busy(3.79, 8)
    assert not is_busy(1.0, 2)
