"""PostMark: its commands, what it must print, and real runs of it."""

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.imports import rereads as reading
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.published.data import published_studies
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


def report(transactions: int, seconds: int) -> bytes:
    """What PostMark prints of a load, as far as its times go."""
    rate = transactions // seconds
    lines = [
        *("PostMark v1.51 : 8/14/01", "Time:", f"\t{seconds + 9} seconds total"),
        f"\t{seconds} seconds of transactions ({rate} per second)",
        "\t9.60 megabytes written (9.60 megabytes per second)",
    ]
    return "\n".join(lines).encode()


def test_all_loads_together_are_all_transactions_by_all_their_time() -> None:
    workload = workload_of("postmark", {"transactions": [1000, 4000, 5000]})
    outputs = {
        "postmark-1000.txt": report(1000, 1),
        "postmark-4000.txt": report(4000, 3),
        "postmark-5000.txt": report(5000, 16),
    }
    parsed = workload.parse(outputs)
    [together] = [
        (name, value)
        for name, result in parsed.items()
        for value in result.values
        if not value.load
    ]
    name, value = together
    assert (name, value.test, value.unit) == (
        *("postmark-5000.txt", "postmark_transactions", "ops/s"),
    )
    # 10,000 in 20 s. The mean of the rates would be 882.
    assert value.value == 500
    assert outputs[name].decode().splitlines()[value.line - 1].startswith("\t16 seconds of")
    cells = {
        (value.test, value.load, None, None)
        for result in parsed.values()
        for value in result.values
    }
    assert set(workload.expected()) <= cells


def test_a_load_without_its_time_leaves_no_number_of_all_loads() -> None:
    workload = workload_of("postmark", {"transactions": [1000, 4000]})
    without = b"\n".join(
        line for line in report(4000, 3).splitlines() if b"of transactions" not in line
    )
    outputs = {"postmark-1000.txt": report(1000, 1), "postmark-4000.txt": without}
    parsed = workload.parse(outputs)
    assert all(value.load for result in parsed.values() for value in result.values)


def test_the_suns_study_names_the_score_of_all_loads() -> None:
    sun = next(study for study in published_studies() if study.slug == "sun-2004")
    sections = {section["id"]: section for section in sun.sections}
    tests = [test for test, load, *_ in presets()["postmark-sun"].workload().expected() if not load]
    assert tests == ["postmark_transactions"]
    assert any(tests[0] in value for _, value in sections["workload"]["items"])


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_measures_each_load(measure: Measure, filesystem: str) -> None:
    run = measure(filesystem, "postmark-small")
    assert run.state == RunState.DONE, run.reason
    phases = [command["phase"] for command in run.commands]
    assert phases.count("mount") == 3  # the new file system's, and one before each load
    rates = measured(run, test="postmark_transactions")
    assert {rate.load for rate in rates} == {"transactions=1000", "transactions=4000", ""}
    for rate in rates:
        assert rate.artefact is not None
        assert rate.line is not None
        assert reading.difference(rate.artefact).is_empty
        if not rate.load:
            continue
        line = artefact_bytes(rate.artefact).decode().splitlines()[rate.line - 1]
        assert f"({rate.value:.0f} per second)" in line


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
