"""What is run again by itself: runs whose worker, host or daemon died, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from fsbench_web.accounts.models import AuditEntry, LunGrant
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.causes import INTERRUPTED, Cause
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, RepeatRule, Run, RunState
from fsbench_web.studies.runs import control, lifecycle, queue
from tests.studies.conftest import after_silence, complete, start
from tests.studies.runs.test_lifecycle import at_once

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]


def lose(run: Run) -> Run:
    """Its worker dies, and its lease runs out."""
    start(run)
    assert lifecycle.reap_lost(after_silence()) == [run.pk]
    run.refresh_from_db()
    return run


def again(run: Run) -> Run:
    return Run.objects.get(retry_of=run)


def test_a_lost_run_is_run_again_as_the_same_repeat_and_in_its_turn(runs: list[Run]) -> None:
    complete(runs[0])
    lost = lose(runs[1])
    replacement = again(lost)
    assert (lost.state, lost.cause) == (RunState.LOST, Cause.SILENT)
    assert lost.reason.endswith(f"It is retried as run {replacement.pk}.")
    assert f"after run {lost.pk}" in replacement.changes.get().reason
    same = ("series_id", "repeat", "job_id", "created_by_id", "confirmed", "is_reference")
    assert [getattr(replacement, name) for name in same] == [getattr(lost, name) for name in same]
    assert list(queue.waiting()) == [replacement, runs[2], runs[3]], "before the next block"
    entry = AuditEntry.objects.get(what="run retried")
    assert (entry.who, entry.detail["as_run"]) == ("fsbench", replacement.pk)


def test_what_an_earlier_worker_had_is_run_again_when_it_is_back(
    runs: list[Run], worker: Worker
) -> None:
    start(runs[0])
    assert lifecycle.recover(worker) == [runs[0].pk]
    assert Run.objects.get(pk=runs[0].pk).cause == Cause.WORKER_GONE
    assert queue.next_run(runs[0].series.lun) == again(runs[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("cause", Cause)
def test_only_what_was_interrupted_is_run_again(runs: list[Run], cause: Cause) -> None:
    lifecycle.finish(start(runs[0]), RunState.FAILED, "why", cause)
    assert Run.objects.get(pk=runs[0].pk).cause == cause
    assert Run.objects.filter(retry_of=runs[0]).exists() == (cause in INTERRUPTED)


def test_it_is_run_again_once_unless_the_job_says_otherwise(
    spec: MakeSpec, ann: User, disk: Any
) -> None:
    for times in (0, 1, 3):
        first = submit(spec(new_study=f"Study {times}", run_again=times), "disk1", ann)[0]
        last, count = lose(first), 0
        while (following := Run.objects.filter(retry_of=last).first()) is not None:
            count += 1
            assert following.rerun == count
            assert queue.next_run(disk) == following
            last = lose(following)
        assert count == times
        assert "does not retry it" in last.reason
        control.cancel(first.job_id or 0, "ann")


def test_who_submits_the_last_one_again_begins_anew(runs: list[Run], ann: User) -> None:
    lost = lose(again(lose(runs[0])))
    retry = control.retry_run(lost.pk, "disk1", ann)
    assert retry is not None
    assert (retry.rerun, retry.place, retry.repeat) == (0, None, 3)
    assert again(lose(again_last(retry))).retry_of == retry


def again_last(run: Run) -> Run:
    """Bring a run to the front of its LUN's queue."""
    Job.objects.filter(pk=run.job_id).update(priority=10)
    for other in Run.objects.filter(state=RunState.QUEUED).exclude(pk=run.pk):
        lifecycle.cancel(other.pk, "ann")
    return run


def test_a_run_that_was_asked_to_stop_is_not_run_again(runs: list[Run]) -> None:
    start(runs[0])
    control.cancel(runs[0].job_id or 0, "ann")
    lifecycle.reap_lost(after_silence())
    assert Run.objects.get(pk=runs[0].pk).state == RunState.LOST
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


def test_in_a_paused_job_it_waits(runs: list[Run], worker: Worker) -> None:
    start(runs[0])
    control.pause(runs[0].job_id or 0)
    lifecycle.recover(worker)
    replacement = again(runs[0])
    assert lifecycle.claim(replacement.pk, worker) is None
    control.resume(runs[0].job_id or 0)
    assert lifecycle.claim(replacement.pk, worker) is not None


def test_on_a_drained_worker_it_waits(runs: list[Run], worker: Worker) -> None:
    start(runs[0])
    maintenance.set_drained(worker, True, by="ann")
    lifecycle.recover(worker)
    replacement = again(runs[0])
    assert lifecycle.claim(replacement.pk, worker) is None
    maintenance.set_drained(worker, False, by="ann")
    assert lifecycle.claim(replacement.pk, worker) is not None


def test_it_is_not_for_an_account_that_was_closed(runs: list[Run], worker: Worker) -> None:
    start(runs[0])
    User.objects.filter(username="ann").update(is_active=False)
    lifecycle.recover(worker)
    lost = Run.objects.get(pk=runs[0].pk)
    assert lost.state == RunState.LOST
    assert "It is not retried: The account of ann" in lost.reason
    assert not Run.objects.filter(retry_of=lost).exists()


