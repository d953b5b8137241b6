"""What several clients measured at once, as one result: only what can be told without guessing."""

import json
import math
from pathlib import Path

import pytest

from fsbench_web.core import formats
from fsbench_web.core.clients import combined_values, overlap
from fsbench_web.core.formats.result import ParsedResult, ParsedValue
from fsbench_web.core.latency import Distribution

SAMPLES = Path(__file__).parent / "formats" / "samples"


def result(*values: tuple[str, float, str], of: tuple[int, ...] = ()) -> ParsedResult:
    parsed = ParsedResult("x", "fio")
    parsed.values = [ParsedValue(test, None, None, value, unit, 3) for test, value, unit in values]
    if of:
        parsed.distributions = [Distribution("a_read_clat", "", "ns", (100, 200, 900), of)]
    return parsed


def combined_by_test(*clients: ParsedResult) -> dict[str, float]:
    return {
        value.test: value.value
        for value in combined_values([[client] for client in clients]).values
    }


def test_rates_are_summed_and_whole_times_are_of_the_last() -> None:
    first = result(("read_bw", 100.5, "KB/s"), ("iops", 10, "ops/s"), ("took", 3, "s"))
    second = result(("read_bw", 50.25, "KB/s"), ("iops", 5, "ops/s"), ("took", 4.5, "s"))
    assert combined_by_test(first, second) == {"read_bw": 150.75, "iops": 15, "took": 4.5}


def test_the_least_of_several_rates_is_no_sum() -> None:
    """IOzone's smallest, largest and mean rate are of one process: the sum of two is of none."""
    each = result(("write", 100, "KB/s"), ("write_min", 20, "KB/s"), ("write_avg", 25, "KB/s"))
    combined = combined_values([[each], [each]])
    assert [(value.test, value.value) for value in combined.values] == [("write", 200)]
    assert combined.incomplete_tests == ("write_min", "write_avg")


def test_what_cannot_be_put_together_has_no_value() -> None:
    first = result(("usr_cpu", 30, "% CPU"), ("x_clat_p99", 5, "µs"), ("odd", 1, "apples"))
    combined = combined_values([[first], [first]])
    assert combined.values == ()
    assert combined.incomplete_tests == ("usr_cpu", "x_clat_p99", "odd")


def test_what_one_client_lacks_is_no_sum_of_all() -> None:
    first = result(("read_bw", 100, "KB/s"), ("write_bw", 10, "KB/s"))
    combined = combined_values([[first], [result(("read_bw", 7, "KB/s"))]])
    assert [(value.test, value.value) for value in combined.values] == [("read_bw", 107)]
    assert combined.incomplete_tests == ("write_bw",)


def test_other_units_and_what_is_there_twice_are_no_sum() -> None:
    assert combined_by_test(result(("bw", 1, "KB/s")), result(("bw", 1, "MB/s"))) == {}
    twice = result(("bw", 1, "KB/s"), ("bw", 2, "KB/s"))
    assert combined_by_test(twice, result(("bw", 1, "KB/s"))) == {}


def test_latencies_are_of_all_requests_and_never_an_average_of_percentiles() -> None:
    fast = result(
        *(("a_read_clat_p99", 100, "ns"), ("a_read_clat_mean", 101.0, "ns")),
        ("a_read_clat_max", 200, "ns"),
        of=(990, 10, 0),
    )
    slow = result(
        *(("a_read_clat_p99", 900, "ns"), ("a_read_clat_mean", 890.0, "ns")),
        ("a_read_clat_max", 905, "ns"),
        of=(1, 0, 9),
    )
    combined = combined_values([[fast], [slow]])
    assert {value.test: value.value for value in combined.values} == {
        # Of 1,010 requests 1,000 took at most 200 ns.
        "a_read_clat_p99": 200,
        "a_read_clat_mean": pytest.approx((1000 * 101.0 + 10 * 890.0) / 1010),
        "a_read_clat_max": 905,
    }
    (whole,) = combined.distributions
    assert (whole.total, whole.counts) == (1010, (991, 10, 9))


def test_latencies_without_all_distributions_stay_with_the_client() -> None:
    fast = result(("a_read_clat_p99", 100, "ns"), of=(9, 1, 0))
    combined = combined_values([[fast], [result(("a_read_clat_p99", 900, "ns"))]])
    assert (combined.values, combined.distributions) == ((), ())


def test_the_share_in_which_all_worked() -> None:
    assert overlap([(0, 10), (0, 10)]) == 1
    assert overlap([(0, 10), (1, 11)]) == pytest.approx(9 / 11)
    assert overlap([(0, 1), (2, 3)]) == 0
    assert overlap([]) is None
    assert overlap([(5, 5)]) is None


def test_it_agrees_with_what_fio_says_of_all_its_clients() -> None:
    """Real output of fio 3.33, a client of two servers: what it makes of both is made of each."""
    text = (SAMPLES / "fio-3.33-two-clients.txt").read_text()
    root = json.loads(text[text.index("{") : text.rindex("}") + 1])
    *each, of_all = root["client_stats"]
    assert of_all["jobname"] == "All clients"

    def parsed(entry: dict[str, object]) -> ParsedResult:
        entry = {**entry, "jobname": "work"}
        root = {"fio version": "3.33", "jobs": [entry]}
        return formats.parse("x", json.dumps(root).encode(), by_job=True)

    values = combined_by_test(*map(parsed, each))
    expected = {value.test: value.value for value in parsed(of_all).values}
    for test in ("work_read_clat_mean", "work_write_clat_mean", "work_sync_lat_mean"):
        # fio prints six digits behind the point of means that it weighed itself.
        assert values[test] == pytest.approx(expected[test], rel=1e-9), test
    for test in ("work_read_clat_max", "work_write_clat_max"):
        assert values[test] == expected[test]
    # fio divides the bytes of both by the longer time; here each is divided by its own.
    rates = ("work_read_bw", "work_write_bw", "work_read_iops", "work_write_iops")
    assert all(values[test] == pytest.approx(expected[test], rel=0.05) for test in rates)
    bins = [entry["read"]["clat_ns"]["bins"].items() for entry in each]
    sorted_ns = sorted(int(ns) for some in bins for ns, count in some for _ in range(count))
    assert values["work_read_clat_p99"] == sorted_ns[math.ceil(0.99 * len(sorted_ns)) - 1]
