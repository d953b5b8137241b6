"""Without a choice of studies a page shows what it can, and says so; CSV and API show all."""

import pytest

from fsbench_web.compare import bounds
from fsbench_web.compare.spec import ComparisonSpec
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(monkeypatch):
    """Three studies of two scores each, and room for four."""
    for study in ("first", "second", "third"):
        for filesystem in ("ext4", "xfs"):
            make_score(filesystem, study=study)
    monkeypatch.setattr(bounds, "MOST_SCORES", 4)


def test_the_latest_studies_that_fit_are_taken(many):
    found = bounds.bounded(ComparisonSpec())
    assert (found.spec.studies, found.studies) == (("second", "third"), 3)


def test_a_choice_of_studies_or_what_fits_is_left_as_it_is(many):
    for spec in (
        ComparisonSpec(studies=("first", "second", "third")),
        ComparisonSpec(tests=("x",)),
    ):
        assert bounds.bounded(spec) == bounds.Bounded(spec)


def test_one_study_is_shown_however_large(many, monkeypatch):
    monkeypatch.setattr(bounds, "MOST_SCORES", 1)
    assert bounds.bounded(ComparisonSpec()).spec.studies == ("third",)


def test_the_page_says_so_and_csv_has_all(client, many):
    page = client.get("/compare/").content.decode()
    assert "Of 3 studies the latest are shown: 2." in page
    assert "first" in client.get("/compare/deltas.csv?by=study").content.decode()
    assert "first" not in client.get("/api/v1/deltas?by=study&study=third").content.decode()
    rows = client.get("/api/v1/deltas?by=study").json()["tables"][0]["rows"]
    assert {row["contender"] for row in rows} == {"first", "second", "third"}
