"""The delta tables of the page: baseline, order, coverage, and links to what stands behind."""

import re

import pytest

from fsbench_web.compare.selection.fields import SORTS
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.compare.views.table_cells import in_order
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.environments import environment_for
from tests.compare.conftest import make_run, make_score, printed

pytestmark = pytest.mark.django_db


def names(table: DeltaTable) -> list[str]:
    return [row.contender for row in table.rows]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["ext4", "jfs", "xfs"]),
        ("best", ["xfs", "jfs", "ext4"]),
        ("score", ["ext4", "jfs", "xfs"]),
        ("-score", ["xfs", "jfs", "ext4"]),
        ("contender", ["ext4", "jfs", "xfs"]),
        ("-contender", ["xfs", "jfs", "ext4"]),
        ("runs", ["jfs", "xfs", "ext4"]),
        ("-runs", ["xfs", "jfs", "ext4"]),
        ("cells", ["xfs", "jfs", "ext4"]),
        ("-cells", ["jfs", "xfs", "ext4"]),
        ("-change", ["xfs", "jfs", "ext4"]),
    ],
)
def test_rows_can_be_shown_in_another_order_with_what_is_missing_last(sort, order):
    make_score("ext4", 80, repeats=None)
    make_score("jfs", 100, repeats=2, cells=9)
    make_score("xfs", 120, repeats=3, cells=7)
    [table] = delta_tables(ComparisonSpec(baseline="jfs"))
    assert names(in_order(table, sort)) == order


def test_every_order_offered_is_one(client):
    make_score("ext4", 80)
    for sort in SORTS:
        assert client.get("/compare/?papers=yes", {"sort": sort}).status_code == 200, sort


def test_an_order_is_for_the_eye_alone(client):
    make_score("ext4", 80)
    make_score("xfs", 100)
    text = client.get("/compare/?sort=best").content.decode()
    assert text.index(">xfs</a>") < text.index(">ext4</a>")
    csv = client.get("/compare/deltas.csv?sort=best").content.decode()
    assert csv.index("ext4") < csv.index("xfs")


def test_a_change_has_its_sign_and_a_word(client):
    make_score("ext4", 80)
    make_score("xfs", 100)
    make_score("jfs", 120)
    text = client.get("/compare/?baseline=xfs").content.decode()
    assert "Against xfs, %" in text
    assert re.search(r'>\+20\.0</span><span class="sub">faster</span>', text)
    assert re.search(r'>\u221220\.0</span><span class="sub">slower</span>', text)
    assert re.search(r'>0<span class="sub">baseline</span>', text)
    assert '<option value="xfs" selected>xfs</option>' in text
    assert "changes against xfs." in text


def test_a_baseline_that_no_table_has_is_told(client):
    make_score("ext4", 80)
    text = client.get("/compare/?baseline=<b>zfs").content.decode()
    assert "No table has the baseline &lt;b&gt;zfs." in text
    assert "<b>zfs" not in text
    assert client.get("/compare/?baseline=zfs&study=").status_code == 200


def test_coverage_is_said_once_where_it_is_the_same(client):
    make_score("ext4", 80, cells=206, cells_expected=206)
    make_score("xfs", 100, cells=206, cells_expected=206)
    text = client.get("/compare/?papers=yes").content.decode()
    assert "206 of 206 data points each" in text
    assert ">different data points<" not in text


def test_coverage_is_in_every_row_where_it_differs(client):
    make_score("ext4", 80, cells=180, cells_expected=206)
    make_score("xfs", 100, cells=206, cells_expected=206)
    make_score("jfs", 90)
    text = client.get("/compare/?papers=yes").content.decode()
    assert ">180 of 206</td>" in text
    assert ">206 of 206</td>" in text
    assert ">different data points<" in text


