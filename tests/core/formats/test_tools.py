"""bonnie++, PostMark, dbench, filebench, sysbench, mdtest, IOR, elbencho: samples and mistakes."""

import re
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, ParsedValue, UnreadableFile, parse

Sample = Callable[[str], bytes]


def by_test(result: ParsedResult, repeat: int | None = None) -> dict[str, ParsedValue]:
    return {value.test: value for value in result.values if value.repeat == repeat}


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {test: (v.value, v.unit) for test, v in by_test(result, repeat).items()}


def test_the_version_of_bonnie_1_03_stands_in_its_report(sample: Sample) -> None:
    data = sample("bonnie-1.03")
    assert parse("x", data).tool_version == "1.03"
    assert parse("x", data[data.index(b"srv-a,4G") :]).tool_version == ""


def test_bonnie_1_03_and_its_repeats(sample: Sample) -> None:
    result = parse("x", sample("bonnie-1.03"))
    assert result.format == "bonnie-csv"
    assert numbers(result, 1) == {
        "bonnie_putc": (45671, "KB/s"),
        "bonnie_put_block": (191234, "KB/s"),
        "bonnie_rewrite": (78123, "KB/s"),
        "bonnie_getc": (48012, "KB/s"),
        "bonnie_get_block": (212345, "KB/s"),
        "bonnie_seeks": (412.5, "ops/s"),
        "bonnie_seq_create": (23456, "ops/s"),
        "bonnie_seq_del": (28765, "ops/s"),
        "bonnie_ran_create": (24001, "ops/s"),
        "bonnie_ran_del": (21987, "ops/s"),
    }
    assert numbers(result, 2)["bonnie_put_block"] == (190988, "KB/s")
    assert {value.line for value in result.values} == {5, 6}
    assert result.modes == ("size 4G, files 16",)
    assert "seq_stat was too short to measure (+++++)" in str(result.warnings[0])


def test_bonnie_with_48_fields_converts_latencies_exactly(sample: Sample) -> None:
    result = parse("x", sample("bonnie-1.96"))
    first, second = numbers(result, 1), numbers(result, 2)
    assert first["bonnie_seeks"] == (612.4, "ops/s")
    assert first["bonnie_putc_latency"] == (12204, "µs")
    assert first["bonnie_put_block_latency"] == (1_213_000, "µs")
    assert first["bonnie_rewrite_latency"] == (2_000_000, "µs")
    assert "bonnie_ran_del" not in first
    assert second["bonnie_ran_del"] == (31222, "ops/s")
    assert {value.load for value in result.values} == {"processes=1"}


def test_bonnie_with_50_fields(sample: Sample) -> None:
    result = parse("x", sample("bonnie-2.00a-two-processes"))
    values = by_test(result)
    assert result.tool_version == "2.00a"
    assert values["bonnie_putc"].value == 1090
    assert values["bonnie_put_block"].value == 668301
    assert values["bonnie_ran_del_latency"].value == 112_000
    assert values["bonnie_putc"].load == "processes=2"
    assert ("Machine", "lab 1") in result.facts


def test_bonnie_below_its_report_in_words(sample: Sample) -> None:
    values = by_test(parse("x", sample("bonnie-2.00a-report")))
    assert values["bonnie_putc"].value == 765
    assert values["bonnie_putc"].line == 11


def test_bonnie_of_two_machines_names_them() -> None:
    line = "{},4G,{},97,191234,41,78123,15,48012,98,212345,17,412.5,1,16" + ",1,2" * 6
    result = parse("x", f"{line.format('a', 5)}\n{line.format('b', 6)}\n".encode())
    assert {(v.hardware, v.value) for v in result.values if v.test == "bonnie_putc"} == {
        ("a", 5.0),
        ("b", 6.0),
    }
    assert {value.repeat for value in result.values} == {None}


