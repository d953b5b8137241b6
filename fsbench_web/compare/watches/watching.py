"""Looks at watched lines over time, and writes a message for each change.

Several processes may call `run_maintenance` at once: the first one writes, under the lock of the
watch. Each change has a key, so that a watch reports it once. Each look sees what the owner of the
watch may see.
"""

import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import Count, Max, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from fsbench_web.accounts import audit
from fsbench_web.accounts.rights import as_user
from fsbench_web.compare.history.line_series import LINE, LINE_VALUES, owner_of, same_line
from fsbench_web.compare.history.lines import History, history
from fsbench_web.compare.models import Watch, WatchDelivery, WatchMessage
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.watches import confirming, deliveries, reportable, triage
from fsbench_web.compare.watches.rights import is_visible
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.stats.changes import Change
from fsbench_web.core.units import is_known
from fsbench_web.platform import clock
from fsbench_web.studies.models import UNTRACED, Run, RunState, Series

logger = logging.getLogger("fsbench.watches")

# Runs are seen by their number and end; what else may change a line (raw output that is read
# again, a kernel that is corrected) is seen a day later.
LOOK_ANYWAY_AFTER = timedelta(days=1)
TESTS_KEPT = timedelta(days=7)
TEST_EVERY = timedelta(seconds=20)
"""Of one person, by whatever watch."""
MOST_WATCHES = 100
"""Of one person."""


class AlreadyWatched(Exception):
    """The person watches this line already: ``watch`` is the one."""

    def __init__(self, watch: Watch) -> None:
        super().__init__("You watch this line already.")
        self.watch = watch


class TestedLately(Exception):
    """The person tried a watch a moment ago; the text says how long to wait."""


class TooManyWatches(Exception):
    """The person has MOST_WATCHES; the text says what to do."""


def watch(
    user: User,
    series: Series,
    *,
    test: str,
    category: str,
    along: str,
    margin_percent: int,
    email: str,
    webhook_url: str,
    site: str,
) -> Watch:
    """Watch the line of the series from now on; note earlier slowdowns as known.

    Raises AlreadyWatched and TooManyWatches.
    """
    line = {f"{name}_id": getattr(series, f"{name}_id") for name in LINE if name not in LINE_VALUES}
    identity = [*line.values(), series.preparation, test, category, along]
    if series.machine:  # behind the rest: keys of watches without one stay what they are
        identity.append({key: value for key, value in series.machine.items() if key != "kernel"})
    if series.stack_luns:
        identity.append({"stack": series.stack_luns})
    study, team = owner_of(series)
    of_line = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    owner = f"study {study}" if team is None else f"team {team}"
    new_watch = Watch(
        user=user,
        key=hashlib.sha256(f"{of_line} {owner}".encode()).hexdigest(),
        series=series,
        study_id=study,
        team_id=team,
        **line,
        stack_luns=series.stack_luns,
        preparation=series.preparation,
        machine=series.machine,
        test=test,
        category=category,
        along=along,
        margin_percent=margin_percent,
        email=email,
        webhook_url=webhook_url,
        secret_salt=secrets.token_urlsafe(24),
        site=site,
    )
    with as_user(user):
        seen, line_history = _read_line(new_watch)
    _note_look(new_watch, seen, timezone.now(), line_history)
    with transaction.atomic():
        # Two forms sent at once are counted and compared one after the other.
        User.objects.select_for_update(of=("self",)).get(pk=user.pk)
        existing = Watch.objects.filter(user=user, key=new_watch.key).first()
        if existing is not None:
            raise AlreadyWatched(existing)
        if Watch.objects.filter(user=user).count() >= MOST_WATCHES:
            raise TooManyWatches(
                f"You have {MOST_WATCHES} watches, which is the most. Delete one that you no "
                "longer need."
            )
        new_watch.save()
        # Of the address no more than the host: the rest of a webhook is often a secret.
        audit.note(
            user,
            "watch made",
            f"watch {new_watch.pk}",
            test=test,
            email=email,
            webhook=urlsplit(webhook_url).hostname or "",
        )
        for change in _unreported_slowdowns(new_watch, line_history, {}):
            _write(new_watch, line_history, change, WatchMessage.Kind.KNOWN)
    return new_watch


