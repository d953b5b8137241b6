"""Mongo: its file sizes, what its phases do, and real runs of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from fsbench_web.core import formats
from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.mongo import PHASES, mean_file_bytes
from fsbench_web.studies.models import MeasurementBlock, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.agent.workloads import mongo
from tests.core.workloads.conftest import Measure
from tests.measured import measured


def phase(name: str, folder: Path, base: int = 100, total_kb: int = 64) -> bytes:
    argv = [sys.executable, "-I", mongo.__file__, name, str(folder), str(base), str(total_kb), "1"]
    return subprocess.run(argv, capture_output=True, check=True).stdout


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_preset_has_each_phase_at_each_size() -> None:
    workload = presets()["mongo-galli"].workload()
    folder, *commands = workload.commands(Place("/m"))
    assert folder.argv == ("mkdir", "/m/fsbench.work")
    assert len(commands) == 4 * 9
    assert commands[0].argv == (
        "fsbench-mongo",
        "create",
        "/m/fsbench.work",
        "100",
        "51200",
        "2001",
    )
    assert all(command.remount for command in commands)
    assert len({command.output for command in commands}) == len(commands)
    assert PHASES == mongo.PHASES


@pytest.mark.parametrize("base", [100, 1000, 100000])
def test_sizes_follow_from_the_seed_and_use_up_the_total(base: int) -> None:
    total = 2**20
    sizes = mongo.sizes(base, total, 7)
    assert sizes == mongo.sizes(base, total, 7)
    assert sizes != mongo.sizes(base, total, 8)
    assert sum(sizes) == total
    assert min(sizes) >= 1
    assert max(sizes) <= max(total // 10, base)
    small = sum(size <= base for size in sizes) / len(sizes)
    assert small > 0.7
    workload = workload_of("mongo", {"base_bytes": [base], "total_kb": 1024})
    copied = sum(-(-size // 4096) for size in sizes)
    appended = sum(-(-(size * 3 // 2) // 4096) for size in sizes)
    assert workload.space_needed_bytes() > (copied + appended) * 4096


def test_the_mean_size_is_that_of_the_sizes_drawn() -> None:
    sizes = mongo.sizes(100, 200 * 2**20, 3)
    assert 0.7 < sum(sizes) / len(sizes) / mean_file_bytes(100, 200 * 2**20) < 1.4


def test_phases_do_what_they_are_called(tmp_path: Path) -> None:
    phase("create", tmp_path)
    first, second = tmp_path / "tree-100", tmp_path / "copy-100"
    created = tree_of(first)
    assert sum(map(len, created.values())) == 64 * 1024
    phase("copy", tmp_path)
    assert tree_of(second) == created
    phase("append", tmp_path)
    appended = tree_of(first)
    for name, content in created.items():
        assert appended[name].startswith(content)
        assert len(appended[name]) == len(content) + max(len(content) // 2, 1)
    phase("modify", tmp_path)
    modified = tree_of(first)
    assert modified != appended
    large = max(appended, key=lambda name: len(appended[name]))
    size = len(appended[large])
    assert modified[large][: size // 10] == appended[large][: size // 10]
    assert modified[large][size // 5 + 1 :] == appended[large][size // 5 + 1 :]
    phase("overwrite", tmp_path)
    assert {n: len(c) for n, c in tree_of(first).items()} == {
        name: len(content) for name, content in modified.items()
    }
    phase("read", tmp_path)
    phase("stats", tmp_path)
    phase("rename", tmp_path)
    assert set(tree_of(second)) == {f"{name}.r" for name in created}
    assert tree_of(second).keys() == tree_of(first).keys()
    phase("delete", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_it_prints_is_read_with_its_load(tmp_path: Path) -> None:
    real, cpu = formats.parse("x", phase("create", tmp_path)).values
    assert (real.test, real.load, real.unit, real.line) == (
        *("mongo_create_real", "bytes=100", "s"),
        1,
    )
    assert (cpu.test, cpu.line) == ("mongo_create_cpu", 2)
    assert cpu.value > 0
    assert real.value > 0


def test_a_base_size_named_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="twice"):
        workload_of("mongo", {"base_bytes": [100, 100]})


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize(
    ("filesystem", "changes"), [("ext4", {}), ("xfs", {"remount": True, "base_bytes": [1000]})]
)
def test_it_measures_each_phase(
    measure: Measure, filesystem: str, changes: dict[str, object]
) -> None:
    run = measure(filesystem, "mongo-small", **changes)
    assert run.state == RunState.DONE, run.reason
    loads = {f"bytes={base}" for base in changes.get("base_bytes", [100, 4000])}  # type: ignore[attr-defined]
    for name in PHASES:
        times = measured(run, test=f"mongo_{name}_real", unit="s")
        assert {time.load for time in times} == loads
        for time in times:
            assert time.artefact is not None
            assert time.line is not None
            line = artefact_bytes(time.artefact).decode().splitlines()[time.line - 1]
            assert f'"{time.value:.6f}"' in line
    if "remount" in changes:
        assert [command["phase"] for command in run.commands].count("mount") == 1 + len(PHASES)


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.usefixtures("tiny_lun")
def test_too_little_room_ends_the_run_with_its_reason(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.core.workloads.mongo.Mongo.space_needed_bytes", lambda self: 1)
    run = measure("ext2", "mongo-small", base_bytes=[100000], total_kb=60 * 1024)
    assert run.state == RunState.FAILED
    assert "The LUN is full: fsbench-mongo said" in run.reason
    assert not MeasurementBlock.objects.exists()