def test_bonnie_that_is_cut_off_is_refused(sample: Sample) -> None:
    data = b",".join(sample("bonnie-2.00a-two-processes").split(b",")[:45])
    with pytest.raises(UnreadableFile, match="45 fields, expected 48 or 50"):
        parse("x", data)
    short = b"1.98,2.00a,lab,1,1,64M,,8192,5" + b",+++++,+++" * 6 + b",16,,,,"
    with pytest.raises(UnreadableFile, match="too short"):
        parse("x", short + b",+++++,+++" * 6 + b"," * 12 + b"\n")


def test_postmark(sample: Sample) -> None:
    result = parse("x", sample("postmark-1.51"))
    assert (result.format, result.tool_version) == ("postmark", "1.51")
    assert numbers(result) == {
        "postmark_total_time": (1, "s"),
        "postmark_transactions_time": (1, "s"),
        "postmark_transactions": (2000, "ops/s"),
        "postmark_created": (1556, "ops/s"),
        "postmark_creation_alone": (500, "ops/s"),
        "postmark_creation_mixed": (1056, "ops/s"),
        "postmark_read": (978, "ops/s"),
        "postmark_appended": (1018, "ops/s"),
        "postmark_deleted": (1556, "ops/s"),
        "postmark_deletion_alone": (612, "ops/s"),
        "postmark_deletion_mixed": (944, "ops/s"),
        "postmark_data_read": (5.96 * 1024, "KB/s"),
        "postmark_data_written": (9.60 * 1024, "KB/s"),
    }


def test_postmark_scales_to_its_taste_and_fsbench_does_not(sample: Sample) -> None:
    result = parse("x", sample("postmark-two-reports"))
    assert numbers(result, 1)["postmark_data_read"] == (460.97, "KB/s")
    assert numbers(result, 1)["postmark_data_written"] == (1413.12, "KB/s")
    assert numbers(result, 2)["postmark_transactions"] == (204, "ops/s")


def test_postmark_that_was_stopped(sample: Sample) -> None:
    data = sample("postmark-1.51")
    result = parse("x", data[: data.index(b"Data:")])
    assert not result.complete
    with pytest.raises(UnreadableFile, match="no report"):
        parse("x", data[: data.index(b"Time:")])


def test_dbench(sample: Sample) -> None:
    result = parse("x", sample("dbench-4.00"))
    values = by_test(result)
    assert (result.format, result.tool_version) == ("dbench", "4.00")
    assert (values["dbench_throughput"].value, values["dbench_throughput"].unit) == (
        677.153,
        "MB/s",
    )
    assert values["dbench_max_latency"].value == 38.637
    assert values["dbench_flush_latency"].value == 0.542
    assert values["dbench_flush_max_latency"].value == 95.302
    assert {value.load for value in result.values} == {"clients=2"}


def test_dbench_at_two_loads_is_one_run(sample: Sample) -> None:
    result = parse("x", sample("dbench-3.03"))
    assert [(v.value, v.load, v.repeat) for v in result.values] == [
        (401.522, "clients=20", None),
        (377.004, "clients=40", None),
    ]
    assert [v.value for v in parse("x", sample("dbench-2")).values] == [57.3115]


def test_dbench_that_did_not_end(sample: Sample) -> None:
    data = sample("dbench-4.00")
    with pytest.raises(UnreadableFile, match="did not end"):
        parse("x", data[: data.index(b"Throughput")])
    result = parse("x", data + data[: data.index(b"Throughput")])
    assert not result.complete
    assert len(result.values) == 34


