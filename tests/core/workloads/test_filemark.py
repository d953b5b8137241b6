"""filemark: its program, what it must print, and real runs of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.core import formats
from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.agent.workloads import filemark
from tests.core.workloads.conftest import Measure
from tests.measured import measured

GIB = 2**30
PROGRAM = Path(filemark.__file__)


def call(*arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


QUICK = ("--files=60", "--largest=2000", "--warm-up=0", "--seconds=1")


def test_the_presets_are_the_papers() -> None:
    workload = presets()["filemark-freenix-small-file"].workload()
    commands = workload.commands(Place("/m"))
    assert commands[0].argv == ("mkdir", "/m/fsbench.work")
    phases = [command for command in commands if command.argv[1] == "transactions"]
    assert len(phases) == 4 * 12
    assert all(phase.remount for phase in phases)
    assert {"--threads=128", "--warm-up=30", "--seconds=120", "--read-percent=75"} <= set(
        phases[-1].argv
    )
    assert sum(command.argv[1] == "create" for command in commands) == 4
    large = presets()["filemark-freenix-large-file"].workload()
    assert (large.smallest_bytes, large.largest_bytes, large.io_bytes) == (4096, 16384, 4096)
    assert presets()["filemark-freenix-medium"].workload().files == 100_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threads": [2000]}, "1 to 1024"),
        ({"threads": [64], "files": 63}, "64 files or more"),
        ({"largest_bytes": 511}, "512 bytes or more"),
        ({"memory_mb": 1}, "64 MiB or more"),
        ({"phases": 2}, "3 to 99"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        workload_of("filemark", changes)


def test_it_warns_of_a_pool_that_memory_can_hold() -> None:
    assert workload_of("filemark", {}).memory_warning(64 * GIB) == ""
    unlimited = workload_of("filemark", {"memory_mb": 0})
    assert "set the memory limit to that" in unlimited.memory_warning(64 * GIB)
    assert unlimited.memory_warning(None) == ""


def test_the_pool_goes_on_from_phase_to_phase(tmp_path: Path) -> None:
    assert call("create", tmp_path, *QUICK)["files"] == 60
    for number, threads in enumerate((1, 8), start=1):
        phase = call("transactions", tmp_path, *QUICK, f"--threads={threads}", "--half-width=0")
        assert phase["phase"] == number
        assert phase["transactions"] > 0
    state = json.loads((tmp_path / "state.json").read_text())
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "pool").rglob("*/*")}
    assert sizes == {str(number): size for number, size in state["files"]}
    assert all(size <= 2000 for size in sizes.values())


def test_no_phase_is_run_when_those_before_are_sure(tmp_path: Path) -> None:
    call("create", tmp_path, *QUICK)
    state = json.loads((tmp_path / "state.json").read_text())
    rates = (999.0, 100.0, 104.0, 96.0)
    state["phases"] = [{"transactions_per_s": rate} for rate in rates]
    (tmp_path / "state.json").write_text(json.dumps(state))
    # 100 ± t(0.975, 2) × 4 / √3, the first phase aside.
    assert call("report", tmp_path)["half_width_percent"] == pytest.approx(9.937, abs=0.002)
    assert "skipped" in call("transactions", tmp_path, *QUICK, "--half-width=10", "--least=4")
    again = call("transactions", tmp_path, *QUICK, "--half-width=9", "--least=4")
    assert again["phase"] == 5


def test_a_report_that_is_not_sure_says_so() -> None:
    report = {
        **{"filemark": "report", "threads": 8, "creation_files_per_s": 50.5},
        **{"transactions_per_s": 110.0, "half_width_percent": 57.3, "is_sure": False},
        "samples": [100.0, 110.0, 120.0],
    }
    result = formats.parse("x", json.dumps(report, indent=1).encode())
    values = {value.test: value for value in result.values}
    rate = values["filemark_transactions"]
    assert (rate.value, rate.unit, rate.load) == (110.0, "ops/s", "threads=8")
    assert rate.samples == (100.0, 110.0, 120.0)
    assert values["filemark_creation"].samples == ()
    assert "57.3% of the mean" in str(result.warnings[0])


@pytest.mark.django_db
@pytest.mark.root
def test_it_measures_each_number_of_threads(measure: Measure) -> None:
    """On ext4, in the container: test_freenix_in_docker.py."""
    check_phases(measure("xfs", "filemark-small"), 1, 4)


def check_phases(run: Run, *threads: int) -> None:
    """Three phases of each number of threads, mounted anew; the first is in no number."""
    assert run.state == RunState.DONE, run.reason
    assert run.conditions["locks"]  # what was waited for, or why that is not known
    phases = [command["phase"] for command in run.commands]
    assert phases.count("mount") == 1 + 3 * len(threads)
    rates = measured(run, test="filemark_transactions")
    assert {rate.load for rate in rates} == {f"threads={n}" for n in threads}
    for rate in rates:
        assert rate.artefact is not None
        assert rate.line is not None
        raw = artefact_bytes(rate.artefact).decode()
        assert f'"transactions_per_s": {rate.value}' in raw.splitlines()[rate.line - 1]
        report = json.loads(raw)
        phases_s = [phase["transactions_per_s"] for phase in report["phases"]]
        assert report["discarded"] == phases_s[:1]
        assert rate.samples == phases_s[1:]
    # Each phase's own output is kept too.
    assert run.artefacts.filter(name__startswith=f"filemark-{threads[-1]}-").count() == 3


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsbench_web.core.workloads.filemark.Filemark.space_needed_bytes", lambda self: 1
    )
    run = measure(
        "ext4", "filemark-small", smallest_bytes=10**6, largest_bytes=10**6, io_bytes=4096
    )
    assert run.state == RunState.FAILED
    assert "The LUN" in run.reason
    assert "full" in run.reason
    assert not MeasurementBlock.objects.exists()


@pytest.mark.django_db
@pytest.mark.root
def test_a_failure_of_the_program_ends_the_run_with_its_words(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.core.workloads.filemark.PROGRAM", "fsbench-filemarks")
    run = measure("ext2", "filemark-small")
    assert run.state == RunState.FAILED
    assert "fsbench-filemarks is not a program of the agent" in run.reason
