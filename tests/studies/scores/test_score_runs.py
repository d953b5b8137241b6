"""Which runs a score is made of: those that measured its test, in its region and selection."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.scores import ingest
from tests.compare.conftest import make_score
from tests.studies.scores.test_quality import flat, measured, series_of

pytestmark = pytest.mark.django_db

OUTSIDE_ALL_TARGETS = {(4, 2**26): 10.0}


@pytest.fixture
def study(db: None) -> Study:
    return Study.objects.create(slug="lab", title="Lab")


@pytest.fixture
def series(study: Study) -> Series:
    return series_of(study)


def runs_of(series: Series, test: str, category: str, selection: str = "all") -> list[int] | None:
    return Score.selections.get(
        series=series, test=test, category=category, selection=selection
    ).run_ids


def test_a_run_that_did_not_measure_the_test_is_none_of_its_runs(series: Series) -> None:
    first = measured(series, flat(), "read")
    second = measured(series, flat(), "write")
    third = measured(series, flat(), "read")
    assert runs_of(series, "read", "total_average") == [first.pk, third.pk]
    assert runs_of(series, "write", "maximum") == [second.pk]


def test_a_run_without_cells_in_the_region_is_none_of_its_runs(series: Series) -> None:
    inside = measured(series, flat())
    outside = measured(series, OUTSIDE_ALL_TARGETS)
    assert runs_of(series, "read", "specfp_ta") == [inside.pk]
    assert runs_of(series, "read", "maximum") == [inside.pk, outside.pk]
    assert runs_of(series, "read", "overall") == [inside.pk, outside.pk]


def test_a_selection_names_only_the_runs_of_which_it_leaves_something(series: Series) -> None:
    alone = measured(series, flat())
    beside = measured(series, flat(), is_contended=True)
    assert runs_of(series, "read", "total_average") == [alone.pk, beside.pk]
    assert runs_of(series, "read", "total_average", "sound") == [alone.pk]


def test_large_series_name_the_same_runs(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MOST_AT_ONCE", 0)
    first = measured(series, flat(), "read")
    measured(series, flat(), "write")
    outside = measured(series, OUTSIDE_ALL_TARGETS, "read")
    assert runs_of(series, "read", "specfp_ta") == [first.pk]
    assert runs_of(series, "read", "minimum") == [first.pk, outside.pk]


def test_a_value_without_sizes_names_its_runs(series: Series) -> None:
    first = measured(series, {(None, None): 3.0}, "mkfs", "s")  # type: ignore[dict-item]
    measured(series, flat(), "read")
    assert runs_of(series, "mkfs", "mean") == [first.pk]


@pytest.mark.parametrize("by", ["filesystem", "configuration", "kernel"])
@pytest.mark.parametrize("cells", ["", "sound"])
def test_as_many_runs_are_named_as_are_counted(series: Series, by: str, cells: str) -> None:
    measured(series, flat(), "read")
    measured(series, flat(), "write")
    measured(series, flat(), "write", is_contended=True)
    measured(series, OUTSIDE_ALL_TARGETS, "read")
    counts = {
        (table.test, table.category): (row.runs, len(row.run_ids))
        for table in delta_tables(ComparisonSpec(by=by, cells=cells))
        for row in table.rows
    }
    assert all(runs == named for runs, named in counts.values())
    assert counts["read", "specfp_ta"] == (1, 1)
    assert counts["write", "maximum"] == ((1, 1) if cells else (2, 2))
    assert counts["read", "overall"] == (2, 2)


def test_scores_over_common_cells_name_the_runs_that_have_some(study: Study) -> None:
    whole, part = series_of(study), series_of(study)
    common = measured(whole, {(4, 1024): 1.0, (8, 1024): 2.0})
    measured(whole, {(8, 1024): 3.0})
    other = measured(part, {(4, 1024): 5.0})
    spec = ComparisonSpec(by="configuration", matched=True, categories=("maximum",))
    [table] = delta_tables(spec)
    assert sorted(row.run_ids for row in table.rows) == [(common.pk,), (other.pk,)]
    assert {row.runs for row in table.rows} == {1}


def test_the_api_and_the_page_lead_to_these_runs(client: Client, series: Series) -> None:
    run = measured(series, flat(), "read")
    measured(series, flat(), "write")
    answer = client.get("/api/v1/comparison?test=read&category=maximum").json()
    assert [row["run_ids"] for row in answer["tables"][0]["rows"]] == [[run.pk]]
    page = client.get("/compare/?test=read&category=maximum").content.decode()
    assert f'href="/runs/{run.pk}/"' in page
    assert "runs/?runs=" not in page


def test_a_published_score_names_no_runs() -> None:
    score = make_score("ext4", repeats=3, study="paper")
    Score.objects.filter(pk=score.pk).update(origin="published")
    measured(score.series, flat(), "read")
    [table] = delta_tables(ComparisonSpec(tests=("write",)))
    assert table.rows[0].run_ids == ()


def test_a_permalink_keeps_the_runs_that_it_named(client: Client, series: Series) -> None:
    jo = User.objects.create_user("jo")
    run = measured(series, flat(), "read")
    measured(series, flat(), "write")
    link = records.pin(ComparisonSpec(tests=("read",)), jo)
    content = json.loads(link.snapshot)
    assert all(row["run_ids"] == [run.pk] for t in content["tables"] for row in t["rows"])
    for table in content["tables"]:
        for row in table["rows"]:
            row["run_ids"] = [run.pk, 7_000_000]
    old = json.dumps(content, sort_keys=True, separators=(",", ":"))
    Permalink.objects.filter(pk=link.pk).update(snapshot=old, sha256=records._digest(old))
    pinned = records.read(Permalink.objects.get(pk=link.pk))
    assert pinned.is_intact
    assert pinned.tables[0].rows[0].run_ids == (run.pk, 7_000_000)
    assert not records.changes_since(link, pinned).has_any
    assert client.get(f"/p/{link.key}/").status_code == 200
