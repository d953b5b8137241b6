"""What test_guide.py runs in a process of its own, where the guide's package is installed."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.executors.local import LocalExecutor
from runner.worker import Host
from tests.measured import measured


@pytest.mark.django_db
@pytest.mark.root
def test_it_is_offered_submitted_run_and_scored(
    client: Client, make_host: Callable[..., Host], carry_out: Callable[[Run, Host], Run]
) -> None:
    host = make_host(LocalExecutor())
    worker = announce(host.announcement(has_started=True))
    client.force_login(User.objects.create_user("ann"))
    lun = worker.luns.get()
    query = (
        f"lun={lun.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&workload=renames-small"
        "&repeats=1&new_study=Renaming"
    )
    form = client.get(f"/runs/new/?{query}").content.decode()
    assert "Renames per second at rising numbers of tasks" in form
    assert 'name="renames-small.tasks" type="text"' in form
    address = f"/runs/new/review/?{query}"
    review = client.get(address).content.decode()
    assert "stress-ng --rename 2 --timeout 1" in review
    assert not Run.objects.exists()
    wrong = client.get(f"{address}&renames-small.tasks=1,1000")
    assert wrong.status_code == 422
    assert "1 to 256" in wrong.content.decode()

    assert client.post(address, {"confirmation": lun.name, "token": "t"}).status_code == 302
    for run in Run.objects.order_by("pk"):
        run = carry_out(run, host)
        assert run.state == RunState.DONE, run.reason
        values = measured(run, test="renames")
        assert sorted(value.load for value in values) == ["tasks=1", "tasks=2"]
        for value in values:
            assert value.artefact is not None
            assert value.line is not None
            line = artefact_bytes(value.artefact).decode().splitlines()[value.line - 1]
            assert f"{value.value:.2f}" in line

    tables = client.get("/api/v1/deltas?study=renaming").json()["tables"]
    ranked = {table["test"]: table for table in tables if table["unit"] == "renames/s"}
    assert set(ranked) == {"renames@tasks=1", "renames@tasks=2"}
    for table in ranked.values():
        assert {row["contender"] for row in table["rows"]} == {"ext4", "xfs"}
