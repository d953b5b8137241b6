"""Leases over several LUNs: a run holds all it needs or nothing, and nothing is held twice."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F
from django.utils import timezone

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.platform import clock
from fsbench_web.studies.models import ACTIVE_STATES, Job, Lease, Run, RunState, Study
from fsbench_web.studies.runs import leases, lifecycle, new_runs, nudges, queue
from fsbench_web.studies.runs.lifecycle import LeaseHandle, LeaseLost
from fsbench_web.studies.series import next_repeat, series_for
from tests.studies.conftest import after_silence, worker_announcement
from tests.studies.runs.test_lifecycle import at_once, fresh

HBA = "HBA 1, slot 3"


def lun(name: str, role: str = "data", controller: str = "") -> LunAnnouncement:
    return LunAnnouncement(
        name, role, "device", f"/dev/{name}", 10**10, [], ["none"], controller=controller
    )


@pytest.fixture
def lab(db: None) -> Worker:
    """Two LUNs without a controller, two on one, and two for journals, the second on it as well."""
    return announce(
        worker_announcement(
            luns=[
                *(lun("a"), lun("b"), lun("hba-a", controller=HBA), lun("hba-b", controller=HBA)),
                *(lun("log", "journal"), lun("hba-log", "journal", HBA)),
            ]
        )
    )


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that a message was sent for."""
    messages: list[int] = []

    def send_task(name: str, args: list[int], queue: str, **_: Any) -> None:
        messages.append(args[0])

    monkeypatch.setattr(nudges.app, "send_task", send_task)
    return messages


def submitted(
    worker: Worker, on: str, journal: str = "", filesystem: str = "ext4", **changes: Any
) -> Run:
    study, _ = Study.objects.get_or_create(slug="lab", defaults={"title": "Lab"})
    with transaction.atomic():
        series = series_for(
            study,
            configuration_for(filesystem, {}, "none", external_journal=bool(journal)),
            lun=worker.luns.get(name=on),
            journal_lun=worker.luns.get(name=journal) if journal else None,
        )
        return new_runs.create_queued(series, next_repeat(series), by=None, job=changes.get("job"))


def claim(run: Run, worker: Worker) -> LeaseHandle:
    handle = lifecycle.claim(run.pk, worker)
    assert handle is not None
    return handle


def held_leases() -> set[tuple[str, int]]:
    """(LUN or controller, run) of all that is leased."""
    return {
        (lease.lun.name if lease.lun else lease.controller, lease.run_id or 0)
        for lease in Lease.objects.exclude(run=None).select_related("lun")
    }


