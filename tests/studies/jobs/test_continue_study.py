"""A study is continued: the form as its last job had it, and how long that takes as a product."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from fsbench_web.accounts.models import Role, Visibility
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.catalog.models import Lun, Worker, Workload
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workloads.stored import stored_workload
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.workloads import presets
from fsbench_web.studies.jobs.estimates import Estimate, Product, of_planned, products
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec, WorkloadSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.series import series_for
from fsbench_web.studies.views import study_continuation
from tests.accounts.people import person
from tests.compare.conftest import make_study
from tests.studies.conftest import worker_announcement
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
CONTINUE = "/runs/new/continue/?study=first-look"


def test_a_study_leads_to_the_form_as_its_last_job_had_it(
    client: Client, ann: User, disk: Lun, runs: list[Run], spec: Callable[..., JobSpec]
) -> None:
    workloads = {"workload": "iozone-direct", "more_workloads": (WorkloadSpec("mongo-small"),)}
    last = spec(study="first-look", new_study="", repeats=3, order="random", seed=7, **workloads)
    disk.worker.capabilities["tools"] |= {"python3": {"usable": True}}
    disk.worker.save()
    submit(last, "disk1", ann)
    client.force_login(ann)
    study_page = " ".join(client.get("/studies/first-look/").content.decode().split())
    assert f'<a class="btn is-primary" href="{CONTINUE}">New run</a>' in study_page
    assert '<a href="/runs/new/?study=first-look">New run, empty form</a>' in study_page

    answer = client.get(CONTINUE)
    address, _, query = answer.headers["Location"].partition("?")
    assert address == "/runs/new/"
    job_spec = job_form.read(QueryDict(query)).spec()
    assert (job_spec.lun_id, job_spec.study, job_spec.repeats) == (disk.pk, "first-look", 3)
    assert job_spec.configurations == last.configurations
    assert [workload.name for workload in job_spec.workloads] == ["iozone-direct", "mongo-small"]
    assert job_spec.seed is None  # another order
    page = client.get(f"{address}?{query}").content.decode()
    assert '<option value="first-look" selected>' in page
    job = Run.objects.latest("pk").job_id
    words = " ".join(page.split())
    assert f'Copied from <a href="/jobs/{job}/">job {job}</a> of First look:' in words
    assert '<a href="/runs/new/?study=first-look">Begin with an empty form</a>' in words


@pytest.mark.parametrize("key", ["0", "99999999999", "-1", "x", "%00", "٣"])
def test_a_job_that_is_not_there_is_not_continued(client: Client, ann: User, key: str) -> None:
    client.force_login(ann)
    page = client.get(f"/runs/new/?study=first-look&continued={key}")
    assert page.status_code == 200
    assert "data-continued" not in page.content.decode()


def test_it_is_new_run_everywhere(client: Client, ann: User, runs: list[Run]) -> None:
    client.force_login(ann)
    for address in ("/", "/runs/", "/jobs/", "/luns/", "/studies/", "/runs/new/", "/workloads/"):
        page = client.get(address).content.decode()
        assert "New run" in page, address
        assert "New job" not in page, address


def test_one_workload_with_several_sets_of_parameters_is_continued_as_a_job_file(
    client: Client, ann: User, runs: list[Run]
) -> None:
    job = runs[0].job
    assert job is not None
    job.refresh_from_db()
    workload = {"name": "iozone-small", "parameters": {}}
    job.document["workloads"] = [workload, workload | {"parameters": {"maximum_file_kb": 1024}}]
    job.save()
    client.force_login(ann)
    answer = client.get(CONTINUE)
    assert answer.headers["Location"] == f"/runs/new/document/?job={job.pk}"


def imported(label: str, repeats: int, workload: Workload | None = None) -> None:
    """A series of the study lab as an import leaves it: no LUN, no job."""
    for repeat in range(repeats):
        value = ParsedValue("read", 64, 1024, 100.0 + repeat, "KB/s", 1)
        finished(series_for(make_study("lab"), from_label(label), workload=workload), value)


def one_lun(**changes: Any) -> Lun:
    """A worker with a single LUN, of 20 GB, that can be used; it cannot mount Btrfs."""
    worker = announce(worker_announcement(luns=worker_announcement().luns[:1], **changes))
    return worker.luns.get()


def led_to(client: Client) -> tuple[QueryDict, str]:
    """The form's address, and its words."""
    address = client.get("/runs/new/continue/?study=lab").headers["Location"]
    page = client.get(address).content.decode()
    return QueryDict(address.partition("?")[2]), " ".join(page.split())


def test_of_a_study_without_a_job_what_is_known_is_taken(client: Client, ann: User) -> None:
    lun = one_lun()
    client.force_login(ann)
    tables = Workload.objects.create(slug="iozone-imported", title="IOzone (i)", tool="iozone")
    for label in ("btrfs", "ext4_wb", "xfs_dl", "ext4_mystery"):
        imported(label, 5, tables)
    query, words = led_to(client)
    job_spec = job_form.read(query).spec()
    assert (job_spec.lun_id, job_spec.study, job_spec.repeats) == (lun.pk, "lab", 5)
    assert job_spec.configurations == (
        ConfigurationSpec("ext4", {"journal_mode": "writeback"}, "mq-deadline"),
        ConfigurationSpec("xfs", {}, "mq-deadline"),
    )
    assert query.getlist("workload") == [""]
    assert not re.search('name="workload" value="[^"]+" checked', words)
    notice = words.partition("data-taken>")[2].partition("</p>")[0]
    assert "file systems ext4_wb, xfs_dl; I/O scheduler mq-deadline for each; 5 repeats." in notice
    assert "LUN (none of its LUNs can be used here: disk1 is the only one that can)" in notice
    assert "btrfs (cannot be made on lab1)" in notice
    assert "ext4_mystery (not as it was made: " in notice
    assert "workload IOzone (i) (no preset of this site)" in notice
    assert '<a href="/runs/new/?study=lab">Begin with an empty form</a>' in notice


