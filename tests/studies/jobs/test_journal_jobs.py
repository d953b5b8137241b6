"""Jobs with journals on another LUN: what is refused, confirmed, shown and written."""

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import confirmation_text, planned, submit
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.runs import lifecycle
from tests.studies.conftest import GB, start, worker_announcement

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
EXT3 = ConfigurationSpec("ext3", {"block_size": "1024"}, "none", "log1")
XFS = ConfigurationSpec("xfs", {}, "none", "log1")


def problems(spec: JobSpec, confirmation: str = "disk1 log1") -> list[str]:
    """Why a job is refused; nothing may have been written."""
    with pytest.raises(JobRefused) as refused:
        submit(spec, confirmation, None)
    assert not Run.objects.exists()
    assert not Series.objects.exists()
    return refused.value.problems


def add_luns(*luns: LunAnnouncement) -> Worker:
    usual = worker_announcement()
    return announce(worker_announcement(luns=[*usual.luns, *luns]))


def test_the_preview_shows_the_commands_of_both_luns(spec: MakeSpec) -> None:
    ext3, xfs = planned(spec(configurations=(EXT3, XFS), repeats=1)).runs
    assert (ext3.configuration, xfs.configuration) == ("ext3_b1024_none_xj", "xfs_none_xj")
    assert [command.phase for command in ext3.commands][:2] == ["journal", "mkfs"]
    assert ext3.commands[0].argv[-1] == "/dev/sdq"
    assert "1024" in ext3.commands[0].argv
    assert [lun.name for lun in ext3.erased] == ["disk1", "log1"]
    # 8 GB are more than the log of XFS can have.
    assert {"logdev=/dev/sdq", "size=2038m"} <= set(xfs.commands[0].argv)


def test_it_writes_runs_that_lease_both(spec: MakeSpec, ann: User) -> None:
    runs = submit(spec(configurations=(EXT3,), repeats=2), "disk1 log1", ann)
    series = Series.objects.get()
    assert series.journal_lun == Lun.objects.get(name="log1")
    assert series.configuration.external_journal
    handle = start(runs[0])
    assert Lun.objects.get(name="log1").lease.run == runs[0]
    lifecycle.finish(handle, RunState.FAILED, "x")


def test_the_same_configuration_with_two_journals_is_two_series(spec: MakeSpec, ann: User) -> None:
    add_luns(LunAnnouncement("log2", "journal", "device", "/dev/sdr", 8 * GB, [], ["none"]))
    both = spec(
        configurations=tuple(
            ConfigurationSpec("ext4", {}, "none", journal) for journal in ("", "log1", "log2")
        ),
        repeats=2,
    )
    assert confirmation_text(both) == "disk1 log1 log2"
    runs = submit(both, "disk1 log1 log2", ann)
    assert Series.objects.count() == 3
    assert [run.repeat for run in runs] == [1, 1, 1, 2, 2, 2]
    labels = [run.series.configuration.label for run in runs[:3]]
    assert labels == ["ext4_none", "ext4_none_xj", "ext4_none_xj"]


@pytest.mark.parametrize("typed", ["disk1", "log1", "disk1log1", "log1 disk1", "disk1  log1", ""])
def test_every_lun_that_is_erased_is_typed(spec: MakeSpec, typed: str) -> None:
    (problem,) = problems(spec(configurations=(EXT3,)), typed)
    assert 'type the names of the LUNs, "disk1 log1"' in problem


def test_the_journal_of_the_reference_is_typed_too(spec: MakeSpec) -> None:
    job = spec(reference=ReferenceSpec(XFS, 2))
    (problem,) = problems(job, "disk1")
    assert '"disk1 log1"' in problem


