"""A LUN whose disk another host's run has: no page, list or answer calls it free."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import Visibility
from fsbench_web.operations.gauges import read_gauges
from fsbench_web.studies.models import Run, RunState, Study
from fsbench_web.studies.runs import lifecycle
from tests.studies.conftest import after_silence
from tests.studies.runs.test_leases import WWN, claim, on_host, submitted

pytestmark = pytest.mark.django_db

FREE = '<span class="badge is-ok">free</span>'
PAGES = ("/", "/luns/", "/workers/host-b/", "/runs/new/")


@pytest.fixture
def run() -> Run:
    """Of host-a, on a disk that host-b lists too, and only that."""
    host_a, _ = on_host("host-a", {"wwn": WWN}), on_host("host-b", {"wwn": WWN})
    run = submitted(host_a, "san-0")
    claim(run, host_a)
    return run


def of_host_b(client: Client) -> dict[str, Any]:
    luns = client.get("/api/v1/luns").json()["luns"]
    (of_worker,) = client.get("/api/v1/workers/host-b").json()["luns"]
    (lun,) = (lun for lun in luns if lun["worker"] == "host-b")
    assert lun.items() >= of_worker.items()
    return {key: lun[key] for key in ("state", "run", "used_by", "worker_state")}


def test_it_says_which_run_of_which_worker_has_it(
    client: Client, admin_user: User, run: Run
) -> None:
    client.force_login(admin_user)
    for address in PAGES:
        page = client.get(address).content.decode()
        link = re.search(rf'<a [^>]*href="/runs/{run.pk}/">([^<]*)</a>', page)
        assert link, address
        assert f">in use by run {run.pk} of host-a</a>" in page, address
        assert FREE not in page or address == "/runs/new/", address
    used = {"state": "in use", "run": run.pk, "used_by": "host-a", "worker_state": "idle"}
    assert of_host_b(client) == used


def test_the_gauge_of_luns_counts_it_too(run: Run) -> None:
    in_use = {worker: lun["is_in_use"] for (worker, _), lun in read_gauges().luns.items()}
    assert in_use == {"host-a": True, "host-b": True}
    lifecycle.reap_lost(after_silence())
    assert not any(lun["is_in_use"] for lun in read_gauges().luns.values())


def test_it_is_free_when_that_run_has_ended(client: Client, run: Run, admin_user: User) -> None:
    client.force_login(admin_user)
    assert lifecycle.reap_lost(after_silence()) == [run.pk]
    run.refresh_from_db()
    assert run.state == RunState.LOST
    for address in PAGES:
        page = client.get(address).content.decode()
        assert FREE in page, address
        assert "of host-a<" not in page, address
    assert of_host_b(client)["used_by"] is None


def test_of_a_run_that_the_reader_may_not_see_the_worker_alone_is_said(
    client: Client, run: Run
) -> None:
    Study.objects.update(visibility=Visibility.PRIVATE)
    for address in PAGES[1:3]:
        page = client.get(address).content.decode()
        assert '<span class="badge is-running">in use by host-a</span>' in page, address
    used = {"state": "in use", "run": None, "used_by": "host-a", "worker_state": "idle"}
    assert of_host_b(client) == used


def test_many_such_luns_take_no_more_queries(
    client: Client, run: Run, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(4):
        client.get("/luns/")
    for number in range(4):
        on_host(f"more{number}", {"wwn": WWN}, *({"wwn": f"{WWN[:-1]}{last}"} for last in "789"))
    with django_assert_num_queries(4):
        client.get("/luns/")