def watches_of(user: User) -> QuerySet[Watch]:
    """The watches of a person, newest first, with what pages and API say of their lines."""
    return Watch.objects.filter(user=user).select_related(
        "study", "team", "configuration", "workload", "hardware", "lun__worker", "user"
    )


def run_maintenance(now: datetime | None = None) -> list[WatchMessage]:
    """Look at every watched line, then send what waits. `serve` and `check_watches` call it.

    Returns new messages, and those with a confirmation or search that has ended.
    """
    messages = check_all(now) + confirming.conclude_ended(now) + confirming.conclude_searches(now)
    deliveries.send_due(now)
    WatchMessage.objects.filter(
        kind=WatchMessage.Kind.TEST, created_at__lt=(now or clock.now()) - TESTS_KEPT
    ).delete()
    return messages


def check_all(now: datetime | None = None) -> list[WatchMessage]:
    """Check each active watch of each active account."""
    messages: list[WatchMessage] = []
    watches = Watch.objects.filter(is_active=True, user__is_active=True)
    for watch in watches.select_related("user__person").order_by("id"):
        try:
            messages += check(watch, now)
        except DatabaseError:
            raise
        except Exception as error:
            # One line that nobody can score must not silence all others.
            logger.exception("watch %s cannot be checked", watch.pk)
            Watch.objects.filter(pk=watch.pk).update(
                problem=f"fsbench could not judge the line: {type(error).__name__}. "
                "The site's log says more."
            )
    return messages


def check(watch: Watch, now: datetime | None = None) -> list[WatchMessage]:
    """Look at the line if it is new. Returns the messages made; their deliveries wait."""
    with as_user(watch.user):
        return _check(watch, now or timezone.now())


def _check(watch: Watch, now: datetime) -> list[WatchMessage]:
    if (
        watch.seen == _line_state(watch)
        and watch.checked_at
        and now - watch.checked_at < LOOK_ANYWAY_AFTER
    ):
        return []
    seen, line_history = _read_line(watch)
    with transaction.atomic():
        # Whoever looked at the same time has moved the date: then this look may be the older one.
        locked = (
            Watch.objects.select_for_update(of=("self",))
            .filter(pk=watch.pk, is_active=True, seen=watch.seen, checked_at=watch.checked_at)
            .first()
        )
        if locked is None:
            return []
        locked.series = (
            Series.objects.filter(
                same_line(locked), runs__state=RunState.DONE, runs__tracing=UNTRACED
            )
            .order_by("-id")
            .first()
        )
        fresh = reportable.significant_changes(
            _unreported_slowdowns(locked, line_history, _reported_levels(locked, line_history)),
            [point.values for point in line_history.points],
            of_kernels=locked.along == "kernel",
        )
        messages = [
            _write(locked, line_history, change, WatchMessage.Kind.SLOWER) for change in fresh
        ]
        for message, change in zip(messages, fresh, strict=True):
            old, new = line_history.points[change.place - 1 : change.place + 1]
            if not confirming.order(message, old, new):
                deliveries.enqueue(message, now)
        _note_fixed(locked, line_history)
        _note_look(locked, seen, now, line_history)
        locked.save(update_fields=[*_LOOK, "series"])
    return messages


def pause(watch: Watch) -> None:
    """Look no more, until it is resumed."""
    with transaction.atomic():
        if Watch.objects.filter(pk=watch.pk, is_active=True).update(is_active=False):
            audit.note(watch.user, "watch paused", f"watch {watch.pk}")


def resume(watch: Watch) -> int:
    """Look again from now on; slowdowns since the pause are known. Returns the messages dropped."""
    with as_user(watch.user):
        seen, line_history = _read_line(watch)
    with transaction.atomic():
        locked = Watch.objects.select_for_update(of=("self",)).get(pk=watch.pk)
        if locked.is_active:
            return 0
        for change in _unreported_slowdowns(
            locked, line_history, _reported_levels(locked, line_history)
        ):
            _write(locked, line_history, change, WatchMessage.Kind.KNOWN)
        waiting = WatchDelivery.objects.filter(message__watch=locked)
        dropped = deliveries.drop_waiting(waiting, deliveries.PAUSED)
        locked.is_active = True
        _note_look(locked, seen, timezone.now(), line_history)
        locked.save(update_fields=[*_LOOK, "is_active"])
        audit.note(watch.user, "watch resumed", f"watch {watch.pk}")
    return dropped


