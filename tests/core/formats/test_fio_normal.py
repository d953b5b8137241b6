"""fio's report for people: real files of 2.2 and 3.33, next to what fio's JSON says of the run."""

import re
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {v.test: (v.value, v.unit) for v in result.values if v.repeat == repeat}


def test_report_of_3_33(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-normal"))
    assert (result.format, result.tool, result.tool_version) == ("fio-normal", "fio", "3.33")
    values = numbers(result)
    assert values["mixed_read_bw"] == (61.8 * 1024, "KB/s")
    assert values["mixed_read_iops"] == (15800, "ops/s")
    assert values["mixed_read_clat_mean"] == (112100, "ns")
    assert values["mixed_read_clat_p99.99"] == (10_552_000, "ns")
    assert values["mixed_sync_lat_mean"] == (601_520, "ns")
    assert values["writer_write_clat_mean"] == (50737.5, "ns")
    assert values["writer_write_lat_mean"] == (67720, "ns")
    assert {v.load for v in result.values} == {"iodepth=1,jobs=2", "iodepth=4,jobs=1"}
    assert "mixed: bs=4096B" in result.modes
    assert result.facts == [("Run at", "Sun Nov 22 09:29:41 2026")]
    assert result.complete


def test_all_that_the_json_of_the_run_says_is_there_as_rounded_by_fio(sample: Sample) -> None:
    """One fio printed both; of a number in words the last digit may be rounded up or down."""
    exact = parse("x", sample("fio-3.33-normal-and-json"))
    assert exact.format == "fio-json"
    # The ordinary report says these, too; they are read from JSON alone.
    alone = re.compile(r".*(_lat_max|[cs]lat_max|_usr_cpu|_sys_cpu|_disk_util)")
    in_json = {v.test: v for v in exact.values if not alone.fullmatch(v.test)}
    result = parse("x", sample("fio-3.33-normal"))
    assert {v.test for v in result.values} == in_json.keys()
    for value in result.values:
        other = in_json[value.test]
        assert value.unit == other.unit
        # Percentiles are whole microseconds at best, means have hundredths, rates three digits.
        step = {"_p": 1000, "_mean": 10}.get(re.findall("_p|_mean|$", value.test)[0], 0)
        assert abs(value.value - other.value) <= (step or 0.002 * other.value), (value, other)


def test_report_of_2_2_counts_kb_of_1024_and_microseconds(sample: Sample) -> None:
    result = parse("x", sample("fio-2.2.10-normal"))
    assert result.tool_version == "2.2.10"
    values = numbers(result)
    name = "ceph-erasure-2-1"
    assert values[f"{name}_read_bw"] == (557417 / 1024, "KB/s")
    assert values[f"{name}_read_iops"] == (136, "ops/s")
    assert values[f"{name}_read_clat_mean"] == (114_150, "µs")
    assert values[f"{name}_read_clat_p99"] == (358_400, "µs")
    assert values[f"{name}_write_clat_p99"] == (371_000, "µs")
    assert {v.load for v in result.values} == {"iodepth=32,jobs=1"}


def test_processes_of_a_job_are_apart_and_worked_at_once(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-normal-ungrouped"))
    values = numbers(result)
    assert values["many_read_iops"] == (4196, "ops/s")
    assert values["many.2_read_iops"] == (8325, "ops/s")
    assert {v.load for v in result.values} == {"iodepth=1,jobs=2"}


def test_of_reports_of_one_run_the_last_is_read(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-normal-status-interval"))
    assert numbers(result)["sequential_4k_cache-unknown_psync_write_iops"] == (37, "ops/s")
    assert {v.repeat for v in result.values} == {None}
    assert sum("same run again" in str(warning) for warning in result.warnings) == 2


def test_other_block_sizes_are_other_tests_and_the_same_again_is_a_repeat(sample: Sample) -> None:
    data = sample("fio-3.33-normal-two-block-sizes")
    values = numbers(parse("x", data))
    assert values["sequential_4k_cache-unknown_psync_read_iops"] == (128_000, "ops/s")
    assert values["sequential_64k_cache-unknown_psync_read_iops"] == (9142, "ops/s")
    again = sample("fio-3.33-normal")
    other = re.sub(rb"pid=([0-9]+)", rb"pid=9\1", again)
    repeats = parse("x", again + other)
    assert {v.repeat for v in repeats.values} == {1, 2}


def test_a_job_that_failed_is_said_to_have(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-normal-no-space"))
    assert not result.complete
    assert "line 6: fio says that full ended with error 28." in map(str, result.warnings)


def test_a_report_that_is_cut_off(sample: Sample) -> None:
    data = sample("fio-3.33-normal")
    result = parse("x", data[: data.index(b"[ 1516")])
    assert not result.complete
    assert "cut off" in str(result.warnings[-1])
    assert "mixed_read_clat_p99" not in numbers(result)
    with pytest.raises(UnreadableFile, match="no result of a job: the run did not end") as refused:
        parse("x", data[: data.index(b"mixed: (groupid")])
    assert refused.value.problems[0].line == 9


def test_several_hosts_are_told_apart() -> None:
    job = "<{0}> j: (groupid=0, jobs=1): err= 0: pid=7: Mon Jan  1 00:00:00 2024\n"
    rate = "<{0}>   read: IOPS=2, BW=2KiB/s (2kB/s)(8KiB/4000msec)\n"
    text = "".join((job + rate).format(host) for host in ("a", "b"))
    values = numbers(parse("x", (text + "\nRun status group 0 (all jobs):\n").encode()))
    assert {"j.a_read_iops", "j.b_read_iops"} <= set(values)


def test_a_rate_in_bits_stays_missing_with_a_word() -> None:
    text = (
        "j: (groupid=0, jobs=1): err= 0: pid=7: Mon Jan  1 00:00:00 2024\n"
        "  read: IOPS=2, BW=16Kibit/s (16kbit/s)(8KiB/4000msec)\n\nRun status group 0 (all jobs):\n"
    )
    result = parse("x", text.encode())
    assert set(numbers(result)) == {"j_read_iops"}
    assert "line 2: j: no rate in bytes is there" in " ".join(map(str, result.warnings))


_RUN = (
    "j: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:{minute:02}:00 2024\n"
    "  write: IOPS={iops}, BW={bw}KiB/s (8kB/s)({bw}KiB/{ms}msec); 0 zone resets\n\n"
)
_PLAN = "j: (g=0): rw=write, bs=4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\n"
_OF_ALL = "Run status group 0 (all jobs):\n"


@pytest.mark.parametrize("head", [_PLAN, "fio-3.33\n", "Starting 1 process\n", ""])
@pytest.mark.parametrize("end", [_OF_ALL, ""])
@pytest.mark.parametrize("later", [90, 100, 110, 300])
def test_a_later_run_with_the_same_pid_replaces_none(head: str, end: str, later: int) -> None:
    """Every run in a container is process 1, whether it does less or more than the one before."""
    runs = [
        head + _RUN.format(minute=10 * n, iops=iops, bw=iops, ms=60_000 + iops) + end
        for n, iops in enumerate((100, later))
    ]
    result = parse("x", "".join(runs).encode())
    values = [(v.value, v.repeat) for v in result.values if v.test.endswith("_write_iops")]
    assert values == [(100, 1), (later, 2)]
    assert {v.load for v in result.values} <= {"iodepth=1", "iodepth=1,jobs=1", "jobs=1"}


def test_of_a_run_that_is_reported_often_the_last_report_counts_of_each_start() -> None:
    """Two runs with --status-interval and the same pid: each goes on until the next banner."""
    run = [
        _RUN.format(minute=n, iops=100 + n, bw=1000 * n, ms=60_000 * n) + _OF_ALL for n in (1, 2, 3)
    ]
    text = _PLAN + "".join(run)
    again = text.replace(" 2024", " 2025")
    result = parse("x", (text + again).encode())
    values = [(v.value, v.repeat) for v in result.values if v.test.endswith("_write_iops")]
    assert values == [(103, 1), (103, 2)]


def test_two_reports_of_a_real_sample_are_two_repeats(sample: Sample) -> None:
    again = sample("fio-3.33-normal")
    assert {v.repeat for v in parse("x", again + again).values} == {1, 2}
