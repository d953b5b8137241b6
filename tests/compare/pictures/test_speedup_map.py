"""The map of block by file size beside the answer of a study."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect
from fsbench_web.compare.drawings.speedup_map import MOST_SIZES, ROW, speedup_map
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.models import Run, RunState, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import series_for

CELLS = [(4, 64), (4, 128), (64, 64), (64, 128)]


def squares(drawing: Drawing | None) -> list[Rect]:
    assert drawing is not None
    return [shape for shape in drawing.shapes if isinstance(shape, Rect) and shape.height != 9]


def test_twice_and_half_as_fast_are_as_large_and_of_two_colours() -> None:
    drawing = speedup_map({(4, 64): 2.0, (4, 128): 0.5, (64, 64): 1.0}, "xfs", "ext4", "Write")
    twice, half, same = squares(drawing)
    assert twice.width == pytest.approx(half.width) == pytest.approx(ROW - 3)
    assert (twice.colour, half.colour) == ("series-1", "series-2")
    assert same.width == 1
    assert "faster in 1 of 3 data points, 0.50 to 2.00 times" in (
        drawing.summary if drawing else ""
    )


def test_noise_fills_no_cell() -> None:
    widest = max(
        square.width
        for square in squares(speedup_map({(4, 64): 1.01, (4, 128): 1.0}, "a", "b", "W"))
    )
    assert widest < (ROW - 3) / 4


def test_the_boundary_stands_before_the_first_file_beyond_the_cache() -> None:
    ratios = dict.fromkeys(CELLS, 2.0)
    drawing = speedup_map(ratios, "a", "b", "W", {4: (64, 128), 64: (512, 1024)})
    assert drawing is not None
    thick = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.thickness == 2]
    small = min(squares(drawing), key=lambda square: square.x)
    # One of the block whose files are drawn, and that of the legend.
    assert len(thick) == 2
    assert small.x + small.width < thick[0].x1
    assert thick[0].y2 - thick[0].y1 == ROW


def test_there_is_none_of_one_cell_or_of_too_many_sizes() -> None:
    assert speedup_map({(4, 64): 2.0}, "a", "b", "W") is None
    assert speedup_map({(4, size): 2.0 for size in range(MOST_SIZES + 1)}, "a", "b", "W") is None


@pytest.mark.django_db
@pytest.mark.parametrize("cells", [CELLS, [(None, None)]])
def test_a_study_shows_it_where_a_matrix_was_measured(
    client: Client, cells: list[tuple[int | None, int | None]]
) -> None:
    study = Study.objects.create(slug="mine", title="Mine")
    keys = []
    for filesystem, speed in (("ext4", 1000.0), ("xfs", 2000.0)):
        series = series_for(study, configuration_for(filesystem, {}), kernel="6.1")
        keys.append(series.pk)
        run = Run.objects.create(
            series=series,
            repeat=1,
            origin=Run.Origin.MEASURED,
            state=RunState.DONE,
            ended_at=datetime.now(UTC),
        )
        values = [ParsedValue("write", *cell, speed, "KB/s", line=1) for cell in cells]
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    page = client.get("/studies/mine/").content.decode()
    is_matrix = len(cells) > 1
    assert ('id="map"' in page) == is_matrix
    assert ("faster in 4 of 4 data points, 2.00 to 2.00 times as fast" in page) == is_matrix
    assert (f"picture=ratio&amp;a={keys[1]}&amp;b={keys[0]}" in page) == is_matrix
    assert "not known: no probe of the LUN, or none of the same requests" in page
    assert 'id="map"' not in client.get("/studies/mine/?tab=tests").content.decode()
    for address in re.findall(r'href="([^"]*picture=ratio[^"]*)"', page):
        assert "4 cells are matched" in client.get(unescape(address)).content.decode()
