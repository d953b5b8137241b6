"""LUNs, workers and hardware: readable by everybody."""

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from django.utils.html import escape

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import NOT_TOLD, HardwareProfile, Worker
from fsbench_web.catalog.workers.announce import announce
from tests.accounts.people import person
from tests.studies.conftest import start, worker_announcement

pytestmark = pytest.mark.django_db


def test_the_lun_page_says_how_to_get_a_worker(client):
    page = client.get("/luns/").content.decode()
    assert "No worker has announced itself." in page
    assert 'href="/guide/operating/#what-a-worker-may-touch"' in page


def test_it_shows_the_luns_of_every_worker_with_their_state(client, runs):
    start(runs[0])
    page = client.get("/luns/").content.decode()
    assert "/workers/lab1/" in page
    assert "It is mounted." not in page
    assert NOT_TOLD in page
    assert f"in use by run {runs[0].pk}" in page
    assert "3 waiting" in page
    assert "WDC &lt;b&gt;800&lt;/b&gt;" in page


def test_no_path_is_said_twice(client, worker, admin_user):
    """A sparse file has a path of its own beside its loop device; a device has none."""
    identities = {
        "disk1": [["Path on the host", "/dev/disk/by-id/disk1"], ["Device", "/dev/sdb"]],
        "small1": [["Path on the host", "/srv/small.img"], ["Device", "/dev/loop7"]],
    }
    for name, identity in identities.items():
        worker.luns.filter(name=name).update(identity=identity)
    client.force_login(admin_user)
    small = worker.luns.get(name="small1")
    for address in ("/luns/", f"/runs/new/?lun={small.pk}"):
        page = client.get(address).content.decode()
        for path in ("/dev/disk/by-id/disk1", "/dev/sdb", "/srv/small.img", "/dev/loop7"):
            assert page.count(f">{path}</dd>") == 1, (address, path)
        assert "<dt>File</dt><dd>/srv/small.img</dd>" in page, address
        assert "Path on the host" not in page, address
    spec = f"lun={small.pk}&fs=ext2.1&scheduler=none&workload=iozone-small&new_study=X&repeats=1"
    review = client.get(f"/runs/new/review/?{spec}").content.decode()
    assert review.count(">/dev/loop7</dd>") == review.count(">/srv/small.img</dd>") == 1


def test_a_lun_of_a_silent_worker_is_not_offered(client, worker):
    assert "New run on it" in client.get("/luns/").content.decode()
    Worker.objects.update(seen_at=timezone.now() - timedelta(days=2))
    page = client.get("/luns/").content.decode()
    assert "New run on it" not in page
    assert "silent for 2\xa0days" in page
    Worker.objects.update(seen_at=timezone.now() - timedelta(seconds=45))
    assert re.search(r"silent for 4[5-9] seconds", client.get("/luns/").content.decode())


def test_no_lun_of_a_silent_worker_is_shown_as_free(client, runs, admin_user):
    start(runs[0])
    disk = runs[0].series.lun
    seen_at = timezone.now() - timedelta(days=2)
    client.force_login(admin_user)
    addresses = ("/", "/luns/", "/workers/lab1/", "/runs/new/")
    for address in addresses:
        assert '<span class="badge is-ok">free</span>' in client.get(address).content.decode()
    Worker.objects.update(seen_at=seen_at)
    since = f"not known since {timezone.localtime(seen_at):%Y-%m-%d %H:%M}"
    for address in addresses:
        page = client.get(address).content.decode()
        assert ">free</span>" not in page, address
        assert since in page, address
        assert f">in use by run {runs[0].pk}<" not in page, address
    luns = {lun["name"]: lun for lun in client.get("/api/v1/luns").json()["luns"]}
    assert {lun["state"] for lun in luns.values()} == {"not known"}
    assert all(lun["problem"].startswith("The worker lab1 has sent no") for lun in luns.values())
    assert luns["disk1"]["run"] == runs[0].pk
    assert datetime.fromisoformat(luns["disk1"]["silent_since"]) - seen_at < timedelta(seconds=1)
    Worker.objects.update(seen_at=timezone.now())
    luns = {lun["name"]: lun for lun in client.get("/api/v1/luns").json()["luns"]}
    assert {name: lun["state"] for name, lun in luns.items()} == {
        "disk1": "in use",
        "small1": "free",
        "log1": "for journals",
        "mounted1": "not usable",
        "folder1": "free",
    }
    assert luns[disk.name]["silent_since"] is None


def test_the_lun_page_needs_the_same_queries_for_many_workers(
    client,
    worker,
    django_assert_num_queries,
):
    with django_assert_num_queries(2):
        client.get("/luns/")
    for number in range(5):
        announce(worker_announcement(name=f"more{number}"))
    with django_assert_num_queries(2):
        client.get("/luns/")


