"""Whether the files of a workload fit on a LUN, file system by file system. No HTTP here."""

from collections.abc import Iterable, Iterator, Mapping

from fsbench_web.catalog.configurations.commands.run import RAW_FROM_BYTES
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    ON_LUNS,
    RAW,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.catalog.configurations.space import least_taken_bytes
from fsbench_web.catalog.models import Lun
from fsbench_web.core.numbers import size
from fsbench_web.core.workloads import Workload
from fsbench_web.studies.jobs.spec import ConfigurationSpec

NO_NEIGHBOURS: Mapping[str, Lun] = {}


def problem(
    workload: Workload,
    lun: Lun,
    configurations: Iterable[ConfigurationSpec],
    neighbours: Mapping[str, Lun] = NO_NEIGHBOURS,
) -> str:
    """Why the workload cannot fit on the LUN, as a sentence; "" where it may.

    This refuses only what can never fit; the worker looks at the room that is really free.
    """
    needed, size_bytes = workload.space_needed_bytes(), lun.size_bytes
    if size_bytes is None:
        return ""
    configurations = list(configurations)
    alone = [configuration for configuration in configurations if not configuration.stack.luns]
    if needed > size_bytes and len(alone) == len(configurations):
        return (
            f"The files of the workload need {size(needed)} with what they add, and {lun.name} has "
            f"{size(size_bytes)}: make them smaller, or choose a larger LUN."
        )
    if lun.is_folder:
        return ""
    leaves: dict[str, int] = {}
    for name, left in _usable_bytes(lun, configurations, neighbours):
        if needed > left:
            leaves[name] = min(left, leaves.get(name, left))
    if not leaves:
        return ""
    text = "; ".join(f"{name} leaves {_size_words(left, needed)}" for name, left in leaves.items())
    room = (
        f"the {size(size_bytes)} of {lun.name}" if len(alone) == len(configurations) else "its LUNs"
    )
    return (
        f"The files of the workload need {size(needed)} with what they add. Of {room} a new file "
        f"system takes a part for itself, and at most {text}: make the files smaller, or choose a "
        "larger LUN."
    )


def _usable_bytes(
    lun: Lun, configurations: Iterable[ConfigurationSpec], neighbours: Mapping[str, Lun]
) -> Iterator[tuple[str, int]]:
    """What each leaves of its LUNs at most; others are refused elsewhere."""
    for wanted in configurations:
        members = [neighbours.get(name) for name in wanted.stack.luns]
        sizes = [member.size_bytes if member else None for member in (lun, *members)]
        if None in sizes:
            continue
        size_bytes = sum(member_bytes for member_bytes in sizes if member_bytes is not None)
        try:
            options = validated_options(wanted.filesystem, wanted.options)
        except OptionError:
            continue
        if wanted.filesystem == RAW:
            yield ON_LUNS[RAW].name, max(0, size_bytes - RAW_FROM_BYTES)
        if wanted.filesystem not in FILESYSTEMS:
            continue  # made by nobody
        taken = least_taken_bytes(wanted.filesystem, options, size_bytes, bool(wanted.journal))
        yield FILESYSTEMS[wanted.filesystem].name, max(0, size_bytes - taken)


def _size_words(left: int, needed: int) -> str:
    """So many bytes in words, and by how much too few where the words would be the same."""
    if size(left) != size(needed):
        return size(left)
    return f"{size(left)} ({-(-(needed - left) // MIB)} MiB too few)"
