"""Job, confirm and watch runs in a real browser; the worker's part is played by life cycle calls.

What a run measures is tested where it is really measured; no number here claims to be one.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.platform import clock
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from tests.services.pages import at_rest, complaint_about
from tests.studies.conftest import start, worker_announcement


@pytest.fixture
def watcher(page: Page, sign_in) -> Page:
    """A signed-in page on a site with one worker."""
    announce(worker_announcement())
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    return page


def see_schedulers(page: Page) -> None:
    """The schedulers of the chosen LUN, which stand under Advanced; it is closed again."""
    advanced = page.locator("#form-advanced")
    expect(page.get_by_label("mq-deadline")).to_be_attached()
    advanced.evaluate("fold => { fold.open = true; }")
    expect(page.get_by_label("mq-deadline")).to_be_visible()
    advanced.evaluate("fold => { fold.open = false; }")


def choose_ext4_and_xfs(page: Page) -> None:
    page.goto("/runs/new/")
    page.get_by_role("radio", name=re.compile("disk1")).check()
    see_schedulers(page)
    page.locator("input[name=fs][value='ext4.1']").check()
    page.locator("input[name=fs][value='xfs.1']").check()
    page.locator("#form-advanced > summary").click()
    page.locator("#tuning-ext4\\.1 > summary").click()
    page.locator("#id-ext4\\.1\\.journal_mode").select_option("writeback")


def test_a_job_is_confirmed_with_the_name_of_the_lun_and_watched(watcher: Page):
    page = watcher
    choose_ext4_and_xfs(page)
    page.get_by_role("button", name="Add another ext4 configuration").click()
    expect(page.locator("input[name=fs][value='ext4.2']")).to_be_checked()
    expect(page.locator("#id-ext4\\.1\\.journal_mode")).to_have_value("writeback")
    page.locator("#tuning-ext4\\.2 > summary").click()
    page.locator("#id-ext4\\.2\\.atime").select_option("noatime")
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("1")
    page.get_by_label("Title of the new study").fill("In the browser")
    page.get_by_role("button", name="Review the job").click()

    expect(page.get_by_role("heading", name="3 runs on disk1")).to_be_visible()
    expect(page.get_by_text("ext4_noatime_none").first).to_be_visible()
    # What was left at its default is not in the address.
    assert "inode_size" not in page.url
    erase = page.get_by_role("button", name="Erase disk1 and run")
    expect(erase).to_be_disabled()
    confirmation = page.get_by_label("Type the name of the LUN")
    confirmation.fill("DISK1")
    expect(erase).to_be_disabled()
    assert not Run.objects.exists()
    confirmation.fill("disk1")
    expect(erase).to_be_enabled()
    erase.click()
    expect(page.get_by_text("3 runs are queued.")).to_be_visible()

    run = Run.objects.get(series__configuration__label="ext4_wb_none")
    page.get_by_role("link", name="ext4_wb_none").click()
    expect(page.locator("[data-run-badge]")).to_have_text("queued")
    handle = start(run, log=(("stdout", "first <b>line</b>"),))
    expect(page.locator("[data-run-badge]")).to_have_text("running")
    expect(page.locator("[data-run-log]")).to_contain_text("first <b>line</b>")
    lifecycle.heartbeat(handle, phase="benchmark", progress=0.5, remaining_s=75)
    expect(page.locator("[data-run-percent]")).to_have_text("50%")
    expect(page.locator("[data-run-remaining]")).to_have_text(", about 1 min 15 s left")
    lifecycle.append_log(handle, [(timezone.now(), "stderr", "no space left")])
    lifecycle.finish(handle, RunState.FAILED, "iozone ended with exit code 1.")
    # The stream's end brings the results without a hand on the keyboard.
    expect(page.get_by_text("This run failed.")).to_be_visible()
    expect(page.get_by_text("iozone ended with exit code 1.").first).to_be_visible()
    expect(page.locator("[data-run-log]")).to_contain_text("no space left")


def test_back_from_the_review_ticks_what_was_ticked(watcher: Page):
    page = watcher
    choose_ext4_and_xfs(page)
    page.get_by_role("button", name="Add another ext4 configuration").click()
    expect(page.locator("input[name=fs][value='ext4.2']")).to_be_checked()
    page.locator("#tuning-ext4\\.2 > summary").click()
    page.locator("#id-ext4\\.2\\.atime").select_option("noatime")
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="15 runs on disk1")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Review the job")).to_be_visible()
    ticked = page.locator("input[name=fs]:checked")
    expect(ticked).to_have_count(3)
    values = ticked.evaluate_all("all => all.map(one => one.value)")
    assert values == ["ext4.1", "ext4.2", "xfs.1"]
    expect(page.locator("#id-ext4\\.1\\.journal_mode")).to_have_value("writeback")
    expect(page.locator("#id-ext4\\.2\\.atime")).to_have_value("noatime")


def test_a_form_that_is_sent_twice_submits_its_runs_once(watcher: Page):
    page = watcher
    choose_ext4_and_xfs(page)
    page.get_by_role("button", name="Review the job").click()
    page.get_by_label("Type the name of the LUN").fill("disk1")
    # What an impatient double click does where the script does not stop it.
    page.locator("form[method=post]").evaluate("form => { form.submit(); form.submit(); }")
    page.wait_for_url("**/jobs/*/")
    expect(page.locator("#job-progress tbody .badge.is-queued")).to_have_count(10)
    assert Run.objects.count() == 10


def test_a_refused_job_keeps_its_values_and_says_why(watcher: Page, complaints: list[str]):
    page = watcher
    choose_ext4_and_xfs(page)
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("99")
    # Chromium reports every 422 in its console.
    with complaint_about(page, complaints, "422"):
        page.get_by_role("button", name="Review the job").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("fsbench submitted and erased nothing.")
    expect(alert).to_contain_text("1 to 20 times, not 99")
    expect(alert).to_be_focused()
    expect(page.get_by_role("spinbutton", name="Repeats", exact=True)).to_have_value("99")
    expect(page.locator("#id-ext4\\.1\\.journal_mode")).to_have_value("writeback")


def test_the_list_of_runs_follows_by_itself(watcher: Page):
    page = watcher
    choose_ext4_and_xfs(page)
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("1")
    page.get_by_role("button", name="Review the job").click()
    page.get_by_label("Type the name of the LUN").fill("disk1")
    page.get_by_role("button", name="Erase disk1 and run").click()
    page.wait_for_url("**/jobs/*/")
    page.goto("/runs/")
    expect(page.locator("#run-rows .badge.is-queued")).to_have_count(2)
    start(Run.objects.order_by("id")[0])
    expect(page.locator("#run-rows .badge.is-running")).to_have_count(1)
    for run in Run.objects.filter(state=RunState.QUEUED):
        lifecycle.cancel(run.pk, by="ann")
    expect(page.locator("#run-rows .badge.is-cancelled")).to_have_count(1)


def test_a_queued_run_is_cancelled_on_its_page(watcher: Page):
    page = watcher
    choose_ext4_and_xfs(page)
    page.locator("input[name=fs][value='xfs.1']").uncheck()
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("1")
    page.get_by_role("button", name="Review the job").click()
    page.get_by_label("Type the name of the LUN").fill("disk1")
    page.get_by_role("button", name="Erase disk1 and run").click()
    page.get_by_text("Cancel this run").click()
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_text("This run was cancelled.")).to_be_visible()
    assert Run.objects.get().state == RunState.CANCELLED


@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_is_wider_than_the_screen(watcher: Page, width: int):
    page = watcher
    page.set_viewport_size({"width": width, "height": 800})
    lun = Lun.objects.get(name="disk1")
    for address in (
        "/",
        f"/runs/new/?lun={lun.pk}&fs=ext4.1&fs=btrfs.1",
        f"/runs/new/review/?lun={lun.pk}&fs=ext4.1&scheduler=none&repeats=2&new_study=x"
        "&workload=iozone-small",
        "/runs/",
        "/luns/",
        "/hardware/",
    ):
        page.goto(address)
        at_rest(page)
        spill = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert spill <= 0, f"{address} is {spill} px too wide at {width} px"


@pytest.mark.parametrize(("width", "most"), [(1440, 900), (390, 2400)])
def test_the_form_is_one_screen(watcher: Page, width: int, most: int) -> None:
    """What is optional is folded; every field is still there, and is sent."""
    page = watcher
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/runs/new/")
    page.get_by_role("radio", name=re.compile("disk1")).check()
    see_schedulers(page)
    expect(page.locator("input[name=fs]:checked")).to_have_count(2)
    at_rest(page)
    height, over = page.evaluate(
        "[document.getElementById('job-form').getBoundingClientRect().bottom + scrollY,"
        " document.documentElement.scrollWidth - innerWidth]"
    )
    assert height <= most
    assert over <= 0
    review = page.locator("#job-form button.is-primary")
    expect(review).to_have_count(1)
    expect(review).to_be_in_viewport()
    expect(page.locator("#form-advanced")).not_to_have_attribute("open", "")
    for name in ("ext4.1.atime", "probe_s", "start_at", "stop_before", "priority", "reference"):
        expect(page.locator(f"[name='{name}']")).to_have_count(1)


def test_the_form_needs_no_script(browser, site, sign_in) -> None:
    announce(worker_announcement())
    context = browser.new_context(base_url=site, java_script_enabled=False)
    try:
        page = context.new_page()
        sign_in(page, User.objects.create_user("cat", password="correct horse"))
        page.goto("/runs/new/")
        page.get_by_role("radio", name=re.compile("disk1")).check()
        page.get_by_role("button", name="Show options of this LUN").click()
        expect(page.locator("input[name=fs]:checked")).to_have_count(2)
        page.locator("#form-advanced > summary").click()
        page.get_by_role("button", name="Add another ext4 configuration").click()
        page.locator("#tuning-ext4\\.2 > summary").click()
        page.locator("#id-ext4\\.2\\.atime").select_option("noatime")
        page.get_by_role("button", name="Review the job").click()
        expect(page.get_by_role("heading", name="15 runs on disk1")).to_be_visible()
        expect(page.get_by_text("ext4_noatime_none").first).to_be_visible()
    finally:
        context.close()


def test_what_was_said_in_a_fold_stands_open(watcher: Page, complaints: list[str]) -> None:
    page = watcher
    choose_ext4_and_xfs(page)
    tuned = page.locator("#tuning-ext4\\.1 > summary")
    tuned.click()
    expect(tuned).to_have_text("Options now Journal mode mount: writeback")
    page.locator("#form-steered > summary").click()
    page.get_by_label("Stop before").fill("2026-01-01T06:00")
    page.get_by_label("Stop before").press("Tab")
    expect(page.locator("#form-steered > summary")).to_contain_text("now Stop before UTC: 2026-01")
    with complaint_about(page, complaints, "422"):
        page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_text("is in the past").last).to_be_visible()
    expect(page.get_by_label("Stop before")).to_have_value("2026-01-01T06:00")
    expect(page.get_by_label("Stop before")).to_be_visible()
    expect(page.locator("#id-ext4\\.1\\.journal_mode")).to_be_visible()
    expect(page.locator("#id-xfs\\.1\\.bigtime")).to_be_hidden()
    expect(page.locator("#tuning-ext4\\.1 > summary")).to_contain_text("writeback")
    stop = clock.now() + timedelta(hours=20)
    page.get_by_label("Stop before").fill(f"{stop:%Y-%m-%dT%H:%M}")
    page.get_by_label("Stop before").press("Tab")
    outlook = page.locator("#form-outlook")
    expect(outlook).to_contain_text(f"By {stop:%Y-%m-%d %H:%M} UTC all 10 runs")
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("2")
    page.get_by_role("spinbutton", name="Repeats", exact=True).press("Tab")
    expect(outlook).to_contain_text(f"By {stop:%Y-%m-%d %H:%M} UTC all 4 runs")
    expect(page.locator("#tuning-ext4\\.1 > summary")).to_contain_text("writeback")
    page.get_by_role("button", name="Review the job").click()
    expect(page.locator("[data-outlook]")).to_contain_text(f"By {stop:%Y-%m-%d %H:%M} UTC")


def test_a_time_of_the_site_is_said_as_the_reader_has_it_too(browser, site, sign_in) -> None:
    announce(worker_announcement())
    context = browser.new_context(base_url=site, timezone_id="America/New_York")
    try:
        page = context.new_page()
        sign_in(page, User.objects.create_user("bob", password="correct horse"))
        page.goto("/runs/new/?start_at=2026-11-23T22:00")
        field = page.locator(".field", has=page.get_by_label("Start at"))
        expect(field).to_contain_text("UTC, the time zone of this site")
        expect(field).to_contain_text("Where you are (America/New_York) that is 11/23/2026, 5:00")
    finally:
        context.close()


def test_the_keyboard_stays_where_it_was_when_the_form_is_fetched_anew(watcher: Page) -> None:
    page = watcher
    page.goto("/runs/new/")
    lun = page.get_by_role("radio", name=re.compile("disk1"))
    lun.focus()
    page.keyboard.press("Space")
    see_schedulers(page)
    expect(lun).to_be_focused()
    page.locator("#form-advanced > summary").click()
    add = page.get_by_role("button", name="Add another ext4 configuration")
    add.focus()
    page.keyboard.press("Enter")
    remove = page.get_by_role("button", name="Remove")
    expect(remove).to_be_visible()
    expect(add).to_be_focused()
    remove.focus()
    page.keyboard.press("Enter")
    expect(remove).to_have_count(0)
    expect(add).to_be_focused()
