"""Copying, building, cleaning and removing a source tree: commands, and real runs."""

from pathlib import Path

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, source_trees, workload_of
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.published.data import published_studies
from fsbench_web.studies.scores.ingest import artefact_bytes
from tests.core.workloads.conftest import Measure
from tests.measured import measurement_of


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_trees, "FOLDER", str(tmp_path / "sources"))


def test_the_preset_is_the_papers() -> None:
    workload = presets()["kernel-build-galli"].workload()
    unpack, read, folder, *steps = workload.commands(Place("/m"))
    assert unpack.argv[:2] == ("fsbench-tree", "linux-source")
    assert read.argv[-1] == "2"
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert [step.argv[:3] for step in steps] == [
        ("fsbench-timed", "copy", "--"),
        ("fsbench-timed", "make_bzimage", "--"),
        ("fsbench-timed", "make_clean", "--"),
        ("fsbench-timed", "remove", "--"),
    ]
    assert steps[1].argv[3:] == ("make", "-s", "-C", "/m/fsbench.work/tree", "-j", "1", "bzImage")
    assert [step.remount for step in steps] == [True, False, False, False]


def test_a_kernel_is_measured_under_the_names_of_the_published_study() -> None:
    published = {study.slug: study for study in published_studies()}["galli-2001"]
    printed = {score.test for score in published.scores if not score.test.startswith("random")}
    workload = presets()["kernel-build-galli"].workload()
    expected = {(test, load) for test, load, *_ in workload.expected()}
    assert {(test.replace("_cpu", "_real"), "") for test in printed} == expected


def test_other_trees_are_never_taken_for_a_kernel() -> None:
    workload = presets()["kernel-build-small"].workload()
    assert {load for _, load, *_ in workload.expected()} == {"files=20"}


def test_a_given_tree_is_only_read() -> None:
    workload = workload_of("kernel-build", {"source": "given"})
    first = workload.commands(Place("/m"))[0]
    assert first.argv == ("fsbench-tree", "read", "/usr/src/fsbench-tree", "2")


def test_no_other_place_can_be_named() -> None:
    with pytest.raises(ParameterError, match="must be one of"):
        workload_of("kernel-build", {"source": "/etc"})


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize(
    ("filesystem", "changes"), [("ext4", {}), ("xfs", {"include_sync": True, "files": 2})]
)
def test_it_times_each_step(measure: Measure, filesystem: str, changes: dict[str, object]) -> None:
    run = measure(filesystem, "kernel-build-small", **changes)
    assert run.state == RunState.DONE, run.reason
    for test in ("copy", "make_all", "make_clean", "remove"):
        real = measurement_of(run, test=f"{test}_real")
        assert real.load == f"files={changes.get('files', 20)}"
        assert real.unit == "s"
        assert real.artefact is not None
        assert real.line is not None
        line = artefact_bytes(real.artefact).decode().splitlines()[real.line - 1]
        assert f'"{real.value:.6f}"' in line
    assert measurement_of(run, test="make_all_cpu").value > 0


@pytest.mark.django_db
@pytest.mark.root
def test_a_missing_tree_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(source_trees, "GIVEN", str(tmp_path / "none"))
    monkeypatch.setattr(source_trees.SourceTree, "space_bytes", lambda *_, **__: 1)
    run = measure("ext2", "kernel-build-small", source="given")
    assert run.state == RunState.FAILED
    assert "There is no source tree in" in run.reason
    assert not MeasurementBlock.objects.exists()


@pytest.mark.django_db
@pytest.mark.root
def test_a_build_that_fails_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "Makefile").write_text("bzImage:\n\techo cc is broken >&2; exit 1\n")
    monkeypatch.setattr(source_trees, "GIVEN", str(tmp_path / "given"))
    monkeypatch.setattr(source_trees.SourceTree, "space_bytes", lambda *_, **__: 1)
    run = measure("ext2", "kernel-build-small", source="given")
    assert run.state == RunState.FAILED
    assert "fsbench-timed ended with exit status 2" in run.reason
    assert "Error 1" in run.reason
    assert not MeasurementBlock.objects.exists()


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
    run = measure("ext2", "kernel-build-small", source="given")
    assert run.state == RunState.FAILED
    assert "The LUN is full: fsbench-timed said" in run.reason
    assert not MeasurementBlock.objects.exists()
