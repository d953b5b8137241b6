"""The activity of a run on its page and in the API."""

from typing import Any

import pytest
from django.test import Client

from fsbench_web.core.activity.series import Activity, ActivityBuilder, Step
from fsbench_web.studies.activity import records
from fsbench_web.studies.activity.shown import MOST_POINTS, activity_of_run
from fsbench_web.studies.models import Run, RunActivity, RunState
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(db: None) -> Run:
    series = make_score("ext4", 5.0).series
    return Run.objects.create(
        series=series, repeat=1, origin=Run.Origin.MEASURED, state=RunState.DONE
    )


def sampled(count: int, **how: Any) -> Activity:
    """A device that writes 2 MiB a second, one second a sample."""
    builder = ActivityBuilder()
    builder.begin(["data.sectors_written", "memory.dirty_bytes"], [["energy", "no <RAPL>"]])
    for at in range(count):
        builder.add(at, [4096 * at, 2**20 * at], is_edge=at in (0, count - 1))
    builder.steps = [Step(0, count - 1, "benchmark")]
    activity = builder.built(is_whole=how.get("is_whole", True))
    assert activity is not None
    return activity


def test_rates_and_levels_are_drawn_over_the_seconds_of_the_run(run: Run) -> None:
    records.store(run, sampled(5), {"write_amplification": 1.5})
    activity = activity_of_run(run.pk)
    assert activity is not None
    throughput = activity.choices["Throughput of the device"].data
    assert [line.name for line in throughput] == ["written"]
    assert list(throughput[0].y) == [2.0] * 4
    assert list(activity.choices["Dirty pages"].data[0].y) == [1, 2, 3, 4]
    assert [row[:3] for row in activity.rows][:2] == [(0, 1, "benchmark"), (1, 2, "benchmark")]
    assert [(cost.test, cost.value) for cost in activity.costs] == [("write_amplification", 1.5)]


def test_a_long_run_is_drawn_as_means_of_neighbours_and_says_so(run: Run) -> None:
    records.store(run, sampled(1001), {})
    activity = activity_of_run(run.pk)
    assert activity is not None
    assert activity.merged == 4
    line = activity.choices["Throughput of the device"].data[0]
    assert len(line.x) == len(activity.rows) == 250 <= MOST_POINTS
    assert set(line.y) == {2.0}


def test_the_page_shows_it_and_why_something_is_missing(run: Run, client: Client) -> None:
    records.store(run, sampled(5, is_whole=False), {})
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "The run broke off." in page
    assert "no &lt;RAPL&gt;" in page
    assert "Throughput of the device" in page


def test_a_page_of_a_run_without_samples_says_nothing_of_them(run: Run, client: Client) -> None:
    assert 'id="activity"' not in client.get(f"/runs/{run.pk}/").content.decode()
    assert client.get(f"/api/v1/runs/{run.pk}/activity").status_code == 404


def test_a_damaged_block_is_told_and_the_page_stands(run: Run, client: Client) -> None:
    records.store(run, sampled(5), {"write_amplification": 1.5})
    RunActivity.objects.update(content=b"fsba nothing")
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "this version of fsbench reads" in page
    assert "1.5 B/B" in page


def test_the_api_gives_every_sample_and_cost(run: Run, client: Client) -> None:
    records.store(run, sampled(3), {"write_amplification": 1.5})
    activity = client.get(f"/api/v1/runs/{run.pk}/activity").json()
    assert activity["times_s"] == [0, 1, 2]
    assert activity["columns"]["data.sectors_written"] == [0, 4096, 8192]
    assert activity["absent"] == [["energy", "no <RAPL>"]]
    (cost,) = activity["costs"]
    assert (cost["test"], cost["value"], cost["better"]) == ("write_amplification", 1.5, "lower")
    text = client.get(f"/api/v1/runs/{run.pk}/activity.csv").content.decode()
    assert text.splitlines() == [
        "seconds,data.sectors_written,memory.dirty_bytes",
        "0.0,0,0",
        "1.0,4096,1048576",
        "2.0,8192,2097152",
    ]
