"""The line with its intervals as it is drawn, and a watch made with the keyboard and the mouse."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from tests.compare.history.test_history import measured
from tests.services.pages import at_rest


@pytest.fixture
def series(site):
    for kernel, values in (("6.1", (99, 100, 102)), ("6.2", (100,)), ("6.3", (101, 100, 99))):
        for value in values:
            run = measured(kernel, value)
    return run.series


def test_every_point_of_repeats_has_its_interval_and_a_single_run_has_none(page, series):
    page.goto(f"/history/?series={series.pk}&test=write")
    bars = page.locator(".plot-canvas .errorbar path.yerror")
    expect(page.locator("figure[data-drawn=yes]")).to_have_count(1)
    at_rest(page)
    expect(page.locator(".plot-canvas .scatterlayer .points path")).to_have_count(3)
    # A bar without a value is no path, or one that draws nothing: never one of no width.
    drawn = [bar.get_attribute("d") for bar in bars.all()]
    assert len([path for path in drawn if path and "NaN" not in path]) == 2
    widths = [bar.bounding_box()["width"] for bar in bars.all()]
    marker = page.locator(".plot-canvas .points path").first.bounding_box()["width"]
    assert all(width > 2 * marker for width in widths)


def test_a_line_is_watched_from_its_page_and_given_up(page, site, series):
    User.objects.create_user("ada", password="correct horse battery")
    page.goto(f"/account/sign-in/?next=/history/?series={series.pk}")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("correct horse battery")
    page.keyboard.press("Enter")
    page.get_by_text("Watch this line").first.click()
    page.get_by_label("Slower by at least").fill("15")
    page.get_by_role("button", name="Watch this line").click()
    expect(page.get_by_text("You watch this line now.")).to_be_visible()
    page.goto("/watches/")
    expect(page.get_by_text("from 15% on")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1 .badge")).to_have_text("paused")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("No watches yet.")).to_be_visible()
