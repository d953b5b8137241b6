"""Filters that choose nothing beside a work profile are in a notice, with the ways out of that."""

import html
import re

import pytest
from django.test import Client

from fsbench_web.compare.selection.spec import ComparisonSpec, set_aside
from tests.compare.conftest import make_score
from tests.compare.tables.test_work_profiles import RANGE, database

SAID = "of this address choose"


@pytest.mark.parametrize(
    ("query", "sentence", "without_filters", "instead"),
    [
        (
            "study=lab&test=write&profile=oltp",
            "Test of this address chooses nothing",
            "study=lab&profile=oltp",
            "study=lab&test=write",
        ),
        (
            f"category=overall&test=write&{RANGE}",
            "Test and category of this address choose nothing",
            "block=8k-16k&file=1g-4g&operation=random_write",
            "test=write&category=overall",
        ),
    ],
)
def test_the_addresses_without_these_filters_and_by_them(query, sentence, without_filters, instead):
    notice = set_aside(ComparisonSpec.from_query(query))
    assert notice is not None
    assert notice.sentence.startswith(sentence)
    assert (notice.without_filters, notice.by_filters) == (without_filters, instead)


@pytest.mark.parametrize("query", ["", "profile=oltp", "category=profile:oltp", "test=write"])
def test_nothing_is_said_where_every_filter_chooses(query):
    assert set_aside(ComparisonSpec.from_query(query)) is None


@pytest.fixture
def _measured(db):
    database("ext4", 200, 100)
    database("xfs", 400, 400)


def _notice(page: str) -> tuple[str, list[str]]:
    """The notice, and the addresses that it offers."""
    [notice] = re.findall(r'<div class="notice is-warn" id="set-aside".*?</div>', page, re.S)
    return notice, [html.unescape(address) for address in re.findall(r'href="([^"]+)"', notice)]


@pytest.mark.usefixtures("_measured")
@pytest.mark.parametrize("address", ["/compare/", "/compare/tests/"])
def test_pages_say_it_once_in_a_notice_and_offer_the_address_without(address: str, client: Client):
    answer = client.get(f"{address}?profile=oltp&test=write&category=overall")
    assert answer.status_code == 200
    page = answer.content.decode()
    notice, offered = _notice(page)
    assert SAID in notice
    assert page.count(SAID) == 1
    assert offered[0].startswith(f"{address}?profile=oltp")
    assert "test=" not in offered[0]
    assert "category=" not in offered[0]
    assert "profile" not in offered[1]
    following = client.get(offered[0])
    assert following.status_code == 200
    assert SAID not in following.content.decode()


@pytest.mark.usefixtures("_measured")
def test_findings_and_charts_say_it_too(client: Client):
    query = "profile=oltp&test=write"
    findings = client.get(f"/api/v1/findings?{query}").json()
    assert SAID in findings["notes"][0]
    assert client.get("/api/v1/findings?profile=oltp").json()["notes"] == []
    make_score("ext4", 50, test="write", category="maximum")
    assert SAID in client.get(f"/compare/pictures/?picture=bars&{query}").content.decode()


@pytest.mark.usefixtures("_measured")
def test_the_address_of_an_image_has_only_what_its_numbers_rest_on(client: Client):
    page = client.get("/compare/image.svg?profile=oltp&test=write&category=overall")
    text = html.unescape(page.content.decode())
    assert "profile=oltp%401" in text
    assert "test=write" not in text
