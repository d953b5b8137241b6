"""Where a race stands, from its runs alone, so that a killed process finds the same.

A contender is a series. Its n-th run is in the n-th block, but for a search for a change; a run
that replaces another (``retry_of``) stays in its block.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from fsbench_web.core import units
from fsbench_web.core.scoring.quality import CLOCK, ordered
from fsbench_web.core.stats import bisecting, racing
from fsbench_web.core.stats.bisecting import Bisection
from fsbench_web.core.stats.racing import RacePlace
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import END_STATES, Race, RunState, Series
from fsbench_web.studies.scores.queries import ScoreFilter

MOST_RUNS = 2000
"""Of one race, whatever its hours would hold; as of any job."""
MOST_ATTEMPTS = 2
"""A contender that fails as often in one block is out."""


class _Row(NamedTuple):
    id: int
    series_id: int
    state: str
    cause: str
    retry_of_id: int | None
    block: str
    rerun: int
    cancel_requested_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def has_ended(self) -> bool:
        return self.state in END_STATES

    @property
    def took_s(self) -> float:
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True)
class Turn:
    """A contender's turn in a block: its run there, and those that replaced it, in order."""

    runs: tuple[_Row, ...]

    @property
    def last(self) -> _Row:
        return self.runs[-1]

    @property
    def finished_run(self) -> _Row | None:
        """The run that measured it."""
        return next((run for run in self.runs if run.state == RunState.DONE), None)

    @property
    def counted(self) -> int:
        """How many runs it took, but for those that fsbench itself ran again."""
        return sum(run.rerun == 0 for run in self.runs)

    @property
    def took_s(self) -> float:
        return sum(run.took_s for run in self.runs)


@dataclass(frozen=True)
class Standing:
    """A race with its runs by block: {contender: turn} each. ``now`` counts what runs."""

    race: Race
    blocks: Sequence[Mapping[str, Turn]] = field(repr=False)

    @cached_property
    def is_unfinished(self) -> bool:
        """Whether a run of it waits or runs."""
        return any(not run.has_ended for block in self.blocks for run in _runs(block))

    @cached_property
    def was_cancelled(self) -> bool:
        return any(
            run.state == RunState.CANCELLED or run.cancel_requested_at is not None
            for block in self.blocks
            for run in _runs(block)
        )

    @cached_property
    def is_out_of_time(self) -> bool:
        """Whether its job stops before a run of it would have ended."""
        return any(run.cause == Cause.OUT_OF_TIME for block in self.blocks for run in _runs(block))

    @cached_property
    def pending(self) -> dict[str, Turn]:
        """Turns of the last block that are neither measured nor given up, by contender."""
        return {
            name: turn
            for name, turn in (self.blocks[-1].items() if self.blocks else ())
            if name not in self.race.failed and turn.finished_run is None
        }

    @cached_property
    def is_held(self) -> bool:
        """Whether it waits for a person: nobody failed, nothing of the block was let begin."""
        if self.is_unfinished or not self.pending:
            return False
        causes = {turn.last.cause for turn in self.pending.values()}
        if Cause.NOT_ALLOWED in causes:
            return True
        return causes == {Cause.REFUSED} and len(self.pending) == len(self.blocks[-1])

    @cached_property
    def values(self) -> list[dict[str, float]]:
        """The measure of each contender in each block that has ended, in its unit."""
        values, failed = self.race.values, self.race.failed
        return [
            {
                name: values[str(turn.finished_run.id)]
                for name, turn in block.items()
                if turn.finished_run is not None and failed.get(name, [-1])[0] != place
            }
            for place, block in enumerate(self.blocks[:-1] if self.pending else self.blocks)
        ]

    @cached_property
    def speeds(self) -> list[dict[str, float]]:
        """The same where more is better."""
        is_less_better = bool(self.race.unit) and units.lower_is_better(self.race.unit)
        power = -1 if is_less_better else 1
        return [{name: value**power for name, value in block.items()} for block in self.values]

    @cached_property
    def of_race(self) -> racing.Race:
        """Where it stands. Raises ValueError where its runs are not those of this race."""
        course = racing.race(*self._measured, **self._spent)
        is_of_ticks = self._is_of_ticks(course, course.remaining)
        return replace(course, status=racing.INCONCLUSIVE) if is_of_ticks else course

    @cached_property
    def of_bisection(self) -> Bisection:
        """Where the search for a change stands. Raises ValueError as ``of_race`` does."""
        bisection = bisecting.bisection(*self._measured, **self._spent)
        is_of_ticks = self._is_of_ticks(bisection, (bisection.before, bisection.after))
        return replace(bisection, status=racing.INCONCLUSIVE) if is_of_ticks else bisection

    @property
    def is_of_ticks(self) -> bool:
        """Whether nothing is said of the two in the end, because they scatter by nothing and are
        measured by few ticks of their tool's timer.
        """
        course = self.course
        return course.status == racing.INCONCLUSIVE and _is_still(course)

    def _is_of_ticks(self, course: racing.Race | Bisection, pair: Sequence[str]) -> bool:
        """As verdicts have it (``compare.tables.verdicts``): that nothing scatters is the timer's
        doing, and a tick more or less may be the difference. One query, where nothing scatters.
        """
        if course.status == racing.INCONCLUSIVE or not _is_still(course):
            return False
        return any(CLOCK in self.flags.get(name, ()) for name in pair)

    @cached_property
    def flags(self) -> dict[str, list[str]]:
        """What the score of each contender that decides is flagged with, where it is. One query."""
        race, flags = self.race, defaultdict[str, set[str]](set)
        wanted = ScoreFilter(tests=(race.test,), categories=(race.category,)).scores
        scores = wanted.filter(series__in=list(map(int, race.contenders)))
        for series_id, score_flags in scores.values_list("series_id", "flags"):
            flags[str(series_id)].update(score_flags)
        return {name: ordered(slugs) for name, slugs in flags.items() if slugs}

    @property
    def course(self) -> racing.Race | Bisection:
        """The one of both that it is."""
        return self.of_bisection if self.race.find == Race.Find.CHANGE else self.of_race

    @property
    def _measured(self) -> tuple[Sequence[str], list[dict[str, float]], float]:
        race = self.race
        budget = race.budget_s if race.budget_s is not None else race.budget_runs
        return race.contenders, self.speeds, budget or 0

    @property
    def _spent(self) -> dict[str, Any]:
        race = self.race
        is_timed = race.budget_s is not None
        return {
            "costs": [
                {name: turn.took_s if is_timed else turn.counted for name, turn in block.items()}
                for block in self.blocks[: len(self.values)]
            ],
            "failed": {name: sentence[0] for name, sentence in race.failed.items()},
            "most_runs": MOST_RUNS,
            "margin_percent": race.margin_percent,
        }

    @cached_property
    def places(self) -> dict[str, RacePlace]:
        """Each contender against the leader."""
        return racing.places(self.of_race.leader, self.race.contenders, self.speeds)

    @cached_property
    def probability(self) -> float:
        """That the leader is the best of those that are left."""
        return racing.probability(self.of_race.leader, self.of_race.remaining, self.speeds)

    @property
    def runs(self) -> int:
        """How many there were and are, those that wait among them; those that fsbench itself ran
        again are left out.
        """
        return sum(turn.counted for block in self.blocks for turn in block.values())

    @property
    def queued_runs(self) -> int:
        """How many of these wait."""
        return len([run for run in self._last_runs if run.state == RunState.QUEUED])

    @property
    def active_runs(self) -> int:
        """How many of these are carried out now."""
        return len([run for run in self._last_runs if not run.has_ended]) - self.queued_runs

    @property
    def spent_runs(self) -> int:
        """How many of these have ended: what a budget of runs is less."""
        return self.runs - self.queued_runs - self.active_runs

    @property
    def _last_runs(self) -> list[_Row]:
        return [turn.last for block in self.blocks for turn in block.values()]

    @property
    def finished_count(self) -> int:
        """How many measured something."""
        return sum(
            turn.finished_run is not None for block in self.blocks for turn in block.values()
        )

    @property
    def spent_s(self) -> float:
        """What they took in all, in seconds."""
        return sum(turn.took_s for block in self.blocks for turn in block.values())


