"""The description of the API on a telephone: calls and objects are folds that links open."""

from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations
from tests.services.pages import look


def test_it_is_a_list_of_calls_and_not_a_hundred_screens(page: Page, site: str) -> None:
    page.goto("/api/v1/docs")
    look(page, "dark", 390)
    assert page.evaluate("document.documentElement.scrollHeight") < 20_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    call = page.locator("details.fold", has_text="GET /api/v1/comparison")
    expect(call.get_by_text("ComparisonOut")).to_be_hidden()
    call.locator("> summary").click()
    link = call.get_by_role("link", name="ComparisonOut")
    expect(page.locator("#model-ComparisonOut table")).to_be_hidden()
    link.click()
    expect(page.locator("#model-ComparisonOut table")).to_be_visible()
    expect(page.locator("#model-ComparisonOut")).to_be_in_viewport()
    # Once, at the end: what is open by now stands beside all that was there before.
    assert violations(page) == []


def test_an_address_of_a_call_opens_it(page: Page, site: str) -> None:
    page.goto("/api/v1/docs")
    anchor = page.locator("details.fold", has_text="POST /api/v1/sweeps/preview")
    name = anchor.get_attribute("id")
    page.goto(f"/api/v1/docs?#{name}")
    expect(page.locator(f"#{name}").get_by_text("Answers")).to_be_visible()
    expect(page.locator(f"#{name}")).to_be_in_viewport()
