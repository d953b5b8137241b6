"""The Unisys 2005 paper run again: one click to a job, and its numbers beside the paper's."""

import csv
import io
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import GuestAbility
from fsbench_web.compare.papers import views as papers
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.studies.jobs import lookup, reproductions
from fsbench_web.studies.jobs.reproductions import CELL, PLAIN, ReproductionRequest
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, Run, Study
from tests.guest.conftest import GIB, NEW, OLD, announced
from tests.studies.conftest import complete

pytestmark = pytest.mark.django_db
ADDRESS = "/studies/unisys-2005/reproduce/"
ALL_OLD = {**OLD, "filesystems": {**OLD["filesystems"], **NEW["filesystems"]}}


@pytest.fixture
def paper(papers: None, db: None) -> Study:
    return Study.objects.get(slug="unisys-2005")


def ability_of(lun: Lun) -> GuestAbility:
    ability = availability.guest(lun.worker)
    assert ability is not None
    return ability


def spec_of(lun: Lun, wish: ReproductionRequest, journal: str = "") -> tuple[JobSpec, list[str]]:
    document, notes = reproductions.unisys_2005(
        wish, ability_of(lun), study="Again", lun="disk1", worker="lab1", journal=journal
    )
    return lookup.spec_of(document), notes


def test_it_is_the_papers_five_file_systems_with_their_tuning(disk: Lun) -> None:
    spec, notes = spec_of(disk, ReproductionRequest(), "log1")
    plan = planned(spec)
    assert not plan.left_out
    by_filesystem: dict[str, set[tuple[object, ...]]] = {}
    for run in plan.runs:
        key = (run.scheduler, *sorted(run.options.items()), run.journal is not None)
        by_filesystem.setdefault(run.filesystem, set()).add(key)
    # Three schedulers; ext2 has no other tuning; journal modes of ext3 and ReiserFS; access times;
    # journals of ext3, JFS and XFS on another LUN; allocation groups of XFS.
    assert {slug: len(tunings) for slug, tunings in by_filesystem.items()} == {
        "ext2": 3,
        "ext3": 3 * 3 * 2 * 2,
        "reiser3": 3 * 3 * 2,
        "jfs": 3 * 2 * 2,
        "xfs": 3 * 2 * 2 * 2,
    }
    assert len(plan.runs) == 2 * sum(map(len, by_filesystem.values()))
    assert {run.machine.kernel for run in plan.runs} == {"debian-6.1"}
    assert plan.runs[0].machine.memory_bytes == 4 * GIB
    assert {run.workload[0] for run in plan.runs} == {"iozone-paper"}
    text = " ".join(notes)
    assert "hardware is another one" in text
    assert "no kernel chosen has anticipatory and cfq. BFQ replaces CFQ" in text
    assert "the guest has 4 GiB and 4" in text
    assert "emulated" not in text


def test_an_old_kernel_has_the_papers_own_schedulers() -> None:
    disk = announced(kernels=[NEW, ALL_OLD]).luns.get(name="disk1")
    spec, notes = spec_of(disk, ReproductionRequest())
    assert spec.guest is not None
    assert spec.guest.kernels == ("own-2.6",)
    assert {run.scheduler for run in planned(spec).runs} == {
        "anticipatory",
        "cfq",
        "mq-deadline",
        "none",
    }
    # In 2005 access times were always written, and nobody could say so to mount.
    assert all(
        "strictatime" not in configuration.options.values() for configuration in spec.configurations
    )
    assert "I/O schedulers" not in " ".join(notes)


def test_two_kernels_where_none_mounts_all_five() -> None:
    only_jfs = {**OLD, "filesystems": {"jfs": NEW["filesystems"]["jfs"]}}
    without = {
        **NEW,
        "filesystems": {k: v for k, v in NEW["filesystems"].items() if k != "jfs"},
    }
    disk = announced(kernels=[without, only_jfs]).luns.get(name="disk1")
    spec, _ = spec_of(disk, ReproductionRequest(tuning=PLAIN, size=CELL))
    ran = {(run.machine.kernel, run.filesystem) for run in planned(spec).runs}
    assert ("own-2.6", "jfs") in ran
    assert {slug for _, slug in ran} == set(reproductions.FILESYSTEMS_OF_PAPER)


