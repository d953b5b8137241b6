"""Random access: fio's command, its numbers, and real runs of it."""

import json
from decimal import Decimal
from typing import Any

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.random_access import OUTPUT
from fsbench_web.imports.rereads import reading
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.published.data import published_studies
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def printed_by_fio(workload: Any, **changes: Any) -> bytes:
    """What fio would print, with half a second for each file."""
    side = {"total_ios": 10, "io_bytes": 1, "bw": 7, "iops": 3.5}
    jobs = [
        {
            "jobname": f"mb{size}",
            "error": 0,
            "read": {**side, "total_ios": workload.operations - 10},
            "write": side,
            "job_runtime": 500,
            "usr_cpu": 1.5,
            "sys_cpu": 8.5,
            **changes,
        }
        for size in workload.files_mb
    ]
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs}, indent=1).encode()


def test_the_preset_is_the_papers() -> None:
    workload = presets()["random-access-galli"].workload()
    assert workload.operations == 12500
    folder, *warm_ups, measured = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert [command.output for command in warm_ups] == ["", "", ""]
    assert measured.output == OUTPUT
    assert {"--bs=16536", "--rwmixread=80", "--sync=1", "--invalidate=0"} <= set(measured.argv)
    assert measured.argv.count(f"--io_size={12500 * 16536}") == 5
    assert [word for word in measured.argv if word.startswith("--filesize")] == [
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


def test_seconds_are_fios_and_their_sum_is_the_papers_number() -> None:
    workload = presets()["random-access-galli"].workload()
    data = printed_by_fio(workload)
    values = workload.parse({OUTPUT: data})[OUTPUT].values
    by_cell = {(value.test, value.load): value for value in values}
    assert by_cell["random_io_real", "mb=10"].value == 0.5
    assert by_cell["random_io_cpu", "mb=10"].value == 0.05
    assert by_cell["random_io_read_bw", "mb=250"].value == 7
    assert (by_cell["random_io_real", ""].value, by_cell["random_io_real", ""].unit) == (2.5, "s")
    line = data.decode().splitlines()[by_cell["random_io_real", "mb=10"].line - 1]
    assert '"job_runtime": 500' in line
    assert set(workload.expected()) <= {(v.test, v.load, None, None) for v in values}


def test_the_sums_have_the_names_and_units_of_the_published_study() -> None:
    published = next(study for study in published_studies() if study.slug == "galli-2001")
    printed = {
        (score.test, score.unit) for score in published.scores if score.test.startswith("random")
    }
    workload = presets()["random-access-galli"].workload()
    values = workload.parse({OUTPUT: printed_by_fio(workload)})[OUTPUT].values
    assert printed == {(value.test, value.unit) for value in values if not value.load}


def test_other_sizes_have_no_number_that_could_be_taken_for_the_papers() -> None:
    workload = workload_of("random-access", {"files_mb": [1, 10]})
    values = workload.parse({OUTPUT: printed_by_fio(workload)})[OUTPUT].values
    assert "" not in {value.load for value in values}


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
