"""What workloads and file systems need of a machine: programs, each with its Debian package.

Declared here and nowhere else, and with the standard library alone: the installer, the benchmark
image and the tests' installer read it before there is a virtual environment.

    python3 -I fsbench_web/core/requirements.py WHAT

``image``: packages of the benchmark image, one a line; ``image-optional``: those that a newer
release may have dropped; ``programs``: every program (or header) and its package.

A workload of another package brings what it needs itself (docs/adding-a-workload.md).
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FilesystemNeeds:
    """``kernel_name`` is what the kernel calls it: in /proc/filesystems, for modprobe and mount -t.

    ``is_everywhere``: False where a release of Debian or Ubuntu may have dropped the package.
    ``is_in_guests_alone``: no host needs its tools.
    """

    mkfs: str
    package: str
    kernel_name: str
    is_everywhere: bool = True
    is_in_guests_alone: bool = False


# By workload (``Workload.tool``): the programs that it calls where the disk is.
WORKLOADS: Mapping[str, Mapping[str, str]] = {
    "iozone": {"iozone": "iozone3"},
    "postmark": {"postmark": "postmark"},
    "pgmeter": {"fio": "fio"},
    "filemark": {},
    "multiuser": {"stress-ng": "stress-ng"},
    "random-access": {"fio": "fio"},
    "fio-depths": {"fio": "fio"},
    "mongo": {},
    "kernel-build": {"make": "make", "gcc": "gcc"},
    "source-copy": {},
    "file-creation": {"fs_mark": "fsmark"},
    "own-fio": {"fio": "fio"},
    "own-command": {},
    # The server's programs are out of PATH; pg_createcluster comes with every server.
    "pgbench": {"pgbench": "postgresql", "pg_createcluster": "postgresql"},
    "mariadb-oltp": {
        "mariadbd": "mariadb-server-core",
        "mariadb": "mariadb-client-core",
        "sysbench": "sysbench",
    },
    # Its module, which python3-minimal lacks.
    "sqlite": {"python3": "python3"},
    "rocksdb": {"db_bench": "rocksdb-tools"},
    "sysbench-fileio": {"sysbench": "sysbench"},
    "git": {"git": "git"},
    "archives": {"tar": "tar", "rsync": "rsync"},
    "maildir": {},
    "container-image": {"tar": "tar", "python3": "python3"},
}
# What gcc compiles against: no program, so that its header stands for it.
HEADERS: Mapping[str, str] = {"/usr/include/stdio.h": "libc6-dev"}
FILESYSTEMS: Mapping[str, FilesystemNeeds] = {
    "ext2": FilesystemNeeds("mkfs.ext2", "e2fsprogs", "ext2"),
    "ext3": FilesystemNeeds("mkfs.ext3", "e2fsprogs", "ext3"),
    "ext4": FilesystemNeeds("mkfs.ext4", "e2fsprogs", "ext4"),
    "xfs": FilesystemNeeds("mkfs.xfs", "xfsprogs", "xfs"),
    "btrfs": FilesystemNeeds("mkfs.btrfs", "btrfs-progs", "btrfs"),
    "jfs": FilesystemNeeds("mkfs.jfs", "jfsutils", "jfs", is_everywhere=False),
    "reiser3": FilesystemNeeds("mkfs.reiserfs", "reiserfsprogs", "reiserfs", is_everywhere=False),
    "f2fs": FilesystemNeeds("mkfs.f2fs", "f2fs-tools", "f2fs", is_everywhere=False),
    "nilfs2": FilesystemNeeds("mkfs.nilfs2", "nilfs-tools", "nilfs2", is_everywhere=False),
    "exfat": FilesystemNeeds("mkfs.exfat", "exfatprogs", "exfat", is_everywhere=False),
    "ntfs3": FilesystemNeeds("mkntfs", "ntfs-3g", "ntfs3", is_everywhere=False),
    "bcachefs": FilesystemNeeds("mkfs.bcachefs", "bcachefs-tools", "bcachefs", is_everywhere=False),
    "zfs": FilesystemNeeds(
        "zpool", "zfsutils-linux", "zfs", is_everywhere=False, is_in_guests_alone=True
    ),
}
# What the layers below a file system are made with, in guests: each program with its package.
LAYERS: Mapping[str, str] = {
    "mdadm": "mdadm",
    "lvm": "lvm2",
    "thin_check": "thin-provisioning-tools",
    "cache_check": "thin-provisioning-tools",
    "cryptsetup": "cryptsetup-bin",
    "integritysetup": "cryptsetup-bin",
    "make-bcache": "bcache-tools",
}
# What serves a file system by NFS or SMB and mounts it again, in guests: each program with its
# package.
NFS: Mapping[str, str] = {
    "exportfs": "nfs-kernel-server",
    "rpc.nfsd": "nfs-kernel-server",
    "rpc.mountd": "nfs-kernel-server",
    "mount.nfs": "nfs-common",
    "rpcbind": "rpcbind",
}
SMB: Mapping[str, str] = {
    "smbd": "samba",
    "smbpasswd": "samba-common-bin",
    "mount.cifs": "cifs-utils",
}
NETWORK: Mapping[str, str] = {**NFS, **SMB}
# What the worker and its agent call themselves.
WORKER: Mapping[str, str] = {
    "losetup": "mount",
    "mount": "mount",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
_IMAGE_ITSELF = ("python3-minimal", "util-linux")


def workload_programs() -> dict[str, str]:
    """Every program that a built-in workload calls, with its package."""
    return {name: package for packages in WORKLOADS.values() for name, package in packages.items()}


def image_packages() -> list[str]:
    """What the benchmark image is made of, and cannot be without."""
    everywhere = (
        filesystem.package for filesystem in FILESYSTEMS.values() if filesystem.is_everywhere
    )
    packages = {*workload_programs().values(), *HEADERS.values(), *everywhere, *LAYERS.values()}
    return sorted(packages | {*NETWORK.values(), *_IMAGE_ITSELF})


def optional_packages() -> list[str]:
    """Those of file systems that a newer release may have dropped."""
    return sorted(
        {filesystem.package for filesystem in FILESYSTEMS.values() if not filesystem.is_everywhere}
    )


def missing_packages(
    has_program: Callable[[str], bool], can_mount: Callable[[str], bool]
) -> list[str]:
    """Packages that a worker without containers lacks, for file systems that its kernel mounts."""
    programs = {**WORKER, **workload_programs()}
    for filesystem in FILESYSTEMS.values():
        if can_mount(filesystem.kernel_name) and not filesystem.is_in_guests_alone:
            programs[filesystem.mkfs] = filesystem.package
    lacking = {package for name, package in programs.items() if not has_program(name)}
    lacking |= {package for header, package in HEADERS.items() if not Path(header).exists()}
    return sorted(lacking)


def mountable() -> set[str]:
    """What the running kernel mounts, by its names: now, or with a module that is installed."""
    kernel_names = set()
    for line in _lines(Path("/proc/filesystems")):
        kernel_names.update(line.split()[-1:])
    modules = Path("/lib/modules") / os.uname().release
    for name in ("modules.dep", "modules.builtin"):
        for line in _lines(modules / name):
            kernel_names.add(Path(line.partition(":")[0]).name.partition(".ko")[0])
    return kernel_names


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def main(arguments: list[str]) -> int:
    parts: dict[str, Callable[[], list[str]]] = {
        "image": image_packages,
        "image-optional": optional_packages,
        "programs": lambda: [
            f"{name} {package}"
            for name, package in sorted(
                {
                    **WORKER,
                    **workload_programs(),
                    **HEADERS,
                    **{
                        filesystem.mkfs: filesystem.package
                        for filesystem in FILESYSTEMS.values()
                        if not filesystem.is_in_guests_alone
                    },
                }.items()
            )
        ],
    }
    if len(arguments) != 1 or arguments[0] not in parts:
        print(f"requirements.py: say one of {', '.join(parts)}", file=sys.stderr)
        return 2
    print("\n".join(parts[arguments[0]]()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