class TestAllOrNothing:
    def test_a_run_holds_its_lun_its_journal_and_their_controllers(self, lab: Worker) -> None:
        run = submitted(lab, "a", "hba-log")
        handle = claim(run, lab)
        assert held_leases() == {("a", run.pk), ("hba-log", run.pk), (HBA, run.pk)}
        assert len(handle.others) == 2
        lifecycle.finish(handle, RunState.DONE, "x")
        assert held_leases() == set()

    def test_the_controller_of_both_is_leased_once(self, lab: Worker) -> None:
        claim(submitted(lab, "hba-a", "hba-log"), lab)
        assert len(held_leases()) == 3

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (("a", "log"), ("b", "log")),
            (("hba-a", ""), ("hba-b", "")),
            (("hba-a", ""), ("a", "hba-log")),
            (("b", "hba-log"), ("hba-a", "")),
        ],
    )
    def test_what_is_shared_is_used_by_one_run(
        self, lab: Worker, first: tuple[str, str], second: tuple[str, str]
    ) -> None:
        handle = claim(submitted(lab, *first), lab)
        waiting = submitted(lab, *second)
        before = held_leases()
        assert lifecycle.claim(waiting.pk, lab) is None
        assert held_leases() == before
        assert fresh(waiting).state == RunState.QUEUED
        lifecycle.finish(handle, RunState.FAILED, "x")
        claim(waiting, lab)

    def test_the_same_name_on_another_host_is_another_controller(self, lab: Worker) -> None:
        other = announce(worker_announcement(name="lab2", luns=[lun("hba-a", controller=HBA)]))
        claim(submitted(lab, "hba-a"), lab)
        claim(submitted(other, "hba-a"), other)

    def test_a_lease_is_of_a_lun_or_of_a_controller(self, lab: Worker) -> None:
        for wrong in (
            {"controller": HBA},
            {"host": lab},
            {"lun": Lun.objects.get(name="a"), "host": lab, "controller": HBA},
            {},
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                Lease.objects.create(**wrong)
        Lease.objects.create(host=lab, controller=HBA)
        with pytest.raises(IntegrityError), transaction.atomic():
            Lease.objects.create(host=lab, controller=HBA)


class TestFencing:
    @pytest.mark.parametrize("lost", ["log", HBA])
    def test_losing_one_of_the_leases_is_losing_the_run(self, lab: Worker, lost: str) -> None:
        """As after a reaper and a new run that needs only the journal, or only the controller."""
        run = submitted(lab, "hba-a", "log")
        handle = claim(run, lab)
        row = Lease.objects.get(lun__name=lost) if lost == "log" else Lease.objects.get(host=lab)
        row.token += 1
        row.save()
        for write in (
            lambda: lifecycle.advance(handle, RunState.PREPARING),
            lambda: lifecycle.heartbeat(handle, phase="mkfs"),
            lambda: lifecycle.append_log(handle, [(timezone.now(), "stdout", "x")]),
            lambda: lifecycle.finish(handle, RunState.DONE, "x"),
        ):
            with pytest.raises(LeaseLost):
                write()
        assert fresh(run).state == RunState.LEASED
        assert not run.log_lines.exists()

    def test_an_old_token_is_refused_after_another_run_had_the_journal(self, lab: Worker) -> None:
        old = claim(submitted(lab, "a", "log"), lab)
        assert lifecycle.reap_lost(after_silence()) == [old.run_id]
        new = claim(submitted(lab, "b", "log"), lab)
        with pytest.raises(LeaseLost):
            lifecycle.heartbeat(old)
        assert lifecycle.heartbeat(new) is False
        assert new.others[0][1] > old.others[0][1]

    def test_a_heartbeat_prolongs_all(self, lab: Worker) -> None:
        handle = claim(submitted(lab, "hba-a", "log"), lab)
        Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        watch = after_silence()
        lifecycle.heartbeat(handle)
        assert lifecycle.reap_lost(watch) == []
        assert Lease.objects.filter(expires_at__gt=timezone.now()).count() == 3

    def test_a_lost_run_frees_all_and_ends_once(self, lab: Worker) -> None:
        for end in (lambda: lifecycle.reap_lost(after_silence()), lambda: lifecycle.recover(lab)):
            run = submitted(lab, "hba-a", "log")
            claim(run, lab)
            assert end() == [run.pk]
            assert held_leases() == set()
            assert run.changes.filter(state=RunState.LOST).count() == 1


class TestTurns:
    def test_a_run_that_waits_for_a_journal_holds_up_no_other_lun(self, lab: Worker) -> None:
        claim(submitted(lab, "a", "log"), lab)
        waits, free = submitted(lab, "b", "log"), submitted(lab, "hba-a")
        assert queue.startable(lab) == [free]
        assert queue.next_run(waits.series.lun_id or 0) is None
        assert queue.next_run(free.series.lun_id or 0) == free

    def test_it_keeps_the_order_of_its_own_lun(self, lab: Worker) -> None:
        claim(submitted(lab, "a", "log"), lab)
        submitted(lab, "b", "log")
        later = submitted(lab, "b")
        assert queue.startable(lab) == []
        assert queue.next_run(later.series.lun_id or 0) is None

    def test_what_waits_is_not_looked_for_where_every_lun_is_in_use(
        self, lab: Worker, django_assert_num_queries: Any
    ) -> None:
        """Each worker asks every few seconds, beside what it measures."""
        lab.luns.exclude(name="a").delete()
        claim(submitted(lab, "a"), lab)
        submitted(lab, "a")
        # Whether anything waits at all, whether it is drained, what is leased, its LUNs.
        with django_assert_num_queries(4):
            assert queue.startable(lab) == []

    def test_whoever_is_first_in_turn_gets_what_several_need(self, lab: Worker) -> None:
        """Else the LUN that has the controller would keep it for all its runs."""
        first = claim(submitted(lab, "hba-a"), lab)
        other, own = submitted(lab, "hba-b"), submitted(lab, "hba-a")
        lifecycle.finish(first, RunState.DONE, "x")
        assert queue.next_run(own.series.lun_id or 0) is None
        assert queue.next_run(other.series.lun_id or 0) == other
        second = claim(other, lab)
        lifecycle.finish(second, RunState.DONE, "x")
        assert queue.next_run(own.series.lun_id or 0) == own

    def test_a_higher_priority_goes_first(self, lab: Worker) -> None:
        usual = submitted(lab, "hba-a")
        urgent = Job.objects.create(token="x", priority=5)
        preferred = submitted(lab, "hba-b", job=urgent)
        assert queue.startable(lab) == [preferred]
        claim(preferred, lab)
        assert queue.next_run(usual.series.lun_id or 0) is None

    def test_the_end_of_a_run_wakes_who_waited_for_its_journal(
        self, lab: Worker, sent: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        handle = claim(submitted(lab, "a", "log"), lab)
        waits, again = submitted(lab, "b", "log"), submitted(lab, "a")
        with django_capture_on_commit_callbacks(execute=True):
            lifecycle.finish(handle, RunState.DONE, "x")
        # The worker goes on with its own LUN by itself.
        assert sent == [waits.pk]
        assert set(queue.startable(lab)) == {waits, again}

    def test_the_end_of_a_lost_run_wakes_who_waited_for_its_controller(
        self, lab: Worker, sent: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        claim(submitted(lab, "hba-a"), lab)
        waits = submitted(lab, "hba-b")
        with django_capture_on_commit_callbacks(execute=True):
            lifecycle.reap_lost(after_silence())
        assert sent == [waits.pk]

    def test_a_run_that_shares_nothing_wakes_nobody(
        self, lab: Worker, sent: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        handle = claim(submitted(lab, "a"), lab)
        submitted(lab, "b")
        with django_capture_on_commit_callbacks(execute=True):
            lifecycle.finish(handle, RunState.DONE, "x")
        assert sent == []

    def test_only_what_can_start_is_told_again(self, lab: Worker, sent: list[int]) -> None:
        handle = claim(submitted(lab, "hba-a"), lab)
        waits, free = submitted(lab, "hba-b"), submitted(lab, "a")
        assert lifecycle.resend(lab) == [free.pk]
        lifecycle.finish(handle, RunState.DONE, "x")
        later = timezone.now() + timedelta(seconds=2 * settings.WORKER_HEARTBEAT_S + 1)
        assert lifecycle.resend(lab, later) == [waits.pk, free.pk]

    def test_a_drained_worker_starts_nothing(self, lab: Worker) -> None:
        submitted(lab, "a")
        Worker.objects.filter(pk=lab.pk).update(drained_at=timezone.now())
        assert queue.startable(lab) == []


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    def test_two_runs_of_a_journal_are_never_active_together(
        self, lab: Worker, sent: list[int]
    ) -> None:
        run_all(lab, [submitted(lab, on, "log") for on in ("a", "b", "hba-a", "hba-b")])

    def test_two_runs_of_a_controller_are_never_active_together(
        self, lab: Worker, sent: list[int]
    ) -> None:
        pairs = [("hba-a", ""), ("hba-b", ""), ("a", "hba-log"), ("b", "hba-log")]
        run_all(lab, [submitted(lab, *pair) for pair in pairs for _ in range(2)])

    def test_whoever_wants_the_same_in_another_order_does_not_block(
        self, lab: Worker, sent: list[int]
    ) -> None:
        """Journals and LUNs of all kinds, claimed, prolonged, ended and reaped at once."""
        pairs = [("a", "log"), ("hba-b", "log"), ("hba-a", "hba-log"), ("b", "hba-log")]
        run_all(lab, [submitted(lab, *pair) for pair in pairs for _ in range(3)], reaps=True)

    def test_leases_are_made_once_on_first_use(self, lab: Worker) -> None:
        runs = [submitted(lab, on, "hba-log") for on in ("a", "b", "hba-a", "hba-b")]
        handles = at_once(*[lambda run=run: lifecycle.claim(run.pk, lab) for run in runs])  # type: ignore[misc]
        assert sum(handle is not None for handle in handles) == 1
        assert Lease.objects.filter(host=lab, controller=HBA).count() == 1


def run_all(worker: Worker, runs: list[Run], reaps: bool = False) -> None:
    """Claim and end runs in threads until none waits, and look all the time at what is shared."""
    clashes: list[str] = []
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                startable = queue.startable(worker)
                if not startable and not queue.waiting().exists():
                    return
                for run in startable:
                    handle = lifecycle.claim(run.pk, worker)
                    if handle is None:
                        continue
                    lifecycle.heartbeat(handle, phase="x")
                    look()
                    lifecycle.advance(handle, RunState.RUNNING)
                    lifecycle.finish(handle, RunState.DONE, "x")
        finally:
            connection.close()

    def look() -> None:
        clashes.extend(shared_twice())

    reaper = leases.LeaseWatch()
    with ThreadPoolExecutor(6) as pool:
        watchers = [pool.submit(watch, look, stop)]
        if reaps:
            watchers.append(pool.submit(watch, lambda: lifecycle.reap_lost(reaper), stop))
        workers = [pool.submit(work) for _ in range(3)]
        try:
            for future in workers:
                future.result(240)
        finally:
            stop.set()
        for future in watchers:
            future.result(60)
    assert clashes == []
    assert {fresh(run).state for run in runs} == {RunState.DONE}
    for run in runs:
        assert run.changes.filter(state=RunState.LEASED).count() == 1
    assert held_leases() == set()


def watch(act: Callable[[], object], stop: threading.Event) -> None:
    try:
        while not stop.is_set():
            act()
            time.sleep(0.005)
    finally:
        connection.close()


def shared_twice() -> list[str]:
    """What two active runs have at once: LUNs, and controllers that are shared."""
    used: dict[str, int] = {}
    clashes = []
    for run in Run.objects.filter(state__in=ACTIVE_STATES).select_related(
        "series__lun", "series__journal_lun"
    ):
        luns = [lun for lun in (run.series.lun, run.series.journal_lun) if lun]
        for resource in {lun.name for lun in luns} | {lun.controller for lun in luns} - {""}:
            if resource in used:
                clashes.append(f"{resource}: runs {used[resource]} and {run.pk}")
            used[resource] = run.pk
    return clashes


def on_host(name: str, *fingerprints: dict[str, Any]) -> Worker:
    """A worker with a device for each fingerprint: san-0, san-1, ..."""
    luns = [
        LunAnnouncement(
            *(f"san-{number}", "data", "device", f"/dev/sd{number}", 10**10, [], ["none"]),
            fingerprint={"kind": "device", "size_bytes": 10**10} | fingerprint,
        )
        for number, fingerprint in enumerate(fingerprints)
    ]
    return announce(worker_announcement(name=name, luns=luns))


WWN = "0x6001405aabbccddeeff0011223344556"
HOUR = timedelta(hours=1)


@contextmanager
def pass_time(step: timedelta) -> Iterator[None]:
    """What is written is that much older."""
    later = clock.now() + step
    with patch.object(clock, "now", lambda: later):
        yield


class TestADiskOfSeveralHosts:
    """A LUN of a storage network that two hosts' lists name is used by one of them at a time."""

    def test_the_other_host_waits_and_says_why(self, db: None) -> None:
        host_a, host_b = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN.upper()})
        mine, theirs = submitted(host_a, "san-0"), submitted(host_b, "san-0")
        handle = claim(mine, host_a)
        assert lifecycle.claim(theirs.pk, host_b) is None
        assert queue.startable(host_b) == []
        assert leases.shared_in_use(fresh(theirs).series) == [
            (f"its disk (WWN {WWN}, which another LUN is on too)", mine.pk)
        ]
        lifecycle.finish(handle, RunState.FAILED, "as a test ends it")
        assert [run.pk for run in queue.startable(host_b)] == [theirs.pk]
        assert claim(theirs, host_b).run_id == theirs.pk

    @pytest.mark.parametrize(
        ("mine", "theirs"),
        [
            pytest.param({"wwn": WWN}, {"wwn": WWN[:-1] + "7"}, id="another LUN"),
            pytest.param({"serial": "QM00001"}, {"serial": "QM00001"}, id="serial of a hypervisor"),
            pytest.param({}, {}, id="no name"),
        ],
    )
    def test_other_disks_do_not_wait(
        self, db: None, mine: dict[str, str], theirs: dict[str, str]
    ) -> None:
        host_a, host_b = on_host("host-a", mine), on_host("host-b", theirs)
        claim(submitted(host_a, "san-0"), host_a)
        claim(submitted(host_b, "san-0"), host_b)

    @pytest.mark.parametrize(
        ("mine", "theirs"),
        [
            pytest.param({}, {"partition": "1 at 2048"}, id="whole, partition"),
            pytest.param({"partition": "1 at 2048"}, {}, id="partition, whole"),
            pytest.param(
                {"partition": "1 at 2048"}, {"partition": "2 at 999424"}, id="two partitions"
            ),
            pytest.param(
                {}, {"wwn": "", "uuid": f"part1-mpath-3{WWN.removeprefix('0x')}"}, id="of multipath"
            ),
        ],
    )
    def test_a_partition_is_in_use_with_its_disk(
        self, db: None, mine: dict[str, str], theirs: dict[str, str]
    ) -> None:
        host_a, host_b = (
            on_host("host-a", {"wwn": WWN} | mine),
            on_host("host-b", {"wwn": WWN} | theirs),
        )
        run, waiting = submitted(host_a, "san-0"), submitted(host_b, "san-0")
        handle = claim(run, host_a)
        assert lifecycle.claim(waiting.pk, host_b) is None
        assert queue.startable(host_b) == []
        lifecycle.finish(handle, RunState.FAILED, "as a test ends it")
        assert claim(waiting, host_b).run_id == waiting.pk

    @pytest.mark.parametrize(
        "disk",
        [
            pytest.param({"wwn": WWN}, id="of a worldwide name"),
            pytest.param({"disk": "17", "boot": "b", "serial": "QM1"}, id="of none"),
            pytest.param({"slot": "0000:00:05.0", "boot": "b"}, id="of an old kernel"),
        ],
    )
    def test_partitions_of_one_host_take_turns(self, db: None, disk: dict[str, str]) -> None:
        """They have one I/O scheduler: a run that ends would set it under the other."""
        parts = (disk | {"partition": f"{number} at {number}2048"} for number in (1, 2))
        worker = on_host("host-a", *parts)
        mine, theirs = submitted(worker, "san-0"), submitted(worker, "san-1")
        assert [run.pk for run in queue.startable(worker)] == [mine.pk]
        handle = claim(mine, worker)
        assert lifecycle.claim(theirs.pk, worker) is None
        lifecycle.finish(handle, RunState.FAILED, "as a test ends it")
        assert [run.pk for run in queue.startable(worker)] == [theirs.pk]

    def test_partitions_of_other_disks_do_not_wait(self, db: None) -> None:
        """Numbers of disks are each host's own."""
        parts = [{"partition": "1 at 2048", "disk": number} for number in ("17", "18")]
        host_a, host_b = on_host("host-a", *parts), on_host("host-b", parts[0])
        for worker, name in ((host_a, "san-0"), (host_a, "san-1"), (host_b, "san-0")):
            claim(submitted(worker, name), worker)

    def test_multipath_has_the_name_of_the_disk_under_it(self, db: None) -> None:
        host_a = on_host("host-a", {"wwn": WWN})
        host_b = on_host("host-b", {"uuid": f"mpath-3{WWN.removeprefix('0x')}"})
        claim(submitted(host_a, "san-0"), host_a)
        assert lifecycle.claim(submitted(host_b, "san-0").pk, host_b) is None

    def test_who_is_lost_gives_the_disk_back(self, db: None) -> None:
        host_a, host_b = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN})
        run = submitted(host_a, "san-0")
        handle = claim(run, host_a)
        assert lifecycle.reap_lost(after_silence()) == [run.pk]
        waiting = submitted(host_b, "san-0")
        # Not at once: host-a may live all the same, and be ending its tools.
        assert lifecycle.claim(waiting.pk, host_b) is None
        assert queue.startable(host_b) == []
        with pass_time(leases.HANDOVER):
            assert queue.startable(host_b) == [waiting]
            claim(waiting, host_b)
        with pytest.raises(LeaseLost):
            lifecycle.heartbeat(handle)

    def test_who_lost_the_disk_need_not_wait_for_itself(self, db: None) -> None:
        host_a = on_host("host-a", {"wwn": WWN})
        claim(submitted(host_a, "san-0"), host_a)
        following = submitted(host_a, "san-0")
        lifecycle.reap_lost(after_silence())
        assert following in queue.startable(host_a)
        claim(following, host_a)

    def test_a_clock_that_is_set_back_then_keeps_the_disk_from_nobody(self, db: None) -> None:
        host_a, host_b = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN})
        claim(submitted(host_a, "san-0"), host_a)
        waiting = submitted(host_b, "san-0")
        lifecycle.reap_lost(after_silence())
        with pass_time(-HOUR):
            claim(waiting, host_b)

    def test_a_run_waits_for_the_disk_of_its_journal_too(self, db: None) -> None:
        host_a = on_host("host-a", {"wwn": WWN})
        journal = replace(lun("log", "journal"), fingerprint={"kind": "device", "wwn": WWN})
        announced = [lun("a"), journal]
        host_b = announce(worker_announcement(name="host-b", luns=announced))
        claim(submitted(host_a, "san-0"), host_a)
        assert lifecycle.claim(submitted(host_b, "a", "log").pk, host_b) is None


