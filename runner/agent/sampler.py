"""What devices, processors and memory do while a plan is carried out, as the kernel counts it.

The agent asks once a second, in the loop in which it follows a tool anyway. A thread or process of
its own would take memory from what is measured. What it says:

``sampling`` {fields, absent, every_s, is_shared, devices}: what a sample holds, in order, [[what,
why not], ...]. Whether the device serves others too, as that of a folder does, and the write cache
of each device by its role.
``sample`` {t, values, is_edge}: counts since boot (or of the control group) and levels now, null
where one could not be read. ``t`` are seconds since the first sample on the monotonic clock, and
``is_edge`` says that a command begins or ends there.
``step`` {t0, t1, phase, output, processes}: when a command ran, and what its processes asked the
kernel for, children included. ``space`` {...}: the file system before and after the benchmark.
"""

import contextlib
import os
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runner.agent import counters

EVERY_S = 1.0
# So many files are looked at for what their contents take; a tree of more says nothing.
MOST_FILES = 200_000
SPACE_S = 3.0


class Sampler:
    """``send`` sends a message. ``devices`` are (role, path of the device or folder)."""

    def __init__(
        self,
        send: Callable[..., None],
        devices: Sequence[tuple[str, str]],
        every_s: float = EVERY_S,
        root: str = "/",
        *,
        is_shared: bool = False,
    ) -> None:
        self._send, self._every_s, self._root = send, every_s, root
        self._sources: list[counters.Source | counters.Energy | counters.DeviceEnergy] = []
        self.absent: list[list[str]] = []
        self.devices: dict[str, dict[str, Any]] = {}
        self._open(devices)
        self._began = self._next = time.monotonic()
        send(
            "sampling",
            fields=self.fields,
            absent=self.absent,
            every_s=every_s,
            is_shared=is_shared,
            devices=self.devices,
        )
        self.sample()

    @property
    def fields(self) -> list[str]:
        return [name for source in self._sources for name in source.names]

    def tick(self) -> None:
        """Sample if it is time."""
        if time.monotonic() >= self._next:
            self.sample(is_edge=False)

    def sample(self, *, is_edge: bool = True) -> float:
        """Sample now. Returns its time."""
        now = time.monotonic()
        values = [value for source in self._sources for value in source.read()]
        elapsed_s = round(now - self._began, 3)
        self._send("sample", t=elapsed_s, values=values, is_edge=is_edge)
        # A loop that was held up does not catch up: a sample has its own time.
        self._next = max(self._next + self._every_s, now + self._every_s / 2)
        return elapsed_s

    def _open(self, devices: Sequence[tuple[str, str]]) -> None:
        numbers = []
        for role, path in devices:
            number = self._number(path)
            if number and self._add(
                f"sys/dev/block/{number}/stat",
                [f"{role}.{name}" for name in counters.DEVICE],
                counters.device,
                f"the device of {role}",
            ):
                numbers.append(number)
                self.devices[role] = counters.write_cache(self._path(f"sys/dev/block/{number}"))
            elif not number:
                self.absent.append([f"the device of {role}", "its file system names no device"])
        self._add(
            "proc/stat",
            [*(f"cpu.{name}" for name in counters.PROCESSORS), "cpu.context_switches"],
            counters.processors,
            "the processors",
        )
        self._add(
            "proc/vmstat",
            ["memory.dirty_bytes", "memory.writeback_bytes"],
            counters.reader_of(("nr_dirty", "nr_writeback"), counters.PAGE),
            "dirty pages",
        )
        for kind in ("cpu", "io", "memory"):
            self._add(
                f"proc/pressure/{kind}",
                [f"pressure.{kind}_some_us", f"pressure.{kind}_full_us"],
                counters.pressure,
                f"pressure ({kind})",
            )
        self._open_group(numbers)
        try:
            self._sources.append(counters.Energy(self._path("sys/class/powercap")))
        except (OSError, ValueError):
            self.absent.append(["energy", "no RAPL counter can be read here"])
        folders = [self._path(f"sys/dev/block/{number}") for number in numbers]
        try:
            self._sources.append(counters.DeviceEnergy(folders))
        except (OSError, ValueError):
            why = "it has no reading of power (hwmon); what a power state may take is none"
            self.absent.append(["energy of the device", why])

    def _path(self, name: str) -> str:
        return os.path.join(self._root, name)  # noqa: PTH118 (a string is wanted)

    def _add(
        self,
        name: str,
        names: Sequence[str],
        read_out: Callable[[str], counters.Numbers],
        label: str,
    ) -> bool:
        """Take a file among the sources, or say why not. counters.Numbers it lacks are left out."""
        try:
            source = counters.Source(self._path(name), names, read_out)
        except OSError as error:
            self.absent.append([label, f"/{name}: {error.strerror}"])
            return False
        first = source.read()
        if all(value is None for value in first):
            source.close()
            self.absent.append([label, f"/{name} cannot be read, or says something else"])
            return False
        self._sources.append(source)
        return True

    def _number(self, path: str) -> str:
        """major:minor of a block device, or of what the folder is on; "" where there is none."""
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return ""
        number = status.st_rdev or status.st_dev
        device_number = f"{os.major(number)}:{os.minor(number)}"
        return device_number if Path(self._path(f"sys/dev/block/{device_number}")).exists() else ""

    def _open_group(self, numbers: Sequence[str]) -> None:
        """The control group, where it is the run's alone: that of its container."""
        mounted = counters.group_folders(self._root)
        folders = {
            name: folder
            for name, folder in mounted.items()
            if os.getpid() == 1 and not self._is_shared(folder)
        }
        if not mounted:
            self.absent.append(["its control group", "none is mounted"])
        elif not folders:
            why = "the run shares its control group with other processes (it has no container)"
            self.absent.append(["its control group", why])
        elif "" in folders:
            self._open_group_2(folders[""], numbers)
        else:
            self._open_group_1(folders, numbers, mounted)

    def _is_shared(self, folder: str) -> bool:
        """Whether it has a process that this one's namespace does not show: it reads as 0."""
        with contextlib.suppress(OSError):
            return "0" in Path(self._path(folder), "cgroup.procs").read_text().split()
        return False

    def _open_group_2(self, folder: str, numbers: Sequence[str]) -> None:
        names = ("usage_usec", "user_usec", "system_usec", "nr_throttled", "throttled_usec")
        label = "its control group"
        group_fields = [f"group.cpu_{name}" for name in names]
        self._add(
            f"{folder}/cpu.stat", group_fields, counters.reader_of(names), f"{label}: cpu.stat"
        )
        io_names = ("rbytes", "wbytes", "rios", "wios", "dbytes", "dios")
        group_fields = [f"group.io_{name}" for name in io_names]
        self._add(
            f"{folder}/io.stat",
            group_fields,
            counters.group_devices(numbers, io_names),
            f"{label}: io.stat",
        )
        group_fields = [f"group.memory_{name}_bytes" for name in counters.GROUP_MEMORY]
        self._add(
            f"{folder}/memory.stat",
            group_fields,
            counters.reader_of(counters.GROUP_MEMORY),
            f"{label}: memory.stat",
        )
        self._open_pressure(folder, label)

    def _open_pressure(self, folder: str, label: str) -> None:
        """Any group of version 2 has it, also one without controllers."""
        for name in ("cpu", "io", "memory"):
            self._add(
                f"{folder}/{name}.pressure",
                [f"group.pressure_{name}_some_us", f"group.pressure_{name}_full_us"],
                counters.pressure,
                f"{label}: {name}.pressure",
            )

    def _open_group_1(
        self, folders: "dict[str, str]", numbers: Sequence[str], mounted: "dict[str, str]"
    ) -> None:
        """What version 1 has; pressure is of version 2, which may be mounted next to it."""
        label = "its control group (version 1)"
        for controller, name, fields, read_out in (
            (
                "cpuacct",
                "cpuacct.stat",
                ("cpu_user_ms", "cpu_system_ms"),
                counters.reader_of(("user", "system"), counters.TICK_MS),
            ),
            ("cpu", "cpu.stat", ("cpu_nr_throttled",), counters.reader_of(("nr_throttled",))),
            (
                "blkio",
                "blkio.throttle.io_service_bytes",
                ("io_rbytes", "io_wbytes"),
                counters.group_service(numbers),
            ),
            (
                "blkio",
                "blkio.throttle.io_serviced",
                ("io_rios", "io_wios"),
                counters.group_service(numbers),
            ),
            (
                "memory",
                "memory.stat",
                ("memory_anon_bytes", "memory_file_bytes"),
                counters.reader_of(("total_rss", "total_cache")),
            ),
        ):
            if controller in folders:
                group_fields = [f"group.{field}" for field in fields]
                self._add(
                    f"{folders[controller]}/{name}", group_fields, read_out, f"{label}: {name}"
                )
            else:
                why = "the run has no group of its own" if controller in mounted else "not mounted"
                self.absent.append([f"{label}: {name}", f"{controller}: {why}"])
        if counters.PRESSURE in folders:
            self._open_pressure(folders[counters.PRESSURE], "its control group")
        else:
            self.absent.append([f"{label}: pressure", "version 1 has none"])

    def close(self) -> None:
        for source in self._sources:
            source.close()
        self._sources = []


