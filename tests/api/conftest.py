import io
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Role, Team
from fsbench_web.api.health import _Broker
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import HardwareProfile, Lun, OwnWorkload
from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce
from fsbench_web.compare.exports.formats import FORMATS
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.imports.sealed import keys
from fsbench_web.imports.sources import Target, unpack
from fsbench_web.imports.uploads import store_upload
from fsbench_web.studies.models import Run, RunState, Study, Trigger
from fsbench_web.studies.scores.tables import MEDIA_TYPES
from fsbench_web.studies.series import series_for
from tests.accounts.people import person
from tests.api.results.test_contract import CALLS
from tests.importing import import_files

MIB = 1024 * 1024
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
JobBody = dict[str, Any]
MakeRun = Callable[..., Run]


@pytest.fixture
def published(papers: None, db: None) -> None:
    """The studies that ship with fsbench."""


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
def job() -> JobBody:
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


@pytest.fixture
def is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker answers, as its health checks have it."""
    monkeypatch.setattr("fsbench_web.api.health._broker", lambda expected: _Broker("ok", ["x"]))
    monkeypatch.setattr("fsbench_web.api.health.broker_state", lambda: "ok")


@pytest.fixture
def arguments(db: None, is_well: None) -> dict[str, Any]:
    return one_of_everything()


def one_of_everything() -> dict[str, Any]:
    """Of each kind, by the names of addresses, and a token that may do all."""
    admin = person(Role.ADMINISTRATOR, "ada")
    keys.ensure()  # as the first start does
    announced("bench-1")
    HardwareProfile.objects.create(slug="array", name="Array", facts=[["CPU", "8"]])
    fields = {"study": "lab", "filesystem": "ext4", "configuration": "ext4"}
    runs = [
        import_files([(f"{n}.csv", TABLE % n)], **fields, hardware="Array", user=admin).runs[0]
        for n in (100, 110)
    ]
    Team.objects.create(name="Storage").members.add(User.objects.create_user("eve"))
    run = Run.objects.get(pk=runs[0])
    upload = store_upload(unpack([("b.csv", io.BytesIO(TABLE % 2))]), Target(**fields), admin)
    return {
        "slug": "lab",
        "run_id": run.pk,
        "series_id": run.series_id,
        "artefact_id": run.artefacts.get().pk,
        "import_id": upload.pk,
        "file_id": upload.files.get().pk,
        "name": "bench-1",
        "lun_id": Lun.objects.earliest("pk").pk,
        "key": records.pin(ComparisonSpec(studies=("lab",)), admin).key,
        "suffix": "md",
        "user_id": User.objects.get(username="eve").pk,
        "team_id": Team.objects.get().pk,
        "workload_id": OwnWorkload.objects.create(
            slug="own", version=1, title="Own", kind="fio", text="[a]\nrw=read\n", space_mb=1
        ).pk,
        "trigger_id": Trigger.objects.create(user=admin, title="A", document={}, zone="UTC").pk,
        "token": tokens.create(admin, "all", can_administer=True)[1],
    }


def suffixes_of(path: str) -> Iterable[str]:
    if "{table}" in path:
        return MEDIA_TYPES
    return FORMATS if "{suffix}" in path else [""]


def reads(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """(path of the description, an address) of every read but health checks, of what is there.

    There is no job, no watch and no trace.
    """
    queries = {
        "/api/v1/history": f"?series={arguments['series_id']}",
        "/api/v1/history/lines": "?study=lab",
        "/api/v1/exports/pictures.csv": "?study=lab",
    }
    return [
        (
            path,
            path.format(
                **{"job_id": 1, "watch_id": 1, "tracer": "requests", "table": "scores"}
                | arguments
                | {"suffix": suffix}
            )
            + queries.get(path, ""),
        )
        for method, path in sorted(CALLS)
        if method == "get" and "/health" not in path
        for suffix in suffixes_of(path)
    ]