class TestAStepOfTheDatabasesClock:
    """What an administrator, or a time server that comes back, does to what is written already."""

    def test_it_gives_a_living_runs_disk_to_no_other_worker(self, db: None) -> None:
        host_a, host_b = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN})
        run, waiting = submitted(host_a, "san-0"), submitted(host_b, "san-0")
        watch = after_silence(5)
        handle = claim(run, host_a)
        assert lifecycle.reap_lost(watch) == []
        lifecycle.heartbeat(handle)
        Lease.objects.exclude(run=None).update(expires_at=F("expires_at") - HOUR)
        assert lifecycle.reap_lost(watch) == []
        assert lifecycle.claim(waiting.pk, host_b) is None
        lifecycle.heartbeat(handle)

    @pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["ahead", "back"])
    def test_who_is_silent_all_the_same_is_lost_no_later(
        self, lab: Worker, step: timedelta
    ) -> None:
        run = submitted(lab, "hba-a", "log")
        claim(run, lab)
        watch = after_silence()
        # Its own end of the lease is then past, or an hour away; nobody has written it anew.
        with patch.object(leases, "AT_DATABASE", leases.AT_DATABASE + step):
            assert lifecycle.reap_lost(watch) == [run.pk]

    def test_one_look_ends_nothing(self, lab: Worker) -> None:
        """Of a process that has just started: it has seen no silence yet."""
        run = submitted(lab, "a")
        claim(run, lab)
        Lease.objects.update(expires_at=timezone.now() - HOUR)
        ticks = [0.0]
        watch = leases.LeaseWatch(lambda: ticks[0])
        assert lifecycle.reap_lost(watch) == []
        ticks[0] = float(settings.WORKER_SILENT_AFTER_S)
        assert lifecycle.reap_lost(watch) == []
        ticks[0] += 1
        assert lifecycle.reap_lost(watch) == [run.pk]

    def test_who_could_write_nothing_has_seen_no_silence(self, lab: Worker) -> None:
        """The database was away, or its disk was full: nobody could send a heartbeat either."""
        run = submitted(lab, "a")
        claim(run, lab)
        ticks = [0.0]
        watch = leases.LeaseWatch(lambda: ticks[0])
        assert lifecycle.reap_lost(watch) == []
        ticks[0] = settings.WORKER_SILENT_AFTER_S + 1
        with (
            patch.object(leases, "runs_without_heartbeat", side_effect=OperationalError("full")),
            pytest.raises(OperationalError),
        ):
            lifecycle.reap_lost(watch)
        assert lifecycle.reap_lost(watch) == []
        ticks[0] += settings.WORKER_SILENT_AFTER_S + 1
        assert lifecycle.reap_lost(watch) == [run.pk]

    def test_a_lease_lives_as_long_as_its_own_host_says(self, lab: Worker) -> None:
        """Its FSBENCH_WORKER_SILENT_AFTER_S is longer than that of whoever watches."""
        run = submitted(lab, "a")
        claim(run, lab)
        Lease.objects.exclude(run=None).update(expires_at=timezone.now() + timedelta(seconds=300))
        assert lifecycle.reap_lost(after_silence(200)) == []
        assert lifecycle.reap_lost(after_silence(301)) == [run.pk]

    def test_a_heartbeat_between_look_and_lock_counts(self, lab: Worker) -> None:
        handle = claim(submitted(lab, "a"), lab)
        watch = after_silence()
        over = watch.over()
        assert set(over) == {Lease.objects.get(run=handle.run_id).pk}
        lifecycle.heartbeat(handle)
        with transaction.atomic():
            assert leases.runs_without_heartbeat(over) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("theirs_is", [{}, {"partition": "1 at 2048"}], ids=["whole", "partition"])
