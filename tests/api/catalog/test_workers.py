import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.runs import lifecycle
from tests.api.conftest import MakeRun

WORKERS = "/api/v1/workers"


def test_it_says_what_every_worker_has_and_does(
    client: Client, lun: Lun, make_run: MakeRun
) -> None:
    first, _ = make_run(), make_run()
    assert lifecycle.claim(first.pk, lun.worker) is not None
    (worker,) = client.get(WORKERS).json()["workers"]
    assert worker["name"] == "bench-1"
    assert worker["state"] == "busy"
    assert worker["alive"] is True
    assert worker["silent_for_s"] < 10
    assert worker["running"] == [first.pk]
    assert worker["waiting"] == 1
    assert worker["drained_at"] is None
    assert worker["filesystems"]["ext4"]["usable"] is True
    assert worker["luns"] == [
        {
            "name": "lun0",
            "role": "data",
            "kind": "sparse-file",
            "device": "",  # for who may run on it (tests/test_rights.py)
            "size_bytes": 2**30,
            "schedulers": ["none", "mq-deadline"],
            "problem": "",
            "state": "in use",
            "silent_since": None,
            "run": first.pk,
            "used_by": "bench-1",
            "waiting": 1,
        }
    ]


def test_it_drains_and_resumes(writer: Client, alice: User, lun: Lun) -> None:
    drained = writer.post(f"{WORKERS}/bench-1/drain")
    assert drained.status_code == 200
    assert drained.json()["state"] == "drained"
    assert drained.json()["drained_by"] == "alice"
    assert "resume it" in drained.json()["problems"][0]
    again = writer.post(f"{WORKERS}/bench-1/drain").json()
    assert again["drained_at"] == drained.json()["drained_at"]
    assert writer.post(f"{WORKERS}/bench-1/resume").json()["state"] == "idle"
    assert not Worker.objects.get().is_drained


@pytest.mark.parametrize("call", ["drain", "resume"])
def test_that_needs_a_token_and_a_worker(
    client: Client, writer: Client, lun: Lun, call: str
) -> None:
    assert client.post(f"{WORKERS}/bench-1/{call}").status_code == 401
    for name in ("nosuch", "a%00b", "x" * 3000, "%ff"):
        response = writer.post(f"{WORKERS}/{name}/{call}")
        assert response.status_code == 404
        assert list(response.json()) == ["detail", "errors", "type", "title", "status"]
