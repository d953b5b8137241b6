"""What is said of a race that looks for the kernel at which speed changed."""

from collections.abc import Mapping
from math import exp, fsum, isfinite, log

from fsbench_web.core.numbers import counted
from fsbench_web.core.stats import racing
from fsbench_web.core.stats.bisecting import AFTER, BEFORE, FAILED, Bisection
from fsbench_web.core.stats.racing import RacePlace
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.races import words
from fsbench_web.studies.runs.races.standing import Standing


def kernels_of(standing: Standing) -> dict[str, str]:
    """The kernel of each contender, by its key."""
    rows = Series.objects.filter(pk__in=standing.race.contenders)
    return {str(pk): kernel for pk, kernel in rows.values_list("pk", "machine__kernel")}


def conclusion(standing: Standing) -> str:
    """How it ended, and what it took."""
    return words.with_emulated(standing.race, f"{_result(standing)} {words.spent(standing)}.")


def progress_in_words(standing: Standing) -> str:
    """Between which two it is, of one that goes on or was stopped on its way."""
    try:
        bisection = standing.of_bisection
    except ValueError:
        return ""
    kernels = kernels_of(standing)
    before, after = kernels[bisection.before], kernels[bisection.after]
    if BEFORE not in bisection.sides.values():
        return f"Whether {after} differs from {before} is not known yet."
    if bisection.is_neighbours:
        return f"The search led to {after} after {before}, not confirmed."
    return f"The change is likely after {before}, up to {after}."


def places(standing: Standing) -> dict[str, RacePlace]:
    """Each contender against the oldest kernel of each of its blocks."""
    by_contender = {}
    for name in standing.race.contenders:
        ratios = []
        blocks = [block for block in standing.speeds if name in block]
        for block in blocks:
            first = next(contender for contender in standing.race.contenders if contender in block)
            if first != name:
                ratios.append(log(block[name] / block[first]))
        if not ratios:
            by_contender[name] = RacePlace(len(blocks))
            continue
        low, high = racing.interval(ratios)
        by_contender[name] = RacePlace(
            len(blocks), exp(fsum(ratios) / len(ratios)), exp(low), exp(high)
        )
    return by_contender


def why_failed(standing: Standing, contender: str) -> str:
    """Why one could not be measured; "" for who could."""
    if contender not in standing.race.failed:
        return ""
    _, run, why = standing.race.failed[contender]
    return f"{why} The last was run {run}."


def _result(standing: Standing) -> str:
    race, bisection, kernels = standing.race, standing.of_bisection, kernels_of(standing)
    row = Series.objects.select_related("configuration", "workload").get(pk=race.contenders[0])
    subject = (
        f"{row.configuration.label} for {row.workload.title if row.workload else 'the workload'} "
        f"by {words.measure(race.test, race.category)}"
    )
    before, after = kernels[bisection.before], kernels[bisection.after]
    for end in (bisection.before, bisection.after):
        if bisection.sides.get(end) == FAILED:
            return f"{kernels[end]} failed to measure: the change is after {before}, up to {after}."
    if bisection.ratio is None:
        so_far = progress_in_words(standing)
        so_far = so_far[:1].lower() + so_far[1:]
        return f"The budget ended the search for what changed {subject}: {so_far}"
    seen = counted(bisection.fresh, "round" if len(race.contenders) == 2 else "fresh round")
    if bisection.status == FASTER:
        return _change_found(standing, bisection, kernels, subject, seen)
    inside = f"within {race.margin_percent:g}%, {_interval(bisection, seen)}"
    if bisection.status == EQUIVALENT and not bisection.is_neighbours:
        return (
            f"{after} is as fast as {before} with {subject} ({inside}): nothing between them was "
            "measured."
        )
    if bisection.status == EQUIVALENT:
        return (
            f"{after} is as fast as {before}, to which the search led, with {subject} ({inside}): "
            "the change is in several steps, or the search went astray. "
            f"{_newest_beside_oldest(bisection, kernels, race.contenders)}"
        )
    if standing.is_of_ticks:
        return (
            f"Inconclusive: {after} is {words.beside(bisection.ratio, before)} with "
            f"{subject} in each of {seen}. {words.OF_TICKS}"
        )
    needed = words.blocks_needed(bisection)
    if bisection.fresh < racing.LEAST_LOOK:
        needed = "To tell, give the search a larger budget."
    return (
        f"Inconclusive: {after} is {words.beside(bisection.ratio, before)} with {subject} "
        f"({_interval(bisection, seen)}). {needed}"
    )


def _change_found(
    standing: Standing, bisection: Bisection, kernels: Mapping[str, str], subject: str, seen: str
) -> str:
    assert bisection.ratio is not None
    before, after = kernels[bisection.before], kernels[bisection.after]
    interval = _interval(bisection, seen)
    if len(standing.race.contenders) == 2:
        return f"{after} is {words.beside(bisection.ratio, before)} with {subject} ({interval})."
    direction = "slower" if bisection.ratio < 1 else "faster"
    first, last = (
        standing.race.contenders.index(contender)
        for contender in (bisection.before, bisection.after)
    )
    between = [kernels[contender] for contender in standing.race.contenders[first + 1 : last]]
    unmeasured = f"; {', '.join(between)} between them could not be measured" if between else ""
    which = "the last before it that was measured" if between else "the kernel before it"
    return (
        f"{after} is where {subject} became {direction}: {words.faster(bisection.ratio)} than "
        f"{before}, {which} ({interval} that did not choose the two{unmeasured}). "
        f"{_newest_beside_oldest(bisection, kernels, standing.race.contenders)}"
    ).strip()


def _newest_beside_oldest(
    bisection: Bisection, kernels: Mapping[str, str], contenders: list[str]
) -> str:
    """The newest compared with the oldest, a sentence; "" where both were never in one block."""
    if bisection.last_to_first is None:
        return ""
    ratio, low, high = bisection.last_to_first
    reach = f" (95% interval {words.span_beside(low, high)})" if isfinite(high) else ""
    newest, oldest = kernels[contenders[-1]], kernels[contenders[0]]
    return f"{newest} is {words.beside(ratio, oldest)}{reach}."


def _interval(bisection: Bisection, seen: str) -> str:
    if bisection.low is None or bisection.high is None or not isfinite(bisection.high):
        return words.no_interval(seen)
    return f"95% interval {words.span_beside(bisection.low, bisection.high)}, in {seen}"


def word(side: str, blocks: int) -> str:
    """What a page says of one: on which side it is, or how far it was looked at."""
    return WORDS.get(side, "not decided yet" if blocks else "not looked at")


WORDS = {BEFORE: "before the change", AFTER: "after it", FAILED: "failed"}
"""How a page names the side that a contender is on."""
