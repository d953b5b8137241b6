"""Plain fio by queue depth: what is asked of it, and a real run on a disk that is a file."""

import json
from fractions import Fraction

import pytest

from fsbench_web.core.units import RATE, UnitFactor, unit_factor
from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import RunState
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def test_each_direction_and_queue_depth_is_a_command_on_a_file_system_mounted_anew() -> None:
    first, layout, *rest = presets()["fio-8k"].workload().commands(Place("/m"))
    rest, logs = rest[:6], rest[6:]
    assert first.argv == ("mkdir", "/m/fsbench.work")
    assert {"--rw=write", "--end_fsync=1", "--size=2048m"} <= set(layout.argv)
    jobs = [
        {word.partition("=")[0]: word.partition("=")[2] for word in command.argv[1:]}
        for command in rest
    ]
    assert [(job["--rw"], job["--iodepth"]) for job in jobs] == [
        (way, depth) for way in ("randread", "randwrite") for depth in ("1", "8", "32")
    ]
    for job, command in zip(jobs, rest, strict=True):
        assert (job["--bs"], job["--direct"], job["--runtime"]) == ("8k", "1", "60")
        assert job["--filename"] == "/m/fsbench.work/fio-depths"
        assert command.remount
        written = f"{jobs[0]['--filename'].rpartition('/')[0]}/"
        assert job["--write_hist_log"].startswith(written)
        assert job["--log_hist_msec"] == "1000"
    assert [log.argv[3] for log in logs] == [
        f"{job['--write_hist_log'].rpartition('/')[2]}_clat_hist.1.log" for job in jobs
    ]
    assert presets()["fio-8k"].workload().estimated_s() == 6 * 65


def test_a_long_test_has_no_more_intervals_than_can_be_kept() -> None:
    for runtime_s, interval_ms in ((300, "1000"), (301, "2000"), (24 * 3600, "288000")):
        workload = workload_of("fio-depths", {"runtime_s": runtime_s, "time_limit_s": 10**6})
        argv = workload.commands(Place("/m"))[2].argv
        assert f"--log_hist_msec={interval_ms}" in argv


def test_a_file_smaller_than_a_block_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 MB are less than 2048 KB"):
        workload_of("fio-depths", {"file_mb": 1, "block_kb": 2048})


@pytest.mark.django_db
@pytest.mark.root
def test_queue_depth_is_the_load_of_every_value(measure: Measure) -> None:
    changed = {"depths": [1, 4], "runtime_s": 2, "file_mb": 8}
    run = measure("ext4", "fio-4k-small", **changed)
    assert run.state == RunState.DONE, run.reason
    cells = {(value.test, value.load) for value in measured(run)}
    fio = {cell for cell in cells if cell[0].startswith("random_4k_")}
    assert {load for _, load in fio} == {"iodepth=1", "iodepth=4"}
    over_time = latencies.series_of_run(run.pk)
    # A test of a second has an interval, unless its last completion came before that was over.
    assert {(series.test, series.load) for series in over_time} <= {
        (distribution.test, distribution.load) for distribution in latencies.of_run(run.pk)
    }
    assert {artefact.name for artefact in run.artefacts.all()} >= {"fio-read-4-clat_hist.log"}
    for way in ("read", "write"):
        for rest in ("iops", "bw", "clat_mean", "clat_p99.9", "sys_cpu", "disk_util"):
            assert (f"random_4k_{way}_{rest}", "iodepth=4") in fio


@pytest.mark.django_db
@pytest.mark.root
def test_a_run_that_stops_at_steady_state_keeps_fios_verdict(measure: Measure) -> None:
    parameters = {"steady_state": "iops", "steady_percent": 100, "steady_window_s": 3}
    run = measure("ext4", "fio-4k-small", depths=[1], file_mb=8, runtime_s=30, **parameters)
    assert run.state == RunState.DONE, run.reason
    verdict = run.conditions["steady_state"]
    tests = {f"random_4k_{way}_steady_iops@iodepth=1" for way in ("read", "write")}
    assert tests <= set(verdict["attained"])
    assert not verdict["missed"]
    assert {value.test for value in measured(run) if "steady" in value.test} >= {
        "random_4k_read_steady_iops",
        "random_4k_write_steady_bw",
    }


def test_the_slope_of_a_window_is_given_to_fio_by_the_second() -> None:
    values = {"steady_state": "iops_slope", "steady_window_s": 51, "ramp_s": 5, "runtime_s": 600}
    argv = workload_of("fio-depths", {**values, "steady_ramp_s": 20}).commands(Place("/m"))[-9].argv
    # 10% over 50 steps.
    assert "--steadystate=iops_slope:0.200000%" in argv
    assert {"--steadystate_duration=51", "--steadystate_ramp_time=25", "--runtime=600"} <= set(argv)


@pytest.mark.parametrize("tool", ["fio-depths", "pgmeter"])
def test_a_window_that_does_not_fit_into_the_measured_time_is_refused(tool: str) -> None:
    parameters = {"steady_state": "bw", "steady_window_s": 60, "runtime_s": 60}
    with pytest.raises(ParameterError, match="does not fit into a measured time of 60 s"):
        workload_of(tool, parameters)


@pytest.mark.parametrize("tool", ["fio-depths", "pgmeter"])
def test_what_fio_printed_for_a_workload_is_known_to_be_of_1024(tool: str) -> None:
    entry = {"jobname": "x", "error": 0, "read": {"bw": 10, "iops": 2.5, "total_ios": 9}}
    printed = json.dumps({"fio version": "fio-3.33", "jobs": [entry]}, indent=2).encode()
    workload = workload_of(tool, {})
    commands = workload.commands(Place("/m"))
    outputs = {name: printed for name in (command.output for command in commands) if name}
    results = workload.parse({name: data for name, data in outputs.items() if "json" in name})
    rates = {value.unit for result in results.values() for value in result.values} - {"ops/s"}
    assert rates == {"KB/s"}
    assert unit_factor("KB/s", workload.tool) == UnitFactor(RATE, Fraction(1024))