def test_a_preset_of_this_site_is_taken_and_repeats_are_bounded(
    client: Client, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_continuation, "MAXIMUM_REPEATS", 2)
    one_lun()
    client.force_login(ann)
    imported("xfs", 3, stored_workload("iozone-direct", presets()["iozone-direct"].workload()))
    query, words = led_to(client)
    job_spec = job_form.read(query).spec()
    assert ([workload.name for workload in job_spec.workloads], job_spec.repeats) == (
        ["iozone-direct"],
        2,
    )
    notice = words.partition("data-taken>")[2].partition("</p>")[0]
    assert "2 repeats of its 3; workload" in notice
    # Its own LUN comes first, as long as it can be chosen.
    Series.objects.update(lun=Lun.objects.get())
    assert "LUN disk1; file systems xfs" in led_to(client)[1]


def test_where_several_luns_can_be_used_none_is_taken(
    client: Client, ann: User, worker: Worker
) -> None:
    client.force_login(ann)
    imported("btrfs_dl", 1)
    query, words = led_to(client)
    job_spec = job_form.read(query).spec()
    assert (job_spec.lun_id, job_spec.repeats) == (None, 1)
    assert job_spec.configurations == (ConfigurationSpec("btrfs"),)
    assert "LUN (none of its LUNs can be used here); I/O scheduler mq-deadline;" in words
    assert "workload (it names none)." in words


def test_nothing_is_taken_from_what_somebody_may_not_see_or_what_is_published(
    client: Client, db: None
) -> None:
    one_lun()
    client.force_login(person(Role.OPERATOR))
    imported("xfs", 2)
    for changes in ({"visibility": Visibility.PRIVATE}, {"is_published": True}):
        study = make_study("lab")
        Study.objects.filter(pk=study.pk).update(**changes)
        query, words = led_to(client)
        assert dict(query.lists()) == {"study": ["lab"]}
        page = client.get("/runs/new/?study=lab&taken_from=lab").content.decode()
        assert "data-taken" not in words + page
        Study.objects.filter(pk=study.pk).update(visibility=Visibility.PUBLIC)


@pytest.mark.parametrize("slug", ["unisys-2005", "nosuch", "%00", ""])
def test_where_there_is_no_job_the_form_is_empty(client: Client, ann: User, slug: str) -> None:
    client.force_login(ann)
    answer = client.get(f"/runs/new/continue/?study={slug}", follow=True)
    assert answer.status_code == 200
    assert answer.redirect_chain[0][0].startswith("/runs/new/?study=")


def test_configurations_that_differ_in_the_scheduler_alone_are_one_variant_of_the_form(
    spec: Callable[..., JobSpec],
) -> None:
    plain = (ConfigurationSpec("ext4", {"journal_mode": "writeback"}), ConfigurationSpec("xfs"))
    both = tuple(
        replace(configuration, scheduler=name)
        for configuration in plain
        for name in ("none", "bfq")
    )
    form = job_form.prefilled(spec(configurations=both))
    assert (form.chosen, form.schedulers) == (["ext4.1", "xfs.1"], ["none", "bfq"])
    assert form.spec().configurations == both


def test_time_is_repeats_by_configurations_by_what_one_run_takes(
    spec: Callable[..., JobSpec], runs: list[Run]
) -> None:
    job = spec(
        new_study="Other",
        repeats=5,
        reference=ReferenceSpec(ConfigurationSpec("xfs", {}, "none"), 2),
    )
    planned_runs = planned(job).runs
    assert of_planned(planned_runs) == [None] * len(planned_runs)
    (product,) = products(planned_runs, [None] * len(planned_runs))
    assert (product.repeats, product.configurations, product.each_s, product.total_s) == (
        5,
        2,
        None,
        None,
    )

    estimates = [Estimate(200 if run.filesystem == "ext4" else 280, 3, "x") for run in planned_runs]
    (product,) = products(planned_runs, estimates)
    assert product == Product(product.workload, 5, 2, 240, is_asked=False)
    assert product.total_s == 2400


def test_without_finished_runs_the_parameters_of_the_workload_say_at_least_how_long(
    client: Client, ann: User, disk: Lun
) -> None:
    disk.worker.capabilities["tools"]["fio"] = {"usable": True}
    disk.worker.save()
    client.force_login(ann)
    query = f"lun={disk.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&workload=fio-4k-small&new_study=S"
    page = client.get(f"/runs/new/review/?{query}&repeats=3").content.decode()
    words = " ".join(page.split())
    assert "3 × 2 × at least 8 s = at least 48 s" in words
    assert 'data-at-least-s="48.0"' in page
    assert words.count(">at least 8 s</span>") == 6
    assert "by the parameters of the workload; the disk adds to it" in words
    by_interval = client.get(f"/runs/new/review/?{query}&repeat_by=interval").content.decode()
    assert "5 × 2 × at least 8 s = at least 1 min 20 s" in " ".join(by_interval.split())
    assert "5 to 20" in by_interval


def test_until_sure_is_five_to_twenty_unless_somebody_says_otherwise() -> None:
    until = job_form.read(QueryDict("repeat_by=interval")).spec().until
    assert until is not None
    assert (until.half_width_percent, until.least, until.most) == (5, 5, 20)
    chosen = job_form.read(QueryDict("repeat_by=interval&least=3&most=10")).spec().until
    assert chosen is not None
    assert (chosen.least, chosen.most) == (3, 10)
