"""fio's logs over time, next to what fio's JSON and report say of the same runs."""

from pathlib import Path

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse
from fsbench_web.core.formats.fio.logs import percentile

SAMPLES = Path(__file__).parent / "samples"
LOGGED = "random_4k_rw50_buffered_rate-iops-2000"


def read(name: str) -> ParsedResult:
    return parse(f"a/b/{name}", (SAMPLES / name).read_bytes())


def values_of(result: ParsedResult) -> dict[str, float]:
    return {value.test: value.value for value in result.values}


def test_rates_over_time_agree_with_the_json_of_the_run() -> None:
    of_run = values_of(read("fio-3.33-windows.txt"))
    for kind, unit in (("bw", "KB/s"), ("iops", "ops/s")):
        result = read(f"fio-3.33-windows_{kind}.1.log")
        assert (result.format, result.tool) == ("fio-log", "fio")
        for value in result.values:
            side = value.test.split("_")[1]
            assert value.test == f"fio-3.33-windows_{side}_{kind}_log"
            assert value.unit == unit
            assert len(value.samples) == 6
            assert value.value == pytest.approx(of_run[f"{LOGGED}_{side}_{kind}"], rel=0.001)
            assert f"6 values are logged for {side}" in " ".join(map(str, result.warnings))
    samples = read("fio-3.33-windows_bw.1.log").values[0].samples
    assert samples == (7872, 8136, 7744, 8088, 7768, 8152)


def test_every_latency_logged_has_the_mean_of_the_json() -> None:
    of_run = values_of(read("fio-3.33-each.txt"))
    [value] = read("fio-3.33-each_lat.1.log").values
    assert (value.unit, len(value.samples)) == ("ns", 16)
    assert value.value == of_run["sequential_4k_buffered_psync_write_lat_mean"]


def test_the_rest_of_a_window_at_the_end_is_left_out() -> None:
    result = read("fio-3.33-windows_lat.1.log")
    values = values_of(result)
    of_run = values_of(read("fio-3.33-windows.txt"))
    for side in ("read", "write"):
        mean = values[f"fio-3.33-windows_{side}_lat_log"]
        assert mean == pytest.approx(of_run[f"{LOGGED}_{side}_lat_mean"], rel=0.005)
    assert "line 13: The last window is shorter" in " ".join(map(str, result.warnings))


def test_histograms_have_the_percentiles_of_the_json() -> None:
    """fio writes the last interval of a job to its JSON alone: bins lack what was done then."""
    result = read("fio-3.33-windows_clat_hist.1.log")
    values = {value.test: value for value in result.values}
    of_run = values_of(read("fio-3.33-windows.txt"))
    for side in ("read", "write"):
        for percent in ("50", "90"):
            value = values[f"fio-3.33-windows_{side}_clat_hist_p{percent}"]
            assert value.unit == "ns"
            assert len(value.samples) == 2
            assert value.value == pytest.approx(
                of_run[f"{LOGGED}_{side}_clat_p{percent}"], rel=0.15
            )
    assert values["fio-3.33-windows_read_clat_hist_p90"].value == 651264
    assert "4,025 completions of read in 2 intervals" in " ".join(map(str, result.warnings))


def test_middles_of_bins_are_those_of_fio() -> None:
    for bin_of, middle in ((0, 0), (127, 127), (128, 129), (191, 255), (192, 258), (1855, 2.0**34)):
        bins = [0] * 1856
        bins[bin_of] = 3
        assert percentile(bins, "99") == pytest.approx(middle, rel=0.008)
    assert percentile([0, 1, 1, 0], "50", coarse=6) == 96
    assert percentile([4, 0, 4], "50") == 0


def test_logs_of_fio_2() -> None:
    """Its rates are KiB as well; whether its latencies are micro- or nanoseconds no line says."""
    result = read("fio-2.2.10-rw_bw.log")
    report = values_of(read("fio-2.2.10-normal.txt"))
    for value in result.values:
        side = value.test.split("_")[1]
        assert value.value == pytest.approx(report[f"ceph-erasure-2-1_{side}_bw"], rel=0.05)
    with pytest.raises(UnreadableFile, match=r"before 3\.0 logs latencies in microseconds"):
        read("fio-2.2.10-rw_clat.log")


def test_rates_of_single_ios_have_no_mean() -> None:
    with pytest.raises(UnreadableFile, match="line 1: The log has a line for each I/O"):
        read("fio-3.33-each_bw.1.log")


def test_what_is_cut_off_or_no_log() -> None:
    data = (SAMPLES / "fio-3.33-windows_bw.1.log").read_bytes()
    result = parse("j_bw.2.log", data[:-4])
    assert not result.complete
    assert "line 12: The last line has no end" in " ".join(map(str, result.warnings))
    assert [len(value.samples) for value in result.values] == [6, 5]
    assert {value.test for value in result.values} == {"j.2_read_bw_log", "j.2_write_bw_log"}
    with pytest.raises(UnreadableFile, match="not a direction"):
        parse("j_bw.1.log", b"1, 2, 7, 0, 0\n")
    with pytest.raises(UnreadableFile):
        parse("numbers.txt", data)
    bins = (SAMPLES / "fio-3.33-windows_clat_hist.1.log").read_bytes()
    with pytest.raises(UnreadableFile, match="has 100 bins: it is cut off"):
        parse("j_clat_hist.1.log", b", ".join(bins.split(b", ")[:103]) + b"\n")


def test_the_highest_of_a_window_beside_its_mean() -> None:
    result = parse("j_clat.1.log", b"500, 70, 900, 0, 0, 0\n1000, 90, 800, 0, 0, 0\n")
    assert [(v.test, v.value) for v in result.values] == [("j_read_clat_log", 80)]


def test_a_line_of_another_kind_is_refused_at_its_place() -> None:
    with pytest.raises(UnreadableFile, match="four values") as refused:
        parse("x_bw.1.log", b"501, 7872, 0, 0, 0\n1000, 8136, 0, 0, 0\nhello\n")
    assert refused.value.problems[0].line == 3