def standing(race: Race) -> Standing:
    """Where a race stands, by its runs. One query."""
    fields = [name.removesuffix("_id") for name in _Row._fields]
    rows = [
        _Row(*values)
        for values in race.job.runs.filter(is_reference=False).order_by("id").values_list(*fields)
    ]
    following = {row.retry_of_id: row for row in rows if row.retry_of_id is not None}
    run_ids = {row.id for row in rows}
    blocks: list[dict[str, Turn]] = []
    counts: Counter[int] = Counter()
    named: dict[str, int] = {}
    for row in rows:
        if row.retry_of_id in run_ids:
            continue
        runs = [row]
        while (after := following.get(runs[-1].id)) is not None:
            runs.append(after)
        place = counts[row.series_id]
        if race.find == Race.Find.CHANGE:
            place = named.setdefault(row.block, len(blocks))
        if place == len(blocks):
            blocks.append({})
        blocks[place][str(row.series_id)] = Turn(tuple(runs))
        counts[row.series_id] += 1
    return Standing(race, blocks)


def labels_of(race: Race) -> dict[str, str]:
    """What each contender is called: its configuration, and what else tells it from the others."""
    rows = Series.objects.filter(pk__in=race.contenders).values_list(
        *("pk", "configuration__label", "journal_lun__name", "stack_luns", "machine__kernel")
    )
    journals = {journal for _, _, journal, _, _ in rows if journal}
    stacks = {stack for _, _, _, stack, _ in rows if stack}
    labels: dict[str, str] = {}
    for pk, label, journal, stack, kernel in rows:
        parts = [label, journal if len(journals) > 1 else ""]
        parts += [f"with {stack}" if stack and len(stacks) > 1 else "", kernel]
        labels[str(pk)] = ", ".join(part for part in parts if part)
    return labels


def _is_still(course: racing.Race | Bisection) -> bool:
    """Whether the ratio of the two came out the same in each of their blocks."""
    low, high = course.low, course.high
    return low is not None and high is not None and 0 < high <= low * (1 + 1e-9)


def _runs(block: Mapping[str, Turn]) -> list[Any]:
    return [run for turn in block.values() for run in turn.runs]