def delete(watch: Watch) -> None:
    """Watch no more, for good: its messages go too."""
    with transaction.atomic():
        audit.note(watch.user, "watch deleted", f"watch {watch.pk}")
        watch.delete()


def send_test(watch: Watch) -> WatchMessage:
    """Send a message that says it is a test, at once and only once. Raises TestedLately."""
    key = f"test:{secrets.token_hex(8)}"
    sentence = "This is a test: nothing got slower. Messages of this watch come the same way."
    with transaction.atomic():
        # Two that are asked for at once are looked at one after the other.
        User.objects.select_for_update(no_key=True).get(pk=watch.user_id)
        of_person = WatchMessage.objects.filter(watch__user=watch.user_id)
        since = clock.now() - TEST_EVERY
        if of_person.filter(kind=WatchMessage.Kind.TEST, created_at__gt=since).exists():
            raise TestedLately(f"A test was sent a moment ago: wait {TEST_EVERY.seconds} seconds.")
        message = WatchMessage.objects.create(
            watch=watch, key=key, kind=WatchMessage.Kind.TEST, sentence=sentence
        )
        message.payload = _payload(watch, message, None, None, "")
        message.save(update_fields=["payload"])
        deliveries.enqueue(message, timezone.now())
    deliveries.send_now(message)
    return message


def title_of(watch: Watch) -> str:
    """The line in words: configuration, test, category."""
    if not is_visible(watch):
        return "A line that is not there any more, or not yours to see"
    label = categories.in_sentence(profiles.label_of(watch.category))
    return f"{watch.configuration}: {testnames.label(watch.test)}, {label}"


def address_of(watch: Watch) -> str:
    """The path of the line's own page; of the list of lines when no series of it is left."""
    page = reverse("compare:history")
    if watch.series_id is None:
        return page
    query = {
        "series": watch.series_id,
        "test": watch.test,
        "category": watch.category,
        "along": watch.along,
        "margin": watch.margin_percent,
    }
    return f"{page}?{urlencode(query)}"


_LOOK = ("seen", "checked_at", "problem", "latest")


def _note_look(watch: Watch, seen: str, now: datetime, line_history: History) -> None:
    """Set what a look found: the fields of _LOOK."""
    watch.seen, watch.checked_at, watch.problem = seen, now, _problem(line_history)
    latest = line_history.latest
    runs = [run for point in line_history.points[-2:] for run in point.runs]
    watch.latest = latest and {**latest.stored(), "runs": runs}


def _read_line(watch: Watch) -> tuple[str, History]:
    # What is seen is asked first: a run that ends between the two is looked at again.
    return _line_state(watch), history(
        watch, watch.test, watch.category, watch.along, float(watch.margin_percent)
    )


def _line_state(watch: Watch) -> str:
    # Parts of a work profile may be of other workloads in the same place.
    condition = same_line(watch, any_workload=categories.is_of_work(watch.category))
    totals = Run.objects.filter(
        Q(series__in=Series.objects.filter(condition).values("pk")),
        state=RunState.DONE,
        tracing=UNTRACED,
    ).aggregate(count=Count("pk"), latest=Max("pk"), ended=Max("ended_at"))
    ended = totals["ended"].isoformat() if totals["ended"] else "-"
    return f"{totals['count']} {totals['latest'] or '-'} {ended}"


def _problem(line_history: History) -> str:
    if line_history.points and not is_known(line_history.unit):
        return (
            f'fsbench does not know whether more or less of "{line_history.unit}" is better, so '
            "nothing can be called slower."
        )
    return line_history.problem


def _reported_levels(watch: Watch, line_history: History) -> dict[str, float]:
    """The levels of reported and known changes, by the point where each began.

    In multiples of what is 1.00 of the line now: its first point may have changed.
    """
    return {
        message.point: _level_then(message, "after", line_history)
        for message in watch.messages.exclude(kind=WatchMessage.Kind.TEST)
    }


