"""The multiuser mix: its commands, how it finds the peak, and real runs of it."""

import json
import os

import pytest

from fsbench_web.core.units import lower_is_better
from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.agent.workloads import multiuser
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def test_the_preset_has_the_papers_cpus() -> None:
    workload = presets()["multiuser-freenix"].workload()
    folder, *runs = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert [run.argv[2] for run in runs] == [f"--cpus={n}" for n in (2, 4, 8, 16, 24, 28)]
    assert workload.limits().cpus == 28
    assert "not AIM7" in workload.title()
    assert not lower_is_better("jobs/min")


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"tasks": [4]}, "at least two"), ({"cpus": [0]}, "1 to 1024"), ({"cpus": []}, "list of")],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        workload_of("multiuser", changes)


@pytest.mark.parametrize(
    ("rates", "tried", "is_open"),
    [
        ({1: 10.0, 2: 19.0, 4: 18.0, 8: 17.0, 16: 5.0}, 4, False),
        ({1: 10.0, 2: 9.0, 4: 30.0, 8: 20.0, 16: 40.0}, 5, True),
    ],
)
def test_it_stops_just_past_the_peak(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rates: dict[int, float],
    tried: int,
    is_open: bool,
) -> None:
    monkeypatch.setattr(multiuser, "jobs_per_minute", lambda count, options: rates[count])
    allowed = os.sched_getaffinity(0)
    try:
        assert multiuser.main(["/nowhere", "--cpus", "1", "--tasks", *map(str, rates)]) == 0
        assert len(os.sched_getaffinity(0)) == 1
    finally:
        os.sched_setaffinity(0, allowed)
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert len(lines) == tried + 1
    assert lines[-1]["fsbench"] == "multiuser_peak"
    assert float(lines[-1]["value"]) == max(list(rates.values())[:tried])
    assert ("may be beyond it" in printed) == is_open


def test_more_processors_than_there_are_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert multiuser.main(["/nowhere", "--cpus", "4096", "--tasks", "1"]) == 1
    assert "4096 processors are asked for" in capsys.readouterr().err


@pytest.mark.django_db
@pytest.mark.root
def test_it_measures_up_to_the_peak(measure: Measure) -> None:
    """On ext4, in the container: test_freenix_in_docker.py."""
    check_peak(measure("xfs", "multiuser-small"))


def check_peak(run: Run) -> None:
    """Both numbers of tasks were measured, and what is stored stands in the output."""
    assert run.state == RunState.DONE, run.reason
    rates = [value for value in measured(run) if value.test.startswith("multiuser")]
    assert {(rate.test, rate.load, rate.unit) for rate in rates} == {
        ("multiuser_jobs", "cpus=1,tasks=1", "jobs/min"),
        ("multiuser_jobs", "cpus=1,tasks=2", "jobs/min"),
        ("multiuser_peak", "cpus=1", "jobs/min"),
    }
    for rate in rates:
        assert rate.artefact is not None
        assert rate.line is not None
        line = artefact_bytes(rate.artefact).decode().splitlines()[rate.line - 1]
        assert float(json.loads(line)["value"]) == rate.value


@pytest.mark.django_db
@pytest.mark.root
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.core.workloads.multiuser.TASK_BYTES", 2**31)
    run = measure("ext4", "multiuser-small")
    assert run.state == RunState.FAILED
    assert "The LUN is too small" in run.reason
    assert not MeasurementBlock.objects.exists()


@pytest.mark.django_db
@pytest.mark.root
def test_a_failure_of_a_job_ends_the_run_with_its_words(measure: Measure) -> None:
    # More than the test's machine has; a real job is refused before.
    run = measure("ext4", "multiuser-small", cpus=[1000])
    assert run.state == RunState.FAILED
    assert "asks for 1000 processors" in run.reason
