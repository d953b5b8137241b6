"""The file system that a plan mounts: whether it is the right one, its room, what is left in it."""

import contextlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from runner.agent import commands, counters, machine, messages, own_mount
from runner.agent.preparation import zpool

# Of the benchmark's files on a file system that is unmounted anyway, so many seconds are removed.
REMOVE_S = 1.5


def mounts(root: str = "/") -> list[tuple[str, str, str]]:
    """(mount point, file system, options in effect) of everything mounted here, latest last."""
    entries = []
    for fields, kind in counters.mount_table(root):
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        options = dict.fromkeys(fields[5].split(",") + kind[2].split(","))
        entries.append((point, kind[0], ",".join(options)))
    return entries


def check_mounted(plan: dict[str, Any]) -> None:
    """The right file system must be there: a tool's exit status alone is not trusted."""
    point = plan["mount_point"]
    entries = [(kind, options) for where, kind, options in mounts() if where == point]
    if not entries or entries[-1][0] != plan["filesystem"]:
        filesystem = entries[-1][0] if entries else "nothing"
        raise commands.StepFailed(
            f"{filesystem} is mounted on {point} instead of {plan['filesystem']}."
        )
    free = os.statvfs(point)
    messages.send(
        "mounted",
        filesystem=entries[-1][0],
        options=entries[-1][1],
        free_bytes=free.f_bavail * free.f_frsize,
        **zpool.arc_limit(),
    )


def check_step(plan: dict[str, Any], planned: dict[str, Any]) -> None:
    """That a step which mounts has mounted the right thing. Raises StepFailed."""
    phase, is_mount = planned["phase"], planned["argv"][0] == "mount"
    if phase == "mount":
        check_mounted(plan)
        own_mount.note(plan, planned["argv"])
    elif phase == "overlay" and is_mount:
        check_overlay(plan, is_mounted=True)
    elif phase in NETWORKS and is_mount:
        check_served(plan, planned["argv"])


def check_overlay(plan: dict[str, Any], is_mounted: bool) -> None:
    """That overlayfs is above the file system, or can be. Raises StepFailed."""
    if not any(step["phase"] == "overlay" for step in plan["steps"]):
        return
    if not is_mounted:
        filesystems = Path("/proc/filesystems").read_text(encoding="utf-8").split()
        if "overlay" not in filesystems:
            raise commands.StepFailed(
                "The kernel has no overlayfs: load its module (modprobe overlay), or leave it out. "
                "Nothing was erased."
            )
        return
    kinds = [kind for where, kind, _ in mounts() if where == plan["mount_point"]]
    if kinds[-2:] != [plan["filesystem"], "overlay"]:
        raise commands.StepFailed(
            f"{' under '.join(reversed(kinds)) or 'Nothing'} is mounted on {plan['mount_point']} "
            f"instead of overlay above {plan['filesystem']}."
        )


def network(plan: dict[str, Any]) -> str:
    """The phase of what serves a plan's file system, a key of NETWORKS; "" where nothing does."""
    return next((step["phase"] for step in plan["steps"] if step["phase"] in NETWORKS), "")


def served_folder(plan: dict[str, Any]) -> str:
    """Where the server of a plan sees its files (nfs.py, smb.py); empty where nothing is served."""
    ups = [step["argv"] for step in plan["steps"] if step["phase"] in NETWORKS]
    return next((argv[-1] for argv in ups if argv[1] == "up"), "")


def server_down(plan: dict[str, Any]) -> dict[str, Any]:
    """The step that ends the server of a plan which has one."""
    phase = network(plan)
    argv = [f"fsbench-{phase}", "down", served_folder(plan)]
    return {"phase": phase, "argv": argv, "timeout_s": 600}


def is_client_on(point: str) -> bool:
    """Whether it is the client of a network that covers everything else there."""
    kinds = [kind for where, kind, _ in mounts() if where == point]
    return any(kinds[-1:] == [kind] for protocol in NETWORKS.values() for kind in protocol.clients)


def check_network_known(plan: dict[str, Any]) -> None:
    """Before anything is erased: that the kernel has what a plan is served by. Or StepFailed."""
    if not served_folder(plan):
        return
    protocol = NETWORKS[network(plan)]
    filesystems = Path("/proc/filesystems").read_text(encoding="utf-8").split()
    missing = [name for name in protocol.kernel_filesystems if name not in filesystems]
    if missing:
        raise commands.StepFailed(
            f"The kernel has no {' and no '.join(missing)}: choose another kernel, or leave "
            f"{protocol.name} out. Nothing was erased."
        )


