"""How the repeats of a configuration stand against their rule: read here, written by lifecycle."""

from collections import defaultdict
from collections.abc import Iterable

from fsbench_web.core.scoring.repeating import Continue, RepeatTarget, Stop, repeats_verdict
from fsbench_web.core.scoring.scores import score_repeats
from fsbench_web.core.scoring.testnames import CREATION_TESTS, at_load, is_cost
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import END_STATES, RepeatRule, Run, RunState
from fsbench_web.studies.scores import measurements

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
    """What follows the run that just ended; None while others of its rule are unfinished. Runs that
    fsbench repeated by itself do not count.
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
