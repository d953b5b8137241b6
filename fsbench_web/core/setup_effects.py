"""What is known to follow from a difference of the set-up: which costs and waits it changes. Pure.

They are named before anything is measured, so that more of the chance of a false alarm may be spent
on them (``explanation``). Sources: the kernel's Documentation/filesystems/ext4/ and
admin-guide/ext4.rst (barrier, data=, commit, fast_commit), block/bfq-iosched.rst and
block/stat.rst (what a scheduler merges, and its time for each request), admin-guide/cgroup-v2.rst
(io.max: what is over the limit waits before it is a request), xfs(5), mkfs.xfs(8) (log), btrfs(5)
(compression, checksums, profiles, copy on write), zfsprops(7) (recordsize, logbias, sync,
primarycache).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_PROCESSORS = ("process_cpu_seconds_per_gib", "cpu_seconds_per_gib")
_JOURNAL = ("write_amplification", "flushes_per_1000_operations", "mean_write_request")
_WAITED = ("wait_outside_device",)
FITS: dict[str, tuple[str, ...]] = {
    "scheduler": (
        *("merged_share", "mean_read_request", "mean_write_request"),
        "process_cpu_seconds_per_gib",
    ),
    "journal": _JOURNAL,
    "limits.read_mib_s": _WAITED,
    "limits.write_mib_s": _WAITED,
    "limits.read_iops": _WAITED,
    "limits.write_iops": _WAITED,
    "limits.cpus": ("cpu_pressure",),
    "limits.memory_mib": ("memory_pressure", "read_amplification"),
    "option.barrier": ("flushes_per_1000_operations",),
    "option.journal_mode": _JOURNAL,
    "option.journal_size_mb": _JOURNAL,
    "option.log_size_mb": _JOURNAL,
    "option.fast_commit": _JOURNAL,
    "option.compression": ("write_amplification", "space_amplification", *_PROCESSORS),
    "option.checksum": _PROCESSORS,
    "option.copy_on_write": ("write_amplification", "mean_write_request"),
    "option.data_profile": ("write_amplification", "space_amplification"),
    "option.metadata_profile": ("write_amplification", "space_amplification"),
    "option.block_size": ("space_amplification", "write_amplification"),
    "option.cluster_size": ("space_amplification", "write_amplification"),
    "option.recordsize": ("write_amplification", "read_amplification", "mean_write_request"),
    "option.layout": ("write_amplification", "space_amplification"),
    "option.logbias": ("write_amplification", "mean_write_request"),
    "option.sync": ("flushes_per_1000_operations", "write_amplification"),
    "option.primarycache": ("read_amplification",),
    "option.atime": ("write_amplification",),
    "option.lazytime": ("write_amplification",),
}
"""By the name of what differs; of what is not here nobody says what it changes."""


@dataclass(frozen=True)
class SetupDifference:
    """What was set up differently: ``value`` of the contender, ``other`` of the reference."""

    name: str
    label: str
    value: str
    other: str

    @property
    def fits(self) -> tuple[str, ...]:
        """The costs and waits that it is known to change."""
        return FITS.get(self.name, ())


def fitting(setups: Sequence[SetupDifference]) -> frozenset[str]:
    """The costs and waits that any of them is known to change."""
    return frozenset(test for setup in setups for test in setup.fits)


def weights(tests: Sequence[str], fits: Collection[str]) -> list[float]:
    """The shares of the chance of a false alarm: half of it is spent on those that fit."""
    count = sum(test in fits for test in tests)
    if count in (0, len(tests)):
        return [1.0 / len(tests)] * len(tests)
    return [0.5 / count if test in fits else 0.5 / (len(tests) - count) for test in tests]
