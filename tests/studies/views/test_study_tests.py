"""Tables and charts of single tests, fetched when their row of a study is opened."""

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Page, expect

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.compare.views import shown
from fsbench_web.core.scoring.testnames import cpu_time_of
from fsbench_web.studies.models import Study
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_scores
from tests.services.pages import at_rest

TABLE = 'class="table is-dense deltas'
PART = {"HX-Request": "true"}


@pytest.fixture
def many(db: None) -> Study:
    """A study of 30 tests of three file systems: too many rows to stand in its page."""
    study = Study.objects.create(slug="many", title="Many")
    for number, filesystem in enumerate(("ext4", "xfs", "btrfs"), 1):
        series = series_for(study, configuration_for(filesystem, {}), kernel="6.1")
        tests = {f"50/50 mix {test}?": 100.0 + test * number for test in range(30)}
        make_scores(series, tests, category="mean")
    return study


def test_a_row_has_an_address_of_its_own(client: Client, many: Study) -> None:
    page = client.get("/studies/many/?tab=tests&by=configuration&sort=contender").content.decode()
    assert TABLE not in page
    rows = re.findall(r'data-fetch><a href="([^"]+)"', page)
    assert len(rows) == 30
    address = rows[7].replace("&amp;", "&")
    assert address.startswith("/studies/many/tests/?by=configuration&sort=contender&of=50%2F50")
    alone = client.get(address).content.decode()
    assert alone.count(TABLE) == 1
    assert "<h1>50/50 mix 7?</h1>" in alone
    whole = "/studies/many/?tab=tests&amp;by=configuration&amp;sort=contender"
    assert f'href="{whole}"' in alone
    part = client.get(address, headers=PART).content.decode()
    assert part.count(TABLE) == 1
    assert "<html" not in part
    assert 'hx-get="/compare/charts/50%2F50' in part


def test_all_tables_are_on_one_page(client: Client, many: Study) -> None:
    page = client.get("/studies/many/?tab=tests").content.decode()
    assert 'href="/studies/many/tests/?">All tables on one page' in page
    whole = client.get("/studies/many/tests/").content.decode()
    assert whole.count(TABLE) == 30
    assert "application/json" not in whole  # charts come when they are in sight


def test_a_small_study_holds_its_tables(
    client: Client, many: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "MOST_ROWS_HERE", 90)
    page = client.get("/studies/many/?tab=tests").content.decode()
    assert page.count(TABLE) == 30
    (address, *_) = re.findall(r'hx-get="(/compare/charts/[^"]+)"', page)
    chart = client.get(address.replace("&amp;", "&"), headers=PART).content.decode()
    assert "<figure" in chart
    assert TABLE not in chart


@pytest.mark.parametrize("address", ["/studies/nix/tests/", "/studies/many/tests/?of=nix%00"])
def test_what_is_not_there_is_a_404_that_helps(client: Client, many: Study, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert "/studies/" in answer.content.decode()


@pytest.mark.parametrize("page", ["", "tests/"])
@pytest.mark.parametrize(
    "query",
    [
        "test=nope",
        "part_test=nope",
        "test=nope&test=50%2F50+mix+1%3F",
        "test=read",
        "category=nope",
    ],
)
def test_a_test_that_the_study_has_not_is_said_and_the_whole_is_shown(
    client: Client, many: Study, page: str, query: str
) -> None:
    other = Study.objects.create(slug="other", title="Other")
    series_for(other, configuration_for("ext4", {}), kernel="6.1").scores.create(
        test="read", category="mean", value=1.0, unit="KB/s"
    )
    answer = client.get(f"/studies/many/{page}?{query}&tab=tests")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "fsbench did not understand all of this address." in text
    assert ("read" if "read" in query else "nope") in text
    assert "50/50 mix 1?" in text
    assert "50/50 mix 29?" in text


def test_a_test_beyond_the_part_of_the_page_is_found(
    client: Client, many: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsbench_web.platform import limits

    whole = client.get("/studies/many/?tab=tests").content.decode()
    monkeypatch.setattr(limits, "PAGE", limits.RowLimits(rows=30, single_rows=30, tables=10))
    page = client.get("/studies/many/?tab=tests").content.decode()
    assert page.count("data-slugs") < 30
    assert 'data-family="part"' in page
    assert 'data-family="part"' not in whole
    assert client.get("/studies/many/tests/?of=50/50 mix 29?").content.decode().count(TABLE) == 1


def test_elapsed_and_cpu_time_of_the_same_work_are_one_row(client: Client, db: None) -> None:
    call_command("load_published", stdout=StringIO())
    page = client.get("/studies/galli-2001/?tab=tests&baseline=xfs").content.decode()
    head = re.search(r"test-line is-head has-cpu.*?</div>", page, re.S)
    assert head is not None
    assert re.findall(r"<span>([^<]+)</span>", head[0]) == [
        *("Test", "Best", "Elapsed", "xfs, elapsed", "CPU of the best", "CPU of xfs"),
        *("Δ", "95% interval", "Verdict", "n"),
    ]
    row = re.search(r'data-slugs="copy-real copy-cpu".*?</summary>', page, re.S)
    assert row is not None
    assert re.findall(r"<span>([^<]*)</span>", row[0]) == [
        *("cp -a, real time", "reiser3_notail", "5.99 s", "29.4 s", "4.81 s", "8.57 s"),
        *("+390.8%", "none", "not known", "3"),
    ]
    # Both tables are in it, and no row is of the CPU time alone.
    assert page.count('id="test-copy-cpu"') == page.count('id="test-copy-real"') == 1
    assert 'data-slugs="copy-cpu"' not in page
    part = client.get("/studies/galli-2001/tests/?of=copy_cpu", headers=PART).content.decode()
    assert part.count(TABLE) == 2


@pytest.mark.parametrize(
    ("test", "cpu"),
    [
        ("make_bzimage_real", "make_bzimage_cpu"),
        ("copy_real@threads=8", "copy_cpu@threads=8"),
        ("write", ""),
        ("_real", ""),
        ("real", ""),
    ],
)
def test_the_cpu_time_of_the_same_work(test: str, cpu: str) -> None:
    assert cpu_time_of(test) == cpu


def test_rows_are_fetched_when_they_are_opened(page: Page, many: Study) -> None:
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.partition("/studies/")[2]))
    page.goto("/studies/many/?tab=tests&by=configuration")
    at_rest(page)
    assert not any("tests/" in path or "figures.js" in path for path in fetched)
    row = page.locator("details.test").nth(3)
    row.locator("summary").first.click()
    expect(row.locator("table.deltas")).to_be_visible()
    expect(row.locator("figure[data-drawn=yes]")).to_be_visible()
    assert sum("tests/" in path for path in fetched) == 1
    row.get_by_role("button", name="Against the best").click()
    expect(page).to_have_url(re.compile("sort=best"))
    expect(row.locator("[data-sort=delta][aria-sort=ascending]")).to_be_visible()
    # A page by itself has all of them, to be searched or printed.
    page.get_by_role("link", name="All tables on one page").click()
    expect(page.locator("table.deltas")).to_have_count(30)


def test_old_links_to_tests_arrive(page: Page, many: Study) -> None:
    for old in ("#test-50-50-mix-7", "#50-50-mix-7-mean"):
        page.goto("about:blank")
        page.goto(f"/studies/many/?by=configuration{old}")
        expect(page.locator(f"[id='{old[1:]}']")).to_be_in_viewport()
    # What is no test's leads nowhere.
    page.goto("/studies/many/#nix")
    at_rest(page)
    expect(page).to_have_url(re.compile("/studies/many/#nix$"))
