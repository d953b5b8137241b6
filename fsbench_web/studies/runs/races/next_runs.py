"""What follows the end of a run of a race, in the transaction that ends it: the next block, another
attempt, or the end of the race.
"""

from datetime import datetime

from fsbench_web.core import units
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.scores import score_mean, score_repeats
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.stats.racing import ENDED
from fsbench_web.studies.models import Race, Run, RunState, Series
from fsbench_web.studies.runs import new_runs, nudges
from fsbench_web.studies.runs.races import changes, words
from fsbench_web.studies.runs.races.standing import MOST_ATTEMPTS, Standing, standing
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.sequence import block_order
from fsbench_web.studies.series import lock_all, next_repeat

OVERALL = "overall"


def continue_race(run: Run, now: datetime) -> None:
    """Call it where a run ends, after its results are stored, with its row locked."""
    if run.job_id is None or run.is_reference:
        return
    race = Race.objects.select_for_update().filter(job=run.job_id, ended_at=None).first()
    if race is None:
        return
    if Run.objects.get(pk=run.pk).state == RunState.DONE:
        _note_value(race, run)
    race_standing = standing(race)
    if race_standing.is_unfinished or race_standing.is_held:
        return
    if race_standing.is_out_of_time:
        text = "Stopped, because its job stops before another round would have ended."
        _end(race, now, f"{text} {_progress_in_words(race_standing)}")
    elif race_standing.was_cancelled:
        _end(
            race, now, f"Stopped, because a run was cancelled. {_progress_in_words(race_standing)}"
        )
    elif run.series.lun is None:
        _end(
            race, now, f"Stopped, because its LUN is not known. {_progress_in_words(race_standing)}"
        )
    elif not _try_again(race_standing, run):
        _next_block(race, run, now)


def _progress_in_words(race_standing: Standing) -> str:
    is_change = race_standing.race.find == Race.Find.CHANGE
    return (
        changes.progress_in_words(race_standing)
        if is_change
        else words.leader_so_far(race_standing)
    )


def _note_value(race: Race, run: Run) -> None:
    """Keep what the run measured, as what decides; None where it has no value that can."""
    value, unit = value_of(run.pk, race.test, race.category)
    is_usable = value is not None and value > 0 and unit == (race.unit or unit)
    if is_usable and not race.unit:
        race.unit = unit
    race.values[str(run.pk)] = value if is_usable else None
    race_standing = standing(race)
    turn = race_standing.blocks[-1].get(str(run.series_id))
    if not is_usable and turn is not None and run.pk == turn.last.id:
        why = f"Run {run.pk} printed no value of the measure that is above zero."
        _eliminate(race_standing, str(run.series_id), why)
    race.save(update_fields=["values", "failed", "unit"])


def value_of(run_id: int, test: str, category: str) -> tuple[float | None, str]:
    """The score of one run alone, and its unit; (None, "") where it has none."""
    cells: dict[tuple[int, int], float] = {}
    single: list[float] = []
    unit = ""
    blocks = measurements.read(measurements.of_run(run_id), lambda pair: at_load(*pair) == test)
    for numbers in blocks:
        for name, record_kb, file_kb, value, _ in numbers.columns.rows():
            unit = name.unit
            if record_kb is None or file_kb is None:
                single.append(value)
            else:
                cells[record_kb, file_kb] = value
    if not units.is_known(unit):
        return None, ""
    if category == MEAN:
        score = score_mean(single)
    else:
        score = score_repeats([cells] if cells else []).get(category)
    if score is None:
        return None, ""
    return score.value, units.overall_unit(unit) if category == OVERALL else unit


def _eliminate(race_standing: Standing, contender: str, why: str) -> None:
    """Take a contender out; the caller saves the race."""
    run = race_standing.blocks[-1][contender].last.id
    race_standing.race.failed[contender] = [len(race_standing.blocks) - 1, run, why]


def _try_again(race_standing: Standing, run: Run) -> bool:
    """Write another attempt for those that failed in this block. False: the block is complete."""
    race, again = race_standing.race, []
    for name, turn in race_standing.pending.items():
        if turn.counted < MOST_ATTEMPTS:
            again.append(turn.last)
        else:
            _eliminate(race_standing, name, f"It failed {turn.counted} times in one round.")
    race.save(update_fields=["failed"])
    rows = Run.objects.select_related("series__lun", "series__journal_lun", "job", "created_by")
    attempts = [
        new_runs.create_queued(
            failed.series,
            failed.repeat,
            by=failed.created_by,
            job=failed.job,
            retry_of=failed,
            follows=failed,
            block=failed.block,
            why=f"Second attempt after run {failed.pk}: who fails twice in a round is out.",
        )
        for failed in rows.filter(pk__in=[row.id for row in again]).order_by("id")
    ]
    nudges.nudge_after_commit(attempts[:1])
    return bool(attempts)


def _next_block(race: Race, run: Run, now: datetime) -> None:
    race_standing = standing(race)
    try:
        course = race_standing.course
    except ValueError as error:
        _end(race, now, f"Stopped, because its runs make no rounds of it: {error}.")
        return
    if course.phase == ENDED:
        conclusion = changes.conclusion if race.find == Race.Find.CHANGE else words.conclusion
        _end(race, now, conclusion(race_standing))
        return
    number = len(race_standing.blocks) + 1
    names = list(race.contenders)
    order = [names[place] for place in block_order(len(names), number, race.seed)]
    followed = {name: turn.last.id for name, turn in race_standing.blocks[-1].items()}
    related = ("series__lun", "series__journal_lun", "job", "created_by")
    before = Run.objects.select_related(*related).in_bulk(followed.values())
    # That of the run that ends too: its scores are made next. One order of locks for everybody.
    next_series = Series.objects.select_related("lun", "journal_lun").in_bulk(
        list(map(int, course.measure))
    )
    lock_all([*next_series.values(), run.series])
    # What somebody submitted again is in a block of its own, too.
    block = new_runs.block_of(race.job, new_runs.blocks_in(race.job.runs.all()) + 1)
    queued = []
    for name in order:
        if name in course.measure:
            # Whoever comes in later, as those of a bisection do, follows one of that block.
            last = before[followed.get(name, min(before))]
            series = next_series[int(name)]
            queued.append(
                new_runs.create_queued(
                    series,
                    next_repeat(series),
                    by=last.created_by,
                    job=last.job,
                    follows=last,
                    block=block,
                    why=f"Block {number} of the race, after run {run.pk}.",
                )
            )
    nudges.nudge_after_commit(queued[:1])


def _end(race: Race, now: datetime, conclusion: str) -> None:
    race.ended_at, race.conclusion = now, conclusion
    race.save(update_fields=["ended_at", "conclusion"])