def test_a_run_without_a_job_is_nobodys_to_run_again(runs: list[Run], worker: Worker) -> None:
    Run.objects.update(job=None)
    start(runs[0])
    lifecycle.recover(worker)
    assert not Run.objects.exclude(retry_of=None).exists()


def test_an_end_that_is_not_committed_has_no_other_run(runs: list[Run]) -> None:
    handle = start(runs[0])

    class Broken(Exception):
        pass

    @transaction.atomic
    def break_off() -> None:
        lifecycle.finish(handle, RunState.FAILED, "x", Cause.DAEMON)
        assert Run.objects.filter(retry_of=runs[0]).exists()
        raise Broken

    with pytest.raises(Broken):
        break_off()
    assert not Run.objects.filter(retry_of=runs[0]).exists()
    lifecycle.finish(handle, RunState.FAILED, "x", Cause.DAEMON)
    assert again(runs[0]).state == RunState.QUEUED


def test_a_rule_counts_the_repeat_once(spec: MakeSpec, ann: User) -> None:
    """Of two repeats at the most one is lost: there are two results in the end, not one."""
    first, *_ = submit(
        spec(
            configurations=spec().configurations[:1],
            workload="iozone-small",
            until=RepeatTarget(0.1, 2, 2),
        ),
        "disk1",
        ann,
    )
    replacement = again(lose(first))
    rule = RepeatRule.objects.get()
    assert rule.stopped_at is None
    while (run := queue.waiting().first()) is not None:
        complete(run, 1000.0 * run.pk)
    rule.refresh_from_db()
    assert rule.stop_reason.startswith("stopped at the most, 2: half-width")
    assert rule.runs.filter(state=RunState.DONE).count() == 2
    assert Run.objects.get(pk=replacement.pk).state == RunState.DONE


def test_its_pages_and_the_api_say_both(runs: list[Run], client: Client) -> None:
    lost = lose(runs[0])
    replacement = again(lost)
    page = client.get(f"/runs/{lost.pk}/").content.decode()
    assert f'fsbench retries it as <a href="/runs/{replacement.pk}/">' in page
    page = client.get(f"/runs/{replacement.pk}/").content.decode()
    assert f'retries the interrupted <a href="/runs/{lost.pk}/">run {lost.pk}</a>' in page
    page = client.get(f"/jobs/{lost.job_id}/").content.decode()
    assert "1 failed or lost (1 interrupted and retried)" in page
    assert f'retried as run <a href="/runs/{replacement.pk}/">' in page
    assert f'<a href="/runs/{lost.pk}/">{lost.pk}</a> retried' in page
    assert "auto-retried up to 1 time in a row" in page
    answer = client.get(f"/api/v1/runs/{lost.pk}").json()
    assert (answer["cause"], answer["retried_as"], answer["rerun"]) == ("silent", replacement.pk, 0)
    answer = client.get(f"/api/v1/runs/{replacement.pk}").json()
    assert (answer["cause"], answer["retry_of"], answer["rerun"]) == ("", lost.pk, 1)
    answer = client.get(f"/api/v1/sweeps/{lost.job_id}").json()
    assert answer["run_again"] == 1
    planned = [(run["id"], run["rerun"]) for run in answer["planned"]]
    assert planned[:2] == [(lost.pk, 0), (replacement.pk, 1)], "in their turn"


def test_how_often_is_refused_out_of_bounds_by_document_and_form(
    runs: list[Run], client: Client, ann: User, disk: Any
) -> None:
    LunGrant.objects.create(user=ann, lun=disk)
    document = runs[0].job.document | {"run_again": 6}  # type: ignore[union-attr]
    client.force_login(ann)
    response = client.post(
        "/api/v1/sweeps/preview", {"document": document}, content_type="application/json"
    )
    assert response.status_code == 422
    assert "run_again" in [error["field"] for error in response.json()["errors"]]
    query = f"lun={disk.pk}&fs=ext4.1&scheduler=none&workload=iozone-small&run_again=lots"
    page = client.get(f"/runs/new/review/?{query}")
    assert page.status_code == 422
    assert "say 0 to 5, or leave it at 1" in page.content.decode()


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    ROUNDS = 5

    def test_two_who_end_it_make_one(self, spec: MakeSpec, ann: User, worker: Worker) -> None:
        for number in range(self.ROUNDS):
            first = submit(spec(new_study=f"Round {number}"), "disk1", ann)[0]
            start(first)
            first_watch, second_watch = after_silence(), after_silence()
            at_once(
                lambda watch=first_watch: lifecycle.reap_lost(watch),  # type: ignore[misc]
                lambda: lifecycle.recover(worker),
                lambda watch=second_watch: lifecycle.reap_lost(watch),  # type: ignore[misc]
            )
            assert Run.objects.filter(retry_of=first).count() == 1
            control.cancel(first.job_id or 0, "ann")

    def test_a_cancelled_job_stays_cancelled(
        self, spec: MakeSpec, ann: User, worker: Worker
    ) -> None:
        for number in range(self.ROUNDS):
            first = submit(spec(new_study=f"Round {number}"), "disk1", ann)[0]
            start(first)
            at_once(
                lambda: lifecycle.recover(worker),
                lambda run=first: control.cancel(run.job_id or 0, "ann"),  # type: ignore[misc]
            )
            assert not Run.objects.filter(state=RunState.QUEUED).exists()
