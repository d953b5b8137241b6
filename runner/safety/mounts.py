"""Mounts of the host that are LUNs (kind mount): found, looked at, and known again.

What is mounted is read from /proc/self/mountinfo, which asks no server. Whatever does ask one is
done in a process of its own with a time limit (``mount_folder``): once the server of a mount is
gone, a call on it may never come back, not even when its process is killed.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.safety import blockdev, mount_folder
from runner.safety.blockdev import Mount
from runner.safety.luns import LunEntry
from runner.safety.marks import MOUNTED_FILESYSTEMS

# A server that is busy answers later than one that is idle; one that is gone never does.
ANSWER_S = 10.0
# So long a silent server is not asked again, so that nothing waits for it twice.
SILENT_S = 60.0
_PROGRAM = Path(mount_folder.__file__).resolve()
_SYSTEM_FOLDERS = {
    *("/", "/bin", "/boot", "/etc", "/home", "/lib", "/opt", "/root", "/run", "/sbin"),
    *("/tmp", "/usr", "/var", "/var/lib", "/var/tmp"),  # noqa: S108 (refused)
}
FOLDER_LABEL = "Folder on it"
_KERNEL_FOLDERS = ("/dev", "/proc", "/sys")
# mount.ceph(8); FSID is a UUID.
_CEPH_SOURCE = re.compile(r"[^@/]*@([0-9a-f-]{36}\.[^=/]+)=(/.*)")


class MountError(Exception):
    """The mount cannot be used now; the text says why and what to do."""


class ServerSilent(MountError):
    """The server does not answer."""


@dataclass
class _UnansweredMount:
    """Since when a mount did not answer. ``process`` is one that cannot even be ended."""

    until: float
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def lasts(self) -> bool:
        is_stuck = self.process is not None and self.process.poll() is None
        return is_stuck or time.monotonic() < self.until


_silent: dict[str, _UnansweredMount] = {}
_lock = threading.Lock()


def mounted_at(path: Path) -> Mount | None:
    """What is mounted exactly there, the topmost; None where nothing is."""
    mounts = [mount for mount in blockdev.own_mounts() if mount.point == str(path)]
    return mounts[-1] if mounts else None


def find_mount(entry: LunEntry) -> Mount:
    """As ``mounted_at``. Raises MountError."""
    mount = mounted_at(entry.path)
    if mount is None:
        raise MountError(
            f"Nothing is mounted at {entry.path}: mount it, or write the path as findmnt shows it."
        )
    return mount


def mount_entry(entry: LunEntry, worker: str, notes: Path) -> LunEntry:
    """The entry with the name of fsbench's own folder, where the list names none.

    Workers share an export, and those of one host a list, so that their folders have other names. A
    folder that was made under the name of before, that of the host, stays the LUN's.
    """
    if not entry.is_mount or entry.folder:
        return entry
    point = f"{str(entry.path).rstrip('/')}/"
    noted_path = _read_note(notes / f"{entry.name}.json").get("path", "")
    former_folder = noted_path.removeprefix(point)
    is_of_before = noted_path.startswith(point) and bool(_of_a_host(entry).fullmatch(former_folder))
    if not is_of_before:
        former_folder = _folder_of_before(entry)
        is_of_before = (
            _read_note(notes.parent / f"{entry.name}.json").get("path") == point + former_folder
        )
    own_name = f"fsbench-{worker}-{entry.name}"
    return replace(entry, named_folder=former_folder if is_of_before else own_name)


def _of_a_host(entry: LunEntry) -> re.Pattern[str]:
    return re.compile(rf"fsbench-[A-Za-z0-9._-]{{1,100}}-{re.escape(entry.name)}")


def _folder_of_before(entry: LunEntry) -> str:
    return f"fsbench-{os.uname().nodename}-{entry.name}"


def folder_of(entry: LunEntry) -> str:
    """fsbench's own folder on the mount, below its mount point."""
    return entry.folder or entry.named_folder or _folder_of_before(entry)


