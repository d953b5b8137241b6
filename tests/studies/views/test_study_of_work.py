"""The page of a study that is ranked by somebody's own work, as its comparison is."""

import html
import re

import pytest
from django.test import Client

from tests.compare.tables.test_work_profiles import GB, RANGE, SIZES, at, database, make
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db


def text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def answer_of(page: str) -> str:
    return text(page[page.index('id="answer"') :].partition("</section>")[0])


@pytest.fixture(scope="module")
def two(module_db: None) -> None:
    # By all tests ext4 comes first: its re-reads are not in the profile.
    ext4 = database("ext4", 200, 100, repeats=2)
    xfs = database("xfs", 400, 400, repeats=2)
    for series, speed in ((ext4, 1e9), (xfs, 1.0)):
        finished(series, at("reread", 8, 8, speed))


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("profile=oltp", "for OLTP database, version 1"),
        (RANGE, "for Random write, 8 KB to 16 KB in files of 1 GB to 4 GB"),
        (f"{RANGE}&operation=random_read", "for All operations of the range, alike"),
    ],
)
def test_its_answer_follows_a_profile_or_a_range_on_every_tab(
    client: Client, query: str, by: str
) -> None:
    alone = client.get("/studies/lab/").content.decode()
    assert "No clear winner: ext4" in answer_of(alone)
    assert "Rank by tests alone" not in alone
    compared = answer_of(client.get(f"/compare/?study=lab&{query}").content.decode())
    addresses = set()
    for tab in ("summary", "tests", "charts", "setup", "runs"):
        page = client.get(f"/studies/lab/?tab={tab}&{query}").content.decode()
        answer = answer_of(page)
        assert 'data-leader="xfs"' in page
        assert by in answer
        assert "Slower" not in answer
        assert "Rank by tests alone" in page
        # The same lines as those of the comparison.
        assert answer.partition("Baseline")[0] == compared.partition("Baseline")[0]
        # Its tabs and files keep what it is ranked by.
        assert page.count("profile=oltp") + page.count("block=8k-16k") > 8
        tabs = re.findall(
            r'href="/studies/lab/(\?[^"#]*tab=(?:tests|charts)[^"#]*(?:profile|block)=[^"#]*)"',
            page,
        )
        assert tabs, tab
        addresses.update(tabs)
    for address in addresses:
        followed = client.get(f"/studies/lab/{html.unescape(address)}").content.decode()
        assert 'data-leader="xfs"' in followed


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("address", ["/studies/lab/?", "/compare/?study=lab&"])
def test_what_nobody_measured_can_be_measured(client: Client, address: str) -> None:
    page = client.get(f"{address}profile=mail")
    assert not page.context["tables"]
    assert "Measure what is missing" in page.content.decode()
    assert "Rank by tests alone" in page.content.decode()


@pytest.mark.parametrize("address", ["/studies/lab/?", "/compare/?study=lab&"])
def test_what_was_not_measured_is_said_before_the_answer(client: Client, address: str) -> None:
    for filesystem in ("ext4", "xfs"):
        finished(make(filesystem), *[at("random_read", *cell, 400) for cell in SIZES])
        finished(make(filesystem), at("random_write", 64, GB, 3e6))
    page = client.get(f"{address}profile=oltp").content.decode()
    work = page[page.index('id="work"') :]
    assert "6 of 12 cells of your work measured" in text(work)
    assert "nearest measured is" in text(work)
    assert "Measure what is missing" in work
    database("btrfs", 200, 100)
    page = client.get(f"{address}profile=oltp").content.decode()
    first, mark, _ = page.partition('id="answer"')
    assert mark
    assert "12 of 12 cells of your work measured, all of them by 1 of 3 entries" in text(first)
    assert "Measure what is missing" in first


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("block=16k-8k&file=1g-4g", "16k-8k"),
        ("profile=oltp@99", 'There is no profile "oltp@99"'),
        ("profile=oltp&operation=write", "by a profile or by a range of sizes"),
    ],
)
def test_a_refused_profile_or_range_is_said_before_the_answer(
    client: Client, query: str, message: str
) -> None:
    for tab in ("summary", "tests"):
        page = client.get(f"/studies/lab/?tab={tab}&{query}")
        first, mark, _ = page.content.decode().partition('id="answer"')
        assert mark
        assert message in text(first), tab
        assert len(page.context["unknown_parts"]) == 1


@pytest.mark.usefixtures("two")
def test_the_answer_of_its_report_is_that_of_the_profile(client: Client) -> None:
    page = client.get("/studies/lab/report/?profile=oltp").content.decode()
    assert 'data-leader="xfs"' in page
    assert "as fast as ext4 for OLTP database, version 1" in text(page)
    assert "No clear winner" not in page


def test_each_workload_has_an_answer_of_its_own(client: Client) -> None:
    """Five tests of one workload do not outvote, nor average with, one of another."""
    big, small = make("ext4", workload="big"), make("xfs", workload="big")
    for series, speed in ((big, 2.0), (small, 1.0)):
        names = ("read", "reread", "write", "rewrite", "random_read")
        finished(series, *[at(name, 8, 8, speed) for name in names])
    for series, speed in (
        (make("ext4", workload="little"), 1.0),
        (make("xfs", workload="little"), 1e9),
    ):
        finished(series, at("random_write", 8, 8, speed))
    answer = answer_of(client.get("/studies/lab/").content.decode())
    assert "big: No clear winner: ext4 2.00× xfs." in answer
    assert "little: No clear winner: xfs 1,000,000,000× ext4." in answer
