"""What is confirmed with the name of a LUN: shown where it is typed, and kept with the runs."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import LunGrant, Person, Role
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import control, lifecycle

pytestmark = pytest.mark.django_db

FIRST = {"kind": "device", "size_bytes": 500, "serial": "S3Z"}
OTHER = FIRST | {"serial": "S4A"}
ORDER = (
    "/runs/new/review/?lun={}&fs=ext4.1&scheduler=none&workload=iozone-small&repeats=1&new_study=A"
)


def become(lun: Lun, fingerprint: dict[str, Any]) -> None:
    """As the next announcement of its worker has it."""
    Lun.objects.filter(pk=lun.pk).update(fingerprint=fingerprint)


def seen_on(page: bytes) -> str:
    match = re.search(r'name="seen" value="([0-9a-f]+)"', page.decode())
    assert match is not None
    return match[1]


def test_a_page_that_showed_another_device_confirms_nothing(
    client: Client, ann: User, disk: Lun
) -> None:
    Person.objects.filter(user=ann).update(role=Role.OPERATOR)
    LunGrant.objects.create(user=ann, lun=disk)
    client.force_login(ann)
    become(disk, FIRST)
    address = ORDER.format(disk.pk)
    page = client.get(address).content
    assert b"serial S3Z, 500 bytes" in page
    become(disk, OTHER)
    form = {"confirmation": "disk1", "token": "one", "seen": seen_on(page)}
    refused = client.post(address, form)
    assert refused.status_code == 422
    assert b"changed since this page was shown" in refused.content
    assert b"serial S4A, 500 bytes" in refused.content
    assert not Run.objects.exists()
    assert client.post(address, form | {"seen": seen_on(refused.content)}).status_code == 302
    assert Run.objects.get().confirmed == {"data": OTHER}


def test_runs_keep_what_was_confirmed_and_who_submits_again_confirms_anew(
    spec: Callable[..., JobSpec], ann: User, worker: Worker, disk: Lun, client: Client
) -> None:
    become(disk, FIRST)
    become(worker.luns.get(name="log1"), FIRST | {"serial": "LOG"})
    with_journal = (ConfigurationSpec("xfs", {}, "none", "log1"),)
    run, _ = submit(spec(configurations=with_journal), "disk1 log1", ann)
    assert run.confirmed == {"data": FIRST, "journal": FIRST | {"serial": "LOG"}}
    become(disk, OTHER)
    lifecycle.cancel(run.pk, "ann")
    client.force_login(ann)
    for address in (f"/runs/{run.pk}/", f"/jobs/{run.job_id}/"):
        page = client.get(address).content
        assert b"serial S4A, 500 bytes" in page
        assert b"serial LOG, 500 bytes" in page
    retry = control.retry_run(run.pk, "disk1 log1", ann)
    assert retry is not None
    assert retry.confirmed["data"] == OTHER
    assert retry.state == RunState.QUEUED


@pytest.mark.parametrize("kind", ["run", "job"])
def test_who_tries_again_confirms_what_the_page_showed(
    spec: Callable[..., JobSpec],
    ann: User,
    worker: Worker,
    disk: Lun,
    client: Client,
    kind: str,
) -> None:
    become(disk, FIRST)
    run, *_ = submit(spec(repeats=1), "disk1", ann)
    lifecycle.cancel(run.pk, "ann")
    client.force_login(ann)
    address = f"/runs/{run.pk}/" if kind == "run" else f"/jobs/{run.job_id}/"
    form = {
        "confirmation": "disk1",
        "cancelled": "yes",
        "seen": seen_on(client.get(address).content),
    }
    become(disk, OTHER)
    refused = client.post(f"{address}retry/", form, follow=True)
    assert "changed since this page was shown" in refused.content.decode()
    assert not Run.objects.filter(retry_of=run).exists()
    again = form | {"seen": seen_on(client.get(address).content)}
    assert client.post(f"{address}retry/", again).status_code == 302
    assert Run.objects.get(retry_of=run).confirmed == {"data": OTHER}
