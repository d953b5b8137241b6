"""Jobs on a mount: its file system with the options that its host has mounted it with."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
IDENTITY = [
    ["Path on the host", "/mnt/nas"],
    ["File system", "nfs4"],
    ["Server", "nas"],
    ["Export", "/vol1"],
    ["Mount options", "rw,vers=4.2,rsize=1048576,wsize=1048576,nconnect=4,proto=tcp,sec=sys"],
]
FOUND = {"kind": "mount", "filesystem": "nfs4", "server": "nas", "export": "/vol1", "mark": "m"}


@pytest.fixture
def nas(disk: Lun) -> Lun:
    return announced()


def announced(**changes: Any) -> Lun:
    values: dict[str, Any] = {
        "name": "nas",
        "role": "data",
        "kind": "mount",
        "device": "/mnt/nas/fsbench-lab1-nas",
        "size_bytes": 9 * 10**9,
        "identity": IDENTITY,
        "fingerprint": FOUND,
    }
    plain = worker_announcement()
    worker: Worker = announce(
        worker_announcement(luns=[*plain.luns, LunAnnouncement(**(values | changes))])
    )
    return worker.luns.get(name="nas")


def refused(job: JobSpec) -> str:
    with pytest.raises(JobRefused) as refusal:
        submit(job, "nas", None)
    assert not Run.objects.exists()
    return " ".join(refusal.value.problems)


def test_it_is_submitted_as_it_is_mounted(nas: Lun, spec: MakeSpec, ann: User) -> None:
    job = spec(lun_id=nas.pk, configurations=(ConfigurationSpec("nfs"),))
    (first, *_) = planned(job).runs
    assert first.configuration == "nfs4.2_nconnect4"
    assert not first.erases
    assert {command.phase for command in first.commands} == {"benchmark"}
    run = submit(job, "nas", ann)[0]
    assert run.series.configuration.options == {"vers": "4.2", "nconnect": "4"}
    assert run.confirmed == {"data": FOUND}


@pytest.mark.parametrize(
    ("configuration", "why"),
    [
        (ConfigurationSpec("xfs"), "nas is a mount of NFS, and XFS is not made there"),
        (ConfigurationSpec("cifs"), "nas is a mount of NFS, and SMB is not made there"),
        (ConfigurationSpec("nfs", {"vers": "3"}), "nas is mounted as nfs4.2_nconnect4"),
        (ConfigurationSpec("nfs", {}, "none"), "has no I/O scheduler"),
        (ConfigurationSpec("nfs", journal="log1"), "cannot keep its journal"),
    ],
)
def test_it_takes_nothing_else(
    nas: Lun, spec: MakeSpec, configuration: ConfigurationSpec, why: str
) -> None:
    assert why in refused(spec(lun_id=nas.pk, configurations=(configuration,)))


def test_on_a_disk_nothing_is_found_mounted(nas: Lun, spec: MakeSpec) -> None:
    disk = nas.worker.luns.get(name="disk1")
    configurations = (ConfigurationSpec("nfs", {}, "none"),)
    assert "disk1 is not a mount" in refused(spec(lun_id=disk.pk, configurations=configurations))


def test_the_form_offers_what_is_mounted(nas: Lun, client: Client, ann: User) -> None:
    client.force_login(ann)
    form = client.get("/runs/new/", {"lun": nas.pk}).content.decode()
    assert "nfs4.2_nconnect4" in form
    assert 'id="fs-nfs"' in form
    assert 'id="fs-ext4"' not in form
    assert "so fsbench prepares nothing" in form
    disk = nas.worker.luns.get(name="disk1")
    again = client.get("/runs/new/", {"lun": disk.pk, "fs": "nfs.1", "suggested": "nfs.1"})
    assert again.status_code == 200
    assert 'id="fs-ext4"' in again.content.decode()


def test_the_form_says_of_a_mount_that_is_gone_that_it_is(client: Client, ann: User) -> None:
    client.force_login(ann)
    nas = announced(identity=[], problem="Nothing is mounted at /mnt/nas.", fingerprint={})
    form = client.get("/runs/new/", {"lun": nas.pk}).content.decode()
    assert "Nothing is mounted at /mnt/nas." in form
