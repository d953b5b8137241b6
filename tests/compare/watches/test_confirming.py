"""Rounds that confirm a change: ordered once, within a budget, by who may; and what they say."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.http import QueryDict
from django.test import Client

from fsbench_web.accounts.models import AuditEntry, LunGrant, Person, Role
from fsbench_web.catalog.models import Lun, Workload
from fsbench_web.catalog.workers.announce import WorkerAnnouncement, announce
from fsbench_web.compare.models import Watch, WatchDelivery, WatchMessage
from fsbench_web.compare.watches import confirming, watching
from fsbench_web.compare.watches.confirming import CannotConfirm
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, Race, Run, RunState
from fsbench_web.studies.runs import control
from tests.accounts.people import person
from tests.compare.history.test_history import measured
from tests.compare.watches.test_watches import kernel, three_alike, watched
from tests.studies.conftest import GB, USABLE, complete, worker_announcement

pytestmark = pytest.mark.django_db
NAMES = ("k60", "k61", "k62", "k63")
CELL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 4,
    "minimum_file_kb": 64,
    "maximum_file_kb": 64,
}


@pytest.fixture(autouse=True)
def _sends(settings: Any) -> None:
    settings.SENDS_EMAIL = True


def told_apart(capabilities: dict[str, Any]) -> WorkerAnnouncement:
    """Of LUNs that have names of their own."""
    usual = worker_announcement()
    luns = [replace(lun, fingerprint={"kind": lun.kind, "wwn": lun.name}) for lun in usual.luns]
    return replace(usual, capabilities=usual.capabilities | capabilities, luns=luns)


def announced(names: tuple[str, ...] = NAMES, k62: str | None = None) -> Lun:
    """The LUN of a worker that boots these guest kernels; ``k62`` is the version of that one."""
    versions = {name: f"6.{name[-1]}" for name in names} | ({"k62": k62} if k62 else {})
    kernels = [
        {
            **{"name": name, "version": versions[name], "problem": "", "schedulers": ["none"]},
            "filesystems": {"ext4": USABLE},
        }
        for name in names
    ]
    guest = {
        **{"usable": True, "reason": "", "accelerator": "kvm", "qemu": "7.2.9"},
        **{"most_memory_bytes": 8 * GB, "most_cpus": 2, "kernels": kernels},
    }
    worker = announce(told_apart({"guest": guest}))
    return worker.luns.get(name="disk1")


@pytest.fixture
def disk(db: None) -> Lun:
    return announced()


@pytest.fixture
def ada(disk: Lun) -> User:
    user = person(Role.OPERATOR, "ada")
    user.email = "ada@example.org"
    user.save()
    LunGrant.objects.create(user=user, lun=disk)
    return user


def measure(
    disk: Lun, user: User, levels: dict[str, float], filesystem: str = "ext4", **options: Any
) -> list[Run]:
    """Three repeats with each guest kernel; "" is the worker's own."""
    guest = GuestSpec(tuple(levels), 1024, 1) if "" not in levels else None
    spec = JobSpec(
        lun_id=disk.pk,
        configurations=(ConfigurationSpec(filesystem, {}, "none"),),
        workload="iozone-small",
        parameters=CELL,
        repeats=3,
        guest=guest,
        **({"new_study": "Nightly"} if not Job.objects.exists() else {"study": "nightly"}),
        **options,
    )
    runs = submit(spec, "disk1", user)
    finish(runs, levels)
    return runs


def finish(runs: list[Run], levels: dict[str, float], scatter: float = 0.01) -> None:
    """Run them to their end; repeats differ by ``scatter`` from one to the next."""
    for run in runs:
        level = levels[run.series.runs_on.kernel]
        complete(run, level * (1 + scatter * (run.repeat % 3 - 1)))


@pytest.fixture
def kernels(disk: Lun, ada: User) -> Run:
    """A line of three kernels of one speed."""
    return measure(disk, ada, dict.fromkeys(NAMES[:3], 1000.0))[0]


def watch_of(user: User, run: Run, rounds: int = 5, **columns: object) -> Watch:
    made = watched(user, run.series, margin_percent=5, **columns)
    if rounds:
        confirming.set_budget(made, rounds, 8, "disk1")
    return made


