"""What data workloads write: what fio and IOzone really make of the options, and what is stored."""

import subprocess
import zlib
from pathlib import Path

import pytest

from fsbench_web.core.workloads import Place, presets, workload_of
from fsbench_web.core.workloads.fio.data import EXTENT_BYTES


def left_percent(data: bytes) -> float:
    """How much of it stays, as a file system that compresses takes it."""
    extents = range(0, len(data), EXTENT_BYTES)
    return (
        100
        * sum(len(zlib.compress(data[i : i + EXTENT_BYTES], 1)) for i in extents)
        / max(len(data), 1)
    )


def unique_percent(data: bytes) -> float:
    blocks = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    return 100 * len(set(blocks)) / len(blocks)


def layout_of(folder: Path, **parameters: object) -> bytes:
    """The file as ``fio-depths`` lays it out."""
    small = presets()["fio-4k-small"]
    workload = workload_of(small.tool, {**small.parameters, "file_mb": 4, **parameters})
    make, layout, *_ = workload.commands(Place(str(folder)))
    for command in (make, layout):
        subprocess.run(command.argv, check=True, capture_output=True)
    return next((folder / "fsbench.work").iterdir()).read_bytes()


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [({}, 85, 101), ({"compress_percent": 50}, 45, 60), ({"refill_buffers": True}, 98, 101)],
)
def test_fio_writes_data_as_compressible_as_was_asked(
    tmp_path: Path, asked: dict[str, object], least: float, most: float
) -> None:
    assert least <= left_percent(layout_of(tmp_path, **asked)) <= most


def test_fio_writes_as_many_duplicates_as_were_asked(tmp_path: Path) -> None:
    assert 30 <= unique_percent(layout_of(tmp_path, dedupe_percent=50)) <= 70


@pytest.mark.parametrize(("contents", "least", "most"), [("pattern", 0, 2), ("random", 98, 101)])
def test_iozone_writes_the_data_that_were_asked(
    tmp_path: Path, contents: str, least: float, most: float
) -> None:
    sizes = dict.fromkeys(("minimum_record_kb", "maximum_record_kb"), 64)
    sizes |= dict.fromkeys(("minimum_file_kb", "maximum_file_kb"), 1024)
    [command] = workload_of("iozone", {**sizes, "contents": contents}).commands(
        Place(str(tmp_path))
    )
    subprocess.run([*command.argv, "-w"], check=True, capture_output=True)
    assert least <= left_percent((tmp_path / "fsbench.work.iozone").read_bytes()) <= most


@pytest.mark.parametrize("slug", ["fio-4k", "pgmeter-freenix", "random-access-galli", "rocksdb"])
def test_parameters_that_came_later_are_stored_only_where_they_differ(slug: str) -> None:
    preset = presets()[slug]
    late = [one for one in preset.kind.parameters if one.is_late]
    usual = preset.workload()
    assert late
    for parameter in late:
        assert parameter.key not in usual.values
        assert getattr(usual, parameter.key) == parameter.default
        given = {**preset.parameters, parameter.key: parameter.default}
        assert workload_of(preset.tool, given) == usual
    changed = workload_of(preset.tool, {**preset.parameters, "compress_percent": 30})
    assert changed.values["compress_percent"] == 30
    assert "30% compressible" in changed.title()
    assert changed.commands(Place("/m")) != usual.commands(Place("/m"))


@pytest.mark.parametrize(
    ("slug", "asked", "said"),
    [
        ("fio-4k", {}, ""),
        ("fio-4k", {"compress_percent": 40, "dedupe_percent": 5}, "by 40% and have 5% duplicates"),
        ("fio-stream", {}, ""),
        ("fio-stream", {"block_kb": 16}, "one buffer"),
        ("fio-stream", {"block_kb": 16, "refill_buffers": True}, ""),
        ("pgmeter-freenix", {}, "one buffer"),
        ("pgmeter-freenix", {"refill_buffers": True}, ""),
        ("random-access-galli", {}, ""),
        ("iozone-small", {"contents": "random"}, ""),
        ("sysbench-fileio-small", {}, "zeros"),
        ("rocksdb", {}, "by 50%"),
    ],
)
def test_a_workload_tells_which_data_a_file_system_would_shrink(
    slug: str, asked: dict[str, object], said: str
) -> None:
    preset = presets()[slug]
    found = workload_of(preset.tool, {**preset.parameters, **asked}).data_warning()
    assert said in found if said else found == ""
