"""Jobs under way: paused, resumed, cancelled, tried again and preferred; also all at once."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from fsbench_web.catalog.models import Worker
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import (
    ACTIVE_STATES,
    Job,
    RepeatRule,
    Run,
    RunState,
)
from fsbench_web.studies.runs import control, lifecycle, nudges, queue
from fsbench_web.studies.runs.control import Cancelled, ControlRefused
from tests.studies.conftest import after_silence, complete, start
from tests.studies.runs.test_lifecycle import at_once

MakeSpec = Callable[..., JobSpec]


@pytest.fixture
def job(runs: list[Run]) -> Job:
    """The job of the four runs."""
    return Job.objects.get()


@pytest.fixture
def second(spec: MakeSpec, ann: User, runs: list[Run]) -> list[Run]:
    """Another job on the same LUN."""
    return submit(spec(new_study="Second"), "disk1", ann)


@pytest.fixture
def nudged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sent: list[int] = []
    monkeypatch.setattr(nudges, "nudge", lambda run, now=None: sent.append(run.pk))
    return sent


def states() -> list[str]:
    return list(Run.objects.order_by("id").values_list("state", flat=True))


class TestPause:
    def test_paused_runs_are_not_claimed_and_nobody_is_told_of_them(
        self, job: Job, runs: list[Run], worker: Worker, nudged: list[int]
    ) -> None:
        assert control.pause(job.pk)
        assert lifecycle.claim(runs[0].pk, worker) is None
        assert queue.next_run(runs[0].series.lun) is None  # type: ignore[arg-type]
        assert lifecycle.resend(worker) == []
        assert nudged == []
        assert states() == [RunState.QUEUED] * 4

    def test_the_run_that_is_on_its_way_goes_on(
        self, job: Job, runs: list[Run], worker: Worker
    ) -> None:
        handle = start(runs[0])
        control.pause(job.pk)
        assert not lifecycle.heartbeat(handle, phase="benchmark")
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert lifecycle.claim(runs[1].pk, worker) is None

    def test_other_jobs_go_past_it(
        self, job: Job, runs: list[Run], second: list[Run], worker: Worker
    ) -> None:
        control.pause(job.pk)
        following = queue.next_run(second[0].series.lun)  # type: ignore[arg-type]
        assert following == second[0]
        assert lifecycle.claim(second[0].pk, worker) is not None

    def test_resuming_tells_the_worker_of_the_next_run(
        self,
        job: Job,
        runs: list[Run],
        worker: Worker,
        nudged: list[int],
        django_capture_on_commit_callbacks: Callable,
    ) -> None:
        control.pause(job.pk)
        with django_capture_on_commit_callbacks(execute=True):
            assert control.resume(job.pk)
        assert nudged == [runs[0].pk]
        assert lifecycle.claim(runs[0].pk, worker) is not None

    def test_doing_it_twice_says_so(self, job: Job) -> None:
        assert not control.resume(job.pk)
        assert control.pause(job.pk)
        since = Job.objects.get().paused_at
        assert not control.pause(job.pk)
        assert Job.objects.get().paused_at == since
        assert control.resume(job.pk)
        assert Job.objects.get().paused_at is None

    def test_a_job_that_is_not_there_cannot_be_steered(self, db: None) -> None:
        for act in (control.pause, control.resume):
            with pytest.raises(Job.DoesNotExist):
                act(4711)


class TestCancel:
    def test_what_waits_is_cancelled_at_once_and_what_runs_is_asked_to_stop(
        self, job: Job, runs: list[Run]
    ) -> None:
        complete(runs[0])
        handle = start(runs[1])
        assert control.cancel(job.pk, by="ann") == Cancelled(at_once=2, asked_to_stop=1)
        assert states() == ["done", "running", "cancelled", "cancelled"]
        assert lifecycle.heartbeat(handle)
        assert Run.objects.get(pk=runs[2].pk).reason == "Cancelled by ann before it started."
        assert control.cancel(job.pk, by="ann") == Cancelled(at_once=0, asked_to_stop=1)

    def test_other_jobs_are_left_alone(self, job: Job, second: list[Run]) -> None:
        control.cancel(job.pk, by="ann")
        assert [Run.objects.get(pk=run.pk).state for run in second] == [RunState.QUEUED] * 4


class TestPriority:
    def test_a_higher_one_is_next(self, job: Job, runs: list[Run], second: list[Run], disk) -> None:
        other = second[0].job_id
        assert queue.next_run(disk) == runs[0]
        control.set_priority(other, 1)
        assert queue.next_run(disk) == second[0]
        control.set_priority(job.pk, 1)
        assert queue.next_run(disk) == runs[0]
        control.set_priority(job.pk, -10)
        assert [run.pk for run in queue.waiting()] == [run.pk for run in (*second, *runs)]
        assert queue.runs_ahead(runs[0]) == 4

    def test_the_worker_is_told_of_it(
        self, job: Job, second: list[Run], nudged, django_capture_on_commit_callbacks
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            control.set_priority(second[0].job_id, 5)
        assert nudged == [second[0].pk]

    @pytest.mark.parametrize("priority", [-11, 11, 10**9])
    def test_it_has_bounds(self, job: Job, priority: int) -> None:
        with pytest.raises(ControlRefused, match="from -10 to 10"):
            control.set_priority(job.pk, priority)
        with pytest.raises(IntegrityError), transaction.atomic():
            Job.objects.update(priority=11)


class TestRetry:
    @pytest.fixture
    def ended(self, runs: list[Run]) -> list[Run]:
        """Done, failed, lost (of a job that runs nothing again by itself) and cancelled."""
        Job.objects.update(run_again=0)
        complete(runs[0])
        lifecycle.finish(start(runs[1]), RunState.FAILED, "x")
        start(runs[2])
        lifecycle.reap_lost(after_silence())
        lifecycle.cancel(runs[3].pk, "ann")
        assert states() == ["done", "failed", "lost", "cancelled"]
        return runs

    def test_failed_and_lost_runs_are_submitted_once_more(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        retries = control.retry(job.pk, "disk1", ann)
        assert [run.retry_of_id for run in retries] == [ended[1].pk, ended[2].pk]
        assert [run.series_id for run in retries] == [ended[1].series_id, ended[2].series_id]
        assert [run.repeat for run in retries] == [3, 3]
        assert {run.job_id for run in retries} == {job.pk}
        assert {run.state for run in retries} == {"queued"}
        assert retries[0].changes.get().reason == (
            f"Submitted again by ann after run {ended[1].pk} ended failed."
        )

    def test_cancelled_ones_are_when_they_are_meant(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        (retry,) = control.retry(job.pk, "disk1", ann, states=["cancelled", "done", "nonsense"])
        assert retry.retry_of == ended[3]

    def test_pressed_twice_it_makes_them_once(self, job: Job, ended: list[Run], ann: User) -> None:
        assert len(control.retry(job.pk, "disk1", ann)) == 2
        assert control.retry(job.pk, "disk1", ann) == []
        assert Run.objects.count() == 6

    def test_a_retry_that_fails_can_be_tried_again(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        retries = control.retry(job.pk, "disk1", ann)
        lifecycle.finish(start(retries[0]), RunState.FAILED, "again")
        (again,) = control.retry(job.pk, "disk1", ann)
        assert again.retry_of == retries[0]
        assert again.repeat == 4

    def test_the_lun_has_to_be_named_because_it_is_erased_again(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        for confirmation in ("", "DISK1", "disk1 "):
            with pytest.raises(ControlRefused, match='type "disk1"'):
                control.retry(job.pk, confirmation, ann)
        assert Run.objects.count() == 4

    def test_it_is_refused_where_nothing_could_run(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        Worker.objects.update(seen_at=timezone.now() - timedelta(hours=2))
        with pytest.raises(ControlRefused, match="no heartbeat") as refused:
            control.retry(job.pk, "x", ann)
        assert len(refused.value.problems) == 2

    def test_a_reference_stays_one_and_a_rule_holds_on(
        self, job: Job, ended: list[Run], ann: User
    ) -> None:
        rule = RepeatRule.objects.create(half_width_percent=5, least=2, most=9)
        Run.objects.filter(pk=ended[1].pk).update(is_reference=True, repeat_rule=rule)
        retries = control.retry(job.pk, "disk1", ann)
        assert [(run.is_reference, run.repeat_rule) for run in retries] == [
            (True, rule),
            (False, None),
        ]

    def test_one_run_alone(self, ended: list[Run], ann: User) -> None:
        retry = control.retry_run(ended[1].pk, "disk1", ann)
        assert retry is not None
        assert retry.retry_of == ended[1]
        assert control.retry_run(ended[1].pk, "disk1", ann) is None
        assert control.retry_run(ended[0].pk, "disk1", ann) is None  # it is done
        assert control.retry_run(retry.pk, "disk1", ann) is None  # it waits
        with pytest.raises(Run.DoesNotExist):
            control.retry_run(4711, "disk1", ann)

    def test_both_luns_are_named_where_the_journal_is_elsewhere(
        self, spec: MakeSpec, ann: User, worker: Worker
    ) -> None:
        (run,) = submit(
            spec(
                repeats=1,
                configurations=(ConfigurationSpec("ext4", {}, "none", "log1"),),
            ),
            "disk1 log1",
            ann,
        )
        lifecycle.cancel(run.pk, "ann")
        with pytest.raises(ControlRefused, match='type "disk1 log1"'):
            control.retry_run(run.pk, "disk1", ann)
        retry = control.retry_run(run.pk, "disk1 log1", ann)
        assert retry is not None
        assert retry.series.journal_lun == worker.luns.get(name="log1")


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    def test_after_a_pause_nothing_is_claimed(
        self, job: Job, runs: list[Run], worker: Worker
    ) -> None:
        for run in runs:
            paused, handle = at_once(
                lambda: control.pause(job.pk),
                lambda run=run: lifecycle.claim(run.pk, worker),  # type: ignore[misc]
            )
            assert paused
            assert lifecycle.claim(run.pk, worker) is None
            if handle is not None:
                # It came before the pause: it is the running one, which finishes.
                lifecycle.finish(handle, RunState.FAILED, "x")  # type: ignore[arg-type]
            control.resume(job.pk)

    def test_cancelling_a_job_while_its_runs_are_claimed_leaves_none_behind(
        self, spec: MakeSpec, ann: User, worker: Worker
    ) -> None:
        for number in range(4):
            runs = submit(spec(new_study=f"Study {number}"), "disk1", ann)
            job = runs[0].job_id
            cancelled, *handles = at_once(
                lambda job=job: control.cancel(job, "ann"),  # type: ignore[misc]
                *[lambda run=run: lifecycle.claim(run.pk, worker) for run in runs],  # type: ignore[misc]
            )
            assert isinstance(cancelled, Cancelled)
            won = [handle for handle in handles if handle is not None]
            assert len(won) <= 1
            assert cancelled == Cancelled(at_once=4 - len(won), asked_to_stop=len(won))
            active = Run.objects.filter(job=job, state__in=ACTIVE_STATES)
            assert [run.cancel_requested_at is not None for run in active] == [True] * len(won)
            for handle in won:
                lifecycle.finish(handle, RunState.CANCELLED, "x")  # type: ignore[arg-type]

    def test_retry_pressed_by_two_at_once_makes_the_runs_once(
        self, job: Job, runs: list[Run], ann: User
    ) -> None:
        for run in runs:
            lifecycle.cancel(run.pk, "ann")
        results = at_once(
            *[lambda: control.retry(job.pk, "disk1", ann, states=["cancelled"])] * 3,
            lambda: [control.retry_run(runs[0].pk, "disk1", ann)],
        )
        retries = [run for result in results for run in result if run is not None]
        assert sorted(run.retry_of_id for run in retries) == [run.pk for run in runs]
        assert Run.objects.count() == 8
        assert len({(run.series_id, run.repeat) for run in Run.objects.all()}) == 8

    def test_the_same_job_submitted_by_several_in_other_orders(
        self, spec: MakeSpec, ann: User, runs: list[Run]
    ) -> None:
        def seeded_spec(seed: int) -> JobSpec:
            configurations = tuple(
                ConfigurationSpec("ext4", {"journal_size_mb": str(size)}, "none")
                for size in range(16, 28)
            )
            return spec(
                configurations=configurations,
                new_study="",
                study="first-look",
                order="random",
                seed=seed,
            )

        at_once(*[lambda seed=seed: submit(seeded_spec(seed), "disk1", ann) for seed in range(4)])  # type: ignore[misc]
        assert Run.objects.count() == 4 + 4 * 24
        assert len({(run.series_id, run.repeat) for run in Run.objects.all()}) == 4 + 4 * 24
