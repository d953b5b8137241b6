"""What holds for one run alone: load, free memory, what the device did meanwhile.

It is kept with the run (``Run.conditions``) and apart from the environment, which stays one row for
all runs on the same system::

    {"before": {"load": [0.1, 0.2, 0.3], "processors": 2, "memory_free_bytes": 1,
                "memory_available_bytes": 2, "governors": ["performance"], "caches_dropped": true,
                "scheduler": "none"},
     "device": {"before": {"reads": 0, ...}, "after": {"reads": 9, ...}},
     "swap": {"space_bytes": 2147483648, "written_bytes": 4096},
     "promise": {"verdict": "kept", "reason": "", "syncs": 300, "needed": 300, "flushes": 600,
                 "known_by": "tool", "ratio": 2.0},
     "durability": {"verdict": "nothing_lost", "points": 300, "lost": 0, "broken": 0, ...},
     "guest": {"boot_s": 5.2}}

``swap`` is there where the run's memory was limited and its swap could not be (runner.host.swap).
It is how much the host has, and how much was swapped out meanwhile by whatever ran there.

``studies.runs.lifecycle`` adds ``others``, the runs that were active meanwhile, and ``busy`` where
the machine had other work (``studies.scores.busy``). What the host does not tell is left out.
Sources: proc(5), the kernel's Documentation/block/stat.rst.
"""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from runner.host.hardware import text_of
from runner.safety import blockdev

# The fields of /sys/block/*/stat that every kernel has; later ones are named as far as they came.
# Sectors are 512 bytes whatever the device's own are; times are milliseconds.
STATISTICS = (
    *("reads", "reads_merged", "sectors_read", "read_ms"),
    *("writes", "writes_merged", "sectors_written", "write_ms"),
    *("in_flight", "busy_ms", "weighted_ms"),
    *("discards", "discards_merged", "sectors_discarded", "discard_ms"),
    *("flushes", "flush_ms"),
)


def host_state(caches_dropped: bool, scheduler: str) -> dict[str, Any]:
    """The state of the host as the run begins."""
    state: dict[str, Any] = {"caches_dropped": caches_dropped}
    if scheduler:
        state["scheduler"] = scheduler
    with contextlib.suppress(OSError):
        state["load"] = list(os.getloadavg())
    if processors := os.cpu_count():
        state["processors"] = processors
    memory = text_of("/proc/meminfo")
    for key, name in (
        ("memory_total_bytes", "MemTotal"),
        ("memory_free_bytes", "MemFree"),
        ("memory_available_bytes", "MemAvailable"),
    ):
        match = re.search(rf"^{name}:\s+(\d+) kB", memory, re.M)
        if match:
            state[key] = int(match[1]) * 1024
    governors = governors_in_use()
    if governors:
        state["governors"] = governors
    return state


def governors_in_use(root: Path = Path("/sys/devices/system/cpu")) -> list[str]:
    """The frequency governors of all processors, each once; empty where there is no such thing."""
    return sorted(
        {text_of(path).strip() for path in root.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
    )


CPU_FOLDER = Path("/sys/devices/system/cpu")


def turbo(root: Path = CPU_FOLDER) -> str:
    """Whether processors may exceed their rated speed (intel_pstate.rst no_turbo, cpufreq.rst
    boost).
    """
    no_turbo, boost = (
        text_of(root / "intel_pstate/no_turbo").strip(),
        text_of(root / "cpufreq/boost").strip(),
    )
    if no_turbo in ("0", "1"):
        return "off" if no_turbo == "1" else "on"
    if boost in ("0", "1"):
        return "on" if boost == "1" else "off"
    return "not known: the kernel does not say"


def idle_states(root: Path = CPU_FOLDER) -> str:
    """The idle states that the first processor may enter, and the driver; admin-guide/pm/cpuidle"""
    states = []
    for folder in sorted(root.glob("cpu0/cpuidle/state[0-9]*")):
        name = text_of(folder / "name").strip()
        is_off = text_of(folder / "disable").strip() not in ("", "0")
        states.append(f"{name or folder.name}{' (off)' if is_off else ''}")
    if not states:
        return "not known: the kernel offers none"
    driver = text_of(root / "cpuidle/current_driver").strip()
    return ", ".join(states) + (f" ({driver})" if driver and driver != "none" else "")


def device_statistics(number: int | None) -> dict[str, int]:
    """Counters of the device by name; empty where unknown."""
    if number is None:
        return {}
    return parse_statistics(text_of(blockdev.sys_folder(number) / "stat"))


def swapped_between(before: int | None, after: int | None) -> dict[str, int]:
    """What was swapped out between two counts; nothing where the kernel does not tell."""
    return {} if before is None or after is None else {"written_bytes": after - before}


def parse_statistics(text: str) -> dict[str, int]:
    """``/sys/block/*/stat``: {name: count, sectors of 512 bytes, or milliseconds}."""
    values = text.split()
    if not all(value.isdigit() for value in values):
        return {}
    return {name: int(value) for name, value in zip(STATISTICS, values, strict=False)}


def system_facts() -> dict[str, list[list[str]]]:
    """What stays the same from run to run, for the environment: {section: [[label, value], ...]}"""
    facts: dict[str, list[list[str]]] = {}
    line = text_of("/proc/cmdline").strip()
    if line:
        facts["Kernel command line"] = [["Command line", line]]
    governors = governors_in_use()
    facts["Processor frequency"] = [
        ["Governor", ", ".join(governors) or "none: the kernel offers no frequency scaling"],
        ["Turbo", turbo()],
        ["Idle states", idle_states()],
    ]
    if microcode := microcode_of(text_of("/proc/cpuinfo")):
        facts["Processor microcode"] = [["Revision", microcode]]
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    mitigations = [
        [path.name, text]
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if (text := text_of(path).strip())
    ]
    if mitigations:
        facts["Processor vulnerabilities and mitigations"] = mitigations
    return facts


def microcode_of(cpuinfo: str) -> str:
    """The revisions of all processors, each once; "" where the kernel does not say."""
    return ", ".join(sorted(set(re.findall(r"^microcode\s*:\s*(\S+)$", cpuinfo, re.M))))
