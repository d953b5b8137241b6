"""A file system shared by SMB and mounted by the same machine: *XFS by SMB against XFS*. Pure.

As ``nfs``, with Samba's smbd as the server and the kernel's cifs as the client. smbd listens on a
port and keeps its state in folders that are one for a whole machine: so this is done in guests
alone. Sources: smbd(8), smb.conf(5), mount.cifs(8).
"""

from collections.abc import Mapping

from fsbench_web.catalog.configurations.networks.nfs import ADDRESS, SERVED_FOLDER
from fsbench_web.catalog.configurations.options import Choice, Option

# The program that shares and starts the server (runner/agent/preparation/smb.py), and where that
# leaves the password of its only user, made anew each time.
SMB_PROGRAM, CREDENTIALS, SHARE = "fsbench-smb", "/run/fsbench.smb/credentials", "fsbench"
SMB_MODULES = ("cifs",)

SMB = Option(
    "smb",
    "mount",
    "SMB over loop-back",
    (Choice("3.1.1", (), "smb3.1.1"),),
    help="Version of the protocol; in guests alone",
)
SMB_PROTECTION = Option(
    "smb_protection",
    "mount",
    "SMB: protection",
    (
        Choice("sign", (), "smbsign", "signed"),
        Choice("seal", (), "smbseal", "encrypted"),
    ),
    help="Default: neither",
)
SMB_CACHE = Option(
    "smb_cache",
    "mount",
    "SMB: client cache",
    (
        Choice("none", (), "smbcache-none", "each request is the server's"),
        Choice("loose", (), "smbcache-loose", "also where the server granted none"),
    ),
    help="Default: strict, as far as the server grants it",
)
SMB_OPTIONS = (SMB, SMB_PROTECTION, SMB_CACHE)
ONLY_IN_GUESTS = (
    "SMB over loop-back is served in guests alone: the server's port and state are one for a whole "
    "host. Choose a guest as the executor."
)


def up_command(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """What shares the file system that is mounted there, and starts the server."""
    version = str(options[SMB.key])
    return (SMB_PROGRAM, "up", "--version", version, mount_point, SERVED_FOLDER)


def down_command() -> tuple[str, ...]:
    """The reverse; also of what was never there."""
    return (SMB_PROGRAM, "down", SERVED_FOLDER)


def mount_command(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """What mounts the share over the file system itself. The values passed ``Option.choice``.

    ``mfsymlinks``: symbolic links are files of a format of their own, since smbd follows those that
    are links and makes none. Owner and mode are the mount's, whatever chown and chmod ask for.
    """
    words = [f"vers={options[SMB.key]}", f"credentials={CREDENTIALS}", "hard", "mfsymlinks"]
    # The default, said: the kernel shows that it signs (ntlmsspi) where it was asked for by name.
    words.append("sec=ntlmssp")
    words += ["file_mode=0700", "dir_mode=0700"]
    if SMB_PROTECTION.key in options:
        words.append(str(options[SMB_PROTECTION.key]))
    if SMB_CACHE.key in options:
        words.append(f"cache={options[SMB_CACHE.key]}")
    return ("mount", "-t", "cifs", "-o", ",".join(words), f"//{ADDRESS}/{SHARE}", mount_point)
