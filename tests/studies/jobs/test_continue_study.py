"""A study is continued: the form as its last job had it, and how long that takes as a product."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.estimates import Estimate, Product, of_planned, products
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec, WorkloadSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run

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
    assert '<a href="/runs/new/?study=first-look">New run, begun empty</a>' in study_page

    answer = client.get(CONTINUE)
    address, _, query = answer.headers["Location"].partition("?")
    assert address == "/runs/new/"
    found = job_form.read(QueryDict(query)).spec()
    assert (found.lun_id, found.study, found.repeats) == (disk.pk, "first-look", 3)
    assert found.configurations == last.configurations
    assert [one.name for one in found.workloads] == ["iozone-direct", "mongo-small"]
    assert found.seed is None  # another order
    page = client.get(f"{address}?{query}").content.decode()
    assert '<option value="first-look" selected>' in page
    job = Run.objects.latest("pk").job_id
    words = " ".join(page.split())
    assert f'As <a href="/jobs/{job}/">job {job}</a> of First look had it' in words
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
    one = {"name": "iozone-small", "parameters": {}}
    job.document["workloads"] = [one, one | {"parameters": {"maximum_file_kb": 1024}}]
    job.save()
    client.force_login(ann)
    answer = client.get(CONTINUE)
    assert answer.headers["Location"] == f"/runs/new/document/?job={job.pk}"


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
    both = tuple(replace(one, scheduler=name) for one in plain for name in ("none", "bfq"))
    form = job_form.prefilled(spec(configurations=both))
    assert (form.chosen, form.schedulers) == (["ext4.1", "xfs.1"], ["none", "bfq"])
    assert form.spec().configurations == both


def test_time_is_repeats_by_configurations_by_what_one_run_takes(
    spec: Callable[..., JobSpec], runs: list[Run]
) -> None:
    wanted = spec(
        new_study="Other",
        repeats=5,
        reference=ReferenceSpec(ConfigurationSpec("xfs", {}, "none"), 2),
    )
    planned_runs = planned(wanted).runs
    assert of_planned(planned_runs) == [None] * len(planned_runs)
    (one,) = products(planned_runs, [None] * len(planned_runs))
    assert (one.repeats, one.configurations, one.each_s, one.total_s) == (5, 2, None, None)

    known = [Estimate(200 if run.filesystem == "ext4" else 280, 3, "x") for run in planned_runs]
    (one,) = products(planned_runs, known)
    assert one == Product(one.workload, 5, 2, 240, is_asked=False)
    assert one.total_s == 2400


def test_without_finished_runs_the_parameters_of_the_workload_say_at_least_how_long(
    client: Client, ann: User, disk: Lun
) -> None:
    disk.worker.capabilities["tools"]["fio"] = {"usable": True}
    disk.worker.save()
    client.force_login(ann)
    query = f"lun={disk.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&workload=fio-4k-small&new_study=S"
    page = client.get(f"/runs/new/review/?{query}&repeats=3").content.decode()
    words = " ".join(page.split())
    assert "3 × 2 × at least 8 s = 48 s" in words
    assert "by the parameters of the workload, without what the disk adds" in words
    by_interval = client.get(f"/runs/new/review/?{query}&repeat_by=interval").content.decode()
    assert "5 × 2 × at least 8 s = at least 1 min 20 s" in " ".join(by_interval.split())
    assert "5 to 20" in by_interval


def test_until_sure_is_five_to_twenty_unless_somebody_says_otherwise() -> None:
    until = job_form.read(QueryDict("repeat_by=interval")).spec().until
    assert until is not None
    assert (until.half_width_percent, until.least, until.most) == (5, 5, 20)
    said = job_form.read(QueryDict("repeat_by=interval&least=3&most=10")).spec().until
    assert said is not None
    assert (said.least, said.most) == (3, 10)
