"""Filters by options of mkfs and mount: in the address, on the page, in files, links and words."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.selection import properties
from fsbench_web.compare.selection.fields import FILTERS
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.choices import score_choices
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_score, make_study

pytestmark = pytest.mark.django_db
NAMES = {
    "plain": {},
    "small": {"block_size": "1024"},
    "large": {"block_size": "4096"},
    "quiet": {"atime": "noatime"},
    "both": {"block_size": "4096", "atime": "noatime,nodiratime", "journal_mode": "writeback"},
}


@pytest.fixture
def scores() -> None:
    for value, options in enumerate(NAMES.values(), 1):
        make_known(value, **options)
    make_score("ext4_by_hand", 9, study="lab")


def make_known(value: float, study: str = "lab", **options: str) -> None:
    Score.objects.create(
        series=series_for(make_study(study), configuration_for("ext4", options)),
        **{"test": "write", "category": "maximum", "value": value, "unit": "KB/s", "repeats": 1},
    )


def shown_names(query: str) -> set[str]:
    """Which of NAMES a comparison of single configurations shows; what is not known is "hand"."""
    tables = delta_tables(ComparisonSpec.from_query(f"by=configuration&{query}"))
    names = [*NAMES, *["-"] * 3, "hand"]
    return {names[int(row.score) - 1] for table in tables for row in table.rows}


@pytest.mark.usefixtures("scores")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("mkfs=block_size%3D4096", {"large", "both"}),
        ("mkfs=block_size%3D4096&mkfs=block_size%3D1024", {"small", "large", "both"}),
        ("mount=journal_mode%3Dwriteback", {"both"}),
        ("mount=atime%3Dnoatime", {"quiet"}),
        ("mount=atime%3Dnoatime,nodiratime", {"both"}),
        ("mount=atime%3Dnoatime&mount=journal_mode%3Dwriteback", set()),
        (
            "mount=atime%3Dnoatime&mount=atime%3Dnoatime,nodiratime&mount=journal_mode%3Dwriteback",
            {"both"},
        ),
        ("mkfs=block_size%3D4096&mount=defaults", {"large"}),
        ("mkfs=defaults", {"plain", "quiet"}),
        ("mkfs=defaults&mkfs=block_size%3D1024", {"plain", "quiet", "small"}),
        ("mkfs=unknown", {"hand"}),
    ],
)
def test_a_configuration_passes_with_every_option_asked_for(query: str, expected: set[str]) -> None:
    assert shown_names(query) == expected


def test_one_option_may_be_of_mount_here_and_of_mkfs_there() -> None:
    """Btrfs is mounted with compression; bcachefs, NTFS and ZFS are made with it."""
    for value, filesystem in enumerate(("btrfs", "zfs"), 1):
        Score.objects.create(
            series=series_for(
                make_study("lab"), configuration_for(filesystem, {"compression": "zstd"})
            ),
            **{"test": "write", "category": "maximum", "value": value, "unit": "KB/s"},
            repeats=1,
        )
    choices = score_choices()
    for stage, value in (("mount", 1), ("mkfs", 2)):
        [entry] = [entry for entry in FILTERS if entry.parameter == stage]
        labels = [label for _, label in entry.offered(choices)]
        assert labels == ["compression=zstd", "defaults"]
        [table] = delta_tables(
            ComparisonSpec.from_query(f"by=configuration&{stage}=compression%3Dzstd")
        )
        assert [row.score for row in table.rows] == [value]


@pytest.mark.usefixtures("scores")
@pytest.mark.parametrize("by", ["filesystem", "kernel"])
def test_the_best_are_chosen_from_what_passes(by: str) -> None:
    """By configurations, and by series."""
    [table] = delta_tables(ComparisonSpec(by=by, mkfs=("block_size=1024", "block_size=4096")))
    assert [(row.score, row.configurations) for row in table.rows] == [(5.0, 3)]
    [table] = delta_tables(ComparisonSpec(by=by, mkfs=("block_size=1024",)))
    assert [(row.score, row.configurations) for row in table.rows] == [(2.0, 1)]


@pytest.mark.usefixtures("scores")
def test_the_form_offers_what_is_measured_and_says_how_it_goes_together(client: Client) -> None:
    make_known(1, block_size="2048")
    page = client.get("/compare/?mount=atime%3Dnoatime").content.decode()
    offered = re.findall(r'name="(mkfs|mount)" value="([^"]+)"( checked)?', page)
    assert offered == [
        ("mkfs", "block_size=1024", ""),
        ("mkfs", "block_size=2048", ""),
        ("mkfs", "block_size=4096", ""),
        ("mkfs", "defaults", ""),
        ("mkfs", "unknown", ""),
        ("mount", "atime=noatime", " checked"),
        ("mount", "atime=noatime,nodiratime", ""),
        ("mount", "defaults", ""),
        ("mount", "journal_mode=writeback", ""),
        ("mount", "unknown", ""),
    ]
    assert page.count("A configuration must have every option ticked") == 2
    assert "mount options atime=noatime; without published papers." in page


@pytest.mark.usefixtures("scores")
def test_the_form_costs_no_further_query(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(16):
        client.get("/compare/?papers=yes")
    with django_assert_num_queries(16):
        client.get("/compare/?mkfs=block_size%3D4096&mount=defaults&papers=yes")


def test_options_of_hidden_studies_are_not_offered(client: Client, jo: User) -> None:
    make_known(1, block_size="1024")
    make_study("secret", visibility="private", created_by=jo)
    make_known(2, study="secret", block_size="4096")
    public = client.get("/compare/?papers=yes").content.decode()
    assert "block_size=4096" not in public
    answer = client.get("/compare/?mkfs=block_size%3D4096")
    assert answer.status_code == 400
    # The answer names those that are there, as it would for an option that nobody ever had.
    assert "There is no mkfs &quot;block_size=4096&quot;" in answer.content.decode()
    client.force_login(jo)
    assert "block_size=4096" in client.get("/compare/?papers=yes").content.decode()


@pytest.mark.usefixtures("scores")
def test_files_and_the_api_take_the_same_filters(client: Client) -> None:
    query = "mkfs=block_size%3D4096&mount=atime%3Dnoatime%2Cnodiratime"
    csv = client.get(f"/compare/deltas.csv?{query}").content.decode()
    assert len(csv.splitlines()) == 2
    content = json.loads(client.get(f"/compare/deltas.json?{query}").content)
    assert "mkfs options block_size=4096; mount options atime=noatime," in content["description"]
    assert content["address"].endswith(f"{query}&papers=yes")
    rows = client.get(f"/api/v1/deltas?{query}").json()["tables"][0]["rows"]
    assert [row["score"] for row in rows] == [5.0]
    answer = client.get(f"/api/v1/comparison?{query}").json()
    assert answer["query"] == query
    assert client.get("/api/v1/deltas?mkfs=block_size%3D7").status_code == 422


@pytest.mark.usefixtures("scores")
def test_a_permalink_keeps_them(client: Client, jo: User) -> None:
    client.force_login(jo)
    client.post("/compare/pin/", {"query": "mkfs=block_size%3D1024", "title": "Small blocks"})
    link = Permalink.objects.get()
    page = client.get(f"/p/{link.key}/").content.decode()
    assert "mkfs options block_size=1024" in page
    assert "mkfs=block_size%3D1024" in page


@pytest.mark.usefixtures("scores")
def test_an_empty_comparison_offers_to_take_any_options(client: Client) -> None:
    page = client.get("/compare/?mkfs=block_size%3D1024&mount=atime%3Dnoatime").content.decode()
    assert (
        '<a href="/compare/?mkfs=block_size%3D1024&amp;papers=no">take any mount options</a></li>'
        in page
    )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a=1"], "a=1"),
        (["a=1", "b=2"], "a=1 and b=2"),
        (["a=1", "a=2"], "a=1 or a=2"),
        (["a=1", "a=2", "b=3"], "a=1 or a=2, and b=3"),
        (["a=1", "b=3", "defaults"], "a=1 and b=3, or defaults"),
        (["a=1", "defaults"], "a=1 or defaults"),
        (["defaults", "not known"], "defaults or not known"),
    ],
)
def test_words_say_how_options_go_together(labels: list[str], words: str) -> None:
    assert properties.options_in_words(labels) == words


def test_contenders_by_all_their_options_are_nothing_to_filter_by() -> None:
    """To have an option is less than to have it and no other."""
    assert ComparisonSpec(by="mkfs").configurations_of("block_size=4096") is None
    assert ComparisonSpec(by="filesystem").configurations_of("ext4") is not None
