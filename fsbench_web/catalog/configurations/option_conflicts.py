"""Options that do not go together, or do not fit the LUN."""

from collections.abc import Iterator, Mapping

from fsbench_web.catalog.configurations import networks, zfs
from fsbench_web.catalog.configurations.filesystems import ALL, BCACHEFS, FILESYSTEMS
from fsbench_web.catalog.configurations.layers import conflicts, has_cache, remaining_devices
from fsbench_web.catalog.configurations.options import PROFILE_LEAST_LUNS
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts
from fsbench_web.catalog.models import Lun
from fsbench_web.core.numbers import size

# xfs(5): an allocation group is 16 MB or more.
XFS_SMALLEST_GROUP_BYTES = 16 * 1024 * 1024


def option_conflicts(
    slug: str,
    options: Mapping[str, str],
    lun: Lun | None,
    journal: Lun | None = None,
    shape: LunCounts = PLAIN_SHAPE,
) -> Iterator[str]:
    """Valid options that mkfs or mount would refuse or ignore together, or on this LUN."""
    if not ALL[slug].is_made or (lun is not None and lun.is_folder and options):
        yield from _folder_conflicts(slug, lun, journal, shape)
        return
    yield from _stack_conflicts(slug, options, shape)
    yield from networks.conflicts(options)
    if slug == "btrfs" and "compression" in options and options.get("copy_on_write") == "off":
        # btrfs(5): nodatacow implies nodatasum, and disables compression.
        yield "Btrfs does not compress without copy on write: set only one of the two."
    for word in ("journal", "log"):
        if journal is not None and f"{word}_size_mb" in options:
            yield (
                f"The {word} on {journal.name} has the size of that LUN: leave out the {word} size "
                f"of {FILESYSTEMS[slug].name}, or keep the {word} on the LUN itself."
            )
    if lun is None or lun.size_bytes is None:
        return
    lun_size = size(lun.size_bytes)
    if "agcount" in options:
        groups = int(options["agcount"])
        if groups * XFS_SMALLEST_GROUP_BYTES > lun.size_bytes:
            yield (
                f"{lun.name} ({lun_size}) has room for "
                f"{lun.size_bytes // XFS_SMALLEST_GROUP_BYTES} XFS allocation groups of 16 MiB, "
                f"not for {groups}: choose fewer."
            )
    if "log_size_mb" in options:
        # mkfs.xfs(8), -l size=: the log is within one allocation group, of which there are four.
        group_bytes = lun.size_bytes // int(options.get("agcount", "4"))
        if int(options["log_size_mb"]) * 1024 * 1024 > group_bytes:
            yield (
                f"A log of {options['log_size_mb']} MiB does not fit into an allocation group of "
                f"{lun.name} ({size(group_bytes)}): choose a smaller one, or fewer groups."
            )
    if "journal_size_mb" in options:
        megabytes = int(options["journal_size_mb"])
        # mke2fs(8), -J size=: no more than half of the file system.
        if megabytes * 1024 * 1024 > lun.size_bytes // 2:
            yield (
                f"A journal of {megabytes} MiB is more than half of {lun.name} ({lun_size}): "
                f"choose a smaller one for {FILESYSTEMS[slug].name}."
            )


def _folder_conflicts(
    slug: str, lun: Lun | None, journal: Lun | None, shape: LunCounts
) -> Iterator[str]:
    """Of a file system that is there already, with the options that it has, or of none."""
    if ALL[slug].is_made and lun is not None:
        yield (
            f"{lun.name} is a {lun.kind}: no file system is made there, so that no option can be "
            "set. Leave all options at their defaults."
        )
    elif shape == PLAIN_SHAPE and journal is None:
        return
    elif ALL[slug].is_raw:
        yield "The raw device is one LUN only: leave its layers and other LUNs out."
    else:
        yield f"{ALL[slug].name} is as a host has mounted it: no other LUN is added to it."


def _stack_conflicts(slug: str, options: Mapping[str, str], shape: LunCounts) -> Iterator[str]:
    name = FILESYSTEMS[slug].name
    devices = remaining_devices(shape.layers, shape.data)
    # A pool uses the LUNs of every role that no layer takes.
    takes_cache = FILESYSTEMS[slug].takes_cache or FILESYSTEMS[slug].is_pool
    yield from conflicts(shape.layers, shape.data, shape.cache, takes_cache)
    if FILESYSTEMS[slug].is_pool:
        yield from zfs.conflicts(options, shape, devices)
        return
    if slug == BCACHEFS:
        caches = 0 if has_cache(shape.layers) else shape.cache
        yield from _bcachefs_conflicts(options, devices, caches)
    if devices > 1 and not FILESYSTEMS[slug].takes_several:
        *others, last = (
            filesystem.name for filesystem in FILESYSTEMS.values() if filesystem.takes_several
        )
        yield (
            f"{name} is made on one device, not over {devices}; {', '.join(others)} and {last} "
            "take several. Others need a layer that joins the LUNs: md or lvm."
        )
    for role in ("log", "special"):
        if getattr(shape, role):
            yield f"Nothing in this stack of {name} uses a LUN for the {role}: leave it out."
    for key in ("data_profile", "metadata_profile"):
        minimum = PROFILE_LEAST_LUNS.get(options.get(key, ""), 1)
        if devices < minimum:
            yield (
                f"{name} with {key} {options[key]} is made over {minimum} devices or more, and "
                f"here over {devices}: name further LUNs in its stack."
            )


def _bcachefs_conflicts(options: Mapping[str, str], devices: int, caches: int) -> Iterator[str]:
    for key in ("data_replicas", "metadata_replicas"):
        copies = int(options.get(key, "1"))
        if copies > devices:
            yield (
                f"bcachefs with {key} {copies} is made over {copies} devices or more, and here "
                f"over {devices}: name further LUNs in its stack."
            )
    if "copy_on_write" in options:
        for key, word in (("compression", "compress"), ("data_checksum", "checksum data")):
            if options.get(key, "none") != "none":
                yield f"bcachefs does not {word} without copy on write: set only one of the two."
    if "cache_mode" in options and not caches:
        yield "A cache of bcachefs needs a LUN with the role cache."
