"""A run that may have swapped beyond its limit of memory says so, and so do its numbers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run
from tests.studies.conftest import complete
from tests.studies.runs.test_busy import flags

GIB = 2**30


@pytest.fixture
def done(spec: Callable[..., JobSpec], ann: User, disk: Lun) -> Callable[[dict[str, Any]], Run]:
    """A finished run of which this was noted."""

    def make(noted: dict[str, Any]) -> Run:
        configurations = (ConfigurationSpec("ext4", {}, "none"),)
        job = spec(lun_id=disk.pk, configurations=configurations, repeats=1, new_study="S")
        [run] = submit(job, disk.name, ann)
        Run.objects.filter(pk=run.pk).update(conditions=noted)
        complete(run)
        run.refresh_from_db()
        return run

    return make


@pytest.mark.parametrize(
    ("noted", "sentence"),
    [
        ({"written_bytes": 3 * GIB}, "3 GiB was swapped out, by this run or others."),
        ({}, "how much was swapped out is unknown."),
    ],
)
def test_pages_and_scores_of_a_run_that_may_have_swapped(
    done: Callable[[dict[str, Any]], Run], client: Client, noted: dict[str, Any], sentence: str
) -> None:
    run = done({"swap": {"space_bytes": GIB, **noted}})
    assert flags(run) == {"swapped"}
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Its memory limit did not cover swap." in page
    assert f"cannot limit swap. It had 1 GiB of swap: {sentence}" in page
    study = run.series.study.slug
    for address in ("/runs/", f"/studies/{study}/", f"/compare/?study={study}"):
        assert "may have swapped" in client.get(address).content.decode(), address
    assert client.get(f"/api/v1/runs/{run.pk}").json()["conditions"]["swap"]["space_bytes"] == GIB
    assert client.get(f"/api/v1/deltas?study={study}&cells=sound").json() == {"tables": []}


def test_of_a_host_that_swapped_nothing_out_the_limit_held(
    done: Callable[[dict[str, Any]], Run], client: Client
) -> None:
    run = done({"swap": {"space_bytes": GIB, "written_bytes": 0}})
    assert flags(run) == set()
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Its memory limit did not cover swap." not in page
    assert "nothing was swapped out, so the memory limit held." in page
    assert "may have swapped" not in client.get("/runs/").content.decode()


def test_the_page_of_a_worker_says_which_limits_do_not_hold(disk: Lun, client: Client) -> None:
    worker = disk.worker
    limits = {"rates": "", "memory": "", "swap": "This host's kernel cannot limit swap."}
    Worker.objects.filter(pk=worker.pk).update(
        capabilities=worker.capabilities | {"limits": limits}
    )
    page = client.get(f"/workers/{worker.name}/").content.decode()
    assert page.count("This host&#x27;s kernel cannot limit swap.") == 1
