"""Sorting, sticky headings and the filter of tests, with mouse and keyboard, wide and narrow."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.compare.conftest import make_run, make_score, printed
from tests.services.pages import at_rest


@pytest.fixture
def scores(site):
    for name, value, repeats in (("ext4", 80, 3), ("xfs", 100, 1), ("jfs", 90, 2)):
        make_score(name, value, repeats=repeats)
        make_score(name, 200 - value, test="read", repeats=repeats)


def rows_are(page: Page, *names: str, table: int = 0) -> None:
    """A table has rows of these contenders, in this order."""
    heads = page.locator("table.deltas").nth(table).locator("tbody th")
    expect(heads).to_have_text(
        [re.compile(rf"^\s*{name}\b") for name in names], use_inner_text=True
    )


def test_a_heading_sorts_all_tables_and_the_address_keeps_it(page, scores):
    page.goto("/compare/?papers=yes")
    rows_are(page, "ext4", "jfs", "xfs")
    heading = page.get_by_role("columnheader", name="Runs").first
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    rows_are(page, "ext4", "jfs", "xfs")
    rows_are(page, "ext4", "jfs", "xfs", table=1)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    rows_are(page, "xfs", "jfs", "ext4")
    rows_are(page, "xfs", "jfs", "ext4", table=1)
    expect(page).to_have_url(re.compile(r"[?&]sort=runs(&|$)"))
    page.reload()
    rows_are(page, "xfs", "jfs", "ext4")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_label("Order of rows")).to_have_value("runs")


def test_the_keyboard_sorts_too(page, scores):
    page.goto("/compare/?baseline=jfs")
    page.get_by_role("columnheader", name="Against jfs").first.get_by_role("button").focus()
    page.keyboard.press("Enter")
    rows_are(page, "xfs", "jfs", "ext4")
    rows_are(page, "ext4", "jfs", "xfs", table=1)
    page.get_by_role("columnheader", name="Entry").first.get_by_role("button").focus()
    page.keyboard.press("Space")
    rows_are(page, "ext4", "jfs", "xfs")
    expect(page.locator("th[aria-sort]")).to_have_count(2)  # one in each table


def test_the_order_of_the_form_and_of_the_headings_is_one(page, scores):
    page.goto("/compare/?papers=yes")
    page.get_by_role("columnheader", name="Against the best").first.get_by_role("button").click()
    rows_are(page, "xfs", "jfs", "ext4")
    expect(page.get_by_label("Order of rows")).to_have_value("best")
    page.get_by_label("Order of rows").select_option("")
    expect(page.locator("table.deltas").first.locator("tbody tr").first).to_contain_text("ext4")
    page.wait_for_url("**/compare/?papers=yes")


def test_a_baseline_is_chosen_from_the_contenders_that_are_there(page, scores):
    page.goto("/compare/?papers=yes")
    page.get_by_label("Baseline").select_option("xfs")
    expect(page.get_by_role("columnheader", name="Against xfs").first).to_be_visible()
    page.get_by_text("By another property").click()
    page.get_by_label("Kernels", exact=True).check()
    expect(page.get_by_text("No table has the baseline xfs.")).to_be_visible()
    page.get_by_label("Baseline").select_option("unknown")
    expect(page.get_by_text("No table has the baseline")).to_have_count(0)


def test_a_word_leaves_the_tests_that_have_it(page, scores):
    page.goto("/compare/?papers=yes")
    page.get_by_label("Show only tests with").fill("rea")
    expect(page.get_by_role("heading", name="Read", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Write", exact=True)).to_be_hidden()
    expect(page.get_by_text("1 of 2 tests shown")).to_be_visible()
    page.get_by_label("Show only tests with").fill("")
    expect(page.get_by_role("heading", name="Write", exact=True)).to_be_visible()


def test_all_words_count_in_any_order_and_of_nothing_one_comes_back(page, site):
    for test in ("randread_4k", "randread_64k", "randwrite_4k", "read_4k"):
        make_score("xfs", 100, test=test)
    page.goto("/compare/?study=lab&tab=tests")
    field, status = page.get_by_label("Show only tests with"), page.locator("[data-narrowed]")
    field.fill("4k  Randread")
    expect(status).to_have_text("1 of 4 tests shown")
    expect(page.locator("details.test:visible")).to_have_count(1)
    expect(page.locator("details.test:visible")).to_contain_text("Randread 4k")
    field.fill("randread nothing")
    expect(status).to_contain_text("No test has all of these words.")
    expect(page.locator(".test-line.is-head")).to_be_hidden()
    page.get_by_role("button", name="Show all 4").click()
    expect(page.locator("details.test:visible")).to_have_count(4)
    expect(field).to_be_focused()
    expect(status).to_be_empty()


@pytest.mark.parametrize("width", [390, 1440])
def test_headings_stay_in_sight_while_rows_scroll(page, site, width):
    for number in range(60):
        make_score(f"ext4_{number:02}", 100 + number)
    page.set_viewport_size({"width": width, "height": 700})
    page.goto("/compare/?by=configuration")
    wrap = page.locator(".table-wrap:has(.deltas)").first
    wrap.scroll_into_view_if_needed()
    wrap.evaluate("element => { element.scrollTop = 900; }")
    # Both at one moment: the page may still move under a chart that comes.
    scrolled, top = wrap.evaluate(
        """element => [
            element.scrollTop,
            element.querySelector("thead th").getBoundingClientRect().top
                - element.getBoundingClientRect().top,
        ]"""
    )
    assert scrolled == 900
    assert 0 <= top <= 2


@pytest.mark.parametrize("address", ["/compare/?study=lab&tab=tests", "/studies/lab/?tab=tests"])
def test_a_row_of_a_test_has_both_scores_on_a_telephone(page, site, address):
    for test in ("write", "untar_real", "untar_cpu"):
        unit = "KB/s" if test == "write" else "s"
        make_score("xfs", 2_488_116.46, test=test, unit=unit)
        make_score("reiser3_with_a_long_name", 479_018.26, test=test, unit=unit)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address)
    lines = page.locator("details.test .test-line")
    expect(lines).to_have_count(2)
    for line in lines.all():
        for place in (2, 3):
            cell = line.locator("> span").nth(place)
            expect(cell).to_be_visible()
            # All of it, and in its place: below the names, above the verdict.
            assert cell.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
        tops = line.locator("> span").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().top)"
        )
        assert tops[1] < tops[2] < tops[-2]
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("query", ["?papers=yes", "?baseline=xfs"])
def test_tables_with_printed_values_do_not_scroll_sideways_on_a_telephone(page, site, query):
    make_score("xfs", 2_488_116.46, published=printed(True, "0.00", "0.00"), repeats=2)
    make_score("reiser3", 479_018.26, published=printed(False, "20.00", "-1250.50"), repeats=2)
    make_score("ext2", 489_018.26, published=printed(False, "80.35", "-408.80"), repeats=2)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"/compare/{query}")
    expect(page.get_by_text("differs", exact=True).first).to_be_visible()
    at_rest(page)
    wide = page.locator(".table-wrap:has(.deltas)").evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.clientWidth).length"
    )
    assert wide == 0


def test_the_cells_come_when_they_are_asked_for(page, site):
    make_run(make_score("ext4", 80, cells=3, cells_expected=4).series)
    make_score("xfs", 90, cells=4, cells_expected=4)
    page.goto("/compare/?papers=yes")
    page.get_by_text("Which data points were compared").click()
    expect(page.get_by_text("Missing here, present in another entry")).to_be_visible()


def test_rows_are_hidden_at_once_and_are_there_on_paper(page, site):
    for name, value in (("ext4", 80.0), ("jfs", 99.5), ("xfs", 100.0)):
        score = make_score(name, value * 1e6, repeats=5)
        score.repeat_scores = [[str(at), value * 1e6 + at] for at in range(5)]
        score.save()
    page.goto("/compare/?papers=yes")
    page.get_by_label("Only important").check()
    contenders = page.locator("table.deltas tbody tr:visible th")
    expect(contenders).to_have_text([re.compile("ext4"), re.compile("xfs")])
    expect(page).to_have_url(re.compile(r"important=1"))
    expect(page.get_by_text("1 of 3 rows is not shown")).to_be_visible()
    page.reload()  # the server hides the same
    expect(contenders).to_have_count(2)
    page.emulate_media(media="print")
    expect(contenders).to_have_count(3)
    expect(page.locator(".table-tools")).to_be_hidden()


def test_the_server_counts_what_is_chosen_of_a_filter(page, scores):
    page.goto("/compare/?papers=yes")
    count = page.locator("#count-test")
    expect(count).to_have_text("all 2")
    box = page.locator("#filters input[name=test][value=write]")
    box.evaluate("box => { box.closest('details').open = true; }")
    box.check()
    expect(count).to_have_text("1 of 2")
    box.uncheck()
    expect(count).to_have_text("all 2")
