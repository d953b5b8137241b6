"""What a page says stays true while things change, without a hand on the keyboard."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from fsbench_web.catalog.models import Lun
from fsbench_web.platform import clock
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import LogLine, Run, RunState
from fsbench_web.studies.runs import control, lifecycle
from tests.studies.conftest import complete, start

MakeSpec = Callable[..., JobSpec]


@pytest.fixture
def runs(page: Page, sign_in, ann: User, spec: MakeSpec) -> list[Run]:
    """Four queued runs of one job, by whoever is signed in on the page."""
    sign_in(page, ann)
    return submit(spec(), "disk1", ann)


def ask(page: Page) -> None:
    """What the page does every few seconds; that it does, the tests without this show."""
    page.evaluate("fsbenchLive.ask()")


def test_a_job_that_ended_offers_nothing_that_is_over(
    page: Page, sign_in: Callable[[Page, User], None], ann: User, disk: Lun
) -> None:
    sign_in(page, ann)
    page.goto(
        f"/runs/new/review/?lun={disk.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&repeats=2&new_study=x"
    )
    page.get_by_label("Type the name of the LUN").fill("disk1")
    page.get_by_role("button", name="Erase disk1 and run").click()
    expect(page.get_by_text("4 runs are queued.")).to_be_visible()
    runs = list(Run.objects.order_by("pk"))
    job_id = runs[0].job_id
    assert job_id is not None
    expect(page.get_by_role("button", name="Cancel all 4 unfinished runs")).to_be_visible()
    handle = start(runs[0])
    # By itself, within seconds.
    expect(page.get_by_text("1 running, 3 waiting")).to_be_visible()
    expect(page.get_by_text("4 runs are queued.")).to_have_count(0)
    priority = page.get_by_label("Priority")
    priority.fill("7")
    lifecycle.finish(handle, RunState.FAILED, "no space left")
    ask(page)  # nothing is replaced under the fingers of whoever types: a little later
    expect(page.get_by_role("button", name="Cancel all 3 unfinished runs")).to_be_visible()
    expect(page.get_by_role("heading", name="Rerun")).to_be_visible()
    # What was typed is there, and so is the place to type on.
    expect(priority).to_have_value("7")
    expect(priority).to_be_focused()
    again = page.get_by_role("button", name="Erase and rerun")
    expect(again).to_be_disabled()
    page.get_by_label("to confirm").fill("disk1")
    expect(again).to_be_enabled()
    complete(runs[1])
    control.cancel(job_id, "ann")
    ask(page)
    expect(page.get_by_text("4 of 4: 1 done, 1 failed or lost, 2 cancelled")).to_be_visible()
    for name in ("Pause", "Resume", "Set priority", re.compile("Cancel all")):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_label("to confirm")).to_have_value("disk1")
    expect(page.get_by_role("button", name="Erase and rerun")).to_be_enabled()
    expect(page.get_by_role("link", name="The study")).to_have_class(re.compile("is-primary"))
    expect(page.locator("#live-news")).to_have_text("This job is now ended.")
    # And nothing is asked any more.
    assert page.locator("[data-live-every]").count() == 0


def test_a_run_that_begins_is_no_longer_said_to_wait(page: Page, runs: list[Run]) -> None:
    page.goto(f"/runs/{runs[1].pk}/")
    expect(page.get_by_text("1 run of the same LUN comes first.")).to_be_visible()
    complete(runs[0])
    ask(page)
    expect(page.get_by_text("It is next on its LUN.")).to_be_visible()
    page.get_by_text("Cancel this run").click()
    expect(page.get_by_text("It has not started, so you lose nothing.")).to_be_visible()
    handle = start(runs[1])
    # The stream of events says so.
    expect(page.get_by_text("This run waits.")).to_have_count(0)
    expect(page.get_by_text("Results so far enter no score.")).to_be_visible()
    expect(page.locator("#run-history")).to_contain_text("preparing")
    lifecycle.cancel(runs[1].pk, by="ben")
    expect(page.get_by_text("Cancelling: the worker stops the benchmark")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel run")).to_have_count(0)
    lifecycle.finish(handle, RunState.CANCELLED, "Cancelled by ben.")
    expect(page.get_by_text("This run was cancelled.")).to_be_visible()


def test_a_page_without_a_stream_asks_now_and_then(
    page: Page, runs: list[Run], complaints: list[str]
) -> None:
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        if "once=1" in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=429, headers={"Retry-After": "10"}, body="Too many.")

    page.route("**/events/?*", refuse)
    page.clock.install()
    handle = start(runs[0], log=(("stdout", "line one"),))
    page.goto(f"/runs/{runs[0].pk}/")
    expect(page.locator("[data-run-connection]")).to_contain_text("asks every 10 seconds")
    LogLine.objects.create(run=runs[0], at=clock.now(), stream="stdout", text="line two")
    page.clock.run_for(11_000)
    expect(page.locator("[data-run-log]")).to_contain_text("line two")
    page.clock.run_for(11_000)
    page.wait_for_timeout(200)
    assert page.locator("[data-run-log]").inner_text().count("line two") == 1
    lifecycle.finish(handle, RunState.FAILED, "no space left")
    page.clock.run_for(11_000)
    expect(page.get_by_text("no space left").first).to_be_visible()
    assert len([url for url in asked if "once=1" not in url]) == 1
    complaints.clear()  # of the refusal


def test_home_worker_and_luns_follow_what_runs(page: Page, runs: list[Run]) -> None:
    for run, address in zip(runs, ("/", "/luns/", "/workers/", "/workers/lab1/"), strict=True):
        handle = start(run)
        page.goto(address)
        used = page.get_by_text(re.compile(rf"(in use by )?run {run.pk}$", re.I)).first
        expect(used).to_be_visible()
        lifecycle.finish(handle, RunState.FAILED, "no space left")
        ask(page)
        expect(page.get_by_text("busy")).to_have_count(0)
        expect(page.get_by_text("idle").first).to_be_visible()
        expect(page.get_by_text(f"in use by run {run.pk}")).to_have_count(0)


def test_a_study_says_when_there_is_more_to_show(page: Page, runs: list[Run]) -> None:
    page.goto("/studies/first-look/")
    expect(page.get_by_text("No scores yet.")).to_be_visible()
    expect(page.get_by_text("0 runs of this study running, 4 waiting")).to_be_visible()
    complete(runs[0])
    # It had nothing to read: it is there by itself.
    ask(page)
    expect(page.locator("#answer")).to_contain_text("Nothing to compare")
    page.evaluate("window.isTheSame = true")
    complete(runs[1], 2000.0)
    for run in runs[2:]:
        lifecycle.cancel(run.pk, by="ann")
    ask(page)
    expect(page.get_by_text("1 run finished since you loaded this page")).to_be_visible()
    assert page.locator("[data-live-every]").count() == 0
    assert page.evaluate("window.isTheSame")
    page.get_by_role("link", name="Show all results").click()
    expect(page.get_by_text("since you loaded this page")).to_have_count(0)
    expect(page.locator("#answer")).to_contain_text("xfs")