def test_what_no_kernel_mounts_is_left_out_and_said() -> None:
    disk = announced(kernels=[OLD]).luns.get(name="disk1")
    _, notes = spec_of(disk, ReproductionRequest())
    assert "No kernel chosen mounts ReiserFS, XFS: left out." in notes


def test_one_click_leads_to_the_preview_and_a_name_submits_it(
    paper: Study, disk: Lun, ann: User, client: Client
) -> None:
    client.force_login(ann)
    assert f'href="{ADDRESS}"' in client.get("/studies/unisys-2005/").content.decode()
    page = client.get(ADDRESS)
    assert page.status_code == 200
    text = page.content.decode()
    assert "Differences from the paper" in text
    assert "Erase disk1" in text
    assert "rebooted for every run" in text
    assert Job.objects.count() == 0
    answer = client.post(
        "/runs/new/document/",
        {
            "document": page.context["document_text"],
            "confirmation": page.context["confirmation_text"],
            "token": page.context["token"],
        },
    )
    assert answer.status_code == 302
    job = Job.objects.get()
    assert job.study is not None
    assert job.study.slug == "unisys-2005-reproduced"
    assert job.runs.count() == len(page.context["runs"])
    # The next one is another study.
    assert client.get(ADDRESS).context["new_study"].startswith("unisys-2005-reproduced-")


def test_the_address_changes_size_tuning_kernels_and_memory(
    paper: Study, disk: Lun, ann: User, client: Client
) -> None:
    client.force_login(ann)
    page = client.get(f"{ADDRESS}?size=cell&tuning=plain&memory_mib=512&kernel=debian-6.1")
    runs = page.context["runs"]
    assert len(runs) == 10
    assert {run.machine.memory_bytes for run in runs} == {512 * 2**20}
    refused = client.get(f"{ADDRESS}?memory_mib=1")
    assert refused.status_code == 422
    assert "256 MiB or more" in refused.content.decode()
    small = disk.worker.luns.get(name="small1")
    assert client.get(f"{ADDRESS}?lun={small.pk}&size=paper").status_code == 422


def test_without_guests_the_page_says_what_to_do(paper: Study, ann: User, client: Client) -> None:
    client.force_login(ann)
    page = client.get(ADDRESS)
    assert page.status_code == 200
    assert "/guide/guest/#setting-it-up" in page.content.decode()
    assert client.get("/studies/sun-2004/reproduce/").status_code == 404


def test_jfs_and_reiser3_run_emulated_and_stand_beside_the_paper(
    paper: Study, worker: object, ann: User, client: Client
) -> None:
    disk = announced(accelerator="emulated", accelerator_reason="No /dev/kvm.").luns.get(
        name="disk1"
    )
    spec, notes = spec_of(disk, ReproductionRequest(CELL, PLAIN, filesystems=("jfs", "reiser3")))
    assert "nothing of its speeds" in notes[-1]
    runs = submit(spec, "disk1", ann)
    assert len(runs) == 4
    for run in runs:
        complete(run, {"jfs": 2000.0, "reiser3": 1000.0}[run.series.configuration.filesystem])
    assert {run.state for run in Run.objects.all()} == {"done"}
    page = client.get("/studies/again/papers/unisys-2005/")
    text = page.content.decode()
    assert page.status_code == 200
    assert "The hardware differs." in text
    assert "Everything shown was emulated: for function, not for speed." in text
    agreement = page.context["agreement"]
    assert (agreement["tables"], agreement["of_best"]) == (42, 0)
    assert agreement["pairs"] == 42
    theirs = delta_tables(ComparisonSpec(studies=("unisys-2005",)))
    ahead = sum(
        next(row.score for row in table.rows if row.contender == "jfs")
        > next(row.score for row in table.rows if row.contender == "reiser3")
        for table in theirs
    )
    assert agreement["same_pairs"] == ahead
    assert "Versus Unisys 2005" in client.get("/studies/again/").content.decode()


