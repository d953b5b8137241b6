"""manage.py drain: a worker can be stopped when it says so, and no run is lost."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from fsbench_web.catalog.models import Worker
from fsbench_web.studies.management.commands import drain
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle

pytestmark = pytest.mark.django_db


def call_drain(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command("drain", *arguments, stdout=out, **options)
    return out.getvalue()


def test_it_drains_and_resumes(worker: Worker) -> None:
    assert "is drained" in call_drain(worker.name, wait=True)
    worker.refresh_from_db()
    assert worker.is_drained
    assert worker.drained_by == "manage.py drain"
    assert "takes runs." in call_drain(worker.name, resume=True)
    worker.refresh_from_db()
    assert not worker.is_drained
    assert "as it did before" in call_drain(worker.name, resume=True)


def test_it_says_that_somebody_else_did(worker: Worker) -> None:
    call_drain(worker.name)
    Worker.objects.filter(pk=worker.pk).update(drained_by="ada")
    assert "was drained by ada before" in call_drain(worker.name, wait=True)


def test_it_waits_for_the_run_that_is_under_way(
    worker: Worker, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, waiting = runs[0], runs[1]
    handle = lifecycle.claim(run.pk, worker)
    assert handle is not None
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            lifecycle.finish(handle, RunState.FAILED, "enough")

    monkeypatch.setattr(drain.time, "sleep", nap)
    text = call_drain(worker.name, wait=True)
    assert f"Still running: {run.pk}\n" in text
    assert len(naps) == 3
    waiting.refresh_from_db()
    assert waiting.state == RunState.QUEUED


def test_it_does_not_wait_for_ever(worker: Worker, runs: list[Run]) -> None:
    assert lifecycle.claim(runs[0].pk, worker)
    with pytest.raises(CommandError, match=r"did not end within 0 s. It stays drained"):
        call_drain(worker.name, wait=True, timeout=0)


def test_an_unknown_worker_is_named(worker: Worker) -> None:
    with pytest.raises(CommandError, match=f"no worker “nobody”. Known: {worker.name}"):
        call_drain("nobody")
