"""The sentence of a race that may be quoted, and why a contender is out."""

from collections.abc import Mapping, Sequence
from math import isfinite

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core import numbers
from fsbench_web.core.numbers import counted, duration
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.quality import FLAGS
from fsbench_web.core.stats import racing
from fsbench_web.core.stats.bisecting import Bisection
from fsbench_web.core.stats.racing import FAILED, FINALISTS, Elimination
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER, outlook, outlook_words
from fsbench_web.studies.models import Race, Series
from fsbench_web.studies.runs.races.standing import Standing, labels_of

LEAST_PERCENT = 0.001
"""What is less is left by binary rounding."""


def measure(test: str, category: str) -> str:
    """What decides: "write, total average"."""
    return f"{testnames.in_sentence(test)}, {categories.in_sentence(categories.label(category))}"


EMULATED_WORDS = (
    "Emulated: for function, not for speed, so that nothing is said of how fast a real machine is."
)


OF_TICKS = (
    "Each took few ticks of its tool's timer, which alone may be why nothing scatters: measure "
    "more work at a time."
)
"""Of two with the same result in all blocks, and the flag ``clock`` on their scores."""


def conclusion(standing: Standing) -> str:
    """How the race ended, and what it took."""
    return with_emulated(standing.race, f"{_result(standing)} {cost_sentence(standing)}")


def is_emulated(race: Race) -> bool:
    """Whether anybody in it is measured in a guest that is emulated."""
    rows = Series.objects.filter(pk__in=race.contenders)
    return any(
        Machine.of(machine).is_emulated for machine in rows.values_list("machine", flat=True)
    )


def with_emulated(race: Race, text: str) -> str:
    """A sentence that may be quoted never stands without what its numbers are worth."""
    return f"{text} {EMULATED_WORDS}" if is_emulated(race) else text


def flagged(flags: Mapping[str, Sequence[str]]) -> str:
    """What the scores behind a conclusion are flagged with, by what each contender is called, a
    sentence: "Flagged: xfs (contended, drifted); ext4 (contended)."; "" of sound ones.
    """
    parts = [
        f"{label} ({', '.join(FLAGS[slug].label if slug in FLAGS else slug for slug in slugs)})"
        for label, slugs in flags.items()
        if slugs
    ]
    return f"Flagged: {'; '.join(parts)}." if parts else ""


def leader_so_far(standing: Standing) -> str:
    """Who was ahead in a race that was stopped on its way."""
    try:
        of_race = standing.of_race
    except ValueError:
        return ""
    if not of_race.leader or not standing.speeds:
        return "No round had ended yet."
    name = labels_of(standing.race).get(of_race.leader, of_race.leader)
    blocks = counted(len(standing.speeds), "round")
    return f"No clear winner yet: {name} was ahead after {blocks}, not confirmed."


def faster(ratio: float) -> str:
    """A ratio of speeds: "6.1% faster", "0.4% slower"."""
    percent = abs(100 * (ratio - 1))
    size = _percent_size(percent, 0 if percent >= 10 else 1)
    return f"{size}% {'faster' if ratio >= 1 else 'slower'}"


def beside(ratio: float, other: str) -> str:
    """A ratio of speeds to that of another: "6.1% faster than xfs", "as fast as xfs"."""
    is_same = 100 * abs(ratio - 1) < LEAST_PERCENT
    return f"as fast as {other}" if is_same else f"{faster(ratio)} than {other}"


def span_beside(low: float, high: float) -> str:
    """An interval with *faster* or *slower*: "7.9 to 12.4%"; around none with signs."""
    if low < 1 < high:
        return f"{_percent(low)} to +{_percent(high)}%"
    return span(2 - high, 2 - low) if high <= 1 else span(low, high)


def span(low: float, high: float) -> str:
    """An interval of a ratio of speeds, in percent: "\N{MINUS SIGN}0.4 to 7.3%"."""
    return f"{_percent(low)} to {_percent(high)}%"


