"""A worker that was not drained before an upgrade."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from fsbench_web.platform import table_version
from fsbench_web.studies.models import Run, RunState
from runner.execution import execute
from runner.worker import Host

pytestmark = [pytest.mark.django_db, pytest.mark.root]


def test_a_worker_begins_nothing_on_tables_of_another_version(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It knows nothing of what they want: the lease of a disk that another host may have, say."""
    monkeypatch.setattr(table_version, "_at_start", None)
    host = make_host()
    run = submitted(host)
    table_version.note()
    recorder = MigrationRecorder(connection)
    recorder.record_applied("studies", "9999_of_the_next_version")
    for _ in range(3):
        execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    messages = [message for message in caplog.messages if "another version" in message]
    assert len(messages) == 1
    recorder.record_unapplied("studies", "9999_of_the_next_version")
    execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason
