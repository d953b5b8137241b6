"""Pools of ZFS that this host's own kernel has imported.

fsbench makes pools in guests, which take theirs with them. A host that has ZFS may still import by
itself (zfs-import-scan.service) what a killed guest has left on a LUN; then its kernel holds the
LUN, no run begins on it, and nothing of it can be wiped.
"""

from pathlib import Path

from fsbench_web.catalog.configurations.pools.zfs_commands import POOL

# A folder for each imported pool, beside files of the module itself (spl's kstat).
KSTAT = Path("/proc/spl/kstat/zfs")


def leftover_pools(folder: Path = KSTAT) -> list[str]:
    """The names of imported pools that are called like fsbench's own. Empty without ZFS."""
    return [POOL] if (folder / POOL).is_dir() else []
