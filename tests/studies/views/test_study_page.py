import re
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Page, expect

from fsbench_web.catalog.configurations.records import configuration_for, unknown_configuration
from fsbench_web.compare.permalinks.records import pin
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.views import shown, study_page
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.models import Run, RunState, Score, Series, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import series_for
from fsbench_web.studies.views import study as study_views
from tests.measured import change
from tests.services.pages import at_rest

# What the paper printed wrong: these deltas do not follow from its own scores.
WRONG = {
    ("read", "specfp_ta"): 4,
    ("reread", "specfp_ta"): 4,
    ("random_read", "specfp_ta"): 4,
}


@pytest.fixture
def published(papers: None, db: None) -> None:
    """The studies that ship with fsbench."""


@pytest.fixture
def measured(db: None) -> Study:
    """A study with two series of two finished runs each, one value a cell."""
    study = Study.objects.create(slug="mine", title="Mine")
    for number, options in enumerate(({}, {"atime": "noatime"})):
        series = series_for(study, configuration_for("ext4", options), kernel="6.1")
        for repeat in (1, 2):
            run = Run.objects.create(
                series=series,
                repeat=repeat,
                origin=Run.Origin.MEASURED,
                state=RunState.DONE,
                ended_at=datetime.now(UTC),
            )
            value = 1000.0 * (number + 1) * repeat
            cells = ((4, 64), (64, 64), (4, 128))
            values = [ParsedValue("write", *cell, value, "KB/s", line=1) for cell in cells]
            ingest.store_values(run, None, values)
        Score.objects.create(
            series=series,
            test="write",
            category="maximum",
            value=2000.0 * (number + 1),
            unit="KB/s",
            repeats=2,
            run_ids=list(Run.objects.filter(series=series).values_list("pk", flat=True)),
        )
    return study


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def table(html: str, anchor: str) -> str:
    start = html.index(f'id="{anchor.replace("_", "-")}"')
    return html[start : html.index("</table>", start)]


def test_the_list_has_all_five_papers(client: Client, published: None) -> None:
    html = client.get("/studies/").content.decode()
    for study in Study.objects.all():
        assert f'href="/studies/{study.slug}/"' in html
        assert study.title in html
    assert "No studies of your own yet" in html
    assert "211 printed scores" in html


def test_a_study_without_runs_has_none_yet(client: Client, db: None) -> None:
    Study.objects.create(slug="lab", title="Lab")
    for address in ("/studies/", "/"):
        html = client.get(address).content.decode()
        assert "no runs yet" in html
        assert "0 of 0" not in html


def test_the_list_says_how_to_load_papers(client: Client, db: None) -> None:
    assert "load_published" in client.get("/studies/").content.decode()


def test_unisys_has_42_tables_of_five(client: Client, published: None) -> None:
    html = client.get("/studies/unisys-2005/").content.decode()
    tables = re.findall(r'<table class="table is-dense deltas">(.*?)</table>', html, re.DOTALL)
    assert len(tables) == 42
    assert all(body.count('<th scope="row">') == 5 for body in tables)


def test_wrong_prints_are_counted_listed_and_marked(client: Client, published: None) -> None:
    html = client.get("/studies/unisys-2005/").content.decode()
    wrong = sum(WRONG.values())
    assert f"{wrong} of 420 printed deltas do not follow" in text_of(html)
    for (test, category), count in WRONG.items():
        anchor = f"{test}-{category}".replace("_", "-")
        # The overview and the findings lead there, too.
        check = html[html.index('id="check"') :].split("</section>")[0]
        assert check.count(f'<a href="#{anchor}">') == count
        marked = table(html, anchor)
        assert marked.count('class="differs"') == count
        assert marked.count(">differs<") == count
    assert html[html.index('id="tests"') :].count('class="differs"') == wrong


def test_a_row_shows_recomputed_and_printed_values(client: Client, published: None) -> None:
    text = text_of(table(client.get("/studies/unisys-2005/").content.decode(), "read-specfp_ta"))
    # The paper: 467,124.42 of xfs, 4.30 and -0.53; the second does not follow.
    assert "467,124.42 4.30 printed 4.30 -4.49 printed -0.53 differs" in text


