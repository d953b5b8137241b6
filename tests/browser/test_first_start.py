"""The first minutes: a worker sets itself up while somebody has the pages open."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from tests.studies.conftest import GB, USABLE, worker_announcement

ABLE = worker_announcement().capabilities
ONLY = [LunAnnouncement("scratch", "data", "sparse-file", "/dev/loop3", 2 * GB, [], ["none"])]
MISSING = {"usable": False, "reason": "IOzone is not there yet.", "package": "iozone3"}
SETUP = {
    "kind": "image",
    "state": "running",
    "title": "Building the benchmark image",
    "reason": "A Docker daemon answers, and has no image.",
}


def announced(**can: Any) -> None:
    announce(worker_announcement(luns=ONLY, capabilities=ABLE | can))


@pytest.fixture
def operator(page: Page, sign_in: Callable[[Page, User], None], ann: User) -> Page:
    sign_in(page, ann)
    return page


def mark(page: Page) -> None:
    """A page that is loaded anew is another one."""
    page.evaluate("window.isTheSame = true")


def is_the_same(page: Page) -> bool:
    return bool(page.evaluate("window.isTheSame === true"))


def test_the_form_becomes_usable_under_the_eyes_of_whoever_has_it_open(operator: Page) -> None:
    page = operator
    announced(setup=SETUP, filesystems={}, tools={"iozone": MISSING})
    page.goto("/runs/new/")
    mark(page)
    bar = page.get_by_role("progressbar", name="Building the benchmark image")
    expect(bar).to_be_visible()
    expect(page.locator("[data-nothing]")).to_contain_text("as soon as that has ended")
    expect(page.locator("input[name=fs]:checked")).to_have_count(0)
    expect(page.locator("input[name=workload]:checked")).to_have_count(0)
    title = page.get_by_label("Title of the new study")
    page.locator("#form-advanced > summary").click()
    title.fill("Mine")
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("3")
    page.locator("#form-steered > summary").click()
    page.locator("#id-seed").fill("1")

    # Somebody types while it ends: nothing of that is lost, and the place to type on is the same.
    seed = page.locator("#id-seed")
    seed.press("End")
    announced()
    seed.press_sequentially("23")
    expect(page.locator("input[name=fs]:checked")).to_have_count(2)
    expect(bar).to_have_count(0)
    expect(page.locator("[data-nothing]")).to_have_count(0)
    expect(page.locator("input[name=workload]:checked")).to_have_value("iozone-messages")
    expect(page.locator("#parameters-iozone-messages")).to_be_visible()
    expect(page.locator("input[name=fs][value='btrfs.1']")).to_be_disabled()
    expect(title).to_have_value("Mine")
    expect(page.get_by_role("spinbutton", name="Repeats", exact=True)).to_have_value("3")
    expect(seed).to_have_value("123")
    expect(seed).to_be_focused()
    expect(page.locator("#live-news")).to_contain_text("The options have changed")

    # Somebody chose: a tool that is found later changes nothing of that.
    page.locator("input[name=fs][value='xfs.1']").uncheck()
    page.locator("#tuning-ext4\\.1 > summary").click()
    page.locator("#id-ext4\\.1\\.atime").select_option("noatime")
    announced(filesystems=ABLE["filesystems"] | {"btrfs": USABLE})
    page.evaluate("fsbenchLive.ask()")
    expect(page.locator("input[name=fs][value='btrfs.1']")).to_be_enabled()
    expect(page.locator("input[name=fs]:checked")).to_have_value("ext4.1")
    expect(page.locator("#id-ext4\\.1\\.atime")).to_have_value("noatime")
    assert is_the_same(page)
    # Enter in a field reviews the job.
    title.press("Enter")
    expect(page.get_by_role("heading", name="3 runs on scratch")).to_be_visible()


def test_what_was_ticked_while_more_was_on_its_way_gives_way_to_it(operator: Page) -> None:
    """On a bare machine something can be run at once, and it is not what most people ask for."""
    page = operator
    little = {"ext3": USABLE, "ext4": USABLE}
    announced(setup=SETUP, filesystems=little, tools={"iozone": MISSING})
    page.goto("/runs/new/")
    mark(page)
    expect(page.locator("input[name=workload]:checked")).to_have_value("filemark-small")
    expect(page.locator("input[name=fs]:checked")).to_have_count(2)
    announced()
    page.evaluate("fsbenchLive.ask()")
    expect(page.locator("input[name=workload]:checked")).to_have_value("iozone-messages")
    expect(page.locator("input[name=fs][value='xfs.1']")).to_be_checked()
    expect(page.locator("input[name=fs]:checked")).to_have_count(2)
    # Nothing is on its way any more: what is ticked stays as long as it can be run.
    announced(filesystems=little)
    page.evaluate("fsbenchLive.ask()")
    expect(page.locator("input[name=fs][value='ext3.1']")).to_be_checked()
    announced()
    page.evaluate("fsbenchLive.ask()")
    expect(page.locator("input[name=fs][value='xfs.1']")).to_be_enabled()
    expect(page.locator("input[name=fs][value='ext3.1']")).to_be_checked()
    assert is_the_same(page)


def test_a_form_without_any_worker_gets_one(operator: Page) -> None:
    page = operator
    page.goto("/runs/new/")
    expect(page.get_by_text("No worker has announced a LUN yet.")).to_be_visible()
    announced()
    expect(page.get_by_role("radio", name=re.compile("scratch"))).to_be_checked()
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="10 runs on scratch")).to_be_visible()


def test_a_failed_setup_says_what_to_do_on_every_page_that_showed_it(operator: Page) -> None:
    page = operator
    for address in ("/", "/workers/lab1/", "/runs/new/"):
        announced(setup=SETUP)
        page.goto(address)
        mark(page)
        expect(page.get_by_role("progressbar", name="Building the benchmark image")).to_be_visible()
        announced(setup=SETUP | {"state": "failed", "problem": "No room.", "command": "make x"})
        expect(
            page.get_by_text("Building the benchmark image failed").or_(
                page.get_by_text("Building the benchmark image on lab1 failed")
            )
        ).to_be_visible()
        expect(page.get_by_text("No room.")).to_be_visible()
        expect(page.locator("code", has_text="make x").first).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_count(0)
        announced()
        page.evaluate("fsbenchLive.ask()")
        expect(page.get_by_text("No room.")).to_have_count(0)
        assert is_the_same(page)


def test_a_refused_job_stays_as_it_is_and_says_that_it_may_be_tried_again(
    operator: Page, complaints: list[str]
) -> None:
    page = operator
    announced(tools={"iozone": MISSING})
    page.goto("/runs/new/?fs=ext4.1&workload=iozone-small&repeats=2")
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("alert")).to_contain_text("IOzone is not there yet.")
    announced()
    page.wait_for_load_state()  # with the script of the page that has just come
    page.evaluate("fsbenchLive.ask()")
    expect(page.get_by_text("The options have changed since")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("IOzone is not there yet.")
    complaints.clear()  # Chromium reports the 422
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="2 runs on scratch")).to_be_visible()


def test_a_page_that_nobody_sees_asks_hardly_ever(operator: Page) -> None:
    page = operator
    announced(setup=SETUP)
    page.goto("/workers/lab1/")
    expect(page.get_by_role("progressbar")).to_be_visible()
    # As in a tab behind another one.
    page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", { get: () => window.isBehind });
            window.waits = [];
            const later = window.setTimeout;
            window.setTimeout = (act, ms) => { window.waits.push(ms); return later(act, ms); };
            window.isBehind = true;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    assert page.evaluate("window.waits") == [60_000]
    announced(setup=SETUP | {"title": "Installing the tools"})
    page.evaluate("window.isBehind = false; document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("progressbar", name="Installing the tools")).to_be_visible()
    assert page.evaluate("window.waits.slice(1).every((ms) => ms <= 2000)")
