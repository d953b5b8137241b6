"""Latencies over time out of fio's histogram log.

``depth-8_clat_hist.1.log`` was written by fio 3.33 (randread, 4 KiB, depth 8, direct, ramp 1 s,
runtime 4 s, log_hist_msec=1000); its JSON counts 118,957 completions, 99% within 3,948,544 ns.
"""

from dataclasses import replace

import pytest

from fsbench_web.core import latency_blocks
from fsbench_web.core.formats import parse
from fsbench_web.core.formats.fio.logs import latency_series, of_intervals
from fsbench_web.core.formats.result import UnreadableFile
from fsbench_web.core.latency_over_time import MOST_KEPT
from fsbench_web.core.measurement_columns import UnreadableBlock, pack
from tests.core.formats.conftest import SAMPLES

LOG = (SAMPLES / "depth-8_clat_hist.1.log").read_text()


def test_each_interval_has_percentiles_of_its_own_completions() -> None:
    latencies = latency_series(LOG, "read", 1000, test="a_read_clat", load="iodepth=8")
    assert latencies is not None
    assert latencies.ends_ms == (1001, 2001, 3001)
    assert latencies.counts == (30905, 35073, 28498)  # the last second was never logged
    assert latencies.percentiles == (
        (101888.0, 71168.0, 69120.0),
        (3194880.0, 3424256.0, 4014080.0),
        (7045120.0, 6520832.0, 8355840.0),
    )
    assert latencies.maxima == (8716288.0, 10551296.0, 12779520.0)
    assert latency_series(LOG, "write", 1000, test="a", load="") is None
    assert latency_series("", "read", 1000, test="a", load="") is None


def test_lines_of_one_interval_are_added_bin_by_bin() -> None:
    once = latency_series(LOG, "read", 1000, test="a")
    later = "\n".join(
        f"{int(line.split(', ', 1)[0]) + 7}, {line.split(', ', 1)[1]}" for line in LOG.splitlines()
    )
    twice = latency_series(LOG + later, "read", 1000, test="a")
    assert once is not None
    assert twice is not None
    assert twice.ends_ms == (1008, 2008, 3008)
    assert twice.counts == tuple(2 * count for count in once.counts)
    assert (twice.percentiles, twice.maxima) == (once.percentiles, once.maxima)


@pytest.mark.parametrize("text", [LOG[:9000], "1000, 0, 4096, 1\n", LOG.replace(", 0, ", ", x, ")])
def test_what_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(UnreadableFile, match="cut off"):
        latency_series(text, "read", 1000, test="a")


def test_a_block_is_read_as_it_was_written_or_not_at_all() -> None:
    latencies = latency_series(LOG, "read", 1000, test="a")
    assert latencies is not None
    some = [latencies, replace(latencies, test="b", load="iodepth=2")]
    block = latency_blocks.encode_over_time(some)
    assert latency_blocks.decode_over_time(block) == some
    for wrong in (block[:-1], b"", b"x" + block[1:], pack([], [], b"fsbt")):
        with pytest.raises(UnreadableBlock):
            latency_blocks.decode_over_time(wrong)


def bins(**counts: int) -> list[int]:
    """fio's bins with so many completions in these places: ``_100=3``."""
    histogram = [0] * 1856
    for place, count in counts.items():
        histogram[int(place[1:])] = count
    return histogram


def test_of_a_longer_log_neighbours_are_counted_together_and_none_is_lost() -> None:
    intervals = [(1000 * place, bins(_100=place)) for place in range(1, MOST_KEPT + 2)]
    latencies = of_intervals(intervals, "a", "", "ns")
    assert latencies is not None
    assert len(latencies.counts) == MOST_KEPT // 2 + 1
    assert latencies.total == sum(range(1, MOST_KEPT + 2))
    assert (latencies.ends_ms[:2], latencies.counts[:2]) == ((2000, 4000), (3, 7))
    assert latencies.ends_ms[-1] == 1000 * (MOST_KEPT + 1)
    assert set(latencies.maxima) == {100.0}


def test_where_times_do_not_rise_nothing_is_told_over_time() -> None:
    for ends in ((1000, 1000), (2000, 1000)):  # as two processes in one log
        assert of_intervals([(end, bins(_100=1)) for end in ends], "a", "", "ns") is None
    assert of_intervals([(1000, bins())], "a", "", "ns") is None
    # An interval without completions has no percentile, and is no 0.
    latencies = of_intervals(
        [(1000, bins(_5=1)), (2000, bins()), (3000, bins(_9=2))], "a", "", "ns"
    )
    assert latencies is not None
    assert (latencies.ends_ms, latencies.maxima) == ((1000, 3000), (5.0, 9.0))


def test_a_log_by_itself_gives_the_same_and_a_distribution() -> None:
    name = "depth-8_clat_hist.1.log"
    result = parse(name, (SAMPLES / name).read_bytes())
    (logged,) = result.over_time
    expected = latency_series(LOG, "read", 1000, test=logged.test)
    assert logged == expected
    assert logged.test == "depth-8_read_clat_hist"
    (whole,) = result.distributions
    assert (whole.test, whole.unit, whole.total) == (logged.test, "ns", logged.total)
    (p99,) = [value.value for value in result.values if value.test.endswith("_p99")]
    assert whole.percentile("99") == p99
    assert whole.values[-1] == max(logged.maxima)
