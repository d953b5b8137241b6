"""What triggers order, once for each occasion, and what they refuse to."""

import os
import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from fsbench_web.accounts.models import AuditEntry, LunGrant, Person, Role
from fsbench_web.accounts.people.accounts import close
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.models import Job, Run, RunState, Study, Trigger, TriggerOrder
from fsbench_web.studies.triggers import ordering, records
from tests.studies.triggers.conftest import DOCUMENT, FOUND, Lab, Make, end_all

pytestmark = pytest.mark.django_db
NIGHTLY = {"schedule": "0 2 * * *", "zone": "UTC"}
Cause = TriggerOrder.Cause


def outcomes(trigger: Trigger) -> list[tuple[str, str]]:
    """(cause, problem) of all its orders, the oldest first."""
    return list(trigger.orders.order_by("id").values_list("cause", "problem"))


def test_a_schedule_orders_its_job_in_the_name_of_its_owner(
    lab: Lab, make: Make, eve: User
) -> None:
    trigger = make(**NIGHTLY)
    lab.at("2026-03-28T01:59")
    assert ordering.run_maintenance() == []
    lab.at("2026-03-28T02:00")
    (order,) = ordering.run_maintenance()
    assert order.job is not None
    assert (order.cause, order.detail) == ("schedule", "2026-03-28T02:00:00+00:00")
    assert (order.job.created_by, order.job.runs.count()) == (eve, 1)
    run = Run.objects.get()
    assert (run.created_by, run.state, run.confirmed) == (eve, RunState.QUEUED, {"data": FOUND})
    assert ordering.run_maintenance() == []
    entry = AuditEntry.objects.get(what="trigger ordered")
    assert entry.thing == f"trigger {trigger.pk}"
    assert entry.detail == {"job": order.job.pk, "cause": "schedule", "owner": "eve"}


def test_each_night_goes_to_the_same_study_in_another_order(lab: Lab, make: Make) -> None:
    make(**NIGHTLY)
    for day in (28, 29):
        lab.at(f"2026-03-{day}T02:00")
        ordering.run_maintenance()
        end_all()
    assert Study.objects.count() == 1
    first, second = Job.objects.values_list("document", flat=True)
    assert first.pop("seed") != second.pop("seed")
    assert first == second


