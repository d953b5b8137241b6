"""How the repeats of a configuration stand against their rule: read here, written by lifecycle."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from fsbench_web.accounts import audit
from fsbench_web.core.scoring.repeating import Continue, RepeatTarget, Stop, repeats_verdict
from fsbench_web.core.scoring.scores import score_repeats
from fsbench_web.core.scoring.testnames import CREATION_TESTS, at_load, is_cost
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import END_STATES, RepeatRule, Run, RunState
from fsbench_web.studies.runs import authority, new_runs, nudges
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.series import next_repeat

OVERALL = "overall"


def target_of(rule: RepeatRule) -> RepeatTarget:
    return RepeatTarget(rule.half_width_percent, rule.least, rule.most)


def overall_scores(series_id: int) -> dict[str, list[float]]:
    """The overall score of each finished repeat by test, the oldest first. One query.

    Without a matrix: the value of each test at each load, without mkfs, mount and costs.
    """
    cells: dict[str, dict[int, dict[tuple[int, int], float]]] = defaultdict(dict)
    single: dict[str, list[float]] = defaultdict(list)
    for numbers in measurements.read(
        measurements.of_finished([series_id]),
        lambda test: test[0] not in CREATION_TESTS and not is_cost(test[0]),
    ):
        for name, record_kb, file_kb, value, _ in numbers.columns.rows():
            test = at_load(name.test, name.load)
            if record_kb is None or file_kb is None:
                single[test].append(value)
            else:
                cells[test].setdefault(numbers.run_id, {})[(record_kb, file_kb)] = value
    if not cells:
        return dict(single)
    return {
        test: [
            score.value
            for repeat in runs.values()
            if (score := score_repeats([repeat]).get(OVERALL)) is not None
        ]
        for test, runs in cells.items()
    }


def verdict(rule: RepeatRule, ended: Run) -> Continue | Stop | None:
    """What follows the run that just ended; None while others of its rule are unfinished. Automatic
    retries do not count.
    """
    counted = rule.runs.exclude(retried_as__rerun__gt=0)
    rows = list(counted.values_list("state", "cancel_requested_at", "cause"))
    states = [state for state, _, _ in rows]
    if any(state not in END_STATES for state in states):
        return None
    if any(cause == Cause.OUT_OF_TIME for _, _, cause in rows):
        done = states.count(RunState.DONE)
        repeats = f"{done} repeat{'' if done == 1 else 's'}"
        return Stop(f"stopped after {repeats}: its job stops before the next one would have ended")
    if RunState.CANCELLED in states or any(requested_at is not None for _, requested_at, _ in rows):
        return Stop("stopped: a repeat was cancelled")
    return repeats_verdict(
        overall_scores(ended.series_id),
        target_of(rule),
        done=states.count(RunState.DONE),
        ended=len(states),
    )


def in_words(rule: RepeatRule) -> str:
    """How the rule stands, for pages and the API."""
    if rule.stop_reason:
        return rule.stop_reason
    return target_in_words(target_of(rule))


def target_in_words(target: RepeatTarget) -> str:
    """What is to be reached, for pages."""
    return (
        "until the 95% confidence interval of the overall score is at most "
        f"± {target.half_width_percent:g}% of its mean in every test, "
        f"{target.least} to {target.most} repeats"
    )


def rules_of(series_ids: Iterable[int]) -> dict[int, list[RepeatRule]]:
    """The rules behind the runs of each series, the oldest first. One query."""
    fields = [field.attname for field in RepeatRule._meta.concrete_fields]
    rows = (
        Run.objects.filter(series__in=list(series_ids), repeat_rule__isnull=False)
        .order_by("repeat_rule")
        .values_list("series_id", *(f"repeat_rule__{name}" for name in fields))
        .distinct()
    )
    rules: dict[int, list[RepeatRule]] = defaultdict(list)
    for series_id, *values in rows:
        rules[series_id].append(RepeatRule(**dict(zip(fields, values, strict=True))))
    return rules


def replace_interrupted(run: Run, cause: Cause) -> str:
    """Write the run that replaces an interrupted one, as often as its job says. Returns a sentence.
    The caller has locked the row of the run.
    """
    job = run.job
    if job is None or run.series.lun is None:
        return ""
    if Run.objects.get(pk=run.pk).cancel_requested_at is not None:
        return ""
    if run.rerun >= job.run_again:
        again = f" after {run.rerun} time{'' if run.rerun == 1 else 's'}" if run.rerun else ""
        return f"Its job does not retry it{again}."
    if why := authority.refusal(run.pk):
        return f"It is not retried: {why}"
    if closing.is_over(job, clock.now()):
        return "It is not retried: the time of its job is over."
    replacement = new_runs.create_queued(
        run.series,
        run.repeat,
        by=run.created_by,
        job=job,
        retry_of=run,
        repeat_rule=run.repeat_rule,
        follows=run,
        rerun=run.rerun + 1,
        block=run.block,
        why=f"Retried after run {run.pk}: {cause.label}.",
    )
    audit.note(None, "run retried", f"run {run.pk}", as_run=replacement.pk, why=cause.label)
    nudges.nudge_after_commit([replacement])
    return f"It is retried as run {replacement.pk}."


def write_next_repeat(run: Run, now: datetime) -> None:
    """Write the next repeat, or why there is none. The rule's row is locked."""
    if run.repeat_rule_id is None:
        return
    rule = RepeatRule.objects.select_for_update().get(pk=run.repeat_rule_id)
    if rule.stopped_at is not None:
        return
    decided = verdict(rule, run)
    if isinstance(decided, Stop):
        rule.stopped_at, rule.stop_reason = now, decided.reason[:300]
        rule.save(update_fields=["stopped_at", "stop_reason"])
    elif isinstance(decided, Continue):
        following = new_runs.create_queued(
            run.series,
            next_repeat(run.series),
            by=run.created_by,
            job=run.job,
            repeat_rule=rule,
            follows=run,
            block=_next_block(rule, run),
            why=f"Repeated after run {run.pk}: {decided.reason}.",
        )
        nudges.nudge_after_commit([following])


def _next_block(rule: RepeatRule, run: Run) -> str:
    """That of the next repeat: the others of its job that go on are in it too."""
    if run.job is None or not run.block:
        return ""
    return new_runs.block_of(run.job, new_runs.blocks_in(rule.runs.all()) + 1)
