"""Short labels of configurations, as the Unisys paper writes them: ext3_wb_noatime_dl_xj. Pure.

The order is the paper's: file system, journal mode, access times, scheduler, external journal;
what the paper does not have (allocation groups, block size) stands before the scheduler.
"""

from collections.abc import Mapping

from fsbench_web.catalog.filesystems import FILESYSTEMS, SCHEDULER_LABELS

_FIRST = ("journal_mode", "atime")


def configuration_label(
    filesystem: str,
    options: Mapping[str, str],
    scheduler: str = "",
    external_journal: bool = False,
) -> str:
    """The label of a configuration whose options have passed ``validated_options``."""
    spec = FILESYSTEMS[filesystem]
    keys = [key for key in _FIRST if key in options]
    keys += [
        option.key for option in spec.options if option.key in options and option.key not in _FIRST
    ]
    parts = [filesystem, *(spec.option(key).choice(options[key]).label for key in keys)]
    if scheduler:
        parts.append(SCHEDULER_LABELS.get(scheduler, scheduler))
    if external_journal:
        parts.append("xj")
    return "_".join(parts)
