"""Workers with their LUNs, as pages show them: in a constant number of queries."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from fsbench_web.catalog import availability
from fsbench_web.catalog.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import Lun, Worker


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
    def filesystems(self) -> list[tuple[str, dict[str, object] | None]]:
        """(name, what the worker announced of it) for every file system fsbench can make."""
        announced = self.worker.capabilities.get("filesystems", {})
        return [(spec.name, announced.get(slug)) for slug, spec in FILESYSTEMS.items()]

    @property
    def tools(self) -> list[tuple[str, dict[str, object]]]:
        return sorted(self.worker.capabilities.get("tools", {}).items())


def worker_states(luns: QuerySet[Lun] | None = None) -> list[WorkerState]:
    """All workers by name with ``luns`` (all that are listed unless given). Two queries."""
    wanted = Lun.objects.filter(is_listed=True) if luns is None else luns
    by_worker: dict[int, list[Lun]] = {}
    for lun in wanted.select_related("worker", "lease").order_by("-is_listed", "name"):
        by_worker.setdefault(lun.worker_id, []).append(lun)
    return [
        WorkerState(
            worker,
            availability.is_alive(worker),
            list(availability.worker_problems(worker)),
            by_worker.get(worker.pk, []),
        )
        for worker in Worker.objects.select_related("hardware").order_by("name")
    ]


def luns_with_use() -> QuerySet[Lun]:
    """All LUNs, also those no longer listed, with ``waiting`` (queued runs) and ``has_runs``."""
    series_with_runs = Lun.objects.filter(pk=OuterRef("pk"), series__runs__isnull=False)
    return Lun.objects.annotate(
        waiting=Count("series__runs", filter=Q(series__runs__state="queued"), distinct=True),
        has_runs=Exists(series_with_runs),
    )
