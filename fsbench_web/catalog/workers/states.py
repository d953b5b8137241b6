"""Workers with their LUNs, as pages and the API show them: in a constant number of queries."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import GuestAbility
from fsbench_web.catalog.workers.setup import WorkerSetup
from fsbench_web.catalog.workers.shared_disks import note_other_use
from fsbench_web.core.traces.tracers import TRACERS
from fsbench_web.platform import clock
from fsbench_web.platform.version import VERSION

# How often pages look at workers again: while one sets itself up, while one is busy, and while
# nothing is under way that anybody waits for.
SETUP_EVERY_S, BUSY_EVERY_S, IDLE_EVERY_S = 2, 5, 30
# Where a sentence names a file system: a sign that no text of a worker has.
_NAME = "\0"


@dataclass(frozen=True)
class WorkerState:
    """A worker, whether it lives, and its LUNs."""

    worker: Worker
    is_alive: bool
    problems: list[str]
    luns: list[Lun]

    @property
    def kernel(self) -> str:
        return availability.kernel(self.worker)

    @property
    def distribution(self) -> str:
        return availability.distribution(self.worker)

    @property
    def filesystems(self) -> list[tuple[str, dict[str, Any] | None]]:
        """(name, announcement) of file systems that it can make or does not mention."""
        return [
            filesystem
            for filesystem in self._filesystems
            if not filesystem[1] or filesystem[1].get("usable")
        ]

    @property
    def refused_filesystems(self) -> list[str]:
        """Why it can make none of the others: what differs in the name alone is said once."""
        refused = [
            (name, str(ability.get("reason") or "it does not say why."))
            for name, ability in self._filesystems
            if ability and not ability.get("usable")
        ]
        return merged_refusals(refused)

    @property
    def _filesystems(self) -> list[tuple[str, dict[str, Any] | None]]:
        announced = self.worker.capabilities.get("filesystems", {})
        return [(spec.name, announced.get(slug)) for slug, spec in FILESYSTEMS.items()]

    @property
    def usable_tools(self) -> list[tuple[str, dict[str, object]]]:
        """(name, what was announced of it) of the programs that are there."""
        return [tool for tool in self._tools if tool[1].get("usable")]

    @property
    def missing_tools(self) -> list[tuple[str, dict[str, object]]]:
        """The same of those that are not, or cannot be used."""
        return [tool for tool in self._tools if not tool[1].get("usable")]

    @property
    def _tools(self) -> list[tuple[str, dict[str, Any]]]:
        return sorted(self.worker.capabilities.get("tools", {}).items())

    @property
    def tracers(self) -> list[tuple[str, dict[str, object] | None]]:
        """(label, what the worker announced of it) for every tracer fsbench knows."""
        announced = self.worker.capabilities.get("tracing", {})
        return [(tracer.label, announced.get(slug)) for slug, tracer in TRACERS.items()]

    @property
    def limit_problems(self) -> list[str]:
        """Which limits of runs cannot be held there, and why; each sentence once."""
        announced = self.worker.capabilities.get("limits") or {}
        return [text for text in dict.fromkeys(map(str, announced.values())) if text]

    @property
    def guest(self) -> GuestAbility | None:
        """What it announced of guest kernels, or None."""
        return availability.guest(self.worker)

    @property
    def setup(self) -> WorkerSetup | None:
        """What it sets up automatically, or None; of a worker that is silent nothing is known."""
        return availability.setup(self.worker)

    @property
    def versions(self) -> list[list[str]]:
        """[[program, version], ...] of the worker itself."""
        return list(self.worker.capabilities.get("versions", []))

    @property
    def version_problem(self) -> str:
        """That it has another version than this site, and what to do; "" if it is silent."""
        own = next((str(row[-1]) for row in self.versions if row[:1] == ["fsbench"]), VERSION)
        if own == VERSION or not self.is_alive:
            return ""
        who = f"This worker is of fsbench {own}, and the site of {VERSION}"
        if _in_order(own) < _in_order(VERSION):
            return (
                f"{who}: it can do what its version can, and judges by its rules. Drain it, bring "
                "its host to the site's version and restart it (/guide/deployment/#upgrade)."
            )
        return (
            f"{who}: bring the site to the worker's version (/guide/deployment/#upgrade), or the "
            "worker back to the site's; what its version adds cannot be asked for here."
        )

    @property
    def schedulers(self) -> list[str]:
        return sorted({name for lun in self.luns if lun.is_listed for name in lun.schedulers})

    @property
    def silent_for_s(self) -> int:
        return max(0, round((clock.now() - self.worker.seen_at).total_seconds()))

    @property
    def state(self) -> str:
        """In a word: silent, draining, drained, not usable (it says so itself), busy or idle."""
        if not self.is_alive:
            return "silent"
        if self.worker.is_drained:
            return "draining" if self.running else "drained"
        if not self.worker.capabilities.get("is_usable", True):
            return "not usable"
        return "busy" if self.running else "idle"

    @property
    def running(self) -> list[int]:
        return sorted({run for lun in self.luns if (run := self.run_of(lun)) is not None})

    @property
    def listed(self) -> int:
        return sum(lun.is_listed for lun in self.luns)

    @property
    def in_use(self) -> int:
        return sum(self.run_of(lun) is not None for lun in self.luns)

    @staticmethod
    def run_of(lun: Lun) -> int | None:
        """The run that holds the LUN's lease, by number."""
        lease = getattr(lun, "lease", None)
        return None if lease is None else lease.run_id

    @property
    def waiting(self) -> int:
        """Queued runs, each once; only where the LUNs are those of ``luns_with_use``."""
        # A run with its journal on another LUN waits for that one too.
        return sum(getattr(lun, "waiting", 0) for lun in self.luns if lun.role == Lun.Role.DATA)