def test_of_two_hosts_that_claim_at_once_one_has_the_disk(theirs_is: dict[str, str]) -> None:
    host_a, host_b = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN} | theirs_is)
    mine, theirs = submitted(host_a, "san-0"), submitted(host_b, "san-0")
    handles = at_once(
        lambda: lifecycle.claim(mine.pk, host_a), lambda: lifecycle.claim(theirs.pk, host_b)
    )
    assert sum(handle is not None for handle in handles) == 1


@pytest.mark.django_db(transaction=True)
def test_whoever_looks_for_silent_runs_waits_for_none_that_is_being_written(lab: Worker) -> None:
    """PostgreSQL: another connection has one lease of a run of several; SQLite has one writer."""
    writing, silent = submitted(lab, "hba-a", "log"), submitted(lab, "a")
    claim(writing, lab)
    claim(silent, lab)
    keys = list(Lease.objects.filter(run=writing).order_by("pk").values_list("pk", flat=True))
    assert len(keys) == 3
    ticks = [0.0]
    watch = leases.LeaseWatch(lambda: ticks[0])
    assert lifecycle.reap_lost(watch) == []
    ticks[0] = settings.WORKER_SILENT_AFTER_S + 1
    if connection.features.has_select_for_update:
        other = connection.copy()
        try:
            other.set_autocommit(False)
            with other.cursor() as cursor:
                cursor.execute("SELECT 1 FROM studies_lease WHERE id = %s FOR UPDATE", [keys[0]])
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")
            assert lifecycle.reap_lost(watch) == [silent.pk]
            assert fresh(writing).state == RunState.LEASED
            other.rollback()
        finally:
            other.close()
        assert lifecycle.reap_lost(watch) == [writing.pk]
    else:
        assert set(lifecycle.reap_lost(watch)) == {silent.pk, writing.pk}