def test_what_a_paper_printed_stands_under_what_follows(client):
    make_score("xfs", 200, published=printed(True, "0.00", "0.00"))
    make_score("ext3", 160, published=printed(False, "20.00", "-2.50"))
    text = client.get("/compare/?papers=yes").content.decode()
    assert '20.00<span class="sub"><span class="said">printed </span>20.00</span>' in text
    assert "differs</span>" in text


def test_the_best_configuration_leads_to_its_runs_and_the_contender_to_its_configurations(client):
    score = make_score("ext4_wb", 80)
    make_score("ext4_noatime", 70)
    first, second = make_run(score.series), make_run(score.series)
    text = client.get("/compare/?study=lab&baseline=ext4").content.decode()
    assert f'href="/runs/?runs={first.pk},{second.pk}"' in text
    assert 'href="/compare/?study=lab&amp;filesystem=ext4&amp;by=configuration"' in text
    assert "best of 2" in text
    narrowed = client.get("/compare/?study=lab&filesystem=ext4&by=configuration")
    assert "ext4_noatime" in narrowed.content.decode()


def test_a_published_score_leads_to_its_study(client):
    make_score("ext4_wb", 80, study="paper")
    assert (
        'href="/studies/paper/" title="From Paper"'
        in client.get("/compare/?papers=yes").content.decode()
    )


def test_every_contender_named_leads_to_a_comparison_that_exists(client):
    make_score("ext4_wb", 80, kernel="6.1 Debian", workload="small", hardware="old")
    make_score("xfs", 90)
    for by in ("filesystem", "kernel", "workload", "hardware", "scheduler", "journal", "study"):
        text = client.get(f"/compare/?by={by}").content.decode()
        addresses = re.findall(r'href="(/compare/\?[^"]+)" title="All its', text)
        assert addresses, by
        for address in addresses:
            answer = client.get(address.replace("&amp;", "&"))
            assert answer.status_code == 200
            assert "<table" in answer.content.decode(), address


def test_the_address_says_only_what_is_asked_for(client):
    make_score("ext4", 80)
    answer = client.get("/compare/?by=kernel&baseline=&sort=&cells=&min_runs=1&margin=10&study=lab")
    assert answer["HX-Push-Url"] == "/compare/?study=lab&by=kernel"


def test_many_choices_are_cut_and_counted(client):
    for number in range(205):
        make_score(f"ext4_{number:03}")
    make_score("ext4_zz")
    text = client.get("/compare/?configuration=ext4_zz").content.decode()
    assert 'name="configuration" value="ext4_zz" checked' in text
    assert "6 more are not listed." in text


def test_the_page_with_everything_on_it_takes_a_constant_number_of_queries(
    client, django_assert_num_queries
):
    def more(numbers: range) -> None:
        for number in numbers:
            run = make_run(make_score(f"ext{number}", kernel=f"6.{number}").series)
            environment = environment_for({"Tools": [["fio", f"3.{number}"]]})
            Run.objects.filter(pk=run.pk).update(environment=environment)

    more(range(2))
    address = "/compare/?by=kernel&baseline=6.1&sort=-change&margin=5&papers=yes"
    with django_assert_num_queries(16):
        client.get(address)
    more(range(2, 30))
    with django_assert_num_queries(16):
        client.get(address)


def test_the_api_has_the_change_where_a_baseline_is_asked_for(client):
    make_score("ext4", 80)
    make_score("xfs", 100)
    make_score("ext4", 80, test="read")
    plain = client.get("/api/v1/deltas").json()["tables"][0]["rows"][0]
    assert list(plain) == [
        *("contender", "configuration", "score", "best", "delta1_percent", "delta2_percent"),
        *("runs", "published", "flags"),
    ]
    write, read = client.get("/api/v1/deltas?baseline=xfs&sort=best").json()["tables"]
    assert [row["change_percent"] for row in write["rows"]] == [-20.0, 0.0]
    assert read["rows"][0]["change_percent"] is None
    assert client.get("/api/v1/deltas?margin=ten").status_code == 422
