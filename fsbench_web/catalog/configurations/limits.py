"""What the control group of a run may use; part of a series' machine. Pure: no Django.

Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/blkio-controller.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MIB = 1024 * 1024
LEAST_MEMORY_MIB = 64


@dataclass(frozen=True)
class LimitKind:
    """One limit: the most it may be, its name, and what words, pages and forms say of it.

    More than ``most`` limits nothing on any machine of today, and is a mistake.
    """

    most: int
    name: str
    words: str
    label: str
    unit: str
    help: str = ""


LIMITS = {
    "read_mib_s": LimitKind(
        *(1_000_000, "limit of reads, MiB/s", "reads {} MiB/s", "Reads", "MiB/s"),
        "Of each LUN of the run.",
    ),
    "write_mib_s": LimitKind(
        *(1_000_000, "limit of writes, MiB/s", "writes {} MiB/s", "Writes", "MiB/s"),
        "Under version 1 of control groups of direct writes alone.",
    ),
    "read_iops": LimitKind(
        *(100_000_000, "limit of reads a second", "{} reads/s", "Reads", "requests/s")
    ),
    "write_iops": LimitKind(
        *(100_000_000, "limit of writes a second", "{} writes/s", "Writes", "requests/s")
    ),
    "memory_mib": LimitKind(
        *(16 * MIB, "limit of memory, MiB", "{} MiB of memory", "Memory", "MiB"),
        "The page cache is part of it.",
    ),
    "cpus": LimitKind(1024, "limit of CPUs", "{} CPUs", "CPUs", "number"),
}


@dataclass(frozen=True)
class Limits:
    """0: not limited. Rates are of each LUN, in MiB or requests a second; memory has page cache."""

    read_mib_s: int = 0
    write_mib_s: int = 0
    read_iops: int = 0
    write_iops: int = 0
    memory_mib: int = 0
    cpus: int = 0

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> "Limits":
        """The inverse of ``stored``; what another version wrote besides is left out."""
        values = stored or {}
        return cls(**{field.name: int(values.get(field.name) or 0) for field in fields(cls)})

    def stored(self) -> dict[str, int]:
        """Only what is limited."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    @property
    def are_any(self) -> bool:
        return bool(self.stored())

    @property
    def memory_bytes(self) -> int | None:
        return self.memory_mib * MIB or None

    @property
    def rates(self) -> dict[str, int]:
        """Those of the LUNs: read_bps, write_bps (bytes a second), read_iops, write_iops."""
        rates = {
            "read_bps": self.read_mib_s * MIB,
            "write_bps": self.write_mib_s * MIB,
            "read_iops": self.read_iops,
            "write_iops": self.write_iops,
        }
        return {name: value for name, value in rates.items() if value}

    @property
    def words(self) -> str:
        """For people: "at most reads 16 MiB/s, 2 CPUs"; "" without any."""
        parts = [LIMITS[name].words.format(value) for name, value in self.stored().items()]
        if self.cpus == 1:
            parts[-1] = "1 CPU"
        return f"at most {', '.join(parts)}" if parts else ""


NO_LIMITS = Limits()
