"""Finding the best: who writes the next block, who is out, how it ends, what cannot break it."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from fsbench_web.catalog.models import Worker
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Race, Run, RunState
from fsbench_web.studies.runs import control, lifecycle
from fsbench_web.studies.runs.races import report_of, standing, words
from fsbench_web.studies.scores import ingest
from tests.studies.conftest import after_silence, complete, start
from tests.studies.runs.test_lifecycle import at_once

THREE = tuple(ConfigurationSpec(name, {}, "none") for name in ("ext4", "xfs", "ext2"))
SPEEDS = {"ext4": 1000.0, "xfs": 800.0, "ext2": 300.0}
TICKS = {"ext4": 13, "xfs": 16, "ext2": 43}
MakeSpec = Callable[..., JobSpec]


@pytest.fixture
def submitted(spec: MakeSpec, ann: User) -> Callable[..., list[Run]]:
    """``submitted(runs=20)``: three configurations, a race of 20 runs."""

    def make(
        configurations: tuple[ConfigurationSpec, ...] = THREE, study: str = "Race", **race: Any
    ) -> list[Run]:
        race_spec = RaceSpec(**race or {"runs": 20})
        job = spec(configurations=configurations, race=race_spec, new_study=study)
        return submit(job, "disk1", ann)

    return make


def waiting() -> list[Run]:
    return list(Run.objects.filter(state=RunState.QUEUED).order_by("id"))


def filesystems(runs: list[Run]) -> list[str]:
    return [run.series.configuration.filesystem for run in runs]


def race() -> Race:
    return Race.objects.get()


def fail(run: Run, cause: Cause = Cause.BENCHMARK) -> None:
    lifecycle.finish(start(run), RunState.FAILED, "x", cause)


def measure(
    run: Run,
    speeds: Mapping[str, float] = SPEEDS,
    unit: str = "KB/s",
    took: timedelta = timedelta(seconds=1),
    wobble: float = 0.002,
) -> None:
    """Run it to its end, with its speed or its time as the one cell of what decides."""
    handle = start(run)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - took)
    factor = 1 + wobble * (run.repeat % 3 + 0.15 * (run.pk % 7))
    value = speeds[run.series.configuration.filesystem] * factor
    with transaction.atomic():
        artefact = ingest.store_artefact(run, "iozone.txt", b"raw output")
        ingest.store_values(run, artefact, [ParsedValue("write", 4, 64, value, unit, 1)])
        lifecycle.finish(handle, RunState.DONE, "")


def run_to_its_end(
    speeds: Mapping[str, float] = SPEEDS, most: int = 60, wobble: float = 0.002
) -> None:
    for _ in range(most):
        following = waiting()
        if not following:
            return
        measure(following[0], speeds, wobble=wobble)
        ingest.rescore(following[0].series)
    raise AssertionError("it does not end")


def test_the_first_block_has_everything_once(submitted: Callable[..., list[Run]]) -> None:
    runs = submitted()
    assert filesystems(runs) == ["ext4", "xfs", "ext2"]
    begun = race()
    assert (begun.test, begun.category) == ("write", "total_average")
    assert begun.contenders == [str(run.series_id) for run in runs]
    assert "race" in begun.job.document
    assert "repeats" not in begun.job.document


def test_the_next_block_follows_the_last_run_of_one(submitted: Callable[..., list[Run]]) -> None:
    first, second, third = submitted(runs=40)
    measure(first)
    measure(second)
    assert waiting() == [third]
    measure(third)
    following = waiting()
    assert filesystems(following) == ["ext4", "xfs", "ext2"]
    assert [run.repeat for run in following] == [2, 2, 2]
    assert following[0].confirmed == first.confirmed
    assert {run.block for run in following} == {f"job {third.job_id} block 2"}
    assert following[0].changes.get().reason == f"Block 2 of the race, after run {third.pk}."


def test_it_finds_the_best_and_says_so_in_a_sentence(submitted: Callable[..., list[Run]]) -> None:
    submitted(runs=40)
    run_to_its_end()
    ended = race()
    assert ended.ended_at is not None
    assert ended.conclusion.startswith(
        "ext4_none is the best of 3 configurations for IOzone, small by write, total average: "
        "25% faster than xfs_none, the runner-up (95% interval "
    )
    stands = standing(ended)
    assert f"It took {Run.objects.count()} runs of 40;" in ended.conclusion
    assert stands.of_race.remaining == tuple(ended.contenders[:2])
    assert stands.places[ended.contenders[1]].ratio == pytest.approx(0.8, rel=0.01)


@pytest.mark.parametrize(
    ("times", "is_known"),
    # 64 KB in 16 and 13 ticks of a microsecond, or in a hundred times as many.
    [(1, False), (100, True)],
)
def test_what_the_timer_alone_makes_come_out_the_same_decides_nothing(
    submitted: Callable[..., list[Run]], times: int, is_known: bool
) -> None:
    speeds = {name: 64 / (ticks * times * 1e-6) for name, ticks in TICKS.items()}
    submitted(runs=40)
    run_to_its_end(speeds, wobble=0)
    ended = race()
    report = report_of(ended.job)
    assert report is not None
    assert report.is_known == is_known
    assert report.phase == "ended"
    if is_known:
        assert ended.conclusion.startswith("ext4_none is the best of 3")
        return
    assert ended.conclusion.startswith(
        "No clear winner among 3 configurations for IOzone, small by write, total average: "
        "ext4_none is 23% faster than xfs_none, the runner-up, in each of 5 fresh rounds. Each "
        "took few ticks of its tool's timer, which alone may be why nothing scatters"
    )
    words_of = {row.label: row.word for row in report.rows}
    assert words_of["ext4_none"] == words_of["xfs_none"] == "undecided"
    assert standing(ended).of_race.status == "inconclusive"
    assert report.probability is None


def test_of_times_the_shortest_is_the_best(submitted: Callable[..., list[Run]]) -> None:
    for run in submitted():
        measure(run, unit="s")
    stands = standing(race())
    assert race().unit == "s"
    assert stands.of_race.leader == race().contenders[2]
    assert stands.places[race().contenders[0]].ratio == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize(("value", "unit"), [(0.0, "KB/s"), (5.0, "furlongs"), (5.0, "s")])
def test_a_value_that_cannot_decide_puts_its_contender_out(
    submitted: Callable[..., list[Run]], value: float, unit: str
) -> None:
    first, second, third = submitted(runs=40)
    measure(first)
    measure(second, {"xfs": value}, unit)
    measure(third)
    assert filesystems(waiting()) == ["ext4", "ext2"]
    assert race().failed[str(second.series_id)] == [
        0,
        second.pk,
        f"Run {second.pk} printed no value of the measure that is above zero.",
    ]


def test_what_is_alike_is_practically_equal(submitted: Callable[..., list[Run]]) -> None:
    submitted(THREE[:2], runs=60)
    run_to_its_end({"ext4": 1000.0, "xfs": 1000.0})
    assert "are equivalent, and the best of 2" in race().conclusion


def test_time_that_is_over_ends_it_inconclusive(submitted: Callable[..., list[Run]]) -> None:
    submitted(hours=1)
    blocks = []
    while following := waiting():
        blocks.append(len(following))
        for run in following:
            measure(run, took=timedelta(minutes=7))
    assert blocks == [3, 3, 2]  # 56 minutes
    assert race().conclusion == (
        "No clear winner among 3 configurations for IOzone, small by write, total average: "
        "ext4_none is 25% faster than xfs_none, the runner-up (in 1 fresh round; an interval takes "
        "5). To decide, measure the two in 5 more rounds, or give the race a larger budget. It "
        "took 8 runs in 56 min of 1 h; everything in each of its 3 "
        "rounds would have taken 9."
    )


def test_too_few_blocks_lead_to_so_many_that_tell(submitted: Callable[..., list[Run]]) -> None:
    submitted(hours=1)
    while following := waiting():
        for run in following:
            measure(run, took=timedelta(minutes=7))
    report = report_of(race().job)
    assert report is not None
    assert report.deciding_query.endswith("&blocks=5")


def test_what_waits_is_not_spent(submitted: Callable[..., list[Run]]) -> None:
    runs = submitted(runs=20)
    Run.objects.filter(pk=runs[1].pk).update(state=RunState.RUNNING)
    fail(runs[0])
    stands = standing(race())
    assert (stands.runs, stands.spent_runs, stands.active_runs, stands.queued_runs) == (3, 1, 1, 1)
    Run.objects.filter(pk=runs[1].pk).update(state=RunState.QUEUED)
    measure(runs[1])
    measure(runs[2])
    stands = standing(race())
    assert (stands.runs, stands.spent_runs, stands.active_runs, stands.queued_runs) == (4, 3, 0, 1)


def test_who_fails_is_tried_again_once_and_then_out(submitted: Callable[..., list[Run]]) -> None:
    first, second, third = submitted(runs=40)
    fail(first)
    measure(second)
    assert waiting() == [third]  # its block goes on first
    measure(third)
    (again,) = waiting()
    assert again.retry_of == first
    assert (again.repeat, again.rerun, again.series) == (1, 0, first.series)
    assert again.block == first.block
    fail(again)
    assert filesystems(waiting()) == ["xfs", "ext2"]
    out = standing(race()).of_race.eliminated[str(first.series_id)]
    assert (out.why, out.blocks) == ("failed", 0)
    assert race().failed[str(first.series_id)][1:] == [
        again.pk,
        "It failed 2 times in one round.",
    ]
    run_to_its_end()
    assert race().conclusion.startswith("xfs_none is the best of 3 configurations")


def test_a_second_attempt_that_is_done_keeps_its_place(
    submitted: Callable[..., list[Run]],
) -> None:
    runs = submitted(runs=40)
    fail(runs[0])
    for _ in range(3):
        measure(waiting()[0])
    assert filesystems(waiting()) == ["ext4", "xfs", "ext2"]
    assert race().failed == {}


def test_somebody_who_tries_a_failed_run_again_makes_its_second_attempt(
    submitted: Callable[..., list[Run]], ann: User
) -> None:
    runs = submitted(runs=40)
    fail(runs[0])
    again = control.retry_run(runs[0].pk, "disk1", ann)
    for run in runs[1:]:
        measure(run)
    assert waiting() == [again]
    measure(waiting()[0])
    assert len(waiting()) == 3


def test_all_that_fail_leave_no_best(submitted: Callable[..., list[Run]]) -> None:
    submitted()
    for _ in range(6):
        fail(waiting()[0])
    assert waiting() == []
    assert race().conclusion.startswith("None of 3 configurations for")


def test_one_that_is_left_is_the_best_there_is(submitted: Callable[..., list[Run]]) -> None:
    submitted(THREE[:2], runs=20)
    fail(waiting()[1])
    measure(waiting()[0])
    fail(waiting()[0])
    assert waiting() == []
    assert "ext4_none is the only one of 2 configurations" in race().conclusion
    report = report_of(race().job)
    assert report is not None
    assert [row.word for row in report.rows] == ["the only one left", "out"]


@pytest.mark.parametrize("comes_back", [False, True])
def test_an_interrupted_run_is_run_again_within_its_block(
    submitted: Callable[..., list[Run]], worker: Worker, comes_back: bool
) -> None:
    """Its worker was killed, and is started again; or its host stays silent."""
    runs = submitted(runs=40)
    measure(runs[0])
    start(runs[1])
    if comes_back:
        lifecycle.recover(worker)
    else:
        lifecycle.reap_lost(after_silence())
    again, third = sorted(waiting(), key=lambda run: run.retry_of_id is None)
    assert again.rerun == 1
    measure(again)
    measure(third)
    assert filesystems(waiting()) == ["ext4", "xfs", "ext2"]
    assert standing(race()).runs == 6  # what was interrupted is not of the budget


def test_who_is_interrupted_again_and_again_has_two_attempts_and_is_out(
    submitted: Callable[..., list[Run]],
) -> None:
    """A configuration may be what kills its host: it cannot do so all night."""
    runs = submitted(runs=40)
    measure(runs[1])
    measure(runs[2])
    ended = 0
    while waiting()[0].series == runs[0].series:
        fail(waiting()[0], Cause.KILLED)
        ended += 1
        assert ended <= 4
    assert ended == 4  # each attempt, and once more by itself
    assert filesystems(waiting()) == ["xfs", "ext2"]


def test_a_disk_that_is_refused_puts_nobody_out(
    submitted: Callable[..., list[Run]], ann: User, client: Client
) -> None:
    """Somebody mounted the LUN at night: no configuration is to blame."""
    runs = submitted(runs=40)
    for run in runs:
        fail(run, Cause.REFUSED)
    assert waiting() == []
    assert race().ended_at is None
    assert standing(race()).is_held
    for address in ("/jobs/", f"/jobs/{runs[0].job_id}/"):
        assert '<span class="badge is-warn">held</span>' in client.get(address).content.decode()
    control.retry(runs[0].job_id or 0, "disk1", ann)
    assert len(waiting()) == 3
    assert ">held<" not in client.get("/jobs/").content.decode()
    for run in waiting():
        measure(run)
    assert filesystems(waiting()) == ["ext4", "xfs", "ext2"]


def test_a_paused_one_goes_on_where_it_was(submitted: Callable[..., list[Run]]) -> None:
    runs = submitted(runs=40)
    measure(runs[0])
    measure(runs[1])
    handle = start(runs[2])
    job = runs[0].job_id or 0
    control.pause(job)
    lifecycle.finish(handle, RunState.FAILED, "x")
    (again,) = waiting()
    assert again.series.lun is not None
    assert lifecycle.claim(again.pk, again.series.lun.worker) is None
    control.resume(job)
    measure(again)
    assert len(waiting()) == 3


def test_a_cancelled_one_ends_and_stays_ended(
    submitted: Callable[..., list[Run]], ann: User
) -> None:
    runs = submitted(runs=40)
    for run in runs:
        measure(run)
    measure(waiting()[0])
    job = runs[0].job_id or 0
    control.cancel(job, "ann")
    assert waiting() == []
    assert race().conclusion == (
        "Stopped, because a run was cancelled. No clear winner yet: ext4_none was "
        "ahead after 1 round, not confirmed."
    )
    for run in control.retry(job, "disk1", ann, [RunState.CANCELLED]):
        measure(run)
    assert waiting() == []


def test_an_end_that_is_not_committed_has_no_next_block(
    submitted: Callable[..., list[Run]],
) -> None:
    first, second = submitted(THREE[:2], runs=20)
    measure(first)
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


def test_jobs_without_a_race_have_none(runs: list[Run]) -> None:
    for run in runs:
        complete(run)
    assert not Race.objects.exists()
    assert waiting() == []


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    ROUNDS = 3

    def test_two_that_end_together_have_one_next_block(
        self, submitted: Callable[..., list[Run]]
    ) -> None:
        for number in range(self.ROUNDS):
            runs = submitted(runs=40, study=f"Round {number}")
            measure(runs[0])
            handle = start(runs[1])
            at_once(
                lambda handle=handle: lifecycle.finish(handle, RunState.FAILED, "x"),  # type: ignore[misc]
                lambda run=runs[2]: lifecycle.cancel(run.pk, "ann"),  # type: ignore[misc]
            )
            ended = Race.objects.get(job=runs[0].job_id)
            assert ended.ended_at is not None
            assert not Run.objects.filter(job=runs[0].job_id, state=RunState.QUEUED).exists()

    def test_a_job_that_is_cancelled_as_a_block_ends_writes_no_other(
        self, submitted: Callable[..., list[Run]]
    ) -> None:
        for number in range(self.ROUNDS):
            runs = submitted(runs=40, study=f"Round {number}")
            measure(runs[0])
            measure(runs[1])
            handle = start(runs[2])
            at_once(
                lambda handle=handle: lifecycle.finish(handle, RunState.FAILED, "x"),  # type: ignore[misc]
                lambda run=runs[0]: control.cancel(run.job_id or 0, "ann"),  # type: ignore[misc]
            )
            assert waiting() == []


@pytest.mark.parametrize(
    ("ratio", "phrase"),
    [
        (1.061, "6.1% faster"),
        (0.9961, "0.4% slower"),
        (1.25, "25% faster"),
        (41.2327, "4,023% faster"),
        (1.0, "0.0% faster"),
        (1 - 1e-16, "0.0% slower"),
        (0.003, "99.7% slower"),
    ],
)
def test_ratios_are_said_without_powers_of_ten(ratio: float, phrase: str) -> None:
    assert words.faster(ratio) == phrase


def test_an_interval_below_zero_has_a_minus_sign() -> None:
    assert words.span(0.996, 1.0118) == "\N{MINUS SIGN}0.4 to 1.2%"
    assert words.span(0.9, 0.9999) == "\N{MINUS SIGN}10.0 to \N{MINUS SIGN}0.01%"
    assert words.span(0.0003, 1 - 1e-16) == "\N{MINUS SIGN}99.97 to 0.0%"


def test_beside_a_word_of_direction_an_interval_has_that_direction() -> None:
    assert words.span_beside(1.01, 1.073) == "1.0 to 7.3%"
    assert words.span_beside(0.927, 0.99) == "1.0 to 7.3%"  # slower
    assert words.span_beside(0.996, 1.0118) == "\N{MINUS SIGN}0.4 to +1.2%"
    assert words.span_beside(0.9, 1.0) == "0.0 to 10.0%"


def test_what_does_not_differ_is_as_fast() -> None:
    assert words.beside(1.0, "xfs") == "as fast as xfs"
    assert words.beside(1 - 1e-16, "xfs") == "as fast as xfs"
    assert words.beside(0.9999, "xfs") == "0.01% slower than xfs"
    assert words.beside(1.061, "xfs") == "6.1% faster than xfs"


def test_an_inconclusive_end_says_how_many_more_blocks_would_decide(
    submitted: Callable[..., list[Run]], ann: User, client: Client
) -> None:
    submitted(THREE[:2], runs=8)
    run_to_its_end({"ext4": 1000.0, "xfs": 1000.0 * 1.0195})
    stands = standing(race())
    assert stands.of_race.fresh == 4
    conclusion = words.conclusion(stands)
    assert conclusion == race().conclusion
    more = stands.of_race.more_blocks
    assert more is not None
    blocks = f"{more} more round{'' if more == 1 else 's'}"
    assert f"About {blocks} would decide. It took 8 runs of 8" in conclusion
    address = f"/jobs/{race().job_id}/"
    assert "Measure more" not in client.get(address).content.decode()
    client.force_login(ann)
    link = re.search(r'href="(/runs/new/blocks/[^"]+)"', client.get(address).content.decode())
    assert link is not None
    form = client.get(link[1].replace("&amp;", "&"))["Location"]
    assert "fs=ext4.1" in form
    assert "fs=xfs.1" in form
    assert f"repeats={min(more, 20)}" in form
