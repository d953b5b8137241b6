"""A file system exported by NFS and mounted by the same machine: *XFS by NFS against XFS*. Pure.

It stands above the file system, where that is mounted: the server sees it at a folder of its own,
and the client covers it. The kernel's server and its list of exports are one for a whole machine:
so this is done in guests alone. Sources: nfs(5), exports(5), rpc.nfsd(8), rpc.mountd(8).
"""

from collections.abc import Mapping

from fsbench_web.catalog.configurations.options import Choice, Option

# The program that exports and starts the server (runner/agent/preparation/nfs.py), and where that
# sees the files. A version 4 client sees the one export as the root of all (exports(5), fsid=0).
NFS_PROGRAM, SERVED_FOLDER = "fsbench-nfs", "/run/fsbench.served"
ADDRESS, PORT, MOUNTD_PORT = "127.0.0.1", 2049, 20048
# What of a kernel it needs. Who mounts loads nothing in a guest.
NFS_MODULES = ("nfsd", "nfs", "nfsv3", "nfsv4")

_SIZES = ("4096", "32768", "65536", "131072", "262144", "524288", "1048576")
NFS = Option(
    "nfs",
    "mount",
    "NFS over loop-back",
    (
        Choice("3", (), "nfs3", "locks are the client's own (nolock)"),
        Choice("4.1", (), "nfs4.1"),
        Choice("4.2", (), "nfs4.2"),
    ),
    help="Version of the protocol; in guests alone",
)
NFS_EXPORT = Option(
    "nfs_export",
    "mount",
    "NFS: server writes",
    (
        Choice("sync", (), "exportsync", "on the LUN before they are answered; the default"),
        Choice("async", (), "exportasync", "answered from the server's memory: unsafe"),
    ),
)
NFS_NCONNECT = Option(
    "nfs_nconnect",
    "mount",
    "NFS: connections",
    tuple(Choice(count, (), f"nconnect{count}") for count in ("2", "4", "8", "16")),
    help="Default: 1; Linux 5.3 and newer",
)
NFS_RSIZE = Option(
    "nfs_rsize",
    "mount",
    "NFS: read size",
    tuple(Choice(size, (), f"rsize{size}") for size in _SIZES),
    help="Bytes; default: the most that both take",
)
NFS_WSIZE = Option(
    "nfs_wsize",
    "mount",
    "NFS: write size",
    tuple(Choice(size, (), f"wsize{size}") for size in _SIZES),
    help="Bytes; default: the most that both take",
)
NFS_OPTIONS = (NFS, NFS_EXPORT, NFS_NCONNECT, NFS_RSIZE, NFS_WSIZE)
ONLY_IN_GUESTS = (
    "NFS over loop-back is served in guests alone: the kernel's server and its exports are one for "
    "a whole host. Choose a guest as the executor."
)


def up_command(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """What exports the file system that is mounted there, and starts the server."""
    return (
        *(NFS_PROGRAM, "up", "--version", str(options[NFS.key])),
        *("--export", str(options.get(NFS_EXPORT.key, "sync")), mount_point, SERVED_FOLDER),
    )


def down_command() -> tuple[str, ...]:
    """The reverse; also of what was never there."""
    return (NFS_PROGRAM, "down", SERVED_FOLDER)


def mount_command(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """What mounts the export over the file system itself. The values passed ``Option.choice``.

    Version 3 asks no port mapper and no lock manager. ``retry=0``: a server that does not answer
    ends the run at once.
    """
    version = str(options[NFS.key])
    words = [f"vers={version}", "proto=tcp", "hard", "retry=0", f"port={PORT}"]
    if version == "3":
        words += [f"mountport={MOUNTD_PORT}", "mountproto=tcp", "nolock"]
    words += [
        f"{option.key.removeprefix('nfs_')}={options[option.key]}"
        for option in (NFS_NCONNECT, NFS_RSIZE, NFS_WSIZE)
        if option.key in options
    ]
    source = f"{ADDRESS}:{SERVED_FOLDER if version == '3' else '/'}"
    return ("mount", "-t", "nfs", "-o", ",".join(words), source, mount_point)
