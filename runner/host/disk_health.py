"""What smartctl(8) says of a disk before it is measured, if it is installed (JSON, version 7)."""

import json
from collections.abc import Mapping
from typing import Any

from runner.safety.blockdev import ToolError, run_tool

# smartctl's exit status is a mask of bits: what the disk says is bad is no failure of the tool.
_ACCEPTED = tuple(range(256))
_NVME = (
    *("percentage_used", "available_spare", "media_errors", "critical_warning"),
    *("data_units_written", "data_units_read", "unsafe_shutdowns"),
)
# Of ATA disks by number, which is the same whatever the vendor calls it.
_ATA = {5: "reallocated_sectors", 197: "pending_sectors", 198: "offline_uncorrectable"}


def read(device: str) -> dict[str, Any]:
    """{passed, power_on_hours, temperature_c, ...}, as far as known. Never
    raises.
    """
    try:
        text = run_tool(
            *("smartctl", "--json", "--health", "--attributes", "--nocheck=standby", device),
            accepted=_ACCEPTED,
        )
        return parse(json.loads(text))
    except (ToolError, ValueError):
        return {}


def parse(data: Any) -> dict[str, Any]:
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
