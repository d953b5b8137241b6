"""What pages, API and comparisons show of quality flags."""

import pytest
from django.test import Client

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.studies.models import Run, Score, Series, Study
from tests.studies.scores.test_quality import falling, flat, measured, series_of

CLOCK_LIMITED = {(4, 1024): 1024 / 50e-6}
pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    return Study.objects.create(slug="lab", title="Lab")


def page_of(client: Client, run: Run) -> str:
    return " ".join(client.get(f"/runs/{run.pk}/").content.decode().split())


def test_a_run_lists_its_flags_with_counts_and_what_they_mean(client: Client, study: Study) -> None:
    page = page_of(client, measured(series_of(study), flat() | CLOCK_LIMITED))
    assert '<span class="flag">timer resolution</span>' in page
    assert "1 of 18" in page
    assert "A data point took fewer than 100 ticks" in page
    assert "limited by the timer resolution: 1 cell" in page
    assert "What the device can deliver is not known, so no data point was judged by it" in page


def test_a_run_says_where_the_cache_ends(client: Client, study: Study) -> None:
    page = page_of(client, measured(series_of(study), falling()))
    assert "between files of 4 MB and 8 MB; files within it are 10.0 times as fast" in page
    assert "(seen in 3 of 3 block sizes)" in page
    assert "No number of this run carries a flag." in page


def test_a_run_that_drifted_says_so(client: Client, study: Study) -> None:
    page = page_of(client, measured(series_of(study), flat(), drift_percent=12.5))
    assert '<span class="flag">drifted</span>' in page


def test_a_run_from_before_there_were_flags_says_what_to_do(client: Client, study: Study) -> None:
    run = measured(series_of(study), flat())
    Series.objects.update(quality=None)
    assert "manage.py reflag" in page_of(client, run)


def test_the_heat_maps_of_a_study_are_hatched_too(client: Client, study: Study) -> None:
    measured(series_of(study), falling() | CLOCK_LIMITED)
    page = client.get(f"/studies/{study.slug}/matrix/?test=read").content.decode()
    assert "limited by the timer resolution: 1 cell" in page
    assert "cache boundary" in page


def test_a_comparison_of_sound_cells_says_what_it_is_without(client: Client, study: Study) -> None:
    measured(series_of(study), flat() | CLOCK_LIMITED)
    [row] = delta_tables(ComparisonSpec(categories=("total_average",), cells="sound"))[0].rows
    words = "1 data point left out: 1 limited by the timer resolution, 1 a lone spike"
    assert row.left_out_words == words
    page = client.get("/compare/?category=total_average&cells=sound").content.decode()
    assert row.left_out_words in page
    assert row.left_out_words not in client.get("/compare/?category=total_average").content.decode()


def test_of_several_repeats_numbers_are_counted(study: Study) -> None:
    series = series_of(study)
    measured(series, flat() | CLOCK_LIMITED)
    measured(series, flat(1001))
    [row] = delta_tables(ComparisonSpec(categories=("total_average",), cells="sound"))[0].rows
    assert row.left_out_words == (
        "1 of 36 numbers left out: 1 limited by the timer resolution, 1 a lone spike"
    )


def test_the_api_names_flags_and_leaves_nothing_out_by_default(
    client: Client, study: Study
) -> None:
    measured(series_of(study), flat() | CLOCK_LIMITED)

    def maximum(query: str) -> dict[str, object]:
        tables = client.get(f"/api/v1/deltas?category=maximum{query}").json()["tables"]
        row: dict[str, object] = tables[0]["rows"][0]
        return row

    assert maximum("")["score"] == pytest.approx(1024 / 50e-6)
    assert maximum("")["flags"] == ["clock", "spike"]
    assert maximum("&cells=sound")["score"] == 1016
    assert maximum("&cells=sound")["flags"] == []


def test_a_selection_of_which_nothing_is_left_has_no_row(client: Client, study: Study) -> None:
    measured(series_of(study), flat(), is_contended=True)
    assert client.get("/api/v1/deltas?cells=sound").json() == {"tables": []}
    assert Score.objects.exists()
