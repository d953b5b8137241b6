"""What is said where the file system does not do what was asked: direct I/O, compression. Pure."""

from types import SimpleNamespace
from typing import Any

from fsbench_web.core.workloads import presets, workload_of
from fsbench_web.studies.jobs import submit_warnings

SIZES = {f"{end}_{kind}_kb": 64 for end in ("minimum", "maximum") for kind in ("record", "file")}


def planned(filesystem: str, options: dict[str, str], is_direct: bool = True) -> Any:
    workload = workload_of("iozone", SIZES | {"direct_io": is_direct})
    return SimpleNamespace(filesystem=filesystem, options=options, workload=("own", workload))


def test_zfs_is_named_once_and_others_are_not() -> None:
    (warning,) = submit_warnings.of_cache(
        [planned("zfs", {}), planned("zfs", {}), planned("ext4", {})]
    )
    assert warning.startswith(
        "IOzone asks for direct I/O, which OpenZFS before 2.3 takes and ignores"
    )
    assert (
        submit_warnings.of_cache([planned("ext4", {}), planned("zfs", {}, is_direct=False)]) == []
    )
    assert submit_warnings.of_cache([planned("zfs", {"primarycache": "metadata"})]) == []
    # That all is cached was chosen: the same holds.
    assert submit_warnings.of_cache([planned("zfs", {"primarycache": "all"})]) == [warning]


def test_ext4_with_journalled_data_and_btrfs_that_compresses_go_by_the_page_cache() -> None:
    journalled = planned("ext4", {"journal_mode": "journal"})
    compressed = planned("btrfs", {"compression": "zstd:6"})
    of_ext4, of_btrfs = submit_warnings.of_cache(
        [planned("xfs", {}), compressed, journalled, journalled]
    )
    assert of_ext4.startswith("IOzone asks for direct I/O, which ext3 and ext4 with data=journal")
    assert of_btrfs.startswith("IOzone asks for direct I/O, which Btrfs")
    plain = [planned("ext4", {"journal_mode": "ordered"}), planned("btrfs", {"compression": "off"})]
    assert submit_warnings.of_cache(plain) == []
    assert (
        submit_warnings.of_cache([planned("ext4", {"journal_mode": "journal"}, is_direct=False)])
        == []
    )


def of_fio(options: dict[str, str], filesystem: str = "btrfs", **parameters: object) -> Any:
    preset = presets()["fio-stream-small"]
    workload = workload_of(preset.tool, {**preset.parameters, "depths": [1], **parameters})
    return SimpleNamespace(filesystem=filesystem, options=options, workload=("own", workload))


def test_of_preallocated_files_btrfs_compresses_nothing_and_that_is_said() -> None:
    """Tried: 200 MB of data of which 90% are zeros took 200 MB, and no extent was compressed."""
    zstd = {"compression": "zstd"}
    runs = [of_fio(zstd), of_fio(zstd, compress_percent=90)]
    assert submit_warnings.of_cache(runs) == []
    [warning] = submit_warnings.of_data(runs)
    assert warning.startswith("fio by queue depth: room for files is taken before they are written")
    assert submit_warnings.of_data([of_fio({"compression": "off"})]) == []
    [zfs] = submit_warnings.of_data([of_fio({"compression": "zstd"}, "zfs", compress_percent=90)])
    assert zfs == "fio is asked for data that compress by 90%."
    written = of_fio(zstd, compress_percent=90, preallocate=False)
    assert submit_warnings.of_data([written]) == ["fio is asked for data that compress by 90%."]
    [cached] = submit_warnings.of_cache([written])
    assert "Btrfs takes and ignores" in cached
