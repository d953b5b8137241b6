"""What the interval beside a score is of: repeats, or the samples of a single run."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.core.formats import ParsedValue
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run


def sampled(value: float, samples: Sequence[float] = (), load: str = "") -> ParsedValue:
    return ParsedValue("bandwidth", None, None, value, "KB/s", 1, load=load, samples=tuple(samples))


def cells(*values: float) -> list[ParsedValue]:
    sizes = [(4, 8), (8, 8), (4, 16), (8, 16)]
    return [
        ParsedValue("write", record, file, value, "KB/s", line)
        for line, ((record, file), value) in enumerate(zip(sizes, values, strict=True), start=1)
    ]


@pytest.fixture
def series(db: None) -> Series:
    return series_for(Study.objects.create(slug="lab", title="Lab"), configuration_for("ext4", {}))


def finished(series: Series, *values: ParsedValue) -> None:
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        ingest.store_values(run, None, values)
        ingest.rescore(series)


def score(series: Series, category: str = "mean", test: str = "bandwidth") -> Score:
    return series.scores.get(test=test, category=category)


def interval(series: Series, category: str = "mean", test: str = "bandwidth") -> dict[str, Any]:
    stored = score(series, category, test).interval
    assert stored is not None
    return stored


def test_a_single_run_has_the_interval_of_its_samples(series: Series) -> None:
    finished(series, sampled(21.0, [20.0, 22.0, 21.0]))
    bandwidth = score(series)
    # By hand: s = 1, t(0.975, 2) = 4.30265, over sqrt(3); deviations -1, 1, 0: -1 / 2.
    assert bandwidth.interval == {
        "mean": 21.0,
        "half_width": pytest.approx(2.48414, abs=1e-5),
        "count": 3,
        "of": "samples",
        "autocorrelation": pytest.approx(-0.5),
    }
    assert bandwidth.half_width is None, "the half-width of repeats stays that of repeats"


def test_percentiles_of_intervals_have_no_mean(series: Series) -> None:
    """A log of histograms has p99 of each interval beside that of all: their mean is not averaged
    into an interval, which did not even hold the percentile itself.
    """
    of_intervals = [100.0, 110.0, 105.0, 100.0, 9000.0]
    percentile = ParsedValue(
        "job_read_clat_hist_p99", None, None, 8000.0, "ns", 1, samples=tuple(of_intervals)
    )
    finished(series, percentile)
    p99 = score(series, test="job_read_clat_hist_p99")
    assert (p99.value, p99.interval) == (8000.0, None)


def test_repeats_go_before_samples(series: Series) -> None:
    finished(series, sampled(21.0, [20.0, 22.0, 21.0]))
    finished(series, sampled(25.0, [24.0, 26.0, 25.0]))
    of_repeats = interval(series)
    assert (of_repeats["of"], of_repeats["count"], of_repeats["mean"]) == ("repeats", 2, 23.0)


def test_each_load_has_the_interval_of_its_own_samples(series: Series) -> None:
    finished(
        series,
        sampled(21.0, [20.0, 22.0], "threads=1"),
        sampled(41.0, [40.0, 42.0, 41.0], "threads=8"),
    )
    assert interval(series, test="bandwidth@threads=1")["count"] == 2
    assert interval(series, test="bandwidth@threads=8")["mean"] == 41.0


@pytest.mark.parametrize("samples", [(), (20.0,)])
def test_fewer_than_two_samples_make_no_interval(
    series: Series, samples: tuple[float, ...]
) -> None:
    finished(series, sampled(21.0, samples))
    assert score(series).interval is None


def test_the_interval_of_a_maximum_is_of_the_repeats_own_maxima(series: Series) -> None:
    finished(series, *cells(10.0, 20.0, 30.0, 40.0))
    finished(series, *cells(10.0, 20.0, 30.0, 60.0))
    maximum = score(series, "maximum", "write")
    assert maximum.value == 60.0
    assert interval(series, "maximum", "write")["mean"] == 50.0
    assert interval(series, "maximum", "write")["half_width"] == maximum.half_width


def test_samples_cost_one_query_whatever_their_number(series: Series) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ingest.rescore(series)
        return len(captured)

    finished(series, sampled(1.0, [1.0, 2.0]))
    few = queries()
    finished(series, *[sampled(1.0, [1.0, 2.0], f"threads={n}") for n in range(9)])
    assert queries() == few


def test_the_page_of_a_single_run_shows_the_half_width_of_its_samples(
    series: Series, client: Client
) -> None:
    at = [f"iodepth={depth},jobs=2" for depth in (1, 16)]
    finished(
        series,
        sampled(21.0, [20.0, 22.0, 21.0], at[0]),
        sampled(42.0, [40.0, 44.0, 42.0], at[1]),
        ParsedValue("mount", None, None, 0.02, "s", 2),
        sampled(21.0, [20.0, 22.0, 21.0]),
    )
    response = client.get(f"/runs/{series.runs.get().pk}/")
    scores = response.context["scores"]
    (table,) = scores.by_load
    assert (table.loads, [line.test for line in table.lines]) == (["", *at], ["bandwidth"])
    # 2.48414 of 21.
    assert [page_score.half_width_percent for page_score in table.lines[0].scores] == [
        pytest.approx(11.829, abs=1e-3)
    ] * 3
    assert [
        (page_score.score.test, page_score.half_width_percent) for page_score in scores.single
    ] == [("mount", None)]
    html = response.content.decode()
    assert html.count("± 11.8%") >= 3
    assert ">interval samples</a>, in percent" in " ".join(html.split())
    assert "queue depth 16, 2 jobs</th>" in html


def test_of_several_repeats_the_page_shows_the_half_width_of_these(
    series: Series, client: Client
) -> None:
    finished(series, sampled(20.0, [10.0, 30.0]))
    finished(series, sampled(22.0, [10.0, 30.0]))
    response = client.get(f"/runs/{series.runs.first().pk}/")
    (page_score,) = response.context["scores"].single
    # By hand: s = sqrt(2), t(0.975, 1) = 12.7062: 12.7062 / 21.
    assert page_score.half_width_percent == pytest.approx(60.506, abs=1e-3)
    assert not page_score.is_of_samples
    assert ">interval samples</a>" not in response.content.decode()
