"""A LUN that got slower under real guests: a watch finds it, measures it again and reports it.

Since the night before last the disk takes 4 writes a second of 4 KB, whatever a busy machine makes.
The nights before took 20, and have the rate of that.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from docker.models.containers import Container, ContainerCollection

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.compare.watches import deliveries
from fsbench_web.compare.watches.webhook import SIGNATURE_HEADER, signature
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from runner.executors import containers
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.worker import Host
from tests.compare.watches.nights import confirmed, found, watched
from tests.compare.watches.test_webhook import answer_with, here, receiver
from tests.runner.conftest import carry_out, make_host, sparse_lun, write_luns
from tests.runner.guests.test_guest import TINY, folder, guests, kernel
from tests.studies.conftest import complete

__all__ = ["carry_out", "folder", "guests", "here", "kernel", "make_host"]
pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]
USUAL_KB_S, SLOW_IOPS = 80.0, 4
QUIET_NIGHTS, ROUNDS = 6, 3


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    """A small LUN, which few writes make a file system on."""
    path = tmp_path / "luns.toml"
    write_luns(path, sparse_lun(tmp_path / "scratch.img", size="32 MiB"))
    return path


@pytest.fixture
def _slow_lun(monkeypatch: pytest.MonkeyPatch) -> None:
    """The LUN of each container takes SLOW_IOPS."""
    create = ContainerCollection.create

    def limited(self: ContainerCollection, image: str, **arguments: Any) -> Container:
        devices = [device["PathOnHost"] for device in arguments.get("devices") or []]
        rates = containers.rates_in(devices, {"write_iops": SLOW_IOPS})
        return create(self, image, **arguments, **rates)

    monkeypatch.setattr(ContainerCollection, "create", limited)


@pytest.mark.usefixtures("_slow_lun", "here")
def test_a_slower_lun_is_found_measured_again_and_reported(
    make_host: Callable[..., Host],
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    carry_out: Callable[[Run, Host], Run],
    ann: User,
) -> None:
    host = make_host(guests=guests)

    def heartbeat() -> Lun:
        return announce(host.announcement(has_started=True)).luns.get(name="scratch")

    job = JobSpec(
        lun_id=heartbeat().pk,
        configurations=(ConfigurationSpec("ext4", {}, "none"),),
        workload="iozone-small",
        parameters=TINY | {"direct_io": True},
        repeats=QUIET_NIGHTS,
        guest=GuestSpec((kernel.name,), 384, 1),
        new_study="Nightly",
    )

    def measure(runs: list[Run]) -> list[Run]:
        for run in runs:
            carry_out(run, host)
        assert {run.state for run in runs} == {RunState.DONE}, [run.reason for run in runs]
        heartbeat()
        return runs

    nights = submit(job, "scratch", ann)
    for place, run in enumerate(nights):
        complete(run, USUAL_KB_S * (1 + 0.01 * (place % 3 - 1)))
    with receiver(answer_with(204)) as (url, received):
        watch = watched(ann, nights[0].series, "write", "total_average", url, rounds=ROUNDS)
        again = job.model_copy(update={"repeats": 2, "study": "nightly", "new_study": ""})
        nights += measure(submit(again, "scratch", ann))
        message = found(nights)
        assert received == []
        rounds = measure(list(Run.objects.filter(job=message.job_id)))
        assert len(rounds) == ROUNDS
        numbers = confirmed(message, nights[:QUIET_NIGHTS], rounds=ROUNDS)
    assert numbers["ratio_high"] < 0.5
    ((_, headers, body),) = received
    assert headers[SIGNATURE_HEADER] == signature(deliveries.secret_of(watch), body)
    assert json.loads(body)["confirmation"] == numbers
    assert "Confirmed: " in json.loads(body)["sentence"]