class Processes:
    """What all processes that ended since then had requested: the difference of this process's
    totals and of this thread's (proc(5), getrusage(2)).
    """

    def __init__(self) -> None:
        self._io, self._usage = _children_io(), resource.getrusage(resource.RUSAGE_CHILDREN)

    def usage(self) -> "dict[str, float]":
        io, usage = _children_io(), resource.getrusage(resource.RUSAGE_CHILDREN)
        before = self._usage
        return {
            **{name: io[name] - self._io.get(name, 0) for name in io},
            "user_s": round(usage.ru_utime - before.ru_utime, 6),
            "system_s": round(usage.ru_stime - before.ru_stime, 6),
            "voluntary_switches": usage.ru_nvcsw - before.ru_nvcsw,
            "involuntary_switches": usage.ru_nivcsw - before.ru_nivcsw,
        }


def _children_io() -> "dict[str, int]":
    try:
        with open("/proc/self/io", encoding="ascii") as file:  # noqa: PTH123
            process_io = counters.numbers_by_name(file.read().replace(":", ""))
        with open("/proc/thread-self/io", encoding="ascii") as file:  # noqa: PTH123
            thread_io = counters.numbers_by_name(file.read().replace(":", ""))
    except OSError:
        return {}
    return {name: process_io[name] - thread_io.get(name, 0) for name in process_io}