def path_of(entry: LunEntry) -> str:
    return f"{str(entry.path).rstrip('/')}/{folder_of(entry)}"


def own_mark(entry: LunEntry, notes: Path) -> str:
    """The id of the folder that this worker made for the LUN; "" where it made none.

    ``notes`` is the worker's own folder. Notes were in the one above it before, those of all
    workers: there only what is of this very folder counts.
    """
    note = f"{entry.name}.json"
    if (notes / note).exists():
        return _read_note(notes / note).get("id", "")
    former_note = _read_note(notes.parent / note)
    return former_note.get("id", "") if former_note.get("path") == path_of(entry) else ""


def _read_note(note: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads(note.read_text())
        return {"id": str(data["id"]), "path": str(data["path"])}
    return {}


def make_folder(entry: LunEntry, notes: Path) -> str:
    """The path of fsbench's folder, made when missing. Raises MountError.

    What this host makes it notes before: nothing else tells its folder from somebody else's.
    """
    mount = find_mount(entry)
    seen = _look(entry, mount, own_mark(entry, notes))
    if seen.get("is_absent"):
        mark = uuid.uuid4().hex
        _write_note(entry, notes, mark)
        seen = _look(entry, mount, "", make=mark)
    if seen["problem"]:
        raise MountError(str(seen["problem"]))
    return path_of(entry)


def free_bytes(entry: LunEntry, mark: str) -> int | None:
    """What the server says is free; None where it says nothing."""
    try:
        value = _look(entry, find_mount(entry), mark).get("free_bytes")
    except MountError:
        return None
    return int(value) if value is not None else None


def folder_problem(entry: LunEntry, mark: str, *, is_asked_again: bool = False) -> str:
    """Why the folder cannot be used at this moment, or nothing. Raises ServerSilent.

    ``is_asked_again``: also where it was silent a moment ago.
    """
    try:
        mount = find_mount(entry)
    except MountError as error:
        return str(error)
    if is_asked_again:
        _forgive(str(entry.path))
    return str(_look(entry, mount, mark)["problem"])


def is_beside(entry: LunEntry, mark: str, folder: str, other_mark: str) -> bool | None:
    """Whether the folder of another host, with the mark ``other_mark``, is on this mount too: then
    both are one file system, whatever their servers are called. None where that cannot be seen.

    Raises MountError.
    """
    beside = {"folder": folder, "id": other_mark}
    answer = _look(entry, find_mount(entry), mark, beside=beside).get("is_beside")
    return None if answer is None else bool(answer)


def fingerprint(entry: LunEntry, mark: str) -> dict[str, Any]:
    """Which server and export, and which folder there (catalog.workers.lun_identity)."""
    mount = find_mount(entry)
    server, export = server_of(mount.source, mount.options)
    facts = {
        "server": server,
        "export": export,
        "address": _option(mount, "addr"),
        "mark": mark,
    }
    return {"kind": entry.kind, "filesystem": mount.filesystem} | {
        key: value for key, value in facts.items() if value
    }


def identity(entry: LunEntry) -> list[list[str]]:
    """How a person recognises it; empty where nothing is mounted. Asks no server."""
    mount = mounted_at(entry.path)
    if mount is None:
        return []
    server, export = server_of(mount.source, mount.options)
    rows = [
        ["File system", mount.filesystem],
        ["Server", server],
        ["Server's address", _option(mount, "addr") or _option(mount, "mon_addr")],
        ["Export" if server else "Source", export],
        [FOLDER_LABEL, folder_of(entry)],
        ["Mount options", mount.options],
    ]
    return [[label, value] for label, value in rows if value]


def problems(entry: LunEntry, mark: str) -> list[tuple[str, bool, str]]:
    """All checks of a mount: (name, whether it passed, what was found). Nothing is changed."""
    path = entry.path
    if str(path) in _SYSTEM_FOLDERS or any(
        path.is_relative_to(folder) for folder in _KERNEL_FOLDERS
    ):
        return [("mount", False, f"{path} is a folder of the operating system.")]
    try:
        mount = find_mount(entry)
    except MountError as error:
        return [("mount", False, str(error))]
    name = MOUNTED_FILESYSTEMS.get(mount.filesystem)
    if name is None:
        return [
            (
                "mount",
                False,
                f"{path} is mounted as {mount.filesystem}. fsbench measures mounts of "
                f"{', '.join(MOUNTED_FILESYSTEMS)}.",
            )
        ]
    if "ro" in mount.options.split(","):
        return [("mount", False, f"{path} is mounted read-only.")]
    parts = [("mount", True, f"{mount.source}, mounted as {mount.filesystem} ({name})")]
    try:
        why = folder_problem(entry, mark)
    except MountError as error:
        why = str(error)
    return [*parts, ("folder", not why, why or f"{path_of(entry)} is fsbench's own")]


def _option(mount: Mount, key: str) -> str:
    words = (word.partition("=") for word in mount.options.split(","))
    return next((value for name, _, value in words if name == key), "")


def _write_note(entry: LunEntry, notes: Path, mark: str) -> None:
    try:
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = notes / f".{entry.name}.{mark}"
        temporary.write_text(json.dumps({"id": mark, "path": path_of(entry)}))
        temporary.replace(notes / f"{entry.name}.json")
    except OSError as error:
        raise MountError(f"It cannot be noted in {notes} which folder is made: {error}") from None


def _look(
    entry: LunEntry,
    mount: Mount,
    mark: str,
    make: str = "",
    beside: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What ``mount_folder`` says. Raises ServerSilent, MountError."""
    point = str(entry.path)
    request = {
        "point": point,
        "device": [os.major(mount.number), os.minor(mount.number)],
        "folder": folder_of(entry),
        "id": mark,
        "make": make,
        "beside": beside,
    }
    silence = (
        f"The server of {entry.path} ({mount.source}) does not answer: see whether it can be "
        "reached, or mount it again."
    )
    with _lock:
        known_silence = _silent.get(point)
    if known_silence is not None and known_silence.lasts:
        raise ServerSilent(silence)
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM), json.dumps(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise MountError(f"{entry.path} cannot be looked at: {error}") from None
    try:
        printed, errors = process.communicate(timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        _eliminate(point, process)
        raise ServerSilent(silence) from None
    try:
        data: dict[str, Any] = json.loads(printed)
    except ValueError:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise MountError(f"{entry.path} cannot be looked at: {last[:300]}") from None
    return data


def _forgive(point: str) -> None:
    """A silence is over, unless a process still waits in it."""
    with _lock:
        if (known_silence := _silent.get(point)) is not None:
            known_silence.until = 0.0


def _eliminate(point: str, process: "subprocess.Popen[bytes]") -> None:
    """End it, and remember where even that is not possible (an uninterruptible wait)."""
    process.kill()
    silence = _UnansweredMount(time.monotonic() + SILENT_S)
    try:
        process.communicate(timeout=1.0)
    except subprocess.TimeoutExpired:
        silence.process = process
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    with _lock:
        _silent[point] = silence


def server_of(source: str, words: str = "") -> tuple[str, str]:
    """(server, export) of a mount's source: ``nas:/export``, ``//nas/share``,
    ``10.0.0.1:6789,10.0.0.2:6789:/``; ("", source) of what comes from no server.

    CephFS since Linux 5.17 is ``user@FSID.NAME=/path``: its server is the cluster with the name of
    the file system, because monitors come and go. Before that the name, of one of several of a
    cluster, stands among the options in effect (``words``), and its server is ``NAME on MONITORS``.
    """
    if match := _CEPH_SOURCE.fullmatch(source):
        return match[1], match[2]
    if source.startswith("//"):
        server, _, share = source[2:].partition("/")
        return server, share
    server, colon, path = source.rpartition(":")
    if colon and path.startswith("/"):
        server = server.removeprefix("[").removesuffix("]")
        name = re.search(r"(?:^|,)mds_namespace=([^,]+)", words)
        return (f"{name[1]} on {server}" if name else server), path
    return "", source
