"""Vdbench's flat file, summary and totals: real ones of raw I/O and of a file system."""

import re
from collections.abc import Callable
from statistics import fmean

import pytest

from fsbench_web.core.formats import UnknownFormat, UnreadableFile, parse

RAW = {
    "vdbench_rd1_iops": (97.8, "ops/s"),
    "vdbench_rd1_throughput": (0.10, "MiB/s"),
    "vdbench_rd1_response": (0.008, "ms"),
    "vdbench_rd1_read_response": (0.006, "ms"),
    "vdbench_rd1_write_response": (0.010, "ms"),
}
Sample = Callable[[str], bytes]


def test_means_of_runs_follow_from_their_intervals(sample: Sample) -> None:
    result = parse("x", sample("vdbench-5.0-flatfile"))
    assert (result.format, result.tool) == ("vdbench", "vdbench")
    assert len(result.values) == 24
    values = {value.test: value for value in result.values}
    rate = values["vdbench_random_write_max_4k_4k_iops"]
    assert (rate.value, rate.unit, rate.line, rate.load) == (327.4444, "ops/s", 48, "threads=8")
    data = values["vdbench_sequential_read_max_8k_8k_throughput"]
    assert (data.value, data.unit) == (102.2752, "MiB/s")
    assert values["vdbench_sequential_read_max_8k_8k_response"].unit == "ms"
    for value in result.values:
        assert len(value.samples) == 9
        if not value.test.endswith("response"):
            assert fmean(value.samples) == pytest.approx(value.value, abs=0.0001)
    # MB of 1024 * 1024 bytes: I/Os of 8192 bytes.
    iops = values["vdbench_sequential_read_max_8k_8k_iops"].value
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


def test_a_summary_has_means_with_their_intervals_and_totals_the_means_alone(
    sample: Sample,
) -> None:
    summary = parse("x", sample("vdbench-5.04-summary"))
    totals = parse("x", sample("vdbench-5.04-totals"))
    assert (summary.format, totals.format) == ("vdbench-summary", "vdbench-totals")
    for result in (summary, totals):
        assert {value.test: (value.value, value.unit) for value in result.values} == RAW
        assert result.modes == ("rd1: I/O rate: 100", "rd1: elapsed=5")
    rate = summary.values[0]
    assert (rate.line, rate.samples) == (32, (96.0, 96.0, 112.0, 87.0))
    assert fmean(rate.samples) == pytest.approx(rate.value, abs=0.06)
    assert all(not value.samples for value in totals.values)


def test_totals_of_a_file_system(sample: Sample) -> None:
    result = parse("x", sample("vdbench-5.04-totals-file-system"))
    values = {value.test: (value.value, value.unit, value.line) for value in result.values}
    assert values["vdbench_format_for_rd1_create_response"] == (250.62, "ms", 14)
    assert values["vdbench_rd1_read_iops"] == (11471, "ops/s", 18)
    assert values["vdbench_rd1_throughput_read"] == (44.81, "MiB/s", 18)
    assert values["vdbench_rd1_close_response"] == (0.701, "ms", 18)
    assert "vdbench_rd1_mkdir_iops" not in values
    assert len(values) == 24


def test_totals_in_another_language_and_loops(sample: Sample) -> None:
    data = sample("vdbench-5.04-totals-chinese")
    result = parse("x", data)
    assert (result.values[0].test, result.values[0].value) == ("vdbench_rd1_iops", 105.3)
    assert len(result.values) == 5
    loops = data.replace(
        b"elapsed=5; For loops: None", b"elapsed=5; For loops: threads=8 xfersize=4k"
    )
    first = parse("x", loops).values[0]
    assert (first.test, first.load) == ("vdbench_rd1_xfersize_4k_iops", "threads=8")


def test_a_summary_that_did_not_end_or_has_columns_that_touch(sample: Sample) -> None:
    lines = sample("vdbench-5.04-summary").split(b"\n")
    with pytest.raises(UnreadableFile, match="no mean of a run: Vdbench did not end"):
        parse("x", b"\n".join(lines[:30]) + b"\n")
    lines[26] = lines[26].replace(b"    0.06    1024", b"    0.06111024")
    result = parse("x", b"\n".join(lines))
    assert (len(result.values), result.complete) == (5, False)
    assert "line 27: The row has 12 numbers of 13: left out." in map(str, result.warnings)
    twice = parse("x", sample("vdbench-5.04-summary") * 2)
    assert {value.repeat for value in twice.values} == {1, 2}


def test_reports_of_hosts_and_devices_are_no_summary(sample: Sample) -> None:
    data = sample("vdbench-5.04-summary").replace(b"summary.html</title>", b"sd1.html</title>")
    with pytest.raises(UnknownFormat, match="a report that Vdbench writes next to"):
        parse("x", data)


def test_an_interval_without_an_operation_has_no_latency(sample: Sample) -> None:
    """Vdbench prints 0 for it, as for what took less than its last digit."""
    lines = sample("vdbench-5.04-summary").split(b"\n")
    idle = b"      0.0     0.00       0   0.00    0.000    0.000    0.000"
    lines[27] = re.sub(rb"( 2 )      .{57}", rb"\g<1>" + idle, lines[27])
    lines[28] = lines[28].replace(b"0.008", b"0.000", 1)  # below a digit, and not missing
    result = parse("x", b"\n".join(lines))
    values = {value.test: value for value in result.values}
    assert values["vdbench_rd1_iops"].samples == (0.0, 96.0, 112.0, 87.0)
    assert len(values["vdbench_rd1_throughput"].samples) == 4
    for name in ("response", "read_response", "write_response"):
        assert len(values[f"vdbench_rd1_{name}"].samples) == 3
    message = "vdbench_rd1_response: 1 of 4 intervals had no operation and have no latency."
    assert message in str(result.warnings[0])
    assert result.warnings[0].is_note


def test_an_interval_of_writes_alone_has_no_latency_of_reads(sample: Sample) -> None:
    lines = sample("vdbench-5.04-summary").split(b"\n")
    before = {value.test: value for value in parse("x", b"\n".join(lines)).values}
    lines[27] = lines[27].replace(b"53.13    0.009    0.007", b" 0.00    0.009    0.000")
    after = {value.test: value for value in parse("x", b"\n".join(lines)).values}
    name = "vdbench_rd1_read_response"
    assert after[name].samples == before[name].samples[1:]
    assert after["vdbench_rd1_write_response"] == before["vdbench_rd1_write_response"]


def test_an_idle_interval_of_a_flat_file_has_no_latency(sample: Sample) -> None:
    lines = sample("vdbench-5.0-flatfile").split(b"\n")
    header, at = lines[36].split(), 39
    words = lines[at].split()
    for name in (b"rate", b"MB/sec", b"resp"):
        words[header.index(name)] = b"0.0000"
    lines[at] = b" ".join(words)
    result = parse("x", b"\n".join(lines))
    values = {value.test: value for value in result.values if value.line == 48}
    assert len(values["vdbench_random_write_max_4k_4k_iops"].samples) == 9
    assert len(values["vdbench_random_write_max_4k_4k_response"].samples) == 8