def why_eliminated(out: Elimination, race: Race, contender: str) -> str:
    """Why somebody is out, for the page and the API."""
    if out.why == FAILED:
        _, run, why = race.failed[contender]
        return f"{why} The last was run {run}."
    distance = beside(out.ratio or 1, "the leader of that moment")
    if out.why == racing.BEHIND:
        return f"Surely behind by more than {race.margin_percent:g}%: {distance}."
    return f"Of the slower half of its round: {distance}."


def budget(race: Race) -> str:
    """How much there is to spend: "8 h", "120 runs"."""
    if race.budget_s is not None:
        return duration(race.budget_s)
    return counted(race.budget_runs or 0, "run")


def _result(standing: Standing) -> str:
    """Who won against the runner-up, in a sentence that the race's status decides."""
    race, of_race = standing.race, standing.of_race
    labels = labels_of(race)
    count = len(race.contenders)
    workload = Series.objects.values_list("workload__title", flat=True).get(pk=race.contenders[0])
    subject = f"{count} configurations for {workload} by {measure(race.test, race.category)}"
    if not of_race.leader:
        return f"None of {subject} could be measured."
    leader = labels[of_race.leader]
    if len(of_race.remaining) < FINALISTS:
        return f"{leader} is the only one of {subject} that did not fail."
    if of_race.ratio is None or of_race.low is None or of_race.high is None:
        return (
            f"No clear winner among {subject}: the budget ended before rounds of the two finalists "
            "alone. To decide, give the race a larger budget."
        )
    other = labels[next(name for name in of_race.remaining if name != of_race.leader)]
    seen = counted(of_race.fresh, "fresh round")
    interval = no_interval(seen)
    if isfinite(of_race.high):
        interval = f"95% interval {span_beside(of_race.low, of_race.high)}, in {seen}"
    ahead = f"{beside(of_race.ratio, other)}, the runner-up"
    if of_race.status == FASTER:
        return f"{leader} is the best of {subject}: {ahead} ({interval})."
    if of_race.status == EQUIVALENT:
        return (
            f"{leader} and {other} are equivalent, and the best of {subject}: they differ by less "
            f"than {race.margin_percent:g}% ({interval})."
        )
    if standing.is_of_ticks:
        ahead = f"{ahead}, in each of {seen}"
        return f"No clear winner among {subject}: {leader} is {ahead}. {OF_TICKS}"
    needed = blocks_needed(of_race)
    if of_race.fresh < racing.LEAST_LOOK:
        blocks = counted(racing.least_for_interval(), "more round")
        needed = f"To decide, measure the two in {blocks}, or give the race a larger budget."
    return f"No clear winner among {subject}: {leader} is {ahead} ({interval}). {needed}"


def no_interval(seen: str) -> str:
    """Why there is no interval of so many blocks: "in 1 fresh block; an interval takes 5"."""
    return f"in {seen}; an interval takes {racing.least_for_interval()}"


def blocks_needed(ended: racing.Race | Bisection) -> str:
    """What would decide between the last two."""
    found = outlook(ended.low, ended.high, ended.more_blocks)
    return outlook_words(found, ended.more_blocks, "more round")


def cost_sentence(standing: Standing) -> str:
    """What the race took, of what it might, and compared with the matrix that it stands for."""
    blocks = len(standing.blocks)
    whole = len(standing.race.contenders) * blocks
    spending = spent(standing)
    if whole <= standing.runs:
        return f"{spending}."
    each = "its round" if blocks == 1 else f"each of its {blocks} rounds"
    return f"{spending}; everything in {each} would have taken {whole}."


def spent(standing: Standing) -> str:
    """What it took of its budget: "It took 38 runs of 80"."""
    race = standing.race
    text = f"It took {counted(standing.runs, 'run')}"
    if race.budget_s is not None:
        text += f" in {duration(standing.spent_s)} of {duration(race.budget_s)}"
    else:
        text += f" of {race.budget_runs}"
    return text


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    size = _percent_size(abs(percent), 1)
    return f"\N{MINUS SIGN}{size}" if percent < 0 and size != "0.0" else size


def _percent_size(size: float, decimals: int) -> str:
    """What binary rounding leaves of no difference is none."""
    return "0.0" if size < LEAST_PERCENT else numbers.percent_size(size, decimals)