def test_without_a_journal_the_lun_alone_is_typed(spec: MakeSpec, ann: User) -> None:
    assert len(submit(spec(), "disk1", ann)) == 4
    assert set(Series.objects.values_list("journal_lun", flat=True)) == {None}


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (ConfigurationSpec("ext2", {}, "none", "log1"), "ext2 cannot keep its journal"),
        (ConfigurationSpec("ext4", {}, "none", "nosuch"), "choose one of log1"),
        (ConfigurationSpec("ext4", {}, "none", "small1"), "small1 is a LUN for data"),
        (ConfigurationSpec("ext4", {}, "none", "disk1"), "disk1 is a LUN for data"),
        (ConfigurationSpec("ext4", {}, "bfq", "log1"), 'log1 has no I/O scheduler "bfq"'),
        (
            ConfigurationSpec("ext4", {"journal_size_mb": "64"}, "none", "log1"),
            "has the size of that LUN",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    spec: MakeSpec, configuration: ConfigurationSpec, words: str
) -> None:
    messages = problems(spec(configurations=(configuration,)), f"disk1 {configuration.journal}")
    assert len(messages) == 1, messages
    assert words in messages[0]


@pytest.mark.parametrize(
    ("changes", "slug", "words"),
    [
        ({"problem": "It is mounted on /home."}, "ext4", "cannot be used now: It is mounted on"),
        ({"size_bytes": 32 * 2**20}, "xfs", "A journal of XFS needs 64 MiB or more"),
    ],
)
def test_a_journal_lun_that_does_not_fit_is_refused(
    spec: MakeSpec, changes: dict[str, object], slug: str, words: str
) -> None:
    spec_ = spec(configurations=(ConfigurationSpec(slug, {}, "none", "log1"),))
    Lun.objects.filter(name="log1").update(**changes)
    (problem,) = problems(spec_)
    assert words in problem


def test_a_directory_keeps_its_journal(spec: MakeSpec, worker: Worker) -> None:
    folder = worker.luns.get(name="folder1")
    configuration = ConfigurationSpec("ext4", {}, "", "log1")
    messages = problems(spec(lun_id=folder.pk, configurations=(configuration,)), "folder1 log1")
    assert any("that has its journal already" in problem for problem in messages)


def test_a_journal_of_another_worker_is_not_there(spec: MakeSpec) -> None:
    announce(
        worker_announcement(
            name="lab2", luns=[LunAnnouncement("far", "journal", "device", "/dev/sdx", 8 * GB)]
        )
    )
    configuration = ConfigurationSpec("ext4", {}, "none", "far")
    (problem,) = problems(spec(configurations=(configuration,)), "disk1 far")
    assert 'The worker lab1 has no LUN "far" for journals' in problem


