"""The compare page: its address is its state, and every refusal says what to do."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.compare.conftest import make_run, make_score, make_study, printed

pytestmark = pytest.mark.django_db


def test_it_shows_the_table_with_the_best_in_words(client):
    make_score("ext4_wb", 1234567.891)
    make_score("xfs", 2_000_000)
    text = client.get("/compare/?papers=yes").content.decode()
    assert "Write · Maximum" in text
    # Readable, and the exact value on demand.
    assert '<span title="1234567.891 KB/s">1,234,568</span>' in text
    assert ">\u221238.3<" in text
    assert "-62.00" not in text
    pair = client.get("/compare/?deltas=pair&numbers=exact").content.decode()
    assert ">1234567.891<" in pair
    assert ">-61.99999" in pair or ">-62.0" in pair
    # With one run each nobody knows: it has the top score.
    assert re.search(r'<tr data[^>]*><th scope="row"><span><a[^>]*>xfs</a> .*>top score<', text)
    freenix = client.get("/compare/?rule=freenix").content.decode()
    assert re.search(r'class="is-best"[^>]*><th scope="row"><span><a[^>]*>xfs</a> .*best', freenix)


def test_it_marks_a_print_that_does_not_follow_in_words(client):
    make_score("xfs", 200, published=printed(True, "0.00", "0.00"))
    make_score("ext3", 160, published=printed(False, "20.00", "-2.50"))
    text = client.get("/compare/?papers=yes").content.decode()
    assert "The paper printed -2.50; its own table gives -25.00." in text
    assert "print differs" in text
    assert ">differs<" in text


def test_a_study_without_scores_is_said_to_have_none_and_led_to(client):
    make_score("ext4")
    make_study("graphs", title="Graphs <only>", is_published=True)
    make_study("begun")
    for query in ("study=graphs", "study=graphs&study=begun", "study=graphs&test=write"):
        text = client.get(f"/compare/?{query}").content.decode()
        assert "No score matches." in text
        assert (
            '<a href="/studies/graphs/">Graphs &lt;only&gt;</a> has no scores and no tables' in text
        )
        assert "what the paper prints instead" in " ".join(text.split())
        assert "filters at once" not in text
    assert "Its page shows its runs so far" in client.get("/compare/?study=begun").content.decode()
    text = client.get("/compare/?filesystem=xfs").content.decode()
    assert "No score passes this filter:" in text
    # One of two that has scores is compared, and the filter in the way is named.
    text = client.get("/compare/?study=graphs&study=lab&filesystem=xfs").content.decode()
    assert "has no scores and no tables" in text
    assert "take all file systems" in text


def test_papers_that_printed_graphs_alone_are_led_to(client, published_studies):
    for slug, has_scores in (("freenix-2002", False), ("galli-2001", True)):
        text = client.get(f"/compare/?study={slug}").content.decode()
        assert (f'<a href="/studies/{slug}/">' in text) is not has_scores
        assert ("has no scores and no tables" in text) is not has_scores
        assert "Loosen one of them" not in text


def test_it_says_in_english_what_it_shows(client):
    make_study("lab", title="Our lab")
    make_score("ext4", study="lab")
    text = client.get("/compare/?study=lab&test=write&by=configuration").content.decode()
    assert "Configurations, each on its own; study Our lab; test Write; all categories." in text
    assert 'value="lab" checked' in text


def test_the_links_beside_it_show_the_same(client):
    make_score("ext4")
    query = "study=lab&amp;test=write&amp;by=configuration"
    text = client.get("/compare/?by=configuration&test=write&study=lab").content.decode()
    assert f'href="/compare/deltas.csv?{query}"' in text
    assert f'href="/api/v1/deltas?{query}"' in text
    assert f'hx-get="/compare/charts/write/?{query}"' in text


def test_page_csv_and_api_show_the_same_numbers(client):
    make_score("ext4", 1.5)
    make_score("xfs", 3)
    csv = client.get("/compare/deltas.csv").content.decode()
    api = client.get("/api/v1/deltas").json()
    first = api["tables"][0]["rows"][0]
    assert (first["contender"], first["delta1_percent"]) == ("ext4", 50.0)
    assert "ext4,,1.5,KB/s,false,50.0,-100.0" in csv


@pytest.mark.parametrize("path", ["/compare/", "/compare/deltas.csv", "/compare/charts/write/"])
@pytest.mark.parametrize("query", ["study=nope", "category=median", "colour=red", "test=%00"])
def test_it_refuses_what_does_not_exist(client, path, query):
    make_score("ext4")
    answer = client.get(f"{path}?{query}")
    assert answer.status_code == 400
    assert "cannot be shown" in answer.content.decode()


def test_a_refusal_escapes_what_was_asked(client):
    text = client.get("/compare/?study=<script>alert(1)</script>").content.decode()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_names_from_imports_are_escaped(client):
    make_score("<b>x</b>", filesystem="ext4", test="<i>t</i>", unit="<u>s</u>", hardware="<p>")
    text = client.get("/compare/?by=configuration").content.decode()
    for tag in ("<b>x", "<i>t", "<u>s", "<p>\n"):
        assert tag not in text


def test_an_empty_comparison_says_which_filter_to_loosen(client):
    make_score("ext4", test="write")
    make_score("xfs", test="read")
    text = client.get("/compare/?test=write&filesystem=xfs").content.decode()
    assert "No score matches." in text
    assert '<a href="/compare/?test=write&amp;papers=no">take all file systems</a></li>' in text
    assert '<a href="/compare/?filesystem=xfs&amp;papers=no">take all tests</a></li>' in text


def test_without_any_score_it_says_where_they_come_from(client):
    text = client.get("/compare/").content.decode()
    assert "/runs/new/" in text
    assert "/imports/new/" in text


def test_charts_are_data_with_a_text_alternative(client):
    make_score("ext4", 1)
    make_score("xfs", 2)
    make_score("xfs", 2, category="minimum")
    text = client.get("/compare/charts/write/").content.decode()
    assert "xfs 2.00 KB/s; ext4 1.00 KB/s" in text
    panels = json.loads(
        re.search(r'<script id="[^"]+" type="application/json">(.+?)</script>', text)[1]
    )
    assert [panel["label"] for panel in panels] == ["Maximum", "Minimum"]


def test_a_chart_of_a_test_that_is_not_shown_is_not_found(client):
    make_score("ext4")
    assert client.get("/compare/charts/read/").status_code == 404


def test_a_test_with_an_odd_name_has_its_chart(client):
    make_score("ext4", test="50/50 mix?")
    text = client.get("/compare/?papers=yes").content.decode()
    address = re.search(r'hx-get="(/compare/charts/[^"]+)"', text)[1]
    assert address == "/compare/charts/50%2F50%20mix%3F/?papers=yes"


def test_only_signed_in_people_are_offered_to_share(client, jo):
    make_score("ext4")
    assert "Sign in for a permalink" in client.get("/compare/?test=write").content.decode()
    client.force_login(jo)
    assert ">Permalink</button>" in client.get("/compare/?test=write").content.decode()


def test_its_filters_list_what_the_chosen_studies_contain(client):
    for study, labels, test in (("a", ("ext4", "xfs"), "write"), ("b", ("jfs", "zfs"), "read")):
        for label in labels:
            make_score(label, study=study, test=test)
            make_score(label, study=study, test="mkfs", category="mean", unit="s")

    def offered(query):
        form = client.get(f"/compare/?{query}").context["form"]
        return {
            group.parameter: [value for value, *_ in group.choices] for group in form["filters"]
        }

    one = offered("study=a")
    assert one["study"] == ["a", "b"]
    assert (sorted(one["test"]), one["filesystem"]) == (["mkfs", "write"], ["ext4", "xfs"])
    # What the address asks for stays, though only another study has it.
    assert sorted(offered("study=a&test=read")["test"]) == ["mkfs", "read", "write"]
    assert offered("study=a&study=b")["filesystem"] == ["ext4", "jfs", "xfs", "zfs"]


def test_the_page_takes_a_constant_number_of_queries(
    client, published_studies, django_assert_num_queries
):
    # What is hidden from the visitor; five of what there is to choose from; tables, configurations,
    # the best scores, their series, their rows, and of a paper what it printed: no other score is
    # read. Of scores that do not know their runs the finished ones of
    # their series. And how many runs and which work profiles there are.
    with django_assert_num_queries(15):
        client.get("/compare/?study=unisys-2005")
    for number in range(20):
        make_run(make_score(f"ext{number}").series)
    with django_assert_num_queries(18):
        client.get("/compare/?papers=yes")


@pytest.mark.parametrize("by", ["filesystem", "kernel", "configuration"])
def test_page_and_api_count_runs_alike(client, by):
    for label in ("ext4", "ext4_noatime", "xfs"):
        make_run(make_score(label, kernel="6.1.0").series)

    def counted(address):
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(f"{address}?study=lab&by={by}")
        alone = [query["sql"] for query in queries if query["sql"].startswith("SELECT COUNT(*)")]
        return answer, sum('FROM "studies_run"' in sql for sql in alone)

    page, by_page = counted("/compare/")
    answer, by_api = counted("/api/v1/comparison")
    assert page.context["runs"] == answer.json()["run_count"] == 3
    assert by_page == by_api == 1


@pytest.mark.parametrize("parameter", ["kernel", "test", "part_test", "nonsense"])
def test_a_refusal_stays_small_however_much_is_unknown(client, parameter):
    for number in range(30):
        make_score(f"ext4_{number}", kernel=f"6.{number}.0-{'x' * 60}", test=f"t{number}")
    many = "&".join(f"{parameter}={n}{'y' * 10}" for n in range(300))
    query = many if parameter != "nonsense" else "&".join(f"nonsense{n}=1" for n in range(300))
    page = client.get(f"/compare/?{query}")
    assert page.status_code == 400
    alert = re.search(r'role="alert">(.*?)</div>', page.content.decode(), re.S)[1]
    assert len(alert) < 5000
    assert "and 297 more (300 in all)" in alert
    for path in ("deltas", "comparison", "findings", "exports/deltas.csv"):
        answer = client.get(f"/api/v1/{path}?{query}")
        assert answer.status_code == 422, path
        assert len(answer.content) < 5000
        assert "and 297 more (300 in all)" in answer.json()["detail"]


def test_it_only_reads(client):
    assert client.post("/compare/").status_code == 405
    assert client.post("/compare/deltas.csv").status_code == 405
