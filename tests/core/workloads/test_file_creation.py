"""Creating many files with fs_mark: its report, the CPU load, and real runs."""

import pytest

from fsbench_web.core import formats
from fsbench_web.core.units import lower_is_better
from fsbench_web.core.workloads import Place, presets, workload_of
from fsbench_web.core.workloads.file_creation import OUTPUT
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measurement_of

REPORT = b"""
#  fs_mark  -k  -S  0  -n  50000  -s  0  -t  1  -L  1  -l  /m/fsbench.work.log  -d  /m/fsbench.work
#\tVersion 3.3, 1 thread(s) starting at Sat Nov 21 11:39:38 2026
#\tSync method: NO SYNC: Test does not issue sync() or fsync() calls.
#\tDirectories:  no subdirectories used
#\tFile names: 40 bytes long, (16 initial bytes of time stamp with 24 random bytes at end of name)
#\tFiles info: size 0 bytes, written with an IO size of 16384 bytes per write
#\tApp overhead is time in microseconds spent in the test.

FSUse%        Count         Size    Files/sec     App Overhead
    81        50000            0      19817.7           232000
"""
TIMES = b"""
{"fsbench": "file_creation_real", "value": "2.600000", "unit": "s", "load": {}}
{"fsbench": "file_creation_cpu", "value": "0.650000", "unit": "s", "load": {}}
{"fsbench": "file_creation_cpu_load", "value": "25.000000", "unit": "% CPU", "load": {}}
"""


def test_the_preset_is_the_papers() -> None:
    folder, command = presets()["file-creation-hilzinger"].workload().commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert command.argv == (
        *("fsbench-timed", "file_creation", "--cpu-load", "--", "fs_mark", "-k", "-t", "1"),
        *("-L", "1", "-l", "/m/fsbench.work.log", "-S", "0", "-n", "50000", "-s", "0"),
        *("-d", "/m/fsbench.work"),
    )


def test_fsync_and_writing_through_are_options() -> None:
    workload = workload_of("file-creation", {"fsync": True, "include_sync": True})
    argv = workload.commands(Place("/m"))[1].argv
    assert argv[argv.index("-S") + 1] == "1"
    assert argv[3:5] == ("--sync", "/m/fsbench.work")


def test_the_rate_is_fs_marks_and_the_load_that_of_its_process() -> None:
    workload = presets()["file-creation-hilzinger"].workload()
    values = workload.parse({OUTPUT: REPORT + TIMES})[OUTPUT].values
    assert {value.test: (value.value, value.unit, value.line) for value in values} == {
        "file_creation": (19817.7, "files/s", 11),
        "file_creation_real": (2.6, "s", 13),
        "file_creation_cpu": (0.65, "s", 14),
        "file_creation_cpu_load": (25.0, "% CPU", 15),
    }
    assert not lower_is_better("files/s")
    assert lower_is_better("% CPU")


def test_fs_marks_report_alone_is_read_with_its_threads() -> None:
    result = formats.parse("x", REPORT.replace(b"1 thread", b"8 thread"))
    assert (result.format, result.tool_version) == ("fs_mark", "3.3")
    rate, overhead = result.values
    assert (rate.test, rate.value, rate.unit, rate.load) == (
        *("fs_mark_files", 19817.7, "files/s"),
        "threads=8",
    )
    assert (overhead.test, overhead.value, overhead.unit) == (
        *("fs_mark_app_overhead", 232000),
        "µs",
    )
    assert any(mode.startswith("Sync method: NO SYNC") for mode in result.modes)


def test_a_report_without_a_row_is_refused() -> None:
    with pytest.raises(formats.UnreadableFile, match="no row"):
        formats.parse("x", b"\n".join(REPORT.split(b"\n")[:-2]))


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_measures_rate_and_load(measure: Measure, filesystem: str) -> None:
    run = measure(filesystem, "file-creation-small")
    assert run.state == RunState.DONE, run.reason
    rate = measurement_of(run, test="file_creation")
    assert rate.artefact is not None
    assert rate.line is not None
    line = artefact_bytes(rate.artefact).decode().splitlines()[rate.line - 1]
    assert f" {rate.value:.1f} " in line
    load = measurement_of(run, test="file_creation_cpu_load")
    assert (load.unit, 0 < load.value <= 110) == ("% CPU", True)


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsbench_web.core.workloads.file_creation.FileCreation.space_needed_bytes", lambda self: 1
    )
    run = measure("ext2", "file-creation-small", files=3000, file_bytes=1000000)
    assert run.state == RunState.FAILED
    assert "The LUN is full: fsbench-timed said “Insufficient free space”" in run.reason
    assert not MeasurementBlock.objects.exists()
