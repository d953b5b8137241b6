"""What is said of a race that looks for the kernel at which speed changed."""

from collections.abc import Mapping
from math import exp, fsum, isfinite, log

from fsbench_web.core.scoring.blocks import racing
from fsbench_web.core.scoring.blocks.bisecting import AFTER, BEFORE, FAILED, Bisection
from fsbench_web.core.scoring.blocks.paired import EQUIVALENT, FASTER
from fsbench_web.core.scoring.blocks.racing import RacePlace
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.races import words
from fsbench_web.studies.runs.races.standing import Standing


def kernels_of(stands: Standing) -> dict[str, str]:
    """The kernel of each contender, by its key."""
    rows = Series.objects.filter(pk__in=stands.race.contenders)
    return {str(pk): kernel for pk, kernel in rows.values_list("pk", "machine__kernel")}


def conclusion(stands: Standing) -> str:
    """How it ended, and what it took."""
    return words.with_emulated(stands.race, f"{_result(stands)} {words.spent(stands)}.")


def so_far(stands: Standing) -> str:
    """Between which two it is, of one that goes on or was stopped on its way."""
    try:
        found = stands.of_bisection
    except ValueError:
        return ""
    kernels = kernels_of(stands)
    before, after = kernels[found.before], kernels[found.after]
    if BEFORE not in found.sides.values():
        return f"Whether {after} differs from {before} is not known yet."
    if found.is_neighbours:
        return f"The search led to {after} after {before}, not confirmed."
    return f"The change is likely after {before}, up to {after}."


def places(stands: Standing) -> dict[str, RacePlace]:
    """Each contender against the oldest kernel of each of its blocks."""
    found = {}
    for name in stands.race.contenders:
        ratios = []
        blocks = [block for block in stands.speeds if name in block]
        for block in blocks:
            first = next(one for one in stands.race.contenders if one in block)
            if first != name:
                ratios.append(log(block[name] / block[first]))
        if not ratios:
            found[name] = RacePlace(len(blocks))
            continue
        low, high = racing.interval(ratios)
        found[name] = RacePlace(len(blocks), exp(fsum(ratios) / len(ratios)), exp(low), exp(high))
    return found


def why_failed(stands: Standing, contender: str) -> str:
    """Why one could not be measured; "" for who could."""
    if contender not in stands.race.failed:
        return ""
    _, run, why = stands.race.failed[contender]
    return f"{why} The last was run {run}."


def _result(stands: Standing) -> str:
    race, found, kernels = stands.race, stands.of_bisection, kernels_of(stands)
    row = Series.objects.select_related("configuration", "workload").get(pk=race.contenders[0])
    what = (
        f"{row.configuration.label} for {row.workload.title if row.workload else 'the workload'} "
        f"by {words.measure(race.test, race.category)}"
    )
    before, after = kernels[found.before], kernels[found.after]
    for end in (found.before, found.after):
        if found.sides.get(end) == FAILED:
            return f"{kernels[end]} could not be measured any more: {_looked_for(found, kernels)}"
    if found.ratio is None:
        return f"The budget ended the search for what changed {what}: {so_far(stands)}"
    seen = words.counted(found.fresh, "block" if len(race.contenders) == 2 else "fresh block")
    if found.status == FASTER:
        return _found(stands, found, kernels, what, seen)
    inside = f"within {race.margin_percent:g}%, {_interval(found)}, in {seen}"
    if found.status == EQUIVALENT and not found.is_neighbours:
        return (
            f"{after} is as fast as {before} with {what} ({inside}): nothing between them was "
            "measured."
        )
    if found.status == EQUIVALENT:
        return (
            f"{after} is as fast as {before}, to which the search led, with {what} ({inside}): "
            "the change is in several steps, or the search went astray. "
            f"{_whole(found, kernels, race.contenders)}"
        )
    if stands.is_of_ticks:
        return (
            f"Inconclusive: {after} is {words.faster(found.ratio)} than {before} with {what} in "
            f"each of {seen}. {words.OF_TICKS}"
        )
    more = "" if not found.more_blocks else words.counted(found.more_blocks, "more block")
    needed = f" About {more} of the two would decide." if more else ""
    return (
        f"Inconclusive: {after} is {words.faster(found.ratio)} than {before} with {what} "
        f"({_interval(found)}, in {seen}).{needed}"
    )


def _looked_for(found: Bisection, kernels: Mapping[str, str]) -> str:
    """The two between which it was looked for, as the end of a sentence."""
    return f"it was looked for after {kernels[found.before]}, up to {kernels[found.after]}."


def _found(
    stands: Standing, found: Bisection, kernels: Mapping[str, str], what: str, seen: str
) -> str:
    assert found.ratio is not None
    before, after = kernels[found.before], kernels[found.after]
    interval = f"{_interval(found)}, in {seen}"
    if len(stands.race.contenders) == 2:
        return f"{after} is {words.faster(found.ratio)} than {before} with {what} ({interval})."
    direction = "slower" if found.ratio < 1 else "faster"
    first, last = (stands.race.contenders.index(one) for one in (found.before, found.after))
    between = [kernels[one] for one in stands.race.contenders[first + 1 : last]]
    unmeasured = f"; {', '.join(between)} between them could not be measured" if between else ""
    return (
        f"{after} is where {what} became {direction}: {words.faster(found.ratio)} than {before}, "
        f"the kernel before it ({interval} that did not choose the two{unmeasured}). "
        f"{_whole(found, kernels, stands.race.contenders)}"
    ).strip()


def _whole(found: Bisection, kernels: Mapping[str, str], contenders: list[str]) -> str:
    """The newest beside the oldest, a sentence; "" where both were never in one block."""
    if found.whole is None:
        return ""
    ratio, low, high = found.whole
    reach = f" (95% interval {_span(low, high)})" if isfinite(high) else ""
    newest, oldest = kernels[contenders[-1]], kernels[contenders[0]]
    return f"{newest} is {words.faster(ratio)} than {oldest}{reach}."


def _interval(found: Bisection) -> str:
    if found.low is None or found.high is None or not isfinite(found.high):
        return "no interval can be told"
    return f"95% interval {_span(found.low, found.high)}"


def _span(low: float, high: float) -> str:
    """An interval of a ratio beside *faster* or *slower*: "7.9 to 12.4%", signed around none."""
    ends = sorted(100 * (one - 1) for one in (low, high))
    if ends[1] < 0:
        ends = [-one for one in reversed(ends)]
    elif ends[0] < 0:
        return f"{ends[0]:+,.1f} to {ends[1]:+,.1f}%"
    return f"{ends[0]:,.1f} to {ends[1]:,.1f}%"


def word(side: str, blocks: int) -> str:
    """What a page says of one: on which side it is, or how far it was looked at."""
    return WORDS.get(side, "not decided yet" if blocks else "not looked at")


WORDS = {BEFORE: "before the change", AFTER: "after it", FAILED: "failed"}
"""How a page says of which side a contender is."""
