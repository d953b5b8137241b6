"""Labels, UUIDs and names by which fsbench recognises what it made, before it erases a LUN.

Every file system, journal and layer that fsbench makes has ``OWN_LABEL``. An external log of XFS
has no label: it gets ``OWN_LOG_UUID``.
"""

OWN_LABEL = "fsbench"
# A workload writes here, or to a file beside it with this name and a dot: other files in a
# directory LUN stay untouched, and the agent removes exactly these at the end.
WORK_NAME = "fsbench.work"
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
# Signatures of layers: whoever looks at all disks finds what stands on such a device.
LAYER_SIGNATURES = frozenset(
    {"linux_raid_member", "LVM2_member", "crypto_LUKS", "DM_integrity", "bcache", POOL_SIGNATURE}
)
# File systems that a host may have mounted already: the name in /proc/self/mountinfo, and ours.
MOUNTED_FILESYSTEMS = {
    **{"nfs": "nfs", "nfs4": "nfs", "cifs": "cifs", "smb3": "cifs"},
    **{"ceph": "ceph", "lustre": "lustre", "tmpfs": "tmpfs", "overlay": "overlay"},
    **{"fuse.sshfs": "sshfs", "fuse.glusterfs": "glusterfs"},
}
