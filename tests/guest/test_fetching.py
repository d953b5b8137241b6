"""A kernel for a worker's guests is asked for on its page, by administrators alone."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import AuditEntry, Person, Role
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import WHERE_FETCHED
from fsbench_web.celery import app
from tests.guest.conftest import announced

pytestmark = pytest.mark.django_db
ADDRESS = "/workers/lab1/guest-kernel/"
NONE = "This worker has no kernel for guests (/srv/kernels): fetch one."
EMPTY: dict[str, Any] = {"usable": False, "reason": NONE, "kernels": [], "why_not_fetch": ""}


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


ReadQueue = Callable[[], list[tuple[str, list[str]]]]


@pytest.fixture
def read_queue() -> ReadQueue:
    """What waits in the worker's queue: (task, arguments) of each message, taken out."""

    def read() -> list[tuple[str, list[str]]]:
        tasks = []
        with app.connection_for_read() as broker, broker.SimpleQueue("host.lab1") as waiting:
            while True:
                try:
                    message = waiting.get_nowait()
                except waiting.Empty:
                    return tasks
                tasks.append((message.headers["task"], message.payload[0]))
                message.ack()

    read()
    return read


def page(client: Client) -> str:
    return client.get("/workers/lab1/").content.decode()


def test_an_administrators_button_sends_the_task_to_the_hosts_queue(
    admin: Client, read_queue: ReadQueue
) -> None:
    announced(**EMPTY)
    text = page(admin)
    assert NONE in text
    assert "Fetch a kernel" in text
    answer = admin.post(ADDRESS, {"package": ""})
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/workers/lab1/?asked=kernel#guest-head",
    )
    assert "lab1 is asked for the kernel of its distribution" in page(admin)
    admin.post(ADDRESS, {"package": "linux-image-6.1.0-50-amd64"})
    assert read_queue() == [
        ("runner.fetch_guest_kernel", [""]),
        ("runner.fetch_guest_kernel", ["linux-image-6.1.0-50-amd64"]),
    ]
    entries = AuditEntry.objects.filter(what="guest kernel asked for").order_by("pk")
    assert [entry.detail["package"] for entry in entries] == ["", "linux-image-6.1.0-50-amd64"]


def test_a_notice_on_the_workers_page_speaks_of_that_page(admin: Client) -> None:
    without = f"No kernel (/srv/kernels): an administrator fetches one {WHERE_FETCHED}, or X."
    announced(**EMPTY | {"reason": without})
    sentence = "an administrator fetches one %s, or X."
    text = " ".join(page(admin).split())
    assert sentence % '<a href="#id-package">below</a>' in text
    assert 'id="id-package"' in text
    others = " ".join(page(Client()).split())
    assert sentence % "on this page" in others
    assert 'id="id-package"' not in others


@pytest.mark.parametrize(
    "package", ["linux-image-1;reboot", "../../etc/passwd", "--help", "linux-image-A", "x" * 5000]
)
def test_what_is_no_package_is_asked_for_by_nobody(
    admin: Client, read_queue: ReadQueue, package: str
) -> None:
    announced(**EMPTY)
    admin.post(ADDRESS, {"package": package})
    assert "is not a package of a kernel" in page(admin)
    assert read_queue() == []
    assert not AuditEntry.objects.filter(what="guest kernel asked for").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"why_not_fetch": "This worker may not fetch kernels (FSBENCH_INSTALL=no)."},
            "FSBENCH_INSTALL=no",
        ),
        ({"fetching": {"package": "", "state": "running"}}, "is fetching a kernel already"),
        ({"why_not_fetch": None}, ""),
    ],
    ids=["the host says no", "one is on its way", "fine"],
)
def test_a_worker_that_would_not_is_not_asked(
    admin: Client, read_queue: ReadQueue, changes: dict[str, Any], says: str
) -> None:
    announced(**EMPTY | changes)
    admin.post(ADDRESS)
    text = page(admin)
    assert says in text
    assert len(read_queue()) == (0 if says else 1)
    assert ("Fetch a kernel</button>" in text) == (not says)


def test_a_silent_worker_and_one_of_another_version_are_not_asked(
    admin: Client, read_queue: ReadQueue
) -> None:
    announced()  # it says nothing of fetching
    admin.post(ADDRESS)
    assert "of another version of fsbench, which fetches no kernels" in page(admin)
    announced(**EMPTY)
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    admin.post(ADDRESS)
    assert "lab1 sends no heartbeat: start it" in page(admin)
    assert read_queue() == []
    assert admin.post("/workers/nobody/guest-kernel/").status_code == 404


def test_others_see_how_far_it_is_and_have_no_button(client: Client, ann: User) -> None:
    Person.objects.update_or_create(user=ann, defaults={"role": Role.OPERATOR})
    client.force_login(User.objects.get(pk=ann.pk))
    for fetching, says in (
        ({"state": "waiting"}, "The download starts when the worker is idle."),
        ({"state": "running", "phase": "Downloading x", "share": 0.42}, "Downloading x: 42%"),
        (
            {"state": "failed", "package": "x<b>", "problem": "No mirror."},
            "x&lt;b&gt; was not fetched.",
        ),
        ({"state": "done", "package": "linux-image-6"}, "linux-image-6 was fetched."),
    ):
        announced(**EMPTY, fetching=fetching)
        text = page(client)
        assert says in " ".join(text.split())
        assert "Fetch a kernel</button>" not in text
        is_soon = 'data-live-every="2"' in text
        assert is_soon == (fetching["state"] in ("waiting", "running"))
    assert client.post(ADDRESS).status_code == 403
    api = client.get("/api/v1/workers/lab1").json()["guest"]["fetching"]
    assert api == {
        "package": "linux-image-6", "state": "done", "phase": "", "share": None, "problem": "",
    }  # fmt: skip


def test_jfs_and_reiserfs_name_the_button_where_no_guest_mounts_them_yet(client: Client) -> None:
    disk = announced(**EMPTY).luns.get(name="disk1")
    for slug, name in (("jfs", "JFS"), ("reiser3", "ReiserFS")):
        [problem] = availability.filesystem_problems(disk, slug)
        assert f"A guest with Debian's kernel mounts {name}: an administrator presses" in problem
        assert "“Fetch a kernel” on the page of lab1" in problem
        assert "manage.py guest_kernel" in problem
    disk = announced(**EMPTY | {"why_not_fetch": "No."}).luns.get(name="disk1")
    [problem] = availability.filesystem_problems(disk, "jfs")
    assert "Fetch a kernel" not in problem
    assert "the operator of its host calls manage.py guest_kernel there" in problem
    # What a kernel of the distribution does not mend, and what a guest can already.
    [btrfs] = availability.filesystem_problems(disk, "btrfs")
    assert "guest_kernel" not in btrfs
    disk = announced().luns.get(name="disk1")
    [problem] = availability.filesystem_problems(disk, "jfs")
    assert "guest_kernel" not in problem
