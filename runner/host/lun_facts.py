"""What a worker announces of a LUN: how large it is, and what a person recognises it by."""

import contextlib
import os
from collections.abc import Iterator

from fsbench_web.catalog.models import PATH_LABEL
from runner.safety import blockdev, checks, device_aliases, mounts
from runner.safety.blockdev import ToolError
from runner.safety.luns import LunEntry


def number_of(entry: LunEntry, device: str) -> int | None:
    """That of its block device; a mount is not asked, because its server may be gone."""
    return None if entry.is_directory else blockdev.device_number(device)


def size_bytes(entry: LunEntry, number: int | None) -> int | None:
    """Of its device; of a directory or mount what is free there, as far as that is known."""
    if number is not None:
        return blockdev.size_bytes(number)
    if entry.is_directory:
        with contextlib.suppress(OSError):
            room = os.statvfs(entry.path)
            return room.f_bavail * room.f_frsize
    return entry.size_bytes


def identity(entry: LunEntry, number: int | None) -> list[list[str]]:
    """How a person recognises the LUN: what the list says, then what the device says."""
    facts = [[PATH_LABEL, str(entry.path)]]
    if entry.is_mount:
        facts += mounts.identity(entry)
    elif entry.is_directory:
        with contextlib.suppress(OSError):
            facts.append(["File system", checks.directory_filesystem(entry.path)])
    if entry.controller:
        facts.append(["Controller", entry.controller])
    if number is not None:
        facts.append(["Device", blockdev.path_of(number)])
        with contextlib.suppress(ToolError, ValueError, LookupError):
            facts += [[label, value] for label, value in _identity_of_device(number)]
    return facts


def _identity_of_device(number: int) -> Iterator[tuple[str, str]]:
    labels = {"model": "Model", "serial": "Serial", "wwn": "WWN", "tran": "Transport"}
    identity = device_aliases.disk_identity(number)
    for key, label in labels.items():
        if identity.get(key):
            yield label, identity[key]
