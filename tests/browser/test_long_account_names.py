"""Accounts are called as the sign-in service calls people: mostly by their e-mail address."""

import pytest
from playwright.sync_api import Page, expect

from fsbench_web.accounts.models import Role
from tests.accounts.people import person

NAME = "maximiliane.featherstonehaugh@storage.engineering.example.com"


@pytest.mark.parametrize("width", [1440, 390])
def test_a_long_name_pushes_nothing_out_of_the_head(page: Page, site: str, sign_in, width: int):
    sign_in(page, person(Role.ADMINISTRATOR, NAME))
    page.set_viewport_size({"width": width, "height": 900})
    for address in ("/", "/people/", "/account/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0, address
        assert page.locator(".site-head").evaluate("head => head.scrollWidth - innerWidth") <= 0
    expect(page.locator("main")).to_contain_text(NAME)
    menu = page.locator(".site-user summary")
    menu.click()
    expect(page.get_by_role("link", name="Administration")).to_be_in_viewport()
    expect(page.get_by_role("link", name="My watches").first).to_be_visible()
