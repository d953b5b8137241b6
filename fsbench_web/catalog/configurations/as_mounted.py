"""File systems that a host has mounted already. Pure: no Django.

The options that the kernel shows tell configurations apart; the usual ones are left out. Sources:
nfs(5), mount.cifs(8), mount.ceph(8), mount.lustre(8), tmpfs(5), sshfs(1), and of Linux
Documentation/filesystems/overlayfs.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.options import Option, OptionError
from runner.safety.marks import MOUNTED_FILESYSTEMS


def _words(key: str, name: str, *values: str | tuple[str, ...]) -> Option:
    """An option with words of the mount as values."""
    return Option(key, "mount", name, "{}", "{}", values)


def _versions(*numbers: str) -> Option:
    return Option(
        *("vers", "mount", "Version of the protocol", "{}", "{}"), numbers, is_joined=True
    )


def _sizes(maximum: int) -> tuple[Option, ...]:
    return tuple(
        Option(*(key, "mount", name, f"{key}={{}}", f"{key}{{}}"), minimum=512, maximum=maximum)
        for key, name in (("rsize", "Read size (bytes)"), ("wsize", "Write size (bytes)"))
    )


_NCONNECT = Option(
    *("nconnect", "mount", "Connections to the server", "nconnect={}", "nconnect{}"),
    minimum=1,
    maximum=16,
)
_SYNC = _words("writes", "Writes", "sync")
_FSC = _words("local_cache", "Cache on the client's disk", "fsc")
_MIB = 1024 * 1024

OPTIONS: dict[str, tuple[Option, ...]] = {
    "nfs": (
        _versions("2", "3", "4.0", "4.1", "4.2"),
        _NCONNECT,
        _words("proto", "Transport", "tcp", "udp", "rdma"),
        *_sizes(_MIB),
        _words("sec", "Security", "sys", "krb5", "krb5i", "krb5p"),
        _words("recovery", "When the server is silent", "soft", "softerr"),
        _SYNC,
        _words("attributes", "Attribute cache", "noac"),
        _words("consistency", "Close-to-open", "nocto"),
        _FSC,
    ),
    "cifs": (
        _versions("1.0", "2.0", "2.1", "3.0", "3.02", "3.1.1"),
        *_sizes(16 * _MIB),
        _words("cache", "Cache", "strict", ("none", "nocache"), "loose"),
        _words("channels", "Channels", "multichannel"),
        _words("encryption", "Encryption", "seal"),
        _FSC,
    ),
    "ceph": (*_sizes(1024 * _MIB), _SYNC, _FSC),
    "lustre": (_words("locks", "File locks", "flock", "localflock"), _SYNC),
    "tmpfs": (
        _words(
            *("huge", "Huge pages", ("always", "huge")),
            *(("within_size", "hugewithin"), ("advise", "hugeadvise")),
        ),
    ),
    "overlay": (
        _words("durability", "Durability", "volatile"),
        _words("metacopy", "Copies of metadata alone", ("on", "metacopy"), ("off", "nometacopy")),
    ),
    "sshfs": (),
    "glusterfs": (),
}
NAMES = {
    **{"nfs": "NFS", "cifs": "SMB", "ceph": "CephFS", "lustre": "Lustre", "tmpfs": "tmpfs"},
    **{"overlay": "overlayfs", "sshfs": "SSHFS", "glusterfs": "GlusterFS"},
}
# In effect without anybody asking: the largest sizes that the kernel agrees with a server.
_USUAL = {
    ("nfs", "proto"): "tcp",
    ("nfs", "nconnect"): "1",
    ("nfs", "rsize"): "1048576",
    ("nfs", "wsize"): "1048576",
    ("nfs", "sec"): "sys",
    ("cifs", "rsize"): "4194304",
    ("cifs", "wsize"): "4194304",
    ("cifs", "cache"): "strict",
    ("ceph", "rsize"): "67108864",
    ("ceph", "wsize"): "67108864",
    ("overlay", "metacopy"): "off",
}
# Of IPv6 the kernel says tcp6; what is compared is the transport.
_SAME = {"tcp6": "tcp", "udp6": "udp", "rdma6": "rdma"}


@dataclass(frozen=True)
class Contender:
    """A file system as it is mounted: ``options`` as ``validated_options`` gives them."""

    filesystem: str
    options: Mapping[str, str]


def contender(kernel_name: str, words: str) -> Contender:
    """What is mounted, from the names and options that mountinfo has. Raises OptionError.

    Options on no list are left out, but not an unknown value of one that is.
    """
    slug = MOUNTED_FILESYSTEMS.get(kernel_name)
    if slug is None:
        raise OptionError(
            f"What is mounted there is {kernel_name or 'nothing'}, and a mount is one of "
            f"{', '.join(MOUNTED_FILESYSTEMS)}."
        )
    values = dict(word.partition("=")[::2] for word in words.split(","))
    options: dict[str, str] = {}
    for option in OPTIONS[slug]:
        value = values.get(option.key, "") or next(
            (choice.value for choice in option.choices if values.get(choice.value) == ""), ""
        )
        value = _SAME.get(value, value)
        if value and _USUAL.get((slug, option.key)) != value:
            options[option.key] = option.choice(value).value
    return Contender(slug, options)
