"""The page of pictures: what each draws, its table, its notes, and what it refuses."""

import copy
import csv
import io
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from fsbench_web.catalog.configurations.records import unknown_configuration
from fsbench_web.compare.pictures.base import PictureSpec
from fsbench_web.compare.pictures.sections import CHOICE_PX, charts, sections
from fsbench_web.compare.pictures.table import PictureTable, as_csv, value
from fsbench_web.compare.pictures.views import KINDS, spec_of
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.core.formats import ParsedValue
from fsbench_web.figures import bars
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for
from tests.compare.conftest import make_score, make_study
from tests.measured import change, finished_run

pytestmark = pytest.mark.django_db
EVERY = "study=lab"


def finished(label: str, *values: ParsedValue, study: str = "lab") -> Run:
    series = series_for(make_study(study), unknown_configuration(label.split("_")[0], label))
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    return run


def at(record: int, file: int, number: float, test: str = "write", unit: str = "KB/s") -> Any:
    return ParsedValue(test, record, file, number, unit, 1)


def loaded(number: float, load: str, samples: tuple[float, ...] = ()) -> ParsedValue:
    return ParsedValue("mail", None, None, number, "ops/s", 1, load=load, samples=samples)


@pytest.fixture(scope="module")
def measured(module_db: None) -> dict[str, list[Run]]:
    """ext4 twice and xfs once; xfs lacks a cell that ext4 has, and has one that it lacks."""
    ext4 = [
        finished("ext4_wb", at(4, 64, 100), at(4, 128, 50), at(4, 64, 10, "read"), loaded(9, "t=1"))
        for _ in range(2)
    ]
    xfs = finished(
        "xfs",
        *(at(4, 64, 50), at(8, 128, 70), at(4, 64, 30, "read")),
        *(loaded(8, "t=1", (7, 9)), loaded(60, "t=8")),
    )
    return {"ext4": ext4, "xfs": [xfs]}


@pytest.fixture
def lab(measured: dict[str, list[Run]], db: None) -> dict[str, list[Run]]:
    return copy.deepcopy(measured)


def page(client: Client, query: str, status: int = 200) -> str:
    response = client.get(f"/compare/pictures/?{query}")
    assert response.status_code == status
    return response.content.decode()


