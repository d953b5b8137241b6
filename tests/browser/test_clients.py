"""A job of several clients, ordered in a real browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Run
from tests.services.pages import look
from tests.studies.jobs.test_client_jobs import mounted


@pytest.fixture
def nas() -> Lun:
    """A mount of lab1 whose export lab2 has mounted as well; both are on one machine."""
    for name in ("lab2", "lab1"):
        lun = mounted(name)
        lun.worker.capabilities = lun.worker.capabilities | {"host_mark": "one"}
        lun.worker.save()
    return lun


def test_two_clients_are_ordered_by_form(page: Page, sign_in, nas: Lun) -> None:
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    page.goto(f"/runs/new/?lun={nas.pk}&fs=nfs.1")
    page.locator("#form-advanced > summary").click()
    page.locator("#form-clients > summary").click()
    page.get_by_role("checkbox", name="lab2").check()
    page.get_by_label("Title of the new study").fill("Two clients")
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_text("lab1 leads, and lab2 runs")).to_be_visible()
    expect(page.get_by_text("lab1, lab2 are workers of one machine")).to_be_visible()
    look(page, "dark", 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    confirmation = page.get_by_label("Type the name of the LUN")
    confirmation.fill("nas")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("queued").first).to_be_visible()
    assert {run.series.runs_on.words for run in Run.objects.all()} == {"2 clients (with lab2)"}


def test_the_longest_name_of_a_client_widens_no_page(page: Page, sign_in, nas: Lun) -> None:
    mounted("n" * 90)
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    page.goto(f"/runs/new/?lun={nas.pk}&fs=nfs.1&clients={'n' * 90}&clients={'x' * 300}")
    expect(page.locator("#form-clients > summary")).to_contain_text("n" * 90)
    look(page, "light", 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
