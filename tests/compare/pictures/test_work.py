"""Somebody's own work among the categories of the charts."""

import html
import re

import pytest
from django.test import Client

from tests.compare.tables.test_work_profiles import RANGE, database, make
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db


def picture_and_page(client: Client, query: str):
    answer = client.get(f"/compare/pictures/?{query}")
    assert answer.status_code == 200, answer.content.decode()[:500]
    return answer.context["shown"], answer.content.decode()


def test_a_work_profile_is_chosen_like_a_category_and_drawn_with_its_intervals(client):
    database("ext4", 200, 100, repeats=3)
    database("xfs", 400, 400, repeats=3)
    picture, page = picture_and_page(client, "of=random_write&in=profile:oltp")
    [bar, *others] = picture.picture.figure.data
    assert list(bar.y) == ["xfs", "ext4"]
    [interval] = [trace for trace in others if (trace.meta or {}).get("role") == "interval"]
    assert len(interval.x) == 2
    assert "OLTP database" in picture.picture.figure.layout.title.text
    assert '<option value="profile:oltp" selected>' in page
    assert '<option value="profile:mail">Your work: ' in page
    assert "12 of 12 cells of your work measured" in page
    csv = client.get("/compare/pictures.csv?of=random_write&in=profile:oltp").content.decode()
    assert "×" in csv.splitlines()[0]
    # A comparison that ranks by it draws it at once, and any category that is chosen after all.
    by_address, _ = picture_and_page(client, "profile=oltp")
    assert list(by_address.picture.figure.data[0].y) == ["xfs", "ext4"]
    other, _ = picture_and_page(client, "profile=oltp&in=total_average&of=random_write")
    assert other.picture.figure.data[0].x[0] > 300
    heat, _ = picture_and_page(client, "profile=oltp&picture=matrix&of=random_write")
    assert heat.picture.figure is not None


def test_a_range_of_sizes_is_drawn_too(client):
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    picture, page = picture_and_page(client, RANGE)
    assert list(picture.picture.figure.data[0].y) == ["xfs", "ext4"]
    assert '<option value="range" selected>' in page


def test_what_was_not_measured_is_said_instead_of_a_chart(client):
    finished(make("ext4"), *[])
    database("xfs", 400, 400)
    picture, _ = picture_and_page(client, "of=random_write&in=profile:mail")
    assert picture.picture.figure is None
    assert "0 of" in picture.picture.notes[0]


@pytest.mark.parametrize("name", ["profile:nope", "profile:oltp@99", "profile:%00", "profile:"])
def test_an_unknown_profile_is_refused(client, name):
    database("xfs", 400, 400)
    assert client.get(f"/compare/pictures/?in={name}").status_code == 400


INSTEAD = "Random read has no mean here; shown is its total average."


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("picture=multiples&profile=oltp", "and not of the work profile oltp: Scores draws that."),
        ("picture=matrix&of=random_read&in=profile:oltp", "not of the work profile oltp"),
        ("of=random_read&in=mean", INSTEAD),
        (
            "category=mean&of=random_read",
            INSTEAD,
        ),
        (f"{RANGE}&of=random_read", "The range is not of Random read; shown is Random write."),
        ("of=nope", "cannot be drawn like this; shown is"),
    ],
)
def test_what_is_shown_instead_is_said_and_no_file_is_of_another(client, query, words):
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    picture, page = picture_and_page(client, query)
    assert any(words in notice for notice in picture.notices), picture.notices
    refused = client.get(f"/compare/pictures.csv?{query}")
    assert refused.status_code == 400
    assert words in refused.content.decode()
    # The file that the page offers is of what it shows.
    own = re.search(r'href="(/compare/pictures\.csv[^"]*)"', page)
    if picture.picture.table is not None:
        assert client.get(html.unescape(own[1])).status_code == 200


def test_a_range_without_sizes_is_refused(client):
    database("xfs", 400, 400)
    answer = client.get("/compare/pictures/?in=range")
    assert answer.status_code == 400
    assert "no range is given" in answer.content.decode()
