"""Swagger UI from its package, inside our page: every call, on a telephone, no other host."""

from playwright.sync_api import Page, expect

from tests.api.results.test_contract import CALLS
from tests.services.pages import look


def test_it_lists_every_call_from_this_server_alone(page: Page, site: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/api/v1/docs")
    expect(page.locator(".opblock")).to_have_count(len(CALLS))
    assert asked
    assert all(address.startswith((site, "data:", "blob:")) for address in asked)


def test_it_fits_a_telephone_and_the_dark(page: Page, site: str) -> None:
    look(page, "dark", 390)
    page.goto("/api/v1/docs")
    call = page.locator(".opblock", has_text="/api/v1/comparison")
    expect(call).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") < 20_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("html")).to_have_class("dark-mode")
    page.locator("[data-theme-switch]").click()
    expect(page.locator("html")).not_to_have_class("dark-mode")


def test_an_address_of_a_call_opens_it_and_the_keyboard_closes_it(page: Page, site: str) -> None:
    page.goto("/api/v1/docs#/deltas/deltas")
    call = page.locator("#operations-deltas-deltas")
    expect(call.get_by_text("from_row")).to_be_visible()
    call.locator(".opblock-summary-control").press("Enter")
    expect(call.locator(".opblock-body")).to_have_count(0)
