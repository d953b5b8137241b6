"""Jobs that start at a time and stop before one: who begins, what is left out, and who says so."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RaceSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, Race, RepeatRule, Run, RunState
from fsbench_web.studies.runs import control, lifecycle, queue
from fsbench_web.studies.runs.control import ControlRefused
from fsbench_web.studies.runs.windows import closing, words
from fsbench_web.studies.runs.windows.forecast import Item, left_out
from tests.studies.conftest import complete, start, worker_announcement
from tests.studies.runs.test_lifecycle import at_once

MakeSpec = Callable[..., JobSpec]
MINUTE = timedelta(minutes=1)


class Night:
    """The clock of all hosts, which stands until somebody moves it."""

    def __init__(self) -> None:
        self.now = timezone.now().replace(second=0, microsecond=0) + MINUTE

    def later(self, minutes: float) -> None:
        self.now += minutes * MINUTE


@pytest.fixture
def night(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Night:
    night = Night()
    monkeypatch.setattr(clock, "now", lambda: night.now)
    announce(worker_announcement())
    return night


@pytest.fixture
def timed_runs(runs: list[Run], night: Night) -> list[Run]:
    """Four runs of ext4 and xfs that took 10 minutes each."""
    took = {"started_at": night.now - 10 * MINUTE, "ended_at": night.now}
    Run.objects.update(state=RunState.DONE, **took)  # what they measured is not asked for
    return runs


def done(run: Run, night: Night, minutes: float = 10) -> None:
    """Run it to its end, which takes so long."""
    begun_at = night.now
    complete(run)
    night.later(minutes)
    Run.objects.filter(pk=run.pk).update(started_at=begun_at, ended_at=night.now)


def states(job: Job | None = None) -> list[str]:
    runs = Run.objects.filter(job=job or Job.objects.latest("pk"))
    return list(runs.order_by("id").values_list("state", flat=True))


def reasons_of(job: Job) -> list[str]:
    runs = job.runs.filter(cause=Cause.OUT_OF_TIME).order_by("id")
    return list(runs.values_list("reason", flat=True))


class TestFitting:
    def test_a_block_is_begun_only_as_a_whole(self) -> None:
        items = [Item("1", 10), Item("1", 10), Item("2", 10), Item("2", 10)]
        assert left_out(items, 41) == set()
        assert left_out(items, 35) == {2, 3}
        assert left_out(items, 40) == {2, 3}  # it has to end before, and not at that moment
        assert left_out(items, 15) == {0, 1, 2, 3}
        assert left_out(items, 0) == {0, 1, 2, 3}

    def test_one_that_was_begun_goes_on_run_by_run(self) -> None:
        items = [Item("1", 10), Item("1", 30), Item("1", 5)]
        assert left_out(items, 20, {"1"}) == {1}
        assert left_out(items, 20) == {0, 1, 2}

    def test_references_count_for_the_block_they_stand_in(self) -> None:
        items = [Item("", 5), Item("1", 10), Item("", 5), Item("1", 10), Item("", 5)]
        assert left_out(items, 36) == set()
        assert left_out(items, 32) == {4}
        assert left_out(items, 29) == {1, 3}  # and the references that fit show the machine

    def test_what_is_not_known_begins_while_there_is_time(self) -> None:
        assert left_out([Item("1", None), Item("1", None)], 1) == set()
        assert left_out([Item("1", None)], 0) == {0}


def test_words_name_blocks_and_configurations() -> None:
    rows = [(number, label) for number in (3, 4, 5) for label in ("xfs", "ext4")]
    assert words.left_out(rows) == "rounds 3 to 5 of ext4, xfs"
    assert words.left_out([(2, "xfs"), (None, words.OF_REFERENCE)]) == (
        "round 2 of xfs; 1 run of the reference"
    )
    many = [(n, f"c{n}-{m}") for n in range(1, 9) for m in range(9)]
    assert words.left_out(many).count("and 3 more") == 6
    assert words.left_out(many).endswith("and 2 more")


@pytest.mark.django_db
class TestStart:
    def test_nobody_claims_it_before(
        self, spec: MakeSpec, ann: User, worker: Worker, disk: Lun, night: Night
    ) -> None:
        runs = submit(spec(start_at=night.now + 30 * MINUTE), "disk1", ann)
        night.later(29)
        assert lifecycle.claim(runs[0].pk, worker) is None
        assert queue.next_run(disk) is None
        assert lifecycle.resend(worker) == []
        assert states() == [RunState.QUEUED] * 4
        night.later(1)
        assert queue.next_run(disk) == runs[0]
        assert lifecycle.claim(runs[0].pk, worker) is not None

    def test_others_go_before_it(self, spec: MakeSpec, ann: User, disk: Lun, night: Night) -> None:
        submit(spec(start_at=night.now + 30 * MINUTE, priority=5), "disk1", ann)
        second = submit(spec(new_study="Second"), "disk1", ann)
        assert queue.next_run(disk) == second[0]
        assert queue.runs_ahead(second[0]) == 0

    def test_a_paused_one_does_not_start_by_itself(
        self, spec: MakeSpec, ann: User, worker: Worker, night: Night
    ) -> None:
        runs = submit(spec(start_at=night.now + MINUTE), "disk1", ann)
        control.pause(runs[0].job_id or 0)
        night.later(2)
        assert lifecycle.claim(runs[0].pk, worker) is None
        control.resume(runs[0].job_id or 0)
        assert lifecycle.claim(runs[0].pk, worker) is not None

    def test_it_can_be_cancelled_before(self, spec: MakeSpec, ann: User, night: Night) -> None:
        runs = submit(spec(start_at=night.now + MINUTE), "disk1", ann)
        control.cancel(runs[0].job_id or 0, by="ann")
        assert states() == [RunState.CANCELLED] * 4
        assert {run.cause for run in Run.objects.all()} == {Cause.CANCELLED}


@pytest.mark.django_db
class TestStop:
    def submitted(self, spec: MakeSpec, ann: User, **changes: Any) -> Job:
        runs = submit(spec(**{"new_study": "Second", "repeats": 3} | changes), "disk1", ann)
        assert runs[0].job is not None
        return runs[0].job

    def test_blocks_begin_only_where_all_of_them_fits(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 55 * MINUTE)
        for run in job.runs.order_by("id")[:4]:
            done(run, night)
        following = job.runs.order_by("id")[4]
        assert lifecycle.claim(following.pk, worker) is None
        assert states(job) == ["done"] * 4 + ["cancelled"] * 2
        reason = (
            f"Left out: its job stops before {words.time(night.now + 15 * MINUTE)}, and this round "
            "of 2 runs would take about 20 min of the 15 min that were left."
        )
        assert reasons_of(job) == [reason] * 2

    def test_a_block_that_was_begun_goes_on_as_far_as_it_fits(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE)
        first, second, *_ = job.runs.order_by("id")
        done(first, night, 14)
        handle = lifecycle.claim(second.pk, worker)
        assert handle is not None
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert reasons_of(job) == []
        third = job.runs.order_by("id")[2]
        assert lifecycle.claim(third.pk, worker) is None
        assert len(reasons_of(job)) == 2

    def test_one_that_took_longer_leaves_the_rest_of_its_block(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE)
        first, second, *_ = job.runs.order_by("id")
        done(first, night, 18)
        assert lifecycle.claim(second.pk, worker) is None
        assert "this run would take about" in reasons_of(job)[0]
        assert states(job)[:2] == ["done", "cancelled"]

    def test_what_runs_at_that_time_is_let_end(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE)
        handle = start(job.runs.order_by("id")[0])
        night.later(30)
        assert closing.end_expired_runs() == [job.pk]
        assert states(job) == ["running"] + ["cancelled"] * 5
        assert lifecycle.heartbeat(handle) is False
        assert set(reasons_of(job)) == {
            f"Left out: its job stops before {words.time(night.now - 5 * MINUTE)}, and that time "
            "is over."
        }
        assert closing.end_expired_runs() == []

    def test_a_paused_job_is_over_too(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE)
        control.pause(job.pk)
        night.later(26)
        closing.end_expired_runs()
        assert states(job) == ["cancelled"] * 6

    def test_a_job_without_an_end_is_never_over(self, runs: list[Run], night: Night) -> None:
        night.later(60 * 24 * 300)
        assert closing.end_expired_runs() == []

    def test_without_any_experience_runs_begin_while_there_is_time(
        self, spec: MakeSpec, ann: User, worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 5 * MINUTE)
        first, second, third, *_ = job.runs.order_by("id")
        done(first, night, 4)
        assert lifecycle.claim(second.pk, worker) is None  # it is known now what one takes
        assert "about 4 min of the 1 min" in reasons_of(job)[0]
        assert lifecycle.claim(third.pk, worker) is None

    def test_a_lost_run_is_run_again_where_there_is_time(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 45 * MINUTE, repeats=1)
        first, second = job.runs.order_by("id")
        done(first, night)
        lifecycle.finish(start(second), RunState.FAILED, "killed", Cause.KILLED)
        again = job.runs.get(rerun=1)
        night.later(24)
        assert lifecycle.claim(again.pk, worker) is not None

    def test_a_lost_run_is_left_out_where_there_is_none(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE, repeats=1)
        first, second = job.runs.order_by("id")
        done(first, night)
        handle = start(second)
        night.later(8)
        lifecycle.finish(handle, RunState.FAILED, "killed", Cause.KILLED)
        again = job.runs.get(rerun=1)
        assert lifecycle.claim(again.pk, worker) is None
        assert reasons_of(job) == [Run.objects.get(pk=again.pk).reason]

    def test_nothing_is_run_again_once_it_is_over(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], night: Night
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 25 * MINUTE, repeats=1)
        handle = start(job.runs.order_by("id")[0])
        night.later(26)
        lifecycle.finish(handle, RunState.FAILED, "killed", Cause.KILLED)
        ended = job.runs.order_by("id")[0]
        assert ended.reason == ("killed It is not retried: the time of its job is over.")

    def test_it_is_tried_again_within_its_time_and_not_behind_it(
        self,
        client: Client,
        spec: MakeSpec,
        ann: User,
        timed_runs: list[Run],
        worker: Worker,
        night: Night,
    ) -> None:
        job = self.submitted(spec, ann, stop_before=night.now + 45 * MINUTE, repeats=1)
        first, second = job.runs.order_by("id")
        lifecycle.finish(start(first), RunState.FAILED, "x")
        (again,) = control.retry(job.pk, "disk1", ann)
        done(second, night)
        lifecycle.finish(start(again), RunState.FAILED, "x")
        client.force_login(ann)
        assert "Erase and rerun" in client.get(f"/jobs/{job.pk}/").content.decode()
        night.later(50)
        announce(worker_announcement())
        page = client.get(f"/jobs/{job.pk}/").content.decode()
        assert "Erase and rerun" not in page
        assert "The end time of this job has passed, so you cannot rerun its runs." in page
        assert 'name="confirmation"' not in client.get(f"/runs/{again.pk}/").content.decode()
        with pytest.raises(ControlRefused, match="that time is over: submit what is left as a new"):
            control.retry(job.pk, "disk1", ann)

    def test_repeats_until_sure_end_with_it(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        configurations = (ConfigurationSpec("xfs", {}, "none"),)
        until = RepeatTarget(0.5, 2, 9)
        job = self.submitted(
            spec,
            ann,
            configurations=configurations,
            until=until,
            stop_before=night.now + 25 * MINUTE,
        )
        for value, run in zip((1000.0, 1500.0), job.runs.order_by("id"), strict=True):
            complete(run, value)
            night.later(10)
        third = job.runs.latest("pk")
        assert third.state == RunState.QUEUED
        Run.objects.filter(job=job, state="done").update(
            started_at=night.now - 10 * MINUTE, ended_at=night.now
        )
        assert lifecycle.claim(third.pk, worker) is None
        assert RepeatRule.objects.get().stop_reason == (
            "stopped after 2 repeats: its job stops before the next one would have ended"
        )
        assert job.runs.count() == 3

    def test_a_race_ends_with_it(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        race = RaceSpec(runs=40, test="write", category="total_average")
        job = self.submitted(spec, ann, race=race, stop_before=night.now + 35 * MINUTE)
        for run in list(job.runs.order_by("id")):
            done(run, night)
        following = job.runs.filter(state=RunState.QUEUED).order_by("id")
        assert following.count() == 2
        assert lifecycle.claim(following[0].pk, worker) is None
        assert states(job) == ["done"] * 2 + ["cancelled"] * 2
        conclusion = Race.objects.get().conclusion
        assert conclusion.startswith(
            "Stopped, because its job stops before another round would have ended. "
        )
        assert "was ahead after 1 round, not confirmed." in conclusion


@pytest.mark.django_db
class TestPlan:
    def test_it_names_what_is_left_out(
        self, spec: MakeSpec, timed_runs: list[Run], night: Night
    ) -> None:
        at = night.now + 60 * MINUTE
        times = {"start_at": at, "stop_before": at + 50 * MINUTE}
        plan = planned(spec(new_study="Second", repeats=4, **times))
        assert plan.window is not None
        assert plan.window.words == (
            f"By {words.time(at + 50 * MINUTE)} about 4 of 8 runs; left out then: rounds 3 to 4 of "
            "ext4_wb_none, xfs_none."
        )
        reference = ReferenceSpec(ConfigurationSpec("xfs", {}, "none"), 2)
        plan = planned(spec(new_study="Second", repeats=2, reference=reference, **times))
        assert plan.window is not None
        assert "left out then: round 2 of ext4_wb_none, xfs_none" in plan.window.words
        whole = planned(spec(new_study="Second", start_at=at, stop_before=at + 41 * MINUTE)).window
        assert whole is not None
        assert whole.words == f"By {words.time(at + 41 * MINUTE)} all 4 runs."
        assert planned(spec(new_study="Second")).window is None

    def test_it_says_what_nobody_knows(self, spec: MakeSpec, night: Night) -> None:
        window = planned(spec(new_study="Second", stop_before=night.now + 41 * MINUTE)).window
        assert window is not None
        assert "How long a run takes is not known of them" in window.words

    @pytest.mark.parametrize(
        ("begin", "end", "place", "message"),
        [
            (-6, None, "start_at", "in the past"),
            (None, -1, "stop_before", "in the past"),
            (None, 0, "stop_before", "in the past"),
            (60, 50, "stop_before", "would stop before it starts"),
            (60, 60, "stop_before", "would stop before it starts"),
            (60 * 24 * 400, None, "start_at", "more than a year ahead"),
            (
                *(60, 75, "stop_before"),
                "a run takes about 10 min, and a round of 2 runs, which is begun only as a whole, "
                "about 20 min",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self,
        spec: MakeSpec,
        timed_runs: list[Run],
        night: Night,
        begin: int | None,
        end: int | None,
        place: str,
        message: str,
    ) -> None:
        times = {"start_at": begin, "stop_before": end}
        job = spec(
            new_study="Second",
            **{name: night.now + at * MINUTE for name, at in times.items() if at is not None},
        )
        with pytest.raises(JobRefused) as refused:
            planned(job)
        assert list(refused.value.by_part) == [place]
        assert message in refused.value.by_part[place][0]

    def test_who_types_the_name_a_little_later_starts_at_once(
        self, spec: MakeSpec, ann: User, worker: Worker, night: Night
    ) -> None:
        runs = submit(spec(start_at=night.now - MINUTE), "disk1", ann)
        assert lifecycle.claim(runs[0].pk, worker) is not None

    def test_a_single_run_that_does_not_fit_says_how_long_one_takes(
        self, spec: MakeSpec, timed_runs: list[Run], night: Night
    ) -> None:
        configurations = (ConfigurationSpec("xfs", {}, "none"),)
        with pytest.raises(JobRefused, match=r"there are 5 min from .*; a run takes about 10 min"):
            planned(
                spec(
                    new_study="Second",
                    configurations=configurations,
                    repeats=1,
                    stop_before=night.now + 5 * MINUTE,
                )
            )


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    def test_a_block_that_does_not_fit_is_left_out_once(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        runs = submit(spec(new_study="B", stop_before=night.now + 45 * MINUTE), "disk1", ann)
        night.later(30)
        claims = [lambda run=run: lifecycle.claim(run.pk, worker) for run in (*runs[:2], *runs[:2])]  # type: ignore[misc]
        assert at_once(*claims) == [None] * 4
        for run in runs[:2]:
            assert run.changes.filter(state=RunState.CANCELLED).count() == 1

    def test_a_claim_and_the_end_of_the_time_have_one_winner(
        self, spec: MakeSpec, ann: User, timed_runs: list[Run], worker: Worker, night: Night
    ) -> None:
        for number in range(4):
            stop = night.now + 45 * MINUTE
            runs = submit(spec(new_study=f"N{number}", stop_before=stop), "disk1", ann)
            job = runs[0].job_id or 0
            handle, _ = at_once(
                lambda run=runs[0]: lifecycle.claim(run.pk, worker),  # type: ignore[misc]
                lambda job=job: control.cancel(job, by="ann"),  # type: ignore[misc]
            )
            state = Run.objects.get(pk=runs[0].pk).state
            assert (handle is not None) == (state == RunState.LEASED)
            if handle is not None:
                lifecycle.finish(handle, RunState.CANCELLED, "x")
            Job.objects.filter(pk=job).update(stop_before=night.now)
            late = submit(spec(new_study=f"L{number}"), "disk1", ann)
            Job.objects.filter(pk=late[0].job_id).update(stop_before=night.now)
            handle, _ = at_once(
                lambda run=late[0]: lifecycle.claim(run.pk, worker),  # type: ignore[misc]
                closing.end_expired_runs,
            )
            assert handle is None
            assert set(Run.objects.filter(job=late[0].job_id).values_list("state", flat=True)) == {
                RunState.CANCELLED
            }
            assert late[0].changes.filter(state=RunState.CANCELLED).count() == 1

    def test_nobody_gets_it_before_its_time_however_many_ask(
        self, spec: MakeSpec, ann: User, worker: Worker, night: Night
    ) -> None:
        runs = submit(spec(start_at=night.now + MINUTE), "disk1", ann)
        claims = [lambda: lifecycle.claim(runs[0].pk, worker)] * 4
        assert at_once(*claims) == [None] * 4
        night.later(1)
        won = [handle for handle in at_once(*claims) if handle is not None]
        assert len(won) == 1


@pytest.mark.django_db
class TestPages:
    def test_review_job_run_and_api_say_it(
        self,
        client: Client,
        spec: MakeSpec,
        ann: User,
        timed_runs: list[Run],
        night: Night,
        disk: Lun,
    ) -> None:
        client.force_login(ann)
        begin, end = night.now + 30 * MINUTE, night.now + 55 * MINUTE
        address = (
            f"/runs/new/review/?lun={disk.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&new_study=T"
            f"&workload=iozone-small&repeats=2&start_at={begin:%Y-%m-%dT%H:%M}"
            f"&stop_before={end:%Y-%m-%dT%H:%M}"
        )
        page = " ".join(client.get(address).content.decode().split())
        assert f"By {words.time(end)} about 2 of 4 runs; left out then: round 2 of" in page
        form = " ".join(client.get(address.replace("review/", "")).content.decode().split())
        assert f">By {words.time(end)} about 2 of 4 runs; left out then: round 2 of" in form
        early = address.replace(f"{end:%Y-%m-%dT%H:%M}", f"{begin + MINUTE:%Y-%m-%dT%H:%M}")
        form = " ".join(client.get(early.replace("review/", "")).content.decode().split())
        assert "data-outlook" in form
        assert "No run would start" in form
        assert 'name="seed" type="number" inputmode="numeric" min="0"' in form
        runs = submit(spec(new_study="B", start_at=begin, stop_before=end), "disk1", ann)
        job = f"/jobs/{runs[0].job_id}/"
        page = " ".join(client.get(job).content.decode().split())
        assert "It starts at" in page
        assert "left out then: round 2 of ext4_wb_none, xfs_none." in page
        assert words.time(begin) in page
        assert "starts at" in client.get(f"/runs/{runs[0].pk}/").content.decode()
        api = f"/api/v1/sweeps/{runs[0].job_id}"
        answer = client.get(api).json()
        assert answer["start_at"] == begin.isoformat().replace("+00:00", "Z")
        assert "left out then" in answer["outlook"]
        assert answer["not_begun"] == []
        night.later(60)
        closing.end_expired_runs()
        answer = client.get(api).json()
        assert [(run["block"], run["configuration"]) for run in answer["not_begun"]] == [
            *((1, "ext4_wb_none"), (1, "xfs_none"), (2, "ext4_wb_none"), (2, "xfs_none"))
        ]
        page = " ".join(client.get(job).content.decode().split())
        assert "Not started, because it could not finish by" in page
        assert "rounds 1 to 2 of ext4_wb_none, xfs_none" in page

    def test_a_new_job_has_no_times_of_the_last_one(
        self, client: Client, spec: MakeSpec, ann: User, timed_runs: list[Run], night: Night
    ) -> None:
        client.force_login(ann)
        times = {"start_at": night.now + MINUTE, "stop_before": night.now + 90 * MINUTE}
        runs = submit(spec(new_study="B", **times), "disk1", ann)
        answer = client.get("/runs/new/continue/?study=b")
        assert answer.status_code == 302
        assert "fs=ext4" in answer["Location"]
        for name in times:
            assert name not in answer["Location"]
        text = client.get(f"/runs/new/document/?job={runs[0].job_id}").context["text"]
        assert "ext4" in text
        assert "stop_before" not in text
        assert "stop_before" in client.get(f"/jobs/{runs[0].job_id}/document.yaml").content.decode()

    @pytest.mark.parametrize(
        "start_at",
        ["2026-11-23T22:00", "tomorrow", 1795471200, "2026-11-23", True, "2026-02-30T22:00Z"],
    )
    def test_the_api_takes_times_with_their_zone_alone(
        self, client: Client, spec: MakeSpec, ann: User, start_at: object
    ) -> None:
        client.force_login(ann)
        document = {
            **{"study": "S", "lun": "disk1", "configurations": ["ext4"], "order": "as-written"},
            **{"workloads": ["iozone-small"], "repeats": 1, "start_at": start_at},
        }
        answer = client.post(
            "/api/v1/sweeps/preview", {"document": document}, content_type="application/json"
        )
        assert answer.status_code == 422
        assert "start_at" in answer.content.decode()
        assert "a time with its zone" in answer.content.decode()
        assert not Job.objects.exists()
