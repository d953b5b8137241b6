"""What is on a device: file systems, partition tables, RAID labels, journals."""

import json
import os
import re
import uuid
from dataclasses import dataclass
from typing import Any

from runner.safety.blockdev import ToolError, run_tool
from runner.safety.marks import (
    INTEGRITY_LABEL_AT,
    OWN_CACHE_UUID,
    OWN_LABEL,
)

BCACHEFS = "bcachefs"
# Signatures stand at the begin and the end of a device.
_ENDS_BYTES = 2**20
# A backslash, with what it may escape in JSON where that follows.
_BACKSLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_BCACHEFS_MAGIC = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")


@dataclass(frozen=True)
class Signature:
    """What libblkid recognises on a device: a file system, a partition table, a RAID label."""

    type: str
    label: str
    uuid: str


def of(path: str) -> list[Signature]:
    """All signatures on the device. Raises ToolError."""
    _read_ends(path)
    output = run_tool("wipefs", "--no-act", "--json", path)
    entries = _parsed(output)["signatures"] if output.strip() else []
    entries = [entry for entry in entries if not _is_end_of_boot_sector(path, entry, entries)]
    signatures = [
        Signature(
            entry["type"] or "",
            entry.get("label") or _label_of_layer(path, entry),
            entry.get("uuid") or _uuid_of_log(path, entry),
        )
        for entry in entries
    ]
    has_bcachefs = BCACHEFS in {signature.type for signature in signatures}
    beyond = _beyond_libblkid(path)
    return signatures + [
        signature for signature in beyond if not has_bcachefs or signature.type != BCACHEFS
    ]


def _read_ends(path: str) -> None:
    """wipefs(8) says nothing of what it cannot read, as if nothing were there. Raises ToolError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        for place in {0, max(size - _ENDS_BYTES, 0)}:
            length = min(_ENDS_BYTES, size)
            if len(os.pread(descriptor, length, place)) < length:
                raise OSError("a part is missing")
    except OSError as error:
        raise ToolError(
            f"the first and last MiB of {path} cannot be read ({error.strerror or error}), so that "
            "nobody knows what is on it. See the kernel's log, and replace the disk."
        ) from None
    finally:
        os.close(descriptor)


def _parsed(output: str) -> Any:
    """Labels may hold any bytes, and those that are no text are written as ``\\xfc`` (run_tool)."""
    return json.loads(_BACKSLASH.sub(lambda match: match[0] if match[1] else r"\\", output))


def _is_end_of_boot_sector(path: str, entry: dict[str, Any], entries: list[dict[str, Any]]) -> bool:
    """Whether a partition table is none, but the last two bytes of an exFAT or NTFS boot sector.

    Both begin as the boot sector of a PC does (exFAT specification, 3.1.19 BootSignature), and
    wipefs(8) takes its end for a partition table. One with a partition in it is a partition table.
    """
    if (entry["type"], int(entry["offset"], 16)) != ("dos", 0x1FE):
        return False
    boots = any(
        other["type"] in ("exfat", "ntfs") and int(other["offset"], 16) == 3 for other in entries
    )
    return boots and not any(_read(path, 0x1BE, 64))


def _uuid_of_log(path: str, entry: dict[str, Any]) -> str:
    """The UUID of the file system that an XFS log is of; libblkid tells that there is a log only.

    Each record of the log has it, 304 bytes from its start (xfs_log_format.h, xlog_rec_header).
    """
    if entry["type"] != "xfs_external_log":
        return ""
    return _uuid(_read(path, int(entry["offset"], 16) + 304, 16))


def _label_of_layer(path: str, entry: dict[str, Any]) -> str:
    """fsbench's label of layers that have none in the eyes of libblkid (``marks``).

    bcache.h, struct cache_sb_disk: the UUID of the set is 32 bytes behind the magic that is found.
    """
    if entry["type"] == "DM_integrity":
        label = _text(_read(path, INTEGRITY_LABEL_AT, 16))
        return label if label == OWN_LABEL else ""
    if entry["type"] == "bcache":
        place = int(entry["offset"], 16) + 32
        return OWN_LABEL if _uuid(_read(path, place, 16)) == OWN_CACHE_UUID else ""
    return ""


def _beyond_libblkid(path: str) -> list[Signature]:
    """Journals of JFS, ReiserFS with its journal elsewhere, and bcachefs: libblkid sees neither
    (the last since util-linux 2.39).

    Sources: jfs_logmgr.h (struct logsuper, in the second block of 4 KB), reiserfs.h (magic of a
    relocated journal, in the super block at 64 KB), bcachefs_format.h (struct bch_sb at 4 KB).
    """
    signatures = []
    log = _read(path, 4096, 104)
    if log[24:40] == _BCACHEFS_MAGIC:
        signatures.append(Signature(BCACHEFS, _text(log[72:104]), _uuid(log[56:72])))
    if log[:4] == (0x87654321).to_bytes(4, "little"):
        signatures.append(Signature("jfs_external_log", _text(log[52:68]), _uuid(log[36:52])))
    reiser = _read(path, 65536, 116)
    if reiser[52:61] == b"ReIsEr3Fs":
        signatures.append(Signature("reiserfs", _text(reiser[100:116]), _uuid(reiser[84:100])))
    return signatures


def _read(path: str, offset: int, size: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, size, offset)
    finally:
        os.close(descriptor)


def _uuid(value: bytes) -> str:
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else ""


def _text(value: bytes) -> str:
    return value.split(b"\0")[0].decode("ascii", "replace")
