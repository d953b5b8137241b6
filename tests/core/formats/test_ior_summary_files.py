"""IOR's JSON and CSV and mdtest's rank details: real files of 4.1, next to other outputs."""

import json
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {v.test: (v.value, v.unit) for v in result.values if v.repeat == repeat}


def test_json_of_ior_has_what_its_text_has(sample: Sample) -> None:
    result = parse("x", sample("ior-4.1-json"))
    assert (result.format, result.tool, result.tool_version) == ("ior-json", "ior", "4.1.0+dev")
    assert result.command.startswith("./ior -a POSIX -b 1m -t 256k")
    assert result.facts == [("Run at", "Sun Nov 22 09:46:07 2026")]
    # Read by another reader.
    for entry in json.loads(sample("ior-4.1-json"))["summary"]:
        values = numbers(result)
        access = entry["operation"]
        assert values[f"ior_{access}_max"] == (entry["bwMaxMIB"], "MiB/s")
        assert values[f"ior_{access}_min"] == (entry["bwMinMIB"], "MiB/s")
        assert values[f"ior_{access}_mean"] == (entry["bwMeanMIB"], "MiB/s")
        assert values[f"ior_{access}_mean_ops"] == (entry["OPsMean"], "ops/s")
        assert values[f"ior_{access}_time"] == (entry["MeanTime"], "s")
    [mean] = [value for value in result.values if value.test == "ior_write_mean"]
    assert mean.samples == (6229.9354, 11328.3025)
    assert (mean.load, mean.record_size_kb, mean.file_size_kb) == ("tasks=2", 256, 2048)
    text = {value.test for value in parse("x", sample("ior-4.0")).values}
    assert {value.test for value in result.values} <= text


def test_settings_of_ior_tell_runs_apart_and_seeds_do_not(sample: Sample) -> None:
    data = sample("ior-4.1-json")
    modes = parse("x", data).modes
    assert {"api POSIX", "fsync 0", "access file-per-process", "xfersize 262144 bytes"} <= set(
        modes
    )
    other = data.replace(b'"fsync": 0', b'"fsync": 1')
    assert parse("x", other).modes != modes
    same = data.replace(b'"reorderTasksRandomSeed": 0', b'"reorderTasksRandomSeed": 7')
    assert parse("x", same.replace(b"d/f", b"e/g")).modes == modes


def test_json_that_ends_before_its_summary(sample: Sample) -> None:
    data = sample("ior-4.1-json")
    head, _, _ = data.partition(b'"summary"')
    result = parse("x", head.rstrip().rstrip(b",") + b"}\n")
    assert not result.complete
    assert numbers(result, 1)["ior_write_bw"] == (6229.9354, "MiB/s")
    assert numbers(result, 2)["ior_read_bw"] == (46995.0028, "MiB/s")
    with pytest.raises(UnreadableFile, match="cut off"):
        parse("x", data[: data.index(b'"totalTime"')])
    empty = b'{"Version": "4", "tests": [{"Parameters": {"deadlineForStonewall": 0}}]}\n'
    with pytest.raises(UnreadableFile, match="no test in it has a result"):
        parse("x", empty)


def test_infinite_rates_stay_missing(sample: Sample) -> None:
    data = sample("ior-4.1-json").replace(b'"bwMaxMIB": 11328.3025', b'"bwMaxMIB": "inf"')
    result = parse("x", data)
    assert "ior_write_max" not in numbers(result)
    assert "line 136: ior_write_max has no number" in " ".join(map(str, result.warnings))


def test_csv_of_ior(sample: Sample) -> None:
    result = parse("x", sample("ior-4.1-csv"))
    assert result.format == "ior-csv"
    assert numbers(result, 1)["ior_write_bw"] == (1732.2887, "MiB/s")
    assert numbers(result, 2)["ior_write_bw"] == (10498.8836, "MiB/s")
    assert numbers(result, 2)["ior_read_iops"] == (210372.6144, "ops/s")
    assert numbers(result, 1)["ior_write_open_time"] == (0.0019, "s")
    assert {value.load for value in result.values} == {"tasks=2"}
    assert "line 2: ior_write_latency: 0 is printed" in " ".join(map(str, result.warnings))


def test_csv_of_ior_that_is_cut_off(sample: Sample) -> None:
    data = sample("ior-4.1-csv")
    result = parse("x", data[:-30])
    assert not result.complete
    assert "line 5: The row has" in " ".join(map(str, result.warnings))
    assert "ior_read_bw" not in numbers(result, 2)
    with pytest.raises(UnreadableFile, match="no repetition"):
        parse("x", data.split(b"\n")[0] + b"\n")


def test_rank_details_of_mdtest_are_those_of_its_report(sample: Sample) -> None:
    result = parse("x", sample("mdtest-4.1-ranks-csv"))
    report = numbers(parse("x", sample("mdtest-4.1-ranks-report")))
    assert result.format == "mdtest-csv"
    values = numbers(result)
    assert values["mdtest_file_creation_rate"] == (70226.940142, "ops/s")
    assert values["mdtest_file_creation_time"] == (0.0028479099274, "s")
    rates = [test for test in values if test.endswith("_rate")]
    assert len(rates) == 8
    for test in rates:
        name = test.removesuffix("_rate")
        ends = [report[f"{name}_{end}"][0] for end in ("min", "max")]
        assert min(abs(values[test][0] - end) for end in ends) < 0.001, test
    assert "(4 rows) are not read" in str(result.warnings[0])
    assert {value.load for value in result.values} == {"tasks=2"}


def test_rank_details_that_are_cut_off(sample: Sample) -> None:
    data = sample("mdtest-4.1-ranks-csv")
    rows = data.split(b"\n")
    with pytest.raises(UnreadableFile, match="no row of all of them"):
        parse("x", rows[0] + b"\n" + rows[1][:200])
