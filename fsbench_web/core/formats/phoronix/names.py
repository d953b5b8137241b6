"""Units and systems of the Phoronix Test Suite, in the words of fsbench."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.core.formats.values import test_name

_TIMES = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), "µs"),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), "ns"),
}
_RATE = re.compile(r"(.{1,16})(?:/s|/sec|/second| per second)", re.IGNORECASE)
_KNOWN = re.compile(
    r"ext[234]|xfs|btrfs|jfs|reiserfs|f2fs|zfs|bcachefs|nilfs2|ntfs|overlayfs|tmpfs"
)
_FILESYSTEM = re.compile(r"File-?System:\s*([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_KERNEL = re.compile(r"(?:^|,)\s*Kernel:\s*([0-9][A-Za-z0-9.+~_-]{0,199})")


@dataclass(frozen=True)
class System:
    """What an entry of a result belongs to; empty where the file does not say."""

    name: str
    filesystem: str


def unit_of(scale: str, proportion: str) -> str:
    """The unit in fsbench's words; "" for no rate and no time, or if HIB or LIB contradicts it."""
    scale = scale.strip()
    if (time := _TIMES.get(scale.lower())) is not None:
        return time if proportion != "HIB" else ""
    if proportion == "LIB":
        return ""
    if scale.lower() in ("iops", "tps"):
        return scale.upper()
    rate = _RATE.fullmatch(scale)
    return f"{rate[1]}/s" if rate is not None else ""


class TestNames:
    """The names of the tests of one file, of which a profile may give several units.

    Names always say IOPS: pts/fio leaves bandwidth or IOPS out where both are the same number.
    """

    def __init__(self) -> None:
        self._units: dict[str, str] = {}

    def name(self, profile: str, description: str, unit: str) -> str:
        """The name of what a profile calls ``description``, in ``unit``."""
        text = "iops" if unit == "IOPS" and "iops" not in description.lower() else ""
        test = test_name(profile, text, description)
        if self._units.setdefault(test, unit) != unit:
            test = test_name(profile, unit, description)
        return test


def filesystem_of(software: str) -> str:
    """The file system that the description of a system names; empty without one."""
    match = _FILESYSTEM.search(software)
    return match[1].lower() if match else ""


def kernel_of(software: str) -> str:
    """The release of the kernel that the description of a system names; empty without one."""
    match = _KERNEL.search(software)
    return match[1] if match else ""


def place_of(name: str, systems: Sequence[System], *, several: bool) -> System:
    """Where the results of a system belong; only several systems name configurations."""
    filesystem = next((system.filesystem for system in systems if system.name == name), "")
    match = _KNOWN.search(name.lower())
    if match is not None:
        filesystem = match[0]
    label = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")[:120]
    return System(label if several else "", filesystem)
