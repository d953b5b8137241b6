"""Whether a LUN is still the device that somebody confirmed. Pure: the worker reads, this judges.

A name in the host's list may lead to another disk tomorrow. A fingerprint is what tells one from
the other, as far as the host can know it (``runner.safety.fingerprint``)::

    {"kind": "device", "size_bytes": 500107862016, "serial": "S3Z", "wwn": "0x5002",
     "partition": "1 at 2048", "partuuid": "…", "uuid": "of LVM or RAID",
     "inode": "12", "offset": "0", "born": "1795325001.004711000", "mark": "…",
     "slot": "pci0000:00/0000:00:05.0", "boot": "…", "disk": "17"}
    {"kind": "mount", "filesystem": "nfs4", "server": "nas", "export": "/vol1",
     "address": "10.0.0.1", "mark": "…"}

Unknown parts are left out. ``inode``, ``born`` and ``mark`` are of the file under a loop device
or of a folder. ``offset`` is where in it the loop device begins. ``mark`` is an id that fsbench
wrote when it made the file, or its own folder on a mount. ``server``, ``export`` and ``address``
say which server's mount that is. ``slot``, ``boot`` and ``disk`` are for disks that have no name of
their own. They say where it is plugged in, and what the kernel counted it as since it was booted,
with the disks that it stands on ("17 on 5, 6").
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Fingerprint = Mapping[str, Any]

_OWN_NAMES = (
    *("serial", "wwn", "partition", "partuuid", "uuid", "inode", "offset", "born"),
    *("filesystem", "server", "export", "address", "mark"),
)
# Not partuuid: machines made of one template share it.
_NAMES_OF_A_DISK = {"serial", "wwn", "uuid", "inode", "export"}
# dm-multipath: "mpath-" and the name of the disk; before it, of a partition that kpartx made, which
# one. Of SCSI that is what scsi_id says, a digit for the kind of name and the name (3: NAA, 2:
# EUI-64, 8: a name string); of NVMe what the kernel says (eui., uuid., nvme.). The other kinds are
# numbers of a maker, and of hypervisors the same for all. Asked where the paths say no WWN.
_MULTIPATH = re.compile(
    r"(?:part\d+-)?mpath-(?:3(?P<naa>[0-9a-f]{16,32})|(?P<other>2[0-9a-f]{16,32}|8\S+"
    r"|(?:eui|uuid|nvme)\.\S+))"
)
_LABELS = {
    "serial": "serial",
    "wwn": "WWN",
    "partition": "partition",
    "partuuid": "partition UUID",
    "uuid": "UUID",
    "inode": "inode",
    "offset": "from byte",
    "born": "made",
    "filesystem": "file system",
    "server": "server",
    "export": "export",
    "address": "address",
    "mark": "mark",
}


def is_same(confirmed: Fingerprint, current: Fingerprint) -> bool:
    """Whether both are of one device. What was known when it was confirmed must be known still.

    A disk without any name of its own is the same as long as the kernel has not seen it go. After
    a reboot it is what is in the same place with the same size.
    """
    for key in ("kind", "size_bytes"):
        if confirmed.get(key) != current.get(key):
            return False
    if any(confirmed[key] != current.get(key) for key in _OWN_NAMES if key in confirmed):
        return False
    if _NAMES_OF_A_DISK & set(confirmed):
        return True
    if confirmed.get("boot") == current.get("boot"):
        return confirmed.get("disk") == current.get("disk") and "disk" in confirmed
    return confirmed.get("slot") == current.get("slot") and "slot" in confirmed


def shared_disk(fingerprint: Fingerprint) -> str:
    """What the disk of a LUN is named on every host that reaches it: "WWN 0x5002", or "" where it
    has no worldwide name.

    A partition's is that of its disk: another host may list the whole of it, or another table of
    its partitions. Partitions that are measured at once measure each other. Serial numbers are
    no such names: hypervisors give all their machines the same.
    """
    wwn = str(fingerprint.get("wwn", ""))
    path = _MULTIPATH.fullmatch(str(fingerprint.get("uuid", "")))
    if path and not wwn:
        wwn = f"0x{path['naa']}" if path["naa"] else path["other"]
    if not wwn or fingerprint.get("kind") != "device":
        return ""
    return f"WWN {wwn.lower()}"[:200]


def unnamed_disk(fingerprint: Fingerprint) -> str:
    """What the disk of a partition is on its own host, where it has no worldwide name: "disk 17",
    or "disk at" its place. It is "" of what is no partition, or where neither is known.
    """
    if fingerprint.get("kind") != "device" or "partition" not in fingerprint:
        return ""
    number, slot = fingerprint.get("disk"), fingerprint.get("slot")
    return f"disk {number}" if number else f"disk at {slot}" if slot else ""


def in_words(fingerprint: Fingerprint) -> str:
    """For people: "serial S3Z, WWN 0x5002, 500107862016 bytes"."""
    parts = [
        f"{_LABELS[key]} {_value_in_words(key, fingerprint[key])}"
        for key in _OWN_NAMES
        if key in fingerprint and (key, fingerprint[key]) != ("offset", "0")
    ]
    if not _NAMES_OF_A_DISK & set(fingerprint) and "disk" in fingerprint:
        location = f" at {fingerprint['slot']}" if "slot" in fingerprint else ""
        parts.append(f"disk {fingerprint['disk']} since the host was booted{location}")
    if fingerprint.get("size_bytes") is not None:
        parts.append(f"{fingerprint['size_bytes']} bytes")
    return ", ".join(parts) or "nothing is known of it"


def _value_in_words(key: str, value: object) -> str:
    if key != "born":
        return str(value)
    seconds, _, fraction = str(value).partition(".")
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%S}.{fraction[:3]} UTC"


def difference(name: str, confirmed: Fingerprint, current: Fingerprint) -> str:
    """Why a run must not use what ``name`` leads to now; empty where it may."""
    if not confirmed:
        return (
            f"What {name} was when this run was submitted is not known: that was not kept then. "
            "Submit it again, so that what is used is what you confirm."
        )
    if is_same(confirmed, current):
        return ""
    kind, fate = "device", "erased"
    if confirmed.get("kind") == "mount":
        kind, fate = "mount", "used"
    return (
        f"{name} is another {kind} now than the one that was confirmed when this run was "
        f"submitted. Confirmed: {in_words(confirmed)}. Now: {in_words(current)}. Submit it again "
        f"if this one may be {fate}."
    )


def digest(fingerprints: Iterable[Fingerprint]) -> str:
    """A digest of what a page showed, to confirm what was seen."""
    text = json.dumps([dict(fingerprint) for fingerprint in fingerprints], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
