"""Machines of runs: the worker's own executor, or a guest with a kernel of its own. Pure.

An emulated guest shows that something works, never how fast it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.labels import canonical_scheduler
from fsbench_web.catalog.configurations.limits import NO_LIMITS, Limits

HOST, GUEST = "own", "guest"
EXECUTORS = {
    HOST: "The worker's own executor",
    GUEST: "A guest kernel, booted for every run",
}
KVM, EMULATED = "kvm", "emulated"
# As the plan of a guest run names its LUNs: the first and the second virtio disk.
GUEST_DEVICE, GUEST_JOURNAL_DEVICE = "/dev/vda", "/dev/vdb"
# The letters of the disks in a guest: those of a stack come behind the LUN and its journal.
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Artefacts of a guest run: all that its kernel printed, and the lines of a crash alone.
CONSOLE, OOPS = "console.log", "oops.txt"
MIB = 1024**2
LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES = 256 * MIB, 1024 * 1024 * MIB
LEAST_CPUS, MOST_CPUS = 1, 256
DEFAULT_MEMORY_BYTES, DEFAULT_CPUS = 1024 * MIB, 2
TO_BE_BOOTED = "It is about to be booted for the first time."
"""What a worker announces as the problem of a kernel that nobody has tried yet."""
_PACKAGE = re.compile(r"linux-image-[a-z0-9][a-z0-9.+~-]{0,80}")
_TOO_OLD = (
    "This worker is of another version of fsbench, which fetches no kernels: bring it up to date."
)
WHERE_FETCHED = "on the worker's page"
"""Where an administrator fetches a kernel, as a worker that has none announces it."""
USUAL_BOOT_S = {KVM: 5, EMULATED: 15}
"""What a boot takes where the worker has not measured its own yet, in seconds."""


def guest_device(place: int) -> str:
    """What the LUN in this place is called in a guest, of all that its run uses, from 0."""
    return f"/dev/vd{_LETTERS[place]}"


def guest_devices(count: int, has_journal: bool) -> list[str]:
    """What the other LUNs of a stack are called in a guest, in their order."""
    first = 2 if has_journal else 1
    return [guest_device(first + place) for place in range(count)]


@dataclass(frozen=True)
class Machine:
    """Where a series is run; without ``kernel`` by the worker's own executor.

    ``memory_bytes`` and ``cpus`` are the guest's; ``limits`` those of a control group, which a
    guest has not. ``clients``: (worker, LUN) of other workers that measure at the same time.
    """

    kernel: str = ""
    accelerator: str = ""
    memory_bytes: int = 0
    cpus: int = 0
    limits: Limits = NO_LIMITS
    clients: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> "Machine":
        """The inverse of ``stored``."""
        if not stored:
            return OWN_MACHINE
        if stored.get("executor") != GUEST:
            clients = tuple((str(worker), str(lun)) for worker, lun in stored.get("clients") or ())
            return cls(limits=Limits.of(stored.get("limits")), clients=clients)
        return cls(
            str(stored.get("kernel") or ""),
            str(stored.get("accelerator") or ""),
            int(stored.get("memory_bytes") or 0),
            int(stored.get("cpus") or 0),
        )

    def stored(self) -> dict[str, Any]:
        """As ``Series.machine`` has it; empty for the worker's own executor, alone, no limits."""
        if not self.is_guest:
            machine: dict[str, Any] = (
                {"limits": self.limits.stored()} if self.limits.are_any else {}
            )
            # In one order: who was named first makes no other series.
            return machine | ({"clients": sorted(map(list, self.clients))} if self.clients else {})
        return {
            "executor": GUEST,
            "kernel": self.kernel,
            "accelerator": self.accelerator,
            "memory_bytes": self.memory_bytes,
            "cpus": self.cpus,
        }

    @property
    def is_guest(self) -> bool:
        return bool(self.kernel)

    @property
    def is_emulated(self) -> bool:
        """Whether speeds measured here are no speeds of anything."""
        return self.accelerator == EMULATED

    @property
    def client_words(self) -> str:
        """For people: "3 clients (with node2, node3)"; "" for one."""
        if not self.clients:
            return ""
        names = [worker for worker, _ in sorted(self.clients)]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{1 + len(names)} clients (with {', '.join(names[:3])}{more})"

    @property
    def words(self) -> str:
        """For people: "guest, KVM, 2 GiB, 2 CPUs", or its limits; without the kernel's name."""
        if not self.is_guest:
            return ", ".join(filter(None, (self.client_words, self.limits.words)))
        mode = "emulated" if self.is_emulated else "KVM"
        cpus = f"{self.cpus} CPU{'' if self.cpus == 1 else 's'}"
        return f"guest, {mode}, {memory_words(self.memory_bytes)}, {cpus}"


OWN_MACHINE = Machine()


def memory_words(memory_bytes: int) -> str:
    """``2 GiB``, ``1536 MiB``: memory comes in powers of two."""
    mib = memory_bytes // MIB
    return f"{mib // 1024} GiB" if mib and mib % 1024 == 0 else f"{mib} MiB"


