"""The compare page in a browser: what only works with JavaScript, and that it needs no more."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.compare.conftest import make_run, make_score
from tests.services.pages import at_rest


@pytest.fixture
def scores(site):
    for category in ("maximum", "minimum"):
        make_score("ext4_wb", 100, category=category)
        make_score("xfs", 200, category=category)
    make_score("xfs", 300, test="read")


def test_a_change_of_the_form_changes_tables_and_address(page, scores):
    page.goto("/compare/?test=write")
    expect(page.get_by_role("status").filter(has_text="table")).to_contain_text("1 table")
    page.get_by_label("Configurations, each on its own").check()
    expect(page.get_by_role("rowheader", name="ext4_wb").first).to_be_visible()
    page.get_by_role("checkbox", name="Read", exact=True).check()
    expect(page.get_by_role("status").filter(has_text="table")).to_contain_text("2 tables")
    for part in ("by=configuration", "test=read", "test=write"):
        expect(page).to_have_url(re.compile(rf"[?&]{part}(&|$)"))
    page.reload()
    expect(page.get_by_role("status").filter(has_text="table")).to_contain_text("2 tables")
    page.go_back()
    expect(page.get_by_role("status").filter(has_text="table")).to_contain_text("1 table")


def test_charts_are_drawn_when_they_come_into_view(page, scores):
    page.goto("/compare/?test=write")
    page.locator("table.deltas").first.scroll_into_view_if_needed()
    expect(page.locator("figure[data-drawn=yes]")).to_have_count(1)
    page.get_by_label("Category", exact=True).select_option("Minimum")
    expect(page.locator("figure .gtitle")).to_have_text("Write: minimum")


def test_a_shared_address_shows_the_same_numbers_to_others(page, scores, sign_in, jo, browser):
    sign_in(page, jo)
    page.goto("/compare/?test=read")
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Permalink").click()
    page.wait_for_url(re.compile(r"/p/[\w-]+/$"))
    address = page.get_by_label("Address to share").input_value()
    expect(page).to_have_url(address)
    make_run(make_score("xfs", 999, test="read").series)
    context = browser.new_context()
    colleague = context.new_page()
    colleague.set_default_timeout(60_000)  # a limit, not a wait: machines are busy
    colleague.goto(address)
    expect(colleague.get_by_role("cell", name="300", exact=True)).to_be_visible()
    expect(colleague.get_by_text("There are newer results.")).to_be_visible()
    colleague.get_by_role("link", name="Continue from here", exact=True).click()
    expect(colleague.get_by_role("cell", name="999", exact=True)).to_be_visible()
    context.close()


def test_the_form_works_without_javascript(browser: Browser, site: str, scores):
    context = browser.new_context(base_url=site, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(60_000)  # a limit, not a wait: machines are busy
    page.goto("/compare/?papers=yes")
    page.get_by_role("checkbox", name="Read", exact=True).check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(r"[?&]test=read(&|$)"))
    expect(page.get_by_role("status").filter(has_text="table")).to_contain_text("1 table.")
    context.close()


@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_is_no_wider_than_the_screen(page, scores, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/compare/?papers=yes")
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
