"""Jobs whose file systems are shared by SMB: in guests alone, and with kernels that can."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.configurations.networks import SMB_MODULES
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.core import requirements
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from tests.guest.conftest import NEW, OLD, guests
from tests.studies.conftest import USABLE, worker_announcement

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
SERVED = ConfigurationSpec("xfs", {"smb": "3.1.1", "smb_protection": "seal"}, "none")
GUEST = GuestSpec(("debian-6.1",))


@pytest.fixture
def worker(db: None) -> Worker:
    """One whose image has no tools of NFS, with a kernel that has SMB and no NFS."""
    plain = worker_announcement()
    can = {
        "tools": plain.capabilities["tools"] | dict.fromkeys(requirements.SMB, USABLE),
        "guest": guests(kernels=[NEW | {"layers": sorted(SMB_MODULES)}, OLD]),
    }
    return announce(worker_announcement(capabilities=plain.capabilities | can))


def problems(spec: JobSpec) -> str:
    with pytest.raises(JobRefused) as refused:
        submit(spec, "disk1", None)
    assert not Run.objects.exists()
    return " ".join(refused.value.problems)


def test_xfs_by_smb_stands_beside_xfs(guest_spec: MakeSpec) -> None:
    plain = ConfigurationSpec("xfs", {}, "none")
    spec = guest_spec(configurations=(plain, SERVED), guest=GUEST, repeats=1)
    programs = {
        run.configuration: [command.argv[0] for command in run.commands]
        for run in planned(spec).runs
    }
    assert set(programs) == {"xfs_none", "xfs_smb3.1.1_smbseal_none"}
    assert programs["xfs_smb3.1.1_smbseal_none"][-3:] == ["umount", "fsbench-smb", "umount"]
    assert "fsbench-smb" not in programs["xfs_none"]


def test_what_cannot_serve_it_is_refused(guest_spec: MakeSpec, worker: Worker) -> None:
    outside = guest_spec(configurations=(SERVED,), guest=None)
    assert "SMB over loop-back is served in guests alone" in problems(outside)
    inside = guest_spec(configurations=(SERVED,), guest=GUEST)
    worker.executor = "docker"
    worker.capabilities["tools"]["smbd"] = {"usable": False, "reason": "It is not there."}
    worker.save()
    assert "It is not there. The benchmark image has it since it serves SMB" in problems(inside)
    worker.capabilities["guest"]["kernels"][0]["layers"] = ["nfs", "nfsd"]
    worker.save()
    assert "The guest kernel debian-6.1 has no cifs for SMB over loop-back" in problems(inside)
