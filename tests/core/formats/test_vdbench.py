"""Vdbench's flat file: real ones of raw I/O and of a file system."""

import re
from collections.abc import Callable
from statistics import fmean

import pytest

from fsbench_web.core.formats import UnreadableFile, parse

Sample = Callable[[str], bytes]


def test_means_of_runs_follow_from_their_intervals(sample: Sample) -> None:
    result = parse("x", sample("vdbench-5.0-flatfile"))
    assert (result.format, result.tool) == ("vdbench", "vdbench")
    assert len(result.values) == 24
    found = {value.test: value for value in result.values}
    rate = found["vdbench_random_write_max_4k_4k_iops"]
    assert (rate.value, rate.unit, rate.line, rate.load) == (327.4444, "ops/s", 48, "threads=8")
    data = found["vdbench_sequential_read_max_8k_8k_throughput"]
    assert (data.value, data.unit) == (102.2752, "MiB/s")
    assert found["vdbench_sequential_read_max_8k_8k_response"].unit == "ms"
    for value in result.values:
        assert len(value.samples) == 9
        if not value.test.endswith("response"):
            assert fmean(value.samples) == pytest.approx(value.value, abs=0.0001)
    # MB of 1024 * 1024 bytes: I/Os of 8192 bytes.
    iops = found["vdbench_sequential_read_max_8k_8k_iops"].value
    assert iops * 8192 / 2**20 == pytest.approx(data.value, abs=0.0002)


def test_operations_of_a_file_system(sample: Sample) -> None:
    result = parse("x", sample("vdbench-5.04-flatfile"))
    assert {value.test: (value.value, value.unit) for value in result.values} == {
        "vdbench_format_for_rd1_rmdir_iops": (112, "ops/s"),
        "vdbench_format_for_rd1_rmdir_response": (0.1374, "ms"),
        "vdbench_format_for_rd1_delete_iops": (28991, "ops/s"),
        "vdbench_format_for_rd1_delete_response": (1.0041, "ms"),
    }
    assert result.facts == [("Run at", "03/08/2019-15:17:15-ICT")]


def test_a_run_that_did_not_end(sample: Sample) -> None:
    data = sample("vdbench-5.0-flatfile")
    lines = data.split(b"\n")
    cut = b"\n".join(lines[:55]) + b"\n"
    result = parse("x", cut)
    assert not result.complete
    assert "line 55: Run random_write_max_8k has 7 intervals and no mean" in str(result.warnings[0])
    assert len(result.values) == 3
    with pytest.raises(UnreadableFile, match="no mean of a run: Vdbench did not end"):
        parse("x", b"\n".join(lines[:45]) + b"\n")


def test_the_same_run_at_other_rates_is_another_test_and_again_a_repeat(sample: Sample) -> None:
    data = sample("vdbench-5.0-flatfile")
    slower = re.sub(rb"999988\.0000", b"   100.0000", data)
    both = parse("x", data + slower)
    assert {value.repeat for value in both.values} == {None}
    assert any("at_100.0000" in value.test for value in both.values)
    assert {value.repeat for value in parse("x", data * 2).values} == {1, 2}
