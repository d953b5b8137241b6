"""Whether the parts of a work profile can be measured, and what could be meant. Pure.

A part that no workload gives is doubted, because imports may bring it. Impossible ones are refused.
"""

from collections.abc import Collection
from difflib import get_close_matches

from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.profiles.definition import RATIO, Part, Profile
from fsbench_web.core.workloads import iozone
from fsbench_web.core.workloads.measuring import measuring_plan, tests_without_sizes

MOST_SAID = 8


def score_problems(profile: Profile) -> list[str]:
    """Why no contender could ever have a score, a sentence for each part."""
    problems = [
        f"Part {number}: {testnames.label(part.test)} has no sizes, and only data points with "
        "sizes are known to lie within the cache: give sizes, or leave cached open."
        for number, part in enumerate(profile.parts, start=1)
        if part.blocks is None and part.cached
    ]
    kinds = {test in testnames.CREATION_TESTS for test in profile.tests} & {True, False}
    has_rates = any(test in testnames.IOZONE_TESTS for test in profile.tests)
    if profile.together != RATIO and len(kinds) == 2 and has_rates:
        problems.append(
            "mkfs and mount are times and IOzone's tests are rates, which make no amount of "
            "work: put the parts together by ratio."
        )
    return problems


def doubts(profile: Profile, measured: Collection[str] = ()) -> list[str]:
    """What no workload measures, a sentence for each part, MOST_SAID at most. ``measured`` are
    tests that somebody measured or imported here.
    """
    sentences = [
        f"Part {number}: {doubt}"
        for number, part in enumerate(profile.parts, start=1)
        if (doubt := _doubt(part, measured))
    ]
    more = len(sentences) - MOST_SAID
    return sentences[:MOST_SAID] + ([f"And {more} more parts like these."] if more > 0 else [])


def _doubt(part: Part, measured: Collection[str]) -> str:
    test = part.test
    if part.blocks is not None:
        if part.operation not in testnames.IOZONE_TESTS:
            return "" if test in measured else _unknown_with_sizes(part)
        left = measuring_plan(part.demands).without_workload
        if not left or test not in iozone.TESTS:
            return ""  # IOzone's other seven come with imports
        return (
            f"no workload measures {left[0].words}"
            + (f" and {len(left) - 1} more of its cells" if len(left) > 1 else "")
            + ": IOzone doubles blocks and files from 4 KB on, as 8k-16k."
        )
    if test in measured or test in tests_without_sizes():
        return ""
    if part.operation in testnames.IOZONE_TESTS and not part.load:
        return (
            f"{test} is measured by block and file size, and the part has none: give both, as "
            "8k-16k and 1g-4g."
        )
    return f'no workload measures "{test}", and nobody imported it.{_suggestion(test)}'


def _unknown_with_sizes(part: Part) -> str:
    if part.test in tests_without_sizes():
        return f"{part.test} is measured without sizes: leave blocks and files out."
    matches = get_close_matches(part.operation, testnames.IOZONE_TESTS, 1, 0.7)
    hint = f' Is "{matches[0]}" meant?' if matches else " Those with sizes are IOzone's."
    return (
        f'no workload measures "{part.test}" by block and file size, and nobody imported it.{hint}'
    )


def _suggestion(test: str) -> str:
    names = [*testnames.IOZONE_TESTS, *tests_without_sizes()]
    matches = get_close_matches(test, names, 3, 0.7)
    return (
        f" Is {' or '.join(f'{name!r}' for name in matches)} meant?".replace("'", '"')
        if matches
        else ""
    )
