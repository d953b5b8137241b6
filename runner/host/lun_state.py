"""What the kernel and the device say of a LUN now: caches, sectors, temperature, power.

Sources: sysfs-block, hwmon/sysfs-interface.rst; NVM Express, Get Features, feature 02h.
"""

import contextlib
import fcntl
import os
import struct
from pathlib import Path
from typing import Any

from runner.host.hardware import text_of
from runner.safety import blockdev

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
