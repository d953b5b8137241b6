"""sysbench's tests other than fileio: real output of 0.5 and 1.0.20."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, ParsedValue, UnreadableFile, parse

Sample = Callable[[str], bytes]


def by_test(result: ParsedResult, repeat: int | None = None) -> dict[str, ParsedValue]:
    return {value.test: value for value in result.values if value.repeat == repeat}


def test_cpu(sample: Sample) -> None:
    result = parse("x", sample("sysbench-1.0.20-cpu"))
    assert (result.format, result.tool, result.tool_version) == ("sysbench", "sysbench", "1.0.20")
    values = by_test(result)
    assert (values["sysbench_cpu_events"].value, values["sysbench_cpu_events"].unit) == (
        *(1263.11, "ops/s"),
    )
    assert values["sysbench_cpu_events"].samples == (1361.81, 1199.92)
    assert (values["sysbench_cpu_latency_p99"].value, values["sysbench_cpu_latency_p99"].unit) == (
        *(28.67, "ms"),
    )
    assert {value.load for value in result.values} == {"threads=2"}
    assert result.modes == ("Prime numbers limit: 10000",)
    assert not result.warnings


def test_memory(sample: Sample) -> None:
    result = parse("x", sample("sysbench-1.0.20-memory"))
    values = by_test(result)
    assert values["sysbench_memory_write_throughput"].value == 2188.92
    assert values["sysbench_memory_write_throughput"].unit == "MiB/s"
    assert values["sysbench_memory_write_throughput"].samples == (2398.93,)
    assert values["sysbench_memory_write_operations"].value == 2241453.13
    assert "block size: 1KiB" in result.modes


def test_sql_of_1_0(sample: Sample) -> None:
    result = parse("x", sample("sysbench-1.0.20-oltp-read-write"))
    values = by_test(result)
    assert values["sysbench_sql_transactions"].value == 162.84
    assert values["sysbench_sql_transactions"].samples == (66.68, 116.47, 305.29)
    assert values["sysbench_sql_queries"].samples == (1338.50, 2416.75, 6198.60)
    assert "line 1: sysbench does not say here which test" in str(result.warnings[0])
    assert 'line 24: sysbench counted "ignored errors:' in str(result.warnings[1])


def test_a_command_above_the_output_says_which_test_it_was(sample: Sample) -> None:
    data = b"$ sysbench oltp_read_write --threads=2 run\n" + sample(
        "sysbench-1.0.20-oltp-read-write"
    )
    result = parse("x", data)
    assert by_test(result)["sysbench_oltp_read_write_transactions"].value == 162.84
    assert not any("does not say" in str(warning) for warning in result.warnings)
    mutex = b"$ sysbench mutex --threads=2 run\n" + sample("sysbench-1.0.20-mutex")
    assert by_test(parse("x", mutex))["sysbench_mutex_total_time"].value == 0.7624


def test_what_may_be_threads_or_mutex(sample: Sample) -> None:
    data = sample("sysbench-1.0.20-mutex")
    result = parse("x", data)
    assert by_test(result)["sysbench_total_time"].value == 0.7624
    assert "threads and mutex print the same" in str(result.warnings[0])
    with pytest.raises(UnreadableFile, match="line 29: This run and that of line 1 do not say"):
        parse("x", data + data)


def test_several_tests_in_one_file(sample: Sample) -> None:
    result = parse("x", sample("sysbench-1.0.20-cpu") + sample("sysbench-1.0.20-memory"))
    assert {value.test.split("_")[1] for value in result.values} == {"cpu", "memory"}
    twice = parse("x", sample("sysbench-1.0.20-cpu") * 2)
    assert {value.repeat for value in twice.values} == {1, 2}
    mixed = parse("x", sample("sysbench-1.0.20") + sample("sysbench-1.0.20-cpu"))
    assert mixed.format == "sysbench-fileio"
    assert "looks like output of sysbench too" in str(mixed.warnings[0])


def test_a_run_that_did_not_end(sample: Sample) -> None:
    data = sample("sysbench-1.0.20-cpu")
    with pytest.raises(UnreadableFile, match="the run did not end"):
        parse("x", data[: data.index(b"CPU speed")])
    both = parse("x", data + data[: data.index(b"CPU speed")])
    assert not both.complete
    assert "line 35: This run of sysbench did not end" in str(both.warnings[0])


def test_what_prepares_and_cleans_up_is_no_run_that_did_not_end(sample: Sample) -> None:
    data = sample("sysbench-1.0.20-prepare-run-cleanup")
    result = parse("x", data)
    assert result.complete
    assert len(result.values) == 8  # the smallest latency is printed as 0.00
    assert not any("did not end" in str(warning) for warning in result.warnings)
    # Killed within its run.
    killed = parse("x", data + data[: data.index(b"File operations:")])
    assert not killed.complete
    assert any("did not end" in str(warning) for warning in killed.warnings)
    table = b"sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nCreating table 'sbtest1'...\n"
    cpu = parse("x", table + sample("sysbench-1.0.20-cpu"))
    assert cpu.complete
    assert not any("did not end" in str(warning) for warning in cpu.warnings)


@pytest.mark.parametrize(
    ("name", "line"), [("sysbench-1.0.20-checkpoints", 23), ("sysbench-1.0.20-cpu-checkpoints", 15)]
)
def test_parts_of_a_run_are_no_repeats(sample: Sample, name: str, line: int) -> None:
    with pytest.raises(UnreadableFile, match=f"line {line}: .* part of a run, .*checkpoints"):
        parse("x", sample(name))


def test_a_fatal_line_warns_and_a_counter_that_ran_over_is_missing(sample: Sample) -> None:
    """sysbench 0.4 subtracts clock readings of a run that ended: 2**64 ns are 584 years."""
    text = sample("sysbench-0.4.12").decode()
    failed = text.replace("Done.", "FATAL: Failed to read file! file: 82 errno = 0 ()\nDone.")
    failed = failed.replace("  211.48ms", " 18446744073709.55ms")
    result = parse("x", failed.encode())
    right = {value.test: value.value for value in parse("x", text.encode()).values}
    del right["sysbench_rndrw_latency_max"]
    assert {value.test: value.value for value in result.values} == right
    fatal = failed.split("\n").index("FATAL: Failed to read file! file: 82 errno = 0 ()") + 1
    assert sorted(w.line or 0 for w in result.warnings if not w.is_note) == [fatal, fatal + 14]
    assert not result.complete


OLTP = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 128

Doing OLTP test.
Running simple OLTP test
Doing read-only test
Using Uniform distribution
Skipping BEGIN/COMMIT
Using auto_inc on the id column
Threads started!
Done.

OLTP test statistics:
    transactions:                        1834424 (30571.83 per sec.)
    read/write requests:                 1834424 (30571.83 per sec.)

Test execution summary:
    total time:                          60.0037s
    per-request statistics:
         min:                                  1.42ms
         avg:                                  4.18ms
         approx.  95 percentile:               8.56ms

Threads fairness:
    events (avg/stddev):           14331.4375/63.46
"""


def test_the_oltp_test_of_0_4_says_what_it_is() -> None:
    """Shortened from a public collection of results of MySQL on many threads."""
    result = parse("x", OLTP.encode())
    assert {value.test: value.value for value in result.values} == {
        "sysbench_oltp_transactions": 30571.83,
        "sysbench_oltp_read_write_requests": 30571.83,
        "sysbench_oltp_latency_min": 1.42,
        "sysbench_oltp_latency_avg": 4.18,
        "sysbench_oltp_latency_p95": 8.56,
    }
    assert result.warnings == []
    assert "Doing read-only test" in result.modes
    mixed = OLTP.replace("Doing read-only test\n", "").replace("simple", "mixed")
    with pytest.raises(UnreadableFile, match="measured again with other settings"):
        parse("x", (OLTP + mixed).encode())
