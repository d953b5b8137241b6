"""What a job says of its runs, as the worker keeps it: time limit, pause, priority."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from fsbench_web.studies.models import Job, Lease, Run, RunState
from runner.worker import Host
from tests.measured import measured
from tests.runner import fake
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def put_in_job(run: Run, **values: object) -> Run:
    """The run as part of a job."""
    run.job = Job.objects.create(token=f"job of {run.pk}", **values)
    run.save()
    return run


def test_a_run_that_takes_longer_than_its_job_allows_fails_and_says_so(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host(FakeExecutor(fake.wait_to_be_stopped))
    run = carry_out(put_in_job(submitted(host), time_limit_s=1), host)
    assert run.state == RunState.FAILED
    assert run.reason.startswith("The run took longer than its job allows, 1 s, and was stopped")
    assert run.took_s is not None
    assert 1 <= run.took_s < 6
    assert not [number for number in measured() if number.record_size_kb is not None]
    assert not Lease.objects.filter(run=run).exists()


def test_a_run_within_its_time_is_done(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    assert carry_out(put_in_job(submitted(host), time_limit_s=3600), host).state == RunState.DONE


def test_the_runs_of_a_paused_job_wait_and_others_do_not(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    paused, other = put_in_job(submitted(host), paused_at=timezone.now()), submitted(host, "xfs")
    assert carry_out(paused, host).state == RunState.QUEUED
    other.refresh_from_db()
    assert other.state == RunState.DONE


def test_a_higher_priority_is_run_first(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    low, usual, high = (
        put_in_job(submitted(host), priority=-1),
        submitted(host, "xfs"),
        put_in_job(submitted(host, "ext3"), priority=5),
    )
    carry_out(low, host)
    began = list(Run.objects.order_by("started_at").values_list("id", flat=True))
    assert began == [high.pk, usual.pk, low.pk]
