"""The drawing beside the answer: speed over that of a baseline."""

import pytest

from fsbench_web.compare.drawings.shapes import Rect, Text
from fsbench_web.compare.drawings.speedup import speedup
from fsbench_web.compare.tables.answer import Answer, ContenderStanding


def answer(*means: float, spread: float = 3.0) -> Answer:
    standings = tuple(
        ContenderStanding(
            f"contender_{place}", mean, (("read", mean / spread), ("write", mean * spread))
        )
        for place, mean in enumerate(means)
    )
    return Answer("contender_0", standings, ("read", "write"), (), 0, 0, 0, (), None, 10, None)


@pytest.mark.parametrize("means", [(1.01, 1.0), (15.84, 1.0), (12345.0, 1.0), (0.002, 0.001)])
def test_no_mark_lies_on_a_name_or_a_number(means: tuple[float, ...]) -> None:
    shapes = speedup(answer(*means)).shapes
    marks = [one for one in shapes if isinstance(one, Rect)]
    words = [one for one in shapes if isinstance(one, Text) and one.anchor == "end"]
    names = [one for one in words if one.text.startswith("contender")]
    numbers = [one for one in words if one.text.endswith("×")]
    assert len(names) == len(numbers) == len(means)
    left = max(one.x for one in names)
    right = min(one.x - 7.7 * len(one.text) for one in numbers)
    assert min(one.x for one in marks) - left >= 6
    assert right - max(one.x + one.width for one in marks) >= 3
