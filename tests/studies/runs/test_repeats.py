"""Repeating until the scores are sure: who writes the next run, when it ends, and that it does."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import RepeatRule, Run, RunState
from fsbench_web.studies.runs import control, lifecycle, nudges, repeats
from tests.studies.conftest import after_silence, complete, start
from tests.studies.runs.test_lifecycle import at_once

MakeSpec = Callable[..., JobSpec]
ONE = (ConfigurationSpec("ext4", {}, "none"),)


@pytest.fixture
def submitted(spec: MakeSpec, ann: User) -> Callable[..., list[Run]]:
    """``submitted(least=2, most=4)``: one configuration, until ± 5%."""

    def make(least: int = 2, most: int = 4, **changes: Any) -> list[Run]:
        request = spec(**{"configurations": ONE, "until": RepeatTarget(5, least, most)} | changes)
        return submit(request, "disk1", ann)

    return make


def waiting() -> list[Run]:
    return list(Run.objects.filter(state=RunState.QUEUED).order_by("id"))


def rule() -> RepeatRule:
    return RepeatRule.objects.get()


def fail(run: Run, state: RunState = RunState.FAILED) -> None:
    lifecycle.finish(start(run), state, "x")


def test_a_job_writes_the_least_number_first(submitted: Callable[..., list[Run]]) -> None:
    runs = submitted(least=3, most=9)
    assert [run.repeat for run in runs] == [1, 2, 3]
    assert {run.repeat_rule for run in runs} == {rule()}
    assert repeats.in_words(rule()) == (
        "until the 95% confidence interval of the overall score is at most ± 5% of its mean in "
        "every test, 3 to 9 repeats"
    )


def test_each_configuration_has_a_rule_of_its_own(spec: MakeSpec, ann: User) -> None:
    runs = submit(spec(until=RepeatTarget(5, 2, 4)), "disk1", ann)
    assert len({run.repeat_rule_id for run in runs}) == 2


def test_it_stops_when_it_is_sure(submitted: Callable[..., list[Run]]) -> None:
    for run, value in zip(submitted(), (1000.0, 1001.0), strict=True):
        complete(run, value)
    assert waiting() == []
    assert rule().stop_reason == (
        "2 repeats: half-width 0.63% ≤ 5% in the widest of 6 tests, write"
    )
    assert rule().stopped_at is not None


def test_it_goes_on_while_it_is_not_sure(submitted: Callable[..., list[Run]], ann: User) -> None:
    first, second = submitted(most=5)
    complete(first, 1000.0)
    assert waiting() == [second]
    complete(second, 1100.0)
    (third,) = waiting()
    assert third.repeat == 3
    assert (third.series, third.job, third.created_by) == (
        second.series,
        second.job,
        ann,
    )
    assert third.changes.get().reason == (
        f"Repeated after run {second.pk}: half-width 61% > 5% in the widest of 6 tests, write."
    )
    for value in (1050.0, 1050.0, 1050.0):
        (following,) = waiting()
        complete(following, value)
    assert waiting() == []
    assert rule().stop_reason.startswith("5 repeats: half-width 4.2% ≤ 5%")


def test_it_stops_at_the_most_and_says_how_unsure_it_is(
    submitted: Callable[..., list[Run]],
) -> None:
    submitted(most=3)
    for value in (1000.0, 1500.0, 2000.0):
        complete(waiting()[0], value)
    assert waiting() == []
    assert rule().stop_reason == (
        "stopped at the most, 3: half-width still 83% in the widest of 6 tests, write"
    )


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.LOST])
def test_repeats_without_a_result_count_and_do_not_go_on_for_ever(
    submitted: Callable[..., list[Run]], state: RunState
) -> None:
    submitted(least=2, most=4)
    ended = 0
    while waiting():
        fail(waiting()[0], state)
        ended += 1
        assert ended <= 4
    assert ended == 4
    assert "4 of them without a result" in rule().stop_reason


def test_one_that_failed_is_made_up_for(submitted: Callable[..., list[Run]]) -> None:
    first, second = submitted()
    fail(first)
    complete(second, 1000.0)
    (third,) = waiting()
    complete(third, 1000.0)
    assert waiting() == []
    assert rule().stop_reason.startswith("2 repeats: half-width 0% ≤ 5%")


def test_a_lost_repeat_is_followed_by_the_next(submitted: Callable[..., list[Run]]) -> None:
    first, second = submitted(least=2)
    complete(first, 1000.0)
    start(second)
    assert lifecycle.reap_lost(after_silence()) == [second.pk]
    assert len(waiting()) == 1


def test_cancelling_a_repeat_ends_the_repeating(submitted: Callable[..., list[Run]]) -> None:
    first, second = submitted()
    complete(first, 1000.0)
    lifecycle.cancel(second.pk, "ann")
    assert waiting() == []
    assert rule().stop_reason == "stopped: a repeat was cancelled"


def test_cancelling_the_job_ends_it_too(submitted: Callable[..., list[Run]]) -> None:
    runs = submitted()
    control.cancel(runs[0].job_id or 0, "ann")
    assert waiting() == []
    assert Run.objects.count() == 2
    assert rule().stopped_at is not None


def test_what_the_series_had_before_counts_for_the_interval(
    submitted: Callable[..., list[Run]],
) -> None:
    for run in submitted(new_study="Same"):
        complete(run, 1000.0)
    for run in submitted(new_study="", study="same"):
        complete(run, 1000.0)
    latest = RepeatRule.objects.order_by("id").last()
    assert latest is not None
    assert latest.stop_reason.startswith("4 repeats: half-width 0%")


def test_a_repeat_whose_end_is_not_committed_has_no_next(
    submitted: Callable[..., list[Run]],
) -> None:
    first, second = submitted(least=2)
    complete(first, 1000.0)
    handle = start(second)

    class Broken(Exception):
        pass

    @transaction.atomic
    def break_off() -> None:
        lifecycle.finish(handle, RunState.FAILED, "x")
        assert len(waiting()) == 1
        raise Broken

    with pytest.raises(Broken):
        break_off()
    assert waiting() == []
    lifecycle.finish(handle, RunState.FAILED, "x")
    assert len(waiting()) == 1


def test_the_worker_is_told_of_the_next_repeat(
    submitted: Callable[..., list[Run]],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(nudges.app, "send_task", lambda name, args, **_: sent.append(args[0]))
    for run in submitted():
        with django_capture_on_commit_callbacks(execute=True):
            fail(run)
    assert sent == [waiting()[0].pk]


def test_fixed_repeats_have_no_rule(runs: list[Run]) -> None:
    for run in runs:
        complete(run, float(run.pk * 1000))
    assert not RepeatRule.objects.exists()
    assert waiting() == []


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    ROUNDS = 5

    @pytest.fixture
    def second_disk(self, worker: Worker) -> Lun:
        """Another LUN of the same worker, so that two runs of one rule can be active at once."""
        lun = worker.luns.get(name="small1")
        Lun.objects.filter(pk=lun.pk).update(size_bytes=20 * 2**30)
        return lun

    def test_two_that_end_together_have_one_next(
        self, submitted: Callable[..., list[Run]], second_disk: Lun
    ) -> None:
        for number in range(self.ROUNDS):
            first, second = submitted(new_study=f"Round {number}", most=3)
            series = second.series
            series.pk, series.key, series.lun = None, f"elsewhere {number}", second_disk
            series.save()
            Run.objects.filter(pk=second.pk).update(series=series)
            second.refresh_from_db()
            handles = [start(first), start(second)]
            at_once(
                *[
                    lambda handle=handle: lifecycle.finish(handle, RunState.FAILED, "x")  # type: ignore[misc]
                    for handle in handles
                ]
            )
            (following,) = waiting()
            assert following.repeat_rule_id == first.repeat_rule_id
            lifecycle.cancel(following.pk, "ann")

    def test_a_cancelled_job_stays_cancelled_however_a_run_of_it_ends(
        self, submitted: Callable[..., list[Run]]
    ) -> None:
        for number in range(self.ROUNDS):
            first, second = submitted(new_study=f"Round {number}", most=3)
            complete(first, 1000.0)
            handle = start(second)
            at_once(
                lambda handle=handle: lifecycle.finish(handle, RunState.FAILED, "x"),  # type: ignore[misc]
                lambda run=second: control.cancel(run.job_id or 0, "ann"),  # type: ignore[misc]
            )
            assert waiting() == []


class TestPages:
    def test_run_and_study_say_why_it_stopped(
        self, submitted: Callable[..., list[Run]], client: Client
    ) -> None:
        runs = submitted()
        html = client.get(f"/runs/{runs[0].pk}/").content.decode()
        assert (
            "until the 95% confidence interval of the overall score is at most ± 5% of its mean "
            "in every test, 2 to 4 repeats"
        ) in html
        for run, value in zip(runs, (1000.0, 1001.0), strict=True):
            complete(run, value)
        reason = "2 repeats: half-width 0.63% ≤ 5% in the widest of 6 tests, write"
        for address, width in (
            (f"/runs/{runs[0].pk}/", "± 0.6%"),
            ("/studies/first-look/?tab=runs", "± 0.6%"),
        ):
            html = client.get(address).content.decode()
            assert reason in html
            assert width in html

    def test_one_repeat_shows_no_interval(
        self, submitted: Callable[..., list[Run]], client: Client
    ) -> None:
        runs = submitted()
        complete(runs[0], 1000.0)
        html = client.get(f"/runs/{runs[0].pk}/").content.decode()
        assert "± " not in html.split('id="scores-head"')[1].split("</section>")[0]

    def test_the_review_says_from_how_many_to_how_many(
        self, client: Client, ann: User, disk: Lun
    ) -> None:
        client.force_login(ann)
        html = client.get(
            f"/runs/new/review/?lun={disk.pk}&fs=ext4.1&fs=xfs.1&workload=iozone-small&scheduler=none"
            "&repeat_by=interval&half_width=2.5&least=3&most=10&new_study=x&precondition=yes"
            "&fill_percent=40"
        ).content.decode()
        assert "<h1>6 to 20 runs on disk1</h1>" in html
        assert "6 to 20 times" in html
        assert "at most ± 2.5% of its mean in every test, 3 to 10 repeats" in html
        assert "written once, filled to 40%" in html
        assert "dd if=/dev/urandom of=/dev/disk/by-id/disk1" in html
        assert "fsbench-agent --fill 40 /mnt/fsbench/fsbench.fill" in html

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("least=x", "is not a whole number: say how many repeats there are at least"),
            ("half_width=", "is not a number"),
            ("least=9&most=3", "the most is not less than that"),
            ("repeat_by=magic", "is no way to repeat"),
            ("fill_percent=95", "must be 0 to 90 percent"),
            ("fill_percent=-1", "must be 0 to 90 percent"),
            ("discard=maybe", "is neither yes nor no"),
            ("discard=yes", "disk1 takes no discard"),
            ("iozone-small.minimum_record_kb=64", "gives no overall score"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, client: Client, ann: User, disk: Lun, query: str, message: str
    ) -> None:
        client.force_login(ann)
        usual = "repeat_by=interval&half_width=5&least=3&most=10"
        given_names = {part.split("=")[0] for part in query.split("&")}
        rest = "&".join(part for part in usual.split("&") if part.split("=")[0] not in given_names)
        response = client.get(
            f"/runs/new/review/?lun={disk.pk}&fs=ext4.1&workload=iozone-small&scheduler=none&new_study=x&{rest}&{query}"
        )
        assert response.status_code == 422
        assert message in response.content.decode()

    def test_a_run_is_submitted_again_with_its_preparation(
        self, submitted: Callable[..., list[Run]], client: Client, ann: User
    ) -> None:
        from fsbench_web.catalog.configurations.preparation import Preparation
        from fsbench_web.studies.views import run_details

        run = submitted(preparation=Preparation(precondition=True, fill_percent=30))[0]
        assert run.series.preparation == {"precondition": True, "fill_percent": 30}
        query = run_details.submit_again(run)
        assert "precondition=yes" in query
        assert "fill_percent=30" in query
