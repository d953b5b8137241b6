"""Jobs on several LUNs: what is refused, confirmed, shown and written."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.stacks import Stack
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import confirmation_text, planned, submit
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.runs import control, lifecycle
from tests.studies.conftest import GB, USABLE, start, worker_announcement

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
RAID1 = {"data_profile": "raid1", "metadata_profile": "raid1"}
ON_TWO = ConfigurationSpec("btrfs", RAID1, "none", stack=Stack(("disk2",)))


@pytest.fixture
def worker(db: None) -> Worker:
    """One that makes Btrfs, with a second and a third disk."""
    usual = worker_announcement()
    can = {"filesystems": usual.capabilities["filesystems"] | {"btrfs": USABLE}}
    disks = [
        LunAnnouncement(name, "data", "device", f"/dev/{name}", 20 * GB, [], ["none"])
        for name in ("disk2", "disk3")
    ]
    return announce(
        worker_announcement(capabilities=usual.capabilities | can, luns=[*usual.luns, *disks])
    )


def problems(spec: JobSpec, confirmation: str = "disk1 disk2") -> list[str]:
    """Why a job is refused; nothing may have been written."""
    with pytest.raises(JobRefused) as refused:
        submit(spec, confirmation, None)
    assert not Run.objects.exists()
    assert not Series.objects.exists()
    return refused.value.problems


def test_it_writes_runs_that_lease_all_luns(spec: MakeSpec, ann: User) -> None:
    job = spec(configurations=(ON_TWO,), repeats=1)
    assert confirmation_text(job) == "disk1 disk2"
    plan = planned(job)
    assert plan.lun_names == ["disk1", "disk2"]
    assert [lun.name for lun in plan.runs[0].erased] == ["disk1", "disk2"]
    assert plan.runs[0].shown_command.argv[-2:] == ("/dev/disk/by-id/disk1", "/dev/disk2")
    (run,) = submit(job, "disk1 disk2", ann)
    series = Series.objects.get()
    assert series.configuration.label == "btrfs_data-raid1_meta-raid1_2luns_none"
    assert (series.stack_luns, [lun.name for lun in series.luns]) == ("disk2", ["disk1", "disk2"])
    handle = start(run)
    assert Lun.objects.get(name="disk2").lease.run == run
    lifecycle.finish(handle, RunState.FAILED, "x")
    assert control.run_confirmation(run) == "disk1 disk2"
    assert control.job_confirmation(run.job) == "disk1 disk2"  # type: ignore[arg-type]


def test_the_same_on_other_luns_is_another_series(spec: MakeSpec, ann: User) -> None:
    both = tuple(
        ConfigurationSpec("btrfs", {}, "none", stack=Stack(luns))
        for luns in ((), ("disk2",), ("disk3",), ("disk2", "disk3"))
    )
    runs = submit(spec(configurations=both, repeats=2), "disk1 disk2 disk3", ann)
    assert Series.objects.count() == 4
    assert [run.repeat for run in runs] == [1] * 4 + [2] * 4
    labels = [run.series.configuration.label for run in runs[:4]]
    assert labels == ["btrfs_none", "btrfs_2luns_none", "btrfs_2luns_none", "btrfs_3luns_none"]


@pytest.mark.parametrize("typed", ["disk1", "disk2", "disk2 disk1", "disk1disk2", ""])
def test_every_lun_that_is_erased_is_typed(spec: MakeSpec, typed: str) -> None:
    (problem,) = problems(spec(configurations=(ON_TWO,)), typed)
    assert 'type the names of the LUNs, "disk1 disk2"' in problem


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        (Stack(("nosuch",)), "choose of disk2, disk3, log1, mounted1, small1"),
        (Stack(("disk1",)), "disk1 is measured itself"),
        (Stack(("disk2", "disk2")), "disk2 is in one stack twice"),
        (Stack(("log1",)), "log1 is listed with the role journal"),
        (Stack(("mounted1",)), "cannot be used now: It is mounted"),
        (Stack(("folder1",)), "one of its LUNs is a directory"),
        (Stack(("disk2",), cache=("log1",)), "uses a LUN for the cache"),
    ],
)
def test_luns_that_cannot_be_in_it_are_refused(spec: MakeSpec, stack: Stack, words: str) -> None:
    job = spec(configurations=(ConfigurationSpec("btrfs", {}, "none", stack=stack),))
    messages = problems(job, confirmation_text(job) or "")
    assert any(words in message for message in messages), messages


def test_the_files_have_the_room_of_all_luns(spec: MakeSpec) -> None:
    large = {"maximum_file_kb": 32 * 2**20, "minimum_file_kb": 32 * 2**20}
    alone = spec(configurations=(ConfigurationSpec("btrfs", {}, "none"),), parameters=large)
    assert "disk1 has 20 GiB" in " ".join(problems(alone, "disk1"))
    assert planned(spec(configurations=(ON_TWO,), parameters=large)).runs


# ---- documents ----
def document(**changes: Any) -> dict[str, Any]:
    return {
        "study": "Stacks",
        "lun": "disk1",
        "configurations": ["btrfs"],
        "schedulers": ["none"],
        "workloads": ["iozone-small"],
    } | changes


def test_a_document_multiplies_over_stacks_and_is_written_as_it_was() -> None:
    data = document(
        configurations=[
            {"filesystem": ["btrfs", "xfs"], "stacks": ["single", {"luns": ["disk2", "disk3"]}]}
        ]
    )
    plan = expand(data)
    assert plan.unreadable == {}
    assert [
        (configuration.filesystem, configuration.stack.luns)
        for configuration in plan.configurations
    ] == [
        ("btrfs", ()),
        ("btrfs", ("disk2", "disk3")),
        ("xfs", ()),
    ]
    ((_, combination, why),) = plan.left_out
    assert combination == "xfs scheduler=none on disk2,disk3"
    assert "XFS is made on one device" in why
    again = expand(document_of(plan, study="Stacks", lun="disk1", worker=""))
    assert again.configurations == plan.configurations


@pytest.mark.parametrize(
    ("stacks", "place", "words"),
    [
        ("disk2", "stacks", "A stack is single, or a map with luns"),
        ([{"disks": ["disk2"]}], "stacks[0]", '"disks" means nothing here'),
        ([{"luns": [3]}], "stacks[0].luns[0]", "This must be a name, not 3"),
        ([{"luns": ["a"] * 25}], "stacks[0]", "24 further LUNs at most"),
        ([], "stacks", "The list is empty"),
    ],
)
def test_what_is_no_stack_is_told_with_its_place(stacks: object, place: str, words: str) -> None:
    by_place = dict(expand(document(stacks=stacks)).unreadable)
    assert words in " ".join(by_place[place]), by_place


# ---- pages ----
@pytest.fixture
def signed_in(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def page_of(response: object) -> str:
    return unescape(re.sub(r"\s+", " ", response.content.decode()))  # type: ignore[attr-defined]


def test_from_the_form_to_the_run_and_back(signed_in: Client, disk: Lun) -> None:
    query = [
        ("lun", str(disk.pk)),
        *(("fs", "btrfs.1"), ("btrfs.1.luns", "disk2"), ("btrfs.1.luns", "disk3")),
        *(("scheduler", "none"), ("workload", "iozone-small"), ("repeats", "1")),
        ("new_study", "Stacks"),
    ]
    page = page_of(signed_in.get("/runs/new/?" + urlencode(query)))
    assert re.search(r'name="btrfs.1.luns" value="disk2" checked', page)
    assert 'name="btrfs.1.luns" value="mounted1" disabled' in page
    assert 'name="ext4.1.luns"' not in page
    address = "/runs/new/review/?" + urlencode(query)
    page = page_of(signed_in.get(address))
    assert "Everything on disk1 and disk2 and disk3 will be erased" in page
    assert "<dt>LUN of the stack</dt> <dd><strong>disk2</strong>, erased 1 time;" in page
    assert 'data-confirm-name="disk1 disk2 disk3"' in page
    token = re.search(r'name="token" value="([^"]+)"', page)[1]  # type: ignore[index]
    signed_in.post(address, {"token": token, "confirmation": "disk1 disk2 disk3"})
    run = Run.objects.get()
    page = page_of(signed_in.get(f"/runs/{run.pk}/"))
    assert "<dt>Stack</dt><dd>3 LUNs:" in page
    assert f"#lun-{Lun.objects.get(name='disk3').pk}" in page
    again = re.search(r'href="(/runs/new/\?[^"]+luns=disk2[^"]*)"', page)
    assert again is not None
    assert 'name="btrfs.1.luns" value="disk3" checked' in page_of(signed_in.get(again[1]))
    second = Lun.objects.get(name="disk2")
    assert f'href="/runs/{run.pk}/"' in page_of(signed_in.get(f"/runs/?lun={second.pk}"))
    assert "1 waiting" in page_of(signed_in.get("/luns/")).split(f'id="lun-{second.pk}"')[1]


# ---- pools: LUNs for metadata, log and cache ----
@pytest.fixture
def pools(worker: Worker) -> Worker:
    """One whose guests have a kernel with ZFS and one without, and three LUNs beside data."""
    kernel = {"name": "plain", "version": "6.1.0", "problem": "", "schedulers": ["none"]}
    can = {
        "guest": {
            **{"usable": True, "reason": "", "accelerator": "kvm", "qemu": "7.2.9"},
            **{"most_memory_bytes": 8 * GB, "most_cpus": 2},
            "kernels": [
                kernel | {"filesystems": {"ext4": USABLE}},
                kernel | {"name": "built", "filesystems": {"ext4": USABLE, "zfs": USABLE}},
            ],
        }
    }
    usual = worker_announcement()
    disks = [
        LunAnnouncement(name, role, "device", f"/dev/{name}", 20 * GB, [], ["none"])
        for name, role in (("disk2", "data"), ("fast1", "journal"), ("fast2", "journal"))
    ]
    return announce(
        worker_announcement(capabilities=usual.capabilities | can, luns=[*usual.luns, *disks])
    )


def of_pool(lun: Lun, kernel: str, *more: tuple[str, str]) -> str:
    guest = (("executor", "guest"), ("kernel", kernel), ("guest_memory_mib", "1024"))
    chosen = (("fs", "zfs.1"), ("scheduler", "none"), ("workload", "iozone-small"))
    return urlencode(
        [("lun", str(lun.pk)), *guest, ("guest_cpus", "1"), *chosen, ("repeats", "1"), *more]
    )


def test_a_pool_has_its_roles_on_the_form_and_in_the_review(
    signed_in: Client, pools: Worker
) -> None:
    disk = pools.luns.get(name="disk1")
    roles = (("special", "fast1"), ("special", "fast2"), ("log", "log1"), ("luns", "disk2"))
    query = of_pool(
        disk,
        "built",
        *((f"zfs.1.{role}", name) for role, name in roles),
        *(("zfs.1.layout", "mirror"), ("new_study", "Pools")),
    )
    page = page_of(signed_in.get(f"/runs/new/?{query}"))
    for role, name in roles:
        assert f'name="zfs.1.{role}" value="{name}" checked' in page
    assert 'name="zfs.1.cache" value="fast1">' in page
    assert "log on log1, special on fast1, fast2" in page
    assert "manage.py guest_kernel --with-zfs" in page
    # What is no pool has no such LUNs.
    assert 'name="ext4.1.log"' not in page
    assert 'name="ext4.1.special"' not in page
    page = page_of(signed_in.get(f"/runs/new/review/?{query}"))
    assert "special mirror" in page
    assert "zfs_mirror_2luns_1log_2special_none" in page


def test_the_form_keeps_what_it_cannot_offer_and_refuses_it(
    signed_in: Client, pools: Worker
) -> None:
    disk = pools.luns.get(name="disk1")
    wrong = (("fs", "ext4.1"), ("ext4.1.log", "fast1"), ("zfs.1.cache", "gone"))
    query = of_pool(disk, "built", *wrong, ("new_study", "Pools"))
    page = page_of(signed_in.get(f"/runs/new/?{query}"))
    assert 'name="ext4.1.log" value="fast1" checked' in page
    assert 'name="zfs.1.cache" value="gone" checked' in page
    page = page_of(signed_in.get(f"/runs/new/review/?{query}", follow=True))
    assert "uses a LUN for the log: leave it out" in page
    assert "gone" in page


def test_without_modules_the_form_says_how_a_kernel_gets_them(
    signed_in: Client, pools: Worker
) -> None:
    disk = pools.luns.get(name="disk1")
    page = page_of(signed_in.get(f"/runs/new/?{of_pool(disk, 'plain')}"))
    assert "The guest kernel plain cannot mount OpenZFS" in page
    assert "manage.py guest_kernel --with-zfs" in page
