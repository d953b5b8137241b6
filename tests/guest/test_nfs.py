"""Jobs whose file systems are exported by NFS: in guests alone, and with kernels that can."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.networks import NFS_MODULES
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.core import requirements
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from tests.guest.conftest import NEW, OLD, guests
from tests.studies.conftest import USABLE, worker_announcement

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
PLAIN = ConfigurationSpec("xfs", {}, "none")
SERVED = ConfigurationSpec("xfs", {"nfs": "4.2", "nfs_nconnect": "4"}, "none")


@pytest.fixture
def worker(db: None) -> Worker:
    """One with the tools, a kernel with and one without the modules."""
    plain = worker_announcement()
    can = {
        "tools": plain.capabilities["tools"] | dict.fromkeys(requirements.NETWORK, USABLE),
        "guest": guests(kernels=[NEW | {"layers": sorted(NFS_MODULES)}, OLD]),
    }
    return announce(worker_announcement(capabilities=plain.capabilities | can))


def problems(spec: JobSpec) -> str:
    with pytest.raises(JobRefused) as refused:
        submit(spec, "disk1", None)
    assert not Run.objects.exists()
    return " ".join(refused.value.problems)


def test_xfs_by_nfs_stands_beside_xfs(guest_spec: MakeSpec, ann: User) -> None:
    spec = guest_spec(configurations=(PLAIN, SERVED), guest=GuestSpec(("debian-6.1",)), repeats=1)
    programs = {
        run.configuration: [command.argv[0] for command in run.commands]
        for run in planned(spec).runs
    }
    assert set(programs) == {"xfs_none", "xfs_nfs4.2_nconnect4_none"}
    assert "fsbench-nfs" not in programs["xfs_none"]
    assert programs["xfs_nfs4.2_nconnect4_none"][-3:] == ["umount", "fsbench-nfs", "umount"]
    runs = submit(spec, "disk1", ann)
    digests = {run.series.configuration.digest for run in runs}
    assert len(digests) == 2
    assert runs[1].series.configuration.options == {"nfs": "4.2", "nfs_nconnect": "4"}


def test_it_is_refused_outside_of_a_guest(guest_spec: MakeSpec) -> None:
    text = problems(guest_spec(configurations=(SERVED,), guest=None))
    assert "served in guests alone" in text


def test_a_kernel_without_its_modules_is_refused(guest_spec: MakeSpec, worker: Worker) -> None:
    worker.capabilities["guest"]["kernels"][0]["layers"] = ["nfs", "nfsv3"]
    worker.save()
    spec = guest_spec(configurations=(SERVED,), guest=GuestSpec(("debian-6.1",)))
    assert "The guest kernel debian-6.1 has no nfsd, nfsv4 for NFS" in problems(spec)


def test_an_image_without_its_tools_is_refused(guest_spec: MakeSpec, worker: Worker) -> None:
    worker.executor = "docker"
    worker.capabilities["tools"]["rpc.nfsd"] = {"usable": False, "reason": "It is not there."}
    worker.save()
    spec = guest_spec(configurations=(SERVED,), guest=GuestSpec(("debian-6.1",)))
    assert "It is not there. The benchmark image has it" in problems(spec)


def test_its_values_multiply_and_the_document_is_written_as_it_was() -> None:
    document: dict[str, Any] = {
        "study": "Networks",
        "lun": "disk1",
        "configurations": [
            {"filesystem": "xfs", "options": {"nfs": ["default", "3", "4.2"]}},
            {"filesystem": "ext4", "options": {"nfs": "4.2", "nfs_export": ["sync", "async"]}},
        ],
        "schedulers": ["none"],
        "workloads": ["iozone-small"],
        "executor": "guest",
        "guest": {"kernels": ["debian-6.1"]},
    }
    plan = expand(document)
    assert plan.unreadable == {}
    assert [dict(spec.options) for spec in plan.configurations] == [
        {},
        {"nfs": "3"},
        {"nfs": "4.2"},
        {"nfs": "4.2", "nfs_export": "sync"},
        {"nfs": "4.2", "nfs_export": "async"},
    ]
    again = expand(document_of(plan, study="Networks", lun="disk1", worker=""))
    assert again.configurations == plan.configurations


def test_the_form_offers_it_to_guests_and_brings_it_to_the_review(ann: User, disk: Lun) -> None:
    client = Client()
    client.force_login(ann)
    query = [
        *(("lun", str(disk.pk)), ("fs", "xfs.1"), ("xfs.1.nfs", "4.2")),
        *(("scheduler", "none"), ("workload", "iozone-small"), ("repeats", "1")),
        *(("executor", "guest"), ("kernel", "debian-6.1"), ("new_study", "Networks")),
    ]

    def page(address: str, changed: list[tuple[str, str]]) -> str:
        answer = client.get(f"{address}?{urlencode(changed)}")
        return unescape(re.sub(r"\s+", " ", answer.content.decode()))

    form = page("/runs/new/", query)
    assert re.search(r'name="xfs.1.nfs">.*?value="4.2" selected', form)
    assert 'name="ext4.1.nfs_export"' in form
    review = page("/runs/new/review/", query)
    assert "xfs_nfs4.2_none" in review
    assert "fsbench-nfs up --version 4.2 --export sync" in review
    own = [pair for pair in query if pair[0] not in ("executor", "kernel")]
    offered = page("/runs/new/", own)
    # What is chosen stays in sight; what only guests can do is not offered.
    assert 'name="xfs.1.nfs"' in offered
    assert 'name="ext4.1.nfs"' not in offered
    assert "served in guests alone" in page("/runs/new/review/", own)
