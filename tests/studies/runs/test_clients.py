"""Runs of several clients: leased all or none, fenced, in turn, and by those who may."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from fsbench_web.accounts.models import LunGrant, Role
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.catalog.workers.maintenance import set_drained
from fsbench_web.catalog.workers.states import worker_state
from fsbench_web.platform.clock import ChangeWatch
from fsbench_web.studies.models import ClientState, Lease, Run, RunClient, RunState, Study
from fsbench_web.studies.runs import authority, lifecycle, new_runs, queue
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.lifecycle import LeaseHandle, LeaseLost
from fsbench_web.studies.series import next_repeat, series_for
from tests.accounts.people import person
from tests.studies.conftest import after_silence, worker_announcement
from tests.studies.runs.test_lifecycle import at_once, fresh

NAMES = ("node1", "node2", "node3")


@pytest.fixture
def nodes(db: None) -> dict[str, Worker]:
    """Three workers with the mount ``nas`` each."""
    mounted = LunAnnouncement("nas", "data", "mount", "/mnt/nas/fsbench", 10**10, [], [])
    return {name: announce(worker_announcement(name=name, luns=[mounted])) for name in NAMES}


def submitted(nodes: dict[str, Worker], leader: str, others: Iterable[str] = ()) -> Run:
    study, _ = Study.objects.get_or_create(slug="lab", defaults={"title": "Lab"})
    machine = Machine(clients=tuple((name, "nas") for name in others))
    with transaction.atomic():
        series = series_for(
            study,
            configuration_for("tmpfs", {}),
            lun=nodes[leader].luns.get(name="nas"),
            machine=machine.stored(),
        )
        return new_runs.create_queued(series, next_repeat(series), by=None, job=None)


def held_leases() -> set[tuple[str, int]]:
    rows = Lease.objects.exclude(run=None).values_list("lun__worker__name", "run")
    return {(name, run) for name, run in rows}


def test_who_measures_with_whom_is_another_series(nodes: dict[str, Worker]) -> None:
    alone, two = submitted(nodes, "node1"), submitted(nodes, "node1", ["node2"])
    three = submitted(nodes, "node1", ["node2", "node3"])
    again = submitted(nodes, "node1", ["node3", "node2"])
    assert len({run.series_id for run in (alone, two, three)}) == 3
    assert again.series_id == three.series_id
    assert alone.series.machine == {}
    assert Machine.of(three.series.machine).words == "3 clients (with node2, node3)"


def test_all_are_leased_or_none(nodes: dict[str, Worker]) -> None:
    busy = submitted(nodes, "node3")
    handle = lifecycle.claim(busy.pk, nodes["node3"])
    assert handle is not None
    run = submitted(nodes, "node1", ["node2", "node3"])
    assert lifecycle.claim(run.pk, nodes["node1"]) is None
    assert held_leases() == {("node3", busy.pk)}
    assert not run.clients.exists()
    lifecycle.finish(handle, RunState.FAILED, "x")
    assert lifecycle.claim(run.pk, nodes["node1"])
    assert held_leases() == {(name, run.pk) for name in NAMES}
    assert list(run.clients.values_list("worker", "state")) == [
        ("node1", "preparing"),
        ("node2", "asked"),
        ("node3", "asked"),
    ]
    assert lifecycle.claim(submitted(nodes, "node2").pk, nodes["node2"]) is None


def test_a_run_beside_a_client_of_another_is_contended(nodes: dict[str, Worker]) -> None:
    """Its host measures both, whichever of them it leads."""
    disk = LunAnnouncement("disk", "data", "device", "/dev/sdb", 10**10, [], [])
    mounted = LunAnnouncement("nas", "data", "mount", "/mnt/nas/fsbench", 10**10, [], [])
    announce(worker_announcement(name="node2", luns=[mounted, disk]))
    together = submitted(nodes, "node1", ["node2"])
    alone, far = submitted(nodes, "node2"), submitted(nodes, "node3")
    alone.series.lun = nodes["node2"].luns.get(name="disk")
    alone.series.save(update_fields=["lun"])
    handles = {
        run.pk: lifecycle.claim(run.pk, nodes[name])
        for run, name in ((together, "node1"), (alone, "node2"), (far, "node3"))
    }
    for run, others in ((alone, [(together.pk, "nas")]), (together, [(alone.pk, "disk")])):
        handle = handles[run.pk]
        assert handle is not None
        lifecycle.finish(handle, RunState.DONE, "")
        ended = fresh(run)
        assert ended.is_contended
        assert [(other["run"], other["lun"]) for other in ended.conditions["others"]] == others
    handle = handles[far.pk]
    assert handle is not None
    lifecycle.finish(handle, RunState.DONE, "")
    assert not fresh(far).is_contended


def test_a_client_writes_only_while_the_run_holds_its_lun(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    handle = lifecycle.claim(run.pk, nodes["node1"])
    part = parts.accept(run.pk, "node2")
    assert handle is not None
    assert part is not None
    parts.move(part, ClientState.READY)
    assert parts.progress_of(run.pk, ChangeWatch()).missing == ()
    parts.start(handle, timezone.now())
    assert parts.heartbeat(part, ChangeWatch()) is not None
    assert lifecycle.reap_lost(after_silence()) == [run.pk]
    for write in (
        lambda: parts.heartbeat(part, ChangeWatch()),
        lambda: parts.move(part, ClientState.DONE),
        lambda: parts.give_up(part, "x", lifecycle.Cause.BENCHMARK),
        lambda: parts.start(handle, timezone.now()),
    ):
        with pytest.raises(LeaseLost):
            write()
    client = run.clients.get(place=1)
    assert (client.state, client.reason[:40]) == (
        "failed",
        "The run ended: Its worker node1, which l",
    )
    assert parts.accept(run.pk, "node2") is None


def accepted(nodes: dict[str, Worker]) -> tuple[Run, LeaseHandle, parts.Part]:
    run = submitted(nodes, "node1", ["node2"])
    handle, part = lifecycle.claim(run.pk, nodes["node1"]), parts.accept(run.pk, "node2")
    assert handle is not None
    assert part is not None
    return run, handle, part


@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(hours=-1)], ids=["on", "back"])
def test_a_step_of_the_databases_clock_ends_no_part(
    nodes: dict[str, Worker], step: timedelta
) -> None:
    """Every heartbeat is an hour old at once, and every lease over, or none ever is."""
    run, handle, part = accepted(nodes)
    heartbeats, leader = ChangeWatch(), ChangeWatch()
    parts.heartbeat(part, leader)
    parts.progress_of(run.pk, heartbeats)
    RunClient.objects.filter(run=run).update(seen_at=timezone.now() - step)
    Lease.objects.exclude(run=None).update(expires_at=timezone.now() - step)
    assert parts.progress_of(run.pk, heartbeats).missing == ("node2",)
    parts.heartbeat(part, leader)
    parts.move(part, ClientState.READY)
    assert parts.progress_of(run.pk, heartbeats).missing == ()
    lifecycle.heartbeat(handle)


def test_who_is_silent_is_seen_by_a_clock_that_nobody_sets(nodes: dict[str, Worker]) -> None:
    run, handle, part = accepted(nodes)
    ticks = [0.0]
    heartbeats, leader = ChangeWatch(lambda: ticks[0]), ChangeWatch(lambda: ticks[0])
    for _ in range(2):
        parts.heartbeat(part, leader)
        lifecycle.heartbeat(handle)
        parts.progress_of(run.pk, heartbeats)
        ticks[0] += settings.WORKER_SILENT_AFTER_S
    parts.heartbeat(part, leader)
    ticks[0] += settings.WORKER_SILENT_AFTER_S + 1
    with pytest.raises(LeaseLost, match="no leader"):
        parts.heartbeat(part, leader)
    # Its last heartbeat is new to the leader.
    assert parts.progress_of(run.pk, heartbeats).missing == ("node2",)
    ticks[0] += settings.WORKER_SILENT_AFTER_S + 1
    with pytest.raises(parts.ClientsCannotContinue, match="node2 sent no heartbeat") as problem:
        parts.progress_of(run.pk, heartbeats)
    assert problem.value.cause == lifecycle.Cause.SILENT


def test_the_lost_lun_of_a_client_is_the_loss_of_the_run(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    handle = lifecycle.claim(run.pk, nodes["node1"])
    assert handle is not None
    row = Lease.objects.get(lun__worker__name="node2")
    row.token += 1
    row.save()
    with pytest.raises(LeaseLost):
        lifecycle.heartbeat(handle)
    assert parts.accept(run.pk, "node2") is None


def test_somebody_who_cancels_is_heard_by_all(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    assert lifecycle.claim(run.pk, nodes["node1"])
    part = parts.accept(run.pk, "node2")
    assert part is not None
    lifecycle.cancel(run.pk, "ann")
    with pytest.raises(LeaseLost):
        parts.heartbeat(part, ChangeWatch())


def test_a_worker_that_was_started_anew_takes_part_no_more(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    assert lifecycle.claim(run.pk, nodes["node1"])
    assert parts.accept(run.pk, "node2")
    assert parts.abandon("node1") == 0
    assert parts.abandon("node2") == 1
    with pytest.raises(
        parts.ClientsCannotContinue, match="node2 could not go on: Its worker was restarted"
    ):
        parts.progress_of(run.pk, ChangeWatch())


def test_it_has_its_turn_on_the_luns_of_the_others(nodes: dict[str, Worker]) -> None:
    together = submitted(nodes, "node1", ["node2"])
    later = submitted(nodes, "node2")
    other = submitted(nodes, "node3")
    assert queue.startable(nodes["node2"]) == []
    assert queue.next_run(later.series.lun_id or 0) is None
    assert queue.next_run(other.series.lun_id or 0) == other
    assert queue.next_run(together.series.lun_id or 0) == together
    # A worker that is away keeps nothing from others.
    Worker.objects.filter(name="node1").update(seen_at="2020-01-01T00:00:00Z")
    assert queue.next_run(later.series.lun_id or 0) == later


def test_the_longest_name_of_a_worker_is_one_of_a_client(nodes: dict[str, Worker]) -> None:
    longest = "n" * 100
    mounted = LunAnnouncement("nas", "data", "mount", "/mnt/nas/fsbench", 10**10, [], [])
    announce(worker_announcement(name=longest, luns=[mounted]))
    run = submitted(nodes, "node1", [longest])
    assert lifecycle.claim(run.pk, nodes["node1"])
    part = run.clients.get(place=1)
    assert part.worker == longest
    part.clean_fields(exclude=[field.name for field in part._meta.fields if field.name != "worker"])


def test_it_waits_while_a_client_is_drained(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2", "node3"])
    alone = submitted(nodes, "node3")
    set_drained(nodes["node2"], True, by="ada")
    assert queue.startable(nodes["node1"]) == []
    assert lifecycle.claim(run.pk, nodes["node1"]) is None
    assert fresh(run).state == RunState.QUEUED
    # Meanwhile it keeps nothing from the others.
    assert queue.startable(nodes["node3"]) == [alone]
    set_drained(nodes["node2"], False, by="ada")
    assert queue.startable(nodes["node1"]) == [run]
    assert lifecycle.claim(run.pk, nodes["node1"])


def test_it_waits_while_a_client_is_silent(nodes: dict[str, Worker]) -> None:
    """As runs of that worker's own do: a job must not fail run by run while a host is rebooted."""
    run = submitted(nodes, "node1", ["node2", "node3"])
    alone = submitted(nodes, "node3")
    Worker.objects.filter(name="node2").update(seen_at=timezone.now() - timedelta(hours=1))
    assert queue.startable(nodes["node1"]) == []
    assert lifecycle.claim(run.pk, nodes["node1"]) is None
    assert queue.startable(nodes["node3"]) == [alone]
    Worker.objects.filter(name="node2").update(seen_at=timezone.now())
    assert queue.startable(nodes["node1"]) == [run]
    assert lifecycle.claim(run.pk, nodes["node1"])


