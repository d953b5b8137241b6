"""A run's own scores beside the mean of its repeats: on its page and in the API."""

from collections.abc import Sequence

import pytest
from django.db import transaction
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.quality import CONTENDED, FLAGS, UNSTEADY
from fsbench_web.studies.models import Run, Score, Series, Study
from fsbench_web.studies.runs.shown.scores import RunScore
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.scores.quality import STEADY_STATE
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run

CELLS = [(4, 8), (8, 8), (4, 16), (8, 16)]


@pytest.fixture
def series(db: None) -> Series:
    return series_for(Study.objects.create(slug="lab", title="Lab"), configuration_for("ext4", {}))


def finished(series: Series, seconds: float, rates: Sequence[float] = ()) -> Run:
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        values = [ParsedValue("mount", None, None, seconds, "s", 1)]
        values += [
            ParsedValue("write", *cell, rate, "KB/s", line)
            for line, (cell, rate) in enumerate(zip(CELLS, rates, strict=False), start=2)
        ]
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    return run


def test_two_runs_of_a_series_show_different_scores(series: Series, client: Client) -> None:
    runs = [finished(series, seconds) for seconds in (1.0, 1.25, 1.5)]
    shown = []
    for place, run in enumerate(runs, start=1):
        response = client.get(f"/runs/{run.pk}/")
        (score,) = response.context["scores"].single
        shown.append((score.own.value, score.mean, score.own.repeats, score.own.percent_from_mean))
        assert response.context["place"] == place
        assert f'data-own="{score.own.value}" data-mean="1.25"' in response.content.decode()
    assert shown == [
        (1.0, 1.25, 3, pytest.approx(-20)),
        (1.25, 1.25, 3, 0),
        (1.5, 1.25, 3, pytest.approx(20)),
    ]


def test_the_maximum_of_a_run_is_that_of_its_own_numbers(series: Series, client: Client) -> None:
    finished(series, 1.0, [100, 200, 300, 400])
    second = finished(series, 1.0, [150, 250, 350, 600])
    (line,) = client.get(f"/runs/{second.pk}/").context["scores"].lines
    maximum, minimum, average, *_ = line.scores
    assert [score.own.value for score in (maximum, minimum, average)] == [600, 150, 337.5]
    assert [score.mean for score in (maximum, minimum, average)] == [500, 125, 293.75]


def test_a_single_run_has_no_mean_beside_it(series: Series, client: Client) -> None:
    run = finished(series, 2.0)
    response = client.get(f"/runs/{run.pk}/")
    (score,) = response.context["scores"].single
    assert (score.own.value, score.has_repeats, score.own.percent_from_mean) == (2.0, False, None)
    assert response.context["done_repeats"] == 1


def test_the_page_shows_the_flags_of_the_run_alone(series: Series, client: Client) -> None:
    sound, unsteady = finished(series, 1.0), finished(series, 1.2)
    unsteady.conditions = {STEADY_STATE: {"attained": [], "missed": ["mount"]}}
    unsteady.is_contended = True
    unsteady.save()
    ingest.rescore(series)
    for run, expected in ((sound, ([], [])), (unsteady, ([UNSTEADY], [CONTENDED]))):
        context = client.get(f"/runs/{run.pk}/").context
        (score,) = context["scores"].single
        flags = ([*score.flags], context["quality"].flags_of_run)
        assert flags == tuple([FLAGS[slug] for slug in slugs] for slugs in expected)


def test_a_run_without_a_number_of_the_score_has_no_own_score() -> None:
    score = Score(value=3.0, run_ids=[1, 2], repeat_scores=[["a", 2.0], ["b", 4.0]])
    assert RunScore.of(3, score) == RunScore(None, 3.0, 2)
    assert RunScore.of(1, Score(value=3.0, run_ids=None)) == RunScore(None, None, 0)
    assert RunScore.of(1, score).percent_from_mean == pytest.approx(-100 / 3)


def test_the_api_gives_the_own_score_of_the_run(series: Series, client: Client) -> None:
    first, _ = finished(series, 1.0), finished(series, 3.0)
    (score,) = client.get(f"/api/v1/runs/{first.pk}").json()["scores"]
    keys = ("value", "run_value", "repeats_mean", "percent_from_mean", "repeats")
    assert [score[key] for key in keys] == [2.0, 1.0, 2.0, -50.0, 2]