def test_named_configurations_stand_with_their_rows(client: Client, published: None) -> None:
    html = client.get("/studies/unisys-2005/").content.decode()
    assert "jfs_noatime" in table(html, "write-overall")
    assert "ext3_wb_noatime_dl_xj" in table(html, "reread-overall")
    assert "jfs_" not in table(html, "write-ora_ta")


def test_ties_are_all_best(client: Client, published: None) -> None:
    html = client.get("/studies/unisys-2005/").content.decode()
    assert table(html, "read-maximum").count('<tr class="is-best"') == 4


def test_what_was_never_printed_is_said_to_be_so(client: Client, published: None) -> None:
    for slug in ("freenix-2002", "sun-2004", "hilzinger-2006", "galli-2001"):
        html = client.get(f"/studies/{slug}/").content.decode()
        assert "Figures whose values were never printed" in html
    unisys = client.get("/studies/unisys-2005/").content.decode()
    assert "ext2 more than 240 s" in unisys
    assert "reiser3 not stated" in unisys


def test_seconds_say_that_less_is_better(client: Client, published: None) -> None:
    html = client.get("/studies/galli-2001/").content.decode()
    assert "less is better" in table(html, "copy_real-mean")
    rows = re.findall(r'title="From [^"]+">([^<]+)</a>', table(html, "copy_real-mean"))
    assert rows == ["xfs", "ext2", "reiser3", "reiser3_notail"]


def test_papers_without_a_rule_rank_every_configuration(client: Client, published: None) -> None:
    html = client.get("/studies/hilzinger-2006/").content.decode()
    assert table(html, "kernel_source_copy-mean").count('scope="row"') == 7
    by_filesystem = client.get("/studies/hilzinger-2006/?by=filesystem").content.decode()
    assert table(by_filesystem, "kernel_source_copy-mean").count('scope="row"') == 4


def test_nonsense_in_the_address_is_ignored(client: Client, published: None) -> None:
    assert client.get("/studies/unisys-2005/?by=moon%00").status_code == 200


