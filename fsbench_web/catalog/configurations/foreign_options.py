"""Options of the file systems that other systems brought: exFAT and NTFS. Pure: no Django.

Sources: mkfs.exfat(8) of exfatprogs 1.2, mkntfs(8) of ntfs-3g 2022.10.3, and of Linux
Documentation/filesystems/ntfs3.rst, fs/exfat/super.c.
"""

from collections.abc import Sequence

from fsbench_web.catalog.configurations.options import Choice, Option


def _cluster(sizes: Sequence[int], help: str) -> Option:
    return Option(
        "cluster_size",
        "mkfs",
        "Cluster size (bytes)",
        tuple(Choice(str(size), ("-c", str(size)), f"c{size}") for size in sizes),
        help=help,
    )


EXFAT_CLUSTER = _cluster(
    (4096, 32768, 131072, 524288, 1048576),
    "Default: 4096 up to 256 MiB, 32768 up to 32 GiB, 131072 above",
)
EXFAT_ALIGNMENT = Option(
    "boundary_alignment",
    "mkfs",
    "Alignment of FAT and clusters (bytes)",
    tuple(
        Choice(str(size), ("-b", str(size)), f"align{size}") for size in (4096, 1048576, 4194304)
    ),
    help="Default: 1048576",
)
NTFS_CLUSTER = _cluster((4096, 16384, 65536), "Default: 4096 up to 16 TiB")
NTFS_COMPRESSION = Option(
    "compression",
    "mkfs",
    "Compression",
    (Choice("on", ("-C",), "compressed", "every new file, in units of 16 clusters (LZNT1)"),),
    help="Benchmark data that compresses well measures the CPU, not the disk",
)
NTFS_PREALLOC = Option(
    "prealloc",
    "mount",
    "Preallocation",
    (Choice("on", ("prealloc",), "prealloc", "files that grow get more than they asked for"),),
)
