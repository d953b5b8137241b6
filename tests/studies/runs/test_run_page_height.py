"""The page of one run: few screens, and all that is folded is found by link and on paper."""

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.workloads.iozone import TESTS
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from tests.services.pages import at_rest
from tests.studies.conftest import start

LINES, COMMANDS, CELLS = 300, 30, 10


@pytest.fixture
def finished(runs: list[Run]) -> Run:
    """A run of every test of a matrix, 40 more values, many commands and a long log."""
    handle = start(runs[0], tuple(("stdout", f"line {number}") for number in range(LINES)))
    lifecycle.record_commands(
        handle,
        [
            {"phase": "benchmark", "argv": ["run", str(number)], "exit_code": 0, "duration_s": 1.0}
            for number in range(COMMANDS)
        ],
    )
    lifecycle.advance(handle, RunState.COLLECTING)
    values = [
        ParsedValue(test, 4 << place, 1024 << place, 1000.0 + place, "KB/s", place + 1)
        for test in TESTS
        for place in range(CELLS)
    ]
    values += [
        ParsedValue(f"phase_{number}", None, None, 10.0 + number, "s", number + 1)
        for number in range(40)
    ]
    with transaction.atomic():
        artefact = ingest.store_artefact(runs[0], "iozone.txt", b"raw output")
        ingest.store_values(runs[0], artefact, values)
        lifecycle.finish(handle, RunState.DONE, "")
        ingest.rescore(runs[0].series)
    return runs[0]


@pytest.mark.parametrize(("width", "screens"), [(1440, 4), (390, 7)])
def test_it_has_few_screens(page: Page, finished: Run, width: int, screens: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/runs/{finished.pk}/")
    at_rest(page)
    height, over = page.evaluate(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth - innerWidth]"
    )
    assert height <= screens * 900
    assert over <= 0


def test_what_is_folded_is_found(page: Page, finished: Run) -> None:
    address = f"/runs/{finished.pk}/"
    page.goto(address)
    log = page.locator("[data-run-log]")
    expect(log).to_be_hidden()
    page.goto(f"{address}#log")
    expect(log).to_be_visible()
    page.goto(address)
    page.reload()
    for name in ("How to reproduce", "Environment", "Raw output", "History"):
        page.get_by_role("heading", name=name).click()
    for inside in ("#commands", "#run-environment", "#run-history"):
        expect(page.locator(inside)).to_be_visible()
    expect(page.get_by_role("link", name="iozone.txt")).to_be_visible()


def test_nothing_is_folded_on_paper(page: Page, finished: Run) -> None:
    page.goto(f"/runs/{finished.pk}/")
    expect(page.locator("#commands")).to_be_hidden()
    page.emulate_media(media="print")
    for inside in ("#commands", "[data-run-log]", "#run-environment", "#run-history"):
        assert page.locator(inside).bounding_box()["height"] > 0, inside


def test_of_a_run_that_is_not_done_log_and_states_stand_open(page: Page, runs: list[Run]) -> None:
    handle = start(runs[0], (("stdout", "mkfs.ext4 is at it"),))
    page.goto(f"/runs/{runs[0].pk}/")
    expect(page.get_by_text("mkfs.ext4 is at it")).to_be_visible()
    lifecycle.finish(handle, RunState.FAILED, "no space left")
    expect(page.locator("#run-history")).to_contain_text("no space left")
    expect(page.locator("#run-history")).to_be_visible()
    expect(page.get_by_text("mkfs.ext4 is at it")).to_be_visible()
