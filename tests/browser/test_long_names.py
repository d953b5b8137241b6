"""Names as long as people make them push nothing out of the page, and no number out of sight."""

import pytest
from playwright.sync_api import Page, Route, expect

from fsbench_web.catalog.models import Lun
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.studies.jobs.spec import ConfigurationSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, Study
from tests.importing import import_files
from tests.services.pages import at_rest
from tests.studies.conftest import complete

TITLE = (
    "Nightly regression of all journalled file systems on the new array, with firmware 7.31, with "
    "and without write barriers, before and after the move to the other building, November 2026"
)
OPTIONS = {
    "block_size": "4096",
    "inode_size": "512",
    "dir_index": "off",
    "journal_size_mb": "64",
    "journal_mode": "writeback",
    "atime": "noatime",
    "barrier": "off",
}


@pytest.fixture
def measured(site: str, spec, ann) -> list[Run]:
    """One finished run of a configuration with every option, and one of plain XFS."""
    configurations = (
        ConfigurationSpec("ext4", OPTIONS, "mq-deadline"),
        ConfigurationSpec("xfs", {}, "none"),
    )
    runs = submit(spec(configurations=configurations, repeats=1, new_study=TITLE), "disk1", ann)
    for number, run in enumerate(runs, start=1):
        complete(run, value=123_456_789.0 * number)
    return runs


@pytest.mark.parametrize("width", [1440, 390])
def test_no_page_is_wider_than_the_screen(page: Page, measured: list[Run], sign_in, ann, width):
    sign_in(page, ann)
    page.set_viewport_size({"width": width, "height": 900})
    study = measured[0].series.study.slug
    path = f"/dev/disk/by-id/{'x' * 200}"
    Lun.objects.filter(pk=measured[0].series.lun_id).update(device=path)
    again = f"/runs/new/review/?lun={measured[0].series.lun_id}&fs=ext4.1&scheduler=none&repeats=1"
    again += f"&study={study}" + "".join(f"&ext4.1.{key}={value}" for key, value in OPTIONS.items())
    for address in (
        *("/", "/studies/", "/runs/", f"/runs/{measured[0].pk}/", again, "/compare/?papers=yes"),
        *(f"/studies/{study}/", f"/studies/{study}/?by=configuration"),
        *("/luns/", f"/luns/{measured[0].series.lun_id}/", f"/jobs/{measured[0].job_id}/"),
        *(f"/studies/{study}/matrix/?test=write", f"/compare/?study={study}&by=configuration"),
    ):
        page.goto(address)
        page.mouse.wheel(0, 3000)
        at_rest(page)
        surplus = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert surplus <= 0, address


@pytest.mark.parametrize("width", [1440, 390])
def test_a_word_longer_than_its_line_is_broken(
    page: Page, measured: list[Run], sign_in, ann, width
):
    sign_in(page, ann)
    page.set_viewport_size({"width": width, "height": 900})
    study = measured[0].series.study
    word = "https://wiki.example/" + "storage" * 26
    Study.objects.filter(pk=study.pk).update(title=word[:200], summary=word)
    link = records.pin(ComparisonSpec(studies=(study.slug,)), ann, title=word[:200], note=word)
    permalink = f"/p/{link.key}/"
    for address in (
        *("/", "/studies/", f"/studies/{study.slug}/", f"/studies/{study.slug}/report/"),
        *(f"/compare/?study={study.slug}", f"/compare/order/?study={study.slug}", "/p/"),
        *(permalink, f"{permalink}embed/", f"/jobs/{measured[0].job_id}/"),
    ):
        page.goto(address)
        at_rest(page)
        surplus = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert surplus <= 0, address


def test_the_title_of_a_line_over_time_is_whole_on_a_telephone(page: Page, measured: list[Run]):
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"/history/?series={measured[0].series_id}&test=write")
    title = page.locator(".gtitle")
    expect(title).to_be_visible()
    label = str(measured[0].series.configuration)
    assert (title.text_content() or "").startswith(label)
    box = title.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390


