"""Published studies that can be run again as a job. No HTTP here.

Source: ``published/unisys-2005``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.configurations.filesystems import EXTERNAL_JOURNAL_FILESYSTEMS, FILESYSTEMS
from fsbench_web.catalog.workers.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    GUEST,
    LEAST_MEMORY_BYTES,
    MIB,
    GuestAbility,
    GuestKernel,
    memory_words,
)

PAPERS = {"unisys-2005": "Unisys 2005, reproduced"}
"""The published studies that can be reproduced, with the title of the new study."""
TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
FILESYSTEMS_OF_PAPER = ("ext2", "ext3", "reiser3", "jfs", "xfs")
SCHEDULERS_OF_PAPER = {
    "anticipatory": "anticipatory",
    "bfq": "cfq",
    "cfq": "cfq",
    "mq-deadline": "deadline",
    "none": "noop",
}
"""Today's names by what the paper calls them; BFQ is the heir of CFQ and not the same."""
MEMORY_OF_PAPER, CPUS_OF_PAPER, AGCOUNT = 8 * 1024 * MIB, 8, "16"
REPEATS = 2
PAPER, SMALL, CELL = "paper", "small", "cell"
SIZES = {
    PAPER: "The paper's matrix: records of 1 KB to 1 MB in files of 4 KB to 4 GB",
    SMALL: "A small matrix: records of 4 to 64 KB in files of 64 KB to 4 MB",
    CELL: "One cell, records of 4 KB in a file of 1 MB: only to see that it works",
}
_WORKLOADS: Mapping[str, Any] = {
    PAPER: "iozone-paper",
    SMALL: "iozone-small",
    CELL: {
        "name": "iozone-small",
        "parameters": {
            "minimum_record_kb": 4,
            "maximum_record_kb": 4,
            "minimum_file_kb": 1024,
            "maximum_file_kb": 1024,
        },
    },
}
FULL, PLAIN = "full", "plain"
TUNINGS = {
    FULL: "All of the paper's tuning: journal modes, access times, schedulers, journals, "
    "allocation groups",
    PLAIN: "Each file system as it is, with one scheduler",
}
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class ReproductionRequest:
    """What somebody wants of a reproduction. No kernel, file system or memory: the usual ones."""

    size: str = PAPER
    tuning: str = FULL
    kernels: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    memory_mib: int | None = None


def usual_kernels(ability: GuestAbility, wanted: Sequence[str] = FILESYSTEMS_OF_PAPER) -> list[str]:
    """The fewest kernels that mount the paper's file systems, with its anticipatory scheduler."""
    missing, chosen = set(wanted), []
    while missing:
        best = max(
            ability.usable_kernels,
            key=lambda kernel: (
                len({slug for slug in missing if kernel.mounts(slug)}),
                "anticipatory" in kernel.elevators,
            ),
            default=None,
        )
        gained = {slug for slug in missing if best is not None and best.mounts(slug)}
        if best is None or not gained:
            break
        chosen.append(best.name)
        missing -= gained
    return chosen


