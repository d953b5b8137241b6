"""Folds of further percentiles in a browser: links open them, the filter finds in them."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from playwright.sync_api import Page, expect

from fsbench_web.compare.permalinks.records import pin
from fsbench_web.compare.selection.spec import ComparisonSpec
from tests.browser.test_accessibility import LOOKS, violations
from tests.compare.conftest import make_score
from tests.compare.selection.test_folds import TESTS
from tests.services.pages import look

INSIDE = "#test-randread-clat-p99-9"


@pytest.fixture
def fio(site):
    for number, test in enumerate(TESTS):
        unit = "ns" if "clat" in test else "KB/s"
        for name, value in (("ext4", 1000.0), ("xfs", 2000.0)):
            make_score(name, value + number, test=test, unit=unit, category="mean")


@pytest.mark.parametrize("address", ["/compare/?study=lab&tab=tests", "/studies/lab/?tab=tests"])
def test_a_link_to_a_folded_section_opens_its_fold(page: Page, fio, address):
    page.goto(address)
    expect(page.locator(INSIDE)).to_be_hidden()
    page.goto(address + INSIDE)
    expect(page.locator(INSIDE)).to_be_in_viewport()
    folds = page.locator("details.fold", has=page.locator(INSIDE))
    folds.first.locator("> summary").click()
    expect(page.locator(INSIDE)).to_be_hidden()
    follow = "to => { const link = document.body.appendChild(document.createElement('a'));"
    page.evaluate(f"{follow} link.href = to; link.click(); }}", INSIDE)
    expect(page.locator(INSIDE)).to_be_in_viewport()


@pytest.mark.parametrize("address", ["/compare/?study=lab&tab=tests", "/studies/lab/?tab=tests"])
def test_the_filter_of_tests_finds_in_folds(page: Page, fio, address):
    page.goto(address)
    field = page.get_by_label("Show only tests with")
    row = page.locator("details.test", has=page.locator(INSIDE))
    fold = page.locator("details.fold:not(.test)", has=page.locator(INSIDE))
    expect(row).to_be_hidden()
    field.fill("p99.9")
    expect(row).to_be_visible()
    expect(page.locator("[data-narrowed]")).to_have_text(re.compile(r"^2 of \d+ tests shown$"))
    field.fill("bw")
    expect(fold).to_be_hidden()
    field.fill("")
    expect(fold).to_be_visible()
    expect(row).to_be_hidden()


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize(
    "address", ["/compare/?study=lab", "/studies/lab/", "/studies/lab/report/"]
)
def test_axe_finds_nothing_serious(page: Page, fio, address, is_open):
    page.goto(address)
    for scheme, width in LOOKS:
        page.evaluate(
            "open => document.querySelectorAll('details').forEach(one => { one.open = open; })",
            is_open,
        )
        look(page, scheme, width)
        assert violations(page) == []


def test_on_paper_nothing_is_folded(page: Page, fio):
    page.goto("/studies/lab/report/")
    closed = page.locator("details.fold:not([open])")
    folds = closed.count()
    assert folds > len(TESTS)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(closed).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(closed).to_have_count(folds)


@pytest.mark.parametrize("address", ["/studies/unisys-2005/report/", "permalink"])
def test_a_report_and_a_permalink_have_at_most_four_screens(page: Page, site, jo: User, address):
    call_command("load_published", verbosity=0)
    if address == "permalink":
        address = f"/p/{pin(ComparisonSpec(studies=('unisys-2005',)), jo).key}/"
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 900


def test_each_column_of_a_report_fits_on_paper(page: Page, site):
    call_command("load_published", verbosity=0)
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    page.goto("/studies/unisys-2005/report/")
    page.emulate_media(media="print")
    tables = page.locator(".report table:visible")
    assert tables.count() > 2
    assert max(box["x"] + box["width"] for one in tables.all() if (box := one.bounding_box())) < 720


def test_on_paper_an_embedded_view_folds_nothing_without_a_script(page: Page, fio):
    key = pin(ComparisonSpec(studies=("lab",)), User.objects.create_user("jo")).key
    page.goto(f"/p/{key}/embed/")
    expect(page.locator(INSIDE)).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(INSIDE)).to_be_visible()
    page.emulate_media(media="screen")
    expect(page.locator(INSIDE)).to_be_hidden()
