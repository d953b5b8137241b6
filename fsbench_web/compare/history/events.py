"""What may explain a change: events that owners add to a machine, and facts that runs record."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from fsbench_web.accounts import audit
from fsbench_web.compare.history.line_series import owner_of
from fsbench_web.compare.models import LineEvent, Watch
from fsbench_web.studies.models import Series, Study
from fsbench_web.studies.scores.source_runs import facts_by_group

MOST_OF_A_STUDY = 200
SHOWN = 50
"""Of one line, the latest."""
MOST_EVENTS = 5
"""Named of one change."""


class TooManyEvents(Exception):
    """The study has MOST_OF_A_STUDY events; the text says so."""


class EventForm(forms.Form):
    """What happened to the machine of a line, and when."""

    day = forms.DateField(
        label="Day", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    text = forms.CharField(
        label="What happened",
        max_length=200,
        help_text="For example: new firmware. Your lines of this hardware and LUN show it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id, self.label_suffix = "id-event-%s", ""


def events_of(line: Series | Watch, studies: Collection[int] = ()) -> list[LineEvent]:
    """The latest events of the place of a line, oldest first. One query."""
    study, team = owner_of(line)
    owner = Q(pk__in=studies) if studies else Q(team=team) if team else Q(pk=study)
    of_place = LineEvent.objects.filter(
        study__in=Study.objects.filter(owner).values("pk"),
        hardware=line.hardware_id,
        lun=line.lun_id,
    )
    return list(of_place.order_by("-day", "-pk")[:SHOWN])[::-1]


@transaction.atomic
def add(user: User, series: Series, values: dict[str, Any]) -> LineEvent:
    """Write what a valid form says. Raises TooManyEvents."""
    # Two forms sent at once are counted one after the other.
    study = Study.objects.select_for_update(of=("self",)).get(pk=series.study_id)
    if LineEvent.objects.filter(study=study).count() >= MOST_OF_A_STUDY:
        raise TooManyEvents(f"A study has at most {MOST_OF_A_STUDY} events. Delete an old one.")
    event = LineEvent.objects.create(
        study=study,
        hardware_id=series.hardware_id,
        lun_id=series.lun_id,
        day=values["day"],
        text=values["text"],
    )
    audit.note(user, "event added", f"study {study.slug}", day=str(event.day), text=event.text)
    return event


@transaction.atomic
def delete(user: User, event: LineEvent) -> None:
    facts = {"day": str(event.day), "text": event.text}
    audit.note(user, "event deleted", f"study {event.study.slug}", **facts)
    event.delete()


def facts_changed_at(
    places: Iterable[int], environments: Sequence[Sequence[int]]
) -> dict[int, list[str]]:
    """By place of a change, the recorded facts that all runs before and after it differ in.

    ``environments`` are those of the runs of each point. A fact that one of the two points does
    not have, or has in several values, says nothing.
    """
    changed = list(places)
    beside = {point for place in changed for point in (place - 1, place)}
    facts = facts_by_group([(point, pk) for point in beside for pk in set(environments[point])])
    return {
        place: list(_differing(facts.get(place - 1, {}), facts.get(place, {}))) for place in changed
    }


def _differing(
    before: Mapping[str, Mapping[str, frozenset[str]]],
    after: Mapping[str, Mapping[str, frozenset[str]]],
) -> Iterable[str]:
    # Sorted: a database need not keep the order of facts.
    for section, rows in sorted(after.items()):
        for label, values in sorted(rows.items()):
            old = before.get(section, {}).get(label, frozenset())
            if len(old) == len(values) == 1 and old != values:
                yield f"{section}, {label}: {next(iter(old))} to {next(iter(values))}"


def named_events(events: Sequence[str]) -> tuple[str, ...]:
    more = len(events) - MOST_EVENTS
    return (*events[:MOST_EVENTS], f"{more} more") if more > 0 else tuple(events)
