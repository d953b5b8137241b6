"""The drawing beside the answer: speed over that of a baseline."""

import pytest

from fsbench_web.compare.drawings.shapes import Rect, Text
from fsbench_web.compare.drawings.speedup import speedup
from fsbench_web.core.stats.answers import INCONCLUSIVE, Answer, Standing


def answer(*ratios: float, spread: float = 3.0) -> Answer:
    standings = tuple(
        Standing(f"contender_{place}", ratio, ratio / spread, ratio * spread)
        for place, ratio in enumerate(ratios)
    )
    names = tuple(standing.entry for standing in standings)
    return Answer(
        *(INCONCLUSIVE, names, names[0], standings, ("read", "write"), None, {}, {}, 1.0, None),
        repeats=(3, 3),
    )


@pytest.mark.parametrize("means", [(1.01, 1.0), (15.84, 1.0), (12345.0, 1.0), (0.002, 0.001)])
def test_no_mark_lies_on_a_name_or_a_number(means: tuple[float, ...]) -> None:
    shapes = speedup(answer(*means)).shapes
    marks = [shape for shape in shapes if isinstance(shape, Rect)]
    words = [shape for shape in shapes if isinstance(shape, Text) and shape.anchor == "end"]
    names = [word for word in words if word.text.startswith("contender")]
    numbers = [word for word in words if word.text.endswith("×")]
    assert len(names) == len(numbers) == len(means)
    left = max(name.x for name in names)
    right = min(number.x - 7.7 * len(number.text) for number in numbers)
    assert min(mark.x for mark in marks) - left >= 6
    assert right - max(mark.x + mark.width for mark in marks) >= 3
