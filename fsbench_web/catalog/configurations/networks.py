"""A file system that a guest exports and mounts over itself, by NFS or SMB. Pure: no Django.

The servers are one for a whole machine, so guests alone do this. Sources: nfs(5), exports(5),
rpc.nfsd(8), rpc.mountd(8), smbd(8), smb.conf(5), mount.cifs(8).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.options import Option
from fsbench_web.core import requirements

# The programs that share and start the server (runner/agent/preparation/nfs.py and smb.py), and
# where that sees the files. A version 4 client sees the one export as the root of all (exports(5),
# fsid=0).
NFS_PROGRAM, SMB_PROGRAM, SERVED_FOLDER = "fsbench-nfs", "fsbench-smb", "/run/fsbench.served"
ADDRESS, PORT, MOUNTD_PORT = "127.0.0.1", 2049, 20048
# Where smbd's starter leaves the password of its only user, made anew each time.
CREDENTIALS, SHARE = "/run/fsbench.smb/credentials", "fsbench"
# What of a kernel they need. Who mounts loads nothing in a guest.
NFS_MODULES, SMB_MODULES = ("nfsd", "nfs", "nfsv3", "nfsv4"), ("cifs",)
_SIZES = ("4096", "32768", "65536", "131072", "262144", "524288", "1048576")
_LARGEST = "Bytes; default: the most that both take"
_VERSION = "Version of the protocol; in guests alone"

NFS = Option(
    *("nfs", "mount", "NFS over loop-back", "", "nfs{}"),
    (("3", "", "locks are the client's own (nolock)"), "4.1", "4.2"),
    _VERSION,
)
NFS_OPTIONS = (
    NFS,
    Option(
        *("nfs_export", "mount", "NFS: server writes", "", "export{}"),
        (
            ("sync", "", "on the LUN before they are answered; the default"),
            ("async", "", "answered from the server's memory: unsafe"),
        ),
    ),
    Option(
        *("nfs_nconnect", "mount", "NFS: connections", "", "nconnect{}"),
        ("2", "4", "8", "16"),
        "Default: 1; Linux 5.3 and newer",
    ),
    Option(*("nfs_rsize", "mount", "NFS: read size", "", "rsize{}"), _SIZES, _LARGEST),
    Option(*("nfs_wsize", "mount", "NFS: write size", "", "wsize{}"), _SIZES, _LARGEST),
)
SMB = Option(*("smb", "mount", "SMB over loop-back", "", "smb{}"), ("3.1.1",), _VERSION)
SMB_OPTIONS = (
    SMB,
    Option(
        *("smb_protection", "mount", "SMB: protection", "", "smb{}"),
        (("sign", "", "signed"), ("seal", "", "encrypted")),
        "Default: neither",
    ),
    Option(
        *("smb_cache", "mount", "SMB: client cache", "", "smbcache-{}"),
        (
            ("none", "", "each request is the server's"),
            ("loose", "", "also where the server granted none"),
        ),
        "Default: strict, as far as the server grants it",
    ),
)


def _nfs_mount(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """Version 3 asks no port mapper and no lock manager; a silent server ends the run at once."""
    version = str(options["nfs"])
    words = [f"vers={version}", "proto=tcp", "hard", "retry=0", f"port={PORT}"]
    if version == "3":
        words += [f"mountport={MOUNTD_PORT}", "mountproto=tcp", "nolock"]
    words += [
        f"{name}={options[f'nfs_{name}']}"
        for name in ("nconnect", "rsize", "wsize")
        if f"nfs_{name}" in options
    ]
    source = f"{ADDRESS}:{SERVED_FOLDER if version == '3' else '/'}"
    return ("mount", "-t", "nfs", "-o", ",".join(words), source, mount_point)


def _smb_mount(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """``mfsymlinks``: smbd follows real links and makes none. Owner and mode are the mount's."""
    words = [f"vers={options['smb']}", f"credentials={CREDENTIALS}", "hard", "mfsymlinks"]
    # The default, said: the kernel shows that it signs (ntlmsspi) where it was asked for by name.
    words += ["sec=ntlmssp", "file_mode=0700", "dir_mode=0700"]
    if "smb_protection" in options:
        words.append(str(options["smb_protection"]))
    if "smb_cache" in options:
        words.append(f"cache={options['smb_cache']}")
    return ("mount", "-t", "cifs", "-o", ",".join(words), f"//{ADDRESS}/{SHARE}", mount_point)


@dataclass(frozen=True)
class Network:
    """``phase`` is that of its commands, and the key of the first of its ``options``.

    ``modules`` are the kernel's, ``programs`` those of server and client.
    """

    phase: str
    name: str
    options: tuple[Option, ...]
    modules: tuple[str, ...]
    programs: tuple[str, ...]
    program: str
    only_in_guests: str
    mount_command: Callable[[Mapping[str, object], str], tuple[str, ...]]

    def up_command(self, options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
        """What shares the file system that is mounted there, and starts the server."""
        export = ("--export", str(options.get("nfs_export", "sync"))) if self.phase == "nfs" else ()
        version = str(options[self.phase])
        return (self.program, "up", "--version", version, *export, mount_point, SERVED_FOLDER)

    def down_command(self) -> tuple[str, ...]:
        """The reverse; also of what was never there."""
        return (self.program, "down", SERVED_FOLDER)


NETWORKS = (
    Network(
        *("nfs", "NFS", NFS_OPTIONS, NFS_MODULES, tuple(requirements.NFS), NFS_PROGRAM),
        "NFS over loop-back is served in guests alone: the kernel's server and its exports are one "
        "for a whole host. Choose a guest as the executor.",
        _nfs_mount,
    ),
    Network(
        *("smb", "SMB", SMB_OPTIONS, SMB_MODULES, tuple(requirements.SMB), SMB_PROGRAM),
        "SMB over loop-back is served in guests alone: the server's port and state are one for a "
        "whole host. Choose a guest as the executor.",
        _smb_mount,
    ),
)
NETWORK_OPTIONS = (*NFS_OPTIONS, *SMB_OPTIONS)
_ABOVE = {"overlay": "overlayfs", **{network.phase: network.name for network in NETWORKS}}


def network_of(options: Mapping[str, object]) -> Network | None:
    """What these options of a file system have it served by; None where that is nothing."""
    return next((network for network in NETWORKS if network.phase in options), None)


def programs_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """The programs that server and client are made with; none where nothing is served."""
    network = network_of(options)
    return network.programs if network is not None else ()


def modules() -> set[str]:
    """All that any of them needs of a kernel."""
    return {name for network in NETWORKS for name in network.modules}


def conflicts(options: Mapping[str, object]) -> Iterator[str]:
    """Options of a network without it, and what does not stand above the same file system."""
    for network in NETWORKS:
        for option in network.options[1:]:
            if option.key in options and network.phase not in options:
                yield (
                    f"{option.key} is of {network.name} over loop-back: choose a version of it "
                    f"({network.phase}), too."
                )
    # Documentation/filesystems/overlayfs.rst, "NFS export": off unless asked for at mount.
    names = [name for key, name in _ABOVE.items() if key in options]
    if len(names) > 1:
        yield (
            f"{' and '.join(names)} do not stand above the same file system: choose one of them."
        )
