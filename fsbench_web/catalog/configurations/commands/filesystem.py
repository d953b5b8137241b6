"""mkfs(8), mount(8) and what makes an external journal, as argument lists. Pure: no Django."""

from collections.abc import Mapping, Sequence

from fsbench_web.catalog.configurations.filesystems import (
    BCACHEFS,
    Filesystem,
    external_journal,
    filesystem,
    validated_options,
)
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.options import OptionError, arguments_of

# Targets of bcachefs are named by the labels of devices: what is written goes to the foreground
# target, is moved to the background target later, and what is read is copied to the promote target.
_TARGETS = {
    "writeback": {"foreground": "cache", "promote": "cache", "background": "data"},
    "writearound": {"foreground": "data", "promote": "cache", "background": "data"},
}


def journal_command(slug: str, options: Mapping[str, object], journal: JournalLun) -> list[str]:
    """The arguments that make the journal; empty where mkfs does. Raises OptionError."""
    return external_journal(slug).make_command(journal, validated_options(slug, options))


def mkfs_command(
    slug: str,
    options: Mapping[str, object],
    device: str,
    journal: JournalLun | None = None,
    keeps_blocks: bool = False,
    further: Sequence[str] = (),
    caches: Sequence[str] = (),
) -> list[str]:
    """The arguments that make the file system on ``device`` and erase what was there.

    ``keeps_blocks`` does not discard the device. ``further`` and ``caches`` are erased too.
    """
    spec = _require_mkfs(slug)
    devices = _all_devices(spec, device, further)
    if spec.takes_cache:
        devices = _bcachefs_devices(options, devices, caches)
    arguments = arguments_of(spec.options, options, "mkfs")
    if journal is not None:
        arguments += external_journal(slug).mkfs_arguments(journal, options)
    arguments = _features_together(arguments)
    if keeps_blocks:
        return [*_join_arguments([*spec.mkfs, *arguments], spec.without_discard), *devices]
    return [*spec.mkfs, *arguments, *devices]


def _require_mkfs(slug: str) -> Filesystem:
    spec = filesystem(slug)
    if spec.is_raw:
        raise OptionError("The raw device has no file system: none is made or mounted.")
    if not spec.is_made:
        raise OptionError(f"{spec.name} is measured as a host has mounted it, and never made.")
    if spec.is_pool:
        raise OptionError(f"{spec.name} is made as a pool (zfs.pool).")
    return spec


def _all_devices(spec: Filesystem, device: str, further: Sequence[str]) -> list[str]:
    if further and not spec.takes_several:
        raise OptionError(f"{spec.name} is made on one device: put a layer over several LUNs.")
    return [device, *further]


def _bcachefs_devices(
    options: Mapping[str, object], devices: Sequence[str], caches: Sequence[str]
) -> list[str]:
    """The devices, each with its label where there is a cache."""
    if not caches:
        return list(devices)
    targets = _TARGETS[str(options.get("cache_mode") or "writeback")]
    arguments = [f"--{name}_target={target}" for name, target in targets.items()]
    for label, group in (("data", devices), ("cache", caches)):
        for number, device in enumerate(group):
            # Options of a device stand before it.
            arguments += [f"--label={label}.{label}{number}", device]
    return arguments


def _features_together(arguments: list[str]) -> list[str]:
    """Of mke2fs(8) the last -O alone counts, so that all of them are one."""
    features = [
        arguments[place + 1] for place, argument in enumerate(arguments) if argument == "-O"
    ]
    if len(features) < 2:
        return arguments
    rest = list(arguments)
    for value in features:
        place = rest.index("-O")
        assert rest[place + 1] == value
        del rest[place : place + 2]
    return [*rest, "-O", ",".join(features)]


def _join_arguments(argv: list[str], more: tuple[str, ...]) -> list[str]:
    """Both together; of mke2fs(8) the last -E alone counts, so that its values are joined."""
    if more[:1] != ("-E",) or "-E" not in argv:
        return [*argv, *more]
    place = argv.index("-E") + 1
    return [*argv[:place], f"{argv[place]},{more[1]}", *argv[place + 1 :]]


def mount_command(
    slug: str,
    options: Mapping[str, object],
    device: str,
    mount_point: str,
    journal: JournalLun | None = None,
    further: Sequence[str] = (),
    caches: Sequence[str] = (),
) -> list[str]:
    """The arguments that mount ``device``, and with it the others (see ``mkfs_command``)."""
    spec = _require_mkfs(slug)
    words = arguments_of(spec.options, options, "mount")
    if journal is not None:
        words += external_journal(slug).mount_words(journal)
    source, by_kernel = device, []
    if slug == BCACHEFS:
        # By the kernel alone (-i): the tool's own mount would look at every disk of the host.
        source, by_kernel = ":".join([device, *further, *caches]), ["-i"]
    elif further:
        # Named one by one (btrfs(5), device=): a scan would look at every disk of the host.
        words += [f"device={member}" for member in _all_devices(spec, device, further)]
    flags = ["-o", ",".join(words)] if words else []
    return ["mount", *by_kernel, "-t", spec.kernel_name, *flags, source, mount_point]
