"""Latencies over the seconds of a test, of contenders beside each other."""

import csv
import io

import pytest
from django.test import Client

from fsbench_web.core.latency_over_time import MOST_KEPT, LatencySeries
from fsbench_web.core.traces.tracers import REQUESTS
from fsbench_web.figures import over_time as figures
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import LatencySeriesBlock, Run, RunState, Series
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db
MEAN = "randread_read_clat_mean@iodepth=4"


def logged(most: float, ends_ms: tuple[int, ...] = (1001, 2003)) -> LatencySeries:
    count = len(ends_ms)
    of_each = tuple((most / part,) * count for part in (100, 10, 2))
    return LatencySeries(
        *("randread_read_clat", "iodepth=4", "ns", ends_ms, (60,) * count, of_each, (most,) * count)
    )


def run_of(series: Series, repeat: int, some: LatencySeries, state: str = RunState.DONE) -> Run:
    run = Run.objects.create(series=series, repeat=repeat, origin=Run.Origin.MEASURED, state=state)
    latencies.store_series(run, None, [some])
    return run


@pytest.fixture
def two_series(db: None) -> list[Series]:
    return [
        make_score(name, 5000.0, test=MEAN, category="mean", unit="ns").series
        for name in ("ext4", "xfs")
    ]


def query_of(series: Series, **more: str) -> dict[str, str]:
    return {"study": series.study.slug, "picture": "latency", "show": "time", "of": MEAN, **more}


def rows(client: Client, address: str, query: dict[str, str]) -> list[dict[str, str]]:
    response = client.get(address, query)
    assert response.status_code == 200, response.content
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_newest_run_of_each_contender_is_drawn_and_exported(
    two_series: list[Series], client: Client
) -> None:
    run_of(two_series[0], 1, logged(1e6))
    newest = run_of(two_series[0], 2, logged(8e6, (1000, 2000, 3000)))
    run_of(two_series[0], 3, logged(9e9), RunState.FAILED)
    run_of(two_series[1], 1, logged(2e6))
    Run.objects.filter(pk=run_of(two_series[1], 2, logged(9e9)).pk).update(tracing=REQUESTS)
    page = client.get("/compare/pictures/", query_of(two_series[0]))
    assert page.status_code == 200
    text = page.content.decode()
    assert "lines over seconds" in text
    assert "seconds of the test" in text
    assert "p99 of each interval" in text
    assert "9 s" not in text
    for address in ("/compare/pictures.csv", "/api/v1/exports/pictures.csv"):
        table = rows(client, address, query_of(two_series[0]))
        assert [row["Until, s"] for row in table if row["Contender"].startswith("ext4")] == [
            *("1.0", "2.0", "3.0")
        ]
        assert {row["Maximum, ns"] for row in table} == {"8000000.0", "2000000.0"}
        assert {row["p99.9, ns"] for row in table} == {"4000000.0", "1000000.0"}
        assert {row["Completions"] for row in table} == {"60.0"}
    assert f'href="/runs/{newest.pk}/"' in text
    largest = client.get(
        "/compare/pictures/", query_of(two_series[0], percent="max")
    ).content.decode()
    assert "Maximum of each interval" in largest
    wrong = query_of(two_series[0], percent="98")
    assert client.get("/compare/pictures/", wrong).status_code == 400
    assert client.get("/api/v1/exports/pictures.csv", wrong).status_code == 422


def test_the_latencies_of_a_study_lead_to_it(two_series: list[Series], client: Client) -> None:
    study = two_series[0].study.slug
    page = client.get(f"/studies/{study}/", {"tab": "latency"}).content.decode()
    assert f"?study={study}&amp;picture=latency&amp;show=time" in page
    assert "show=time" not in client.get(f"/studies/{study}/?tab=tests").content.decode()


def test_without_any_it_says_what_keeps_them(two_series: list[Series], client: Client) -> None:
    text = client.get("/compare/pictures/", query_of(two_series[0])).content.decode()
    assert "Nothing is kept over time of these runs" in text
    run = run_of(two_series[0], 1, logged(1e6))
    text = client.get("/compare/pictures/", query_of(two_series[0])).content.decode()
    assert "1 of the entries kept nothing of this latency over time." in text
    LatencySeriesBlock.objects.filter(run=run).update(content=b"no block")
    response = client.get("/compare/pictures/", query_of(two_series[0]))
    assert response.status_code == 200
    assert "show=time" in response.content.decode()


def test_a_run_is_read_with_as_many_queries_as_several(
    two_series: list[Series], django_assert_num_queries: object
) -> None:
    for series in two_series:
        for repeat in (1, 2, 3):
            run_of(series, repeat, logged(1e6))
    with django_assert_num_queries(2):  # type: ignore[operator]
        newest = latencies.newest_over_time(
            [series.pk for series in two_series], "randread_read_clat", "iodepth=4"
        )
    assert len(newest) == 2


def test_a_drawing_has_a_value_for_each_interval_and_its_units() -> None:
    with pytest.raises(ValueError, match="every interval"):
        figures.latencies({"p50": ([1.0], [1.0, 2.0], [1, 1])}, "ns", "A")
    with pytest.raises(ValueError, match="too many to distinguish"):
        figures.latencies({str(number): ([], [], []) for number in range(99)}, "ns", "A")
    count = MOST_KEPT
    seconds = [float(second) for second in range(count)]
    lines = {"p50": [2e6] * count, "maximum": [0.0] * count}
    drawn = figures.latencies(
        {name: (values, seconds, [5] * count) for name, values in lines.items()}, "ns", "A <b>"
    )
    assert drawn["data"][0]["y"][0] == 2000  # read in µs
    assert set(drawn["data"][1]["y"]) == {None}  # nothing at 0 has a place on a logarithmic axis
    assert "µs, less is better (log)" in drawn["layout"]["yaxis"]["title"]["text"]
    assert "<b>" not in str(drawn["layout"]["title"])
