"""File systems that a host has mounted already. Pure: no Django.

The options that the kernel shows tell configurations apart; the usual ones are left out. Sources:
nfs(5), mount.cifs(8), mount.ceph(8), mount.lustre(8), tmpfs(5), sshfs(1), and of Linux
Documentation/filesystems/overlayfs.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.options import Option, OptionError
from runner.safety.marks import MOUNTED_FILESYSTEMS


def _words(key: str, name: str, *values: str | tuple[str, ...], usual: str = "") -> Option:
    """An option with words of the mount as values."""
    return Option(key, "mount", name, "{}", "{}", values, usual=usual)


def _number(key: str, name: str, minimum: int, maximum: int, usual: int) -> Option:
    return Option(
        *(key, "mount", name, f"{key}={{}}", f"{key}{{}}"),
        minimum=minimum,
        maximum=maximum,
        usual=str(usual),
    )


def _versions(*numbers: str) -> Option:
    name = "Version of the protocol"
    return Option("vers", "mount", name, "{}", "{}", numbers, is_joined=True)


def _sizes(maximum: int, usual: int) -> tuple[Option, ...]:
    """Usual are the largest sizes that the kernel agrees with a server."""
    names = {"rsize": "Read size (bytes)", "wsize": "Write size (bytes)"}
    return tuple(_number(key, name, 512, maximum, usual) for key, name in names.items())


_SYNC = _words("writes", "Writes", "sync")
_FSC = _words("local_cache", "Cache on the client's disk", "fsc")
_MIB = 1024 * 1024

OPTIONS: dict[str, tuple[Option, ...]] = {
    "nfs": (
        _versions("2", "3", "4.0", "4.1", "4.2"),
        _number("nconnect", "Connections to the server", 1, 16, 1),
        _words("proto", "Transport", "tcp", "udp", "rdma", usual="tcp"),
        *_sizes(_MIB, _MIB),
        _words("sec", "Security", "sys", "krb5", "krb5i", "krb5p", usual="sys"),
        _words("recovery", "When the server is silent", "soft", "softerr"),
        _SYNC,
        _words("attributes", "Attribute cache", "noac"),
        _words("consistency", "Close-to-open", "nocto"),
        _FSC,
    ),
    "cifs": (
        _versions("1.0", "2.0", "2.1", "3.0", "3.02", "3.1.1"),
        *_sizes(16 * _MIB, 4 * _MIB),
        _words("cache", "Cache", "strict", ("none", "nocache"), "loose", usual="strict"),
        _words("channels", "Channels", "multichannel"),
        _words("encryption", "Encryption", "seal"),
        _FSC,
    ),
    "ceph": (*_sizes(1024 * _MIB, 64 * _MIB), _SYNC, _FSC),
    "lustre": (_words("locks", "File locks", "flock", "localflock"), _SYNC),
    "tmpfs": (
        _words(
            *("huge", "Huge pages", ("always", "huge")),
            *(("within_size", "hugewithin"), ("advise", "hugeadvise")),
        ),
    ),
    "overlay": (
        _words("durability", "Durability", "volatile"),
        _words(
            *("metacopy", "Copies of metadata alone", ("on", "metacopy"), ("off", "nometacopy")),
            usual="off",
        ),
    ),
    "sshfs": (),
    "glusterfs": (),
}
NAMES = {
    **{"nfs": "NFS", "cifs": "SMB", "ceph": "CephFS", "lustre": "Lustre", "tmpfs": "tmpfs"},
    **{"overlay": "overlayfs", "sshfs": "SSHFS", "glusterfs": "GlusterFS"},
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
        if value and option.usual != value:
            options[option.key] = option.choice(value).value
    return Contender(slug, options)
