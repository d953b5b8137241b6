"""The networks that a guest serves a file system over to itself, and which one is asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.networks import nfs, smb
from fsbench_web.catalog.configurations.options import Option
from fsbench_web.core import requirements


@dataclass(frozen=True)
class Network:
    """``phase`` is that of its commands, and the key of the option that asks for it; ``options``
    are all of it. ``modules`` are the kernel's, ``programs`` those of server and client.
    """

    phase: str
    name: str
    options: tuple[Option, ...]
    modules: tuple[str, ...]
    programs: tuple[str, ...]
    only_in_guests: str
    up_command: Callable[[Mapping[str, object], str], tuple[str, ...]]
    mount_command: Callable[[Mapping[str, object], str], tuple[str, ...]]
    down_command: Callable[[], tuple[str, ...]]


NETWORKS = (
    Network(
        *(nfs.NFS.key, "NFS", nfs.NFS_OPTIONS, nfs.NFS_MODULES, tuple(requirements.NFS)),
        *(nfs.ONLY_IN_GUESTS, nfs.up_command, nfs.mount_command, nfs.down_command),
    ),
    Network(
        *(smb.SMB.key, "SMB", smb.SMB_OPTIONS, smb.SMB_MODULES, tuple(requirements.SMB)),
        *(smb.ONLY_IN_GUESTS, smb.up_command, smb.mount_command, smb.down_command),
    ),
)
NETWORK_OPTIONS = tuple(option for network in NETWORKS for option in network.options)
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
