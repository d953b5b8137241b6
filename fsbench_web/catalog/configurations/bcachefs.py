"""bcachefs: its options, and its commands over several devices. Pure: no Django.

Sources: bcachefs(8) and ``bcachefs format --help`` of bcachefs-tools 1.13.0, and of Linux 6.12
fs/bcachefs/opts.h. Caches are targets: what is written goes to the foreground target, is moved to
the background target later, and what is read is copied to the promote target.
"""

from collections.abc import Iterator, Mapping, Sequence

from fsbench_web.catalog.configurations.options import Choice, Option

SLUG = "bcachefs"
CACHE_MODE = "cache_mode"
# Targets are named by the labels of devices: both have one as soon as there is a cache.
_DATA, _CACHE = "data", "cache"
# foreground, promote and background target, by mode.
_TARGETS = {
    "writeback": (_CACHE, _CACHE, _DATA),
    "writearound": (_DATA, _CACHE, _DATA),
}
USUAL_CACHE_MODE = "writeback"
MOST_REPLICAS = 3
REPLICAS = ("data_replicas", "metadata_replicas")
_CHECKSUMS = ("none", "crc32c", "crc64", "xxhash")


def _replicas(kind: str, label: str) -> Option:
    return Option(
        f"{kind}_replicas",
        "mkfs",
        f"Copies of {kind}",
        tuple(
            Choice(str(count), (f"--{kind}_replicas={count}",), f"{label}{count}")
            for count in range(1, MOST_REPLICAS + 1)
        ),
        help="Each on a LUN of its own. Default: 1",
    )


def _checksum(kind: str) -> Option:
    return Option(
        f"{kind}_checksum",
        "mkfs",
        f"Checksum of {kind}",
        tuple(
            Choice(name, (f"--{kind}_checksum={name}",), f"{kind}-{name}") for name in _CHECKSUMS
        ),
        help="Default: crc32c",
    )


OPTIONS = (
    _replicas("data", "copies"),
    _replicas("metadata", "metacopies"),
    Option(
        "block_size",
        "mkfs",
        "Block size (bytes)",
        (Choice("4096", ("--block_size=4096",), "b4096"),),
        help="Default: the sector of the LUN",
    ),
    Option(
        "encoded_extent_max_kb",
        "mkfs",
        "Largest extent with a checksum or compressed (KiB)",
        tuple(
            Choice(size, (f"--encoded_extent_max={size}k",), f"extent{size}k")
            for size in ("64", "128", "256")
        ),
        help="It is read whole, however little of it is wanted. Default: 64",
    ),
    Option(
        "compression",
        "mkfs",
        "Compression",
        (
            *(Choice(name, (f"--compression={name}",), name) for name in ("lz4", "gzip", "zstd")),
            *(
                Choice(f"{name}:{level}", (f"--compression={name}:{level}",), f"{name}{level}")
                for name, levels in (("gzip", "19"), ("zstd", ("1", "9", "15")))
                for level in levels
            ),
        ),
        help="Benchmark data that compresses well measures the CPU, not the disk",
    ),
    _checksum("data"),
    _checksum("metadata"),
    Option(
        "copy_on_write",
        "mkfs",
        "Copy on write",
        (Choice("off", ("--nocow",), "nocow", "no checksums of data and no compression either"),),
    ),
    Option(
        "online_discard",
        "mkfs",
        "Discard while mounted",
        (Choice("on", ("--discard",), "discard"),),
    ),
    Option(
        CACHE_MODE,
        "mkfs",
        "Cache",
        (
            Choice("writeback", (), "writeback", "written to the cache, moved later; the default"),
            Choice("writearound", (), "writearound", "written past it: what was read is cached"),
        ),
        help="Of a LUN with the role cache",
    ),
)


def mkfs_arguments(
    options: Mapping[str, object], devices: Sequence[str], caches: Sequence[str]
) -> list[str]:
    """The devices behind the options, each with its label where there is a cache."""
    if not caches:
        return list(devices)
    mode = str(options.get(CACHE_MODE) or USUAL_CACHE_MODE)
    names = ("foreground", "promote", "background")
    arguments = [
        f"--{name}_target={target}" for name, target in zip(names, _TARGETS[mode], strict=True)
    ]
    for label, group in ((_DATA, devices), (_CACHE, caches)):
        for number, device in enumerate(group):
            # Options of a device stand before it.
            arguments += [f"--label={label}.{label}{number}", device]
    return arguments


def mount_source(devices: Sequence[str]) -> str:
    """All devices, as mount(8) wants them of this file system."""
    return ":".join(devices)


def conflicts(options: Mapping[str, str], devices: int, caches: int) -> Iterator[str]:
    """Options that the tool or the kernel would refuse or ignore, on so many devices."""
    for key in REPLICAS:
        copies = int(options.get(key, "1"))
        if copies > devices:
            yield (
                f"bcachefs with {key} {copies} is made over {copies} devices or more, and here "
                f"over {devices}: name further LUNs in its stack."
            )
    if "copy_on_write" in options:
        for key, word in (("compression", "compress"), ("data_checksum", "checksum data")):
            if options.get(key, "none") != "none":
                yield (f"bcachefs does not {word} without copy on write: set only one of the two.")
    if CACHE_MODE in options and not caches:
        yield "A cache of bcachefs needs a LUN with the role cache."
