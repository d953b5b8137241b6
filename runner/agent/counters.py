"""The kernel's counters, each file of them as a source of numbers. Standard library alone.

Sources: proc(5); the kernel's Documentation/block/stat.rst, accounting/psi.rst,
admin-guide/cgroup-v2.rst, admin-guide/cgroup-v1/*.rst, power/powercap/powercap.rst.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Of one file: /proc/stat of thousands of processors and interrupts is smaller.
MOST_BYTES = 4 * 1024 * 1024
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
DEVICE = (
    *("reads", "reads_merged", "sectors_read", "read_ms"),
    *("writes", "writes_merged", "sectors_written", "write_ms"),
    *("in_flight", "busy_ms", "weighted_ms"),
    *("discards", "discards_merged", "sectors_discarded", "discard_ms"),
    *("flushes", "flush_ms"),
)
PROCESSORS = ("user_ms", "system_ms", "irq_ms", "idle_ms", "iowait_ms", "steal_ms")
GROUP_MEMORY = ("anon", "file", "file_dirty", "file_writeback")
Numbers = list["int | None"]
PRESSURE = "pressure"
"""The unified hierarchy where version 1 has the controllers."""


class Source:
    """One file of the kernel: ``names`` of the numbers that ``read_out`` finds in its text."""

    def __init__(self, path: str, names: Sequence[str], read_out: Callable[[str], Numbers]) -> None:
        self.names = list(names)
        self._read_out = read_out
        self._room_bytes = 65536
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> Numbers:
        """A number for each name; None where it is not there this time."""
        try:
            numbers = self._read_out(self._read_whole().decode("ascii", "replace"))
        except (OSError, ValueError, IndexError, KeyError):
            numbers = []
        return numbers[: len(self.names)] + [None] * (len(self.names) - len(numbers))

    def _read_whole(self) -> bytes:
        """In one call, so that all numbers are of one moment: /proc/stat grows with processors and
        interrupts, and what stands behind these matters too.
        """
        while len(data := os.pread(self._file, self._room_bytes, 0)) == self._room_bytes:
            if self._room_bytes >= MOST_BYTES:
                raise ValueError("larger than any of the kernel's counters")
            self._room_bytes *= 4
        return data

    def close(self) -> None:
        os.close(self._file)


def device(text: str) -> Numbers:
    return [int(word) for word in text.split()[: len(DEVICE)]]


def write_cache(folder: str) -> "dict[str, Any]":
    """Write cache and flush counter of the block device in a folder of sysfs.

    ``counts_flushes``: only request-based devices count flushes, and partitions have no counter.
    Sources: the kernel's Documentation/block/stat.rst, block/blk-flush.c and block/blk-mq-sysfs.c.
    """
    facts: dict[str, Any] = {"counts_flushes": Path(folder, "mq").is_dir()}
    with contextlib.suppress(OSError):
        facts["write_cache"] = Path(folder, "queue/write_cache").read_text(encoding="ascii").strip()
    with contextlib.suppress(OSError, ValueError):
        facts["fua"] = int(Path(folder, "queue/fua").read_text(encoding="ascii"))
    return facts


def processors(text: str) -> Numbers:
    lines = text.split("\n")
    user, nice, system, idle, iowait, irq, soft, steal = map(int, lines[0].split()[1:9])
    ticks = (user + nice, system, irq + soft, idle, iowait, steal)
    switched = next((line for line in reversed(lines) if line.startswith("ctxt ")), "")
    return [*(round(tick * TICK_MS) for tick in ticks), int(switched.split()[1])]


def numbers_by_name(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def reader_of(names: Sequence[str], times: float = 1) -> Callable[[str], Numbers]:
    def read_out(text: str) -> Numbers:
        numbers = numbers_by_name(text)
        return [round(numbers[name] * times) if name in numbers else None for name in names]

    return read_out


def pressure(text: str) -> Numbers:
    totals = {line.split()[0]: int(line.rpartition("total=")[2]) for line in text.splitlines()}
    return [totals.get("some"), totals.get("full")]


def group_devices(numbers: Sequence[str], names: Sequence[str]) -> Callable[[str], Numbers]:
    """``io.stat``: the sums over the run's devices. A device that has no line did nothing."""

    def read_out(text: str) -> Numbers:
        sums = dict.fromkeys(names, 0)
        for line in text.splitlines():
            device, *pairs = line.split()
            if device in numbers:
                for name, _, value in (pair.partition("=") for pair in pairs):
                    if name in sums:
                        sums[name] += int(value)
        return list(sums.values())

    return read_out


def group_service(numbers: Sequence[str]) -> Callable[[str], Numbers]:
    """``blkio.throttle.io_*`` of version 1: read and written, over the run's devices."""

    def read_out(text: str) -> Numbers:
        sums = {"Read": 0, "Write": 0}
        for line in text.splitlines():
            words = line.split()
            if len(words) == 3 and words[0] in numbers and words[1] in sums:
                sums[words[1]] += int(words[2])
        return list(sums.values())

    return read_out


