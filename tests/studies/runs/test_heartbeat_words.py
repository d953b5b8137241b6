"""Reasons of before say heartbeat too, and only once."""

import importlib

import pytest
from django.apps import apps
from django.db import connection

from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Run, RunState, StateChange
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db
migration = importlib.import_module("fsbench_web.studies.migrations.0046_heartbeats")


def test_reasons_of_before_say_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    series = make_score("ext4", 1.0).series
    old = "Its worker gave no sign of life for 60 s. Run 7 is run again."
    other = "iozone ended with exit code 1; its log says: no sign of life."
    for number in range(5):
        reason = other if number == 2 else old
        run = Run.objects.create(
            series=series, repeat=number, state=RunState.LOST, cause=Cause.SILENT, reason=reason
        )
        StateChange.objects.create(run=run, at=run.created_at, state=run.state, reason=reason)
    monkeypatch.setattr(migration, "BATCH", 2)
    migration.reword(apps, connection.schema_editor())
    migration.reword(apps, connection.schema_editor())
    new = "Its worker sent no heartbeat for 60 s. Run 7 is run again."
    for model in (Run, StateChange):
        reasons = list(
            model.objects.exclude(reason="").order_by("pk").values_list("reason", flat=True)
        )
        assert reasons == [new, new, other, new, new]


def test_no_cause_says_it_otherwise() -> None:
    assert not [cause.label for cause in Cause if "sign of life" in cause.label]
