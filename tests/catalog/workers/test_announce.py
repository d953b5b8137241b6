from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from fsbench_web.catalog.models import HardwareProfile, Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce

pytestmark = pytest.mark.django_db


def announcement(*luns: str, **changes: object) -> WorkerAnnouncement:
    values = {
        "name": "lab9",
        "executor": "local",
        "capabilities": {"kernel": "6.1"},
        "luns": [LunAnnouncement(name, "data", "device", f"/dev/{name}") for name in luns],
        "hardware": [["Processor", "x"]],
    }
    return WorkerAnnouncement(**(values | changes))  # type: ignore[arg-type]


def test_it_writes_worker_luns_and_hardware() -> None:
    worker = announce(announcement("a", "b"))
    assert worker.queue == "host.lab9"
    assert worker.capabilities == {"kernel": "6.1"}
    assert worker.hardware is not None
    assert worker.hardware.slug == "host-lab9"
    assert [lun.name for lun in worker.luns.all()] == ["a", "b"]


def test_the_longest_names_have_hardware_of_their_own() -> None:
    longest = "n" * 99
    first, second = (announce(announcement("a", name=longest + end)) for end in "ab")
    assert first.hardware is not None
    assert second.hardware is not None
    slugs = {first.hardware.slug, second.hardware.slug}
    assert [len(slug) for slug in slugs] == [100, 100]
    assert announce(announcement("a", name=longest + "a")).hardware == first.hardware


def test_a_lun_that_is_not_listed_any_more_stays_known() -> None:
    announce(announcement("a", "b"))
    worker = announce(announcement("b"))
    assert list(worker.luns.filter(is_listed=True).values_list("name", flat=True)) == ["b"]
    announce(announcement("a", "b"))
    assert Lun.objects.filter(is_listed=True).count() == 2


def test_another_workers_luns_stay_as_they_are() -> None:
    announce(announcement("a"))
    announce(announcement(name="lab8"))
    assert Lun.objects.get(worker__name="lab9").is_listed


def test_the_start_is_told_once_and_heartbeats_often() -> None:
    worker = announce(announcement())
    past = timezone.now() - timedelta(hours=1)
    Worker.objects.update(started_at=past, seen_at=past)
    worker = announce(announcement())
    assert worker.started_at == past
    assert worker.seen_at > past
    assert announce(announcement(has_started=True)).started_at > past


def test_a_heartbeat_writes_what_has_changed_alone() -> None:
    """What a worker can do is some thousand characters, written every few seconds by each."""
    announce(announcement("a"))
    with CaptureQueriesContext(connection) as queries:
        worker = announce(announcement("a"))
    written = [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
    assert not any("catalog_hardwareprofile" in sql for sql in written)
    (of_worker,) = (sql for sql in written if 'UPDATE "catalog_worker"' in sql)
    assert "capabilities" not in of_worker
    assert "seen_at" in of_worker
    announce(announcement("a", capabilities={"kernel": "6.8"}, hardware=[]))
    worker.refresh_from_db()
    assert worker.capabilities == {"kernel": "6.8"}
    assert worker.hardware is None


def test_a_name_that_a_person_gave_the_hardware_stays() -> None:
    announce(announcement())
    HardwareProfile.objects.update(name="The big one")
    announce(announcement(hardware=[["Processor", "y"]]))
    profile = HardwareProfile.objects.get()
    assert profile.name == "The big one"
    assert profile.facts == [["Processor", "y"]]


def test_a_host_that_tells_nothing_has_no_profile() -> None:
    assert announce(announcement(hardware=[])).hardware is None
    assert not HardwareProfile.objects.exists()