def test_filebench(sample: Sample) -> None:
    result = parse("x", sample("filebench-1.4.9"))
    values = by_test(result)
    assert numbers(result) == {
        "filebench_varmail_ops": (5990.122, "ops/s"),
        "filebench_varmail_reads": (921, "ops/s"),
        "filebench_varmail_writes": (923, "ops/s"),
        "filebench_varmail_throughput": (21.6, "MiB/s"),
        "filebench_varmail_cpu": (532, "µs"),
        "filebench_varmail_latency": (12.9, "ms"),
        "filebench_web-server_ops": (30482.251, "ops/s"),
        "filebench_web-server_reads": (9833, "ops/s"),
        "filebench_web-server_writes": (984, "ops/s"),
        "filebench_web-server_throughput": (161.4, "MiB/s"),
        "filebench_web-server_latency": (0.033, "ms"),
    }
    assert values["filebench_varmail_ops"].load == "threads=16"
    assert values["filebench_web-server_ops"].load == ""


def test_filebench_that_was_stopped(sample: Sample) -> None:
    data = sample("filebench-1.4.9")
    with pytest.raises(UnreadableFile, match="cut off"):
        parse("x", data[: data.index(b"cpu/op,")])
    with pytest.raises(UnreadableFile, match="did not end"):
        parse("x", data[: data.index(b"IO Summary")])


def test_sysbench_0_4_and_0_5(sample: Sample) -> None:
    result = parse("x", sample("sysbench-0.4.12"))
    assert (result.format, result.tool_version) == ("sysbench-fileio", "0.4.12")
    assert numbers(result) == {
        "sysbench_rndrw_throughput": (13.021, "MiB/s"),
        "sysbench_rndrw_requests": (833.36, "ops/s"),
        "sysbench_rndrw_latency_min": (0.01, "ms"),
        "sysbench_rndrw_latency_avg": (8.72, "ms"),
        "sysbench_rndrw_latency_max": (211.48, "ms"),
        "sysbench_rndrw_latency_p95": (35.86, "ms"),
    }
    values = numbers(parse("x", sample("sysbench-0.5")))
    assert values["sysbench_rndrw_throughput"] == (901.5 / 1024, "MiB/s")


def test_sysbench_1_0_with_its_intervals(sample: Sample) -> None:
    values = by_test(parse("x", sample("sysbench-1.0.20")))
    assert values["sysbench_rndrw_reads"].value == 60322.08
    assert values["sysbench_rndrw_reads"].load == "threads=2"
    assert values["sysbench_rndrw_read_throughput"].value == 942.53
    assert values["sysbench_rndrw_read_throughput"].samples == (637.63, 1099.08, 1096.04)
    assert values["sysbench_rndrw_latency_p95"].value == 0.01
    assert "sysbench_rndrw_latency_min" not in values


def test_sysbench_1_1(sample: Sample) -> None:
    values = numbers(parse("x", sample("sysbench-1.1")))
    assert values["sysbench_rndwr_writes"] == (7463.83, "ops/s")
    assert values["sysbench_rndwr_written_throughput"] == (29.16, "MiB/s")
    assert values["sysbench_rndwr_fsyncs"] == (9564.21, "ops/s")
    assert values["sysbench_rndwr_latency_p99"] == (1.21, "ms")
    assert "sysbench_rndwr_reads" not in values


def test_sysbench_at_two_loads_and_twice(sample: Sample) -> None:
    twice = parse("x", sample("sysbench-two-runs"))
    assert {(v.load, v.repeat) for v in twice.values} == {("threads=16", None), ("threads=1", None)}
    again = parse("x", sample("sysbench-0.4.12") * 2)
    assert {value.repeat for value in again.values} == {1, 2}


def test_sysbench_that_was_cut_off(sample: Sample) -> None:
    data = sample("sysbench-1.0.20")
    with pytest.raises(UnreadableFile, match="did not end"):
        parse("x", data[: data.index(b"60322.08") + 3])
    with pytest.raises(UnreadableFile, match="did not end"):
        parse("x", data[: data.index(b"File operations")])


EACH_RANK = """mdtest-{0} was launched with 10 total task(s) on 1 node(s)
Command line used: ./src/mdtest '-i' '3' '-n' '10'

SUMMARY rate: (of 3 iterations)
   Operation         per Rank: {1} per Iteration: {2}
   ---------                   ---            ---           ----
   Directory creation        : {3}
   File read                 : {4}
"""