@pytest.mark.parametrize("address", ["/studies/nix/", "/studies/nix/matrix/"])
def test_an_unknown_study_is_a_404_that_helps(client: Client, db: None, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 404
    html = response.content.decode()
    assert "There is no study" in html
    assert "/studies/" in html


@pytest.mark.parametrize("slug", ["unisys-2005", "galli-2001", "freenix-2002", "mine"])
def test_a_study_page_takes_a_constant_number_of_queries(
    client: Client,
    published: None,
    measured: Study,
    slug: str,
    django_assert_num_queries: Callable,
) -> None:
    # What is hidden from the visitor, and the work profiles to choose from.
    # The study; scores, those that are shown, their series and
    # environments, and of scores that do not know their runs the finished ones;
    # own studies: what is not finished; how many rows and which tests have room on the page; when
    # what is shown was measured, and whether in the page cache. Series and imports: on their tab.
    expected = {"mine": 12, "freenix-2002": 7, "galli-2001": 10, "unisys-2005": 11}
    with django_assert_num_queries(expected[slug]):
        client.get(f"/studies/{slug}/")


def test_a_measured_study_shows_tables_configurations_and_heat_maps(
    client: Client, measured: Study
) -> None:
    html = client.get("/studies/mine/?tab=tests&by=configuration").content.decode()
    assert '<span title="4000.0 KB/s">4,000</span>' in table(html, "write-maximum")
    assert (
        ">4000.0<"
        in client.get("/studies/mine/?tab=tests&by=configuration&numbers=exact").content.decode()
    )
    assert "printed" not in table(html, "write-maximum")
    runs = client.get("/studies/mine/?tab=runs&by=configuration").content.decode()
    assert "2 of 2" in text_of(runs[runs.index('id="configurations"') :])
    assert 'href="/studies/mine/matrix/?test=write"' in html
    assert 'href="/runs/?study=mine"' in html


def test_heat_maps_show_the_mean_of_the_repeats_on_one_scale(
    client: Client, measured: Study, django_assert_num_queries: Callable
) -> None:
    with django_assert_num_queries(6):
        response = client.get("/studies/mine/matrix/?test=write")
    first, second = (figure for _, figure in response.context["maps"])
    assert first["data"][0]["z"][0][0] == 1500.0
    assert second["data"][0]["z"][0][0] == 3000.0
    assert _ends(first) == (1500.0, 3000.0)
    assert _ends(second) == (1500.0, 3000.0)
    # 64 KB records in the 128 KB file were not measured.
    assert first["data"][0]["z"][1][1] is None
    assert "<h1>Write: block size by file size</h1>" in response.content.decode()


def test_configurations_come_a_page_at_a_time(
    client: Client, measured: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_page, "SERIES_SHOWN", 1)
    html = client.get("/studies/mine/?tab=runs&by=configuration").content.decode()
    listed = text_of(html[html.index('id="configurations"') :])
    assert "1 to 1 of 2, by file system and name." in listed
    assert "2 of 2" in listed
    assert 'href="?by=configuration&amp;configurations=2#configurations"' in html
    second = client.get("/studies/mine/?configurations=2").content.decode()
    assert "ext4_noatime" in text_of(second[second.index('id="configurations"') :])
    assert "ext4_noatime" not in listed


def _ends(figure: dict) -> tuple[float, float]:
    return figure["data"][0]["zmin"], figure["data"][0]["zmax"]


def test_heat_maps_come_a_page_at_a_time_on_one_scale(
    client: Client, measured: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_views, "MAPS_SHOWN", 1)
    for series, low in zip(Series.objects.order_by("pk"), (900.0, 1900.0), strict=True):
        series.scores.create(test="write", category="minimum", value=low, unit="KB/s")
    pages = [client.get(f"/studies/mine/matrix/?test=write&page={n}") for n in (1, 2)]
    (first,), (second,) = (page.context["maps"] for page in pages)
    assert first[0].pk < second[0].pk
    # Of all repeats of the study, on every page the same.
    assert _ends(first[1]) == _ends(second[1]) == (900.0, 4000.0)
    html = text_of(pages[0].content.decode())
    assert "1 to 1 of 2 series" in html
    assert "All maps on all pages share one colour scale" in html
    assert 'href="?test=write&amp;page=2"' in pages[0].content.decode()


def test_a_run_that_failed_is_in_no_heat_map(client: Client, measured: Study) -> None:
    Run.objects.filter(repeat=2).update(state=RunState.FAILED)
    response = client.get("/studies/mine/matrix/?test=write")
    assert response.context["maps"][0][1]["data"][0]["z"][0][0] == 1000.0


def test_a_matrix_that_was_not_measured_is_a_404_that_helps(
    client: Client, measured: Study
) -> None:
    response = client.get("/studies/mine/matrix/?test=read")
    assert response.status_code == 404
    assert "no finished run with a matrix" in response.content.decode()


def test_an_empty_study_says_what_to_do_next(client: Client, db: None) -> None:
    study = Study.objects.create(slug="empty", title="Empty")
    html = client.get("/studies/empty/").content.decode()
    assert "Nothing in this study yet" in html
    assert "/runs/new/?study=empty" in html
    series_for(study, unknown_configuration("ext4", "ext4"))
    assert "No scores yet" in client.get("/studies/empty/").content.decode()


def test_a_category_that_nothing_has_is_refused_with_what_there_is(
    client: Client, measured: Study
) -> None:
    plain = client.get("/studies/mine/").context["answer"]
    for address in ("?category=nope", "?tab=tests&part_category=mean", "tests/?category=nope"):
        html = client.get(f"/studies/mine/{address}").content.decode()
        assert "There is no category" in html
        assert "maximum" in html
        assert "No scores yet" not in html
    assert client.get("/studies/mine/?category=nope").context["answer"] == plain
    assert "no category" not in client.get("/studies/mine/?category=maximum").content.decode()


def test_names_of_users_are_escaped(client: Client, measured: Study) -> None:
    hostile = '"><script>alert(1)</script>'
    Study.objects.filter(pk=measured.pk).update(title=hostile, summary=hostile)
    Series.objects.update(kernel=hostile)
    Score.objects.update(test=hostile[:60])
    change(lambda measurement: measurement._replace(test=hostile[:60]))
    for tab in shown.LABELS:
        html = client.get(f"/studies/mine/?tab={tab}").content.decode()
        assert "<script>alert" not in html
    html = client.get("/studies/mine/?tab=tests").content.decode()
    (address,) = re.findall(r'href="(/studies/mine/matrix/[^"]*)"', html)
    maps = client.get(address.replace("&amp;", "&"))
    assert maps.status_code == 200
    assert "<script>alert" not in maps.content.decode()


def test_charts_are_drawn_here_and_follow_choice_and_theme(page: Page) -> None:
    call_command("load_published", stdout=StringIO())
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto("/studies/unisys-2005/#test-write")  # a link into a fold opens it
    page.locator("#chart-write").scroll_into_view_if_needed()
    expect(page.locator("#chart-write[data-drawn=yes]")).to_be_visible()
    assert page.locator("figure[data-drawn=yes]").count() < page.locator(".plot").count()

    chart = page.locator("#chart-write")
    expect(chart).to_contain_text("1,147,056.63 best")
    chart.locator("select").select_option("Maximum")
    expect(chart).to_contain_text("692,055.00 best")

    fill = "el => getComputedStyle(el.querySelector('.bars path')).fill"
    light = chart.evaluate(fill)
    page.locator("[data-theme-switch]").click()
    page.wait_for_function(
        "before => getComputedStyle(document.querySelector('#chart-write .bars path')).fill"
        " !== before",
        arg=light,
    )
    assert hosts == {page.url.split("/")[2]}


def test_a_chart_can_be_saved_and_not_sent_away(page: Page) -> None:
    call_command("load_published", stdout=StringIO())
    page.goto("/studies/galli-2001/#test-copy-real")
    chart = page.locator("#chart-copy-real")
    chart.scroll_into_view_if_needed()
    expect(page.locator("#chart-copy-real[data-drawn=yes]")).to_be_visible()
    for ending in (".png", ".svg"):
        with page.expect_download() as download:
            chart.locator(f"[data-figure-download={ending[1:]}]").click()
        assert download.value.suggested_filename == f"fsbench-copy-real-time-mean{ending}"
        assert download.value.path().stat().st_size > 1000


def test_all_charts_of_a_row_are_fetched(page: Page) -> None:
    """Those that come into sight at the same moment, too."""
    call_command("load_published", stdout=StringIO())
    page.set_viewport_size({"width": 1440, "height": 6000})
    page.goto("/studies/galli-2001/#test-copy-real")
    row = page.locator("details[data-slugs~=copy-real]")
    expect(row.locator("figure[data-drawn=yes]").nth(1)).to_be_visible()
    expect(row.locator("[data-chart-waits]")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_no_study_page_is_wider_than_the_screen(page: Page, width: int) -> None:
    call_command("load_published", stdout=StringIO())
    page.set_viewport_size({"width": width, "height": 900})
    for slug in Study.objects.values_list("slug", flat=True):
        page.goto(f"/studies/{slug}/")
        page.mouse.wheel(0, 3000)
        at_rest(page)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, slug


def test_the_first_screens_answer_and_the_tabs_have_addresses(
    client: Client, measured: Study
) -> None:
    html = client.get("/studies/mine/?by=configuration").content.decode()
    answer = text_of(html[html.index('id="answer"') :].partition("</section>")[0])
    assert "No clear winner: ext4_noatime 2.00× ext4. One run each: not enough to tell." in answer
    assert '<svg class="answer-chart"' in html
    # So few tests stand open on the summary, too.
    assert 'id="write-maximum"' in html
    tests = client.get("/studies/mine/?tab=tests&by=configuration").content.decode()
    assert 'id="write-maximum"' in tests
    assert 'aria-current="page">Tests</a>' in tests
    for tab in ("charts", "setup", "runs"):
        assert f'href="/studies/mine/?tab={tab}&amp;by=configuration"' in tests
    # Another baseline, and nonsense.
    other = client.get("/studies/mine/?by=configuration&baseline=ext4_noatime").content.decode()
    assert "Speed relative to ext4_noatime" in text_of(other)
    assert "No clear winner: ext4_noatime 2.00× ext4." in text_of(other)
    assert client.get("/studies/mine/?tab=moon&baseline=moon&categories=x").status_code == 200


def test_compare_shows_the_categories_that_the_study_shows(client: Client, published: None) -> None:
    off = client.get("/studies/unisys-2005/?categories=off").content.decode()
    assert 'href="/compare/?categories=off&amp;study=unisys-2005">Compare</a>' in off
    on = client.get("/studies/unisys-2005/").content.decode()
    assert 'href="/compare/?study=unisys-2005">Compare</a>' in on


def test_the_categories_of_a_paper_are_a_switch(client: Client, published: None) -> None:
    tables = 'class="table is-dense deltas'
    on = client.get("/studies/unisys-2005/").content.decode()
    assert on.count(tables) == 42
    assert 'aria-checked="true" href="/studies/unisys-2005/?categories=off"' in on
    off = client.get("/studies/unisys-2005/?tab=tests&categories=off").content.decode()
    assert off.count(tables) == 6
    assert "write-total-average" in off
    assert 'aria-checked="false"' in off


ADDRESSES = (
    "/studies/unisys-2005/",
    "/studies/unisys-2005/?tab=tests",
    "/studies/unisys-2005/?profile=oltp",
    "/studies/freenix-2002/",
    *(f"/studies/{slug}/report/" for slug in ("unisys-2005", "galli-2001", "many", "wide")),
    *(f"/studies/many/?tab={tab}" for tab in ("summary", "tests", "charts", "setup", "runs")),
    "/studies/many/?categories=on",
    "/studies/wide/",
    "/studies/wide/?by=configuration&profile=oltp",
    *(f"/studies/wide/?by=configuration&tab={tab}" for tab in ("tests", "charts", "setup", "runs")),
    "/compare/?study=unisys-2005",
    "/compare/?study=galli-2001",
    "/compare/?papers=yes",
    "/compare/?study=many&study=galli-2001&units=decimal",
    *(f"/compare/?study=many&tab={tab}" for tab in ("summary", "tests", "charts", "setup", "runs")),
    *(f"/compare/?study=wide&tab={tab}" for tab in ("summary", "tests", "charts", "setup", "runs")),
)


def test_pages_of_studies_and_comparisons_have_few_screens(page: Page, site: str) -> None:
    """A screen is 900 px: four at 1440, seven at 390; with 160 tests, 343 contenders, long names.

    Reports and permalinks have six at 1440 px, and twelve at 390.

    The published study had 29 of them at 1440 px, one of real data 48, and Compare without a choice
    80; with 343 contenders the tab of the set-up alone had 30.
    """
    call_command("load_published", stdout=StringIO())
    _many_tests()
    _many_contenders()
    jo = User.objects.create_user("jo")
    links = [pin(ComparisonSpec(studies=(slug,)), jo).key for slug in ("unisys-2005", "many")]
    high = {}
    for address in (*ADDRESSES, *(f"/p/{key}/" for key in links)):
        is_long = "/report/" in address or address.startswith("/p/")
        page.set_viewport_size({"width": 390, "height": 900})
        page.goto(address)
        for width, screens in ((390, 12 if is_long else 7), (1440, 6 if is_long else 4)):
            page.set_viewport_size({"width": width, "height": 900})
            at_rest(page)
            height, across = page.evaluate(
                "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
            )
            if height > screens * 900 or across > width:
                high[address, width] = (across, height)
    assert not high


def _many_tests() -> None:
    study = Study.objects.create(slug="many", title="Many")
    for number, filesystem in enumerate(("ext4", "xfs", "btrfs")):
        series = series_for(study, configuration_for(filesystem, {}), kernel="6.1")
        Run.objects.create(series=series, repeat=1, origin="measured", state="done")
        for test in range(160):
            name = f"test_{test}" if test % 2 else f"randrw_verify_with_64_threads_4096k_qd{test}"
            values = [100.0 + test * number + repeat for repeat in range(3)]
            series.scores.create(
                test=name,
                category="mean",
                value=sum(values) / 3,
                unit="KB/s",
                repeats=3,
                repeat_scores=[[f"b{at}", value] for at, value in enumerate(values)],
            )


def _many_contenders() -> None:
    study = Study.objects.create(slug="wide", title="Wide")
    for number in range(343):
        name = f"filesystem-with-a-long-name-{number:03d}"
        label = f"{name}_mkfs_and_mount_options_noatime_deadline_xj"
        series = series_for(study, unknown_configuration(name, label), kernel="6.1")
        Run.objects.create(series=series, repeat=1, origin="measured", state="done")
        for test in ("write", "read", "random_write"):
            series.scores.create(test=test, category="mean", value=100.0 + number, unit="KB/s")
