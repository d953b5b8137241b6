"""A job on the raw device erases: review, API and commands say so as they do of mkfs."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]
DOCUMENT = """study: Raw
lun: {}
configurations: [raw]
schedulers: [none]
workloads: [fio-4k-small]
repeats: 2
"""


@pytest.fixture(autouse=True)
def with_fio(disk: Lun) -> None:
    worker = disk.worker
    worker.capabilities["tools"]["fio"] = {"usable": True, "version": "3.33", "package": "fio"}
    worker.save()


def test_every_run_of_the_raw_device_is_an_erasure(disk: Lun, spec: MakeSpec) -> None:
    both = tuple(ConfigurationSpec(slug, scheduler="none") for slug in ("ext4", "raw"))
    runs = planned(spec(configurations=both, workload="fio-4k-small")).runs
    assert all(run.erases and run.erased == [disk] for run in runs)


def test_its_review_says_that_everything_is_erased(disk: Lun, client: Client, ann: User) -> None:
    client.force_login(ann)
    order = {
        "lun": disk.pk,
        "fs": "raw.1",
        "scheduler": "none",
        "workload": "fio-4k-small",
        "repeats": 2,
        "new_study": "Raw",
    }
    page = client.get("/runs/new/review/", order).content.decode()
    assert f"Everything on {disk.name} will be erased, 2 times" in " ".join(page.split())
    assert "Each run writes to <code>" in page
    assert "makes a new file system" not in page
    assert "Other files stay" not in page
    assert f"Erase {disk.name} and run</button>" in page
    assert "What you confirm" in page


def test_the_command_counts_them(disk: Lun, tmp_path: Path) -> None:
    document = tmp_path / "job.yaml"
    document.write_text(DOCUMENT.format(disk.name))
    output = StringIO()
    call_command("submit_job", str(document), stdout=output)
    assert "Erasures: 2." in output.getvalue()
