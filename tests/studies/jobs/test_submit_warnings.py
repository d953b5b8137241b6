"""What a job may be submitted with, and should not be without knowing."""

from collections.abc import Callable

import pytest

from fsbench_web.core.stats.verdicts import contenders_of, least_blocks
from fsbench_web.studies.jobs import submit_warnings, submitting
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RepeatTarget
from fsbench_web.studies.models import Study

MODES = ("writeback", "ordered", "journal")
CONFIGURATIONS = (
    *(ConfigurationSpec("ext4", {"journal_mode": mode}, "none") for mode in MODES),
    *(ConfigurationSpec("xfs", {}, scheduler) for scheduler in ("none", "bfq")),
)


@pytest.mark.parametrize(
    ("configurations", "repeats", "is_said"),
    [(3, 3, False), (4, 3, True), (5, 3, True), (5, 4, True), (5, 5, False), (5, 2, False)],
)
def test_many_configurations_want_more_than_a_few_repeats(
    configurations: int, repeats: int, is_said: bool, spec: Callable[..., JobSpec]
) -> None:
    """Two make no pairs of blocks, and no test that rests on three of them."""
    job = spec(configurations=CONFIGURATIONS[:configurations], repeats=repeats)
    runs = submitting.planned(job).runs
    warnings = submit_warnings.of_repeats(job, runs)
    assert bool(warnings) == is_said
    assert not warnings or warnings[0].startswith(f"{configurations} configurations in")
    assert not warnings or warnings[0].endswith("5 repeats tell.")
    assert not Study.objects.exists()


def test_a_target_counts_by_its_least(spec: Callable[..., JobSpec]) -> None:
    for least, is_said in ((3, True), (5, False)):
        job = spec(configurations=CONFIGURATIONS, until=RepeatTarget(5, least, 10))
        runs = submitting.planned(job).runs
        assert bool(submit_warnings.of_repeats(job, runs)) == is_said


def test_pairs_are_those_of_so_many() -> None:
    for count in range(2, 100):
        assert contenders_of(count * (count - 1) // 2) == count
    assert [least_blocks(count) for count in (2, 4, 5, 12, 13, 30)] == [3, 5, 5, 5, 8, 8]
