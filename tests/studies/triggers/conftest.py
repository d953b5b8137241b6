"""A clock that tests set, and a trigger that orders one run on a disk of the lab."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts.models import LunGrant, Person, Role
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.platform import clock
from fsbench_web.studies.models import Run, RunState, Trigger
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.triggers import records
from fsbench_web.studies.triggers.form import TriggerForm
from tests.studies.conftest import start, worker_announcement

DOCUMENT = """
study: Nightly
lun: disk1
configurations: [{filesystem: ext4, schedulers: none}]
workloads: [iozone-small]
repeats: 1
"""
FOUND = {"kind": "device", "size_bytes": 500, "serial": "S3Z"}


class Lab:
    """``at`` sets the clock of everybody and lets the worker announce itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = datetime(2026, 3, 27, 12, tzinfo=UTC)
        self.fingerprint: dict[str, Any] = FOUND
        self.capabilities: dict[str, Any] = {}
        monkeypatch.setattr(clock, "now", lambda: self.now)

    def at(self, text: str) -> datetime:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC)
        self.announce()
        return self.now

    def announce(self) -> None:
        said = worker_announcement()
        luns = [replace(lun, fingerprint=self.fingerprint) for lun in said.luns]
        capabilities = said.capabilities | self.capabilities
        announce(replace(said, luns=luns, capabilities=capabilities))


@pytest.fixture
def lab(db: None, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(monkeypatch)
    lab.announce()
    return lab


@pytest.fixture
def eve(lab: Lab) -> User:
    """An operator who may erase disk1 and nothing else."""
    user = User.objects.create_user("eve")
    Person.objects.create(user=user, role=Role.OPERATOR)
    LunGrant.objects.create(user=user, lun=Lun.objects.get(name="disk1"))
    return user


Make = Callable[..., Trigger]


@pytest.fixture
def make(eve: User) -> Make:
    """A trigger as its form saves it."""

    def make(**changes: Any) -> Trigger:
        values = {"title": "Every night", "document": DOCUMENT, "confirmation": "disk1"}
        form = TriggerForm(values | changes, user=eve)
        assert form.is_valid(), form.errors
        assert form.plan is not None
        return records.save(eve, form.cleaned_data, form.plan)

    return make


def end_all() -> None:
    """Every run that waits is run, and fails."""
    for run in Run.objects.filter(state=RunState.QUEUED):
        lifecycle.finish(start(run), RunState.FAILED, "It is a test.")
