"""Clients: other workers that measure at the same moment, each on its mount of the same export."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field, StrictStr

from fsbench_web.accounts import rights
from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability, capacity
from fsbench_web.studies.jobs.features.base import NAMES, Feature, FormField, Workloads
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.features.limits import Limited, LimitsSpec
from fsbench_web.studies.jobs.features.tracing import Tracing
from fsbench_web.studies.jobs.parts import THIS_HOST, Host
from fsbench_web.studies.jobs.problems import Problems

MOST_CLIENTS = 32
_SAME = ("filesystem", "server", "export")


class Clients(Feature):
    form_fields = [
        FormField(
            "clients", f"name {MOST_CLIENTS - 1} other workers at most, each once", kind=NAMES
        ),
    ]

    clients: tuple[StrictStr, ...] = Field(
        default=(),
        max_length=MOST_CLIENTS - 1,
        description="other workers that run the same benchmark at the same moment, each on its own "
        "mount of the same export; what counts is what all did together. Empty: the worker alone",
        examples=[["node2", "node3"]],
    )

    def with_clients(
        self, hosts: list[Host], lun: Lun | None, workloads: Workloads, problems: Problems
    ) -> list[Host]:
        """The machines of a job with its clients; as they are where it has none."""
        assert isinstance(self, Guest)
        assert isinstance(self, Limited)
        assert isinstance(self, Tracing)
        if not self.clients or lun is None:
            return hosts
        before = problems.count
        if len(self.clients) > MOST_CLIENTS - 1:
            problems.add(
                "clients", f"A run has at most {MOST_CLIENTS} clients, its own worker with it."
            )
            return []
        if self.guest is not None:
            problems.add(
                "clients", "Guests measure alone: choose the worker's own executor, or no clients."
            )
        if self.tracing:
            problems.add(
                "clients", "An extra run that is traced is of one client: leave one of both."
            )
        luns = _named_luns(self.clients, lun, problems)
        for client in luns:
            for sentence in _client_problems(self.limits, lun, client, workloads):
                problems.add("clients", sentence)
            if why := rights.decide_here(rights.Action.RUN, client).why:
                problems.forbid("clients", why)
        if problems.count > before:
            return []
        clients = tuple(sorted((client.worker.name, client.name) for client in luns))
        return [replace(host, machine=replace(host.machine, clients=clients)) for host in hosts]


def offered_luns(lun: Lun | None) -> list[Lun]:
    """The LUNs of other workers that are mounts of the same export, by worker and name."""
    if lun is None or lun.kind != Lun.Kind.MOUNT or not lun.fingerprint.get("server"):
        return []
    rows = Lun.objects.filter(kind=Lun.Kind.MOUNT, role=Lun.Role.DATA, is_listed=True)
    others = rows.exclude(worker=lun.worker_id).select_related("worker")
    return [
        other
        for other in others.order_by("worker__name", "name")
        if all(other.fingerprint.get(key) == lun.fingerprint.get(key) for key in _SAME)
    ]


def name_of(lun: Lun, candidates: Sequence[Lun]) -> str:
    """How a job names a client: its worker, with the LUN where that has several of them."""
    is_alone = sum(candidate.worker_id == lun.worker_id for candidate in candidates) == 1
    return lun.worker.name if is_alone else f"{lun.worker.name}/{lun.name}"


def luns_by_name(lun: Lun | None) -> dict[str, Lun]:
    """Those that are offered under every name that a job may give them, the usual one first."""
    candidates = offered_luns(lun)
    by_name = {name_of(candidate, candidates): candidate for candidate in candidates}
    return by_name | {
        f"{candidate.worker.name}/{candidate.name}": candidate for candidate in candidates
    }


def problems_of(lun: Lun, client: Lun) -> Iterator[str]:
    """Why this client cannot take part now."""
    yield from availability.lun_problems(client)
    wanted, actual = availability.mounted_contender(lun), availability.mounted_contender(client)
    if wanted is not None and actual is not None and wanted != actual:
        here, there = (
            configuration_label(mount.filesystem, mount.options) for mount in (wanted, actual)
        )
        yield (
            f"{client.name} on {client.worker.name} is mounted as {there}, and {lun.name} on "
            f"{lun.worker.name} as {here}: mount both alike, or leave {client.worker.name} out."
        )


def _client_problems(
    limits: LimitsSpec, lun: Lun, client: Lun, workloads: Workloads
) -> Iterator[str]:
    yield from problems_of(lun, client)
    for _, workload in workloads:
        yield from availability.missing_tools(client.worker, workload.needs)
        yield from capacity.limit_problems(client.worker, workload.limits())
    for combination in limits.combinations():
        machine = replace(THIS_HOST.machine, limits=combination)
        yield from capacity.machine_limit_problems(machine, client.worker)


def _named_luns(names: Sequence[str], lun: Lun, problems: Problems) -> list[Lun]:
    by_name = luns_by_name(lun)
    chosen: dict[str, Lun] = {}
    for name in names:
        client = by_name.get(name)
        if client is None:
            usual_names = list(by_name)[: len(set(by_name.values()))]
            problems.add("clients", _not_offered(name, lun, usual_names))
        elif client.worker.name in chosen:
            problems.add("clients", f"{client.worker.name} is named twice: once is enough.")
        else:
            chosen[client.worker.name] = client
    return list(chosen.values())


def _not_offered(name: str, lun: Lun, usual_names: Sequence[str]) -> str:
    shortened = name if len(name) <= 60 else f"{name[:59]}…"
    if lun.kind != Lun.Kind.MOUNT or not lun.fingerprint.get("server"):
        return (
            f"{lun.name} is not a mount of a server, which other workers could use at the same "
            f"time: "
            "leave the clients out, or choose a LUN of the kind mount."
        )
    advice = (
        f": choose of {', '.join(usual_names[:10])}" if usual_names else ", and no other worker has"
    )
    return f'"{shortened}" is not a worker that lists a mount of the export of {lun.name}{advice}.'
