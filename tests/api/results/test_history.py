"""Whose runs a line holds, as the API is asked and as it answers."""

import pytest
from django.test import Client

from fsbench_web.studies.models import Study
from tests.compare.history.test_history import measured

pytestmark = pytest.mark.django_db


def test_a_line_is_of_its_team_or_of_the_studies_asked_for(client: Client) -> None:
    for version in ("6.1", "6.2"):
        series = measured(version, 100).series
        measured(version, 101, study="weekly")
    measured("6.1", 500, study="other")
    Study.objects.filter(slug="other").update(team=None)

    def runs(*studies: str) -> tuple[int, str | None]:
        query = {"series": series.pk, "test": "write", "study": studies}
        body = client.get("/api/v1/history", query).json()
        return sum(len(point["runs"]) for point in body["points"]), body["team"]

    assert runs() == (4, "Lab")
    assert runs("nightly") == (2, None)
    assert runs("nightly", "weekly", "other", "nightly") == (5, None)
    (line,) = client.get("/api/v1/history/lines?study=nightly&study=weekly").json()["lines"]
    assert line["runs"] == 4


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("history?series={}&study=weekly", 422, "is of the study nightly: name it"),
        ("history?series={}&study=none", 404, "no study"),
        ("history?series={}" + "&study=nightly" * 21, 422, "study"),
        ("history/lines", 422, "study"),
        ("history/lines?study=nightly&study=none", 404, "no study"),
    ],
)
def test_what_is_no_line_is_refused(client: Client, query: str, status: int, says: str) -> None:
    series = measured("6.1", 100).series
    measured("6.1", 101, study="weekly")
    answer = client.get(f"/api/v1/{query.format(series.pk)}")
    assert (answer.status_code, says in answer.content.decode()) == (status, True)


def test_lines_are_listed_a_page_at_a_time(client: Client) -> None:
    for filesystem in ("ext4", "xfs", "btrfs"):
        measured("6.1", 100, study="lines", filesystem=filesystem)
    whole = client.get("/api/v1/history/lines?study=lines").json()
    assert (whole["total"], whole["limit"], len(whole["lines"])) == (3, 100, 3)
    pages = [
        client.get(f"/api/v1/history/lines?study=lines&limit=2&offset={offset}")
        for offset in (0, 2)
    ]
    assert [len(page.json()["lines"]) for page in pages] == [2, 1]
    assert [line for page in pages for line in page.json()["lines"]] == whole["lines"]
    assert 'rel="next"' in pages[0]["Link"]
    assert pages[1]["X-Total-Count"] == "3"
    assert client.get("/api/v1/history/lines?study=lines&limit=501").status_code == 422
