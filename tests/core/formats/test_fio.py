"""fio's JSON and terse output: real files of 3.33, older forms, and what can be wrong with them."""

import json
import re
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, ParsedValue, UnreadableFile, parse
from fsbench_web.core.formats.fio.report import Report, interval_rates

Sample = Callable[[str], bytes]


def by_test(result: ParsedResult, repeat: int | None = None) -> dict[str, ParsedValue]:
    return {value.test: value for value in result.values if value.repeat == repeat}


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {test: (v.value, v.unit) for test, v in by_test(result, repeat).items()}


def document(**job: object) -> bytes:
    entry = {"jobname": "j", "error": 0, "read": {"bw": 10, "iops": 2.5, "total_ios": 9}, **job}
    return json.dumps({"fio version": "fio-3.40", "jobs": [entry]}).encode()


def test_json_of_3_33(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-json"))
    assert (result.format, result.tool, result.tool_version) == ("fio-json", "fio", "3.33")
    values = numbers(result)
    assert values["random_4k_buffered_read_bw"] == (80313, "KB/s")
    assert values["random_4k_buffered_read_clat_mean"] == (148485.226562, "ns")
    assert values["random_4k_buffered_read_lat_mean"] == (196517.63916, "ns")
    assert {test for test in values if "_p" in test} == {
        f"random_4k_buffered_read_clat_p{p}"
        for p in [
            "1",
            "5",
            "10",
            "20",
            "30",
            "40",
            "50",
            "60",
            "70",
            "80",
            "90",
            "95",
            "99",
            "99.5",
            "99.9",
            "99.95",
            "99.99",
        ]
    }
    assert "random_4k_buffered_write_bw" not in values
    assert {value.load for value in result.values} == {"iodepth=4"}
    assert result.modes == ("bs=4k", "ioengine=libaio", "runtime=2", "rw=randread", "size=8m")
    assert result.complete
    assert result.warnings == []


def test_every_value_names_its_line(sample: Sample) -> None:
    data = sample("fio-3.33-json-plus")
    lines = data.decode().split("\n")
    result = parse("x", data)
    assert len(result.values) == 24
    assert {value.load for value in result.values} == {"iodepth=1,jobs=2"}
    for value in result.values:
        printed = re.findall(r"[0-9][0-9.]*", lines[value.line - 1])
        assert value.value in map(float, printed)


def test_json_before_terse_and_normal_output(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-all-outputs"))
    assert result.format == "fio-json"
    values = numbers(result)
    assert values["mixed_read_bw"] == (56685, "KB/s")
    # The second process of the job.
    assert values["mixed.2_read_bw"] == (62709, "KB/s")


def test_reports_of_intervals_are_one_run(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-status-interval"))
    assert numbers(result)["random_4k_buffered_psync_rate-iops-500_read_bw"] == (1990, "KB/s")
    assert [str(warning) for warning in result.warnings] == [
        "4 reports of intervals are kept as samples alone: the last one includes them."
    ]


def test_reports_of_intervals_are_samples_without_those_of_the_ramp_time() -> None:
    def report(at_s: float, runtime_s: float, ios: int) -> Report:
        return Report(at_s, runtime_s, ios, ios * 4)

    ramp = [report(100.6, 0.9, 18000), report(101.6, 1.9, 48000)]
    # Measured from 102.0 on; the last report is of a moment at the end alone.
    whole = [report(103.0, 1.0, 20000), report(104.1, 2.1, 42000), report(105.0, 3.0, 69000)]
    end = report(105.1, 3.1, 69100)
    rates = interval_rates([*ramp, *whole, end])
    assert [(round(ios), round(kb)) for ios, kb in rates] == [
        (20000, 80000),
        (20000, 80000),
        (30000, 120000),
    ]
    assert interval_rates([end]) == interval_rates([]) == []
    assert interval_rates([*ramp, report(102.6, 0.6, 500)]) == []  # one is no sample


def steady(attained: int) -> dict[str, object]:
    data = {"iops_mean": 30, "bw_mean": 122_880, "iops": [29, 31], "bw": [118_784, 126_976]}
    return {"ss": "iops:10.000000%", "duration": 2, "attained": attained, "data": data}


def test_a_job_that_stopped_at_steady_state_has_the_rates_of_its_window() -> None:
    result = parse("x", document(steadystate=steady(1), usr_cpu=3.5))
    values = by_test(result)
    assert numbers(result)["j_read_steady_iops"] == (30, "ops/s")
    assert numbers(result)["j_read_steady_bw"] == (120, "KB/s")
    assert values["j_read_steady_bw"].samples == (116, 124)
    assert values["j_read_bw"].is_steady is values["j_read_steady_iops"].is_steady is True
    assert values["j_usr_cpu"].is_steady is None


def test_a_job_that_never_became_steady_says_so_and_has_no_window() -> None:
    values = by_test(parse("x", document(steadystate=steady(0))))
    assert values["j_read_iops"].is_steady is False
    assert "j_read_steady_iops" not in values
    assert by_test(parse("x", document()))["j_read_iops"].is_steady is None


def test_of_several_directions_the_window_is_of_their_sum() -> None:
    write = {"bw": 10, "iops": 2.5, "total_ios": 9}
    values = by_test(parse("x", document(steadystate=steady(1), write=write)))
    assert {"j_steady_iops", "j_read_iops", "j_write_iops"} <= set(values)


def test_two_runs_in_one_file_are_repeats(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-twice"))
    assert numbers(result, 1)["random_4k_rw50_buffered_psync_fsync-8_read_bw"] == (33000, "KB/s")
    assert numbers(result, 2)["random_4k_rw50_buffered_psync_fsync-8_read_bw"] == (52800, "KB/s")
    assert numbers(result, 1)["random_4k_rw50_buffered_psync_fsync-8_sync_lat_mean"] == (
        230969.481481,
        "ns",
    )
    assert {test for test in numbers(result, 1) if re.search("_p[0-9]", test)} == {
        f"random_4k_rw50_buffered_psync_fsync-8_{kind}_p{percent}"
        for kind in ("read_clat", "write_clat", "sync_lat")
        for percent in (50, 99)
    }


def test_runs_with_different_settings_are_different_tests(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-two-block-sizes"))
    values = numbers(result)
    assert values["sequential_4k_buffered_psync_read_bw"] == (512000, "KB/s")
    assert values["sequential_16k_buffered_psync_read_bw"] == (341333, "KB/s")
    assert "bs=4k" not in result.modes


def test_client_and_server(sample: Sample) -> None:
    values = numbers(parse("x", sample("fio-3.33-client-server")))
    assert values["first_write_iops"] == (256000, "ops/s")
    assert values["second_read_bw"] == (43574, "KB/s")
    assert values["all_clients_read_bw"] == (43574, "KB/s")


def test_two_hosts_behind_progress_and_a_job_with_an_error(sample: Sample) -> None:
    result = parse("x", sample("fio-3.1-two-hosts"))
    values = by_test(result)
    assert values["seq.node1_write_bw"].value == 414651
    assert values["seq.node2_write_bw"].value == 412944
    assert values["all_clients_write_bw"].value == 827595
    assert values["seq.node1_write_bw"].load == "iodepth=8,jobs=4"
    assert values["all_clients_write_bw"].load == "iodepth=8"
    assert not result.complete
    assert "seq.node2 ended with error 5" in str(result.warnings[0])


def test_the_bins_of_json_plus_are_a_distribution(sample: Sample) -> None:
    """It has as many latencies as fio says, and fio's own percentiles."""
    result = parse("x", sample("fio-3.33-json-plus"))
    (distribution,) = result.distributions
    printed = {value.test: value.value for value in result.values}
    assert (distribution.test, distribution.load, distribution.unit) == (
        "sequential_64k_buffered_psync_write_clat",
        "iodepth=1,jobs=2",
        "ns",
    )
    assert distribution.total == 256
    assert distribution.most == printed[f"{distribution.test}_max"]
    for percent in ("1", "50", "90", "99", "99.9"):
        assert distribution.percentile(percent) == printed[f"{distribution.test}_p{percent}"]


def test_fio_2_prints_microseconds_and_percentiles_that_nobody_asked_for(sample: Sample) -> None:
    result = parse("x", sample("fio-2.1.11-json"))
    assert result.tool_version == "2.1.11"
    assert numbers(result) == {
        "rand-read_read_bw": (17057, "KB/s"),
        "rand-read_read_iops": (4264.39, "ops/s"),
        "rand-read_read_clat_mean": (225.92, "µs"),
        "rand-read_read_clat_max": (41310, "µs"),
        "rand-read_read_clat_p1": (98, "µs"),
        "rand-read_read_clat_p50": (207, "µs"),
        "rand-read_read_clat_p99": (556, "µs"),
        "rand-read_read_clat_p99.9": (1816, "µs"),
        "rand-read_read_lat_mean": (232.87, "µs"),
        "rand-read_read_lat_max": (41315, "µs"),
        "rand-read_usr_cpu": (1.83, "% CPU"),
        "rand-read_sys_cpu": (5.92, "% CPU"),
        "fio_disk_util": (99.84, "% of time"),
    }
    assert result.distributions == []


def test_a_percentile_with_two_values_stays_missing() -> None:
    data = document(
        read={"bw": 10, "total_ios": 9, "clat_ns": {"mean": 5, "percentile": {"99.0": 7, "x": 1}}}
    ).replace(b'"x"', b'"99.0"')
    result = parse("x", data)
    assert set(numbers(result)) == {"j_read_bw", "j_read_clat_mean"}
    assert 'percentile "99.0" is given twice' in str(result.warnings[0])


@pytest.mark.parametrize("name", ["fio-3.33-json", "fio-3.33-client-server", "fio-2.1.11-json"])
def test_json_that_is_cut_off_is_refused(sample: Sample, name: str) -> None:
    data = sample(name)
    for share in (0.3, 0.6, 0.9):
        with pytest.raises(UnreadableFile, match=r"cut off|Found") as error:
            parse("x", data[: int(len(data) * share)])
        assert error.value.problems[0].line is not None


def test_the_place_of_a_mistake_is_named() -> None:
    data = b'{\n "fio version" : "fio-3.1",\n "jobs" : [ oops ]\n}\n'
    with pytest.raises(UnreadableFile) as error:
        parse("x", data)
    assert str(error.value) == (
        'line 3, column 13: Found "oops ]", expected a value, in the JSON that starts in line 1.'
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"fio version": "fio-3.1", "jobs": []}', "no job in it did any I/O"),
        (document(read={"bw": 0, "total_ios": 0}), "no job in it did any I/O"),
        (b'{"fio version": "fio-3.1", "jobs": ' + b"[" * 5000, "no more than 64 levels"),
        (b'{"fio version": "fio-3.1", "jobs": [{"jobname": "unclosed\n}]}', "a closing quote"),
    ],
)
def test_json_without_a_result_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("x", data)


def test_json_on_one_long_line() -> None:
    data = document(padding=["x" * 100] * 1000)
    assert len(data) > 100_000
    assert numbers(parse("x", data))["j_read_bw"] == (10, "KB/s")


def test_windows_line_ends_and_a_shell_prompt() -> None:
    data = b"$ fio --output-format=json a.fio\r\n" + document().replace(b", ", b",\r\n ")
    assert numbers(parse("x", data)) == {
        "j_read_bw": (10, "KB/s"),
        "j_read_iops": (2.5, "ops/s"),
    }


def test_numbers_that_are_none_stay_missing() -> None:
    data = b"""{"fio version": "fio-2.2", "jobs": [{"jobname": "j", "read":
    {"bw": -5, "iops": nan, "total_ios": 3, "clat": {"mean": -nan}, "lat": {"mean": 2.5}}}]}"""
    result = parse("x", data)
    assert numbers(result) == {"j_read_lat_mean": (2.5, "µs")}


def test_names_of_jobs_become_names_of_tests() -> None:
    result = parse("x", document(jobname="Ünï <b>/mnt/x</b>\u0000; DROP"))
    assert set(numbers(result)) == {
        "n_b_mnt_x_b_drop_read_bw",
        "n_b_mnt_x_b_drop_read_iops",
    }


def test_long_names_stay_apart() -> None:
    jobs = [
        {"jobname": "x" * 300 + end, "read": {"bw": value}} for end, value in (("a", 1), ("b", 2))
    ]
    result = parse("x", json.dumps({"fio version": "fio-3.1", "jobs": jobs}).encode())
    assert [value.repeat for value in result.values] == [None, None]
    assert len({value.test for value in result.values}) == 2
    assert all(len(value.test) <= 120 for value in result.values)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_terse_output(sample: Sample, version: int) -> None:
    result = parse("x", sample(f"fio-3.33-terse-{version}"))
    assert (result.format, result.tool_version) == ("fio-terse", "" if version == 2 else "3.33")
    values = numbers(result, 1 if version == 5 else None)
    expected = {
        2: (64000, 16000, 51.40247, 201, 51.451206, 68129),
        3: (66133, 16533, 47.837669, 195, 47.918278, 70400),
        4: (66133, 16533, 48.19446, 75, 48.227405, 70400),
        5: (50871, 12717, 58.619952, 110, 58.654315, 54153),
    }[version]
    assert values["mixed_read_bw"] == (expected[0], "KB/s")
    assert values["mixed_read_iops"] == (expected[1], "ops/s")
    assert values["mixed_read_clat_mean"] == (expected[2], "µs")
    assert values["mixed_read_clat_p99"] == (expected[3], "µs")
    assert values["mixed_read_lat_mean"] == (expected[4], "µs")
    assert values["mixed_write_bw"] == (expected[5], "KB/s")
    assert not any("trim" in test for test in values)


def test_terse_version_2_of_fio_1_has_no_operations(sample: Sample) -> None:
    values = numbers(parse("x", sample("fio-1.57-terse-2")))
    assert values["old_job_write_bw"] == (34952, "KB/s")
    assert values["old_job_write_clat_mean"] == (448.625, "µs")
    assert values["old_job_write_clat_p99.9"] == (4832, "µs")
    assert values["old_job_write_lat_mean"] == (457.875, "µs")
    assert not any("iops" in test or "read" in test for test in values)


def test_terse_lines_of_one_job_are_repeats_and_said_to_be(sample: Sample) -> None:
    result = parse("x", sample("fio-3.33-terse-5"))
    assert numbers(result, 2)["mixed_read_bw"] == (51157, "KB/s")
    assert "--group_reporting" in str(result.warnings[0])


def test_a_terse_line_that_is_cut_off_is_refused(sample: Sample) -> None:
    line = sample("fio-3.33-terse-3").split(b"\n")[0]
    with pytest.raises(UnreadableFile, match="cut off"):
        parse("x", b";".join(line.split(b";")[:60]))


def test_json_of_very_many_lines_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is a number or a bracket: a file of a few megabytes has as many as a large table."""
    from fsbench_web.core import formats
    from fsbench_web.core.formats import text

    monkeypatch.setattr(formats, "MAX_LINES", 1000)
    monkeypatch.setattr(text, "MAX_LINES", 1000)
    pad = "\n".join(['"bins": {', *(f'"{n}": 1,' for n in range(3000)), '"x": 1},'])
    job = f'{{"jobname": "j", {pad} "read": {{"iops": 5.5}}}}'
    data = f'{{"fio version": "fio-3.33",\n"jobs": [{job}]}}\n'.encode()
    [value] = parse("x", data).values
    assert (value.test, value.value) == ("j_read_iops", 5.5)
    with pytest.raises(UnreadableFile, match="more than 1,000 lines"):
        parse("x", b"write,4,64,1,KB/s\n" * 3000)


def test_histograms_are_stepped_over_and_other_numbers_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file of megabytes in which every few bytes are a number must not fill the memory."""
    from fsbench_web.core.formats import json_text

    monkeypatch.setattr(json_text, "MAX_VALUES", 100)
    many = ", ".join(f'"{n}": 1' for n in range(200))
    few = ", ".join(f'"{n}": 1' for n in range(60))
    head = '{{"fio version": "fio-3.33", "jobs": [{{"jobname": "j", "read": '
    job = head + '{{{}: {{{}}}, "iops": 5.5}}}}]}}'
    [value] = parse("x", job.format('"bins"', many).encode()).values
    assert value.value == 5.5
    with pytest.raises(UnreadableFile, match="no more than 100 values"):
        parse("x", job.format('"x"', many).encode())
    with pytest.raises(UnreadableFile, match="no more than 100 values"):
        parse("x", (job.format('"x"', few) * 3).encode())
    monkeypatch.setattr(json_text, "MAX_VALUES", 1000)
    with pytest.raises(UnreadableFile, match="cut off"):
        parse("x", job.format('"bins"', many).encode()[:-200])


def test_terse_reports_of_intervals_are_no_repeats(sample: Sample) -> None:
    data = sample("fio-3.33-terse-status-interval")
    lines = [line for line in data.splitlines(True) if line.startswith(b"3;")]
    with pytest.raises(UnreadableFile, match=r"line 1: Job a is given again .* keep the last line"):
        parse("x", data)
    # The last report, of two processes.
    assert {value.repeat for value in parse("x", b"".join(lines[-2:])).values} == {1, 2}


def entry(name: str, **options: str) -> dict[str, object]:
    """A job as fio's JSON has it, with what it read or wrote."""
    side = {"bw": 100, "iops": 25.5, "total_ios": 9, "io_bytes": 9}
    way = "write" if "write" in options["rw"] else "read"
    return {"jobname": name, "error": 0, "job options": {"name": name, **options}, way: side}


def report_of(*jobs: dict[str, object], shared: dict[str, str] | None = None) -> bytes:
    root = {"fio version": "fio-3.33", "global options": shared or {}, "jobs": jobs}
    return json.dumps(root, indent=1).encode() + b"\n"


RANDOM = {"rw": "randread", "bs": "8k", "ioengine": "libaio", "direct": "1", "iodepth": "8"}
RATE = "random_8k_read_iops"


def cells(data: bytes) -> set[tuple[str, str, int | None]]:
    values = parse("x", data).values
    return {(v.test, v.load, v.repeat) for v in values if v.test.endswith("_iops")}


def test_a_job_is_named_by_what_it_did_and_its_name_is_a_label() -> None:
    result = parse("x", report_of(entry("my-job", **RANDOM)))
    assert set(numbers(result)) == {"random_8k_read_iops", "random_8k_read_bw"}
    assert ("Jobs", "my-job") in result.facts
    again = report_of(entry("other", **RANDOM, numjobs="1", runtime="60", size="9g"))
    assert cells(again) == {(RATE, "iodepth=8", None)}


def test_jobs_that_ran_one_after_the_other_are_named_by_what_they_did() -> None:
    second = entry("b", **{**RANDOM, "rw": "randwrite"}, stonewall="")
    third = entry("c", **{**RANDOM, "iodepth": "32"}, stonewall="")
    assert cells(report_of(entry("a", **RANDOM), second, third)) == {
        (RATE, "iodepth=8", None),
        ("random_8k_write_iops", "iodepth=8", None),
        (RATE, "iodepth=32", None),
    }


def test_jobs_that_ran_at_once_keep_their_names() -> None:
    """What one of them did beside the other is not what it does alone."""
    writer = entry("b", **{**RANDOM, "rw": "randwrite"})
    names = {test for test, _, _ in cells(report_of(entry("a", **RANDOM), writer))}
    assert names == {"a_read_iops", "b_write_iops"}
    processes = [entry("a", **RANDOM, numjobs="2")] * 2
    assert {test for test, _, _ in cells(report_of(*processes))} == {"a_read_iops", "a.2_read_iops"}


def test_jobs_that_did_the_same_keep_their_names_and_are_no_repeats() -> None:
    second = entry("large", **RANDOM, size="8g", stonewall="")
    for data in (
        report_of(entry("small", **RANDOM, size="1g"), second),
        report_of(entry("small", **RANDOM)) + report_of(entry("large", **RANDOM)),
    ):
        assert {(test, repeat) for test, _, repeat in cells(data)} == {
            ("small_read_iops", None),
            ("large_read_iops", None),
        }


def test_reports_that_differ_in_a_condition_are_no_repeats_and_equal_ones_are() -> None:
    data = report_of(entry("j", **RANDOM, size="1g"))
    sizes = cells(data + report_of(entry("j", **RANDOM, size="4g")))
    assert {(test, repeat) for test, _, repeat in sizes} == {
        ("random_8k_size-1g_read_iops", None),
        ("random_8k_size-4g_read_iops", None),
    }
    assert {repeat for _, _, repeat in cells(data + data)} == {1, 2}


def test_a_sweep_in_one_file_is_a_test_for_each_point() -> None:
    sweep = [{"bs": "256k"}, {"direct": "0"}, {"iodepth": "1"}]
    data = b"".join(report_of(entry("j", **RANDOM | point)) for point in ({}, *sweep))
    assert cells(data) == {
        (RATE, "iodepth=8", None),
        ("random_256k_read_iops", "iodepth=8", None),
        ("random_8k_buffered_read_iops", "iodepth=8", None),
        (RATE, "iodepth=1", None),
    }


COMMAND = "$ fio --name=j --rw=randread --bs=8k --direct=1 --ioengine=libaio --iodepth=8 -size=1g\n"


def test_a_command_above_names_tests_of_terse_and_ordinary_output(sample: Sample) -> None:
    normal = (
        "j: (groupid=0, jobs=1): err= 0: pid=7: Mon Jan  1 00:00:00 2024\n"
        "  read: IOPS=2, BW=2KiB/s (2kB/s)(8KiB/4000msec)\nRun status group 0 (all jobs):\n"
    )
    line = sample("fio-3.33-terse-3").split(b"\n")[0].decode().replace(";mixed;", ";j;")
    start = line.index(";0;0;") + 5
    fields = line[start:].split(";")
    fields[41:45] = ["0"] * 4  # nothing was written
    terse = f"{line[:start]}{';'.join(fields)}\n"
    for text in (normal, terse):
        assert cells((COMMAND + text).encode()) == {(RATE, "iodepth=8", None)}
        assert {test for test, _, _ in cells(text.encode())} == {"j_read_iops"}
        of_file = COMMAND.replace("-size=1g", "job.fio")
        assert {test for test, _, _ in cells((of_file + text).encode())} == {"j_read_iops"}
        other = COMMAND.replace("8k", "256k").replace("direct=1", "direct=0") + text
        assert cells((COMMAND + text + other).encode()) == {
            (RATE, "iodepth=8", None),
            ("random_256k_buffered_read_iops", "iodepth=8", None),
        }


def test_a_run_that_failed_by_its_text_warns_although_its_error_is_0() -> None:
    said = "fio: io_u error on file /mnt/x: No space left on device: write offset=4096\n"
    result = parse("x", said.encode() + report_of(entry("j", **RANDOM)))
    assert not result.complete
    assert [warning.line for warning in result.warnings if not warning.is_note] == [1]


def test_a_counter_that_ran_over_is_not_measured() -> None:
    over = {"mean": 2.0**64, "max": 2**64 - 1, "N": 5, "percentile": {"99.000000": 2**64 - 1}}
    job = entry("j", **RANDOM)
    job["read"] = {**job["read"], "clat_ns": over}
    result = parse("x", report_of(job))
    assert {value.test for value in result.values} == {"random_8k_read_bw", "random_8k_read_iops"}
    assert len([warning for warning in result.warnings if not warning.is_note]) == 3


def test_a_name_of_all_jobs_leaves_one_its_load_and_warns_of_nothing() -> None:
    job = entry("hot-file", rw="randread", numjobs="8")
    options = dict(job["job options"])
    job["job options"] = {key: text for key, text in options.items() if key != "name"}
    job |= {"elapsed": 2, "job_runtime": 12000}
    shared = {"name": "zns-fio", "ioengine": "libaio", "direct": "1", "group_reporting": ""}
    result = parse("x", report_of(job, shared=shared))
    assert {(value.test, value.load) for value in result.values} == {
        (f"random_4k_read_{rate}", "iodepth=1,jobs=8") for rate in ("bw", "iops")
    }
    assert result.warnings == []


@pytest.mark.parametrize(
    ("longest", "is_kept"), [(3_900_000_000, True), (6_801_009_335_214, False)]
)
def test_a_sync_longer_than_its_job_is_not_measured(longest: int, is_kept: bool) -> None:
    """fio 3.33 with eight requests at once printed 6,801 s for a sync of a job of 2 s."""
    sync = {"total_ios": 1356, "lat_ns": {"max": longest, "mean": 5018426431.9, "N": 1356}}
    result = parse("x", document(sync=sync, job_runtime=2002))
    assert ("j_sync_lat_mean" in by_test(result)) is is_kept
    assert bool(result.warnings) is not is_kept
    assert "j_read_bw" in by_test(result)
