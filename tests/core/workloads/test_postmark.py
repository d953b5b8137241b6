"""PostMark: its commands, what it must print, and real runs of it."""

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.imports.rereads import reading
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def test_the_preset_is_the_papers() -> None:
    workload = presets()["postmark-sun"].workload()
    assert workload.values["files"] == 20000
    assert (workload.smallest_bytes, workload.largest_bytes) == (10000, 15000)
    assert len(workload.transactions) == 9
    folder, *runs = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert runs[0].stdin.splitlines()[:4] == [
        *("set location /m/fsbench.work", "set size 10000 15000"),
        *("set number 20000", "set transactions 25000"),
    ]
    assert all(command.remount for command in runs)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"transactions": []}, "list of 1 to"),
        ({"transactions": [10, 10]}, "twice"),
        ({"transactions": ["10; reboot"]}, "whole number"),
        ({"files": 0}, "10 to"),
        ({"largest_bytes": 9999}, "10000 bytes or more"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        workload_of("postmark", changes)


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_measures_each_load(measure: Measure, filesystem: str) -> None:
    run = measure(filesystem, "postmark-small")
    assert run.state == RunState.DONE, run.reason
    phases = [command["phase"] for command in run.commands]
    assert phases.count("mount") == 3  # the new file system's, and one before each load
    rates = measured(run, test="postmark_transactions")
    assert {rate.load for rate in rates} == {"transactions=1000", "transactions=4000"}
    for rate in rates:
        assert rate.artefact is not None
        assert rate.line is not None
        line = artefact_bytes(rate.artefact).decode().splitlines()[rate.line - 1]
        assert f"({rate.value:.0f} per second)" in line
        assert reading.difference(rate.artefact).is_empty


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsbench_web.core.workloads.postmark.PostMark.space_needed_bytes", lambda self: 1
    )
    run = measure("ext2", "postmark-small", files=6000, transactions=[10])
    assert run.state == RunState.FAILED
    # PostMark itself says nothing and prints rates as if all had been written.
    assert "The LUN ran full while postmark worked" in run.reason
    assert not MeasurementBlock.objects.exists()
