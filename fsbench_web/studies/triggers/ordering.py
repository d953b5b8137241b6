"""Orders the job of a trigger, once for each occasion, in the name of its owner.

Each order is written under the lock of its trigger, with a key of its occasion. The database's
clock decides. What was missed is ordered once.
"""

import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.platform import clock
from fsbench_web.studies.jobs import lookup, submitting
from fsbench_web.studies.jobs.planned_runs import Plan
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import END_STATES, Job, Run, Trigger, TriggerOrder
from fsbench_web.studies.triggers import schedule
from runner.safety import lun_identity

logger = logging.getLogger("fsbench.triggers")

Cause, Problem = TriggerOrder.Cause, TriggerOrder.Problem
KEPT_REFUSALS = 100
Kernels = list[list[str]]


def run_maintenance(now: datetime | None = None) -> list[TriggerOrder]:
    """Order what is due. Called each minute; returns the orders made."""
    now = now or clock.now()
    orders = []
    triggers = Trigger.objects.filter(is_active=True, user__is_active=True)
    wanted = triggers.exclude(schedule="", on_kernel=False).select_related("lun__worker")
    for trigger in wanted.order_by("pk"):
        try:
            orders += [*_by_schedule(trigger, now), *_by_kernel(trigger, now)]
        except DatabaseError:
            raise
        except Exception:
            # One that nobody can order must not stop the others.
            logger.exception("trigger %s cannot be ordered", trigger.pk)
    return orders


def _by_schedule(trigger: Trigger, now: datetime) -> list[TriggerOrder]:
    due = trigger.due_at
    if not trigger.schedule or due is None:
        return []
    if due <= now:
        moment = due.isoformat()
        key = f"schedule {moment}"
        made = order(trigger.pk, Cause.SCHEDULE, key, detail=moment, now=now, due=due)
        return [made] if made else []
    upcoming = schedule.next_after(trigger.schedule, trigger.zone, now)
    if upcoming < due:  # the clock was ahead when this was worked out
        Trigger.objects.filter(pk=trigger.pk, due_at=due).update(due_at=upcoming)
    return []


def _by_kernel(trigger: Trigger, now: datetime) -> list[TriggerOrder]:
    new = [kernel for kernel in kernels_of(trigger) if kernel not in trigger.kernels]
    if not trigger.on_kernel or not new:
        return []
    names = ", ".join(" ".join(filter(None, kernel)) for kernel in new)
    key = f"kernel {hashlib.sha256(json.dumps(new).encode()).hexdigest()}"
    made = order(trigger.pk, Cause.KERNEL, key, detail=names[:200], now=now, kernels=new)
    return [made] if made else []


def kernels_of(trigger: Trigger) -> Kernels:
    """What its job can be run with now: the host's kernel, or the kernels of guests."""
    if trigger.lun is None:
        return []
    worker = trigger.lun.worker
    if not _is_in_guests(trigger.document):
        return [["", kernel]] if (kernel := availability.kernel(worker)) else []
    ability = availability.guest(worker)
    return [[kernel.name, kernel.version] for kernel in ability.usable_kernels] if ability else []


def _is_in_guests(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("guest"), Mapping)


def unfinished_job(trigger: Trigger) -> int | None:
    """The number of a job of this trigger that waits or runs."""
    runs = Run._base_manager.filter(job__order__trigger=trigger).exclude(state__in=END_STATES)
    return runs.values_list("job", flat=True).first()


def order(
    trigger_id: int,
    cause: str,
    key: str,
    *,
    detail: str = "",
    now: datetime | None = None,
    due: datetime | None = None,
    kernels: Kernels | None = None,
) -> TriggerOrder | None:
    """What became of this occasion; None if the trigger is paused, or another process was first.

    An occasion that ordered a job gives that order again. ``due``: the time of the schedule.
    ``kernels``: the new ones, which wait for the last job.
    """
    now = now or clock.now()
    with transaction.atomic():
        trigger = (
            Trigger.objects.select_for_update(of=("self",))
            .select_related("user__person")
            .filter(pk=trigger_id, is_active=True)
            .first()
        )
        if trigger is None or (due is not None and trigger.due_at != due):
            return None
        if kernels and (
            all(kernel in trigger.kernels for kernel in kernels)
            or unfinished_job(trigger) is not None
        ):
            return None
        if due is not None:
            trigger.due_at = schedule.next_after(trigger.schedule, trigger.zone, now)
        if (made := trigger.orders.filter(key=key).first()) is None:
            made = TriggerOrder(trigger=trigger, key=key, cause=cause, detail=detail)
            with rights.as_user(trigger.user):
                made.job, made.problem, made.reasons = _submitted(trigger, key, now, kernels or [])
            if made.job is None:
                if kernels and _is_told(made, trigger):
                    return None
                made.key = f"refused {secrets.token_hex(16)}"
            else:
                facts = {"job": made.job.pk, "cause": cause, "owner": trigger.user.get_username()}
                audit.note(None, "trigger ordered", f"trigger {trigger.pk}", **facts)
            made.save()
            _forget_old_refusals(trigger)
        if not made.problem:
            trigger.kernels = [*trigger.kernels, *(kernels or [])]
        trigger.save(update_fields=["due_at", "kernels"])
    return made


