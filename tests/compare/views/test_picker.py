"""Compare begins with a choice of studies, and mixes papers with measurements only when asked."""

import re
from typing import Any

import pytest
from django.test import Client

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.studies.models import Study
from tests.compare.conftest import make_run, make_score, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_studies() -> None:
    make_study("paper", title="A paper", is_published=True, published_on="2005-12")
    make_score("jfs", 300, study="paper", test="read")
    make_score("xfs", 200, study="paper")
    make_run(make_score("ext4", 100).series)
    make_score("ext4", 90, test="random_read")


def contenders(answer: Any) -> set[str]:
    tables = [table for section in answer.context["sections"] for table in section.tables]
    return {row.contender for table in tables for row in table.rows}


@pytest.mark.usefixtures("two_studies")
def test_it_begins_with_a_choice_of_studies(client: Client, django_assert_num_queries: Any) -> None:
    for number in range(5):
        make_score(f"ext4_{number}", study=f"lab-{number}")
    make_study("empty")
    # What is hidden, measured, papers, how many of both, their series and their runs.
    with django_assert_num_queries(6):
        page = client.get("/compare/").content.decode()
    assert page.index('href="/compare/?study=lab"') < page.index('href="/compare/?study=paper"')
    assert page.count('name="study"') == 7
    assert 'value="empty"' not in page
    assert "deltas" not in page
    assert contenders(client.get("/compare/?study=lab")) == {"ext4"}


@pytest.mark.usefixtures("two_studies")
def test_the_picker_hides_what_one_must_not_see(client: Client) -> None:
    Study.objects.filter(slug="lab").update(visibility="private")
    page = client.get("/compare/").content.decode()
    assert 'value="lab"' not in page
    assert "ext4" not in page


def test_of_many_studies_the_newest_are_listed(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("fsbench_web.compare.views.compare.MOST_STUDIES", 2)
    for number in range(5):
        make_score("xfs", study=f"lab-{number}")
    page = client.get("/compare/").content.decode()
    assert re.findall('name="study" value="([^"]+)"', page) == ["lab-4", "lab-3"]
    assert '3 more: <a href="/studies/">' in page


@pytest.mark.usefixtures("two_studies")
@pytest.mark.parametrize("query", ["by=filesystem&baseline=", "sort=-score", "min_runs=1"])
def test_papers_are_left_out_unless_asked_for(client: Client, query: str) -> None:
    answer = client.get(f"/compare/?{query}")
    page = answer.content.decode()
    assert contenders(answer) == {"ext4"}
    assert "2 tables of published papers are left out." in page
    assert "papers=no" in answer["HX-Push-Url"]
    address = re.search(r'href="(/compare/\?[^"]+)">Include them', page)[1].replace("&amp;", "&")
    answer = client.get(address)
    assert contenders(answer) == {"ext4", "jfs", "xfs"}
    assert "tables of published papers" not in answer.content.decode()


@pytest.mark.usefixtures("two_studies")
def test_only_tables_that_pass_the_filters_are_said_to_be_left_out(client: Client) -> None:
    assert "1 table of published papers is left out." in (
        client.get("/compare/?test=write").content.decode()
    )
    page = client.get("/compare/?test=random_read").content.decode()
    assert "of published papers" not in page


@pytest.mark.usefixtures("two_studies")
@pytest.mark.parametrize("by", ["filesystem", "configuration", "kernel"])
def test_who_names_a_paper_gets_it(client: Client, by: str) -> None:
    tables = client.get(f"/compare/?study=paper&papers=no&by={by}").context["tables"]
    assert tables == 2
    assert client.get(f"/compare/?papers=only&by={by}").context["tables"] == 2
    assert client.get(f"/compare/?papers=no&by={by}").context["tables"] == 2
    assert client.get(f"/compare/?papers=yes&by={by}").context["tables"] == 3


@pytest.mark.usefixtures("two_studies")
def test_files_of_the_page_hold_what_it_shows_and_the_api_answers_as_ever(client: Client) -> None:
    page = client.get("/compare/?by=filesystem").content.decode()
    csv = re.search(r'href="(/compare/deltas.csv[^"]*)"', page)[1].replace("&amp;", "&")
    assert b"ext4" in client.get(csv).content
    assert b"xfs" not in client.get(csv).content
    answer = client.get("/api/v1/comparison").json()
    assert answer["query"] == ""
    assert len(answer["tables"]) == 3
    count = client.get(answer["links"]["page"]).context["tables"]
    assert count == 3
    assert len(client.get("/api/v1/deltas?papers=no").json()["tables"]) == 2
    assert client.get("/compare/?papers=some").status_code == 400


def test_an_address_says_it_once() -> None:
    assert ComparisonSpec(studies=("lab",), papers="no") == ComparisonSpec(studies=("lab",))
    assert ComparisonSpec(papers="no").to_query() == "papers=no"
    assert ComparisonSpec().on_page.to_query() == "papers=yes"
