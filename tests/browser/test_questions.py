"""What storage engineers ask of a site, from its first page, and the clicks that each answer takes.

A click is one, and so is a choice in a form; then the answer is in sight, or one scroll away.
"""

from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from fsbench_web.studies.jobs.spec import ConfigurationSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from tests.studies.conftest import complete, start

TITLE = "Array test"


@dataclass
class Visitor:
    """Somebody on the first page, whose clicks are counted."""

    page: Page
    clicks: int = 0

    def click(self, locator: Locator) -> None:
        locator.first.click()
        self.clicks += 1

    def link(self, name: str, within: str = "main") -> None:
        self.click(self.page.locator(within).get_by_role("link", name=name))

    def study(self) -> None:
        self.link(TITLE)


@pytest.fixture
def lab(site: str, spec, ann: User) -> list[Run]:
    """Four file systems, three blocks of each; the last run of XFS failed."""
    configurations = tuple(
        ConfigurationSpec(name, {}, "none") for name in ("ext2", "ext3", "ext4", "xfs")
    )
    runs = submit(spec(configurations=configurations, repeats=3, new_study=TITLE), "disk1", ann)
    speeds = {"ext2": 100.0, "ext3": 60.0, "ext4": 300.0, "xfs": 450.0}
    for number, run in enumerate(runs):
        if number == len(runs) - 1:
            reason = "mkfs.xfs ended with exit status 1: size 2097152 is too small."
            lifecycle.finish(start(run), RunState.FAILED, reason)
        else:
            name = run.series.configuration.filesystem
            complete(run, speeds[name] * (1000 + number % 3))
    return runs


@pytest.fixture
def visitor(page: Page, lab: list[Run]) -> Visitor:
    page.goto("/")
    return Visitor(page)


def test_who_is_fastest_and_how_sure_is_that(visitor: Visitor) -> None:
    visitor.study()
    answer = visitor.page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("xfs is 49.9% faster than ext4 (95%: 49.6% to 50.3%)")
    expect(answer).to_contain_text("Significant in 6 of 6 tests")
    assert visitor.clicks == 1


def test_which_is_best_for_a_database_of_8_to_16_kb_in_files_of_1_to_4_gb(
    visitor: Visitor,
) -> None:
    visitor.study()
    visitor.link("rank by your own work")
    work = visitor.page.locator("#work")
    expect(work).to_contain_text("0 of 12 cells of your work measured")
    expect(work.get_by_role("link", name="Measure what is missing")).to_be_visible()
    assert visitor.clicks == 2


def test_is_this_difference_real(visitor: Visitor) -> None:
    visitor.study()
    visitor.link("Tests")
    expect(visitor.page.locator("main")).to_contain_text("faster, unpaired")
    assert visitor.clicks == 2


def test_why_did_this_run_fail(visitor: Visitor, lab: list[Run]) -> None:
    failed = lab[-1]
    visitor.click(visitor.page.locator(f'main a[href="/runs/{failed.pk}/"]'))
    expect(visitor.page.locator("main")).to_contain_text(Run.objects.get(pk=failed.pk).reason)
    assert visitor.clicks == 1


def test_what_differs_in_their_set_up(visitor: Visitor) -> None:
    visitor.study()
    visitor.link("Setup differences")
    expect(visitor.page.locator("main")).to_contain_text("ext3")
    assert visitor.clicks == 2


def test_did_it_get_slower(visitor: Visitor) -> None:
    visitor.study()
    visitor.link("Order over time")
    expect(visitor.page.get_by_role("heading", level=1)).to_contain_text("Trends")
    assert visitor.clicks == 2


def test_where_is_the_output_that_this_number_comes_from(visitor: Visitor) -> None:
    visitor.study()
    visitor.click(visitor.page.locator("#findings a[href^='/runs/']"))
    visitor.click(visitor.page.locator("summary", has_text="Raw output"))
    expect(visitor.page.locator("a[href*='/artefacts/']:visible").first).to_be_visible()
    assert visitor.clicks == 3


def test_how_do_i_show_this_to_a_colleague(visitor: Visitor) -> None:
    visitor.study()
    visitor.click(visitor.page.locator("main summary", has_text="Share"))
    visitor.link("Image (PNG)")
    # The image alone, as the browser shows it.
    expect(visitor.page.locator("img")).to_be_visible()
    assert visitor.clicks == 3