def _is_told(refusal: TriggerOrder, trigger: Trigger) -> bool:
    """Whether the last order is the same refusal: new kernels are tried again each minute."""
    names = ("cause", "detail", "problem", "reasons")
    last = trigger.orders.first()
    return last is not None and all(getattr(last, name) == getattr(refusal, name) for name in names)


def _submitted(
    trigger: Trigger, key: str, now: datetime, kernels: Kernels
) -> tuple[Job | None, str, list[str]]:
    """(the job, the problem, its reasons): the same checks as if the owner submitted it now."""
    if why := rights.decide(trigger.user, rights.Action.RUN).why:
        return None, Problem.FORBIDDEN, [why]
    if (running := unfinished_job(trigger)) is not None:
        return None, Problem.RUNNING, [f"Job {running} has not ended."]
    try:
        spec = spec_of(trigger, now, kernels)
        plan = submitting.planned(spec)
        if reasons := void_reasons(trigger, plan):
            Trigger.objects.filter(pk=trigger.pk).update(confirmed={}, is_active=False)
            return None, Problem.VOID, reasons
        runs = submitting.submit(
            spec,
            submitting.confirmation_text(spec) or "",
            trigger.user,
            # A second lock: a job of this token is made once.
            hashlib.sha256(f"trigger {trigger.pk} {key}".encode()).hexdigest(),
            seen=plan.device_digest,
        )
    except JobRefused as refused:
        problem = Problem.FORBIDDEN if refused.is_forbidden else Problem.REFUSED
        places = refused.by_part.items()
        return None, problem, [f"{place}: {text}" for place, texts in places for text in texts]
    except schedule.ScheduleError as error:
        return None, Problem.REFUSED, [str(error)]
    return runs[0].job, Problem.NONE, []


def spec_of(trigger: Trigger, now: datetime, kernels: Kernels) -> JobSpec:
    """Its job as it is ordered now: within its window, and with new kernels of guests too."""
    document = dict(trigger.document)
    if kernels and _is_in_guests(document):
        named = document["guest"].get("kernels") or []
        names = [*([named] if isinstance(named, str) else named), *(name for name, _ in kernels)]
        document["guest"] = document["guest"] | {"kernels": list(dict.fromkeys(names))}
    if trigger.opens is not None and trigger.closes is not None:
        begin, end = schedule.window(trigger.opens, trigger.closes, trigger.zone, now)
        document |= {"start_at": begin.isoformat()} if begin else {}
        document["stop_before"] = end.isoformat()
    return lookup.spec_of(document)


def confirmed_of(document: Mapping[str, Any], luns: list[Lun]) -> dict[str, Any]:
    """What somebody confirms with the names of these LUNs."""
    text = json.dumps(document, sort_keys=True)
    return {
        "document": hashlib.sha256(text.encode()).hexdigest(),
        "luns": {f"{lun.worker.name}/{lun.name}": lun.fingerprint for lun in luns},
    }


def void_reasons(trigger: Trigger, plan: Plan) -> list[str]:
    """Why what was confirmed is something else now, in sentences; empty where it is the same."""
    now = confirmed_of(trigger.document, plan.luns)
    before: Mapping[str, Any] = trigger.confirmed or {"document": "", "luns": {}}
    if before["document"] != now["document"] or before["luns"].keys() != now["luns"].keys():
        return ["The job is another one than was confirmed."]
    return [
        f"{name} is another device now. Confirmed: {lun_identity.in_words(confirmed)}. "
        f"Now: {lun_identity.in_words(now['luns'][name])}."
        for name, confirmed in before["luns"].items()
        if not lun_identity.is_same(confirmed, now["luns"][name])
    ]


def _forget_old_refusals(trigger: Trigger) -> None:
    """A schedule of every minute would add a refusal each minute that its job runs."""
    refusals = trigger.orders.filter(~Q(problem=Problem.NONE))
    kept = list(refusals.values_list("pk", flat=True)[:KEPT_REFUSALS])
    if len(kept) == KEPT_REFUSALS:
        refusals.filter(pk__lt=kept[-1]).delete()
