"""What the control group of a run may use; part of a series' machine. Pure: no Django.

Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/blkio-controller.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MIB = 1024 * 1024
LEAST_MEMORY_MIB = 64
MOST = {
    "read_mib_s": 1_000_000,
    "write_mib_s": 1_000_000,
    "read_iops": 100_000_000,
    "write_iops": 100_000_000,
    "memory_mib": 16 * MIB,
    "cpus": 1024,
}
"""More than any machine of today does: a limit that limits nothing is a mistake."""
WORDS = {
    "read_mib_s": "limit of reads, MiB/s",
    "write_mib_s": "limit of writes, MiB/s",
    "read_iops": "limit of reads a second",
    "write_iops": "limit of writes a second",
    "memory_mib": "limit of memory, MiB",
    "cpus": "limit of CPUs",
}
"""What each is called."""
_WORDS = {
    "read_mib_s": "reads {} MiB/s",
    "write_mib_s": "writes {} MiB/s",
    "read_iops": "{} reads/s",
    "write_iops": "{} writes/s",
    "memory_mib": "{} MiB of memory",
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
        parts = [
            _WORDS[name].format(value) for name, value in self.stored().items() if name in _WORDS
        ]
        if self.cpus:
            parts.append(f"{self.cpus} CPU{'' if self.cpus == 1 else 's'}")
        return f"at most {', '.join(parts)}" if parts else ""


NO_LIMITS = Limits()
