"""Copying a source tree and the space it takes: commands, what is read, and real runs."""

from pathlib import Path

import pytest

from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.units import lower_is_better
from fsbench_web.core.workloads import Place, presets, source_trees
from fsbench_web.imports import rereads as reading
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.published.data import published_studies
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measured

COPIED = b"""
{"fsbench": "kernel_source_copy_real", "value": "2.500000", "unit": "s", "load": {}}
{"fsbench": "kernel_source_copy_cpu", "value": "1.000000", "unit": "s", "load": {}}
{"fsbench": "kernel_source_copy_cpu_load", "value": "40.000000", "unit": "% CPU", "load": {}}
"""
OUTPUTS = {
    "copy.txt": COPIED,
    "df-before.txt": b"    Used\n      24\n",
    "df-after.txt": b"    Used\n  256024\n",
    "du.txt": b"251904\t/m/fsbench.work/tree\n",
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_trees, "FOLDER", str(tmp_path / "sources"))


def test_what_it_prints_is_time_load_and_space() -> None:
    workload = presets()["source-copy-hilzinger"].workload()
    values = [value for result in workload.parse(OUTPUTS).values() for value in result.values]
    assert {value.test: (value.value, value.unit, value.line) for value in values} == {
        "kernel_source_copy": (2.5, "s", 2),
        "kernel_source_copy_cpu": (1.0, "s", 3),
        "kernel_source_copy_cpu_load": (40.0, "% CPU", 4),
        "kernel_source_space_df": (256000.0, "KB", 2),
        "kernel_source_space_du": (251904.0, "KB", 1),
    }
    assert all(lower_is_better(value.unit) for value in values)
    assert {(test, load) for test, load, *_ in workload.expected()} <= {
        (value.test, value.load) for value in values
    }


def test_the_time_has_the_name_and_unit_of_the_published_study() -> None:
    study = next(study for study in published_studies() if study.slug == "hilzinger-2006")
    assert {(score.test, score.unit) for score in study.scores} == {("kernel_source_copy", "s")}


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("df-before.txt", b"Used\n300000\n", "256024 KB after the copy and 300000 KB before"),
        ("df-after.txt", b"Used\n-\n", "df-after.txt has no number"),
        ("du.txt", b"du: cannot read\n", "du.txt has no number"),
    ],
)
def test_space_that_cannot_be_is_no_measurement(name: str, data: bytes, words: str) -> None:
    workload = presets()["source-copy-hilzinger"].workload()
    with pytest.raises(UnreadableFile, match=words):
        workload.parse({**OUTPUTS, name: data})


def test_the_copy_begins_with_a_mount() -> None:
    commands = presets()["source-copy-medium"].workload().commands(Place("/m"))
    (copy,) = [command for command in commands if command.remount]
    assert copy.argv[:6] == (
        *("fsbench-timed", "kernel_source_copy", "--load", "files=20000"),
        *("--sync", "/m/fsbench.work"),
    )


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_it_measures_time_and_space(measure: Measure, filesystem: str) -> None:
    run = measure(filesystem, "source-copy-small")
    assert run.state == RunState.DONE, run.reason
    values = {value.test: value for value in measured(run)}
    du = values["kernel_source_space_du"]
    assert du.artefact is not None
    assert artefact_bytes(du.artefact).decode().startswith(f"{du.value:.0f}\t")
    assert 100 < du.value < 1000
    assert values["kernel_source_space_df"].value > 100
    assert {measured.load for test, measured in values.items() if "kernel" in test} == {"files=60"}
    copy = values["kernel_source_copy"]
    assert copy.artefact is not None
    assert f'"{copy.value:.6f}"' in artefact_bytes(copy.artefact).decode()
    assert reading.difference(du.artefact).is_empty


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "given").mkdir()
    with (tmp_path / "given" / "large").open("wb") as file:
        for _ in range(60):
            file.write(bytes(range(256)) * 4096)
    monkeypatch.setattr(source_trees, "GIVEN", str(tmp_path / "given"))
    monkeypatch.setattr(source_trees.SourceTree, "space_bytes", lambda *_, **__: 1)
    run = measure("ext2", "source-copy-small", source="given")
    assert run.state == RunState.FAILED
    assert "The LUN is full: fsbench-timed said" in run.reason
    assert not MeasurementBlock.objects.exists()
