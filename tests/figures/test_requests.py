"""Latencies of traces as bars: few enough labels for a telephone, and exact numbers on demand."""

import itertools

import pytest

from fsbench_web.figures import heatmap, requests


@pytest.mark.parametrize(("smallest_ns", "lower_edge"), [(1, "8.192 µs"), (1000, "8.192 ms")])
def test_labels_are_few_and_what_they_shorten_is_exact(smallest_ns: int, lower_edge: str) -> None:
    edges = [0, *(smallest_ns << place for place in range(1, 26))]
    bins = [(low, high, 3) for low, high in itertools.pairwise(edges)]
    figure = requests.latencies({"read": bins}, "T", "operations", smallest_ns).to_plotly_json()
    axis, (trace,) = figure["layout"]["xaxis"], figure["data"]
    assert len(trace["x"]) == len(set(trace["x"])) == 25
    assert len(axis["tickvals"]) == len(set(axis["ticktext"])) == 5
    assert set(axis["tickvals"]) <= set(trace["x"])
    assert all(len(label.split()[0]) <= 4 for label in axis["ticktext"])
    assert trace["customdata"][13].startswith(f"{lower_edge} to ")
    assert trace["customdata"][13].endswith(": 3 of 75")


def test_a_single_request_is_seen_on_a_light_page_and_on_a_dark_one() -> None:
    """3 to 1 against the page (WCAG 2.2, 1.4.11) where most cells are."""
    least = heatmap.luminance(heatmap.colour_at(heatmap.BETWEEN, 0))
    light, dark = (heatmap.luminance(rgb) for rgb in ((246, 248, 250), (15, 20, 27)))
    assert (light + 0.05) / (least + 0.05) > 3
    assert (least + 0.05) / (dark + 0.05) > 2.7
