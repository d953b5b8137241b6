"""Changes that watches found: which have one cause, and what a person says of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit
from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.compare.watches import deliveries
from fsbench_web.compare.watches.confirming import measured_state

State = WatchMessage.State
SETTABLE = (State.EXPECTED, State.FIXED, State.NEW)
"""What a person may say. New takes it back: the change has the state that rounds led to."""
OPEN = (State.NEW, State.CONFIRMED)
MOST_TOGETHER = 100


@dataclass(frozen=True)
class Cause:
    """Changes at one point of one machine, newest first."""

    messages: Sequence[WatchMessage]

    @property
    def states(self) -> list[str]:
        """Each state once."""
        return list(dict.fromkeys(message.state for message in self.messages))


def causes(messages: Iterable[WatchMessage]) -> list[Cause]:
    """The changes grouped by what may have caused them, in the order of the first of each.

    A kernel is one cause on its machine. A day is one for a configuration.
    """
    groups: dict[Any, list[WatchMessage]] = {}
    for message in messages:
        watch = message.watch
        is_of_day = watch.along == Watch.Along.DATE
        configuration = watch.configuration_id if is_of_day else None
        key = (watch.along, message.point, watch.hardware_id, watch.lun_id, configuration)
        groups.setdefault(key, []).append(message)
    return [Cause(group) for group in groups.values()]


def set_state(user: User, messages: Sequence[WatchMessage], state: str, note: str) -> None:
    """Say of changes that they are expected, which drops their deliveries, fixed or new."""
    with transaction.atomic():
        # In one order, as whoever concludes their rounds locks them.
        keys = [message.pk for message in messages]
        for message in WatchMessage.objects.select_for_update().filter(pk__in=keys).order_by("pk"):
            message.state = measured_state(message) if state == State.NEW else state
            message.note = note
            message.save(update_fields=["state", "note"])
            audit.note(
                user,
                "change triaged",
                f"watch {message.watch_id}",
                change=message.pk,
                point=message.point,
                state=message.state,
                note=note,
            )
            if state == State.EXPECTED:
                deliveries.drop_waiting(message.deliveries.all(), deliveries.EXPECTED)