def check_served(plan: dict[str, Any], argv: list[str]) -> None:
    """That its client covers the file system, in the version of ``argv``. Raises StepFailed."""
    point = plan["mount_point"]
    entries = [(kind, options) for where, kind, options in mounts() if where == point]
    version = next(word for word in argv[4].split(",") if word.startswith("vers="))
    is_above = [kind for kind, _ in entries[-2:-1]] == [plan["filesystem"]]
    protocol = NETWORKS[network(plan)]
    is_client = entries[-1:] and entries[-1][0] in protocol.clients
    if not (is_client and is_above and version in entries[-1][1].split(",")):
        layers = " above ".join(f"{kind} ({options})" for kind, options in reversed(entries))
        raise commands.StepFailed(
            f"{layers or 'Nothing'} is mounted on {point} instead of {protocol.name} ({version}) "
            f"above {plan['filesystem']}."
        )
    kind, options = entries[-1]
    messages.send(
        "served", network=protocol.name, filesystem=kind, options=options, **protocol.server()
    )


def nfs_server() -> "dict[str, str]":
    """How the kernel's server exports (/proc/fs/nfsd/exports), and its threads; "" if unknown."""
    facts = {"server": "the kernel of the guest itself (knfsd)", "export": "", "threads": ""}
    with contextlib.suppress(OSError):
        lines = Path("/proc/fs/nfsd/exports").read_text(encoding="utf-8").splitlines()
        exports = [line.replace("\t", " ") for line in lines if not line.startswith("#")]
        facts["export"] = "; ".join(exports)
        facts["threads"] = Path("/proc/fs/nfsd/threads").read_text(encoding="ascii").strip()
    return facts


def smb_server() -> "dict[str, str]":
    """Which smbd it is, and how it shares: what smb.py wrote for it, without where its state is."""
    from runner.agent.preparation import smb

    version = machine.tool_version("smbd")["version"]
    facts = {"server": f"Samba's smbd {version}".strip(), "export": "", "threads": ""}
    with contextlib.suppress(OSError):
        lines = smb.CONFIGURATION.read_text(encoding="utf-8").splitlines()
        facts["export"] = "; ".join(lines[lines.index("[fsbench]") + 1 :])
    return facts


class Network(NamedTuple):
    """``kernel_filesystems`` the kernel must know, ``clients`` are what one is mounted as."""

    name: str
    kernel_filesystems: "tuple[str, ...]"
    clients: "tuple[str, ...]"
    server: "Callable[[], dict[str, str]]"


# By the phase of its steps.
NETWORKS = {
    "nfs": Network("NFS", ("nfs", "nfsd"), ("nfs", "nfs4"), nfs_server),
    "smb": Network("SMB", ("cifs",), ("cifs", "smb3"), smb_server),
}


def check_space(folder: str, needed_bytes: int, is_filled: bool = False) -> None:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < needed_bytes:
        raise commands.StepFailed(
            f"The LUN is too small: its file system has {free / 2**20:.0f} MiB free, and the "
            f"workload needs {needed_bytes / 2**20:.0f} MiB. Choose a larger LUN or smaller files"
            f"{', or fill it less' if is_filled else ''}."
        )


def remove_own(plan: dict[str, Any]) -> None:
    """Remove what the benchmark left and nothing else; on our own file system for a moment only."""
    start = plan.get("leave_nothing")
    if not start or not plan.get("mount_point"):
        return
    deadline = time.monotonic() + REMOVE_S if plan.get("unmount") else None
    with contextlib.suppress(OSError):
        for entry in Path(plan["mount_point"]).iterdir():
            if entry.name == start or entry.name.startswith(f"{start}."):
                _remove_tree(entry, deadline)


def _remove_tree(top: Path, deadline: "float | None") -> None:
    # Symbolic links are removed and never followed.
    if top.is_symlink() or not top.is_dir():
        top.unlink(missing_ok=True)
        return
    for folder, folders, files in os.walk(top, topdown=False):
        for name in files:
            if deadline is not None and time.monotonic() > deadline:
                return
            with contextlib.suppress(OSError):
                Path(folder, name).unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                path = Path(folder, name)
                path.unlink() if path.is_symlink() else path.rmdir()
    top.rmdir()
