from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.catalog.announce import LunAnnouncement, WorkerAnnouncement, announce
from fsbench_web.catalog.configurations import configuration_for
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Run, RunState, Study
from fsbench_web.studies.series import series_for

MIB = 1024 * 1024
Order = dict[str, Any]
MakeRun = Callable[..., Run]


@pytest.fixture
def published(db: None) -> None:
    call_command("load_published")


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice", password="correct horse battery")


@pytest.fixture
def token(alice: User) -> str:
    return tokens.create(alice, "tests")[1]


@pytest.fixture
def writer(token: str) -> Client:
    """A client that sends a token with every call."""
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def lun(db: None) -> Lun:
    """A LUN that takes ext4 and XFS, of a worker that was seen just now."""
    return announced("bench-1")


def announced(worker: str, lun: str = "lun0", *more: LunAnnouncement) -> Lun:
    row = announce(
        WorkerAnnouncement(
            name=worker,
            executor="fake",
            capabilities={
                "filesystems": {name: {"usable": True, "reason": ""} for name in ("ext4", "xfs")},
                "tools": {"iozone": {"usable": True, "version": "3.489"}},
                "kernel": "6.1.0",
                "distribution": "Debian GNU/Linux 12",
                "is_usable": True,
            },
            luns=[
                LunAnnouncement(
                    name=lun,
                    role="data",
                    kind="sparse-file",
                    device="/dev/loop7",
                    size_bytes=1024 * MIB,
                    schedulers=["none", "mq-deadline"],
                ),
                *more,
            ],
        )
    )
    return row.luns.get(name=lun)


@pytest.fixture
def order() -> Order:
    """The body of POST /runs for two configurations, twice each."""
    return {
        "study": "Array test",
        "lun": "lun0",
        "configurations": [
            {"filesystem": "ext4", "options": {"atime": "noatime"}, "scheduler": "none"},
            {"filesystem": "xfs", "options": {"agcount": 4}, "scheduler": "none"},
        ],
        "workload": "iozone-small",
        "repeats": 2,
        "confirm": "lun0",
    }


@pytest.fixture
def make_run(lun: Lun) -> MakeRun:
    """``make_run(state=...)`` writes a run of ext4 in the study "array-test"."""

    def make(state: RunState = RunState.QUEUED, study: str = "array-test", **more: Any) -> Run:
        owner, _ = Study.objects.get_or_create(slug=study, defaults={"title": study.title()})
        series = series_for(owner, configuration_for("ext4", {"atime": "noatime"}, "none"), lun=lun)
        return Run.objects.create(
            series=series,
            repeat=Run.objects.filter(series=series).count() + 1,
            origin=Run.Origin.MEASURED,
            state=state,
            **more,
        )

    return make