@pytest.mark.parametrize(
    ("version", "ranks", "iterations", "numbers"),
    [
        # hpc/ior issue 300 (2020): deviations of the ranks alone.
        (
            *("3.4.0+dev", "Max  Min  Mean  Std Dev", "Max  Min  Mean"),
            "133349.335 15240.973 63062.865 35579.914 45577.003 15240.973 34399.616",
        ),
        # hpc/ior pull request 336 (2021): deviations of the iterations alone.
        (
            *("4.0.0", "Max  Min  Mean", "Max  Min  Mean  Std Dev"),
            "133349.335 15240.973 63062.865 45577.003 15240.973 34399.616 35579.914",
        ),
    ],
)
def test_mdtest_of_ranks_and_iterations(
    version: str, ranks: str, iterations: str, numbers: str
) -> None:
    text = EACH_RANK.format(version, ranks, iterations, numbers, "0.000 " * 7)
    result = parse("x", text.encode())
    assert {value.test: value.value for value in result.values} == {
        "mdtest_directory_creation_max": 45577.003,
        "mdtest_directory_creation_min": 15240.973,
        "mdtest_directory_creation_mean": 34399.616,
    }
    assert result.complete


@pytest.mark.parametrize("name", ["1.9.3", "3.4-easy-stat", "3.4-hard-stat", "3.4-many-tasks"])
def test_phases_that_mdtest_did_not_run_are_not_lost(sample: Sample, name: str) -> None:
    """Printed as 0: one note of a file names them."""
    [warning] = parse("x", sample(f"mdtest-{name}")).warnings
    assert warning.is_note
    assert "File read" in warning.message


def test_mdtest(sample: Sample) -> None:
    result = parse("x", sample("mdtest-1.9.3"))
    values = by_test(result)
    assert (result.format, result.tool_version) == ("mdtest", "1.9.3")
    assert result.command == "mdtest -n 1000 -i 3"
    assert values["mdtest_file_creation_mean"].value == 24150.021
    assert values["mdtest_file_creation_max"].value == 24392.579
    assert values["mdtest_file_creation_min"].value == 23887.654
    assert "mdtest_file_read_mean" not in values
    assert {(value.load, value.unit) for value in result.values} == {("tasks=8", "ops/s")}


def test_mdtest_with_ranks_and_times(sample: Sample) -> None:
    values = numbers(parse("x", sample("mdtest-4.1")))
    assert values["mdtest_file_creation_mean"] == (41945.081, "ops/s")
    assert values["mdtest_file_creation_max"] == (42870.112, "ops/s")
    assert values["mdtest_file_creation_time_mean"] == (0.795, "s")
    assert not any("stat" in test for test in values)


def test_ior_4(sample: Sample) -> None:
    result = parse("x", sample("ior-4.0"))
    values = by_test(result)
    assert (result.format, result.tool_version) == ("ior", "4.0.0")
    assert numbers(result)["ior_write_mean"] == (1066.40, "MiB/s")
    assert numbers(result)["ior_read_max_ops"] == (5290.11, "ops/s")
    assert numbers(result)["ior_write_time"] == (0.12011, "s")
    write = values["ior_write_mean"]
    assert (write.record_size_kb, write.file_size_kb, write.load) == (1024, 32768, "tasks=4")


def test_ior_2_10(sample: Sample) -> None:
    values = by_test(parse("x", sample("ior-2.10")))
    assert values["ior_write_mean"].value == 153.15
    assert values["ior_read_time"].value == 3.28728
    assert values["ior_write_mean"].load == "tasks=16"
    assert values["ior_write_mean"].record_size_kb is None


