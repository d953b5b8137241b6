"""Workloads as rows: parameters that came later leave the rows of before as they are."""

import pytest

from fsbench_web.catalog.workloads.stored import stored_workload
from fsbench_web.core.workloads import presets, workload_of


@pytest.mark.django_db
def test_a_workload_of_before_keeps_its_row() -> None:
    usual = presets()["fio-4k"].workload()
    keys = ("access", "block_kb", "depths", "file_mb", "ramp_s", "runtime_s", "seed")
    assert set(usual.values) == {*keys, "time_limit_s"}
    row = stored_workload("fio-4k", usual)
    other = stored_workload("fio-4k", workload_of("fio-depths", {"dedupe_percent": 10}))
    assert row.slug == "fio-4k" == stored_workload("fio-4k", usual).slug
    assert other.slug != row.slug