def test_a_client_is_not_drained_before_its_part_is_over(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    handle = lifecycle.claim(run.pk, nodes["node1"])
    assert handle is not None
    with pytest.raises(CommandError, match=rf"Runs \[{run.pk}\] of node2 did not end"):
        call_command("drain", "node2", wait=True, timeout=0)
    state = worker_state("node2")
    assert state is not None
    assert (state.state, state.running) == ("draining", [run.pk])
    lifecycle.finish(handle, RunState.FAILED, "x")
    call_command("drain", "node2", wait=True, timeout=0)


def test_whoever_may_not_use_the_lun_of_a_client_starts_nothing(nodes: dict[str, Worker]) -> None:
    author = person(Role.OPERATOR, "ann")
    LunGrant.objects.create(user=author, lun=nodes["node1"].luns.get(name="nas"))
    run = submitted(nodes, "node1", ["node2"])
    Run.objects.filter(pk=run.pk).update(created_by=author)
    assert "nas is not granted any more to ann" in authority.refusal(run.pk)
    LunGrant.objects.create(user=author, lun=nodes["node2"].luns.get(name="nas"))
    assert authority.refusal(run.pk) == ""


@pytest.mark.django_db(transaction=True)
def test_of_runs_that_want_the_same_workers_one_gets_all(nodes: dict[str, Worker]) -> None:
    """In every order of leaders and clients: nobody waits in a circle, and nobody has a part."""
    for _ in range(3):
        runs = [
            submitted(nodes, "node1", ["node2", "node3"]),
            submitted(nodes, "node3", ["node1", "node2"]),
            submitted(nodes, "node2", ["node3", "node1"]),
        ]
        leaders = [run.series.lun.worker for run in runs if run.series.lun is not None]
        handles = at_once(
            *(
                lambda run=run, leader=leader: lifecycle.claim(run.pk, leader)  # type: ignore[misc]
                for run, leader in zip(runs, leaders, strict=True)
            )
        )
        (won,) = [handle for handle in handles if handle is not None]
        assert held_leases() == {(name, won.run_id) for name in NAMES}
        lifecycle.finish(won, RunState.FAILED, "x")
        for run in runs:
            if not fresh(run).has_ended:
                lifecycle.cancel(run.pk, "ann")


@pytest.mark.django_db(transaction=True)
def test_a_message_that_comes_twice_is_taken_once(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    assert lifecycle.claim(run.pk, nodes["node1"])
    accepted = at_once(*[lambda: parts.accept(run.pk, "node2")] * 4)
    assert len([part for part in accepted if part is not None]) == 1


def test_outputs_are_handed_over_without_a_lock_of_the_lease(nodes: dict[str, Worker]) -> None:
    run = submitted(nodes, "node1", ["node2"])
    handle = lifecycle.claim(run.pk, nodes["node1"])
    part = parts.accept(run.pk, "node2")
    assert handle is not None
    assert part is not None
    content = parts.packed_outputs({"fio.json": b"{}"})
    with CaptureQueriesContext(connection) as queries:
        parts.hand_over(part, content)
    assert [query["sql"].count("studies_lease") for query in queries] == [0]
    assert parts.client_outputs(run.pk) == {"node2": {"fio.json": b"{}"}}
    lifecycle.finish(handle, RunState.FAILED, "over")
    parts.hand_over(part, content)
    assert parts.client_outputs(run.pk) == {}