def merged_refusals(refused: Iterable[tuple[str, str]]) -> list[str]:
    """Merge texts if their first sentences differ only in the name; the rest follows by name."""
    names: dict[str, list[str]] = {}
    more: dict[str, list[tuple[str, str]]] = {}
    for name, text in refused:
        first, stop, rest = text.partition(". ")
        sentence = (first + stop.strip()).replace(name, _NAME, 1)
        names.setdefault(sentence, []).append(name)
        more.setdefault(sentence, []).extend([(name, rest)] if rest else [])
    sentences = []
    for sentence, alike_names in names.items():
        *others, last = alike_names
        listed = f"{', '.join(others)} and {last}" if others else last
        combined = sentence.replace(_NAME, listed) if _NAME in sentence else f"{listed}: {sentence}"
        rests = [f"{name}: {rest}" if others else rest for name, rest in more[sentence]]
        sentences.append(" ".join([combined, *rests]))
    return sentences


def worker_states(luns: QuerySet[Lun] | None = None) -> list[WorkerState]:
    """All workers by name with ``luns`` (the listed ones by default). Two queries, or three."""
    rows = Lun.objects.filter(is_listed=True) if luns is None else luns
    return _states(Worker.objects.order_by("name"), rows)


def worker_state(name: str) -> WorkerState | None:
    """One worker with all its LUNs and their use, or None. Queries as of ``worker_states``."""
    states = _states(Worker.objects.filter(name=name), luns_with_use().filter(worker__name=name))
    return states[0] if states else None


def _states(workers: QuerySet[Worker], luns: QuerySet[Lun]) -> list[WorkerState]:
    by_worker: dict[int, list[Lun]] = {}
    rows = list(luns.select_related("worker", "lease").order_by("-is_listed", "name"))
    note_other_use(rows)
    for lun in rows:
        by_worker.setdefault(lun.worker_id, []).append(lun)
    return [
        WorkerState(
            worker,
            availability.is_alive(worker),
            list(availability.worker_problems(worker)),
            by_worker.get(worker.pk, []),
        )
        for worker in workers.select_related("hardware")
    ]


def luns_with_use() -> QuerySet[Lun]:
    """All LUNs with ``waiting`` (queued runs, as journal or in a stack too) and ``has_runs``."""
    relations = ("series", "journal_series", "stacks__series")
    used = Q(series__runs__isnull=False) | Q(journal_series__runs__isnull=False)
    used |= Q(stacks__series__runs__isnull=False)
    queued = {
        name: Count(f"{name}__runs", filter=Q(**{f"{name}__runs__state": "queued"}), distinct=True)
        for name in relations
    }
    return Lun.objects.annotate(
        waiting=queued["series"] + queued["journal_series"] + queued["stacks__series"],
        has_runs=Exists(Lun.objects.filter(used, pk=OuterRef("pk"))),
    )


def refresh_every_s(states: Iterable[WorkerState]) -> int:
    """How often a page that shows these workers looks at them again, in seconds."""
    listed = list(states)
    if any(
        (state.setup is not None and state.setup.is_running) or _awaits_kernel(state)
        for state in listed
    ):
        return SETUP_EVERY_S
    # A site that begins has no worker yet, and it may be there in a moment.
    is_waited_for = not listed or any(
        state.running or state.state == "not usable" for state in listed
    )
    return BUSY_EVERY_S if is_waited_for else IDLE_EVERY_S


def _awaits_kernel(state: WorkerState) -> bool:
    """Whether a kernel for guests is on its way to the worker, or about to be booted there."""
    guest = state.guest
    return guest is not None and (
        guest.is_trying or (guest.fetching is not None and guest.fetching.is_on_its_way)
    )


def lun_use(state: WorkerState, lun: Lun) -> str:
    """What a LUN is: free, in use, not usable, for journals, no longer listed, not known."""
    if not lun.is_listed:
        return "no longer listed"
    if not state.is_alive:
        return "not known"
    if state.run_of(lun) is not None or lun.other_use is not None:
        return "in use"
    if lun.problem:
        return "not usable"
    return "for journals" if lun.role == Lun.Role.JOURNAL else "free"


def _in_order(version: str) -> list[int]:
    """The numbers of a version, for comparing: 0.10.0 is later than 0.9.1."""
    return [int(number) for number in re.findall(r"[0-9]+", version)]