def _level_then(message: WatchMessage, side: str, line_history: History) -> float:
    change = message.payload["change"]
    then, now = change.get("reference"), line_history.reference
    return float(change[side] * (then / now if then and now else 1))


def _note_fixed(watch: Watch, line_history: History) -> None:
    """Say of open changes that they are fixed where two points are back at the level of before."""
    latest = line_history.points[-2:]
    open_changes = watch.messages.filter(
        kind=WatchMessage.Kind.SLOWER,
        state__in=triage.OPEN,
        point__in=[point.name for point in line_history.points[:-2]],
    ).exclude(confirmation=confirming.ORDERED)
    for message in open_changes:
        level = _level_then(message, "before", line_history)
        margin, is_less_better = watch.margin_percent, line_history.lower_is_better
        if not any(
            reportable.is_worse(point.mean, level, margin, is_less_better) for point in latest
        ):
            message.state = WatchMessage.State.FIXED
            message.save(update_fields=["state"])


def _unreported_slowdowns(
    watch: Watch, line_history: History, reported: Mapping[str, float]
) -> list[Change]:
    if not is_known(line_history.unit):
        return []
    all_changes = [entry.change for entry in line_history.changes]
    slower_changes = reportable.slowdowns(
        all_changes, watch.margin_percent, line_history.lower_is_better
    )
    names = [point.name for point in line_history.points]
    return reportable.unreported_changes(
        slower_changes, names, reported, watch.margin_percent, line_history.lower_is_better
    )


def _write(watch: Watch, line_history: History, change: Change, kind: str) -> WatchMessage:
    entry = next(entry for entry in line_history.changes if entry.change == change)
    point = line_history.points[change.place].name
    message, is_new = WatchMessage.objects.get_or_create(
        watch=watch,
        key=f"slower:{point}",
        defaults={"kind": kind, "point": point, "sentence": entry.sentence},
    )
    if is_new:
        message.payload = _payload(watch, message, line_history, change, point)
        message.save(update_fields=["payload"])
    return message


def _payload(
    watch: Watch,
    message: WatchMessage,
    line_history: History | None,
    change: Change | None,
    point: str,
) -> dict[str, Any]:
    """What a webhook gets: docs/comparing.md."""
    payload: dict[str, Any] = {
        "id": message.pk,
        "event": message.kind,
        "at": message.created_at.isoformat(),
        "sentence": message.sentence,
        "watch": {
            "id": watch.pk,
            "title": title_of(watch),
            "url": f"{watch.site}{reverse('compare:watch', args=[watch.pk])}",
        },
        "line": {
            "configuration": watch.configuration.label,
            "filesystem": watch.configuration.filesystem,
            "study": watch.study.slug if watch.study else None,
            "team": watch.team.name if watch.team else None,
            "workload": watch.workload.title if watch.workload else None,
            "hardware": watch.hardware.name if watch.hardware else None,
            "lun": watch.lun.name if watch.lun else None,
            "test": watch.test,
            "category": watch.category,
            "along": watch.along,
            "url": f"{watch.site}{address_of(watch)}",
        },
    }
    if line_history is not None and change is not None:
        payload["change"] = {
            "from": line_history.points[change.place - 1].name,
            "to": point,
            "before": change.before,
            "after": change.after,
            "unit": line_history.unit,
            "percent": change.change_percent,
            "p_value": change.p_value,
            "margin_percent": watch.margin_percent,
            "runs": list(line_history.points[change.place].runs),
            "runs_before": _runs_before(line_history, change),
            "reference": line_history.reference,
            "runs_of_line": sorted(
                run for point_of_line in line_history.points for run in point_of_line.runs
            ),
        }
    return payload


def _runs_before(line_history: History, change: Change) -> list[int]:
    """The runs of the level before the change."""
    places = [entry.change.place for entry in line_history.changes]
    start = max((place for place in places if place < change.place), default=0)
    return [run for point in line_history.points[start : change.place] for run in point.runs]
