"""Whether the device was flushed as often as the syncs of a run need. Pure.

Method, sources and limits: docs/method.md#syncs-and-flushes.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # It brings NumPy, and every workload says what it synced.
    from fsbench_web.core.activity.series import Activity

KEPT, NOT_KEPT, UNKNOWN = "kept", "not_kept", "unknown"
TOOL, PRESET = "tool", "preset"
"""How the syncs are known: the tool counted them, or the preset asks for them."""

# Why a verdict is UNKNOWN.
NO_SYNCS = "no_syncs"
SYNCS_NOT_COUNTED = "syncs_not_counted"
NOTHING_TO_FLUSH = "nothing_to_flush"
FLUSHES_NOT_COUNTED = "flushes_not_counted"
FUA_NOT_COUNTED = "fua_not_counted"
SHARED_DEVICE = "shared_device"
REASONS = {
    NO_SYNCS: "the workload asked for no syncs",
    SYNCS_NOT_COUNTED: "the number of syncs is not known",
    NOTHING_TO_FLUSH: "nothing to flush: the kernel knows of no volatile write cache",
    FLUSHES_NOT_COUNTED: "the kernel does not count flushes of this device",
    FUA_NOT_COUNTED: "forced writes (FUA) can replace flushes here, and no counter has them",
    SHARED_DEVICE: "others use the device as well, and their flushes count too",
}
WRITE_BACK = "write back"


@dataclass(frozen=True)
class Syncs:
    """``issued`` syncs of one command, at least. ``at_once``: how many one flush can serve.

    ``can_be_forced``: each is one direct write with O_SYNC or O_DSYNC, which a device with FUA
    makes durable without a flush.
    """

    issued: int
    at_once: int = 1
    known_by: str = TOOL
    can_be_forced: bool = False

    @property
    def least_flushes(self) -> int:
        """The fewest flushes that can serve them."""
        return math.ceil(max(self.issued, 0) / max(self.at_once, 1))


@dataclass(frozen=True)
class Promise:
    """``verdict``: KEPT, NOT_KEPT or UNKNOWN, and then ``reason`` is one of REASONS.

    ``syncs``, ``needed`` and ``flushes`` are counts of the measured commands; None: not known.
    """

    verdict: str
    reason: str = ""
    syncs: int | None = None
    needed: int | None = None
    flushes: int | None = None
    known_by: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For ``Run.conditions["promise"]``, with ``ratio``: flushes for each sync."""
        ratio = self.flushes / self.syncs if self.syncs and self.flushes is not None else None
        return asdict(self) | {"ratio": ratio}


def promise(syncs: Mapping[str, Syncs | None], activity: "Activity") -> Promise:
    """The verdict on a run. ``syncs`` by the output of a measured command; None: not known.

    NOT_KEPT needs one command with fewer flushes than its syncs need.
    """
    counted = {name: found for name, found in syncs.items() if found and found.least_flushes}
    if not counted:
        is_known = bool(syncs) and None not in syncs.values()
        return Promise(UNKNOWN, NO_SYNCS if is_known else SYNCS_NOT_COUNTED)
    issued = sum(found.issued for found in counted.values())
    known_by = ", ".join(sorted({found.known_by for found in counted.values()}))
    reason = _why_unknown(counted.values(), activity.devices)
    seen = {output: _flushes(output, activity) for output in counted}
    if not reason and None in seen.values():
        reason = FLUSHES_NOT_COUNTED
    if reason:
        return Promise(UNKNOWN, reason, issued, known_by=known_by)
    numbers = (
        issued,
        sum(found.least_flushes for found in counted.values()),
        sum(count or 0 for count in seen.values()),
        known_by,
    )
    if any((seen[output] or 0) < found.least_flushes for output, found in counted.items()):
        return Promise(NOT_KEPT, "", *numbers)
    if activity.is_shared:
        return Promise(UNKNOWN, SHARED_DEVICE, *numbers)
    return Promise(KEPT, "", *numbers)


def _why_unknown(syncs: Iterable[Syncs], devices: Mapping[str, Mapping[str, Any]]) -> str:
    """Why flushes of the run's devices prove nothing; "" where they do."""
    facts = devices.values()
    if not facts or not all(device.get("counts_flushes") is True for device in facts):
        return FLUSHES_NOT_COUNTED
    # One device without a cache of several may be the one that was synced.
    if not all(device.get("write_cache") == WRITE_BACK for device in facts):
        return NOTHING_TO_FLUSH
    can_force = any(device.get("fua") != 0 for device in facts)
    return FUA_NOT_COUNTED if can_force and any(found.can_be_forced for found in syncs) else ""


def _flushes(output: str, activity: "Activity") -> int | None:
    """Of all devices while the commands of an output ran; None where any count is missing."""
    growths = [
        activity.grown(f"{role}.flushes", step.start_s, step.end_s)
        for role in activity.devices
        for step in activity.steps
        if step.phase == "benchmark" and step.output == output
    ]
    known = [growth for growth in growths if growth is not None]
    return sum(known) if growths and len(known) == len(growths) else None
