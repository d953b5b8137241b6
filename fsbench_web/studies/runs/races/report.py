"""A race as its page and the API show it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from urllib.parse import urlencode

from fsbench_web.core.scoring.quality import FLAGS
from fsbench_web.core.stats import racing
from fsbench_web.core.stats.bisecting import AFTER, BEFORE, Bisection
from fsbench_web.core.stats.bisecting import FAILED as NOT_MEASURED
from fsbench_web.core.stats.racing import ENDED, RacePlace
from fsbench_web.core.stats.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE
from fsbench_web.studies.models import Job, Race
from fsbench_web.studies.runs.races import changes, words
from fsbench_web.studies.runs.races.standing import Standing, labels_of, standing

LEADING, LEFT, OUT, BEST, ALONE = "leading", "left", "out", "best", "the only one left"
UNDECIDED = "undecided"
HELD, STOPPED = "held", "stopped"


@dataclass(frozen=True)
class Row:
    """A contender. ``state``: leading, left, or out (``why``, ``reason``), or before and after of a
    search for a change. ``place`` is against the leader, or the oldest kernel. ``flags`` are of the
    score that decides.
    """

    series_id: int
    label: str
    state: str
    word: str
    place: RacePlace
    blocks: int
    why: str = ""
    reason: str = ""
    flags: Sequence[str] = ()

    @property
    def flag_labels(self) -> list[tuple[str, str]]:
        """Each flag of the score that decides, as a page has it: (label, what it means)."""
        return [(FLAGS[flag].label, FLAGS[flag].sentence) for flag in self.flags if flag in FLAGS]

    @property
    def badge(self) -> str:
        """How its state is shown."""
        classes = {
            BEST: "is-best",
            EQUIVALENT: "is-best",
            LEADING: "is-running",
            OUT: "is-cancelled",
        }
        classes |= {changes.WORDS[BEFORE]: "is-done", changes.WORDS[AFTER]: "is-warn"}
        return classes.get(self.word, "is-queued")

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ratio of its speed to the leader's, in percent of difference, where it is known."""
        low, high = self.place.low, self.place.high
        if low is None or high is None or not isfinite(high):
            return None
        return 100 * (low - 1), 100 * (high - 1)

    @property
    def difference_percent(self) -> float | None:
        """How much faster it is than the leader; below 0: slower."""
        return None if self.place.ratio is None else 100 * (self.place.ratio - 1)


@dataclass(frozen=True)
class RaceReport:
    """``phase``: halving, confirming (ends in a search), ended, held (waits for a person), stopped.
    ``leader`` is "" without a measurement. ``probability``: that it is the best, or None.
    """

    race: Race
    standing: Standing
    of_race: racing.Race | Bisection
    phase: str
    rows: list[Row]
    leader: str
    probability: float | None
    blocks: int

    @property
    def badge(self) -> str:
        """How its phase is shown."""
        return {ENDED: "is-done", HELD: "is-warn", STOPPED: "is-cancelled"}.get(
            self.phase, "is-running"
        )

    @property
    def is_known(self) -> bool:
        """Whether it ended with an answer."""
        return self.phase == ENDED and self.of_race.status != INCONCLUSIVE

    @property
    def conclusion(self) -> str:
        """How it ended, with the flags of the scores that it compares; "" of one that goes on."""
        if not self.race.conclusion:
            return ""
        compared = {row.label: row.flags for row in self.rows if row.series_id in self._compared}
        return f"{self.race.conclusion} {words.flagged(compared)}".rstrip()

    @property
    def _compared(self) -> set[int]:
        """The series between which the conclusion is."""
        of_race = self.of_race
        if isinstance(of_race, Bisection):
            return {int(of_race.before), int(of_race.after)}
        left = {row.series_id for row in self.rows if row.state != OUT}
        leading = {row.series_id for row in self.rows if row.state == LEADING}
        return left if len(left) <= racing.FINALISTS else leading

    @property
    def deciding_query(self) -> str:
        """What the form of more blocks needs to decide between the finalists; "" where the race
        decided, or nobody knows what would.
        """
        race = self.of_race
        if self.phase != ENDED or self.is_known or isinstance(race, Bisection):
            return ""
        blocks = race.more_blocks
        if race.ratio is not None and race.fresh < racing.LEAST_LOOK:
            blocks = racing.least_for_interval()
        if not blocks:
            return ""
        return urlencode({"series": race.remaining, "blocks": blocks}, doseq=True)

    @property
    def share(self) -> float:
        """Of the budget that is spent, 0 to 1; all of it once it ended."""
        if self.race.ended_at is not None:
            return 1.0
        spent, budget = self.standing.spent_s, float(self.race.budget_s or 0)
        if self.race.budget_runs is not None:
            spent, budget = self.standing.spent_runs, self.race.budget_runs
        return min(1.0, spent / budget)

    @property
    def is_emulated(self) -> bool:
        """Whether its numbers are of guests in software. One query."""
        return words.is_emulated(self.race)

    @property
    def is_change(self) -> bool:
        return self.race.find == Race.Find.CHANGE

    @property
    def so_far(self) -> str:
        """Between which two a change is, as far as is known."""
        return changes.progress_in_words(self.standing)

    @property
    def measure(self) -> str:
        return words.measure(self.race.test, self.race.category)

    @property
    def budget(self) -> str:
        return words.budget(self.race)

    @property
    def remaining_s(self) -> float | None:
        """What is left of the hours."""
        budget_s = self.race.budget_s
        return None if budget_s is None else max(0.0, budget_s - self.standing.spent_s)

    @property
    def remaining_runs(self) -> int | None:
        budget_runs = self.race.budget_runs
        return None if budget_runs is None else max(0, budget_runs - self.standing.runs)

    @property
    def least_for_interval(self) -> int:
        """From how many blocks on a row has an interval."""
        return racing.least_for_interval()

    @property
    def remaining_count(self) -> int:
        """How many contenders are not out."""
        return sum(row.state != OUT for row in self.rows)