def used_bytes(folder: str) -> "int | None":
    """What is in use of the folder's file system."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    return (room.f_blocks - room.f_bfree) * room.f_frsize


def contents(folder: str, start: str) -> "tuple[int, int] | None":
    """(files, bytes) of what begins with ``start`` in a folder; None where it takes long."""
    deadline = time.monotonic() + SPACE_S
    files = size = 0
    seen: set[int] = set()
    try:
        waiting = [
            entry
            for entry in os.scandir(folder)
            if entry.name == start or entry.name.startswith(f"{start}.")
        ]
        while waiting:
            entry = waiting.pop()
            if entry.is_dir(follow_symlinks=False):
                waiting += os.scandir(entry.path)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_nlink > 1 and status.st_ino in seen:
                    continue
                seen.add(status.st_ino) if status.st_nlink > 1 else None
                files, size = files + 1, size + status.st_size
                if files > MOST_FILES or time.monotonic() > deadline:
                    return None
    except OSError:
        return None
    return files, size


def start(send: Callable[..., None], plan: "dict[str, Any]") -> "Sampler | None":
    """A sampler for a plan, or None where it wants none. Never raises: a run goes on without."""
    every_s = float(plan.get("sample_every_s") or 0)
    if every_s <= 0:
        return None
    devices = [("data", plan["device"])]
    if plan.get("journal_device"):
        devices.append(("journal", plan["journal_device"]))
    for place, device in enumerate(plan.get("member_devices") or [], start=1):
        devices.append((f"member-{place}", device))
    try:
        is_shared = bool(plan.get("mount_point")) and not plan.get("unmount")
        return Sampler(send, devices, every_s, is_shared=is_shared)
    except Exception as error:
        why = str(error).rstrip(".")
        send("log", stream="fsbench", text=f"Nothing is sampled: {type(error).__name__}: {why}.")
        return None
