"""Distributions of latencies: kept with a run, shown, merged over repeats, drawn."""

import pytest
from django.test import Client

from fsbench_web.core.latency import Distribution, distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import LatencyBlock, Run, RunState, Series
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db
MEAN = "randread_read_clat_mean@iodepth=4"


def of(*pairs: tuple[int, int], load: str = "iodepth=4", most: float = 9e6) -> Distribution:
    built = distribution("randread_read_clat", load, "ns", pairs, 500.0, most)
    assert built is not None
    return built


def run_of(series: Series, repeat: int, *some: Distribution, state: str = RunState.DONE) -> Run:
    run = Run.objects.create(series=series, repeat=repeat, origin=Run.Origin.MEASURED, state=state)
    latencies.store(run, None, some)
    return run


@pytest.fixture
def series(db: None) -> Series:
    return make_score("ext4", 5000.0, test=MEAN, category="mean", unit="ns").series


def test_jobs_of_one_run_and_repeats_of_one_series_are_one_distribution(series: Series) -> None:
    first = run_of(series, 1, of((1000, 90)), of((1000, 5), (2000, 5)))
    run_of(series, 2, of((2000, 100), most=1e7), of((7, 7), load="iodepth=1"))
    run_of(series, 3, of((3000, 10**6)), state=RunState.FAILED)
    (joint,) = latencies.of_run(first.pk)
    assert (joint.values, joint.counts) == ((1000, 2000), (95, 5))
    by_series = latencies.of_series([series.pk], "randread_read_clat", "iodepth=4")
    merged, runs = by_series[series.pk]
    assert (merged.values, merged.counts, merged.most) == ((1000, 2000), (95, 105), 1e7)
    assert len(runs) == 2


def test_the_page_of_a_run_and_the_call_have_its_tails(series: Series, client: Client) -> None:
    run = run_of(series, 1, of((1000, 98), (5_000_000, 2)))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Randread read, completion latency at" in page
    assert "p99.99" in page
    (latency,) = client.get(f"/api/v1/runs/{run.pk}/latencies").json()["latencies"]
    assert (latency["values"], latency["counts"]) == ([1000, 5_000_000], [98, 2])
    assert (latency["total"], latency["most"]) == (100, 9e6)


def test_latencies_over_time_are_drawn_and_told(series: Series, client: Client) -> None:
    run = run_of(series, 1, of((1000, 98), (5_000_000, 2)))
    over_time = LatencySeries(
        *("randread_read_clat", "iodepth=4", "ns", (1001, 2003), (60, 30)),
        *(((1000.0, 1000.0), (2000.0, 1000.0), (3000.0, 1000.0)), (5e6, 1000.0)),
    )
    latencies.store_series(run, None, [over_time])
    assert latencies.series_of_run(run.pk) == [over_time]
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "over time" in page
    assert "90 of 100 completions" in page
    (answer,) = client.get(f"/api/v1/runs/{run.pk}/latencies").json()["over_time"]
    assert (answer["ends_s"], answer["counts"]) == ([1.001, 2.003], [60, 30])
    assert answer["percentiles"] == {"50": [1000, 1000], "99": [2000, 1000], "99.9": [3000, 1000]}
    assert answer["most"] == [5e6, 1000]


def test_a_run_without_latencies_shows_none(series: Series, client: Client) -> None:
    run = run_of(series, 1)
    assert 'id="latencies"' not in client.get(f"/runs/{run.pk}/").content.decode()
    assert client.get(f"/api/v1/runs/{run.pk}/latencies").json() == {
        "latencies": [],
        "over_time": [],
    }


def test_a_damaged_block_is_told_and_the_page_stands(series: Series, client: Client) -> None:
    run = run_of(series, 1, of((1000, 98)))
    LatencyBlock.objects.update(content=b"fsbl nothing")
    answer = client.get(f"/runs/{run.pk}/")
    assert answer.status_code == 200
    assert "this version of fsbench reads" in answer.content.decode()


def test_contenders_are_drawn_beside_each_other(series: Series, client: Client) -> None:
    other = make_score("xfs", 4000.0, test=MEAN, category="mean", unit="ns").series
    run_of(series, 1, of((1000, 98), (5_000_000, 2)))
    run_of(other, 1, of((900, 100_000)))
    chart = f"picture=latency&show=completions&of={MEAN}"
    page = client.get(f"/compare/pictures/?{chart}").content.decode()
    assert "added without loss" in page
    text = client.get(f"/compare/pictures.csv?{chart}").content.decode()
    lines = [line.split(",") for line in text.splitlines()]
    assert sorted(line[:3] for line in lines[1:]) == [
        ["ext4", "100.0", "1000.0"],
        ["xfs", "100000.0", "900.0"],
    ]
