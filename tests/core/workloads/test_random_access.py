"""Random access: fio's command, its numbers, and real runs of it."""

import json
from decimal import Decimal
from typing import Any

import pytest

from fsbench_web.core.workloads import BenchmarkCommand, ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.random_access import OUTPUT
from fsbench_web.imports import rereads as reading
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.published.data import published_studies
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def printed_by_fio(workload: Any, **changes: Any) -> bytes:
    """What fio would print, with half a second for each job."""
    side = {"total_ios": 10, "io_bytes": 1, "bw": 7, "iops": 3.5}
    jobs = [
        {
            "jobname": name,
            "error": 0,
            "read": {**side, "total_ios": workload.operations - 10},
            "write": side,
            "job_runtime": 500,
            "usr_cpu": 1.5,
            "sys_cpu": 8.5,
            **changes,
        }
        for name in workload.loads
    ]
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs}, indent=1).encode()


def words_of(command: BenchmarkCommand, option: str) -> list[str]:
    return [word for word in command.argv if word.startswith(option)]


def test_the_preset_does_what_the_listing_does() -> None:
    workload = presets()["random-access-galli"].workload()
    folder, layout, *warm_ups, measured = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert "--create_only=1" in layout.argv
    assert words_of(layout, "--filesize") == [f"--filesize={mb}m" for mb in (1, 10, 100, 250, 500)]
    assert [command.output for command in warm_ups] == ["", "", ""]
    assert measured.output == OUTPUT
    assert {"--bs=16536", "--rwmixread=80", "--sync=1", "--invalidate=0"} <= set(measured.argv)
    # 10,000 reads and the writes of a quarter of them, in all; a file is drawn for 100 of them.
    assert words_of(measured, "--io_size") == [f"--io_size={12500 * 16536}"]
    assert words_of(measured, "--file_service_type") == ["--file_service_type=random:125"]
    assert words_of(measured, "--filename") == ["--filename=mb1:mb10:mb100:mb250:mb500"]


def test_the_other_reading_of_the_text_does_five_times_the_work() -> None:
    workload = presets()["random-access-galli-each-file"].workload()
    measured = workload.commands(Place("/m"))[-1]
    assert words_of(measured, "--io_size") == [f"--io_size={12500 * 16536}"] * 5
    assert words_of(measured, "--filesize") == [
        f"--filesize={size}m" for size in (1, 10, 100, 250, 500)
    ]


def test_the_buffer_of_the_text_is_an_option() -> None:
    workload = workload_of("random-access", {"buffer_bytes": "16384"})
    assert "--bs=16384" in workload.commands(Place("/m"))[-1].argv
    with pytest.raises(ParameterError, match="16536, 16384"):
        workload_of("random-access", {"buffer_bytes": "4096"})


def test_reads_alone_sync_nothing() -> None:
    argv = workload_of("random-access", {"write_percent": 0}).commands(Place("/m"))[-1].argv
    assert "--rw=randread" in argv
    assert "--sync=1" not in argv


def test_seconds_are_fios_at_each_size() -> None:
    workload = presets()["random-access-galli-each-file"].workload()
    data = printed_by_fio(workload)
    values = workload.parse({OUTPUT: data})[OUTPUT].values
    by_cell = {(value.test, value.load): value for value in values}
    assert by_cell["random_io_real", "mb=10"].value == 0.5
    assert by_cell["random_io_cpu", "mb=10"].value == 0.05
    assert by_cell["random_io_read_bw", "mb=250"].value == 7
    line = data.decode().splitlines()[by_cell["random_io_real", "mb=10"].line - 1]
    assert '"job_runtime": 500' in line
    assert set(workload.expected()) <= {(v.test, v.load, None, None) for v in values}


def test_seconds_have_the_names_and_units_of_the_published_study() -> None:
    published = next(study for study in published_studies() if study.slug == "galli-2001")
    printed = {
        (score.test, score.unit) for score in published.scores if score.test.startswith("random")
    }
    workload = presets()["random-access-galli"].workload()
    values = workload.parse({OUTPUT: printed_by_fio(workload)})[OUTPUT].values
    assert printed <= {(value.test, value.unit) for value in values if not value.load}
    assert list(workload.expected()) == [("random_io_real", "", None, None)]


@pytest.mark.parametrize(
    "values",
    [
        {"files_mb": [1, 10]},
        {"files_mb": [1, 10], "one_file_per_cycle": True},
        {"cycles": 500, "one_file_per_cycle": True},
        # The article's sizes, but all cycles in each of them: five times its work.
        {},
    ],
)
def test_other_work_has_no_number_that_could_be_taken_for_the_papers(
    values: dict[str, Any],
) -> None:
    workload = workload_of("random-access", values)
    values_read = workload.parse({OUTPUT: printed_by_fio(workload)})[OUTPUT].values
    assert "" not in {value.load for value in values_read}


def test_runs_from_before_a_file_was_drawn_are_what_they_were() -> None:
    assert "one_file_per_cycle" not in workload_of("random-access", {}).values


@pytest.mark.parametrize("changes", [{"read": {"total_ios": 5, "io_bytes": 1, "bw": 7}}])
def test_operations_that_were_not_done_make_it_incomplete(changes: dict[str, Any]) -> None:
    workload = presets()["random-access-small"].workload()
    parsed = workload.parse({OUTPUT: printed_by_fio(workload, **changes)})[OUTPUT]
    assert not parsed.complete
    assert "15 of 250 operations" in str(parsed.warnings[-1])


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_measures_each_size(measure: Measure, filesystem: str) -> None:
    run = measure(filesystem, "random-access-small")
    assert run.state == RunState.DONE, run.reason
    times = measured(run, test="random_io_real")
    assert {time.load for time in times} == {"mb=1", "mb=4"}
    for time in times:
        assert time.artefact is not None
        assert time.line is not None
        line = artefact_bytes(time.artefact).decode().splitlines()[time.line - 1]
        assert f'"job_runtime" : {Decimal(str(time.value)) * 1000:.0f},' in line
    assert len(measured(run, test="random_io_write_iops", unit="ops/s")) == 2
    # Its output alone, read by the format, has other names and no loads.
    (output,) = run.artefacts.filter(name=OUTPUT)
    assert reading.difference(output).is_empty


@pytest.mark.django_db
@pytest.mark.root
def test_a_drawn_file_for_each_cycle_is_measured_as_one(measure: Measure) -> None:
    run = measure("ext4", "random-access-small", one_file_per_cycle=True)
    assert run.state == RunState.DONE, run.reason
    assert [time.load for time in measured(run, test="random_io_real")] == ["files=2"]
    assert [time.load for time in measured(run, test="random_io_write_iops")] == ["files=2"]


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsbench_web.core.workloads.random_access.RandomAccess.space_needed_bytes", lambda self: 1
    )
    run = measure("ext2", "random-access-small", files_mb=[100])
    assert run.state == RunState.FAILED
    assert "full" in run.reason
    assert not MeasurementBlock.objects.exists()
