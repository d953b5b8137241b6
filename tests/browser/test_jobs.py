"""A job from a document in a real browser: reviewed, confirmed, steered, followed."""

import re
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Page, expect

from fsbench_web.studies.models import Job, RunState
from fsbench_web.studies.runs import lifecycle
from tests.browser.test_new_job import watcher as watcher
from tests.services.pages import complaint_about
from tests.studies.conftest import start
from tests.studies.jobs.test_job_pages import DOCUMENT


def test_a_document_becomes_a_job_that_is_steered(watcher: Page) -> None:
    page = watcher
    page.goto("/runs/new/")
    page.get_by_role("link", name="Submit from a job file").click()
    page.get_by_label("Job file", exact=True).fill(DOCUMENT)
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="16 runs on disk1")).to_be_visible()
    erase = page.get_by_role("button", name="Erase disk1 and run")
    expect(erase).to_be_disabled()
    page.get_by_label("Type the name of the LUN").fill("disk1")
    erase.click()
    page.wait_for_url("**/jobs/*/")
    expect(page.get_by_text("16 runs are queued.")).to_be_visible()
    job = Job.objects.get()

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused since")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    # The next page, not the one of before, which says how many wait, too.
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_text("0 running, 16 waiting")).to_be_visible()
    page.get_by_label("Priority").fill("7")
    page.get_by_role("button", name="Set priority").click()
    expect(page.get_by_text(f"The priority of job {job.pk} is 7.")).to_be_visible()

    # The page follows by itself.
    handle = start(job.runs.order_by("id")[0])
    expect(page.get_by_text("1 running, 15 waiting")).to_be_visible()
    lifecycle.finish(handle, RunState.FAILED, "no space left")
    expect(page.get_by_text("1 of 16: 0 done, 1 failed or lost")).to_be_visible()
    page.get_by_role("button", name=re.compile("Cancel all")).click()
    expect(page.get_by_text("15 waiting runs cancelled.")).to_be_visible()
    page.get_by_label("include the cancelled ones").uncheck()
    again = page.get_by_role("button", name="Erase and rerun")
    expect(again).to_be_disabled()
    page.get_by_label("to confirm").fill("disk1")
    again.click()
    expect(page.get_by_text("1 run submitted again.")).to_be_visible()
    assert job.runs.count() == 17


def test_only_chosen_workloads_are_sent(watcher: Page, complaints: list[str]) -> None:
    page = watcher
    page.goto("/runs/new/")
    page.get_by_role("radio", name=re.compile("disk1")).check()
    expect(page.locator("input[name=fs]:checked")).to_have_count(2)  # ext4 and XFS, as suggested
    page.locator("input[name=fs][value='ext4.1']").uncheck()
    page.locator("#form-advanced > summary").click()
    page.locator("input[name=workload][value=iozone-direct]").check()
    expect(page.locator("#parameters-iozone-direct")).to_be_visible()
    page.locator("input[name=workload][value=iozone-messages]").uncheck()
    expect(page.locator("#parameters-iozone-messages")).to_be_hidden()
    page.locator("#form-steered > summary").click()
    page.locator("#id-reference").select_option("xfs.1")
    page.get_by_label("Title of the new study").fill("Direct")
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="7 runs on disk1")).to_be_visible()
    query = parse_qsl(urlsplit(page.url).query)
    assert [value for name, value in query if name == "workload"] == ["iozone-direct"]
    assert not [name for name, _ in query if name.startswith("iozone-messages")]
    page.get_by_role("link", name="Change the job").click()
    page.locator("input[name=workload][value=iozone-direct]").uncheck()
    with complaint_about(page, complaints, "422"):
        page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_text("Choose at least one workload.").first).to_be_visible()
