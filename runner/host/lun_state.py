"""What the kernel and the device say of a LUN now: caches, sectors, temperature, power.

Sources: sysfs-block, hwmon/sysfs-interface.rst; NVM Express, Get Features, feature 02h.
"""

import contextlib
import fcntl
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.host.hardware import text_of
from runner.safety import blockdev
from runner.safety.blockdev import ToolError, run_tool

# _IOWR('N', 0x41, struct nvme_admin_cmd) of linux/nvme_ioctl.h: 72 bytes.
_NVME_ADMIN = 0xC0484E41
_NVME_COMMAND = struct.Struct("<BBHIIIQQIIIIIIIIII")
_GET_FEATURES, _POWER_MANAGEMENT = 0x0A, 0x02
_NUMBERS = (
    *("rotational", "logical_block_size", "physical_block_size", "nr_requests"),
    *("max_sectors_kb", "fua", "discard_granularity"),
)


def read(number: int) -> dict[str, Any]:
    """By name: write_cache ("write back", "write through"), scheduler, numbers of its queue,
    temperature_c and power_state (of NVMe). Never raises.
    """
    disk = blockdev.sys_folder(blockdev.whole_disk(number))
    facts: dict[str, Any] = {}
    if cache := _text(disk / "queue/write_cache"):
        facts["write_cache"] = cache
    chosen = [word for word in _text(disk / "queue/scheduler").split() if word.startswith("[")]
    if chosen:
        facts["scheduler"] = chosen[0].strip("[]")
    for name in _NUMBERS:
        if (text := _text(disk / "queue" / name)).isdecimal():
            facts[name] = int(text)
    if (temperature := temperature_c(disk)) is not None:
        facts["temperature_c"] = temperature
    if (state := _power_state(disk)) is not None:
        facts["power_state"] = state
    return facts


def temperature_c(disk: Path) -> float | None:
    """Of the disk in this folder of sysfs: NVMe's own sensor, or that of the module drivetemp."""
    for path in sorted(
        {*disk.glob("device/hwmon*/temp1_input"), *disk.glob("device/hwmon/hwmon*/temp1_input")}
    ):
        with contextlib.suppress(ValueError):
            return int(_text(path)) / 1000
    return None


def _power_state(disk: Path) -> int | None:
    """The power state that an NVMe controller is in: 0 draws most. None where nobody can ask."""
    if not disk.name.startswith("nvme"):
        return None
    command = _NVME_COMMAND.pack(
        *(_GET_FEATURES, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        *(_POWER_MANAGEMENT, 0, 0, 0, 0, 0, 1000, 0),
    )[:72]
    try:
        descriptor = os.open(f"/dev/{disk.name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        answer = bytearray(command)
        fcntl.ioctl(descriptor, _NVME_ADMIN, answer)
        return int(struct.unpack_from("<I", answer, 68)[0]) & 0x1F
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _text(path: Path) -> str:
    return text_of(path).strip()


# smartctl's exit status is a mask of bits: what the disk says is bad is no failure of the tool.
_ACCEPTED = tuple(range(256))
_NVME = (
    *("percentage_used", "available_spare", "media_errors", "critical_warning"),
    *("data_units_written", "data_units_read", "unsafe_shutdowns"),
)
# Of ATA disks by number, which is the same whatever the vendor calls it.
_ATA = {5: "reallocated_sectors", 197: "pending_sectors", 198: "offline_uncorrectable"}


def health(device: str) -> dict[str, Any]:
    """{passed, power_on_hours, temperature_c, ...}, as far as known. Never
    raises.
    """
    try:
        text = run_tool(
            *("smartctl", "--json", "--health", "--attributes", "--nocheck=standby", device),
            accepted=_ACCEPTED,
        )
        return parsed_health(json.loads(text))
    except (ToolError, ValueError):
        return {}


def parsed_health(data: Any) -> dict[str, Any]:
    """What is kept of smartctl's JSON; empty where it could not read the disk."""
    if not isinstance(data, Mapping):
        return {}
    health: dict[str, Any] = {}
    passed = _part(data, "smart_status").get("passed")
    if isinstance(passed, bool):
        health["passed"] = passed
    for name, value in (
        ("power_on_hours", _part(data, "power_on_time").get("hours")),
        ("temperature_c", _part(data, "temperature").get("current")),
    ):
        if _is_count(value):
            health[name] = value
    log = _part(data, "nvme_smart_health_information_log")
    health |= {name: log[name] for name in _NVME if _is_count(log.get(name))}
    table = _part(data, "ata_smart_attributes").get("table")
    for row in table if isinstance(table, list) else []:
        if not isinstance(row, Mapping) or row.get("id") not in _ATA:
            continue
        if _is_count(value := _part(row, "raw").get("value")):
            health[_ATA[row["id"]]] = value
    return health


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
