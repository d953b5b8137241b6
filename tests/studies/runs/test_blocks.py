"""Which runs are in one round: everything once before anything again."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import control, lifecycle
from fsbench_web.studies.scores import rejudging
from fsbench_web.studies.scores.queries import ScoreFilter
from tests.measured import scores_for
from tests.studies.conftest import after_silence, complete, start

pytestmark = pytest.mark.django_db

MakeSpec = Callable[..., JobSpec]


def blocks(runs: list[Run]) -> list[str]:
    """Without the job's number."""
    return [run.block.split(" ", 2)[-1] for run in runs]


def test_a_job_is_blocks_and_its_references_are_in_none(spec: MakeSpec, ann: User) -> None:
    reference = ReferenceSpec(ConfigurationSpec("ext4", {}, "none"), 2)
    runs = submit(spec(reference=reference), "disk1", ann)
    of_order = [run.block for run in runs]
    job = f"job {runs[0].job_id}"
    first, second = f"{job} block 1", f"{job} block 2"
    assert of_order == ["", first, first, "", second, second, ""]


def test_a_second_job_of_the_same_series_has_blocks_of_its_own(spec: MakeSpec, ann: User) -> None:
    first = submit(spec(), "disk1", ann)
    second = submit(spec(new_study="", study="first-look"), "disk1", ann)
    assert [run.repeat for run in second] == [3, 3, 4, 4]
    assert blocks(second) == blocks(first)
    assert not {run.block for run in first} & {run.block for run in second}


def test_what_was_interrupted_stays_in_its_block(runs: list[Run]) -> None:
    complete(runs[0])
    start(runs[1])
    lifecycle.reap_lost(after_silence())
    again = Run.objects.get(retry_of=runs[1])
    assert again.block == runs[0].block == runs[1].block != ""


def test_the_next_repeats_of_a_rule_are_in_the_next_block(spec: MakeSpec, ann: User) -> None:
    runs = submit(spec(until=RepeatTarget(1, 2, 4)), "disk1", ann)
    for number, run in enumerate(runs):
        complete(run, 1000.0 + 50 * number)
    third = list(Run.objects.filter(state=RunState.QUEUED).order_by("id"))
    assert blocks(third) == ["block 3", "block 3"]
    for number, run in enumerate(third):
        complete(run, 1000.0 + 80 * number)
    assert blocks(list(Run.objects.filter(state=RunState.QUEUED))) == ["block 4", "block 4"]


def test_what_somebody_submits_again_is_a_block_beside_what_came_with_it(
    runs: list[Run], ann: User
) -> None:
    complete(runs[0])
    for run in runs[1:]:
        lifecycle.finish(start(run), RunState.FAILED, "no mkfs.xfs")
    retries = control.retry(runs[0].job_id or 0, "disk1", ann)
    assert [
        (run.retry_of_id, block) for run, block in zip(retries, blocks(retries), strict=True)
    ] == [
        (runs[1].pk, "block 3"),  # ext4 was measured in its first block, and long before this
        (runs[2].pk, "block 4"),
        (runs[3].pk, "block 4"),
    ]


def test_a_score_keeps_what_each_repeat_came_to_in_its_block(runs: list[Run]) -> None:
    for run, value in zip(runs, (1000.0, 500.0, 1100.0, 600.0), strict=True):
        complete(run, value)
    first, second = runs[0].block, runs[2].block
    rows = [
        row
        for row in scores_for(ScoreFilter(tests=["write"], categories=["maximum"]))
        if row.filesystem == "xfs"
    ]
    assert [row.repeat_scores for row in rows] == [((first, 500.0), (second, 600.0))]
    assert not rejudging.waiting()