def test_ior_that_was_cut_off(sample: Sample) -> None:
    data = sample("ior-4.0")
    result = parse("x", data[: data.rindex(b"5199.02") + 5])
    assert not result.complete
    assert {value.test.split("_")[1] for value in result.values} == {"write"}
    before = parse("x", data[: data.index(b"Summary of all tests")])
    assert not before.complete
    assert numbers(before)["ior_write"] == (1033.22, "MiB/s")
    with pytest.raises(UnreadableFile, match="did not end"):
        parse("x", data[: data.index(b"write     1033.22")])


def test_ior_that_prints_no_summary(sample: Sample) -> None:
    result = parse("x", sample("ior-3.4-no-summary"))
    assert result.complete
    assert not result.warnings
    assert numbers(result) == {
        "ior_read": (2439401, "MiB/s"),
        "ior_read_ops": (54415632, "ops/s"),
        "ior_read_latency": (326.34, "s"),
        "ior_read_time": (326.39, "s"),
    }
    # 47,008 bytes are no whole number of KB.
    assert {(v.load, v.record_size_kb) for v in result.values} == {("tasks=9600", None)}
    assert result.values[0].line == 32


def test_iterations_of_ior_without_a_summary_are_repeats_from_1(sample: Sample) -> None:
    data = sample("ior-3.2-two-iterations")
    whole = parse("x", data)
    assert numbers(whole)["ior_read_mean"] == (412306.54, "MiB/s")
    result = parse("x", data[: data.index(b"Summary of all tests")])
    assert result.complete
    assert [(v.test, v.value, v.repeat) for v in result.values] == [
        ("ior_read", 412684, 1),
        ("ior_read_time", 116.88, 1),
        ("ior_read", 411929, 2),
        ("ior_read_time", 117.09, 2),
    ]
    assert (result.values[0].record_size_kb, result.values[0].file_size_kb) == (1024, 8388608)
    cut_off = parse("x", data[: data.index(b"read      411929")])
    assert not cut_off.complete
    assert "before the last repetition" in str(cut_off.warnings[0])


def test_mdtest_may_have_more_tasks_than_a_line_has_room(sample: Sample) -> None:
    data = sample("mdtest-3.4-many-tasks")
    values = parse("x", data).values
    assert (values[0].test, values[0].value) == ("mdtest_file_stat_mean", 740134.914)
    assert values[0].load == "tasks=12288"
    with pytest.raises(UnreadableFile, match="more than 1,000 digits"):
        parse("x", data.replace(b"Nodemap: ", b"Another: "))
    with pytest.raises(UnreadableFile, match="10000 is the most"):
        parse("x", re.sub(rb"Nodemap: .*", b"Another: " + b"1 " * 6000, data))


@pytest.mark.parametrize("name", ["io500-sc19", "io500-sc20", "io500-isc24"])
def test_io500(sample: Sample, name: str) -> None:
    result = parse("x", sample(name))
    values = numbers(result)
    assert (result.format, result.tool, result.complete) == ("io500", "io500", True)
    easy_write = {"io500-sc19": 836.649, "io500-sc20": 0.355843, "io500-isc24": 352.803032}[name]
    assert values["io500_ior_easy_write"] == (easy_write, "GiB/s")
    assert "io500_timestamp" not in values
    if name == "io500-isc24":
        assert (result.tool_version, result.modes) == ("io500-isc24_v3", ("standard",))
        assert values["io500_mdtest_easy_stat"] == (415688.686, "IOPS")
        assert values["io500_mdtest_easy_stat_time"] == (107.918, "s")
        assert values["io500_bandwidth"] == (122.31263, "GiB/s")
        assert values["io500_iops"] == (192355.126, "IOPS")
        assert values["io500_total"] == (153.38664, "score")
        assert len(values) == 2 * 12 + 3


def test_io500_that_was_cut_off(sample: Sample) -> None:
    data = sample("io500-isc24")
    result = parse("x", data[: data.index(b"[SCORE")])
    assert not result.complete
    assert "before the score" in str(result.warnings[-1])


