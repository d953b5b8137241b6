"""Pictures in a browser: they lead to their runs, can be saved, and load no more than they need."""

import csv
import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.compare.pictures.test_pictures import at, finished, loaded
from tests.services.pages import at_rest

MOST_BYTES = 700_000
PATIENCE_MS = 120_000
RUN_INTO_EACH_OTHER = """() => {
    const all = document.querySelector("#picture .main-svg").getBoundingClientRect();
    const words = [...document.querySelectorAll("#picture text")]
        .map((one) => [one.getBoundingClientRect(), one.textContent])
        .filter(([box, text]) => box.width && text.trim());
    const cut = words.filter(([box]) => box.left < all.left - 1 || box.right > all.right + 1);
    const common = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
    const over = words.flatMap(([a, text], at) => words.slice(at + 1)
        .filter(([b]) => common(a, b, "left", "right") > 3 && common(a, b, "top", "bottom") > 4)
        .map(([, other]) => text + " × " + other));
    return [...cut.map(([, text]) => text), ...over];
}"""
STATIC = Path(__file__).parents[3] / "static"


@pytest.fixture
def lab(site: str) -> Any:
    values = [at(r, f, 100 + r + f / 10) for r in (4, 8, 16) for f in (64, 128, 256)]
    first = finished("ext4_wb", *values, loaded(9, "t=1"), loaded(30, "t=8"))
    finished("xfs", *(at(r, f, 50 + r + f / 10) for r in (4, 8, 16) for f in (64, 128, 256)))
    return first


def open_picture(page: Page, query: str) -> None:
    page.goto(f"/compare/pictures/?study=lab&{query}")
    expect(page.locator("figure[data-drawn=yes]")).to_have_count(1)
    at_rest(page)


def test_a_click_on_a_cell_leads_to_its_run(page: Page, lab: Any) -> None:
    open_picture(page, f"picture=matrix&of=write&a={lab.series_id}")
    box = page.locator("#picture .draglayer .nsewdrag").bounding_box()
    assert box is not None
    # The cell in the middle, of three by three.
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    expect(page.locator("#picture .hoverlayer")).to_contain_text("block 8 KB, file 128 KB")
    page.mouse.click(x, y)
    page.wait_for_url(f"**/runs/{lab.pk}/")


def test_a_picture_that_is_exchanged_before_it_is_drawn_is_left_alone(page: Page, lab: Any) -> None:
    """The page itself says in the end whether its console has errors (tests.services.browser)."""
    held: list[Route] = []
    page.route("**/vendor/plotly*.js", lambda route: held.append(route))
    with page.expect_request("**/vendor/plotly*.js"):
        page.goto(f"/compare/pictures/?study=lab&picture=matrix&of=write&a={lab.series_id}")
    page.evaluate("""() => {
        const figure = document.getElementById("picture");
        window.left = figure;
        document.getElementById(figure.dataset.figure).remove();
        figure.remove();
        const script = document.querySelector("script[src*='/vendor/plotly']");
        // Behind all that waits for the script by promises.
        window.settled = new Promise((done) => {
            script.addEventListener("load", () => setTimeout(done));
        });
    }""")
    held[0].continue_()
    outcome = page.evaluate("() => window.settled.then(() => window.left.dataset.drawn || 'left')")
    assert outcome == "left"


def test_the_keyboard_reaches_the_same_runs_in_the_table(page: Page, lab: Any) -> None:
    open_picture(page, f"picture=matrix&of=write&a={lab.series_id}")
    page.locator("#numbers summary").focus()
    page.keyboard.press("Enter")
    links = page.locator("#numbers tbody a")
    expect(links).to_have_count(9)
    expect(links.first).to_be_visible()
    links.first.focus()
    expect(links.first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{lab.pk}/")


def test_a_picture_is_saved_with_a_name_that_tells_what_it_is(page: Page, lab: Any) -> None:
    open_picture(page, f"picture=matrix&of=write&a={lab.series_id}")
    for name, head in (("PNG", b"\x89PNG\r\n"), ("SVG", b"<svg")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"{name} of this chart").click()
        assert saved.value.suggested_filename == f"fsbench-write-ext4_wb.{name.lower()}"
        content = saved.value.path().read_bytes()
        assert content.startswith(head)
        assert len(content) > 5_000


def test_the_table_the_csv_and_the_picture_have_the_same_numbers(page: Page, lab: Any) -> None:
    open_picture(page, f"picture=matrix&of=write&a={lab.series_id}")
    means = page.evaluate(
        "JSON.parse(document.getElementById('picture-data').textContent)[0].data[0].z.flat()"
    )
    page.locator("#numbers summary").click()
    numbers = page.locator("#numbers tbody tr td:nth-child(3)")
    expect(numbers.last).to_be_visible()
    cells = numbers.all_inner_texts()
    assert [float(text.replace(",", "")) for text in cells] == pytest.approx(means)
    with page.expect_download() as saved:
        page.locator("#numbers").get_by_role("link", name="CSV").click()
    with saved.value.path().open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["Mean, KB/s"]) for row in rows] == means


