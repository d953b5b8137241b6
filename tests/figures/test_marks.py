"""Hatching of flagged cells and the line of the cache boundary."""

import math

import pytest

from fsbench_web.core.scoring.quality import FLAGS, OF_RUNS
from fsbench_web.figures import heatmap
from fsbench_web.figures.heatmap import size_axis

CELLS: dict[tuple[int, int], float | None] = {
    (record, file): 10.0 * record + file for record in (4, 8) for file in (64, 128, 256)
}


def test_a_flagged_cell_is_hatched_to_its_edges_and_named_in_the_legend() -> None:
    figure = heatmap.matrix(
        CELLS, "KB/s", "Write", flagged={"limited by the timer resolution": [(4, 64), (8, 256)]}
    )
    [trace] = [t for t in figure.data if (t.meta or {}).get("role") == heatmap.HATCHING]
    assert trace.name == "limited by the timer resolution: 2 cells"
    assert trace.fillpattern.shape == "/"
    half = math.sqrt(2)
    assert trace.x[:5] == pytest.approx([64 / half, 64 * half, 64 * half, 64 / half, 64 / half])
    # A gap between two cells, or the pattern would fill what lies between.
    assert trace.x[5] is None
    assert trace.y[5] is None
    assert figure.layout.showlegend
    assert "2 limited by the timer resolution" in figure.layout.meta["summary"]


def test_a_flag_has_one_pattern_of_its_own_on_every_map() -> None:
    axes = size_axis([4]), size_axis([64])

    def shapes(*names: str) -> list[str]:
        traces = heatmap.hatching({name: [(4, 64)] for name in names}, *axes)
        return [trace["fillpattern"]["shape"] for trace in traces]

    words = [flag.of_cells for slug, flag in FLAGS.items() if slug not in OF_RUNS]
    assert len(set(shapes(*words))) == len(words)
    assert shapes(*reversed(words)) == shapes(*words)[::-1]


def test_nothing_is_drawn_of_cells_that_are_not_there() -> None:
    assert heatmap.hatching({"one": [(1024, 64)], "two": []}, size_axis([4]), size_axis([64])) == []


def test_the_boundary_runs_between_the_sizes_on_either_side_of_it() -> None:
    figure = heatmap.matrix(CELLS, "KB/s", "Read", edges={4: (64, 128), 8: (128, 256)})
    line = next(t for t in figure.data if t.name == "cache boundary")
    half = math.sqrt(2)
    assert line.x == pytest.approx([64 * half, 64 * half, 128 * half, 128 * half])
    assert line.y == pytest.approx([4 / half, 4 * half, 8 / half, 8 * half])
    assert line.text[0] == "cache boundary: between files of 64 KB and 128 KB"
    assert "a line is the cache boundary" in figure.layout.meta["summary"]


def test_without_marks_there_is_no_legend() -> None:
    figure = heatmap.matrix(CELLS, "KB/s", "Read")
    assert not figure.layout.showlegend
    assert "hatched" not in figure.layout.meta["summary"]


def test_names_of_flags_are_text() -> None:
    [trace] = heatmap.hatching({"<b>x</b>": [(4, 64)]}, size_axis([4]), size_axis([64]))
    assert "<b>" not in trace["name"]


def test_numbers_of_hatched_cells_lie_on_a_plate_of_their_own_colour() -> None:
    hatched = {"limited by the timer resolution": [(4, 64)]}
    figure = heatmap.matrix(CELLS, "KB/s", "Write", flagged=hatched)
    [labels] = [t for t in figure.data if (t.meta or {}).get("role") == heatmap.LABELS]
    widths = dict(zip(zip(labels.y, labels.x, strict=True), labels.marker.line.width, strict=True))
    assert widths.pop((4, 64)) > 10
    assert set(widths.values()) == {0}
    assert labels.marker.line.color[0] == "rgb(68,1,84)"  # of the slowest, in viridis
    assert labels.textfont.color[0] == "#ffffff"
    # Of markers of several sizes plotly makes bubbles of 0.7, and the hatching strikes through.
    assert labels.marker.opacity == 1
    [plain] = [
        t
        for t in heatmap.matrix(CELLS, "KB/s", "Write").data
        if (t.meta or {}).get("role") == heatmap.LABELS
    ]
    assert plain.mode == "text"
