"""Confirm a change before its report: order rounds of old and new, then say what they measured.

A change and the job of its rounds are written in one transaction. The job's token is made of what
is measured, so a restart orders nothing twice, and watches of one line share the rounds. The owner
of the watch submits: the rights of now count, and the devices must be those that the owner named.

Guest kernels are measured as pairs in the same rounds, and so is a configuration that the owner
names for the old state. Anything else is only measurable as it is now: fresh rounds are compared
with the earlier runs of the old level. Method: docs/method.md.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from fsbench_web.accounts import audit
from fsbench_web.accounts.rights import as_user
from fsbench_web.catalog.workers import availability
from fsbench_web.compare.history.lines import Point
from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.compare.tables.verdicts.uncertainty import tenths
from fsbench_web.compare.watches import deliveries, reportable
from fsbench_web.compare.watches.reportable import CONFIRMED, INCONCLUSIVE, LESS
from fsbench_web.core.scoring import categories
from fsbench_web.core.stats.bisecting import least_runs
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.stats.verdicts import (
    LEAST_BLOCKS,
    PAIRED,
    Repeats,
    compared,
    rounding_of,
)
from fsbench_web.core.units import lower_is_better
from fsbench_web.core.versions import version_key
from fsbench_web.platform import clock, limits
from fsbench_web.studies.jobs.features.repeats import MAXIMUM_REPEATS
from fsbench_web.studies.jobs.forms.job_form import prefilled
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.repeating import configurations_of, repeating_job
from fsbench_web.studies.jobs.spec import JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import confirmation_text, planned, submit
from fsbench_web.studies.models import END_STATES, UNTRACED, Race, Run, RunState, Series
from fsbench_web.studies.runs.races.next_runs import value_of

LEAST_ROUNDS, MOST_ROUNDS, MOST_HOURS = LEAST_BLOCKS, MAXIMUM_REPEATS, 168
# Of the least runs: noise lets a search look more often than the least.
SEARCH_BUDGET = 3

ORDERED = "ordered"
TOO_FEW = "too_few_rounds"
IMPORTED, LUN_GONE, LUN_UNUSABLE = "imported", "lun_gone", "lun_unusable"
NOT_REPEATABLE, KERNEL_GONE, WORK_PROFILE = "not_repeatable", "kernel_gone", "work_profile"
OWN_ROUNDS, ONE_AT_A_TIME = "own_rounds", "one_at_a_time"
NOT_ALLOWED, DEVICES_CHANGED, NO_TIME, REFUSED = (
    *("not_allowed", "devices_changed", "no_time", "refused"),
)
OUTCOMES = {
    CONFIRMED: "Confirmed: {size}.",
    LESS: "Not confirmed: {size}.",
    INCONCLUSIVE: "Not confirmed: {size}. The noise is too large to tell.",
}
REASONS = {
    TOO_FEW: "fewer than three rounds were measured",
    IMPORTED: "fsbench cannot measure imported results again",
    LUN_GONE: "there is no LUN to measure on",
    LUN_UNUSABLE: "the LUN cannot be used now",
    NOT_REPEATABLE: "fsbench cannot make this configuration or workload again",
    KERNEL_GONE: "the worker does not have the kernel any more",
    WORK_PROFILE: "a work profile has no single measure to repeat",
    OWN_ROUNDS: "the point is of rounds that confirmed another change",
    ONE_AT_A_TIME: "this watch was confirming another change",
    NOT_ALLOWED: "you may not submit runs on this LUN or to this study",
    DEVICES_CHANGED: "the LUN is another device since you typed its name",
    NO_TIME: "not one round fits into the hours of the watch",
    REFUSED: "fsbench refused the job",
}
"""What is said of each code of ``WatchMessage.confirmation``, without and with why not."""
STATES = {
    CONFIRMED: WatchMessage.State.CONFIRMED,
    LESS: WatchMessage.State.NOT_REPRODUCED,
}
"""The state that rounds lead to; any other code leaves a change new."""
_CODES_OF_PARTS = (
    *(("confirmation", DEVICES_CHANGED), ("stop_before", NO_TIME)),
    *(("guest", KERNEL_GONE), ("lun", LUN_UNUSABLE)),
)


class CannotConfirm(Exception):
    """``code`` says why no rounds can be ordered; ``problems`` are those of a refused job."""

    def __init__(self, code: str, problems: Sequence[str] = ()) -> None:
        super().__init__(f"Changes of this line cannot be confirmed: {REASONS[code]}.")
        self.code, self.problems = code, list(problems)


def measured_state(message: WatchMessage) -> WatchMessage.State:
    """The state of a change as far as rounds say it."""
    return STATES.get(message.confirmation, WatchMessage.State.NEW)


def luns_to_type(watch: Watch) -> str:
    """The names of the LUNs that a confirmation erases; "" where nothing can be confirmed."""
    try:
        return (
            confirmation_text(_job(watch, watch.series, LEAST_ROUNDS, watch.confirm_against)) or ""
        )
    except CannotConfirm:
        return ""


def comparable(watch: Watch) -> QuerySet[Series]:
    """The latest series of each other configuration with the work and LUN of a watch."""
    owner = {"study": watch.study_id} if watch.team_id is None else {"study__team": watch.team_id}
    of_place = Series.objects.filter(
        workload=watch.workload_id, lun=watch.lun_id, preparation=watch.preparation, **owner
    ).exclude(Q(configuration=watch.configuration_id) | Q(lun=None))
    latest = of_place.order_by().values("configuration").annotate(latest=Max("pk"))
    newest = latest.order_by("-latest").values("latest")[: limits.MOST_OPTIONS]
    offered = Series.objects.filter(pk__in=newest)
    return offered.select_related("configuration", "journal_lun").order_by("-pk")


def set_budget(
    watch: Watch, rounds: int, hours: int, typed: str, against: Series | None = None
) -> None:
    """Let the watch order so many rounds within so many hours for each change; 0: none.

    ``typed``: the names of the LUNs. ``against``: of ``comparable``; each round measures its
    configuration for the old state. Raises CannotConfirm, and JobRefused as ``submit`` does.
    """
    devices = ""
    with as_user(watch.user):
        if rounds:
            spec = _job(watch, watch.series, rounds, against)
            plan = planned(_within(spec, hours))
            if unknown := [lun.name for lun in plan.luns if not lun.fingerprint]:
                luns = " and ".join(unknown)
                sentence = f"fsbench cannot tell {luns} from another device, so it saves nothing."
                raise JobRefused({"lun": [sentence]})
            names = confirmation_text(spec)
            if typed != names:
                sentence = f'Type the names of the LUNs that it erases, "{names}".'
                raise JobRefused({"confirmation": [sentence]})
            devices = plan.device_digest
    with transaction.atomic():
        Watch.objects.filter(pk=watch.pk).update(
            confirm_rounds=rounds,
            confirm_hours=hours if rounds else 0,
            confirm_devices=devices,
            confirm_against=against if rounds else None,
        )
        audit.note(watch.user, "watch budget set", f"watch {watch.pk}", rounds=rounds, hours=hours)
    watch.refresh_from_db()


def order(message: WatchMessage, old: Point, new: Point) -> bool:
    """Order the rounds of a change within the budget of its watch; whether it waits for them.

    Call it in the transaction that writes the change, for the owner of the watch.
    """
    watch = message.watch
    if not watch.confirm_rounds:
        return False
    try:
        facts = _ordered(message, old, new)
    except CannotConfirm as why:
        _say(message, why.code, {"problems": why.problems} if why.problems else {})
        return False
    message.confirmation, message.job_id = ORDERED, facts["job"]
    message.payload["confirmation"] = {"code": ORDERED, **facts}
    message.save(update_fields=["confirmation", "job", "payload"])
    return True


def conclude_ended(now: datetime | None = None) -> list[WatchMessage]:
    """Say what the rounds that have ended came to, and let it be sent. Returns the messages."""
    unfinished = Run.objects.filter(job=OuterRef("job")).exclude(state__in=END_STATES)
    waiting = WatchMessage.objects.filter(~Exists(unfinished), confirmation=ORDERED)
    concluded = []
    for pk in list(waiting.values_list("pk", flat=True)):
        with transaction.atomic():
            # Whoever is first concludes it.
            message = (
                WatchMessage.objects.select_for_update(of=("self",))
                .select_related("watch__user__person", "watch__configuration")
                .filter(pk=pk, confirmation=ORDERED)
                .first()
            )
            if message is None:
                continue
            with as_user(message.watch.user):
                code, numbers = _measured(message)
                if code == CONFIRMED and (search := _search_query(message)):
                    numbers["search"] = search
            is_told = message.state != WatchMessage.State.EXPECTED
            _say(message, code, numbers)
            if is_told:
                message.state = measured_state(message)
                message.save(update_fields=["state"])
                deliveries.enqueue(message, now or timezone.now())
            concluded.append(message)
    return concluded


def conclude_searches(now: datetime | None = None) -> list[WatchMessage]:
    """Say of confirmed changes what an ended search of the kernels between found, and send it."""
    searchable = WatchMessage.objects.filter(
        confirmation=CONFIRMED, payload__confirmation__has_key="search"
    ).exclude(payload__confirmation__has_key="search_job")
    concluded = []
    for pk in list(searchable.values_list("pk", flat=True)):
        with transaction.atomic():
            message = (
                searchable.select_for_update(of=("self",))
                .select_related("watch__user__person", "watch__configuration")
                .filter(pk=pk)
                .first()
            )
            if message is None:
                continue
            with as_user(message.watch.user):
                race = _ended_search(message)
            if race is None:
                continue
            facts = message.payload["confirmation"]
            facts |= {"search_job": race.job_id, "search_found": race.conclusion}
            message.sentence = f"{race.conclusion} {message.sentence}"
            message.payload["sentence"] = message.sentence
            message.save(update_fields=["sentence", "payload"])
            if message.state != WatchMessage.State.EXPECTED:
                deliveries.send_again(message, now or timezone.now())
            concluded.append(message)
    return concluded


def _ended_search(message: WatchMessage) -> Race | None:
    """The first search of the kernels of this change that has ended since."""
    watch = message.watch
    ended = Race.objects.filter(
        find=Race.Find.CHANGE,
        ended_at__isnull=False,
        job__created_at__gte=message.created_at,
        test=watch.test,
        category=watch.category,
    )
    for race in ended.order_by("pk")[: limits.MOST_OPTIONS]:
        of_race = Series.objects.filter(
            *(Q(pk__in=race.contenders), Q(lun=watch.lun_id), Q(workload=watch.workload_id)),
            configuration=watch.configuration_id,
        )
        kernels = set(of_race.values_list("machine__kernel", flat=True))
        if kernels.issuperset(message.payload["confirmation"].get("kernels", [""])):
            return race
    return None


def _ordered(message: WatchMessage, old: Point, new: Point) -> dict[str, Any]:
    """The job, and the kernels or configurations it compares. Raises CannotConfirm."""
    watch, against = message.watch, message.watch.confirm_against
    runs = Run.objects.select_related("series__study", "series__workload", "series__lun__worker")
    runs = runs.select_related("series__configuration", "series__journal_lun", *_RELATED)
    by_pk = runs.in_bulk([*old.runs, *new.runs])
    new_runs = [by_pk[pk] for pk in new.runs if pk in by_pk]
    old_runs = [by_pk[pk] for pk in old.runs if pk in by_pk]
    if not new_runs or not old_runs or new_runs[-1].origin != Run.Origin.MEASURED:
        raise CannotConfirm(IMPORTED)
    jobs = {run.job_id for run in new_runs}
    if None not in jobs and _are_of_confirmations(jobs):
        raise CannotConfirm(OWN_ROUNDS)
    if WatchMessage.objects.filter(watch=watch, confirmation=ORDERED).exists():
        raise CannotConfirm(ONE_AT_A_TIME)
    series = new_runs[-1].series
    sides: dict[str, list[Any]] = {}
    spec = _job(watch, series, watch.confirm_rounds, against)
    if against is not None:
        sides["configurations"] = [against.configuration_id, series.configuration_id]
    if watch.along == Watch.Along.KERNEL:
        is_pair = series.runs_on.is_guest and against is None
        pair = [old_runs[-1].series, series] if is_pair else [series]
        if not all(map(_is_bootable, pair)):
            raise CannotConfirm(KERNEL_GONE)
        if is_pair and spec.guest is not None:
            sides["kernels"] = [side.runs_on.kernel for side in pair]
            guest = replace(spec.guest, kernels=tuple(sides["kernels"]))
            spec = spec.model_copy(update={"guest": guest})
    spec = _within(spec, watch.confirm_hours)
    measured = f"{watch.user_id} {series.pk} {sides} {new.runs[-1]}"
    try:
        submitted = submit(
            spec,
            confirmation_text(spec) or "",
            watch.user,
            token=f"watch {hashlib.sha256(measured.encode()).hexdigest()[:40]}",
            seen=watch.confirm_devices,
        )
    except JobRefused as refused:
        raise CannotConfirm(_code_of(refused), refused.problems) from None
    if not submitted:  # somebody deleted the rounds of the same change
        raise CannotConfirm(REFUSED)
    return {
        "job": submitted[0].job_id,
        "rounds": watch.confirm_rounds,
        **sides,
        **({"against": against.configuration.label} if against else {}),
    }


_RELATED = ("series__hardware", "series__lun__worker__hardware")


def _job(watch: Watch, series: Series | None, rounds: int, against: Series | None) -> JobSpec:
    """The job that measures the series again, with another configuration. Raises CannotConfirm."""
    if categories.is_of_work(watch.category):
        raise CannotConfirm(WORK_PROFILE)
    if series is None or series.lun is None or not series.lun.is_listed:
        raise CannotConfirm(LUN_GONE)
    spec = repeating_job([series], rounds)
    others = tuple(configurations_of(against)) if against is not None else ()
    if spec is None or (against is not None and not others):
        raise CannotConfirm(NOT_REPEATABLE)
    return spec.model_copy(update={"configurations": (*others, *spec.configurations)})


def _within(spec: JobSpec, hours: int) -> JobSpec:
    ends_at = (clock.now() + timedelta(hours=hours)).replace(microsecond=0)
    return spec.model_copy(update={"stop_before": ends_at})


def _is_bootable(series: Series) -> bool:
    """Whether the worker still has the kernel of the series, in its version of then."""
    assert series.lun is not None
    worker, name = series.lun.worker, series.runs_on.kernel
    if not name:
        return availability.kernel(worker) == series.kernel
    ability = availability.guest(worker)
    kernels = ability.usable_kernels if ability else ()
    return any((kernel.name, kernel.version) == (name, series.kernel) for kernel in kernels)


def _are_of_confirmations(jobs: Iterable[int | None]) -> bool:
    known = WatchMessage.objects.filter(job__in=jobs).values_list("job", flat=True)
    return set(jobs) <= set(known)


def _code_of(refused: JobRefused) -> str:
    if refused.is_forbidden:
        return NOT_ALLOWED
    parts = refused.by_part
    return next(
        (code for name, code in _CODES_OF_PARTS if any(part.startswith(name) for part in parts)),
        REFUSED,
    )


def _measured(message: WatchMessage) -> tuple[str, dict[str, Any]]:
    """What the rounds say: a code, and the numbers of their verdict."""
    if message.job_id is None:  # deleted with its study
        return TOO_FEW, {}
    watch, facts = message.watch, message.payload["confirmation"]
    done = Run.objects.filter(
        job=message.job_id, state=RunState.DONE, tracing=UNTRACED, is_reference=False
    )
    side_of = "series__configuration" if "configurations" in facts else "series__machine__kernel"
    rounds = list(done.values_list("pk", "block", side_of))
    if pair := facts.get("configurations") or facts.get("kernels"):
        sides = [[(pk, block) for pk, block, side in rounds if side == wanted] for wanted in pair]
    else:
        earlier = message.payload["change"]["runs_before"]
        sides = [[(pk, "") for pk in earlier], [(pk, "") for pk, _, _ in rounds]]
    (old, unit), (new, new_unit) = (_repeats(side, watch) for side in sides)
    if old is None or new is None or unit != new_unit or len(new.values) < LEAST_BLOCKS:
        return TOO_FEW, {}
    less = lower_is_better(unit)
    verdict = compared(new, old, lower_is_better=less, margin_percent=watch.margin_percent)
    if verdict is None or (pair and verdict.method != PAIRED):
        return TOO_FEW, {}
    return reportable.outcome_of(verdict, watch.margin_percent, less), {
        "method": verdict.method,
        "rounds": verdict.blocks if verdict.method == PAIRED else len(new.values),
        "earlier_runs": None if verdict.method == PAIRED else len(old.values),
        "ratio": verdict.ratio,
        "ratio_low": verdict.ratio_low,
        "ratio_high": verdict.ratio_high,
        "p_value": verdict.p_value,
    }


def _search_query(message: WatchMessage) -> str:
    """The query of the job form that looks for the kernel of a change; "" for none between."""
    watch, series = message.watch, message.watch.series
    try:
        spec = _job(watch, series, LEAST_ROUNDS, None)
    except CannotConfirm:
        return ""
    assert series is not None
    assert series.lun is not None
    ends = message.payload["confirmation"].get("kernels", [])
    ability = availability.guest(series.lun.worker)
    usable = sorted(
        ability.usable_kernels if ability else (), key=lambda one: version_key(one.version)
    )
    names = [kernel.name for kernel in usable]
    places = [names.index(name) for name in ends if name in names]
    kernels = names[places[0] : places[1] + 1] if len(places) == 2 else []
    if spec.guest is None or len(kernels) < 3:
        return ""
    race = RaceSpec(
        find="change",
        runs=SEARCH_BUDGET * least_runs(len(kernels)),
        test=watch.test,
        category=watch.category,
        margin_percent=watch.margin_percent,
    )
    guest = replace(spec.guest, kernels=tuple(kernels))
    return prefilled(spec.model_copy(update={"guest": guest, "race": race})).to_query()


def _repeats(runs: Sequence[tuple[int, str]], watch: Watch) -> tuple[Repeats | None, str]:
    """The scores of these runs by block, and their unit; None where there are none in one unit."""
    visible = set(Run.objects.filter(pk__in=[pk for pk, _ in runs]).values_list("pk", flat=True))
    scores = [
        (block, *value_of(pk, watch.test, watch.category)) for pk, block in runs if pk in visible
    ]
    found = [(block, value, unit) for block, value, unit in scores if value is not None]
    units = {unit for _, _, unit in found}
    if len(units) != 1:
        return None, ""
    values = [value for _, value, _ in found]
    repeats = tuple((block, value) for block, value, _ in found)
    return Repeats(mean(values), repeats, rounding=rounding_of(values)), units.pop()


def _say(message: WatchMessage, code: str, numbers: dict[str, Any]) -> None:
    """Put the outcome before what the change says, in the sentence and the payload."""
    facts = message.payload.get("confirmation", {}) | {"code": code} | numbers
    if code in OUTCOMES:
        words = OUTCOMES[code].format(size=_size(facts))
        if "search" in facts:
            words += " The page of the watch offers a search of the kernels between."
    else:
        words = f"Not confirmed: {REASONS[code]}."
    message.confirmation, message.sentence = code, f"{words} {message.sentence}"
    message.payload["confirmation"] = facts
    message.payload["sentence"] = message.sentence
    message.save(update_fields=["confirmation", "sentence", "payload"])


def _size(numbers: dict[str, Any]) -> str:
    """``9.4% slower (95%: 8.1 to 10.6), 5 paired rounds``."""
    ratio, low, high = (numbers[name] for name in ("ratio", "ratio_low", "ratio_high"))
    ends, word = (ratio - 1, low - 1, high - 1), "faster"
    if ratio < 1:
        ends, word = (1 - ratio, 1 - high, 1 - low), "slower"
    percent, lowest, highest = (tenths(100 * end) for end in ends)
    rounds = f"{numbers['rounds']} paired rounds"
    if numbers["method"] != PAIRED:
        rounds = f"{numbers['rounds']} new rounds against {numbers['earlier_runs']} earlier runs"
    if "against" in numbers:
        word += f" than {numbers['against']}, which stands for the earlier state"
    return f"{percent}% {word} (95%: {lowest} to {highest}), {rounds}"
