"""What a person says of a trigger, checked as a job of theirs; page and API use the same form."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils import timezone

from fsbench_web.platform import clock
from fsbench_web.studies.jobs import lookup, submitting
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.documents.writer import without_times
from fsbench_web.studies.jobs.planned_runs import Plan
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import Trigger
from fsbench_web.studies.triggers import schedule

_OWN_FIELDS = ("title", "schedule", "zone", "on_kernel", "opens", "closes")


class TriggerForm(forms.Form):
    """``plan`` is what the job comes to now; None where the document is wrong."""

    title = forms.CharField(label="Name", max_length=120)
    schedule = forms.CharField(
        label="Schedule",
        required=False,
        max_length=schedule.LONGEST,
        help_text="Minute, hour, day of the month, month, day of the week (0 is Sunday): "
        "“0 2 * * *” is every night at 2. Empty: no schedule.",
    )
    zone = forms.CharField(
        label="Time zone",
        required=False,
        max_length=64,
        help_text="Of the schedule and the window. Empty: the zone of this site.",
    )
    on_kernel = forms.BooleanField(
        label="When its worker has a new kernel",
        required=False,
        help_text="A job in guests then also measures the new kernel.",
    )
    opens = forms.TimeField(
        label="Start runs from",
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text="Empty: at any time of the day.",
    )
    closes = forms.TimeField(
        label="End runs before",
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text="It may be after midnight. Runs that would not end in time are left out.",
    )
    document = forms.CharField(
        label="Job file",
        max_length=job_document.MAXIMUM_BYTES,
        widget=forms.Textarea(attrs={"rows": 16, "class": "mono", "spellcheck": "false"}),
        help_text="Without times. Without a seed, each job draws its own order.",
    )
    confirmation = forms.CharField(
        label="Names of the LUNs",
        required=False,
        max_length=2000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, user: User, trigger: Trigger | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.label_suffix = ""
        self.user, self.trigger = user, trigger
        self.plan: Plan | None = None
        self.spec: JobSpec | None = None
        self.saved_document: dict[str, Any] = {}
        self.is_forbidden = False

    @classmethod
    def initial_of(cls, trigger: Trigger) -> dict[str, Any]:
        """The values of a trigger, to be changed."""
        values = {name: getattr(trigger, name) for name in _OWN_FIELDS}
        return values | {"document": job_document.write(trigger.document)}

    def plan_of(self, text: str) -> list[tuple[str, str]]:
        """Work out ``plan``. Returns what is wrong: (place, sentence)."""
        try:
            written = without_times(job_document.read(text))
            self.spec = lookup.spec_of(written)
            self.plan = submitting.planned(self.spec)
        except job_document.UnreadableDocument as error:
            return [("document", str(error))]
        except (TypeError, AttributeError):
            return [("document", "A job is a map of keys and values.")]
        except JobRefused as refused:
            self.is_forbidden = refused.is_forbidden
            places = refused.by_part.items()
            return [(place, sentence) for place, texts in places for sentence in texts]
        # As it was written, but for what is fixed once: the scheduler.
        self.saved_document = without_times(self.spec.document or {})
        if "seed" not in written:
            self.saved_document.pop("seed", None)
        return [
            ("lun", f"fsbench cannot tell {lun.name} from another device, so it saves nothing.")
            for lun in self.plan.luns
            if not lun.fingerprint
        ]

    @property
    def confirmation_text(self) -> str:
        """What has to be typed: the names of the LUNs that are erased."""
        return (submitting.confirmation_text(self.spec) or "") if self.spec else ""

    def clean_schedule(self) -> str:
        text = " ".join(self.cleaned_data["schedule"].split())
        if text:
            _checked(schedule.parsed, text)
        return text

    def clean_zone(self) -> str:
        zone = self.cleaned_data["zone"].strip() or timezone.get_current_timezone_name()
        _checked(schedule.zone_named, zone)
        return str(zone)

    def clean_document(self) -> dict[str, Any]:
        problems = self.plan_of(self.cleaned_data["document"])
        if problems:
            raise forms.ValidationError([f"{place}: {text}" for place, text in problems])
        return self.saved_document

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        opens, closes = values.get("opens"), values.get("closes")
        if (opens is None) != (closes is None) or (opens is not None and opens == closes):
            self.add_error("closes", "Write two different times for the window, or none.")
        if self.plan is None or self.errors:
            return values
        if values["confirmation"] != self.confirmation_text:
            self.add_error("confirmation", f'Type "{self.confirmation_text}", exactly so.')
        elif values["seen"] and values["seen"] != self.plan.device_digest:
            self.add_error("confirmation", "The devices have changed. Look again, then confirm.")
        return values


def schedule_times(expression: str, zone: str, count: int = 3) -> list[datetime]:
    """The next times of a schedule, in its zone; none without one."""
    times: list[datetime] = []
    moment = clock.now()
    while expression and len(times) < count:
        moment = schedule.next_after(expression, zone, moment)
        times.append(moment.astimezone(schedule.zone_named(zone)))
    return times


def _checked(read: Any, text: str) -> None:
    try:
        read(text)
    except schedule.ScheduleError as error:
        raise forms.ValidationError(str(error)) from None
