"""Runs side by side: what differs in their set-ups, what each measured, and the comparison."""

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts.models import Visibility
from fsbench_web.studies.runs.shown.results import run_results
from tests.studies.conftest import complete

pytestmark = pytest.mark.django_db


def test_the_list_of_runs_shows_what_each_measured(client, runs):
    complete(runs[0])
    runs[0].refresh_from_db()
    results = run_results([runs[0], runs[1]])
    assert len(results[runs[0].pk]) == 2
    text = client.get("/runs/").content.decode()
    assert f'name="run" value="{runs[0].pk}"' in text
    assert 'action="/compare/runs/"' in text


def test_a_run_shows_its_own_value_not_the_mean(runs):
    first, second = runs[0], runs[2]
    assert first.series_id == second.series_id
    complete(first, 1000.0)
    complete(second, 3000.0)
    first.refresh_from_db()
    second.refresh_from_db()
    one, other = (run_results([run])[run.pk][0] for run in (first, second))
    assert other.value == pytest.approx(3 * one.value)


def test_what_differs_is_apart_from_what_is_equal(client, runs):
    for run in runs[:2]:
        complete(run)
    page = client.get("/compare/runs/", {"run": [runs[0].pk, runs[1].pk]})
    differing = {row.label: row.values for row in page.context["differing"]}
    assert differing["file system"] == ["ext4", "xfs"]
    assert "LUN" in {row.label for row in page.context["alike"]}
    assert page.context["results"]
    comparison = page.context["comparison"]
    assert client.get(comparison).status_code == 200
    assert "by=configuration" in comparison


def test_repeats_of_one_series_are_not_compared(client, runs):
    for run in (runs[0], runs[2]):
        complete(run)
    page = client.get("/compare/runs/", {"run": [runs[0].pk, runs[2].pk]})
    assert page.context["comparison"] == ""
    assert "These runs are repeats" in page.content.decode()


@pytest.mark.parametrize("query", ["", "run=", "run=x", "run=1", f"run={'9' * 40}", "run=²&run=-1"])
def test_odd_choices_say_what_to_do(client, runs, query):
    page = client.get(f"/compare/runs/?{query}")
    assert page.status_code == 200
    assert "Choose at least two runs." in page.content.decode()


def test_hidden_runs_are_left_out(client, runs):
    study = runs[0].series.study
    study.created_by = User.objects.create_user("owner")
    study.visibility = Visibility.PRIVATE
    study.save()
    page = client.get("/compare/runs/", {"run": [run.pk for run in runs]})
    assert page.context["runs"] == []


def test_it_takes_a_constant_number_of_queries(client, runs, django_assert_max_num_queries):
    complete(runs[0])
    with django_assert_max_num_queries(12):
        client.get("/compare/runs/", {"run": [run.pk for run in runs]})
