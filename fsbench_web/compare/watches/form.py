"""What somebody says of a watch: which line, from which margin on, and where to write to."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

from fsbench_web.accounts import rights
from fsbench_web.compare.history import lines
from fsbench_web.compare.models import Watch
from fsbench_web.compare.watches import confirming, triage, watching, webhook
from fsbench_web.compare.watches.confirming import LEAST_ROUNDS, MOST_HOURS, MOST_ROUNDS
from fsbench_web.compare.watches.triage import State
from fsbench_web.studies.models import Series

MARGINS = (2, 5, 10, 20)
DEFAULT_MARGIN = 5
MOST_MARGIN = 100


class _PlainForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


class WatchForm(_PlainForm):
    """The line comes from the page it stands on, as hidden fields; the view looks it up."""

    series = forms.IntegerField(min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)
    test = forms.CharField(max_length=190, widget=forms.HiddenInput)
    category = forms.CharField(max_length=100, widget=forms.HiddenInput)
    along = forms.ChoiceField(
        choices=[(slug, label) for slug, label in lines.ALONG.items()], widget=forms.HiddenInput
    )
    margin = forms.IntegerField(
        label="Slower by at least, in percent",
        min_value=1,
        max_value=MOST_MARGIN,
        error_messages={
            "required": "Give the smallest change in percent that sends a message.",
            "invalid": "Write the margin as a whole number of percent.",
            "min_value": "A margin is 1 to 100 percent.",
            "max_value": "A margin is 1 to 100 percent.",
        },
    )
    email = forms.EmailField(
        label="E-mail to",
        required=False,
        max_length=254,
        help_text="Your account's own address, or empty: no e-mail.",
        error_messages={"invalid": "Write the address as ada@example.org, or leave it empty."},
    )
    webhook_url = forms.CharField(
        label="Webhook",
        required=False,
        max_length=webhook.MOST_URL,
        help_text="An https:// address that takes a signed JSON message. Empty: none.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
        error_messages={
            "max_length": f"An address has at most {webhook.MOST_URL} characters.",
        },
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.own_address = user, user.email
        self._disabled_reasons: dict[str, str] = {}
        if not settings.SENDS_EMAIL:
            self._switch_off(
                "email", "This site sends no e-mail: its administrator sets FSBENCH_EMAIL_URL."
            )
        elif not user.email:
            self._switch_off(
                "email", "Your account has no e-mail address yet: the account page takes one."
            )
        webhooks = rights.decide(user, rights.Action.CALL)
        if not webhooks.is_allowed:
            self._switch_off("webhook_url", webhooks.why)

    def _switch_off(self, name: str, reason: str) -> None:
        """Disable a field; ``clean`` refuses what is sent for it."""
        self._disabled_reasons[name] = reason
        field = self.fields[name]
        field.disabled, field.help_text = True, reason
        self.initial[name] = field.initial = ""

    def clean(self) -> dict[str, Any]:
        """An address that is not written to is refused: nobody should wait for its messages."""
        for name, reason in self._disabled_reasons.items():
            if str(self.data.get(self.add_prefix(name)) or "").strip():
                self.add_error(name, reason)
        return self.cleaned_data

    def clean_email(self) -> str:
        """The account's own address alone: nobody else is written to in its name."""
        address = str(self.cleaned_data["email"])
        if address and address.lower() != self.own_address.lower():
            raise forms.ValidationError(
                f"Messages go to the address of your account, {self.own_address}, alone. The "
                "account page changes it."
            )
        return self.own_address if address else ""

    def clean_webhook_url(self) -> str:
        url = str(self.cleaned_data["webhook_url"]).strip()
        if url:
            try:
                webhook.refuse_plainly_private(url)
            except webhook.WebhookProblem as problem:
                raise forms.ValidationError(str(problem)) from None
        return url

    def watch(self, series: Series, test: str, category: str, request: HttpRequest) -> Watch:
        """Watch the line as the valid form says. Raises as ``watching.watch``."""
        values = self.cleaned_data
        return watching.watch(
            self.user,
            series,
            test=test,
            category=category,
            along=values["along"],
            margin_percent=values["margin"],
            email=values["email"],
            webhook_url=values["webhook_url"],
            site=request.build_absolute_uri("/").rstrip("/"),
        )


class _ConfigurationField(forms.ModelChoiceField):
    """A choice of series, each by the name of its configuration."""

    def label_from_instance(self, obj: Series) -> str:
        return str(obj.configuration.label)


class BudgetForm(_PlainForm):
    """How much a watch may measure to confirm a change before it tells of it."""

    rounds = forms.IntegerField(
        label="Rounds",
        min_value=0,
        max_value=MOST_ROUNDS,
        help_text=f"{LEAST_ROUNDS} to {MOST_ROUNDS}. Each measures old and new once. 0: never.",
    )
    hours = forms.IntegerField(
        label="Hours",
        required=False,
        min_value=1,
        max_value=MOST_HOURS,
        help_text="fsbench starts no round that would end later.",
    )
    against = _ConfigurationField(
        Series.objects.none(),
        label="Compare with",
        required=False,
        empty_label="the earlier state",
        help_text="Another configuration of this LUN that was as fast before the change. "
        "Each round then measures both.",
    )
    confirm = forms.CharField(
        label="Names of the LUNs",
        required=False,
        max_length=2000,
        strip=True,
        help_text="The rounds erase them. Type the names to allow that.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, watch: Watch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["against"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = confirming.comparable(watch)

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        rounds = values.get("rounds")
        if rounds and rounds < LEAST_ROUNDS:
            self.add_error("rounds", f"Give 0, or at least {LEAST_ROUNDS}: fewer decide nothing.")
        if rounds and not values.get("hours") and not self.has_error("hours"):
            self.add_error("hours", "Say within how many hours the rounds must end.")
        return values


class TriageForm(_PlainForm):
    """What a person says of changes."""

    state = forms.ChoiceField(
        choices=[(state, state.label.capitalize()) for state in triage.SETTABLE],
        label="This change is",
    )
    note = forms.CharField(
        required=False, max_length=500, help_text="Why. An expected change needs one."
    )

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("state") == State.EXPECTED and not self.cleaned_data.get("note"):
            self.add_error("note", "Say why it is expected.")
        return self.cleaned_data
