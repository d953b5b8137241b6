"""Latencies over time out of fio's histogram log.

``depth-8_clat_hist.1.log`` was written by fio 3.33 (randread, 4 KiB, depth 8, direct, ramp 1 s,
runtime 4 s, log_hist_msec=1000); its JSON counts 118,957 completions, 99% within 3,948,544 ns.
"""

from dataclasses import replace

import pytest

from fsbench_web.core import latency_over_time
from fsbench_web.core.formats.fio.over_time import series
from fsbench_web.core.formats.result import UnreadableFile
from fsbench_web.core.latency_over_time import UnreadableBlock
from tests.core.formats.conftest import SAMPLES

LOG = (SAMPLES / "depth-8_clat_hist.1.log").read_text()


def test_each_interval_has_percentiles_of_its_own_completions() -> None:
    found = series(LOG, "read", 1000, test="a_read_clat", load="iodepth=8")
    assert found is not None
    assert found.ends_ms == (1001, 2001, 3001)
    assert found.counts == (30905, 35073, 28498)  # the last second was never logged
    assert found.percentiles == (
        (101888.0, 71168.0, 69120.0),
        (3194880.0, 3424256.0, 4014080.0),
        (7045120.0, 6520832.0, 8355840.0),
    )
    assert found.most == (8716288.0, 10551296.0, 12779520.0)
    assert series(LOG, "write", 1000, test="a", load="") is None
    assert series("", "read", 1000, test="a", load="") is None


def test_lines_of_one_interval_are_added_bin_by_bin() -> None:
    once = series(LOG, "read", 1000, test="a")
    later = "\n".join(
        f"{int(line.split(', ', 1)[0]) + 7}, {line.split(', ', 1)[1]}" for line in LOG.splitlines()
    )
    twice = series(LOG + later, "read", 1000, test="a")
    assert once is not None
    assert twice is not None
    assert twice.ends_ms == (1008, 2008, 3008)
    assert twice.counts == tuple(2 * count for count in once.counts)
    assert (twice.percentiles, twice.most) == (once.percentiles, once.most)


@pytest.mark.parametrize("text", [LOG[:9000], "1000, 0, 4096, 1\n", LOG.replace(", 0, ", ", x, ")])
def test_what_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(UnreadableFile, match="cut off"):
        series(text, "read", 1000, test="a")


def test_a_block_is_read_as_it_was_written_or_not_at_all() -> None:
    one = series(LOG, "read", 1000, test="a")
    assert one is not None
    some = [one, replace(one, test="b", load="iodepth=2")]
    block = latency_over_time.encode(some)
    assert latency_over_time.decode(block) == some
    for wrong in (block[:-1], b"", b"x" + block[1:], latency_over_time.pack([], [], b"fsbt")):
        with pytest.raises(UnreadableBlock):
            latency_over_time.decode(wrong)