@dataclass(frozen=True)
class GuestKernel:
    """A kernel that a worker can boot, as announced.

    ``filesystems`` are {slug: {"usable", "reason"}}, ``layers`` its modules for layers; ``boot_s``
    is None where nobody measured it.
    """

    name: str
    version: str
    problem: str
    filesystems: Mapping[str, Mapping[str, Any]]
    schedulers: tuple[str, ...]
    boot_s: float | None
    layers: frozenset[str] = frozenset()

    def mounts(self, slug: str) -> bool:
        """Whether a file system can be made and mounted with it."""
        return not self.problem and bool(self.filesystems.get(slug, {}).get("usable"))

    @property
    def elevators(self) -> dict[str, str]:
        """Its I/O schedulers by today's name: {"none": "noop"} of a kernel that still has noop."""
        return {canonical_scheduler(name): name for name in self.schedulers}

    @property
    def mounted(self) -> str:
        names = [spec.name for slug, spec in FILESYSTEMS.items() if self.mounts(slug)]
        return ", ".join(names) or "no file system that fsbench can make"


def kernel_package_problem(package: str) -> str:
    """Why this cannot be the name of a kernel's package; "" for one, and for none at all."""
    if not package or _PACKAGE.fullmatch(package):
        return ""
    excerpt = package if len(package) <= 60 else f"{package[:59]}…"
    return (
        f'"{excerpt}" is not a package of a kernel: its name begins with linux-image- and goes on '
        "with small letters, digits and . + ~ -. Leave it empty for the distribution's own kernel."
    )


@dataclass(frozen=True)
class Fetching:
    """A kernel's package on its way to a worker, as announced.

    ``state`` is waiting, running, done or failed; ``share`` is 0 to 1 of the ``phase``, or None.
    """

    package: str
    state: str
    phase: str
    share: float | None
    problem: str

    @property
    def is_on_its_way(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def percent(self) -> int | None:
        return None if self.share is None else round(100 * self.share)


@dataclass(frozen=True)
class GuestAbility:
    """What a worker says of its guests; ``reason`` says why there can be none."""

    is_usable: bool
    reason: str
    accelerator: str
    accelerator_reason: str
    qemu: str
    most_memory_bytes: int | None
    most_cpus: int | None
    kernels: tuple[GuestKernel, ...]
    why_not_fetch: str = ""
    fetching: Fetching | None = None

    @property
    def is_emulated(self) -> bool:
        return self.accelerator != KVM

    @property
    def reason_on_its_page(self) -> tuple[str, str]:
        """``reason`` before and behind ``WHERE_FETCHED``, for that page; ("", "") without it."""
        before, link, behind = self.reason.partition(WHERE_FETCHED)
        return (before, behind) if link else ("", "")

    @property
    def usable_kernels(self) -> tuple[GuestKernel, ...]:
        """Those that can be booted, in the order of their announcement."""
        return (
            tuple(kernel for kernel in self.kernels if not kernel.problem) if self.is_usable else ()
        )

    @property
    def is_trying(self) -> bool:
        """Whether a kernel is about to be booted for the first time."""
        return any(kernel.problem == TO_BE_BOOTED for kernel in self.kernels)

    def kernel(self, name: str) -> GuestKernel | None:
        """The kernel of this name."""
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    def boot_s(self, kernel: str) -> tuple[float, bool]:
        """(seconds from start to agent, whether this worker measured it)."""
        guest_kernel = self.kernel(kernel)
        if guest_kernel is not None and guest_kernel.boot_s is not None:
            return guest_kernel.boot_s, True
        return float(USUAL_BOOT_S[EMULATED if self.is_emulated else KVM]), False


def guest_ability(capabilities: Mapping[str, Any]) -> GuestAbility | None:
    """What a worker of any version announced of its guests; None where it said nothing."""
    value = capabilities.get("guest")
    if not isinstance(value, Mapping):
        return None
    kernels = tuple(
        GuestKernel(
            str(entry["name"]),
            str(entry.get("version") or ""),
            str(entry.get("problem") or ""),
            entry.get("filesystems") or {},
            tuple(map(str, entry.get("schedulers") or ())),
            _number(entry.get("boot_s")),
            frozenset(map(str, entry.get("layers") or ())),
        )
        for entry in value.get("kernels") or ()
        if isinstance(entry, Mapping) and entry.get("name")
    )
    memory, cpus = _number(value.get("most_memory_bytes")), _number(value.get("most_cpus"))
    return GuestAbility(
        bool(value.get("usable")),
        str(value.get("reason") or ""),
        KVM if value.get("accelerator") == KVM else EMULATED,
        str(value.get("accelerator_reason") or ""),
        str(value.get("qemu") or ""),
        None if memory is None else int(memory),
        None if cpus is None else int(cpus),
        kernels,
        str(value.get("why_not_fetch", _TOO_OLD) or ""),
        _fetching(value.get("fetching")),
    )


def _fetching(value: object) -> Fetching | None:
    if not isinstance(value, Mapping):
        return None
    share = _number(value.get("share"))
    return Fetching(
        str(value.get("package") or ""),
        str(value.get("state") or ""),
        str(value.get("phase") or ""),
        None if share is None else min(1.0, max(0.0, share)),
        str(value.get("problem") or ""),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
