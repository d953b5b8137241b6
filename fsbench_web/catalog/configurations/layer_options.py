"""The options of each layer (``layers``). Pure: no Django.

Sources: mdadm(8), md(4), lvcreate(8), lvmthin(7), lvmcache(7), cryptsetup(8), integritysetup(8),
make-bcache(8) and of Linux Documentation/admin-guide/device-mapper/dm-integrity.rst,
Documentation/admin-guide/bcache.rst.
"""

from collections.abc import Sequence

from fsbench_web.catalog.configurations.options import Choice, Option


def _sizes_kb(template: str, sizes: Sequence[int], label: str) -> tuple[Choice, ...]:
    return tuple(Choice(str(kb), (template.format(kb),), f"{label}{kb}") for kb in sizes)


_LEVELS = ("raid0", "raid1", "raid10", "raid5", "raid6")
LEVEL = Option(
    "level",
    "layer",
    "RAID level",
    tuple(Choice(level, (f"--level={level}",), level) for level in _LEVELS),
)
CHUNK = Option(
    "chunk_kb",
    "layer",
    "Chunk (KB)",
    _sizes_kb("--chunk={}", (4, 16, 64, 128, 256, 512, 1024), "c"),
    help="Default: 512",
)
BITMAP = Option(
    "bitmap",
    "layer",
    "Write-intent bitmap",
    (
        Choice("internal", ("--bitmap=internal",), "bitmap", "the default here"),
        Choice("none", ("--bitmap=none",), "nobitmap", "a crash means a resync of the whole array"),
    ),
)
LAYOUT = Option(
    "layout",
    "layer",
    "Layout",
    (
        Choice("linear", ("--type", "linear"), "linear", "one LUN after the other"),
        Choice("striped", ("--type", "striped"), "striped"),
        Choice("thin", ("--type", "thin"), "thin", "a thin volume in a pool of all LUNs"),
    ),
)
STRIPE = Option(
    "stripe_kb",
    "layer",
    "Stripe (KB)",
    _sizes_kb("{}k", (4, 16, 64, 128, 256, 512, 1024), "s"),
    help="Default: 64",
)
THIN_CHUNK = Option(
    "thin_chunk_kb",
    "layer",
    "Chunk of a thin pool (KB)",
    _sizes_kb("{}k", (64, 128, 256, 512, 1024), "t"),
    help="Default: 64, more for a large pool",
)
CACHE_MODE = Option(
    "cache_mode",
    "layer",
    "Cache",
    (
        Choice("writethrough", ("writethrough",), "writethrough", "writes wait for the slow LUNs"),
        Choice("writeback", ("writeback",), "writeback", "writes wait for the cache alone"),
    ),
    help="On the LUN with the role cache",
)
CIPHER = Option(
    "cipher",
    "layer",
    "Cipher",
    (
        Choice("aes-xts", ("--cipher", "aes-xts-plain64"), "xts", "the default"),
        Choice("aes-cbc-essiv", ("--cipher", "aes-cbc-essiv:sha256"), "cbc", "before 2013"),
    ),
)
KEY_BITS = Option(
    "key_bits",
    "layer",
    "Key (bits)",
    tuple(Choice(bits, ("--key-size", bits), f"k{bits}") for bits in ("256", "512")),
    help="XTS splits it in two: 512 is AES-256. Default: 512, of CBC 256",
)
SECTOR_SIZE = Option(
    "sector_size",
    "layer",
    "Sector size (bytes)",
    tuple(Choice(size, ("--sector-size", size), f"s{size}") for size in ("512", "4096")),
    help="Default: that of the LUN, or 4096 where it says so",
)
WORKQUEUES = Option(
    "workqueues",
    "layer",
    "Queues of dm-crypt",
    (
        Choice(
            "off",
            ("--perf-no_read_workqueue", "--perf-no_write_workqueue"),
            "nowq",
            "encrypted where it is submitted; Linux 5.9 and newer",
        ),
    ),
)
INTEGRITY_ALGORITHM = Option(
    "algorithm",
    "layer",
    "Checksum",
    (
        Choice(
            "crc32c", ("--integrity", "crc32c"), "crc32c", "4 bytes of each sector; the default"
        ),
        Choice("sha256", ("--integrity", "sha256"), "sha256", "32 bytes of each sector"),
    ),
)
INTEGRITY_MODE = Option(
    "writes",
    "layer",
    "Writes",
    (
        Choice("journal", (), "journal", "all data twice, with their checksums; the default"),
        Choice("bitmap", ("--integrity-bitmap-mode",), "bitmap", "a crash means recalculation"),
        Choice(
            "direct", ("--integrity-no-journal",), "nojournal", "a crash leaves wrong checksums"
        ),
    ),
)
BCACHE_MODE = Option(
    "cache_mode",
    "layer",
    "Cache",
    (
        Choice("writethrough", (), "writethrough", "writes wait for the slow LUNs"),
        Choice("writeback", (), "writeback", "writes wait for the cache alone"),
        Choice("writearound", (), "writearound", "reads alone are cached"),
    ),
    help="On the LUN with the role cache",
)
BCACHE_BUCKET = Option(
    "bucket_kb",
    "layer",
    "Bucket of the cache (KB)",
    tuple(Choice(str(kb), ("--bucket", f"{kb}k"), f"b{kb}") for kb in (64, 256, 512, 1024, 2048)),
    help="Default: 512",
)
BCACHE_SEQUENTIAL = Option(
    "sequential",
    "layer",
    "Sequential requests",
    (Choice("cached", ("--sequential-cutoff=0",), "sequential", "cached too"),),
    help="Default: what is longer than 4 MiB passes the cache",
)
