"""pgbench's and db_bench's output: real files of PostgreSQL 15 and RocksDB 7.8."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, ParsedValue, UnreadableFile, parse

Sample = Callable[[str], bytes]


def by_test(result: ParsedResult, repeat: int | None = None) -> dict[str, ParsedValue]:
    return {value.test: value for value in result.values if value.repeat == repeat}


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {test: (v.value, v.unit) for test, v in by_test(result, repeat).items()}


def test_pgbench_with_its_progress(sample: Sample) -> None:
    result = parse("x", sample("pgbench-15-progress"))
    assert (result.format, result.tool, result.tool_version) == ("pgbench", "pgbench", "15.18")
    assert numbers(result) == {
        "pgbench_tpc-b_sort_of_tps": (556.575890, "ops/s"),
        "pgbench_tpc-b_sort_of_latency_avg": (7.124, "ms"),
        "pgbench_tpc-b_sort_of_connection_time": (12.315, "ms"),
    }
    rate = by_test(result)["pgbench_tpc-b_sort_of_tps"]
    assert (rate.samples, rate.load) == ((713.0, 223.4, 233.8, 1082.9), "clients=4,threads=2")
    assert {"scaling factor: 2", "duration: 4 s", "query mode: simple"} <= set(result.modes)


def test_pgbench_of_several_scripts(sample: Sample) -> None:
    values = numbers(parse("x", sample("pgbench-15-two-scripts")))
    name = "pgbench_multiple_scripts"
    assert values[f"{name}_tps"] == (503.251001, "ops/s")
    assert values[f"{name}_tpc-b_sort_of_tps"] == (379.954506, "ops/s")
    assert values[f"{name}_select_only_tps"] == (123.296495, "ops/s")
    total = values[f"{name}_tpc-b_sort_of_tps"][0] + values[f"{name}_select_only_tps"][0]
    assert total == pytest.approx(values[f"{name}_tps"][0], abs=1e-5)
    assert values[f"{name}_select_only_latency_avg"] == (0.242, "ms")


def test_pgbench_says_what_it_lost(sample: Sample) -> None:
    result = parse("x", sample("pgbench-15-rate"))
    assert 'line 12: pgbench says "number of transactions skipped: 169' in str(result.warnings[0])


def test_pgbench_connecting_for_each_transaction(sample: Sample) -> None:
    values = numbers(parse("x", sample("pgbench-15-connect-each-time")))
    name = "pgbench_tpc-b_sort_of"
    # It prints no rate without connecting.
    assert values[f"{name}_tps_including_connections"] == (211.836106, "ops/s")
    assert values[f"{name}_connection_time"] == (4.215, "ms")
    assert f"{name}_tps" not in values


def test_pgbench_with_failed_transactions_in_its_latency(sample: Sample) -> None:
    result = parse("x", sample("pgbench-15-failures"))
    assert numbers(result)["pgbench_ser.sql_latency_avg"] == (1.230, "ms")
    assert "number of failed transactions: 10466 (80.688%)" in str(result.warnings[0])


def test_pgbench_at_a_rate_is_no_repeat_of_one_without(sample: Sample) -> None:
    data = sample("pgbench-15-rate")
    assert "rate limit" in parse("x", data).modes
    without = b"".join(
        line for line in data.splitlines(True) if b"lag:" not in line and b"skipped" not in line
    )
    assert "rate limit" not in parse("x", without).modes
    with pytest.raises(UnreadableFile, match="A run with other settings"):
        parse("x", data + without)


def test_pgbench_of_before_14() -> None:
    text = (
        "transaction type: <builtin: select only>\nscaling factor: 50\nnumber of clients: 8\n"
        "latency average = 0.310 ms\ntps = 25739.1 (including connections establishing)\n"
        "tps = 25801.5 (excluding connections establishing)\n"
    )
    values = numbers(parse("x", text.encode()))
    assert values["pgbench_select_only_tps"] == (25801.5, "ops/s")
    assert values["pgbench_select_only_tps_including_connections"] == (25739.1, "ops/s")


def test_pgbench_several_times_and_cut_off(sample: Sample) -> None:
    data = sample("pgbench-15-progress")
    assert {v.repeat for v in parse("x", data * 2).values} == {1, 2}
    with pytest.raises(UnreadableFile, match="A run with other settings than that in line 7"):
        parse("x", data + sample("pgbench-15-rate"))
    with pytest.raises(UnreadableFile, match="the run did not end"):
        parse("x", data[: data.index(b"latency average")])


def test_db_bench(sample: Sample) -> None:
    result = parse("x", sample("db_bench-7.8.3-histogram"))
    assert result.format == "db_bench"
    values = numbers(result)
    assert values["db_bench_fillseq_time"] == (29.528, "µs")
    assert values["db_bench_fillseq_ops"] == (66466, "ops/s")
    assert values["db_bench_fillseq_throughput"] == (7.4, "MiB/s")
    assert values["db_bench_readrandom_read_latency_p99.9"] == (17.69, "µs")
    assert values["db_bench_overwrite_write_latency_p50"] == (3.73, "µs")
    # Keys of 16 and values of 100 bytes: its MB are MiB.
    assert pytest.approx(7.4, abs=0.06) == 66466 * 116 / 2**20
    assert "line 18: db_bench says: Assertions are enabled" in str(result.warnings[0])
    assert "Compression: Snappy" in result.modes


def test_db_bench_runs_again(sample: Sample) -> None:
    result = parse("x", sample("db_bench-7.8.3"))
    assert numbers(result, 1)["db_bench_readwhilewriting_ops"] == (259848, "ops/s")
    assert numbers(result, 2)["db_bench_readwhilewriting_ops"] == (477509, "ops/s")
    assert not any("avg" in test for test in numbers(result, 1))
    assert result.tool_version == "7.8.3"
    assert result.facts == [("Run at", "Sun Nov 22 09:51:40 2026")]


def test_db_bench_of_leveldb_and_cut_off(sample: Sample) -> None:
    old = b"LevelDB:    version 1.20\nfillseq      :       1.765 micros/op;   62.7 MB/s\n"
    assert numbers(parse("x", old)) == {
        "db_bench_fillseq_time": (1.765, "µs"),
        "db_bench_fillseq_throughput": (62.7, "MiB/s"),
    }
    data = sample("db_bench-7.8.3-histogram")
    with pytest.raises(UnreadableFile, match="the run did not end"):
        parse("x", data[: data.index(b"66466") + 10])