def test_agreement_counts_only_what_both_have(paper: Study) -> None:
    theirs = delta_tables(ComparisonSpec(studies=("unisys-2005",)))
    same = papers.agreement(papers.paper_tables(theirs, theirs))
    assert [*same.values()] == [42, 42, 42, same["pairs"], same["pairs"]]
    assert same["pairs"] == 42 * 10
    fewer = [replace(table, rows=table.rows[1:]) for table in theirs[:3]]
    some = papers.agreement(papers.paper_tables(theirs, fewer))
    assert (some["tables"], some["of_best"], some["pairs"]) == (3, 0, 3 * 6)
    none = papers.paper_tables(theirs, [])
    assert all(table.study is None for table in none)
    assert papers.agreement(none) == dict.fromkeys(same, 0)


def test_only_a_published_study_has_something_beside_it(paper: Study, client: Client) -> None:
    Study.objects.create(slug="own", title="Own")
    assert client.get("/studies/own/papers/own/").status_code == 404
    assert client.get("/studies/none/papers/unisys-2005/").status_code == 404
    page = client.get("/studies/own/papers/unisys-2005/")
    assert "This study has no results for the paper's tables yet" in page.content.decode()


def test_both_columns_can_be_had_as_files(
    paper: Study, worker: object, ann: User, client: Client
) -> None:
    disk = announced(accelerator="emulated", accelerator_reason="No /dev/kvm.").luns.get(
        name="disk1"
    )
    spec, _ = spec_of(disk, ReproductionRequest(CELL, PLAIN, filesystems=("jfs",)))
    for run in submit(spec, "disk1", ann):
        complete(run, 1234.5)
    page = client.get("/studies/again/papers/unisys-2005/").content.decode()
    for suffix in ("csv", "json"):
        assert f'href="/studies/again/papers/unisys-2005/tables.{suffix}"' in page
    answer = client.get("/studies/again/papers/unisys-2005/tables.csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "fsbench-again-and-paper-unisys-2005.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    theirs = delta_tables(ComparisonSpec(studies=("unisys-2005",)))
    assert len(rows) == sum(len(table.rows) for table in theirs)
    first = rows[0]
    table = theirs[0]
    assert (first["test"], first["category"]) == (table.test, table.category)
    assert float(first["paper_score"]) == table.rows[0].score
    # What was not measured here is missing, and no number.
    assert {row["own_score"] for row in rows if row["contender"] != "jfs"} == {""}
    assert {row["own_best"] for row in rows if row["contender"] != "jfs"} == {""}
    jfs = next(row for row in rows if row["contender"] == "jfs" and row["own_score"])
    assert float(jfs["own_score"]) == 1234.5
    assert "emulated" in jfs["own_flags"]

    content = client.get("/studies/again/papers/unisys-2005/tables.json").json()
    assert content["address"].endswith("/studies/again/papers/unisys-2005/")
    assert content["title"] == "Again versus " + paper.title
    assert any("hardware differs" in note for note in content["notes"])
    assert any("emulated" in note for note in content["notes"])
    assert content["agreement"]["of_best"] == 0
    assert len(content["tables"]) == len(theirs)
    sides = {row["contender"]: row for row in content["tables"][0]["rows"]}
    assert sides["xfs"]["own"] is None
    assert sides["jfs"]["own"]["score"] == 1234.5
    assert sides["jfs"]["paper"]["score"] == next(
        row.score for row in table.rows if row.contender == "jfs"
    )
    assert client.get("/studies/again/papers/unisys-2005/tables.exe").status_code == 404
    assert client.get("/studies/again/papers/again/tables.csv").status_code == 404
