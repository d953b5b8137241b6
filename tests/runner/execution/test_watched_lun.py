"""A LUN that gets slower, really measured each night: a watch finds it, repeats it and reports it.

The kernel limits the reads of each run, so that a busy machine decides nothing. The worker dies
and starts again in the middle of the confirmation.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.compare.watches import watching
from fsbench_web.studies.jobs import aa_audit
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from runner.executors.local import LocalExecutor
from runner.host import control_groups
from runner.worker import Host
from tests.compare.watches.nights import confirmed, found, watched
from tests.compare.watches.test_webhook import answer_with, here, receiver
from tests.studies.conftest import start

__all__ = ["here"]
pytestmark = [pytest.mark.django_db, pytest.mark.root]
QUIET_NIGHTS, SLOW_NIGHTS, ROUNDS = 6, 2, 3
USUAL_MIB_S, SLOW_MIB_S = 8, 6
MIB = 2**20


class Disk:
    """How fast the kernel lets each run read."""

    mib_s = USUAL_MIB_S


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    known, of_run = Disk(), control_groups.of_run

    @contextmanager
    def limited(
        worker: str, run: int, devices: Sequence[str], rates: Mapping[str, int], memory: int | None
    ) -> Iterator[list[str]]:
        slowest = min(rates.get("read_bps", MIB * known.mib_s), MIB * known.mib_s)
        with of_run(worker, run, devices, {"read_bps": slowest}, memory) as groups:
            yield groups

    monkeypatch.setattr(control_groups, "of_run", limited)
    return known


@pytest.mark.usefixtures("here")
def test_a_slower_lun_is_found_repeated_and_reported(
    make_host: Callable[..., Host],
    carry_out: Callable[[Run, Host], Run],
    disk: Disk,
    admin_user: User,
) -> None:
    host = make_host(LocalExecutor())

    def heartbeat() -> Lun:
        return announce(host.announcement(has_started=True)).luns.get(name="scratch")

    job = JobSpec(
        lun_id=heartbeat().pk,
        configurations=(ConfigurationSpec("ext2", {}, "none"),),
        workload=aa_audit.WORKLOAD,
        parameters=aa_audit.PARAMETERS | {"file_mb": 16, "ramp_s": 0, "runtime_s": 1},
        repeats=QUIET_NIGHTS,
        new_study="Nightly",
    )
    again = job.model_copy(update={"repeats": SLOW_NIGHTS, "study": "nightly", "new_study": ""})

    def measure(runs: list[Run]) -> list[Run]:
        for run in runs:
            carry_out(run, host)
        assert {run.state for run in runs} == {RunState.DONE}, [run.reason for run in runs]
        heartbeat()
        return runs

    nights = measure(submit(job, "scratch", admin_user))
    with receiver(answer_with(204)) as (url, received):
        series = nights[0].series
        test = series.scores.filter(unit=aa_audit.UNIT).earliest("pk").test
        watched(admin_user, series, test, "mean", url, rounds=ROUNDS)
        disk.mib_s = SLOW_MIB_S
        nights += measure(submit(again, "scratch", admin_user))
        message = found(nights)
        assert received == []
        first, *others = Run.objects.filter(job=message.job_id).order_by("pk")
        start(first)
        host = make_host(LocalExecutor())
        assert lifecycle.recover(heartbeat().worker) == [first.pk]
        assert watching.run_maintenance() == []
        measure([*others, Run.objects.get(retry_of=first)])
        numbers = confirmed(message, nights[:QUIET_NIGHTS], rounds=ROUNDS)
    # The kernel lets the first moment of each run pass, so that it is a little less than a quarter.
    assert numbers["ratio"] == pytest.approx(SLOW_MIB_S / USUAL_MIB_S, abs=0.1)
    assert numbers["ratio_high"] < 0.95
    ((_, _, body),) = received
    assert json.loads(body)["confirmation"] == numbers
