"""The compare page has the shape of a study: answer, tabs, rows whose tables are fetched."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from fsbench_web.compare.permalinks.records import pin
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.studies.models import Study
from tests.compare.conftest import make_run, make_score, make_scores, make_series
from tests.services.pages import at_rest, complaint_about

TABLE = 'class="table is-dense deltas'
PART = {"HX-Request": "true"}
TESTS = 25


@pytest.fixture
def many(db: None) -> None:
    """More rows than stand in the page: of 25 tests of three file systems."""
    for number, name in enumerate(("ext4", "xfs", "btrfs"), 1):
        tests = {f"50/50 mix {test}?": 100.0 + test * number for test in range(TESTS)}
        make_scores(make_series(name), tests, category="mean")


def test_it_answers_first_and_has_tabs(client: Client, many: None) -> None:
    page = client.get("/compare/?study=lab&by=configuration").content.decode()
    answer = page[page.index('id="answer"') :]
    assert "No clear winner" in answer
    places = [
        answer.index(mark) for mark in ('class="who"', '<svg class="answer-chart"', 'class="tabs"')
    ]
    assert [*places, answer.index('id="findings"')] == sorted(
        [*places, answer.index('id="findings"')]
    )
    assert 'aria-current="page">Summary</a>' in answer
    for tab in ("tests", "charts", "setup"):
        assert f'href="/compare/?tab={tab}&amp;study=lab&amp;by=configuration"' in answer
        response = client.get(f"/compare/?study=lab&tab={tab}")
        assert f'<input type="hidden" name="tab" value="{tab}">' in response.content.decode()
        assert response["HX-Push-Url"] == f"/compare/?tab={tab}&study=lab"
    nonsense = client.get("/compare/?study=lab&tab=moon")
    assert nonsense.status_code == 200
    assert nonsense["HX-Push-Url"] == "/compare/?study=lab"
    # Another baseline is another address of the same comparison.
    other = client.get("/compare/?study=lab&baseline=xfs").content.decode()
    assert "Speed relative to xfs" in re.sub(r"<[^>]+>|\s+", " ", other)


def test_tests_of_which_the_view_shows_nothing_are_hidden(client: Client, many: None) -> None:
    """The three of the first test are alike, those of the others further apart than a percent."""

    def hidden(view: str) -> int:
        page = client.get(f"/compare/?study=lab{view}").content.decode()
        rows = re.findall(r'<details class="fold test"([^>]*)>', page)
        assert len(rows) == TESTS
        return sum(" hidden data-left-out" in row for row in rows)

    assert hidden("") == 0
    assert hidden("&least=1") == 1
    assert hidden("&least=99.9") == TESTS
    assert hidden("&important=1") == TESTS  # nothing was repeated


def test_rows_have_addresses_that_are_pages_too(client: Client, many: None) -> None:
    page = client.get("/compare/?study=lab&column=runs&sort=contender").content.decode()
    assert TABLE not in page
    rows = re.findall(r'data-fetch><a href="([^"]+)"', page)
    assert len(rows) == TESTS
    address = rows[7].replace("&amp;", "&")
    assert address.startswith("/compare/tests/?study=lab&sort=contender&column=runs&of=50%2F50")
    alone = client.get(address).content.decode()
    assert "<h1>50/50 mix 7?</h1>" in alone
    assert alone.count(TABLE) == 1
    assert 'href="/compare/?tab=tests&amp;study=lab&amp;sort=contender&amp;column=runs"' in alone
    part = client.get(address, headers=PART).content.decode()
    assert "<html" not in part
    assert part.count(TABLE) == 1
    assert 'hx-get="/compare/charts/50%2F50%20mix%207%3F/?study=lab&amp;sort=contender"' in part
    assert client.get("/compare/tests/?study=lab").content.decode().count(TABLE) == TESTS


def test_a_large_table_in_the_fold_of_the_summary_is_fetched_when_it_is_opened(
    client: Client, db: None
) -> None:
    for number in range(61):
        make_score(f"ext4_{number}", 100.0 + number)
    query = "study=lab&by=configuration"
    page = client.get(f"/compare/?{query}").content.decode()
    assert TABLE not in page
    rows = re.findall(r'data-fetch><a href="([^"]+)"', page)
    assert len(rows) == 1
    part = client.get(rows[0].replace("&amp;", "&"), headers=PART).content.decode()
    tab = client.get(f"/compare/?{query}&tab=tests").content.decode()
    of_part, of_tab = (
        re.findall(rf"<table {TABLE}.*?</table>", html, re.S) for html in (part, tab)
    )
    assert len(of_part) == 1
    assert of_part == of_tab
    assert of_part[0].count("<tr") == 62


def test_verdicts_of_a_row_are_those_of_the_whole(client: Client, db: None) -> None:
    for test in ("write", "read"):
        for name, base in (("ext4", 100.0), ("xfs", 200.0), ("btrfs", 201.0)):
            score = make_score(name, base, test=test, category="mean", repeats=5)
            score.repeat_scores = [[str(at), base + at] for at in range(5)]
            score.save()
    whole = client.get("/compare/?study=lab&tab=tests").content.decode()
    part = client.get("/compare/tests/?study=lab&of=read", headers=PART).content.decode()
    table = re.search(rf"<table {TABLE}.*?</table>", part, re.S)
    assert table is not None
    assert table[0] in whole


def test_tables_of_elapsed_and_cpu_time_are_in_one_row(client: Client, db: None) -> None:
    for name, seconds in (("ext4", 9.0), ("xfs", 8.0)):
        make_score(name, seconds, test="untar_real", unit="s", category="mean")
        make_score(name, seconds / 2, test="untar_cpu", unit="s", category="mean")
    page = client.get("/compare/?study=lab&tab=tests").content.decode()
    row = re.search(r'data-slugs="untar-real untar-cpu".*?</summary>', page, re.S)
    assert row is not None
    cells = re.findall(r"<span>([^<]*)</span>", row[0])
    assert cells[1:6] == ["xfs", "8 s", "9 s", "4 s", "4.50 s"]
    part = client.get("/compare/tests/?study=lab&of=untar_real&of=untar_cpu", headers=PART)
    assert part.content.decode().count(TABLE) == 2


@pytest.mark.parametrize(
    ("query", "status"),
    [("study=lab&of=nix", 400), ("study=lab&of=read", 404), ("study=nix", 400), ("of=%00", 400)],
)
def test_what_is_not_there_is_said(client: Client, many: None, query: str, status: int) -> None:
    answer = client.get(f"/compare/tests/?{query}")
    assert answer.status_code == status
    assert "comparison" in answer.content.decode().lower()


def test_rows_show_what_the_page_may_show(client: Client, many: None) -> None:
    Study.objects.filter(slug="lab").update(visibility="private")
    for address in ("/compare/?study=lab", "/compare/tests/?study=lab&of=50/50 mix 1?"):
        answer = client.get(address)
        assert answer.status_code == 400
        assert "ext4" not in answer.content.decode().partition('role="alert"')[2][:500]


def test_the_tab_of_latencies_is_headed_so(client: Client, db: None) -> None:
    for test in ("randread_clat_p99", "randread_iops"):
        unit = "us" if "clat" in test else "IOPS"
        make_score("ext4", 10.0, test=test, unit=unit, category="mean")
    for address in ("/compare/?study=lab&tab=latency", "/studies/lab/?tab=latency"):
        assert '<h2 id="tests-title">Latency</h2>' in client.get(address).content.decode()
    tests = client.get("/compare/?study=lab&tab=tests").content.decode()
    assert '<h2 id="tests-title">Tests</h2>' in tests


def test_the_categories_of_a_matrix_are_a_switch_as_on_the_page_of_a_study(
    client: Client, db: None
) -> None:
    for category in ("maximum", "minimum", "total_average"):
        for name, value in (("ext4", 100.0), ("xfs", 200.0)):
            make_score(name, value, category=category)
    off = client.get("/compare/?study=lab").content.decode()
    assert off.count(TABLE) == 1
    assert 'aria-checked="false" href="/compare/?categories=unisys&amp;study=lab"' in off
    assert "<strong>1 table" in off
    on = client.get("/compare/?study=lab&tab=tests&categories=on&sort=best")
    page = on.content.decode()
    assert page.count(TABLE) == 3
    switched = "/compare/?tab=tests&amp;categories=off&amp;study=lab&amp;sort=best"
    assert f'aria-checked="true" href="{switched}"' in page
    # It goes with one to tabs, tables and through the form; the exports have all of them.
    assert on["HX-Push-Url"] == "/compare/?tab=tests&categories=unisys&study=lab&sort=best"
    assert 'href="/compare/?tab=charts&amp;categories=unisys&amp;study=lab&amp;sort=best"' in page
    assert '<input type="hidden" name="categories" value="unisys">' in page
    assert 'href="/compare/tests/?categories=unisys&amp;study=lab&amp;sort=best&amp;"' in page
    for query, tables in (("", 1), ("categories=off&", 1), ("categories=on&", 3)):
        alone = client.get(f"/compare/tests/?{query}study=lab&of=write").content.decode()
        assert alone.count(TABLE) == tables
    assert client.get("/compare/deltas.csv?study=lab").content.count(b"\nwrite,") == 6
    single = client.get("/compare/?study=lab&test=nothing").content.decode()
    assert "is-switch" not in single


def test_runs_of_each_contender_are_a_tab(client: Client, db: None) -> None:
    run = make_run(make_score("ext4").series)
    make_score("xfs")
    page = client.get("/compare/?study=lab&tab=runs").content.decode()
    assert f'<a href="/runs/{run.pk}/">1</a>' in page[page.index('id="runs"') :]
    assert "tab=runs" not in client.get("/compare/?study=lab&test=nix").content.decode()


def test_permalinks_hold_their_tables(client: Client, many: None) -> None:
    """They are snapshots: nothing of them is fetched from what there is now."""
    key = pin(ComparisonSpec(studies=("lab",)), User.objects.create_user("jo")).key
    page = client.get(f"/p/{key}/").content.decode()
    assert page.count(TABLE) == TESTS
    assert "data-fetch" not in page


def test_rows_of_a_comparison_open(page: Page, site: str, many: None) -> None:
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.partition("/compare/")[2]))
    page.goto("/compare/?study=lab&tab=tests")
    at_rest(page)
    assert not any("tests/" in address or "charts/" in address for address in fetched)
    row = page.locator("details.test").nth(3)
    row.locator("summary").first.click()
    expect(row.locator("table.deltas")).to_be_visible()
    expect(row.locator("figure[data-drawn=yes]")).to_be_visible()
    assert sum("tests/" in address for address in fetched) == 1
    # Sorting and columns are of what is fetched later too.
    row.get_by_role("button", name="Entry").click()
    expect(page).to_have_url(re.compile("sort=contender"))
    page.locator("details.test").nth(5).locator("summary").first.click()
    heads = page.locator("details.test").nth(5).locator("tbody th")
    expect(heads).to_have_text([re.compile(name) for name in ("btrfs", "ext4", "xfs")])
    page.get_by_text("Rows, columns, digits").click()
    page.get_by_label("Pin Score").check()
    expect(row.locator("th.pin")).to_have_count(1)  # what was open stays open
    page.get_by_label("Differences from, in %").fill("40")
    page.get_by_label("Differences from, in %").blur()
    expect(page).to_have_url(re.compile("least=40"))
    expect(page.get_by_text("rows are not shown")).to_be_visible()
    expect(row.locator("table.deltas")).to_be_hidden()
    page.goto("/compare/?study=lab#test-50-50-mix-24")
    expect(page.locator("[id='test-50-50-mix-24']")).to_be_in_viewport()


def test_links_to_tests_arrive_from_every_tab(page: Page, site: str, many: None) -> None:
    """A name that cannot be read (``complaints``) leads nowhere, in every script that asks."""
    for tab, ending in (("charts", "#test-50-50-mix-7"), ("setup", "#50-50-mix-7-mean")):
        page.goto("about:blank")
        page.goto(f"/compare/?study=lab&tab={tab}{ending}")
        expect(page).to_have_url(re.compile(rf"\?tab=tests&study=lab{ending}$"))
        expect(page.locator(f"[id='{ending[1:]}']")).to_be_in_viewport()
    for address in ("/compare/?study=lab&tab=tests", "/studies/lab/"):
        page.goto(f"{address}#%E0%A4%A")
        at_rest(page)
        page.evaluate("location.hash = '#%'")
        at_rest(page)
        expect(page.get_by_role("region", name="Answer")).to_be_visible()


def test_what_cannot_be_fetched_is_said_and_tried_again(
    page: Page, complaints: list[str], site: str, many: None
) -> None:
    page.goto("/compare/?study=lab&tab=tests")
    page.route("**/compare/tests/**", lambda route: route.fulfill(status=503))
    row = page.locator("details.test").first
    with complaint_about(page, complaints, "503"):
        row.locator("summary").first.click()
        expect(row.get_by_role("alert")).to_contain_text("The server answered 503")
    page.unroute("**/compare/tests/**")
    row.get_by_role("button", name="Try again").click()
    expect(row.locator("table.deltas")).to_be_visible()
