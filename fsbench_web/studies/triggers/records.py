"""Triggers are saved, paused, resumed and deleted here, and get their tokens here."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit, tokens
from fsbench_web.platform import clock
from fsbench_web.studies.jobs.planned_runs import Plan
from fsbench_web.studies.models import Trigger, TriggerOrder
from fsbench_web.studies.triggers import ordering, schedule

MOST_TRIGGERS = 50
"""Of one account: each is looked at every minute."""
_VALUES = ("title", "schedule", "zone", "on_kernel", "opens", "closes", "document")


class NotConfirmed(Exception):
    """The job or a LUN has changed: it must be saved again, with a new confirmation."""


class TooManyTriggers(Exception):
    """The person has MOST_TRIGGERS; the text says so."""


@transaction.atomic
def save(
    user: User, values: Mapping[str, Any], plan: Plan, trigger: Trigger | None = None
) -> Trigger:
    """Write what a form says, confirmed, and let it order from now on. Raises TooManyTriggers."""
    word = "trigger made" if trigger is None else "trigger changed"
    if trigger is None:
        # Two forms sent at once are counted one after the other.
        User.objects.select_for_update(of=("self",)).get(pk=user.pk)
        if Trigger.objects.filter(user=user).count() >= MOST_TRIGGERS:
            raise TooManyTriggers(f"You have {MOST_TRIGGERS} triggers, which is the most.")
        trigger = Trigger(user=user)
    else:
        trigger = Trigger.objects.select_for_update(of=("self",)).get(pk=trigger.pk)
    for name in _VALUES:
        setattr(trigger, name, values[name])
    trigger.lun = plan.lun
    trigger.confirmed = ordering.confirmed_of(trigger.document, plan.luns)
    _begin(trigger, clock.now())
    trigger.save()
    facts = {"luns": plan.lun_names, "schedule": trigger.schedule}
    audit.note(user, word, f"trigger {trigger.pk}", **facts)
    return trigger


@transaction.atomic
def pause(trigger: Trigger) -> None:
    """Let it order nothing; jobs that it ordered go on."""
    if Trigger.objects.filter(pk=trigger.pk, is_active=True).update(is_active=False):
        audit.note(trigger.user, "trigger paused", f"trigger {trigger.pk}")


@transaction.atomic
def resume(trigger: Trigger) -> None:
    """Let it order from now on; nothing of what was missed. Raises NotConfirmed."""
    locked = Trigger.objects.select_for_update(of=("self",)).get(pk=trigger.pk)
    if locked.is_active:
        return
    if not locked.confirmed:
        raise NotConfirmed
    _begin(locked, clock.now())
    locked.save()
    audit.note(trigger.user, "trigger resumed", f"trigger {trigger.pk}")


@transaction.atomic
def delete(trigger: Trigger) -> None:
    """For good, with its token and its refusals. The jobs that it ordered keep why."""
    audit.note(trigger.user, "trigger deleted", f"trigger {trigger.pk}")
    if trigger.token is not None:
        tokens.revoke(trigger.token, trigger.user, because="trigger deleted")
    trigger.orders.exclude(problem=TriggerOrder.Problem.NONE).delete()
    trigger.delete()


@transaction.atomic
def make_token(trigger: Trigger) -> str:
    """A new token that fires this trigger and does nothing else; the one before it is revoked."""
    locked = Trigger.objects.select_for_update(of=("self",)).get(pk=trigger.pk)
    if locked.token is not None:
        tokens.revoke(locked.token, trigger.user, because="replaced")
    name = f"trigger {trigger.pk}"
    row, token = tokens.create(
        trigger.user, name, can_import=False, can_run=False, is_for_trigger=True
    )
    Trigger.objects.filter(pk=trigger.pk).update(token=row)
    return token


def _begin(trigger: Trigger, now: datetime) -> None:
    trigger.is_active = True
    trigger.kernels = ordering.kernels_of(trigger)
    trigger.due_at = None
    if trigger.schedule:
        trigger.due_at = schedule.next_after(trigger.schedule, trigger.zone, now)