# ---- pages ----
@pytest.fixture
def signed_in(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


@pytest.fixture
def query(disk: Lun) -> list[tuple[str, str]]:
    return [
        ("lun", str(disk.pk)),
        *(("fs", "ext4.1"), ("fs", "ext4.2"), ("ext4.2.journal", "log1"), ("fs", "btrfs.1")),
        *(("scheduler", "none"), ("workload", "iozone-small"), ("repeats", "2")),
        ("new_study", "Journals"),
    ]


def page_of(response: object) -> str:
    return unescape(re.sub(r"\s+", " ", response.content.decode()))  # type: ignore[attr-defined]


def test_the_form_offers_the_journals_of_the_worker(
    signed_in: Client, query: list[tuple[str, str]]
) -> None:
    page = page_of(signed_in.get("/runs/new/?" + urlencode(query)))
    for slug in ("ext3", "ext4", "xfs"):
        assert f'name="{slug}.1.journal"' in page
    for slug in ("ext2", "btrfs"):
        assert f'name="{slug}.1.journal"' not in page
    assert re.search(r'name="ext4.2.journal">.*?value="log1" selected> ?on log1, 8 GiB', page)
    assert re.search(r'name="ext4.1.journal"> <option value="">on disk1 itself', page)


def test_without_a_journal_lun_the_form_says_how_to_get_one(
    signed_in: Client, query: list[tuple[str, str]]
) -> None:
    Lun.objects.filter(name="log1").update(is_listed=False)
    page = page_of(signed_in.get("/runs/new/?" + urlencode(query)))
    assert "For an external journal, the LUN file of lab1 must list a LUN" in page
    # What was chosen stays to be seen, and is refused.
    assert 'value="log1" selected>log1' in page
    refused = signed_in.get("/runs/new/review/?" + urlencode(query))
    assert refused.status_code == 422
    assert "log1 is no longer in the LUN file" in page_of(refused)


def test_the_review_names_both_luns_and_wants_both_typed(
    signed_in: Client, query: list[tuple[str, str]]
) -> None:
    query = [pair for pair in query if pair != ("fs", "btrfs.1")]
    address = "/runs/new/review/?" + urlencode(query)
    page = page_of(signed_in.get(address))
    assert "Everything on disk1 and log1 will be erased, disk1 4 times" in page
    assert "<strong>log1</strong>, erased 2 times" in page
    assert 'data-confirm-name="disk1 log1"' in page
    assert "mke2fs -q -F -O journal_dev -b 4096 -L fsbench /dev/sdq" in page
    token = re.search(r'name="token" value="([^"]+)"', page)[1]  # type: ignore[index]
    wrong = signed_in.post(address, {"token": token, "confirmation": "disk1"})
    assert wrong.status_code == 422
    assert not Run.objects.exists()
    signed_in.post(address, {"token": token, "confirmation": "disk1 log1"})
    assert Run.objects.count() == 4


def test_a_run_shows_its_journal_and_is_submitted_again_with_it(
    signed_in: Client, spec: MakeSpec, ann: User
) -> None:
    first, second = submit(spec(configurations=(EXT3, XFS), repeats=1), "disk1 log1", ann)
    page = page_of(signed_in.get(f"/runs/{first.pk}/"))
    log = Lun.objects.get(name="log1")
    assert f'on <a href="/luns/#lun-{log.pk}">log1</a>' in page
    assert "mke2fs -q -F -O journal_dev" in page
    address = re.search(r'href="(/runs/new/\?[^"]+journal=log1[^"]*)"', page)
    assert address is not None
    again = page_of(signed_in.get(address[1]))
    assert re.search(r'name="ext3.1.journal">.*?value="log1" selected', again)
    assert page_of(signed_in.get(f"/runs/{second.pk}/")).count("logdev=/dev/sdq") == 2


def test_a_run_says_what_it_waits_for(signed_in: Client, spec: MakeSpec, ann: User) -> None:
    other = LunAnnouncement("disk2", "data", "device", "/dev/sdc", 20 * GB, [], ["none"])
    disk2 = add_luns(other).luns.get(name="disk2")
    (running,) = submit(spec(configurations=(EXT3,), repeats=1), "disk1 log1", ann)
    job = spec(lun_id=disk2.pk, configurations=(XFS,), repeats=1, new_study="Other")
    (waiting,) = submit(job, "disk2 log1", ann)
    assert "It needs" not in page_of(signed_in.get(f"/runs/{waiting.pk}/"))
    handle = start(running)
    page = page_of(signed_in.get(f"/runs/{waiting.pk}/"))
    used = f'It needs log1 on lab1, which <a href="/runs/{running.pk}/">run {running.pk}</a> uses.'
    assert used in page
    lifecycle.finish(handle, RunState.FAILED, "x")
    assert "It needs" not in page_of(signed_in.get(f"/runs/{waiting.pk}/"))


def test_the_runs_of_a_journal_lun_are_listed_with_it(
    signed_in: Client, spec: MakeSpec, ann: User
) -> None:
    (run,) = submit(spec(configurations=(EXT3,), repeats=1), "disk1 log1", ann)
    submit(spec(new_study="Other", repeats=1), "disk1", ann)
    log = Lun.objects.get(name="log1")
    page = page_of(signed_in.get("/luns/"))
    assert f'<a href="/runs/?lun={log.pk}">all runs on it</a>, 1 waiting' in page
    listed = page_of(signed_in.get(f"/runs/?lun={log.pk}"))
    assert set(re.findall(r'href="/runs/(\d+)/"', listed)) == {str(run.pk)}
