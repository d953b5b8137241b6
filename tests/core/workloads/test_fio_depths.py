"""Plain fio by queue depth: what is asked of it, and a real run on a disk that is a file."""

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.studies.models import RunState
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def test_each_direction_and_queue_depth_is_a_command_on_a_file_system_mounted_anew() -> None:
    first, layout, *rest = presets()["fio-8k"].workload().commands(Place("/m"))
    assert first.argv == ("mkdir", "/m/fsbench.work")
    assert {"--rw=write", "--end_fsync=1", "--size=2048m"} <= set(layout.argv)
    asked = [
        {word.partition("=")[0]: word.partition("=")[2] for word in one.argv[1:]} for one in rest
    ]
    assert [(one["--rw"], one["--iodepth"]) for one in asked] == [
        (way, depth) for way in ("randread", "randwrite") for depth in ("1", "8", "32")
    ]
    for one, command in zip(asked, rest, strict=True):
        assert (one["--bs"], one["--direct"], one["--runtime"]) == ("8k", "1", "60")
        assert one["--filename"] == "/m/fsbench.work/fio-depths"
        assert command.remount
    assert presets()["fio-8k"].workload().estimated_s() == 6 * 65


def test_a_file_smaller_than_a_block_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 MB are less than 2048 KB"):
        workload_of("fio-depths", {"file_mb": 1, "block_kb": 2048})


@pytest.mark.django_db
@pytest.mark.root
def test_queue_depth_is_the_load_of_every_value(measure: Measure) -> None:
    changed = {"depths": [1, 4], "runtime_s": 1, "file_mb": 8}
    run = measure("ext4", "fio-4k-small", **changed)
    assert run.state == RunState.DONE, run.reason
    found = {(one.test, one.load) for one in measured(run)}
    fio = {one for one in found if one[0].startswith("random_4k_")}
    assert {load for _, load in fio} == {"iodepth=1", "iodepth=4"}
    for way in ("read", "write"):
        for rest in ("iops", "bw", "clat_mean", "clat_p99.9", "sys_cpu", "disk_util"):
            assert (f"random_4k_{way}_{rest}", "iodepth=4") in fio