def test_another_choice_is_another_address(page: Page, lab: Any) -> None:
    open_picture(page, "picture=profile&of=write")
    page.get_by_label("Block size").select_option("16 KB")
    expect(page.locator("#picture .gtitle")).to_have_text("Write at block 16 KB")
    expect(page).to_have_url(re.compile(r"[?&]record=16(&|$)"))
    page.reload()
    expect(page.locator("#picture .gtitle")).to_have_text("Write at block 16 KB")
    page.get_by_role("link", name="Load curves").click()
    expect(page.locator("#picture .gtitle")).to_have_text("Mail over t")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_picture_is_drawn_on_a_narrow_screen(
    browser: Browser, site: str, lab: Any, scheme: Any
) -> None:
    context = browser.new_context(
        base_url=site, viewport={"width": 390, "height": 800}, color_scheme=scheme
    )
    page = context.new_page()
    page.set_default_timeout(60_000)  # a limit, not a wait: machines are busy
    for kind in ("bars", "matrix", "ratio", "profile", "load", "repeats"):
        page.goto(f"/compare/pictures/?study=lab&picture={kind}")
        page.locator("#picture").scroll_into_view_if_needed()
        expect(page.locator("figure[data-drawn=yes]")).to_have_count(1)
        at_rest(page)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, kind
    context.close()


@pytest.mark.django_db
def test_words_below_an_axis_are_not_cut_off(page: Page, lab: Any) -> None:
    """On a narrow screen, and in a card of a wide one that has room for half of them."""
    for number in (98, 99):
        finished("ext4_noatime_data_writeback_ca1", at(4, 64, number))
        for label in ("ext4_noatime", "xfs"):
            finished(label, loaded(number, ""), study="single")
    page.set_viewport_size({"width": 390, "height": 800})
    open_picture(page, "picture=repeats&of=write")
    in_sight(page.locator("#picture"))
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/compare/?study=single&tab=charts")
    page.locator(".chart-waits").scroll_into_view_if_needed()
    chart = page.locator("figure[data-drawn=yes]")
    expect(chart.locator(".xtitle")).to_contain_text("bars: means of repeats")
    in_sight(chart)


def in_sight(figure: Locator) -> None:
    """The words below its axis lie within it."""
    picture = figure.locator(".main-svg").first.bounding_box()
    words = figure.locator(".xtitle").first.bounding_box()
    assert picture is not None
    assert words is not None
    assert words["x"] >= picture["x"]
    assert words["x"] + words["width"] <= picture["x"] + picture["width"]


@pytest.mark.django_db
def test_the_compare_page_is_light_on_a_cold_cache(client: Client) -> None:
    """The page, all it loads, and the charts of every test, as sent: gzip, as WhiteNoise has it."""
    call_command("load_published", verbosity=0)
    packed = {"Accept-Encoding": "gzip"}
    answer = client.get("/compare/?papers=yes", headers=packed)
    assert answer["Content-Encoding"] == "gzip"
    html = gzip.decompress(answer.content).decode()
    total = len(answer.content)
    files = set(re.findall(r'(?:src|href|data-plotly)="/?static/([^"]+)"', html))
    assert "vendor/plotly-cartesian-4.1.1.min.js" in files
    total += sum(len(gzip.compress((STATIC / name).read_bytes())) for name in files)
    for address in set(re.findall(r'hx-get="(/compare/charts/[^"]*)"', html)):
        total += len(client.get(address.replace("&amp;", "&"), headers=packed).content)
    assert total < MOST_BYTES


def test_a_bar_tells_its_words_and_the_axis_zooms(page: Page, lab: Any) -> None:
    open_picture(page, "of=write&in=maximum")
    bar = page.locator("#picture .barlayer .point").first.bounding_box()
    assert bar is not None
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    tip = page.locator("#picture .hoverlayer .hovertext")
    expect(tip).to_contain_text("KB/s")
    expect(tip).to_contain_text("n = 1")
    ends = "() => document.querySelector('#picture .plot-canvas').layout.xaxis.range[1]"
    before = page.evaluate(ends)
    page.locator("#picture [data-title='Zoom in']").click()
    page.wait_for_function(f"before => ({ends})() < before", arg=before)


def test_what_the_legend_puts_out_and_the_axis_are_in_the_address(page: Page, lab: Any) -> None:
    open_picture(page, "picture=profile&of=write&record=4")
    page.locator("#picture .legendtoggle").first.click()
    page.wait_for_url(re.compile(r"[?&]hide=ext4_wb(&|$)"))
    page.get_by_label("Axis of values").select_option("log")
    page.wait_for_url(re.compile(r"scale=log.*hide=ext4_wb"))
    expect(page.locator("#picture .ytitle")).to_contain_text("(log)")
    page.reload()
    expect(page.locator("#picture .traces[style*='opacity: 0.5']")).to_have_count(1)


@pytest.mark.django_db
def test_words_of_small_charts_do_not_run_into_each_other_on_a_narrow_screen(
    page: Page, lab: Any
) -> None:
    """Rates and latencies over queue depth, by the names that fio's output gives them."""
    test = "random_4k_read"
    of_depths = [
        replace(loaded(number * depth, f"iodepth={depth}"), test=f"{test}_{kind}", unit=unit)
        for depth in (1, 16)
        for kind, unit, number in (
            *(("bw", "KB/s", 4000), ("iops", "ops/s", 1000)),
            *(("clat_mean", "ns", 9e5), ("clat_max", "ns", 3e6)),
        )
    ]
    for label in ("ext4_wb", "xfs"):
        finished(label, *of_depths)
    page.set_viewport_size({"width": 390, "height": 800})
    for kind in ("queue", "multiples", "repeats"):
        open_picture(page, f"picture={kind}")
        assert page.evaluate(RUN_INTO_EACH_OTHER) == [], kind
    # Out of all panels at once, and kept in the address once.
    open_picture(page, "picture=queue")
    page.locator("#picture .legend .legendtoggle").first.click()
    expect(page).to_have_url(re.compile(r"picture=queue&hide=(ext4|xfs)$"))
