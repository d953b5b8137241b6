"""Jobs with the raw device among their configurations."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.preparation import Preparation
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
RAW = ConfigurationSpec("raw", scheduler="none")
EXT4 = ConfigurationSpec("ext4", scheduler="none")


@pytest.fixture(autouse=True)
def with_fio(disk: Lun) -> None:
    worker = disk.worker
    worker.capabilities["tools"]["fio"] = {"usable": True, "version": "3.33", "package": "fio"}
    worker.save()


def refused(job: JobSpec, lun: Lun) -> str:
    with pytest.raises(JobRefused) as refusal:
        submit(job, lun.name, None)
    assert not Run.objects.exists()
    return " ".join(refusal.value.problems)


def test_it_is_submitted_beside_a_file_system(disk: Lun, spec: MakeSpec, ann: User) -> None:
    job = spec(configurations=(EXT4, RAW), workload="fio-4k-small")
    assert {run.configuration for run in planned(job).runs} == {"ext4_none", "raw_none"}
    with pytest.raises(JobRefused, match=disk.name):
        submit(job, "", ann)
    labels = {run.series.configuration.label for run in submit(job, disk.name, ann)}
    assert labels == {"ext4_none", "raw_none"}


def test_only_what_can_do_without_files_is_run_with_it(disk: Lun, spec: MakeSpec) -> None:
    message = refused(spec(configurations=(EXT4, RAW), workload="filemark-small"), disk)
    assert "needs a file system, and the raw device has none: choose fio by queue depth" in message
    filled = spec(
        configurations=(RAW,), workload="fio-4k-small", preparation=Preparation(fill_percent=50)
    )
    assert "neither filled nor aged" in refused(filled, disk)
    small = spec(configurations=(RAW,), workload="fio-4k-small", parameters={"file_mb": 10**7})
    assert "make them smaller, or choose a larger LUN" in refused(small, disk)


def test_the_form_offers_it_and_then_only_such_workloads(
    disk: Lun, client: Client, ann: User
) -> None:
    client.force_login(ann)
    page = client.get("/runs/new/", {"lun": disk.pk, "fs": "raw.1", "workload": "fio-4k-small"})
    by_slug = {
        preset_fields.preset.slug: preset_fields.problems
        for question in page.context["questions"]
        for workload in question.workloads
        for preset_fields in workload.presets
    }
    assert by_slug["fio-4k-small"] == ()
    assert "needs a file system" in " ".join(by_slug["filemark-small"])
    groups = {filesystem.spec.slug: filesystem for filesystem in page.context["filesystems"]}
    assert groups["raw"].problems == ()
    assert groups["raw"].variants[0].is_chosen
    assert not groups["raw"].can_add
    assert "The LUN itself, from its second MiB on." in page.content.decode()
