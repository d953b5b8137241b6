"""The menu of five: without a script, by keyboard, at the width of a telephone."""

from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from fsbench_web.accounts.navigation import ENTRIES, HELP


def test_everything_of_the_menu_is_reached_on_a_telephone_without_a_script(
    browser: Browser, site: str
) -> None:
    context = browser.new_context(
        base_url=site, viewport={"width": 390, "height": 844}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/glossary/")
    bar = page.get_by_role("navigation", name="Main")
    menus = [(bar, entry.label, entry.places) for entry in ENTRIES]
    for place, name, links in [*menus, (page.locator(".site-user"), "Help", HELP)]:
        if len(links) > 1:
            summary = place.locator("summary", has_text=name)
            expect(summary).to_be_in_viewport(ratio=1)
            summary.click()
        for link in links:
            expect(place.get_by_role("link", name=link.label, exact=True)).to_be_in_viewport(
                ratio=1
            )
        # One is open at a time: nothing lies over the next.
        expect(page.locator("details.menu[open]")).to_have_count(min(1, len(links) - 1))
        if len(links) > 1:
            summary.click()
    context.close()


def test_the_head_is_two_lines_on_a_telephone_for_a_visitor_too(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/glossary/")
    brand, account = (page.locator(name).bounding_box() for name in (".brand", ".site-user"))
    assert brand is not None
    assert account is not None
    assert account["y"] < brand["y"] + brand["height"]


def test_a_menu_closes_with_escape_and_where_somebody_goes_on(page: Page) -> None:
    page.goto("/glossary/")
    summary = page.locator(".site-nav summary", has_text="Lab")
    workers = page.get_by_role("link", name="Workers", exact=True)
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(workers).to_be_focused()
    page.keyboard.press("Escape")
    expect(workers).to_be_hidden()
    expect(summary).to_be_focused()
    summary.click()
    expect(workers).to_be_visible()
    page.get_by_role("heading", level=1).click()
    expect(workers).to_be_hidden()
    summary.click()
    workers.click()
    expect(page.locator(".site-nav .is-here")).to_have_text("Lab")


def test_a_field_that_is_asked_for_is_seen_with_its_label(page: Page, site: str, sign_in) -> None:
    sign_in(page, User.objects.create_user("ada"))
    page.set_viewport_size({"width": 1440, "height": 600})
    page.goto("/profiles/new/")
    page.mouse.wheel(0, 3000)
    page.get_by_role("button", name="Save").click()
    label = page.get_by_text("Title", exact=True)
    expect(page.get_by_label("Title", exact=True)).to_be_focused()
    top = label.evaluate("one => one.getBoundingClientRect().top")
    head = page.locator(".site-head").evaluate("one => one.getBoundingClientRect().bottom")
    assert top >= head