def found(disk: Lun, user: User) -> WatchMessage:
    """The watch finds the fourth kernel slower."""
    measure(disk, user, {"k63": 900.0})
    (message,) = watching.run_maintenance()
    return message


def rounds_of(message: WatchMessage) -> list[Run]:
    return list(Run.objects.filter(job=message.job_id).order_by("pk"))


def told(message: WatchMessage) -> tuple[str, str]:
    message.refresh_from_db()
    return message.state, message.confirmation


class TestTwoGuestKernels:
    def test_slower_in_paired_rounds_is_confirmed_and_then_told(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        assert told(message) == ("new", "ordered")
        assert not WatchDelivery.objects.exists()
        runs = rounds_of(message)
        assert {run.created_by for run in runs} == {ada}
        assert len({run.block for run in runs}) == 5
        booted = sorted(run.series.runs_on.kernel for run in runs)
        assert booted == ["k62"] * 5 + ["k63"] * 5
        assert watching.run_maintenance() == []  # while they wait
        finish(runs, {"k62": 1000.0, "k63": 906.0})
        (concluded,) = watching.run_maintenance()
        assert concluded == message
        assert told(message) == ("confirmed", "slower")
        numbers = message.payload["confirmation"]
        assert numbers["ratio"] == pytest.approx(0.906, abs=0.02)
        assert numbers["ratio_low"] < numbers["ratio"] < numbers["ratio_high"] < 1
        assert (numbers["method"], numbers["rounds"], numbers["job"]) == (
            *("paired", 5),
            message.job_id,
        )
        percent = f"{100 * (1 - numbers['ratio']):.1f}%"
        assert message.sentence.startswith(f"Confirmed: {percent} slower (95%: ")
        assert "5 paired rounds. From 6.2 to 6.3" in message.sentence
        (letter,) = mail.outbox
        assert letter.subject.startswith("fsbench: confirmed slower: ext4")
        assert message.sentence in letter.body
        assert watching.run_maintenance() == []

    def test_the_kernel_of_a_confirmed_change_can_be_searched(
        self, disk: Lun, ada: User, client: Client
    ) -> None:
        """Every second kernel was measured; the worker boots those between, too."""
        run = measure(disk, ada, dict.fromkeys(("k60", "k61"), 1000.0))[0]
        watch_of(ada, run)
        message = found(disk, ada)
        finish(rounds_of(message), {"k61": 1000.0, "k63": 900.0})
        watching.run_maintenance()
        message.refresh_from_db()
        assert message.sentence.startswith("Confirmed: ")
        assert "offers a search of the kernels between." in message.sentence
        client.force_login(ada)
        page = client.get(f"/watches/{message.watch_id}/").content.decode()
        (address,) = re.findall(r'href="(/runs/new/\?[^"]+)">Find the kernel', page)
        spec = job_form.read(QueryDict(unescape(address).partition("?")[2])).spec()
        assert spec.guest is not None
        assert spec.race is not None
        assert spec.guest.kernels == ("k61", "k62", "k63")
        assert (spec.race.find, spec.race.margin_percent) == ("change", 5)
        announced()  # a heartbeat of now
        searched = submit(spec, "disk1", ada)
        mail.outbox.clear()
        assert watching.run_maintenance() == []
        for _ in range(100):
            finish(searched, {"k61": 1000.0, "k62": 900.0, "k63": 900.0})
            searched = list(Run.objects.filter(state=RunState.QUEUED).order_by("pk"))[:1]
            if not searched:
                break
        (again,) = watching.run_maintenance()
        assert (again.pk, again.state) == (message.pk, "confirmed")
        found_by = again.payload["confirmation"]
        assert found_by["search_job"] == Race.objects.get().job_id
        assert found_by["search_found"].startswith("k62 is where")
        assert again.sentence.startswith(found_by["search_found"])
        (letter,) = mail.outbox
        assert found_by["search_found"] in letter.body
        assert watching.run_maintenance() == []
        page = client.get(f"/watches/{message.watch_id}/").content.decode()
        assert f'href="/jobs/{found_by["search_job"]}/">Search of the kernels' in page

    def test_neighbours_have_no_kernel_between(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        finish(rounds_of(message), {"k62": 1000.0, "k63": 900.0})
        watching.run_maintenance()
        message.refresh_from_db()
        assert message.confirmation == "slower"
        assert "search" not in message.payload["confirmation"]
        assert "search" not in message.sentence

    def test_as_fast_as_before_is_not_reproduced(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        finish(rounds_of(message), {"k62": 1000.0, "k63": 1000.0})
        watching.run_maintenance()
        assert told(message) == ("not_reproduced", "less_than_limit")
        assert mail.outbox[0].subject.startswith("fsbench: not confirmed: ext4")

    def test_slower_by_surely_less_than_the_limit_is_not_reproduced(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        finish(rounds_of(message), {"k62": 1000.0, "k63": 975.0}, scatter=0.0)
        watching.run_maintenance()
        assert told(message) == ("not_reproduced", "less_than_limit")

    def test_noise_that_hides_the_limit_decides_nothing(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch_of(ada, kernels, rounds=3)
        message = found(disk, ada)
        levels = iter((700.0, 1400.0, 900.0))
        for run in rounds_of(message):
            is_new = run.series.runs_on.kernel == "k63"
            complete(run, next(levels) if is_new else 1000.0)
        watching.run_maintenance()
        assert told(message) == ("new", "inconclusive")

    def test_cancelled_rounds_decide_nothing_and_it_is_told(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        control.cancel(message.job_id, "ada")
        watching.run_maintenance()
        assert told(message) == ("new", "too_few_rounds")
        assert len(mail.outbox) == 1

    def test_a_job_that_is_gone_decides_nothing(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        Run.objects.filter(job=message.job_id).delete()
        Job.objects.filter(pk=message.job_id).delete()
        watching.run_maintenance()
        assert told(message) == ("new", "too_few_rounds")

    def test_watches_of_one_line_share_the_rounds(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch_of(ada, kernels)
        watch_of(ada, kernels, test="read")
        measure(disk, ada, {"k63": 900.0})
        first, second = watching.run_maintenance()
        assert first.job_id == second.job_id is not None
        assert len(rounds_of(first)) == 10
        finish(rounds_of(first), {"k62": 1000.0, "k63": 900.0})
        assert len(watching.run_maintenance()) == 2
        assert {told(message) for message in (first, second)} == {("confirmed", "slower")}

    @pytest.mark.parametrize("old", [None, "6.2.1"])
    def test_a_kernel_that_the_worker_lost_or_updated_cannot_be_confirmed(
        self, disk: Lun, ada: User, kernels: Run, old: str | None
    ) -> None:
        watch_of(ada, kernels)
        measure(disk, ada, {"k63": 900.0})
        announced(("k63", "k62") if old else ("k63",), k62=old)
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "kernel_gone")
        assert message.job_id is None
        assert len(mail.outbox) == 1


class TestOnce:
    @pytest.mark.parametrize("place", ["submit", "save"])
    def test_a_death_in_the_middle_writes_nothing_and_is_made_good(
        self,
        disk: Lun,
        ada: User,
        kernels: Run,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
    ) -> None:
        watch = watch_of(ada, kernels)
        measure(disk, ada, {"k63": 900.0})
        jobs = Job.objects.count()

        def dies(*_: Any, **__: Any) -> None:
            raise RuntimeError("killed")

        with monkeypatch.context() as patched:
            if place == "submit":
                real = confirming.submit
                patched.setattr(
                    confirming, "submit", lambda *a, **k: dies() if real(*a, **k) else None
                )
            else:
                patched.setattr(watching, "_note_fixed", dies)
            assert watching.run_maintenance() == []
        assert Job.objects.count() == jobs
        assert not watch.messages.exists()
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "ordered")
        assert Job.objects.count() == jobs + 1

    def test_a_death_before_it_is_told_concludes_once(
        self, disk: Lun, ada: User, kernels: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        finish(rounds_of(message), {"k62": 1000.0, "k63": 900.0})

        def dies(*_: Any) -> None:
            raise RuntimeError("killed")

        with monkeypatch.context() as patched:
            patched.setattr(confirming.deliveries, "enqueue", dies)
            with pytest.raises(RuntimeError, match="killed"):
                watching.run_maintenance()
        assert told(message) == ("new", "ordered")
        watching.run_maintenance()
        assert told(message) == ("confirmed", "slower")
        assert message.sentence.count("Confirmed:") == 1
        assert WatchDelivery.objects.count() == 1

    def test_one_change_at_a_time(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch = watch_of(ada, kernels)
        WatchMessage.objects.create(
            watch=watch,
            key="slower:5.0",
            kind="slower",
            point="5.0",
            confirmation="ordered",
            job=kernels.job,
            payload={"change": {"after": 900.0, "before": 1000.0}},
        )
        Run.objects.filter(pk=kernels.pk).update(state=RunState.QUEUED)
        measure(disk, ada, {"k63": 900.0})
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "one_at_a_time")


@pytest.mark.django_db(transaction=True)
def test_housekeepers_of_one_moment_order_once_and_tell_once(
    disk: Lun, ada: User, kernels: Run
) -> None:
    watch_of(ada, kernels)
    measure(disk, ada, {"k63": 900.0})
    jobs = Job.objects.count()
    assert sorted(map(len, at_once(watching.run_maintenance))) == [0, 0, 0, 1]
    assert Job.objects.count() == jobs + 1
    message = WatchMessage.objects.get()
    finish(rounds_of(message), {"k62": 1000.0, "k63": 900.0})
    assert sorted(map(len, at_once(watching.run_maintenance))) == [0, 0, 0, 1]
    assert told(message) == ("confirmed", "slower")
    watching.run_maintenance()
    assert len(mail.outbox) == 1


def at_once(work: Callable[[], list[WatchMessage]]) -> list[list[WatchMessage]]:
    """What four threads return that begin together."""
    found: list[list[WatchMessage]] = []
    together = threading.Barrier(4)

    def begin() -> None:
        together.wait()
        try:
            found.append(work())
        finally:
            connection.close()

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class TestTheSameLunAgain:
    def test_fresh_rounds_are_compared_with_the_runs_of_before(self, disk: Lun, ada: User) -> None:
        runs = []
        for version, level in (("5.1", 1000.0), ("5.2", 1000.0), ("6.1.0", 1000.0)):
            announce_kernel(version)
            runs = measure(disk, ada, {"": level})
        watch_of(ada, runs[0])
        announce_kernel("6.2.0")
        measure(disk, ada, {"": 900.0})
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "ordered")
        finish(rounds_of(message), {"": 900.0})
        watching.run_maintenance()
        assert told(message) == ("confirmed", "slower")
        numbers = message.payload["confirmation"]
        assert (numbers["method"], numbers["rounds"], numbers["earlier_runs"]) == ("unpaired", 5, 9)
        assert "5 new rounds against 9 earlier runs" in message.sentence

    def test_a_host_with_another_kernel_cannot_confirm(self, disk: Lun, ada: User) -> None:
        runs = []
        for version in ("5.1", "5.2", "6.1.0"):
            announce_kernel(version)
            runs = measure(disk, ada, {"": 1000.0})
        watch_of(ada, runs[0])
        announce_kernel("6.2.0")
        measure(disk, ada, {"": 900.0})
        announce_kernel("6.3.0")
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "kernel_gone")


def announce_kernel(version: str) -> None:
    announce(told_apart({"kernel": version}))


class TestWhoMay:
    def test_without_a_budget_nothing_is_ordered(self, disk: Lun, ada: User, kernels: Run) -> None:
        watch_of(ada, kernels, rounds=0)
        message = found(disk, ada)
        assert told(message) == ("new", "")
        assert message.job_id is None
        assert len(mail.outbox) == 1

    def take_grant(self, user: User, disk: Lun) -> None:
        LunGrant.objects.all().delete()

    def take_role(self, user: User, disk: Lun) -> None:
        Person.objects.filter(user=user).update(role=Role.VIEWER)

    def unlist(self, user: User, disk: Lun) -> None:
        Lun.objects.filter(pk=disk.pk).update(is_listed=False)

    def break_disk(self, user: User, disk: Lun) -> None:
        Lun.objects.filter(pk=disk.pk).update(problem="It is mounted.")

    def spend_time(self, user: User, disk: Lun) -> None:
        Watch.objects.update(confirm_hours=0)

    def forget_workload(self, user: User, disk: Lun) -> None:
        Workload.objects.update(tool="gone")

    def confirm_with_it(self, user: User, disk: Lun) -> None:
        last = Job.objects.order_by("pk").last()
        WatchMessage.objects.create(watch=Watch.objects.get(), key="test:1", kind="test", job=last)

    def replace_disk(self, user: User, disk: Lun) -> None:
        Watch.objects.update(confirm_devices="0" * 64)

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (take_grant, "not_allowed"),
            (take_role, "not_allowed"),
            (unlist, "lun_gone"),
            (break_disk, "lun_unusable"),
            (spend_time, "no_time"),
            (forget_workload, "not_repeatable"),
            (confirm_with_it, "own_rounds"),
            (replace_disk, "devices_changed"),
        ],
    )
    def test_what_holds_when_it_is_ordered_counts(
        self,
        disk: Lun,
        ada: User,
        kernels: Run,
        change: Callable[..., None],
        code: str,
    ) -> None:
        watch_of(ada, kernels)
        measure(disk, ada, {"k63": 900.0})
        change(self, ada, disk)
        jobs = Job.objects.count()
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", code)
        assert Job.objects.count() == jobs
        assert len(mail.outbox) == 1

    def test_a_lun_that_nothing_tells_from_another_is_not_kept(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch = watch_of(ada, kernels, rounds=0)
        Lun.objects.update(fingerprint={})
        with pytest.raises(JobRefused) as refused:
            confirming.set_budget(watch, 5, 8, "disk1")
        assert list(refused.value.by_part) == ["lun"]
        watch.refresh_from_db()
        assert not watch.confirm_rounds

    def test_the_budget_needs_the_name_of_the_lun_and_the_right_to_erase_it(
        self, disk: Lun, ada: User, kernels: Run
    ) -> None:
        watch = watch_of(ada, kernels, rounds=0)
        with pytest.raises(JobRefused) as refused:
            confirming.set_budget(watch, 5, 8, "disk2")
        assert set(refused.value.by_part) == {"confirmation"}
        LunGrant.objects.all().delete()
        with pytest.raises(JobRefused) as refused:
            confirming.set_budget(watch, 5, 8, "disk1")
        assert refused.value.is_forbidden
        watch.refresh_from_db()
        assert (watch.confirm_rounds, watch.confirm_devices) == (0, "")

    def test_an_imported_line_cannot_have_one(self, ada: User) -> None:
        watch = watched(ada, three_alike())
        with pytest.raises(CannotConfirm) as why:
            confirming.set_budget(watch, 5, 8, "disk1")
        assert why.value.code == "lun_gone"
        Watch.objects.update(confirm_rounds=5, confirm_hours=1)
        kernel("6.3", 80)
        (message,) = watching.run_maintenance()
        assert told(message) == ("new", "imported")
        assert message.payload["confirmation"]["code"] == "imported"


class TestTriage:
    @pytest.fixture
    def hers(self, client: Client, ada: User) -> Client:
        client.force_login(ada)
        return client

    @pytest.fixture
    def changes(self, ada: User) -> list[WatchMessage]:
        """One kernel that is slower with two file systems, told and not sent yet."""
        for filesystem in ("ext4", "xfs"):
            for version in ("6.0", "6.1", "6.2"):
                for part in (-1, 0, 1):
                    run = measured(version, 100 + part, filesystem=filesystem)
            watched(ada, run.series)
            for part in (-1, 0, 1):
                measured("6.3", 80 + part, filesystem=filesystem)
        return watching.check_all()

    def test_a_kernel_is_one_cause_and_is_expected_with_a_note(
        self, hers: Client, ada: User, changes: list[WatchMessage]
    ) -> None:
        page = hers.get("/watches/").content.decode()
        assert page.count('data-cause="6.3"') == 1
        assert page.count("data-change=") == 2
        keys = [message.pk for message in changes]
        said = {"change": keys, "state": "expected", "note": ""}
        assert hers.post("/watches/changes/", said).status_code == 422
        assert hers.post("/watches/changes/", said | {"note": "mitigations"}).status_code == 302
        assert {told(message) for message in changes} == {("expected", "")}
        entries = AuditEntry.objects.filter(what="change triaged")
        assert {entry.detail["note"] for entry in entries} == {"mitigations"}
        assert len(entries) == 2
        watching.run_maintenance()
        assert mail.outbox == []
        assert "mitigations" in hers.get(f"/watches/{changes[0].watch_id}/").content.decode()

    def test_days_are_causes_of_their_configuration(self, hers: Client, ada: User) -> None:
        for filesystem in ("ext4", "xfs"):
            for day, level in enumerate((100, 100, 100, 100, 80, 80)):
                for part in (-1, 0, 1):
                    run = measured("6.1", level + part, day, filesystem=filesystem)
                if day == 3:
                    watched(ada, run.series, along="date")
        assert len(watching.check_all()) == 2
        page = hers.get("/watches/").content.decode()
        assert page.count('data-cause="2026-03-05"') == 2
        heads = re.findall(r"<h3>(\w+), day 2026-03-05 on Array</h3>", page)
        assert sorted(heads) == ["ext4", "xfs"]

    def test_back_at_the_level_of_before_is_fixed(
        self, ada: User, changes: list[WatchMessage]
    ) -> None:
        for version, level in (("6.4", 80), ("6.5", 99), ("6.6", 99)):
            for part in (-1, 0, 1):
                measured(version, level + part)
        watching.run_maintenance()
        states = {message.watch.configuration.filesystem: told(message)[0] for message in changes}
        assert states == {"ext4": "fixed", "xfs": "new"}

    def test_rounds_of_an_expected_change_are_not_told(
        self, disk: Lun, hers: Client, ada: User, kernels: Run
    ) -> None:
        watch_of(ada, kernels)
        message = found(disk, ada)
        path = f"/api/v1/watches/{message.watch_id}/changes/{message.pk}"
        answer = hers.patch(path, {"state": "expected", "note": "known"}, "application/json")
        assert (answer.status_code, answer.json()["state"]) == (200, "expected")
        finish(rounds_of(message), {"k62": 1000.0, "k63": 900.0})
        watching.run_maintenance()
        assert told(message) == ("expected", "slower")
        assert mail.outbox == []
        answer = hers.patch(path, {"state": "new"}, "application/json")
        assert answer.json()["state"] == "confirmed"

    def test_changes_of_others_are_not_there(
        self, client: Client, changes: list[WatchMessage]
    ) -> None:
        client.force_login(person(Role.OPERATOR, "eve"))
        said = {"change": [changes[0].pk], "state": "fixed"}
        assert client.post("/watches/changes/", said).status_code == 404
        assert told(changes[0]) == ("new", "")

    @pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 5000, "\u0663", "-1", ""])
    def test_what_is_no_number_of_a_change_is_no_change(self, hers: Client, number: str) -> None:
        said = {"change": number, "state": "fixed"}
        assert hers.post("/watches/changes/", said).status_code == 404

    def test_the_page_and_the_api_set_a_budget(
        self, disk: Lun, hers: Client, ada: User, kernels: Run
    ) -> None:
        watch = watch_of(ada, kernels, rounds=0)
        path = f"/watches/{watch.pk}/"
        assert "disk1" in hers.get(path).content.decode()
        for wrong in ({"rounds": 2}, {"hours": ""}, {"confirm": "disk"}, {"rounds": 21}):
            sent = {"rounds": 5, "hours": 2, "confirm": "disk1"} | wrong
            assert hers.post(f"{path}confirmation/", sent).status_code == 422, wrong
        sent = {"rounds": 5, "hours": 2, "confirm": "disk1"}
        assert hers.post(f"{path}confirmation/", sent).status_code == 302
        assert 'data-rounds="5" data-hours="2"' in hers.get(path).content.decode()
        api = f"/api/v1{path}confirmation"
        bad = hers.put(api, {"rounds": 3, "hours": 1, "confirm": "x"}, "application/json")
        assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "confirm")
        done = hers.put(api, {"rounds": 0}, "application/json").json()
        assert (done["confirm_rounds"], done["confirm_hours"]) == (0, 0)
        assert AuditEntry.objects.filter(what="watch budget set").count() == 2
