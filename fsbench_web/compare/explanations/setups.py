"""Recorded differences between the set-ups of two series, and what each is known to change.

Sources of ``FITS``: the kernel's admin-guide/ext4.rst, block/bfq-iosched.rst, block/stat.rst and
admin-guide/cgroup-v2.rst (io.max). Manual pages: xfs(5), mkfs.xfs(8), btrfs(5), zfsprops(7).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.limits import LIMITS
from fsbench_web.studies.models import Series

MOST_SETUPS = 20
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
"""Costs that a setting is known to change, by its name."""


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


_Recorded = dict[str, tuple[str, str]]
"""(label, value) by name; "" is nothing, or the tool's default."""


def setups(first: Series, second: Series) -> list[SetupDifference]:
    """What is on record of both and differs: of ``first``, then of ``second``. At most some."""
    is_known = first.configuration.is_known and second.configuration.is_known
    of_first, of_second = (
        recorded_settings(series, with_options=is_known) for series in (first, second)
    )
    return list(_setup_differences(of_first, of_second))[:MOST_SETUPS]


def recorded_settings(series: Series, *, with_options: bool = True) -> _Recorded:
    """(label, value) of each setting on record, by name; options only if they are known."""
    settings = dict(_series_settings(series))
    if with_options and series.configuration.is_known:
        settings |= dict(_configuration_settings(series))
    return settings


def _setup_differences(of_first: _Recorded, of_second: _Recorded) -> Iterator[SetupDifference]:
    for name in dict.fromkeys([*of_first, *of_second]):
        label = (of_first.get(name) or of_second[name])[0]
        values = [side.get(name, ("", ""))[1] for side in (of_first, of_second)]
        usual = "default" if name.startswith("option.") else "none"
        if values[0] != values[1] and (all(values) or name not in _NEVER_NONE):
            yield SetupDifference(name, label, values[0] or usual, values[1] or usual)


_NEVER_NONE = ("filesystem", "kernel", "workload", "lun", "hardware")
"""Every run has them: where there is none, nobody wrote it down."""


def _configuration_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of a configuration with known options."""
    configuration = series.configuration
    spec = FILESYSTEMS.get(configuration.filesystem)
    names = {option.key: option.name for option in spec.options} if spec else {}
    for key, value in sorted(configuration.options.items()):
        yield f"option.{key}", (names.get(key, key), str(value))
    yield "scheduler", ("I/O scheduler", configuration.scheduler)
    where = "on a LUN of its own" if configuration.external_journal else "on the data LUN"
    yield "journal", ("journal", where)


def _series_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    machine = series.runs_on
    yield "filesystem", ("file system", series.configuration.filesystem)
    for name, limit in machine.limits.stored().items():
        yield f"limits.{name}", (LIMITS[name].name, str(limit))
    if machine.is_guest:
        yield "guest", ("guest", machine.words)
    yield "stack", ("other LUNs", series.stack_luns)
    yield "preparation", ("preparation", preparation.in_words(series.preparation))
    yield "kernel", ("kernel", series.kernel)
    yield "workload", ("workload", series.workload.title if series.workload else "")
    yield "lun", ("LUN", series.lun.name if series.lun else "")
    yield "hardware", ("hardware", series.hardware.name if series.hardware else "")
