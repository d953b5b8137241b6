"""The pictures of an extra run are whole on a telephone and on a desk, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fsbench_web.core.traces import operations, requests
from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.activity import traces
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from tests.services.pages import at_rest

SAMPLES = Path(__file__).parents[1] / "core/traces/samples"


@pytest.fixture
def traced(site: str, spec, ann) -> Run:
    """An extra run with what a kernel and bpftrace told."""
    run = submit(spec(repeats=1), "disk1", ann)[0]
    Run.objects.filter(pk=run.pk).update(
        tracing=f"{REQUESTS} {OPERATIONS}", state=RunState.DONE, block=""
    )
    events = (SAMPLES / "block-events.txt").read_text().splitlines()
    counts = (SAMPLES / "functions.bpftrace.json").read_text()
    traces.store(run, REQUESTS, requests.traced(events, 512 * 2**20))
    traces.store(run, OPERATIONS, operations.read(counts, operations.FUNCTIONS, 9.5))
    return run


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark"), (390, "light")])
def test_pictures_of_traces_are_whole(page: Page, traced: Run, width: int, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/runs/{traced.pk}/")
    for name in ("trace-latency-figure", "trace-map-figure", "trace-operations-figure"):
        figure = page.locator(f"#{name}")
        figure.scroll_into_view_if_needed()
        expect(figure.locator("svg.main-svg").first).to_be_visible()
        at_rest(page)
        outside = figure.evaluate(
            """one => [...one.querySelectorAll("svg text, .heatmaplayer image, .bars path")]
                .map(part => part.getBoundingClientRect())
                .filter(box => box.width && (box.left < 0 || box.right > innerWidth)).length"""
        )
        assert outside == 0, name
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
