"""elbencho's table and JSON, next to each other and to its CSV: what one run wrote of each."""

import json
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {v.test: (v.value, v.unit) for v in result.values if v.repeat == repeat}


@pytest.mark.parametrize("name", ["file", "files", "mix"])
def test_json_table_and_another_reader_agree(sample: Sample, name: str) -> None:
    """The table cuts MiB/s to whole numbers."""
    data = sample(f"elbencho-3.1-{name}-json")
    in_json, table = (
        numbers(parse("x", data)),
        numbers(parse("x", sample(f"elbencho-3.1-{name}-table"))),
    )
    shared = in_json.keys() & table.keys()
    assert len(shared) > 5
    for test in shared:
        value, unit = in_json[test]
        assert table[test] == (float(int(value)), unit), test
    assert all("total" in test or "latency_p" in test for test in table.keys() - in_json.keys())
    assert in_json.keys() <= table.keys()
    for line in data.decode().splitlines():
        phase = json.loads(line)
        done = phase["last_done"]
        test = f"elbencho_{phase['phase_type'].lower()}_throughput_last"
        if "bytes/s" in done and test in in_json:
            assert in_json[test] == (int(done["bytes/s"]) / 1048576, "MiB/s")


def test_json_has_what_its_csv_has(sample: Sample) -> None:
    result = parse("x", sample("elbencho-3.1-files-json"))
    assert (result.format, result.tool) == ("elbencho-json", "elbencho")
    assert result.tool_version == "3.1-1-12-g93e9647"
    assert result.facts[0][1].startswith("2026-11-22T09:56:52.")
    csv = parse("x", sample("elbencho-3.1-files-csv"))
    values = {v.test: v for v in result.values}
    assert len(csv.values) == len(values)
    for value in csv.values:
        other = values[value.test]
        assert (float(int(other.value)), other.unit) == (value.value, value.unit)
        assert (other.load, other.record_size_kb, other.file_size_kb) == (
            *(value.load, value.record_size_kb, value.file_size_kb),
        )
    assert {"block size 4096", "random true", "path type dir"} <= set(result.modes)


def test_table_with_latencies(sample: Sample) -> None:
    result = parse("x", sample("elbencho-3.1-file-table"))
    assert result.format == "elbencho"
    values = numbers(result)
    assert values["elbencho_write_throughput_last"] == (1544, "MiB/s")
    assert values["elbencho_write_io_latency_avg"] == (28, "µs")
    assert values["elbencho_read_io_latency_p99.9"] == (8.0, "µs")
    assert values["elbencho_read_io_latency_p50"] == (2.4, "µs")
    assert {v.load for v in result.values} == {"threads=2"}
    assert result.modes == ("-w", "-r", "-b 64k", "-s 4m")
    mixed = numbers(parse("x", sample("elbencho-3.1-mix-table")))
    assert mixed["elbencho_rwmix50_iops_read_last"] == (62317, "ops/s")
    assert mixed["elbencho_rwmix50_io_latency_read_avg"] == (8, "µs")
    assert not any("sync" in test for test in mixed)


def test_runs_of_one_command_are_repeats_and_of_none_are_refused(sample: Sample) -> None:
    result = parse("x", sample("elbencho-3.1-iterations-table"))
    assert numbers(result, 1)["elbencho_read_iops_last"] == (24325, "ops/s")
    assert numbers(result, 2)["elbencho_read_iops_last"] == (123076, "ops/s")
    with pytest.raises(UnreadableFile, match="and none says its settings") as refused:
        parse("x", sample("elbencho-3.1-iterations-printed"))
    assert [problem.line for problem in refused.value.problems] == [10]
    both = sample("elbencho-3.1-iterations-table") + sample("elbencho-3.1-file-table")
    with pytest.raises(UnreadableFile, match="with other settings than that in line 4"):
        parse("x", both)
    jsons = sample("elbencho-3.1-file-json") + sample("elbencho-3.1-files-json")
    with pytest.raises(UnreadableFile, match="line 3: This phase was run with other settings"):
        parse("x", jsons)


def table(*rows: str) -> bytes:
    head = "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
    return (head + "".join(f"{row}\n" for row in rows)).encode()


@pytest.mark.parametrize(
    ("text", "millis"),
    [("2m3.241s", 123_241), ("11.559s", 11_559), ("586ms", 586), ("1h2m3s", 3_723_000)],
)
def test_times_are_exact(text: str, millis: float) -> None:
    result = parse("x", table(f"WRITE       Elapsed time     :    {text}    2m5.755s"))
    assert numbers(result)["elbencho_write_time_first"] == (millis, "ms")


def test_table_of_1_6_and_latencies_in_other_units() -> None:
    values = numbers(
        parse(
            "x",
            table(
                "WRITE     Elapsed ms       :      85656      99973",
                "          Throughput MiB/s :      10572      10488",
                "          IO latency       : [ min=108us avg=1.25ms max=14.5ms ]",
                "---",
            ),
        )
    )
    assert values["elbencho_write_time_last"] == (99973, "ms")
    assert values["elbencho_write_throughput_first"] == (10572, "MiB/s")
    assert values["elbencho_write_io_latency_avg"] == (1250, "µs")
    tens = table("WRITE  Elapsed time : 1ms 2ms", "       Throughput MB/s : 5 6")
    assert numbers(parse("x", tens))["elbencho_write_throughput_last"] == (6, "MB/s")


def test_what_is_cut_off(sample: Sample) -> None:
    data = sample("elbencho-3.1-file-table")
    result = parse("x", data[: data.index(b"75294") + 2])
    assert "elbencho_read_iops_first" not in numbers(result)
    with pytest.raises(UnreadableFile, match="no phase with a result"):
        parse("x", data[: data.index(b"WRITE ")])
    with pytest.raises(UnreadableFile, match="cut off"):
        parse("x", sample("elbencho-3.1-file-json")[:-40])