def test_a_long_configuration_leaves_the_deltas_in_sight(page: Page, measured: list[Run]):
    for address in (
        f"/studies/{measured[0].series.study.slug}/tests/?categories=unisys",
        f"/compare/tests/?study={measured[0].series.study.slug}&by=configuration&categories=unisys",
    ):
        page.goto(address)
        expect(page.get_by_role("cell", name="1,481,481,468").first).to_be_visible()
        at_rest(page)
        hidden = page.locator(".table-wrap:has(.deltas)").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
        )
        assert hidden == 0, address


def test_the_mark_of_the_order_makes_no_delta_table_wider(page: Page, site: str, ann) -> None:
    rows = [
        f"{name},{name}_noatime,{repeat},{test},64,65536,{value + 997 * repeat},KiB/s"
        for test in ("write", "read")
        for name, value in (("btrfs", 90_000), ("ext4", 92_000), ("xfs", 99_000))
        for repeat in range(1, 5)
    ]
    head = "filesystem,configuration,repeat,test,record_size_kb,file_size_kb,value,unit"
    import_files([("t.csv", "\n".join([head, *rows]).encode())], study="Lab", user=None)
    link = records.pin(ComparisonSpec(studies=("lab",)), ann)
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"/p/{link.key}/")
    at_rest(page)
    tables = page.locator(".table-wrap:has(> .deltas)")
    assert tables.count() > 1
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    assert tables.evaluate_all(wide) == 0


def test_intervals_and_runs_of_a_trend_are_read_on_a_telephone(page: Page, site: str) -> None:
    rows = [
        f"ext4,ext4,{repeat},{test},{1234567.89 + 1000 * repeat},ops/s"
        for repeat in range(1, 6)
        for test in ("operations for each transaction", "mounting")
    ]
    text = "\n".join(["filesystem,configuration,repeat,test,value,unit", *rows])
    import_files([("t.csv", text.encode())], study="Lab", user=None)
    run = Run.objects.latest("pk")
    page.set_viewport_size({"width": 390, "height": 900})
    for address in (f"/runs/{run.pk}/", f"/history/?series={run.series_id}&along=date"):
        page.goto(address)
        at_rest(page)
        tables = page.locator(".table-wrap:has(> .is-fitted)")
        assert tables.count() == 1, address
        hidden = tables.evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
        )
        assert hidden == 0, address


def test_a_list_shows_two_lines_of_a_title_and_the_whole_of_it_on_demand(
    page: Page, measured: list[Run]
):
    page.goto("/runs/")
    link = page.get_by_role("link", name=TITLE).first
    expect(link).to_have_attribute("title", TITLE)
    line = link.evaluate("one => parseFloat(getComputedStyle(one).lineHeight)")
    box = link.bounding_box()
    assert box is not None
    assert box["height"] < 2.5 * line


def test_nothing_moves_when_a_chart_arrives(page: Page, measured: list[Run]):
    held: list = []
    is_held = True

    def hold(route: Route) -> None:
        if is_held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/charts/**", hold)
    page.goto(f"/compare/?study={measured[0].series.study.slug}&by=configuration&test=write")
    card = page.locator(".chart-waits").first
    expect(page.get_by_text("JavaScript loads the chart")).to_be_visible()
    card.scroll_into_view_if_needed()
    before = card.bounding_box()
    is_held = False  # the page may not have asked yet
    for route in held:
        route.continue_()
    expect(page.locator("figure[data-drawn=yes]")).to_have_count(1)
    at_rest(page)
    after = card.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["height"] - before["height"]) < 4


def test_tests_that_differ_in_their_load_are_told_apart_on_a_telephone(
    page: Page, site: str
) -> None:
    rows = [
        f"random_4k_read_clat_p99_99,{depth},{filesystem},{value},ms"
        for depth in (1, 8)
        for filesystem, value in (("ext4", 2), ("xfs", 3))
    ]
    text = "\n".join(["test,iodepth,filesystem,value,unit", *rows])
    import_files([("t.csv", text.encode())], study="Lab", user=None)
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto("/studies/lab/?tab=tests")
    at_rest(page)
    names = page.locator(".test-line:not(.is-head) > :first-child")
    assert len(set(names.all_inner_texts())) == 2
    cut = "all => all.filter(one => one.scrollHeight > one.clientHeight).length"
    assert names.evaluate_all(cut) == 0