def test_nothing_is_ordered_while_the_last_job_runs(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    for day in (28, 29):
        lab.at(f"2026-03-{day}T02:00")
        ordering.run_maintenance()
    assert outcomes(trigger) == [("schedule", ""), ("schedule", "running")]
    assert Job.objects.count() == 1
    end_all()
    lab.at("2026-03-30T02:00")
    ordering.run_maintenance()
    assert outcomes(trigger)[2:] == [("schedule", "")]


def test_what_was_missed_while_nothing_ran_is_ordered_once(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    lab.at("2026-04-03T15:00")  # six nights later
    assert len(ordering.run_maintenance()) == 1
    end_all()
    lab.at("2026-04-04T01:59")
    assert ordering.run_maintenance() == []
    lab.at("2026-04-04T02:00")
    assert len(ordering.run_maintenance()) == 1
    assert outcomes(trigger) == [("schedule", "")] * 2


def test_a_clock_that_is_set_back_orders_nothing_twice(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    end_all()
    lab.at("2026-03-28T01:00")
    assert ordering.run_maintenance() == []
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    assert outcomes(trigger) == [("schedule", "")]
    assert Job.objects.count() == 1
    lab.at("2026-03-29T02:00")
    ordering.run_maintenance()
    assert Job.objects.count() == 2


def test_a_clock_that_was_years_ahead_leaves_no_trigger_silent(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    lab.at("2036-01-01T12:00")
    ordering.run_maintenance()
    end_all()
    lab.at("2026-03-28T12:00")
    ordering.run_maintenance()
    trigger.refresh_from_db()
    assert trigger.due_at is not None
    assert trigger.due_at.isoformat() == "2026-03-29T02:00:00+00:00"


def test_a_night_without_0230_and_one_with_two(lab: Lab, make: Make) -> None:
    make(schedule="30 2 * * *", zone="Europe/Berlin")
    ordered = []
    for start in ("2026-03-28T12:00", "2026-10-24T12:00"):
        now = lab.at(start)
        Trigger.objects.update(due_at=now + timedelta(days=365))  # worked out anew
        for _ in range(24 * 6):
            lab.now += timedelta(minutes=10)
            lab.announce()
            ordered += ordering.run_maintenance()
            end_all()
    assert [order.detail for order in ordered] == [
        "2026-03-29T01:30:00+00:00",
        "2026-10-25T00:30:00+00:00",
    ]
    assert Job.objects.count() == 2


def test_runs_begin_within_the_window(lab: Lab, make: Make) -> None:
    make(**NIGHTLY, opens="22:00", closes="06:00")
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    job = Job.objects.get()
    assert (job.start_at, str(job.stop_before)) == (None, "2026-03-28 06:00:00+00:00")
    end_all()
    lab.at("2026-03-29T12:00")
    ordering.run_maintenance()
    job = Job.objects.latest("pk")
    assert (str(job.start_at), str(job.stop_before)) == (
        "2026-03-29 22:00:00+00:00",
        "2026-03-30 06:00:00+00:00",
    )


def kernel(version: str) -> dict[str, Any]:
    return {"kernel": version}


def test_a_new_kernel_of_the_host_orders_once(lab: Lab, make: Make) -> None:
    trigger = make(on_kernel=True)
    assert ordering.run_maintenance() == []
    lab.capabilities = kernel("6.1.0-25")
    lab.announce()
    (order,) = ordering.run_maintenance()
    assert (order.cause, order.detail) == ("kernel", "6.1.0-25")
    end_all()
    assert ordering.run_maintenance() == []
    lab.capabilities = {}  # booted with the old one again
    lab.announce()
    assert ordering.run_maintenance() == []
    assert outcomes(trigger) == [("kernel", "")]


def test_a_new_kernel_waits_for_the_last_job(lab: Lab, make: Make) -> None:
    trigger = make(on_kernel=True)
    ordering.order(trigger.pk, Cause.PERSON, "person 1")
    lab.capabilities = kernel("6.1.0-25")
    lab.announce()
    assert ordering.run_maintenance() == []
    end_all()
    (order,) = ordering.run_maintenance()
    assert (order.problem, order.detail) == ("", "6.1.0-25")


def test_a_refused_new_kernel_is_tried_until_it_is_ordered(lab: Lab, make: Make) -> None:
    trigger = make(on_kernel=True)
    Worker.objects.update(drained_at=lab.now)
    lab.capabilities = kernel("6.1.0-25")
    lab.announce()
    assert [order.problem for order in ordering.run_maintenance()] == ["refused"]
    assert ordering.run_maintenance() == []  # the same refusal is written once
    Worker.objects.update(drained_at=None)
    (order,) = ordering.run_maintenance()
    assert (order.problem, order.detail) == ("", "6.1.0-25")
    end_all()
    assert ordering.run_maintenance() == []
    assert outcomes(trigger) == [("kernel", "refused"), ("kernel", "")]


def guests(*versions: tuple[str, str]) -> dict[str, Any]:
    usable = {"usable": True, "reason": ""}
    kernels = [
        {"name": name, "version": version, "problem": "", "filesystems": {"ext4": usable}}
        | {"schedulers": ["none"]}
        for name, version in versions
    ]
    return {"guest": {"usable": True, "accelerator": "kvm", "kernels": kernels}}


def test_a_new_kernel_of_guests_is_measured_beside_those_of_the_job(lab: Lab, make: Make) -> None:
    lab.capabilities = guests(("debian-6.1", "6.1.0-20"))
    lab.announce()
    document = DOCUMENT + "executor: guest\nguest: {kernels: [debian-6.1]}\n"
    trigger = make(document=document, on_kernel=True)
    assert trigger.kernels == [["debian-6.1", "6.1.0-20"]]
    lab.capabilities = guests(("debian-6.1", "6.1.0-20"), ("debian-6.12", "6.12.9"))
    lab.announce()
    (order,) = ordering.run_maintenance()
    assert order.reasons == []
    assert order.job is not None
    kernels = order.job.runs.values_list("series__kernel", flat=True)
    assert sorted(kernels) == ["6.1.0-20", "6.12.9"]
    assert order.detail == "debian-6.12 6.12.9"
    trigger.refresh_from_db()
    assert trigger.document["guest"] == {"kernels": ["debian-6.1"]}


@pytest.mark.parametrize("taken", ["grant", "role", "team"])
def test_what_its_owner_may_not_submit_it_may_not_either(
    lab: Lab, make: Make, eve: User, taken: str
) -> None:
    trigger = make(**NIGHTLY)
    if taken == "grant":
        LunGrant.objects.all().delete()
    elif taken == "role":
        Person.objects.filter(user=eve).update(role=Role.CONTRIBUTOR)
    else:
        study = Study.objects.create(slug="nightly", title="Nightly", visibility="private")
        assert study.created_by is None
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    problem = "refused" if taken == "team" else "forbidden"
    assert outcomes(trigger) == [("schedule", problem)]
    assert not Job.objects.exists()
    assert not Run.objects.exists()


def test_a_closed_account_orders_nothing_when_it_is_opened_again(
    lab: Lab, make: Make, eve: User
) -> None:
    trigger = make(**NIGHTLY)
    root = User.objects.create_superuser("root")
    records.make_token(trigger)
    close(eve, root)
    lab.at("2026-03-28T02:00")
    assert ordering.run_maintenance() == []
    User.objects.filter(pk=eve.pk).update(is_active=True)
    assert ordering.run_maintenance() == []
    trigger.refresh_from_db()
    assert (trigger.is_active, trigger.token) == (False, None)


@pytest.mark.parametrize("changed", ["disk", "document", "another LUN"])
def test_a_confirmation_is_void_when_job_or_disk_has_changed(
    lab: Lab, make: Make, changed: str
) -> None:
    trigger = make(**NIGHTLY)
    if changed == "disk":
        lab.fingerprint = FOUND | {"serial": "S4A"}
    elif changed == "document":
        Trigger.objects.update(document=trigger.document | {"repeats": 9})
    else:
        LunGrant.objects.create(user=trigger.user, lun=Lun.objects.get(name="small1"))
        Trigger.objects.update(document=trigger.document | {"lun": "small1"})
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    assert outcomes(trigger) == [("schedule", "void")]
    assert not Run.objects.exists()
    # The old disk is back: it was void once, and stays so until somebody confirms.
    lab.fingerprint = FOUND
    Trigger.objects.update(document=trigger.document)
    lab.at("2026-03-29T02:00")
    assert ordering.run_maintenance() == []
    trigger.refresh_from_db()
    assert (trigger.is_active, trigger.confirmed) == (False, {})
    with pytest.raises(records.NotConfirmed):
        records.resume(trigger)


def test_a_refused_job_says_why_and_the_next_time_is_tried(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    lab.at("2026-03-28T02:00")
    Worker.objects.update(drained_at=lab.now)
    ordering.run_maintenance()
    assert outcomes(trigger) == [("schedule", "refused")]
    assert trigger.orders.get().reasons
    Worker.objects.update(drained_at=None)
    lab.at("2026-03-29T02:00")
    ordering.run_maintenance()
    assert outcomes(trigger)[1:] == [("schedule", "")]


def test_a_paused_trigger_orders_nothing_and_nothing_of_it_later(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY, on_kernel=True)
    records.pause(trigger)
    lab.capabilities = kernel("6.1.0-25")
    lab.at("2026-03-28T02:00")
    assert ordering.run_maintenance() == []
    assert ordering.order(trigger.pk, Cause.PERSON, "person 1") is None
    records.resume(trigger)
    assert ordering.run_maintenance() == []
    lab.at("2026-03-29T02:00")
    assert len(ordering.run_maintenance()) == 1


def test_refusals_are_kept_in_number(lab: Lab, make: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(ordering, "KEPT_REFUSALS", 3)
    trigger = make(schedule="* * * * *")
    for minute in range(1, 8):
        lab.at(f"2026-03-27T12:{minute:02}")
        ordering.run_maintenance()
    assert outcomes(trigger) == [("schedule", "")] + [("schedule", "running")] * 3


def test_one_that_nobody_can_order_stops_no_other(lab: Lab, make: Make, monkeypatch: Any) -> None:
    broken, fine = make(**NIGHTLY), make(**NIGHTLY)
    by_schedule = ordering._by_schedule

    def fails(trigger: Trigger, now: Any) -> list[TriggerOrder]:
        if trigger == broken:
            raise RuntimeError
        return by_schedule(trigger, now)

    monkeypatch.setattr(ordering, "_by_schedule", fails)
    lab.at("2026-03-28T02:00")
    assert [order.trigger for order in ordering.run_maintenance()] == [fine]


def test_a_deleted_trigger_leaves_its_jobs_and_why_they_were_ordered(lab: Lab, make: Make) -> None:
    trigger = make(**NIGHTLY)
    for day in (28, 29):
        lab.at(f"2026-03-{day}T02:00")
        ordering.run_maintenance()
    records.delete(trigger)
    (order,) = TriggerOrder.objects.all()
    assert order.job == Job.objects.get()
    assert (order.trigger, order.cause) == (None, "schedule")


ORDER_ALL = """
import django; django.setup()
from fsbench_web.platform import clock
from datetime import datetime, UTC
from django.conf import settings
settings.DATABASES["default"]["NAME"] = {name!r}
from django.db import connections
connections["default"].settings_dict["NAME"] = {name!r}
now = datetime.fromisoformat({now!r})
clock.now = lambda: now
from fsbench_web.studies.runs import nudges
nudges._send = lambda *sent: True
from fsbench_web.studies.triggers import ordering
print("ready", flush=True)
input()
print(len([order for order in ordering.run_maintenance() if order.job]), flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_two_processes_at_once_order_once(lab: Lab, make: Make) -> None:
    """As two sites' supervisors on one database would, at the same moment."""
    for _ in range(3):
        make(**NIGHTLY)
    now = lab.at("2026-03-28T02:00")
    code = ORDER_ALL.format(name=connection.settings_dict["NAME"], now=now.isoformat())
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=settings.BASE_DIR,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    made = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(made) == Job.objects.count() == TriggerOrder.objects.count() == 3
    assert Run.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_forms_at_once_stay_within_the_limit(
    lab: Lab, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_TRIGGERS", 3)
    make()
    together, refused = threading.Barrier(4), []

    def save() -> None:
        together.wait()
        try:
            make()
        except records.TooManyTriggers:
            refused.append(True)
        finally:
            connection.close()

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Trigger.objects.count(), len(refused)) == (3, 2)
