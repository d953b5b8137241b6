"""The run written where one ends, in its transaction: a replacement, or the next repeat."""

from datetime import datetime

from fsbench_web.accounts import audit
from fsbench_web.core.scoring.repeating import Continue, Stop
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import (
    RepeatRule,
    Run,
)
from fsbench_web.studies.runs import (
    authority,
    new_runs,
    nudges,
    repeats,
)
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.series import next_repeat


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
        return f"Its job does not run it again by itself{again}."
    if why := authority.refusal(run.pk):
        return f"It is not run again by itself: {why}"
    if closing.is_over(job, clock.now()):
        return "It is not run again by itself: the time of its job is over."
    replacement = new_runs.create_queued(
        run.series,
        run.repeat,
        by=run.created_by,
        job=job,
        is_reference=run.is_reference,
        retry_of=run,
        repeat_rule=run.repeat_rule,
        follows=run,
        rerun=run.rerun + 1,
        block=run.block,
        tracing=run.tracing,
        why=f"Run again by itself after run {run.pk}: {cause.label}.",
    )
    audit.note(None, "run retried", f"run {run.pk}", as_run=replacement.pk, why=cause.label)
    nudges.nudge_after_commit([replacement])
    return f"It is run again by itself, as run {replacement.pk}."


def write_next_repeat(run: Run, now: datetime) -> None:
    """Write the next repeat, or why there is none. The rule's row is locked."""
    if run.repeat_rule_id is None:
        return
    rule = RepeatRule.objects.select_for_update().get(pk=run.repeat_rule_id)
    if rule.stopped_at is not None:
        return
    verdict = repeats.verdict(rule, run)
    if isinstance(verdict, Stop):
        rule.stopped_at, rule.stop_reason = now, verdict.reason[:300]
        rule.save(update_fields=["stopped_at", "stop_reason"])
    elif isinstance(verdict, Continue):
        following = new_runs.create_queued(
            run.series,
            next_repeat(run.series),
            by=run.created_by,
            job=run.job,
            repeat_rule=rule,
            follows=run,
            block=_next_block(rule, run),
            why=f"Repeated after run {run.pk}: {verdict.reason}.",
        )
        nudges.nudge_after_commit([following])


def _next_block(rule: RepeatRule, run: Run) -> str:
    """That of the next repeat: the others of its job that go on are in it too."""
    if run.job is None or not run.block:
        return ""
    return new_runs.block_of(run.job, new_runs.blocks_in(rule.runs.all()) + 1)