def figure(html: str) -> dict[str, Any]:
    match = re.search(r'id="picture-data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert match, html
    return json.loads(match[1])[0]


def rows(client: Client, query: str) -> list[dict[str, str]]:
    response = client.get(f"/compare/pictures.csv?{query}")
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; filename=")
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def key(run: Run) -> int:
    return run.series_id


def test_repeats_say_the_date_of_each_run_and_where_it_is_from(client: Client, lab: Any) -> None:
    first, second = (run.pk for run in lab["ext4"])
    Run.objects.filter(pk=first).update(measured_at=datetime(2005, 8, 9, 10, tzinfo=UTC))
    table = rows(client, f"{EVERY}&picture=repeats&of=write")
    dates = {row["Run"]: (row["Date"], row["Date from"]) for row in table}
    assert dates[f"run {first}"] == ("2005-08-09", "file")
    assert dates[f"run {second}"] == (f"{timezone.localdate()}", "import")


def test_the_address_is_the_whole_picture() -> None:
    spec = PictureSpec(
        ComparisonSpec(studies=("lab",), tests=("write",)),
        kind="ratio",
        test="write",
        category="overall",
        a=3,
        b=4,
        lines=(5, 6),
        record_kb=4,
        file_kb=64,
    )
    assert spec_of(spec.to_query()) == spec
    assert spec_of("") == PictureSpec()
    assert PictureSpec().to_query() == ""


@pytest.mark.parametrize(
    "query",
    ["picture=pie", "a=x", "a=99999999999999999999", "line=-1", "in=best", "record=4kb", "foo=1"],
)
def test_a_wrong_address_is_refused_in_words(client: Client, query: str) -> None:
    with pytest.raises(SpecError):
        spec_of(query)
    assert "cannot be shown" in page(client, query, 400)
    assert client.get(f"/compare/pictures.csv?{query}").status_code == 400


def test_a_heat_map_has_the_means_and_leads_to_the_runs(client: Client, lab: Any) -> None:
    query = f"{EVERY}&picture=matrix&of=write&a={key(lab['ext4'][0])}"
    html = page(client, query)
    trace = figure(html)["data"][0]
    assert trace["type"] == "heatmap"
    first, second = lab["ext4"]
    assert trace["z"] == [[100, 50]]
    assert trace["meta"]["links"] == [[f"/runs/?runs={first.pk},{second.pk}"] * 2]
    assert f'href="/runs/{first.pk}/"' in html
    table = rows(client, query)
    assert [(row["Record size KB"], row["File size KB"], row["Mean, KB/s"]) for row in table] == [
        ("4", "64", "100.0"),
        ("4", "128", "50.0"),
    ]
    assert table[0]["runs"] == f"/runs/{first.pk}/ /runs/{second.pk}/"


def test_flagged_cells_are_hatched_and_named_in_the_table(client: Client, lab: Any) -> None:
    run = lab["xfs"][0]
    change(
        lambda row: (
            row._replace(flags=["clock"]) if (row.test, row.record_size_kb) == ("write", 4) else row
        ),
        run,
    )
    query = f"{EVERY}&picture=matrix&of=write&a={key(run)}"
    drawn = figure(page(client, query))["data"]
    assert [trace.get("name") for trace in drawn if trace.get("fillpattern")] == [
        "limited by the timer resolution: 1 cell"
    ]
    assert [row["Flags"] for row in rows(client, query)] == ["timer resolution", ""]


def test_a_ratio_is_of_the_matched_cells_alone_and_says_what_is_left(
    client: Client, lab: Any
) -> None:
    a, b = key(lab["ext4"][0]), key(lab["xfs"][0])
    html = page(client, f"{EVERY}&picture=ratio&of=write&a={a}&b={b}")
    assert figure(html)["data"][0]["z"] == [[1.0]]
    assert "1 cell is matched." in html
    assert "Above 1, purple: ext4_wb is faster. Below 1, orange: xfs is faster." in html
    assert "1 that only ext4_wb has" in html
    (row,) = rows(client, f"{EVERY}&picture=ratio&of=write&a={a}&b={b}")
    assert row["Times as fast"] == "2.0"
    (turned,) = rows(client, f"{EVERY}&picture=ratio&of=write&a={b}&b={a}")
    assert turned["Times as fast"] == "0.5"


def test_of_times_the_ratio_is_of_speeds(client: Client) -> None:
    slow, fast = (
        finished(name, at(4, 64, seconds, unit="s")) for name, seconds in (("ext4", 8), ("xfs", 2))
    )
    query = f"{EVERY}&picture=ratio&a={key(fast)}&b={key(slow)}"
    assert rows(client, query)[0]["Times as fast"] == "4.0"
    assert "Times are taken as speeds" in page(client, query)


def test_a_zero_has_no_ratio(client: Client) -> None:
    a, b = finished("ext4", at(4, 64, 0), at(8, 64, 2)), finished("xfs", at(4, 64, 1), at(8, 64, 1))
    html = page(client, f"{EVERY}&picture=ratio&a={key(a)}&b={key(b)}")
    assert "hold a zero" in html
    assert figure(html)["data"][0]["z"] == [[None], [1.0]] or figure(html)["data"][0]["z"] == [
        [1.0]
    ]


def test_the_address_of_a_removed_kind_leads_to_its_replacement(client: Client, lab: Any) -> None:
    query = f"{EVERY}&picture=surface&of=write&a={key(lab['ext4'][0])}"
    response = client.get(f"/compare/pictures/?{query}")
    assert response.status_code == 301
    assert figure(client.get(response["Location"]).content.decode())["data"][0]["type"] == "heatmap"
    assert rows(client, query) == rows(client, query.replace("surface", "matrix"))


@pytest.mark.parametrize(
    ("kind", "show"),
    [
        *(("percentiles", "percentiles"), ("cdf", "cdf"), ("tails", "completions")),
        ("latency-time", "time"),
    ],
)
def test_each_former_kind_of_latencies_is_one_kind_with_a_switch(
    client: Client, lab: Any, kind: str, show: str
) -> None:
    response = client.get(f"/compare/pictures/?{EVERY}&picture={kind}")
    assert response.status_code == 301
    assert response["Location"].endswith(f"picture=latency&show={show}")
    assert spec_of(f"picture={kind}") == spec_of(f"picture=latency&show={show}")
    assert spec_of("picture=bars&show=cdf").show == ""
    assert client.get("/compare/pictures/?picture=latency&show=none").status_code == 400


def test_profile_lines_stop_where_nothing_was_measured(client: Client, lab: Any) -> None:
    html = page(client, f"{EVERY}&picture=profile&of=write&file=128")
    traces = {trace["name"]: trace for trace in figure(html)["data"]}
    assert traces["ext4_wb"]["x"] == [4, 8]
    assert traces["ext4_wb"]["y"] == [50, None]
    assert traces["xfs"]["y"] == [None, 70]
    assert traces["xfs"]["meta"]["links"] == [None, f"/runs/{lab['xfs'][0].pk}/"]
    assert "its line has gaps there" in html
    both = page(client, f"{EVERY}&picture=profile&of=write&file=128&record=4")
    assert "set the other to every size" in both


def test_a_load_curve_in_another_unit_is_named(client: Client, lab: Any) -> None:
    finished("jfs", ParsedValue("mail", None, None, 3, "s", 1, load="t=1"))
    html = page(client, f"{EVERY}&picture=load&of=mail")
    assert "jfs is not drawn: it is measured in another unit." in html
    assert {trace["name"] for trace in figure(html)["data"]} == {"ext4_wb", "xfs"}


def test_load_curves_have_intervals_of_repeats_or_of_samples(client: Client, lab: Any) -> None:
    query = f"{EVERY}&picture=load&of=mail"
    html = page(client, query)
    traces = {trace["name"]: trace for trace in figure(html)["data"]}
    # Both have intervals, which stand side by side around their loads.
    assert figure(html)["layout"]["xaxis"]["tickvals"] == [1, 8]
    assert traces["xfs"]["x"] == pytest.approx([1, 8], rel=0.06)
    assert traces["ext4_wb"]["x"] == pytest.approx([1, 8], rel=0.06)
    assert traces["xfs"]["x"] != traces["ext4_wb"]["x"]
    assert traces["xfs"]["y"] == [8, 60]
    assert traces["ext4_wb"]["y"] == [9, None]
    words = {(row["Contender"], row["Load"]): row["Interval of"] for row in rows(client, query)}
    assert words == {
        ("ext4_wb", "t 1"): "2 repeats",
        ("xfs", "t 1"): "2 interval samples",
        ("xfs", "t 8"): "",
    }
    assert "1 of 3 numbers have no interval" in html


def test_repeats_are_points_of_their_runs(client: Client, lab: Any) -> None:
    query = f"{EVERY}&picture=repeats&of=write&record=4&file=64"
    trace = figure(page(client, query))["data"][0]
    runs = [*lab["ext4"], *lab["xfs"]]
    assert trace["meta"]["links"] == [f"/runs/{run.pk}/" for run in runs]
    assert trace["x"] == [100, 100, 50]
    whole = rows(client, f"{EVERY}&picture=repeats&of=write")
    assert [row["Mean of its cells, KB/s"] for row in whole] == ["75.0", "75.0", "60.0"]
    assert [row["Cells"] for row in whole] == ["2", "2", "2"]


def test_bars_and_stacks_lead_to_runs_or_to_the_study_that_was_published(
    client: Client, lab: Any
) -> None:
    make_score("jfs", 5.0, test="write", category="maximum", study="paper")
    html = page(client, "picture=bars&of=write&in=maximum")
    trace = figure(html)["data"][0]
    assert dict(zip(trace["y"], trace["meta"]["links"], strict=True)) == {
        "ext4": f"/runs/?runs={lab['ext4'][0].pk},{lab['ext4'][1].pk}",
        "xfs": f"/runs/{lab['xfs'][0].pk}/",
        "jfs": "/studies/paper/",
    }
    stack = figure(page(client, f"{EVERY}&picture=stacked&in=maximum"))["data"]
    assert [trace["name"] for trace in stack] == ["Write", "Read"]
    assert dict(zip(stack[0]["y"], stack[0]["x"], strict=True)) == {"ext4": 100, "xfs": 70}
    (first, second) = rows(client, f"{EVERY}&picture=stacked&in=maximum")
    assert (first["Contender"], first["Sum, KB/s"]) == ("ext4", "110.0")
    assert (second["Contender"], second["Sum, KB/s"]) == ("xfs", "100.0")


def test_scores_say_what_their_table_is_flagged_with(client: Client) -> None:
    make_score("ext4", 7.0, test="copy", category="mean", flags=["contended", "drifted"])
    make_score("xfs", 8.0, test="copy", category="mean", flags=["drifted"])
    page = client.get("/compare/pictures/?study=lab&of=copy").content.decode()
    assert "Flags: drifted: all; contended: ext4." in page


def test_at_most_seven_lines_are_drawn_and_the_page_says_so(client: Client) -> None:
    for number in range(9):
        finished(f"ext4_{number}", at(4, 64, number + 1))
    html = page(client, f"{EVERY}&picture=profile")
    *lines, note = figure(html)["data"]
    assert len(lines) == 7
    assert (note["name"], note["x"]) == ("2 more, not drawn", [None])
    assert "7 of 9 entries are drawn" in html
    assert figure(html)["data"][0]["name"] == "ext4_8"


def test_what_a_paper_never_printed_is_not_drawn(client: Client) -> None:
    call_command("load_published", verbosity=0)
    html = page(client, "study=freenix-2002&picture=load")
    assert "nothing is read off a printed picture" in html
    assert "picture-data" not in html
    assert client.get("/compare/pictures.csv?study=freenix-2002&picture=load").status_code == 404
    assert "nothing is read off" in page(client, "study=unisys-2005&picture=matrix")


def test_a_contender_that_is_gone_is_not_replaced_in_silence(client: Client, lab: Any) -> None:
    for kind in ("matrix", "ratio"):
        html = page(client, f"{EVERY}&picture={kind}&a=999999")
        assert "is not in this comparison" in html
        assert "picture-data" not in html
    html = page(client, f"{EVERY}&picture=profile&line=999999")
    assert "not in this comparison any more" in html


def test_a_test_that_cannot_be_drawn_so_gives_way_in_words(client: Client, lab: Any) -> None:
    html = page(client, f"{EVERY}&picture=matrix&of=mail@t=1")
    assert "cannot be drawn like this" in html
    assert figure(html)["data"][0]["type"] == "heatmap"


def test_names_of_an_import_are_text(client: Client) -> None:
    finished("x_<script>alert(1)</script>", at(4, 64, 1, test="w</script><b>"))
    for kind in KINDS:
        html = client.get(f"/compare/pictures/?{EVERY}&picture={kind}").content.decode()
        assert "<script>alert" not in html
        assert "</script><b>" not in html


def test_a_spreadsheet_runs_nothing() -> None:
    column = value("=1+1", "", lambda content: content)
    table = PictureTable([column], ["@SUM(A1)", -1.5, None], lambda _: ())
    assert as_csv(table).splitlines() == ["'=1+1,runs", "'@SUM(A1),", "-1.5,", ","]


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_takes_as_many_queries_of_many_contenders(
    client: Client, kind: str, lab: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        finished(f"jfs_{number}", at(4, 64, 1 + number), at(4, 64, 9, "read"), loaded(3, "t=1"))
    with django_assert_max_num_queries(15):
        page(client, f"{EVERY}&picture={kind}")


def test_every_page_with_numbers_leads_to_its_pictures(client: Client, lab: Any) -> None:
    run = lab["xfs"][0]
    assert "/compare/pictures/?study=lab" in client.get("/compare/?study=lab").content.decode()
    assert "/compare/pictures/?study=lab" in client.get("/studies/lab/").content.decode()
    of_run = client.get(f"/runs/{run.pk}/").content.decode()
    assert f"/compare/pictures/?study=lab&amp;picture=matrix&amp;a={run.series_id}" in of_run
    assert Series.objects.filter(pk=run.series_id).exists()


def phase(name: str, seconds: float, size: int = 100) -> ParsedValue:
    return ParsedValue(f"mongo_{name}_real", None, None, seconds, "s", 1, load=f"bytes={size}")


def test_the_phases_of_mongo_stand_side_by_side_for_each_size(client: Client) -> None:
    first = finished("ext4", phase("create", 2), phase("read", 1), phase("create", 9, 4000))
    finished("ext4", phase("create", 4), phase("read", 1), phase("create", 9, 4000))
    finished("xfs", phase("create", 5), phase("delete", 7))
    query = f"{EVERY}&picture=phases&of=mongo_create_real@bytes=100"
    html = page(client, query)
    assert "Mongo, real time at about 100 bytes a file" in html
    drawn = figure(html)
    assert drawn["layout"]["xaxis"]["ticktext"] == ["create", "read", "delete"]
    assert [(trace["name"], trace["y"]) for trace in drawn["data"]] == [
        ("ext4", [3, 1, None]),
        ("xfs", [5, None, 7]),
    ]
    assert drawn["layout"]["yaxis"]["title"]["text"].startswith("s, less is better")
    assert "ext4 has no delete." in html
    table = rows(client, query)
    assert [(row["Phase"], row["Contender"], row["Mean, s"]) for row in table] == [
        ("create", "ext4", "3.0"),
        ("create", "xfs", "5.0"),
        ("read", "ext4", "1.0"),
        ("delete", "xfs", "7.0"),
    ]
    assert f"/runs/{first.pk}/" in table[0]["runs"]
    assert table[0]["Interval of"] == "2 repeats"
    # A size of which there is one phase alone is no picture, and any phase leads to its work's.
    assert "about 4,000 bytes" not in html
    other = page(client, f"{EVERY}&picture=phases&of=mongo_read_real@bytes=100")
    assert figure(other)["data"] == drawn["data"]
    assert "cannot be drawn like this" not in other
    # Real time comes first.
    finished(
        "xfs",
        *(
            ParsedValue(f"mongo_{n}_cpu", None, None, 1, "s", 1, load="bytes=100")
            for n in ("copy", "read")
        ),
    )
    assert figure(page(client, f"{EVERY}&picture=phases"))["data"][0]["y"] == [3, 1, None]


def test_a_published_compilation_has_its_phases_too(client: Client) -> None:
    for name, seconds in (("copy_real", 29.4), ("make_bzimage_real", 288.1), ("remove_real", 7.0)):
        make_score("xfs", seconds, test=name, category="mean", unit="s", study="lab")
    query = f"{EVERY}&picture=phases"
    drawn = figure(page(client, query))
    assert drawn["layout"]["xaxis"]["ticktext"] == ["copy", "make bzImage", "remove"]
    assert drawn["data"][0]["y"] == [29.4, 288.1, 7.0]
    assert drawn["layout"]["yaxis"]["type"] == "log"


def test_without_phases_nobody_offers_them(client: Client, lab: Any) -> None:
    assert ">Phases<" not in page(client, EVERY)
    assert "No test of this comparison is a phase" in page(client, f"{EVERY}&picture=phases")


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_columns_of_its_numbers_have_one_name(client: Client, lab: Any, kind: str) -> None:
    html = page(client, f"{EVERY}&picture={kind}")
    if "picture-table" in html:
        head = html.split("picture-table", 1)[1].split("<thead>")[1].split("</thead>")[0]
        headings = re.findall(r"<th[^>]*>(.*?)</th>", head)
        assert headings[-1] == "Runs"
        assert len(set(headings)) == len(headings)


def test_a_page_keeps_the_room_that_a_chart_will_take(lab: Any) -> None:
    """Whatever labels, categories and ceilings it has: nothing moves when it comes."""
    tables = comparison(ComparisonSpec(studies=("lab",), by="configuration")).tables
    for section in sections(tables):
        figures = charts(tables, section.test).values()
        highest = max(figure.layout.height for figure in figures)
        assert section.chart_px == highest + (CHOICE_PX if len(section.tables) > 1 else 0)
    plain, with_ceiling = (bars.height_px(["xfs"], has_ceilings=each) for each in (False, True))
    assert with_ceiling > plain


def test_nanoseconds_are_drawn_as_the_microseconds_that_are_written(db: None) -> None:
    score = make_score("ext4", 815.0, test="randread_read_clat_mean", category="mean", unit="ns")
    tables = comparison(ComparisonSpec(studies=(score.series.study.slug,))).tables
    [chart] = charts(tables, "randread_read_clat_mean").values()
    assert list(chart.data[0].x) == [0.815]
    assert chart.layout.xaxis.title.text.startswith("µs, less is better")
