"""What is said of direct I/O where the file system takes it and caches all the same. Pure."""

from types import SimpleNamespace
from typing import Any

from fsbench_web.core.workloads import workload_of
from fsbench_web.studies.jobs import submit_warnings

SIZES = {f"{end}_{what}_kb": 64 for end in ("minimum", "maximum") for what in ("record", "file")}


def planned(filesystem: str, options: dict[str, str], is_direct: bool = True) -> Any:
    workload = workload_of("iozone", SIZES | {"direct_io": is_direct})
    return SimpleNamespace(filesystem=filesystem, options=options, workload=("own", workload))


def test_zfs_is_named_once_and_others_are_not() -> None:
    (said,) = submit_warnings.of_cache(
        [planned("zfs", {}), planned("zfs", {}), planned("ext4", {})]
    )
    assert said.startswith("IOzone asks for direct I/O, which OpenZFS before 2.3 takes and ignores")
    assert (
        submit_warnings.of_cache([planned("ext4", {}), planned("zfs", {}, is_direct=False)]) == []
    )
    assert submit_warnings.of_cache([planned("zfs", {"primarycache": "metadata"})]) == []
    # That all is cached was chosen: the same holds.
    assert submit_warnings.of_cache([planned("zfs", {"primarycache": "all"})]) == [said]


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
