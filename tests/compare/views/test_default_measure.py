"""Study page and everything made of a comparison ask one measure where nobody names another."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.pictures.base import PictureSpec, offer
from fsbench_web.compare.pictures.scores import BestCases
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.scoring import categories
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_run, make_score, make_series

AVERAGES = {"total_average"}


@pytest.fixture(autouse=True)
def matrix(db: None) -> None:
    """The average says xfs, every other category and their sum say ext4."""
    for name in ("ext4", "xfs"):
        make_run(make_series(name))
    for category in categories.CATEGORIES:
        is_average = category == "total_average"
        for name, value in (("ext4", 100 if is_average else 300), ("xfs", 200)):
            make_score(name, value, test="rewrite", category=category)


def shown(client: Client, address: str) -> set[str]:
    sections = client.get(address).context["sections"]
    return {table.category for section in sections for table in section.tables}


def test_pages_show_the_average_and_all_categories_where_they_are_asked_for(
    client: Client,
) -> None:
    for page in ("/compare/?study=lab&tab=tests", "/compare/tests/?study=lab"):
        assert shown(client, page) == AVERAGES
        assert shown(client, f"{page}&categories=off") == AVERAGES
        for choice in ("unisys", "on"):  # on: what addresses of before say
            assert shown(client, f"{page}&categories={choice}") == set(categories.CATEGORIES)
        assert shown(client, f"{page}&category=maximum") == {"maximum"}
        assert shown(client, f"{page}&part_category=overall") == {"overall"}
    assert shown(client, "/studies/lab/?tab=tests") == AVERAGES
    assert shown(client, "/studies/lab/?tab=tests&categories=unisys") == set(categories.CATEGORIES)


def test_the_switch_and_what_is_shared_say_what_is_shown(client: Client, jo: User) -> None:
    off, on = (client.get(f"/compare/?study=lab{rest}") for rest in ("", "&categories=unisys"))
    assert 'href="/compare/?categories=unisys&amp;study=lab"' in off.content.decode()
    assert 'href="/compare/?categories=off&amp;study=lab"' in on.content.decode()
    assert on["HX-Push-Url"] == "/compare/?categories=unisys&study=lab"
    client.force_login(jo)
    for rest, expected in (("", AVERAGES), ("&categories=on", set(categories.CATEGORIES))):
        page = client.get(f"/compare/?study=lab{rest}")
        query = page.context["share_query"]
        client.post("/compare/pin/", {"query": query})
        link = Permalink.objects.latest("created_at")
        assert {table.category for table in records.read(link).tables} == expected
        assert not records.changes_since(link, records.read(link)).has_any
        assert shown(client, f"/compare/?tab=tests&{records.latest_query(link)}") == expected


def test_findings_and_charts_are_of_it(client: Client) -> None:
    address = "study=lab"
    findings = client.get(f"/api/v1/findings?{address}").json()["findings"]
    assert [(one["category"], one["is_headline"]) for one in findings] == [("total_average", True)]
    asked = "&".join(f"category={slug}" for slug in categories.CATEGORIES)
    every = client.get(f"/api/v1/findings?{address}&{asked}").json()["findings"]
    assert len(every) == len(categories.CATEGORIES)
    assert [one["category"] for one in every if one["is_headline"]] == ["total_average"]
    spec = ComparisonSpec(studies=("lab",))
    assert BestCases(PictureSpec(spec), "rewrite", offer(spec)).category == "total_average"


def test_the_api_compares_by_it_and_the_contract_of_deltas_stays(client: Client) -> None:
    def of(path: str) -> dict[str, str]:
        tables = client.get(f"/api/v1/{path}").json()["tables"]
        return {
            table["category"]: row["contender"]
            for table in tables
            for row in table["rows"]
            if row["best"]
        }

    assert of("comparison?study=lab") == {"total_average": "xfs"}
    assert set(of("comparison?study=lab&category=maximum&category=overall")) == {
        "maximum",
        "overall",
    }
    assert of("deltas?study=lab") == dict.fromkeys(categories.CATEGORIES, "ext4") | {
        "total_average": "xfs"
    }


def test_published_figures_keep_the_categories_of_their_papers(client: Client) -> None:
    for category in categories.CATEGORIES:
        make_score("jfs", 10, test="rewrite", category=category, study="paper")
    Score.objects.filter(series__study__slug="paper").update(origin="published")
    spec = ComparisonSpec(studies=("paper",))
    assert shown(client, "/compare/?study=paper&tab=tests") == set(categories.CATEGORIES)
    assert BestCases(PictureSpec(spec), "rewrite", offer(spec)).category == "overall"
    tables = client.get("/api/v1/comparison?study=paper").json()["tables"]
    assert {table["category"] for table in tables} == set(categories.CATEGORIES)


def test_a_permalink_of_before_shows_and_continues_what_it_was_of(client: Client, jo: User) -> None:
    every = records.pin(ComparisonSpec(categories=tuple(categories.CATEGORIES)), jo)
    Permalink.objects.filter(pk=every.pk).update(query="study=lab")
    link = Permalink.objects.get(pk=every.pk)
    pinned = records.read(link)
    assert len(json.loads(link.snapshot)["tables"]) == len(categories.CATEGORIES)
    assert not records.changes_since(link, pinned).has_any
    assert shown(client, f"/compare/?tab=tests&{records.latest_query(link)}") == set(
        categories.CATEGORIES
    )


def test_all_categories_of_the_paper_are_there_on_request(client: Client, db: None) -> None:
    for category in ("maximum", "total_average", "overall"):
        make_score("ext4", 100.0, category=category, study="other")
    for query, count in (("", 1), ("&categories=unisys", 3)):
        answer = client.get(f"/api/v1/comparison?study=other{query}")
        assert len(answer.json()["tables"]) == count
    assert len(client.get("/api/v1/deltas?study=other&categories=unisys").json()["tables"]) == 3
