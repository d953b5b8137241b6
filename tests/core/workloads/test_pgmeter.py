"""pgmeter by fio: its access specifications, its samples, and real runs of it."""

import json

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.pgmeter import TESTS
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measured

GIB = 2**30


def test_the_preset_is_the_papers() -> None:
    workload = presets()["pgmeter-freenix"].workload()
    folder, layout, *runs = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert {"--numjobs=1", "--size=1024m", "--end_fsync=1"} <= set(layout.argv)
    assert len(runs) == 5 * 4
    assert all(run.remount and run.output for run in runs)
    by_name = {run.output: set(run.argv) for run in runs}
    assert {
        *("--rw=randread", "--percentage_random=100", "--iodepth=16", "--runtime=300"),
        *("--ramp_time=30", "--status-interval=10"),
        "--bssplit=512/22:1024/15:2048/8:4096/23:8192/15:16384/2:32768/6:65536/7:131072/1:524288/1",
    } <= by_name["pgmeter-web_server-16.json"]
    assert {"--rw=randrw", "--rwmixread=67", "--bs=8192"} <= by_name["pgmeter-oltp_8k-1.json"]
    assert {"--rw=write", "--bs=8192"} <= by_name["pgmeter-sequential_write-64.json"]
    assert workload.limits().memory_bytes == GIB // 2
    assert workload.estimated_s() == workload.least_s() == 20 * 330
    steady = workload_of(
        "pgmeter",
        {**workload.values, "steady_state": "iops", "steady_window_s": 60, "steady_ramp_s": 10},
    )
    assert (steady.estimated_s(), steady.least_s()) == (20 * 330, 20 * 100)


@pytest.mark.parametrize("test", [test for test in TESTS if test.sizes], ids=lambda test: test.key)
def test_the_shares_of_the_request_sizes_are_all_of_them(test: object) -> None:
    assert sum(percent for _, percent in test.sizes) == 100  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({one.key: False for one in TESTS}, "at least one test"),
        ({"runtime_s": 15}, "two intervals, 20 seconds"),
        ({"memory_mb": 63}, "64 MiB or more"),
        ({"files": 256, "outstanding": [1024]}, "16,384 is the most"),
        ({"access": "mmap"}, "one of buffered, direct"),
        ({"sequential_kb": 16384, "file_mb": 8}, "largest request, 16384 KB"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        workload_of("pgmeter", changes)


def test_it_warns_of_files_that_memory_can_hold() -> None:
    paper = workload_of("pgmeter", {})
    assert paper.memory_warning(64 * GIB) == ""  # its own limit is half of its file
    large = workload_of("pgmeter", {"memory_mb": 0})
    assert "set the memory limit to 512 MiB" in large.memory_warning(64 * GIB)
    assert "hold all of them" in large.memory_warning(GIB)
    assert "hold most of them" in large.memory_warning(GIB * 3 // 4)
    assert large.memory_warning(GIB // 2) == ""
    assert large.memory_warning(None) == ""
    assert workload_of("pgmeter", {"memory_mb": 0, "access": "direct"}).memory_warning(GIB) == ""


ONE_TEST = {test.key: test.key == "oltp_8k" for test in TESTS}


@pytest.mark.django_db
@pytest.mark.root
def test_it_measures_each_load_with_samples(measure: Measure) -> None:
    """Past the cache, in two files, for as long as a busy machine needs for samples.

    On ext4, in the container and as long as the preset says: test_freenix_in_docker.py.
    """
    changes = {"outstanding": [1, 4], "files": 2, "access": "direct", "runtime_s": 5}
    run = measure("xfs", "pgmeter-small", **ONE_TEST | changes)
    check_samples(run, {"iodepth=1,jobs=2", "iodepth=4,jobs=2"}, 2, 5)


def check_samples(run: Run, loads: set[str], least: int, most: int) -> None:
    """Every load was measured on a file system mounted anew, in so many intervals."""
    assert run.state == RunState.DONE, run.reason
    # The new file system's mount, and one before each load.
    assert [command["phase"] for command in run.commands].count("mount") == 1 + len(loads)
    rates = [value for value in measured(run) if value.test.endswith("_iops")]
    assert {(rate.test, rate.load) for rate in rates} == {("oltp_8k_iops", load) for load in loads}
    for rate in rates:
        assert rate.artefact is not None
        assert rate.line is not None
        line = artefact_bytes(rate.artefact).decode().splitlines()[rate.line - 1]
        assert json.loads("{" + line.strip().rstrip(",") + "}") == {"iops": rate.value}
        assert rate.samples is not None
        assert least <= len(rate.samples) <= most, rate.samples
        assert min(rate.samples) / 1.5 <= rate.value <= max(rate.samples) * 1.5, rate.samples


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsbench_web.core.workloads.pgmeter.Pgmeter.space_needed_bytes", lambda self: 1
    )
    run = measure("ext4", "pgmeter-small", file_mb=60)
    assert run.state == RunState.FAILED
    assert "The LUN" in run.reason
    assert "full" in run.reason
    assert not MeasurementBlock.objects.exists()


@pytest.mark.django_db
@pytest.mark.root
def test_a_failure_of_fio_ends_the_run_with_its_words(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.core.workloads.pgmeter.FILE_NAMES", ".")
    run = measure("ext4", "pgmeter-small")
    assert run.state == RunState.FAILED
    assert "fio ended with exit status 1" in run.reason


def test_what_fio_says_of_the_disk_is_kept_for_each_test() -> None:
    """One name for all of them would give a run one cell several times, which is refused."""
    entry = {"jobname": "x", "error": 0, "mixed": {"bw": 10, "iops": 2.5, "total_ios": 9}}
    printed = json.dumps(
        {"fio version": "fio-3.33", "jobs": [entry], "disk_util": [{"name": "loop0", "util": 7.5}]},
        indent=2,
    ).encode()
    two = {test.key: test.key in ("web_server", "oltp_8k") for test in TESTS}
    workload = workload_of("pgmeter", {**two, "outstanding": [1]})
    outputs = {
        command.output: printed for command in workload.commands(Place("/m")) if command.output
    }
    values = [value for result in workload.parse(outputs).values() for value in result.values]
    busy = [(value.test, value.value) for value in values if value.test.endswith("disk_util")]
    assert busy == [("web_server_disk_util", 7.5), ("oltp_8k_disk_util", 7.5)]