def unisys_2005(
    wish: ReproductionRequest,
    ability: GuestAbility,
    *,
    study: str,
    lun: str,
    worker: str,
    journal: str = "",
) -> tuple[dict[str, Any], list[str]]:
    """The job of the Unisys 2005 paper on this LUN as a document, and in what it differs from the
    paper. ``journal`` is a LUN for journals, or "".
    """
    wanted = wish.filesystems or FILESYSTEMS_OF_PAPER
    names = list(wish.kernels) or usual_kernels(ability, wanted)
    kernels = [kernel for kernel in ability.usable_kernels if kernel.name in names]
    mounted = [slug for slug in wanted if any(kernel.mounts(slug) for kernel in kernels)]
    memory, cpus = _machine(wish, ability)
    schedulers = _schedulers(kernels, wish.tuning)
    atime = "strictatime" if all(map(_has_strictatime, kernels)) else "default"
    is_full = wish.tuning == FULL
    document = {
        "study": study,
        "lun": lun,
        "worker": worker,
        "configurations": [_configuration(slug, atime, journal, is_full) for slug in mounted],
        **({"schedulers": schedulers} if schedulers else {}),
        "workloads": [_WORKLOADS[wish.size]],
        "repeats": REPEATS,
        "executor": GUEST,
        "guest": {"kernels": names, "memory_mib": memory // MIB, "cpus": cpus},
    }
    notes = [
        "The hardware is another one, and so are the disks: scores are not to be compared with the "
        "paper's. What can be compared is who is ahead of whom, and how far.",
        *_kernel_notes(kernels, is_full, schedulers),
        *_left_out(wanted, mounted),
    ]
    if atime == "strictatime":
        notes.append(
            "Access times were written at every read by default in 2005: that is strictatime today."
        )
    if is_full:
        notes.append(
            "The paper varied XFS's allocation groups and does not print how many there were: here "
            f"the default and {AGCOUNT}."
        )
        if not journal:
            notes.append(
                "The paper also kept journals on a LUN of their own; this worker lists no usable "
                'LUN with the role "journal", so that this is left out.'
            )
    else:
        notes.append("The paper's tuning is left out: a best case of one configuration is no best.")
    if wish.size != PAPER:
        notes.append(f"Not the paper's matrix. {SIZES[wish.size]}.")
    if memory != MEMORY_OF_PAPER or cpus != CPUS_OF_PAPER:
        notes.append(
            f"The paper's server had {memory_words(MEMORY_OF_PAPER)} of memory and "
            f"{CPUS_OF_PAPER} processors; the guest has {memory_words(memory)} and {cpus}."
        )
    if ability.is_emulated:
        notes.append(
            "Guests are emulated here: this shows that the paper's work can be done again, and "
            "nothing of its speeds."
        )
    return document, notes


def _configuration(slug: str, atime: str, journal: str, is_full: bool) -> dict[str, Any]:
    """One entry of the document. ext2 was a high-water mark: schedulers, no other tuning."""
    entry: dict[str, Any] = {"filesystem": slug}
    options: dict[str, Any] = {} if atime == "default" else {"atime": atime}
    if is_full and slug != "ext2":
        options["atime"] = [atime, "noatime"]
        if slug in ("ext3", "reiser3"):
            options["journal_mode"] = ["ordered", "writeback", "journal"]
        if slug == "xfs":
            options["agcount"] = ["default", AGCOUNT]
        # The paper kept those of ext3, JFS and XFS on another LUN, not that of ReiserFS.
        if journal and slug != "reiser3" and slug in EXTERNAL_JOURNAL_FILESYSTEMS:
            entry["journals"] = ["internal", journal]
    if options:
        entry["options"] = options
    return entry


def _machine(wish: ReproductionRequest, ability: GuestAbility) -> tuple[int, int]:
    # To see that it works takes no more than any guest has.
    memory = DEFAULT_MEMORY_BYTES if wish.size == CELL else MEMORY_OF_PAPER
    cpus = DEFAULT_CPUS if wish.size == CELL else CPUS_OF_PAPER
    if ability.most_memory_bytes is not None:
        memory = max(LEAST_MEMORY_BYTES, min(memory, ability.most_memory_bytes // MIB * MIB))
    if wish.memory_mib is not None:
        memory = wish.memory_mib * MIB
    return memory, min(cpus, ability.most_cpus) if ability.most_cpus else cpus


def _schedulers(kernels: Sequence[GuestKernel], tuning: str) -> list[str]:
    offered = dict.fromkeys(name for kernel in kernels for name in kernel.elevators)
    schedulers = [name for name in SCHEDULERS_OF_PAPER if name in offered]
    if "cfq" in schedulers and "bfq" in schedulers:
        schedulers.remove("bfq")
    schedulers = schedulers or list(offered)
    if tuning == FULL:
        return schedulers
    # One that every kernel has, where there is one.
    common = [name for name in schedulers if all(name in kernel.elevators for kernel in kernels)]
    return (common or schedulers)[-1:]


def _kernel_notes(
    kernels: Sequence[GuestKernel], is_full: bool, schedulers: Sequence[str]
) -> list[str]:
    versions = ", ".join(kernel.version or kernel.name for kernel in kernels)
    notes = [f"The paper's kernel was 2.6.5; here it is {versions}."] if kernels else []
    missing = [
        name
        for name in ("anticipatory", "cfq", "deadline", "noop")
        if name
        not in {SCHEDULERS_OF_PAPER[scheduler] for scheduler in schedulers if scheduler != "bfq"}
    ]
    if is_full and missing:
        heir = " BFQ replaces CFQ, as its successor." if "bfq" in schedulers else ""
        notes.append(
            f"Of the paper's I/O schedulers no kernel chosen has {' and '.join(missing)}.{heir}"
        )
    return notes


def _left_out(wanted: Sequence[str], mounted: Sequence[str]) -> list[str]:
    names = [FILESYSTEMS[slug].name for slug in wanted if slug not in mounted]
    return [f"No kernel chosen mounts {', '.join(names)}: left out."] if names else []


def _has_strictatime(kernel: GuestKernel) -> bool:
    """mount(8): since Linux 2.6.30. A kernel of unknown version is taken for one of today."""
    match = _VERSION.match(kernel.version)
    return match is None or tuple(int(part or 0) for part in match.groups()) >= (2, 6, 30)
