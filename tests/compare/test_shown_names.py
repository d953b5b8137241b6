"""Pages name entries without the scheduler that all of them have; addresses and API keep it."""

import re

import pytest
from django.test import Client

from fsbench_web.core.comparison.rows import shown_names
from tests.compare.conftest import make_score


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["ext4_none", "xfs_ag4_none"], ["ext4", "xfs_ag4"]),
        (["ext4_none_xj", "jfs_xj_none"], ["ext4_xj", "jfs_xj"]),
        (["ext4_none@first", "ext4_none@second"], ["ext4@first", "ext4@second"]),
        # Another scheduler, or none that is known: the names tell them apart.
        (["ext4_none", "ext4_mq-deadline"], ["ext4_none", "ext4_mq-deadline"]),
        (["ext4_none", "xfs"], ["ext4_none", "xfs"]),
        # What is compared is the scheduler, or what is no label.
        (["none", "bfq"], ["none", "bfq"]),
        (["none"], ["none"]),
        ([], []),
    ],
)
def test_a_scheduler_of_all_is_left_out(names: list[str], shown: list[str]) -> None:
    assert shown_names(names) == dict(zip(names, shown, strict=True))


@pytest.fixture
def both(db: None) -> None:
    for label, value in (("ext4_none", 100.0), ("xfs_none", 150.0)):
        for test in ("write", "read"):
            make_score(label, value, test=test)


ADDRESS = "/compare/?study=lab&by=configuration&baseline=ext4_none"


@pytest.mark.django_db
@pytest.mark.parametrize("tab", ["summary", "tests"])
def test_pages_show_short_names_and_their_addresses_the_whole(
    both: None, client: Client, tab: str
) -> None:
    page = client.get(f"{ADDRESS}&tab={tab}&categories=unisys").content.decode()
    # The selection is cited as its address has it.
    cited = "changes against ext4_none."
    shown = re.sub(r"<[^>]*>", "", page.partition("<main")[2]).replace(cited, "")
    assert not re.findall(r".{0,60}_none.{0,20}", shown)
    assert 'data-baseline="ext4"' in page
    assert "baseline=xfs_none" in page


@pytest.mark.django_db
def test_a_scheduler_that_differs_is_shown(both: None, client: Client) -> None:
    for test in ("write", "read"):
        make_score("ext4_bfq", 90.0, test=test)
    page = client.get(ADDRESS).content.decode()
    answer = page.partition('id="answer"')[2].partition("</section>")[0]
    assert {"ext4_bfq", "ext4_none", "xfs_none"} <= set(re.findall(r"\w+_\w+", answer))


@pytest.mark.django_db
def test_the_api_and_files_keep_the_whole_names(both: None, client: Client) -> None:
    query = "study=lab&by=configuration"
    answer = client.get(f"/api/v1/comparison?{query}").json()
    rows = [row["contender"] for table in answer["tables"] for row in table["rows"]]
    assert set(rows) == {"ext4_none", "xfs_none"}
    assert answer["answer"]["runner_up"] == "ext4_none"
    assert "_none" not in answer["answer"]["sentence"]
    file = client.get(f"/api/v1/deltas.csv?{query}").content.decode()
    assert "xfs_none" in file
