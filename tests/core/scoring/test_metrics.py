"""One measurement counts once: which of its metrics is the primary one."""

import pytest

from fsbench_web.core.comparison.headlines import metric_of, primary_tests


@pytest.mark.parametrize(
    ("tests", "primary"),
    [
        (
            ["a_read_bw", "a_read_iops", "a_read_lat_mean", "a_read_clat_mean", "a_read_clat_p99"],
            ["a_read_bw"],
        ),
        (["randread_read_bw", "randread_read_iops"], ["randread_read_iops"]),
        (["a_read_bw", "a_write_bw"], ["a_read_bw", "a_write_bw"]),
        (["a_bw@jobs=1", "a_bw@jobs=8"], ["a_bw@jobs=1", "a_bw@jobs=8"]),
        (["rewrite", "rewrite_avg", "rewrite_max", "rewrite_parent"], ["rewrite"]),
        (
            ["ior_read_max", "ior_read_mean", "ior_read_mean_ops", "ior_read_time"],
            ["ior_read_mean"],
        ),
        (["postmark_transactions", "postmark_transactions_time"], ["postmark_transactions"]),
        (["make_real", "make_cpu"], ["make_real"]),
        (
            ["elbencho_read_throughput_first", "elbencho_read_throughput_last"],
            ["elbencho_read_throughput_last"],
        ),
        (["pass_first", "pass_last"], ["pass_first", "pass_last"]),
        (["a_clat_p50", "b_iops"], ["b_iops"]),
        (["a_clat_p50", "a_clat_p99"], ["a_clat_p50"]),
        (["read", "write", "random_read"], ["read", "write", "random_read"]),
        (
            ["copy_time", "mixed_reads", "mixed_writes"],
            ["copy_time", "mixed_reads", "mixed_writes"],
        ),
    ],
)
def test_primary(tests: list[str], primary: list[str]) -> None:
    assert primary_tests(tests) == set(primary)
    assert primary_tests(tests[::-1]) == set(primary)


def test_a_measurement_is_named_with_its_load() -> None:
    assert metric_of("randread_read_clat_mean@jobs=8").measurement == "randread_read@jobs=8"
