"""Looks at fsbench's own folder on a mount, and makes it. The standard library alone.

``runner.safety.mounts`` starts it as a process: once the server of a mount is gone, every call on
it may wait for ever. One argument, JSON::

    {"point": "/mnt/nas", "device": [0, 61], "folder": "team/fsbench-node1-nas", "id": "…" or "",
     "make": "…" or "", "beside": {"folder": "fsbench-node2-nas", "id": "…"}}

``id`` is what this host noted of the folder that it made; ``make`` the id of one that is to be made
where there is none. ``beside`` (left out: nothing) is the folder of another host, which is on the
same file system if this is. It prints JSON: ``{"problem": "…", "is_absent": …, "free_bytes": …,
"is_beside": …}``. Nothing is ever removed, and no symbolic link is followed: each part is opened in
the one before it.
"""

import contextlib
import errno
import json
import os
import stat
import sys
from typing import Any

MARKER = ".fsbench-folder"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SAID = "A folder of fsbench's own: what a run leaves here is removed."
_MOST = 4096


class FolderRefused(Exception):
    """The folder is not to be used; the text says why and what to do."""


class FolderMissing(Exception):
    """There is no such folder."""


def open_folder(request: dict[str, Any]) -> int:
    """The folder of fsbench, as a descriptor. Raises FolderRefused, FolderMissing, OSError."""
    point = request["point"]
    descriptor = os.open(point, _FOLDER)
    status = os.fstat(descriptor)
    if [os.major(status.st_dev), os.minor(status.st_dev)] != request["device"]:
        raise FolderRefused(f"{point} leads to something else than what is mounted there.")
    parts = request["folder"].split("/")
    for place, part in enumerate(parts):
        path = "/".join([point.rstrip("/"), *parts[: place + 1]])
        is_last = place == len(parts) - 1
        try:
            child = os.open(part, _FOLDER, dir_fd=descriptor)
        except FileNotFoundError:
            if not is_last:
                raise FolderRefused(f"{path} is missing: make that folder on the mount.") from None
            if not request["make"]:
                raise FolderMissing from None
            child = _make_folder(descriptor, part, request["make"], path)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise FolderRefused(
                    f"{path} is a symbolic link, or no folder: remove it."
                ) from None
            raise
        if os.fstat(child).st_dev != status.st_dev:
            raise FolderRefused(f"{path} is on another file system than {point}.")
        os.close(descriptor)
        descriptor = child
    return descriptor


def _make_folder(parent: int, name: str, mark: str, path: str) -> int:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except OSError as error:
        raise FolderRefused(
            f"{path} cannot be made ({error.strerror}): make a folder on the mount in which this "
            'worker\'s user may write, and name it in the list of LUNs: folder = "…".'
        ) from None
    folder = os.open(name, _FOLDER, dir_fd=parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    marker = os.open(MARKER, flags, 0o600, dir_fd=folder)
    try:
        os.write(marker, json.dumps({"fsbench": _SAID, "id": mark}).encode())
        os.fsync(marker)
    finally:
        os.close(marker)
    return folder


def check(folder: int, path: str, expected: str) -> None:
    """That this host made the folder, and nobody else may write there. Raises FolderRefused."""
    status = os.fstat(folder)
    foreign = (
        f"{path} is not a folder that fsbench made for this worker: choose another one with "
        'folder = "…" in the list of LUNs, or remove it.'
    )
    try:
        marker = os.open(
            MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            raise FolderRefused(foreign) from None
        raise
    try:
        marker_status = os.fstat(marker)
        is_plain = (
            stat.S_ISREG(marker_status.st_mode)
            and marker_status.st_nlink == 1
            and marker_status.st_size <= _MOST
        )
        data = os.read(marker, _MOST) if is_plain else b""
    finally:
        os.close(marker)
    mark = None
    with contextlib.suppress(ValueError, TypeError, KeyError):
        mark = json.loads(data)["id"]
    if not expected or mark != expected or marker_status.st_uid != status.st_uid:
        raise FolderRefused(foreign)
    if status.st_mode & 0o022:
        raise FolderRefused(
            f"{path} can be written by others, who could put a link in the way of a benchmark: "
            f"chmod 700 {path}, or mount with a dir_mode that keeps others out."
        )
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
        raise FolderRefused(f"{path} cannot be written by this user.")


def is_beside(request: dict[str, Any]) -> bool | None:
    """Whether another host's folder is seen here too; None where this user may not look."""
    descriptor = os.open(request["point"], _FOLDER)
    try:
        for part in str(request["beside"]["folder"]).split("/"):
            child = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = child
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        marker = os.open(MARKER, flags, dir_fd=descriptor)
    except PermissionError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            return False
        raise
    finally:
        os.close(descriptor)
    try:
        content = os.read(marker, _MOST)
    finally:
        os.close(marker)
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return bool(json.loads(content)["id"] == request["beside"]["id"])
    return False


def answer(request: dict[str, Any]) -> dict[str, Any]:
    path = f"{request['point'].rstrip('/')}/{request['folder']}"
    try:
        folder = open_folder(request)
        check(folder, path, request["make"] or request["id"])
        room = os.fstatvfs(folder)
        beside = is_beside(request) if request.get("beside") else None
    except FolderMissing:
        return {"problem": f"{path} is missing.", "is_absent": True}
    except FolderRefused as refused:
        return {"problem": str(refused)}
    except OSError as error:
        if error.errno == errno.ESTALE:
            return {"problem": f"The mount at {path} is stale: mount it again."}
        return {"problem": f"{path} cannot be used: {error.strerror}."}
    return {"problem": "", "free_bytes": room.f_bavail * room.f_frsize, "is_beside": beside}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