def test_what_its_kernel_cannot_mount_is_one_sentence(client, worker):
    cannot = "The kernel 6.1.0 of the worker cannot mount %s: choose another, or install it."
    bcachefs = " Its tools (package bcachefs-tools) are missing as well."
    worker.capabilities["filesystems"] |= {
        "jfs": {"usable": False, "reason": cannot % "JFS"},
        "f2fs": {"usable": False, "reason": cannot % "F2FS"},
        "bcachefs": {"usable": False, "reason": cannot % "bcachefs" + bcachefs},
        "btrfs": {"usable": False, "reason": "mkfs.btrfs is not installed: install btrfs-progs."},
    }
    worker.save()
    page = client.get("/workers/lab1/").content.decode()
    assert page.count("cannot mount") == 1
    assert f"{cannot % 'JFS, F2FS and bcachefs'} bcachefs:{bcachefs}" in page
    assert "Btrfs: mkfs.btrfs is not installed: install btrfs-progs." in page


def test_hardware_is_listed_with_what_was_measured_on_it(client, runs):
    page = client.get("/hardware/").content.decode()
    assert "2 × EPYC" in page
    assert "1 study" in page
    assert "4 runs" in page
    assert "worker lab1" in page


def test_one_hardware_profile_shows_its_studies(client, runs):
    profile = HardwareProfile.objects.get()
    page = client.get(f"/hardware/{profile.slug}/").content.decode()
    assert "First look" in page
    assert "captured by worker lab1" in page


def test_the_hardware_page_needs_the_same_queries_for_many_profiles(
    client,
    runs,
    django_assert_num_queries,
):
    with django_assert_num_queries(5):
        client.get("/hardware/")
    for number in range(5):
        announce(worker_announcement(name=f"more{number}"))
    with django_assert_num_queries(5):
        client.get("/hardware/")


def test_no_hardware_and_unknown_hardware_are_answered_helpfully(client):
    assert "No hardware is known yet." in client.get("/hardware/").content.decode()
    response = client.get("/hardware/none-such/")
    assert response.status_code == 404
    assert "The hardware page lists all" in response.content.decode()


@pytest.fixture
def box():
    return HardwareProfile.objects.create(slug="box", name="Box", facts=[])


def test_staff_state_what_a_device_can_deliver(client, box, django_user_model):
    client.force_login(django_user_model.objects.create_user("ada", is_staff=True))
    answer = client.post("/hardware/box/device-rate/", {"rate": "200MB/s"}, follow=True)
    assert "At most <strong>204,800 KB/s</strong>" in answer.content.decode()
    box.refresh_from_db()
    assert box.deliverable_kb_s == 204800
    client.post("/hardware/box/device-rate/", {"rate": ""})
    box.refresh_from_db()
    assert box.deliverable_kb_s is None


@pytest.mark.parametrize("rate", ["fast", "0MB/s", "-1MB/s", "1e9GB/s", "<b>1</b>MB/s"])
def test_what_is_no_rate_is_refused_in_words(client, box, django_user_model, rate):
    client.force_login(django_user_model.objects.create_user("ada", is_staff=True))
    answer = client.post("/hardware/box/device-rate/", {"rate": rate})
    assert answer.status_code == 422
    page = " ".join(answer.content.decode().split())
    assert "give it as 200MB/s" in page or "give what the storage can deliver" in page
    assert f'value="{escape(rate)}" aria-describedby="rate-help rate-errors"' in page
    assert "<b>1</b>" not in page
    box.refresh_from_db()
    assert box.deliverable_kb_s is None


def test_staff_state_what_hardware_cost(client, box, django_user_model):
    client.force_login(django_user_model.objects.create_user("ada", is_staff=True))
    stated = {"price": "12,000.50", "currency": "USD", "years": "4"}
    page = client.post("/hardware/box/price/", stated, follow=True).content.decode()
    assert "12,000.50 USD" in page
    assert "over 4 years of use" in page
    box.refresh_from_db()
    assert (box.price, box.price_currency, box.price_years) == (12000.5, "USD", 4.0)
    for bad in ({"price": "<b>1</b>"}, {"currency": "XAU"}, {"years": "0"}, {"price": "0"}):
        page = client.post("/hardware/box/price/", {**stated, **bad}, follow=True).content.decode()
        words = ("is not a price", "currency is one of", "not years of use")
        assert any(each in page for each in words)
        for typed in {**stated, "currency": "", **bad}.values():
            assert f'value="{escape(typed)}"' in page or typed in ("", "XAU")
        assert "<b>1</b>" not in page
    box.refresh_from_db()
    assert box.price == 12000.5
    client.post("/hardware/box/price/", {**stated, "price": ""})
    box.refresh_from_db()
    assert (box.price, box.price_currency, box.price_years) == (None, "", None)


def test_others_read_the_rate_and_cannot_state_it(client, box):
    client.force_login(person(Role.OPERATOR))
    assert 'name="rate"' not in client.get("/hardware/box/").content.decode()
    assert client.post("/hardware/box/device-rate/", {"rate": "1MB/s"}).status_code == 403
    box.refresh_from_db()
    assert box.deliverable_kb_s is None
