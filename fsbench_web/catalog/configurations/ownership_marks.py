"""How fsbench knows its own work from a stranger's data before it erases a LUN. Pure: no Django.

Every file system, journal and layer made here carries this label (runner.host.checks). The log of
XFS has no label, only the UUID of its file system: one whose log is on another device gets this
UUID.
"""

OWN_LABEL = "fsbench"
# "fsbench" and "extrlg" in ASCII. One UUID for all: two file systems that have it are mounted side
# by side with nouuid (xfs(5)).
OWN_LOG_UUID = "66736265-6e63-6800-8000-657874726c67"
# Of a set of bcache, which has no label: the same bytes, "fsbench" and "bcache".
OWN_CACHE_UUID = "66736265-6e63-6800-8000-626361636865"
# Where the label of dm-integrity stands, which has none of its own: in the 4 KiB of its superblock,
# behind all that the kernel keeps there, and writes back as it was (dm-integrity.c, SB_SECTORS).
INTEGRITY_LABEL_AT = 1024
# Of the physical volumes of LVM, which have no label: how their UUID begins.
OWN_VOLUME = "fsbnch-"


def own_volume_uuid(layer: int, place: int) -> str:
    """The UUID of the physical volume in this place of a layer, as pvcreate(8) takes it."""
    return f"{OWN_VOLUME}0000-0000-0000-0000-{layer:04}-{place:06}"


def is_own(type: str, label: str, uuid: str) -> bool:
    """Whether a signature of libblkid says that fsbench made what is there."""
    if type == "xfs_external_log":
        return uuid == OWN_LOG_UUID
    if type == "linux_raid_member":
        return label.startswith(f"{OWN_LABEL}:")
    if type == "LVM2_member":
        return uuid.startswith(OWN_VOLUME)
    return label == OWN_LABEL


# Of a device of a pool of ZFS, whose label is the pool's name.
POOL_SIGNATURE = "zfs_member"
# Signatures of layers: what stands on such a device is found by whoever looks at all disks.
LAYER_SIGNATURES = frozenset(
    {"linux_raid_member", "LVM2_member", "crypto_LUKS", "DM_integrity", "bcache", POOL_SIGNATURE}
)
