"""Workers: their pages, and draining one for maintenance."""

import tomllib
from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.states import worker_state
from fsbench_web.platform.version import VERSION
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.submitting import planned
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from tests.studies.conftest import NO_BTRFS, complete, start, worker_announcement

pytestmark = pytest.mark.django_db


def drain(worker, is_drained=True):
    return maintenance.set_drained(worker, is_drained, by="ann")


def test_a_drained_worker_claims_nothing_until_it_is_resumed(runs, worker):
    assert drain(worker)
    assert lifecycle.claim(runs[0].pk, worker) is None
    assert lifecycle.resend(worker, timezone.now() + timedelta(minutes=5)) == []
    assert Run.objects.get(pk=runs[0].pk).state == RunState.QUEUED
    assert drain(worker, False)
    assert lifecycle.claim(runs[0].pk, worker) is not None


def test_a_drained_worker_finishes_what_it_runs(runs, worker):
    handle = start(runs[0])
    drain(worker)
    assert worker_state("lab1").state == "draining"
    assert not lifecycle.heartbeat(handle, progress=0.5)
    lifecycle.finish(handle, RunState.DONE, "")
    assert worker_state("lab1").state == "drained"


def test_neither_a_heartbeat_nor_a_restart_of_the_worker_undoes_it(worker):
    drain(worker)
    announce(worker_announcement(has_started=True))
    announced = announce(worker_announcement())
    assert announced.is_drained
    assert announced.drained_by == "ann"


def test_draining_twice_keeps_who_did_it_first(worker):
    drain(worker)
    since = worker.drained_at
    assert not maintenance.set_drained(worker, True, by="bob")
    worker.refresh_from_db()
    assert (worker.drained_at, worker.drained_by) == (since, "ann")
    assert drain(worker, False)
    assert not drain(worker, False)


def test_a_job_for_a_drained_worker_is_refused_with_the_way_out(spec, worker):
    assert planned(spec())
    drain(worker)
    with pytest.raises(JobRefused, match=r"drained for maintenance by ann .* resume it"):
        planned(spec())


def test_the_form_says_why_its_luns_cannot_be_chosen(client, worker, ann):
    drain(worker)
    client.force_login(ann)
    page = client.get("/runs/new/").content.decode()
    assert "drained for maintenance by ann" in page


def test_every_page_with_workers_shows_that_one_is_drained(client, runs, worker):
    drain(worker)
    for address in ("/", "/luns/", "/workers/", "/workers/lab1/", f"/runs/{runs[0].pk}/"):
        assert "drained" in client.get(address).content.decode(), address
    assert "New run on it" not in client.get("/luns/").content.decode()


def test_the_worker_page_shows_what_it_can_do_and_what_it_runs(client, runs, worker):
    complete(runs[0])
    start(runs[1])
    page = client.get("/workers/lab1/").content.decode()
    assert NO_BTRFS in page
    assert "3.489" in page
    assert f"/runs/{runs[1].pk}/" in page
    assert "2 runs wait in its queue" in page
    assert "bfq mq-deadline none" in page
    assert "host.lab1" in page
    assert "busy" in page


def test_what_a_worker_lacks_is_folded_below_what_it_has(client, worker):
    tools = {
        "fio": {"usable": True, "version": "3.33"},
        "smbd": {"usable": False, "reason": "smbd is not installed: install samba."},
    }
    capabilities = worker_announcement().capabilities | {"tools": tools}
    announce(worker_announcement(capabilities=capabilities))
    page = client.get("/workers/lab1/").content.decode()
    programs = page[page.index('id="programs-head"') :]
    installed, lacking = programs.split("<details", 1)
    assert "<dt>fio</dt>" in installed
    assert "smbd" not in installed
    assert "<strong>1 missing</strong>" in lacking
    assert "install samba." in lacking.split("</details>")[0]
    assert page.index('id="luns-head"') < page.index('id="host-head"'), "disks stand first"


def test_it_is_drained_and_resumed_by_buttons_of_signed_in_users(client, worker, ann):
    page = reverse("catalog:worker", args=["lab1"])
    assert "Drain for maintenance" not in client.get(page).content.decode()
    client.force_login(ann)
    assert "Drain for maintenance" in client.get(page).content.decode()
    text = client.post("/workers/lab1/drain/", follow=True).content.decode()
    assert "takes nothing new" in text
    assert "You can stop it" in text
    worker.refresh_from_db()
    assert worker.drained_by == "ann"
    text = client.post("/workers/lab1/drain/", follow=True).content.decode()
    assert "drained already" in text
    text = client.post("/workers/lab1/resume/", follow=True).content.decode()
    assert "takes runs again" in text
    worker.refresh_from_db()
    assert not worker.is_drained


@pytest.mark.parametrize("action", ["drain", "resume"])
def test_nobody_else_may(client, worker, ann, action):
    address = f"/workers/lab1/{action}/"
    response = client.post(address)
    assert response.status_code == 302
    assert "/account/sign-in/" in response["Location"]
    client.force_login(ann)
    assert client.get(address).status_code == 405
    client.handler.enforce_csrf_checks = True
    assert client.post(address).status_code == 403
    worker.refresh_from_db()
    assert not worker.is_drained


def test_a_silent_worker_says_since_when(client, worker):
    Worker.objects.update(seen_at=timezone.now() - timedelta(days=2))
    for address in ("/workers/", "/workers/lab1/"):
        assert "silent for 2\xa0days" in client.get(address).content.decode()


def test_unknown_workers_and_none_are_answered_helpfully(client, ann):
    assert "No worker has announced itself." in client.get("/workers/").content.decode()
    client.force_login(ann)
    for response in (client.get("/workers/nosuch/"), client.post("/workers/nosuch/drain/")):
        assert response.status_code == 404
        assert "The workers page lists all" in response.content.decode()


def test_the_pages_need_the_same_queries_for_many_workers(
    client, worker, django_assert_num_queries
):
    for address, queries in (("/workers/", 2), ("/workers/lab1/", 4)):
        with django_assert_num_queries(queries):
            client.get(address)
    for number in range(5):
        announce(worker_announcement(name=f"more{number}"))
    for address, queries in (("/workers/", 2), ("/workers/lab1/", 4)):
        with django_assert_num_queries(queries):
            client.get(address)


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_versions_are_announced_and_shown(client, worker):
    capabilities = worker_announcement().capabilities | {"versions": [["Docker", "20.10.24"]]}
    announce(worker_announcement(capabilities=capabilities))
    assert "20.10.24" in client.get("/workers/lab1/").content.decode()


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (VERSION, ""),
        ("0.9.0", "restart it (<a href=&quot;/guide"),
        ("99.0", "bring the site to the worker"),
    ],
)
def test_a_worker_of_another_version_says_which_and_what_to_do(client, version, advice):
    announcement = worker_announcement()
    announcement.capabilities["versions"] = [["fsbench", version], ["Docker", "26.1"]]
    worker = announce(announcement)
    page = client.get(reverse("catalog:worker", args=[worker.name])).content.decode()
    sentence = f"This worker is of fsbench {version}, and the site of {VERSION}"
    assert (sentence in page) == bool(advice)
    assert advice.replace("&quot;", '"') in page
    past = timezone.now() - timedelta(minutes=5)
    Worker.objects.update(seen_at=past)
    page = client.get(reverse("catalog:worker", args=[worker.name])).content.decode()
    assert sentence not in page
