"""What a job may be submitted with, and should not be without knowing: review page and API."""

from collections.abc import Callable, Sequence

from fsbench_web.catalog.configurations.filesystems import ALL
from fsbench_web.catalog.configurations.options import BTRFS_COMPRESSION, JOURNAL_MODE
from fsbench_web.catalog.configurations.zfs import PRIMARYCACHE
from fsbench_web.catalog.workers import capacity, same_host
from fsbench_web.core.stats.verdicts import LEAST_BLOCKS, least_blocks
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models.studies import client_luns
from fsbench_web.studies.runs.probes import OF_SEVERAL

MOST_NAMED = 5


def by_kind(spec: JobSpec, runs: Sequence[PlannedRun]) -> dict[str, list[str]]:
    """All warnings, in the order of the API, by what the review page calls them."""
    return {
        "memory_warnings": of_memory(runs),
        "client_warnings": of_clients(runs),
        "data_warnings": of_data(runs),
        "cache_warnings": of_cache(runs),
        "repeat_warnings": of_repeats(spec, runs),
        "without_probe": of_probe(spec, runs),
    }


def of_memory(runs: Sequence[PlannedRun]) -> list[str]:
    """What the memory of the worker's host, or of the guest, makes of the workloads, each once."""
    machine = runs[0].machine
    memory = machine.memory_bytes or capacity.memory_bytes(runs[0].lun.worker)
    if machine.limits.memory_bytes:
        memory = min(memory or machine.limits.memory_bytes, machine.limits.memory_bytes)
    workloads = dict.fromkeys(run.workload[1] for run in runs)
    warnings = (workload.memory_warning(memory) for workload in workloads)
    return list(dict.fromkeys(sentence for sentence in warnings if sentence))


def of_clients(runs: Sequence[PlannedRun]) -> list[str]:
    """Which of the workers that measure at once are no hosts of their own."""
    others = client_luns(runs[0].machine.clients)
    workers = [runs[0].lun.worker, *(lun.worker for lun in others)] if others else []
    return same_host.in_words(same_host.on_one_machine(workers))


def of_probe(spec: JobSpec, runs: Sequence[PlannedRun]) -> list[str]:
    """Which configurations have no ceiling, though their LUN alone is to be measured."""
    unmeasured = list(dict.fromkeys(run.configuration for run in runs if not _is_measured(run)))
    if not spec.probe_s or not unmeasured:
        return []
    more = f" and {len(unmeasured) - MOST_NAMED} more" if len(unmeasured) > MOST_NAMED else ""
    return [f"{', '.join(unmeasured[:MOST_NAMED])}{more}: {OF_SEVERAL}"]


def of_repeats(spec: JobSpec, runs: Sequence[PlannedRun]) -> list[str]:
    """That many contenders want more repeats than a few."""
    contenders = len({run.configuration for run in runs})
    needed, repeats = least_blocks(contenders), spec.planned_repeats
    if not LEAST_BLOCKS <= repeats < needed:
        return []
    return [
        f"{contenders} configurations in {repeats} repeats: one of so many may look faster by "
        "chance, if the speed of runs changes now and then for other reasons than the file system. "
        f"{needed} repeats tell."
    ]


def _is_measured(run: PlannedRun) -> bool:
    return not run.members or run.shape.is_one_device


def of_data(runs: Sequence[PlannedRun]) -> list[str]:
    """What compressible data make of a file system that compresses, each once."""
    key = BTRFS_COMPRESSION.key
    compressing = [run for run in runs if run.options.get(key, "off") != "off"]
    warnings = dict.fromkeys(
        run.workload[1].data_warning() for run in compressing if not _is_left_uncompressed(run)
    )
    names = dict.fromkeys(run.workload[1].name for run in compressing if _is_left_uncompressed(run))
    return [
        *(sentence for sentence in warnings if sentence),
        *([f"{', '.join(names)}: {UNCOMPRESSED}"] if names else []),
    ]


UNCOMPRESSED = (
    "room for files is taken before they are written (fallocate), and of such files Btrfs "
    "compresses nothing, so that this measures Btrfs without compression. fio's workloads can do "
    "without: “Preallocate the files” (fallocate=none in a job file)."
)


def _is_left_uncompressed(run: PlannedRun) -> bool:
    """Btrfs compresses nothing preallocated (``should_nocow`` of ``fs/btrfs/inode.c``, 6.18)."""
    return _compresses(run) and run.workload[1].is_preallocated


def of_cache(runs: Sequence[PlannedRun]) -> list[str]:
    """Where the page cache serves direct I/O, each once. The file systems take O_DIRECT anyway.

    Sources: OpenZFS's release notes of 0.8 and 2.3, Documentation/admin-guide/ext4.rst, btrfs(5).
    """
    warnings = []
    direct = [run for run in runs if run.workload[1].is_direct]
    for is_cached, sentence in _CACHED:
        names = dict.fromkeys(run.workload[1].name for run in direct if is_cached(run))
        if names:
            warnings.append(f"{', '.join(names)} asks for direct I/O, which {sentence}")
    return warnings


def _is_cached_pool(run: PlannedRun) -> bool:
    return ALL[run.filesystem].is_pool and run.options.get(PRIMARYCACHE.key, "all") == "all"


def _journals_data(run: PlannedRun) -> bool:
    return run.options.get(JOURNAL_MODE.key) == "journal"


def _compresses(run: PlannedRun) -> bool:
    return (
        run.filesystem == "btrfs" and run.options.get(BTRFS_COMPRESSION.key, "default") not in _NONE
    )


_NONE = ("default", "off")
_CACHED: tuple[tuple[Callable[[PlannedRun], bool], str], ...] = (
    (
        _is_cached_pool,
        "OpenZFS before 2.3 takes and ignores: what it reads may come from memory. primarycache "
        "metadata comes nearest to direct I/O.",
    ),
    (
        _journals_data,
        "ext3 and ext4 with data=journal take and ignore: reads and writes go by the page cache, "
        "and what is measured may be memory.",
    ),
    (
        lambda run: _compresses(run) and not _is_left_uncompressed(run),
        "Btrfs takes and ignores for what it compresses: it goes by the page cache, and what is "
        "measured may be memory.",
    ),
)