def test_elbencho(sample: Sample) -> None:
    result = parse("x", sample("elbencho-3.1"))
    values = by_test(result)
    assert (result.format, result.tool_version) == ("elbencho-csv", "3.1-1")
    assert result.command.startswith('"elbencho" "-w"')
    write = values["elbencho_write_throughput_last"]
    assert (write.value, write.unit, write.line) == (2941, "MiB/s", 3)
    assert write.load == "hosts=1,iodepth=4,threads=8"
    assert (write.record_size_kb, write.file_size_kb) == (1024, 262144)
    assert values["elbencho_random_read_iops_last"].value == 60048
    assert values["elbencho_random_read_io_latency_avg"].unit == "µs"
    assert values["elbencho_mkdirs_entries_last"].record_size_kb is None
    assert "elbencho_mkdirs_iops_last" not in values


def test_elbencho_names_every_row_that_does_not_fit() -> None:
    data = b"operation,hosts,threads,MiB/s [first],MiB/s [last],IOPS [last]\nWRITE,1\n\nREAD,1,2\n"
    with pytest.raises(UnreadableFile) as error:
        parse("x", data)
    assert [problem.line for problem in error.value.problems] == [2, 4]
    assert "Found 2 fields, expected 6" in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        *("bonnie-1.03", "bonnie-1.96", "postmark-two-reports", "dbench-4.00", "filebench-1.4.9"),
        *("sysbench-0.4.12", "sysbench-1.0.20", "mdtest-1.9.3", "ior-4.0", "elbencho-3.1"),
        *("phoronix-composite", "phoronix-csv", "fio-3.33-json", "fio-3.33-terse-3"),
        "iozone-3.489-throughput-tests-0-1-2",
    ],
)
def test_line_ends_marks_and_blank_space_make_no_difference(sample: Sample, name: str) -> None:
    data = sample(name)
    expected = parse("x", data)
    for changed in (
        data.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + data,
        data.decode().encode("utf-16"),
        data + b"\n\n  \n",
    ):
        assert parse("x", changed).values == expected.values
    prompted = parse("x", b"user@host:~$ # the benchmark of today\n" + data)
    assert [(v.test, v.value) for v in prompted.values] == [
        (v.test, v.value) for v in expected.values
    ]


@pytest.mark.parametrize(
    "name", ["postmark-1.51", "sysbench-1.0.20", "dbench-4.00", "mdtest-1.9.3"]
)
def test_a_decimal_comma_of_the_locale(sample: Sample, name: str) -> None:
    data = sample(name)
    changed = re.sub(rb"([0-9])\.([0-9]+)(?![0-9.]|-|ds|\+)", rb"\1,\2", data)
    before, after = parse("x", data), parse("x", changed)
    assert [v.value for v in after.values] == [v.value for v in before.values]


def test_a_row_of_numbers_alone_is_not_bonnie() -> None:
    matrix = "write KB/s,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384\n"
    rows = "".join(f"{kb}," + ",".join(["1105556"] * 13) + "\n" for kb in (64, 128))
    try:
        format_read = parse("x", (matrix + rows).encode()).format
    except UnreadableFile:
        format_read = "none"
    assert format_read != "bonnie-csv"


def test_bonnie_1_03_without_tests_by_character() -> None:
    line = b"srv,300M:8k,,,191234,41,78123,15,,,212345,17,412.5,1"
    assert set(numbers(parse("x", line + b"\n"))) == {
        *("bonnie_put_block", "bonnie_rewrite", "bonnie_get_block", "bonnie_seeks"),
    }


def test_a_log_of_several_tools_says_what_was_not_read(sample: Callable[[str], bytes]) -> None:
    result = parse("x", sample("postmark-1.51") + sample("dbench-4.00"))
    assert result.format == "postmark"
    assert "looks like output of dbench too" in result.warnings[0].message
