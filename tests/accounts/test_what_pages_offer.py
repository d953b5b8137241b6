"""Pages offer what whoever looks may do, and say why where it may not."""

import pytest
from django.test import Client

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import AuditEntry, Role
from fsbench_web.catalog.models import HardwareProfile, OwnWorkload
from fsbench_web.catalog.workers.announce import announce
from tests.accounts.people import person
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db


def as_role(role: Role) -> Client:
    client = Client()
    client.force_login(person(role))
    return client


def test_only_administrators_are_offered_to_drain_a_worker() -> None:
    name = announce(worker_announcement()).name
    offer = "Drain for maintenance"
    assert offer in as_role(Role.ADMINISTRATOR).get(f"/workers/{name}/").content.decode()
    assert offer not in as_role(Role.OPERATOR).get(f"/workers/{name}/").content.decode()


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.OPERATOR, Role.VIEWER])
def test_uploads_are_offered_to_operators_and_device_rates_to_administrators(role: Role) -> None:
    HardwareProfile.objects.create(slug="box", name="Box")
    client = as_role(role)
    uploads = "/workloads/new/" in client.get("/workloads/").content.decode()
    assert uploads == (role is not Role.VIEWER)
    rates = 'name="rate"' in client.get("/hardware/box/").content.decode()
    assert rates == (role is Role.ADMINISTRATOR)


def test_what_administrators_say_of_workloads_and_devices_is_in_the_audit_log() -> None:
    HardwareProfile.objects.create(slug="box", name="Box")
    client = as_role(Role.ADMINISTRATOR)
    job = {"title": "Mine", "kind": "fio", "text": "[a]\nrw=read\nsize=1m\n", "space_mb": "1"}
    assert client.post("/workloads/new/", job).status_code == 302
    client.post(f"/workloads/{OwnWorkload.objects.get().pk}/withdraw/")
    client.post("/hardware/box/device-rate/", {"rate": "200MB/s"})
    words = ["workload uploaded", "workload withdrawn", "device rate stated"]
    entries = AuditEntry.objects.filter(what__in=words).order_by("pk").values_list("what", "who")
    assert list(entries) == [(word, "some-administrator") for word in words]


@pytest.mark.parametrize("is_open", [True, False])
def test_sign_in_says_whether_reading_needs_an_account(settings, is_open: bool) -> None:
    settings.ANONYMOUS_READING = is_open
    page = Client().get("/account/sign-in/").content.decode()
    assert ("You can read public studies without an account" in page) == is_open


def test_the_audit_log_says_lists_in_words() -> None:
    client = as_role(Role.ADMINISTRATOR)
    audit.note(None, "job submitted", "job 1", study="lab", luns=["scratch", "log"], runs=2)
    audit.note(None, "token made", "token fsb_x", name="ci", scopes=["read", "run"])
    text = client.get("/audit/").content.decode()
    assert "luns: scratch, log; runs: 2" in text
    assert "scopes: read, run<" in text