def report_of(job: Job) -> RaceReport | None:
    """Where the race of a job stands; None for a job without one. Five queries."""
    race = Race.objects.filter(job=job).first()
    if race is None:
        return None
    race_standing = standing(race)
    if race.find == Race.Find.CHANGE:
        return _of_change(race_standing)
    try:
        of_race = race_standing.of_race
    except ValueError:  # its runs are not what it asked for: it was stopped, and says so
        of_race = racing.Race(ENDED, (), {}, "", 0.0)
    labels = labels_of(race)
    leader = of_race.leader if race_standing.speeds else ""
    phase = _phase(race_standing, of_race.phase)
    is_open = race.ended_at is None or of_race.status == FASTER
    places = race_standing.places if leader else dict.fromkeys(race.contenders, RacePlace(0))
    rows = []
    for name in race.contenders:
        out = of_race.eliminated.get(name)
        state = OUT if out else LEADING if name == leader else LEFT
        rows.append(
            Row(
                int(name),
                labels.get(name, name),
                state,
                _word(state, of_race.status if phase == ENDED else "", len(of_race.remaining)),
                places[name],
                out.blocks if out else len(race_standing.speeds),
                out.why if out else "",
                words.why_eliminated(out, race, name) if out else "",
                race_standing.flags.get(name, ()),
            )
        )
    # Who is left by speed, then who came furthest.
    rows.sort(key=lambda row: (row.state == OUT, -row.blocks, -_speed(row)))
    return RaceReport(
        race,
        race_standing,
        of_race,
        phase,
        rows,
        labels.get(leader, ""),
        race_standing.probability if leader and is_open else None,
        len(race_standing.speeds),
    )


def _of_change(race_standing: Standing) -> RaceReport:
    race = race_standing.race
    try:
        bisection = race_standing.of_bisection
    except ValueError:  # as above
        ends = race.contenders[0], race.contenders[-1]
        bisection = Bisection(ENDED, {}, *ends, (), 0.0)
    labels, places = labels_of(race), changes.places(race_standing)
    rows = []
    for name in race.contenders:
        side = bisection.sides.get(name, LEFT)
        has_failed = name in race.failed
        state = OUT if has_failed else side
        why = NOT_MEASURED if has_failed else ""
        reason = changes.why_failed(race_standing, name)
        place = places[name]
        word = changes.word(NOT_MEASURED if has_failed else side, place.blocks)
        label = labels.get(name, name)
        flags = race_standing.flags.get(name, ())
        rows.append(Row(int(name), label, state, word, place, place.blocks, why, reason, flags))
    return RaceReport(
        race,
        race_standing,
        bisection,
        _phase(race_standing, bisection.phase),
        rows,
        "",
        None,
        len(race_standing.speeds),
    )


def _phase(race_standing: Standing, phase: str) -> str:
    if race_standing.race.ended_at is not None:
        return ENDED if phase == ENDED else STOPPED
    return HELD if race_standing.is_held else phase


def _word(state: str, status: str, remaining: int) -> str:
    """Best and equivalent belong to a verdict; without one nobody leads at the end."""
    if state == OUT:
        return OUT
    if remaining == 1:
        return ALONE
    if status == EQUIVALENT:
        return EQUIVALENT
    if status == INCONCLUSIVE:
        return UNDECIDED
    if state == LEADING:
        return BEST if status == FASTER else LEADING
    return "next best" if status == FASTER else "still in"


def _speed(row: Row) -> float:
    if row.state == LEADING:
        return float("inf")
    return row.place.ratio or 0.0