class Energy:
    """RAPL's counters of the processor packages, without their wrapping round."""

    def __init__(self, folder: str) -> None:
        self.names = ["energy.package_uj"]
        self._folders = [
            path
            for path in sorted(Path(folder).glob("intel-rapl:*"))
            if path.name.count(":") == 1 and (path / "energy_uj").is_file()
        ]
        if not self._folders:
            raise FileNotFoundError(folder)
        self._ranges = [int((path / "max_energy_range_uj").read_text()) for path in self._folders]
        self._last = self._levels()
        self._sum = 0

    def _levels(self) -> list[int]:
        return [int((path / "energy_uj").read_text()) for path in self._folders]

    def read(self) -> Numbers:
        try:
            levels = self._levels()
        except (OSError, ValueError):
            return [None]
        for now, before, limit in zip(levels, self._last, self._ranges, strict=True):
            self._sum += now - before if now >= before else now + limit - before
        self._last = levels
        return [self._sum]

    def close(self) -> None:
        """Nothing is open."""


class DeviceEnergy:
    """Energy of the run's devices by their own readings (hwmon), from the first sample on.

    Source: the kernel's hwmon/sysfs-interface.rst (energy1_input in µJ, power1_* in µW).
    """

    _PLACES = ("hwmon/hwmon*", "hwmon*", "device/hwmon/hwmon*", "device/hwmon*")

    def __init__(self, folders: "Sequence[str]") -> None:
        """``folders``: that of each block device in sysfs. Raises OSError where one has none."""
        self.names = ["energy.device_uj"]
        self._readings = [self._reading(Path(folder)) for folder in folders]
        if not self._readings:
            raise FileNotFoundError("no device")
        self._sum = 0.0
        self._last_s, self._last = time.monotonic(), self._levels()

    def _reading(self, folder: Path) -> "tuple[Path, bool]":
        """The file of a device, and whether it counts energy. A partition has its disk's."""
        for above in (folder / "device", folder / ".." / "device"):
            for place in self._PLACES:
                for sensor in sorted(above.glob(place)):
                    for name in ("energy1_input", "power1_average", "power1_input"):
                        if (sensor / name).is_file():
                            return sensor / name, name.startswith("energy")
        raise FileNotFoundError(str(folder))

    def _levels(self) -> "list[int]":
        return [int(path.read_text()) for path, _ in self._readings]

    def read(self) -> Numbers:
        now_s = time.monotonic()
        try:
            levels = self._levels()
        except (OSError, ValueError):
            return [None]
        for (_, is_energy), now, before in zip(self._readings, levels, self._last, strict=True):
            if is_energy:
                self._sum += max(now - before, 0)
            else:
                # The mean of both ends: microwatts times seconds are microjoules.
                self._sum += (now + before) / 2 * (now_s - self._last_s)
        self._last_s, self._last = now_s, levels
        return [round(self._sum)]

    def close(self) -> None:
        """Nothing is open."""


def mount_table(root: str = "/") -> "list[tuple[list[str], list[str]]]":
    """Both sides of the dash of each line of mountinfo (proc(5)). Raises OSError."""
    # Names are bytes: one that is no text must not hide all the others. The kernel escapes spaces,
    # tabs and line feeds alone; names may have all else that counts as a space or line, and the
    # source of a mount may be empty.
    content = Path(root, "proc/self/mountinfo").read_bytes()
    lines = content.decode("utf-8", "backslashreplace").split("\n")
    halves = (line.partition(" - ") for line in lines)
    entries = [(before.split(" "), after.split(" ")) for before, _, after in halves]
    return [(fields, kind) for fields, kind in entries if len(fields) > 5 and len(kind) > 2]


def group_folders(root: str = "/") -> "dict[str, str]":
    """Where this process's control group is, below ``root``: {controller: folder}, "" for the
    unified hierarchy (version 2), or PRESSURE where it has no controller for I/O.
    """
    mounted: dict[str, tuple[str, str]] = {}
    try:
        mounts = mount_table(root)
        groups = Path(root, "proc/self/cgroup").read_bytes().decode("utf-8", "backslashreplace")
    except OSError:
        return {}
    for fields, kind in mounts:
        if kind[0] == "cgroup2":
            mounted.setdefault("", (fields[4], fields[3]))
        elif kind[0] == "cgroup":
            for option in kind[2].split(","):
                mounted.setdefault(option, (fields[4], fields[3]))
    folders = {}
    for line in filter(None, groups.split("\n")):
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name not in mounted:
                continue
            point, top = mounted[name]
            if top != "/" and path.startswith(top):
                path = path[len(top) :]
            folder = f"{point}/{path.strip('/')}".strip("/")
            if name or Path(root, folder, "io.stat").exists():
                folders[name] = folder
            elif Path(root, folder, "io.pressure").exists():
                folders[PRESSURE] = folder
    return folders
