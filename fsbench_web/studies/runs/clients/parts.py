"""The only writer of ``RunClient``: what the leader and the other clients of a run exchange.

The leader alone writes the run's state and holds all its leases. A client writes its own row, while
the run holds its lease under the same token. Each side measures silence by its own clock.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.platform.clock import AT_DATABASE, ChangeWatch
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import ACTIVE_STATES, ClientState, Lease, Run, RunClient
from fsbench_web.studies.runs import leases
from fsbench_web.studies.runs.leases import LeaseHandle, LeaseLost

MOST_OUTPUT_BYTES = 64 * 1024 * 1024
"""Of one client, unpacked."""
MOST_RESULTS = 300
"""Of one client, in addition to the sums; its raw output has all."""
_OPEN = (ClientState.PREPARING, ClientState.READY, ClientState.MEASURING)


class ClientsCannotContinue(Exception):
    """The clients cannot go on together; the text says which and why. ``cause`` is of the run."""

    def __init__(self, reason: str, cause: Cause = Cause.BENCHMARK) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass(frozen=True)
class Part:
    """What a client shows with everything that it writes."""

    client_id: int
    run_id: int
    lun_id: int
    token: int


def begin(run: Run, handle: LeaseHandle) -> None:
    """Write who takes part, in the transaction that leased their LUNs. Of a run of one nothing."""
    others = run.series.clients
    if not others or run.series.lun is None:
        return
    tokens = dict(Lease.objects.filter(run=run).exclude(lun=None).values_list("lun", "token"))
    RunClient.objects.bulk_create(
        RunClient(
            run=run,
            place=place,
            worker=lun.worker.name,
            lun=lun,
            lun_name=lun.name,
            token=tokens[lun.pk],
            state=ClientState.ASKED if place else ClientState.PREPARING,
        )
        for place, lun in enumerate([run.series.lun, *others])
    )


# --- The other clients ---


@transaction.atomic
def accept(run_id: int, worker: str) -> Part | None:
    """Take part, once, however often it was asked. None where there is nothing to take part in."""
    client = (
        RunClient.objects.filter(run=run_id, worker=worker, state=ClientState.ASKED)
        .exclude(lun=None)
        .first()
    )
    if client is None or client.lun_id is None:
        return None
    part = Part(client.pk, run_id, client.lun_id, client.token)
    try:
        _lease_end(part)
    except LeaseLost:
        return None
    accepted = RunClient.objects.filter(pk=client.pk, state=ClientState.ASKED).update(
        state=ClientState.PREPARING, seen_at=AT_DATABASE
    )
    return part if accepted == 1 else None


@transaction.atomic
def heartbeat(part: Part, leader: ChangeWatch) -> datetime | None:
    """Tell that the client lives. Returns when all begin, None if not known yet. Raises LeaseLost,
    also if the ``leader`` is silent.
    """
    [silent_s] = leader.unchanged_s(lambda: {part.lun_id: _lease_end(part)}).values()
    if silent_s > settings.WORKER_SILENT_AFTER_S:
        raise LeaseLost(f"run {part.run_id} has no leader any more")
    _open_client(part).update(seen_at=AT_DATABASE)
    return RunClient.objects.values_list("start_at", flat=True).get(pk=part.client_id)


@transaction.atomic
def move(part: Part, state: ClientState, **changes: Any) -> None:
    """Write where the client is. Raises LeaseLost."""
    _lease_end(part)
    _open_client(part).update(state=state, seen_at=AT_DATABASE, **changes)


def hand_over(part: Part, content: bytes) -> None:
    """Write the outputs (``packed_outputs``) before the end of the client: many bytes take time,
    and the lease stays free for its leader meanwhile.
    """
    _open_client(part).update(content=content)


@transaction.atomic
def give_up(part: Part, reason: str, cause: Cause) -> None:
    """The client cannot take part, or not to the end. Raises LeaseLost."""
    _lease_end(part)
    _open_client(part).update(state=ClientState.FAILED, reason=reason[:2000], cause=cause)


@transaction.atomic
def abandon(worker: str) -> int:
    """A restarted worker takes part in nothing any more. Returns in how much it did."""
    rows = RunClient.objects.filter(
        worker=worker, place__gt=0, state__in=_OPEN, run__state__in=ACTIVE_STATES
    )
    return rows.update(
        state=ClientState.FAILED, reason="Its worker was restarted.", cause=Cause.WORKER_GONE
    )


def packed_outputs(outputs: Mapping[str, bytes]) -> bytes:
    """What a client has to hand over, as ``content``. Raises ClientsCannotContinue where it is too
    much.
    """
    # Lone surrogates, which JSON can say, stand for the bytes that are not UTF-8.
    texts = {name: data.decode("utf-8", "surrogateescape") for name, data in outputs.items()}
    data = json.dumps(texts).encode()
    if len(data) > MOST_OUTPUT_BYTES:
        limit_mib = MOST_OUTPUT_BYTES // 2**20
        raise ClientsCannotContinue(f"Its outputs are larger than {limit_mib} MiB together.")
    return zlib.compress(data, 6)


def _open_client(part: Part) -> QuerySet[RunClient]:
    return RunClient.objects.filter(pk=part.client_id, state__in=_OPEN)


def _lease_end(part: Part) -> datetime | None:
    """Lock the lease of the client's LUN, if it is that of this run, which goes on, and say until
    when it is. Raises LeaseLost.
    """
    rows = Lease.objects.select_for_update(of=("self",)).filter(
        Q(run__state__in=ACTIVE_STATES, run__cancel_requested_at=None),
        lun=part.lun_id,
        token=part.token,
        run=part.run_id,
    )
    ends = list(rows.values_list("expires_at", flat=True))
    if not ends:
        raise LeaseLost(f"run {part.run_id} is over for this client")
    return ends[0]


# --- The leader ---


@dataclass(frozen=True)
class ClientProgress:
    """How far the other clients are. ``missing`` are those that are not ready, by worker."""

    missing: tuple[str, ...]
    are_done: bool


def progress_of(run_id: int, heartbeats: ChangeWatch) -> ClientProgress:
    """How far the clients are, by the ``heartbeats`` seen so far. Raises ClientsCannotContinue."""
    rows: list[RunClient] = []

    def heartbeats_now() -> dict[int, datetime | None]:
        clients = RunClient.objects.filter(run=run_id, place__gt=0)
        rows.extend(clients.defer("content", "results", "facts"))
        return {client.pk: client.seen_at for client in rows if client.state in _OPEN}

    silent_s = heartbeats.unchanged_s(heartbeats_now)
    for client in rows:
        if client.state == ClientState.FAILED:
            raise ClientsCannotContinue(
                f"The client {client.worker} could not go on: {client.reason}",
                Cause(client.cause or Cause.BENCHMARK),
            )
        if silent_s.get(client.pk, 0.0) > settings.WORKER_SILENT_AFTER_S:
            raise ClientsCannotContinue(
                f"The client {client.worker} sent no heartbeat for "
                f"{settings.WORKER_SILENT_AFTER_S} s.",
                Cause.SILENT,
            )
    waiting = (ClientState.ASKED, ClientState.PREPARING)
    return ClientProgress(
        tuple(client.worker for client in rows if client.state in waiting),
        all(client.state == ClientState.DONE for client in rows),
    )


@transaction.atomic
def start(handle: LeaseHandle, at: datetime) -> None:
    """Tell all when they begin. Raises LeaseLost."""
    leases.lock(handle)
    RunClient.objects.filter(run=handle.run_id).update(start_at=at)


@transaction.atomic
def lead(handle: LeaseHandle, state: ClientState, **changes: Any) -> None:
    """Write where the leader itself is. Raises LeaseLost."""
    leases.lock(handle)
    RunClient.objects.filter(run=handle.run_id, place=0).update(
        state=state, seen_at=AT_DATABASE, **changes
    )


def leave(run: Run, reason: str) -> None:
    """The run has ended, in this transaction: whatever is still open of its clients has, too."""
    if not run.series.runs_on.clients:
        return
    rows = RunClient.objects.filter(run=run)
    rows.exclude(state__in=[ClientState.DONE, ClientState.FAILED]).update(
        state=ClientState.FAILED, reason=f"The run ended: {reason}"[:2000]
    )
    rows.exclude(content=None).update(content=None)


def client_outputs(run_id: int) -> dict[str, dict[str, bytes]]:
    """{worker: {output: content}} of the other clients, in their order."""
    rows = RunClient.objects.filter(run=run_id, place__gt=0).exclude(content=None)
    return {
        worker: unpacked_outputs(bytes(content or b""))
        for worker, content in rows.order_by("place").values_list("worker", "content")
    }


def unpacked_outputs(content: bytes) -> dict[str, bytes]:
    # Of a bound that the client kept: a row of the own database, and no upload.
    opened = zlib.decompressobj()
    data = opened.decompress(content, MOST_OUTPUT_BYTES + 1)
    if len(data) > MOST_OUTPUT_BYTES:
        raise ClientsCannotContinue("The outputs of a client are too large.")
    texts = json.loads(data)
    return {name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()}


def store_results(run_id: int, of_workers: Mapping[str, Sequence[ParsedValue]]) -> None:
    """What each measured alone, in the transaction that ends the run."""
    for worker, values in of_workers.items():
        rows = [
            [
                value.test,
                value.load,
                value.record_size_kb,
                value.file_size_kb,
                value.value,
                value.unit,
            ]
            for value in values[:MOST_RESULTS]
        ]
        RunClient.objects.filter(run=run_id, worker=worker).update(
            state=ClientState.DONE, results=rows, content=None
        )
