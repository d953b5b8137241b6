"""Forms of the administrators' pages."""

import hashlib
import json
import re
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db.models import QuerySet

from fsbench_web.accounts import names
from fsbench_web.accounts.models import LunGrant, Role, Team, grantable_luns
from fsbench_web.accounts.people import accounts
from fsbench_web.accounts.people.closing import PermalinkDisposition, Permalinks
from fsbench_web.platform.openid_settings import SUBJECT_LENGTH
from fsbench_web.platform.plain_text import one_line

_KEY = re.compile("[0-9]{1,18}", re.ASCII)
ROLE_HELP = (
    "Each role includes the ones before it. Viewers read; contributors import and keep permalinks; "
    "operators submit runs on the LUNs granted to them; administrators do everything."
)


class _AsShown(forms.Form):
    """A form of a whole object, which knows whether that changed since its page was shown."""

    _compared: tuple[str, ...] = ()

    def state_digest(self) -> str:
        values = {name: self.initial[name] for name in self._compared}
        plain = {
            name: sorted(row.pk for row in value) if isinstance(value, QuerySet) else value
            for name, value in values.items()
        }
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @property
    def is_outdated(self) -> bool:
        """Whether somebody else changed it meanwhile, if the form says what it showed."""
        digest = self.data.get("shown", "")
        return bool(digest) and digest != self.state_digest()


class _Rows(forms.ModelMultipleChoiceField):
    """Rows by their numbers, also where a number is too large for the database."""

    def clean(self, value: Any) -> Any:
        for key in value or ():
            if not _KEY.fullmatch(str(key)):
                raise forms.ValidationError(
                    self.error_messages["invalid_pk_value"], "invalid_pk_value", {"pk": key}
                )
        return super().clean(value)


class _LunChoice(_Rows):
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.worker.name} / {obj.name} ({obj.get_role_display()})"


def _luns() -> _LunChoice:
    rows = grantable_luns().select_related("worker").order_by("worker__name", "name")
    return _LunChoice(
        queryset=rows,
        required=False,
        label="LUNs",
        widget=forms.CheckboxSelectMultiple,
        help_text="Runs erase them. A journal's LUN needs a grant of its own.",
    )


class AccountForm(forms.ModelForm):
    """A new account."""

    password = forms.CharField(
        label="Password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="10 characters or more. The first sign-in must choose another one.",
    )
    role = forms.ChoiceField(choices=Role.choices, label="Role", help_text=ROLE_HELP)

    class Meta:
        model = User
        fields = ["username"]
        # As sign-in reads it and create_user stores it: a name in look-alike letters (NFKC) is the
        # same name, and must be found taken or reserved here.
        field_classes = {"username": UsernameField}
        help_texts = {"username": "Letters a to z, digits and @ . + - _"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.PASSWORD_SIGN_IN:
            del self.fields["password"]

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if problem := names.problem(name):
            raise forms.ValidationError(problem)
        return name

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password)
        return password


class NewPasswordForm(forms.Form):
    """What else ends with the old password."""

    revokes_tokens = forms.BooleanField(
        required=False,
        label="Revoke the account's API tokens too",
        help_text="Use this if somebody else may know the password. Leave it out to keep scripts "
        "running.",
    )


class IdentityForm(forms.Form):
    """A person of the sign-in service that is to open an account."""

    subject = forms.CharField(
        label="Subject",
        max_length=SUBJECT_LENGTH,
        strip=False,
        validators=[one_line],
        help_text="The claim sub of the sign-in service. People who are refused without an "
        "account see theirs.",
    )


class PersonForm(_AsShown):
    """What an administrator says of an account."""

    _compared = ("role", "is_active", "email", "teams", "luns")

    role = forms.ChoiceField(choices=Role.choices, label="Role", help_text=ROLE_HELP)
    is_active = forms.BooleanField(
        required=False,
        label="The account is open",
        help_text="Closing ends its sessions, revokes its API tokens and pauses its watches. "
        "Reopening restores none of them. Its runs and imports stay.",
    )
    permalinks = forms.ChoiceField(
        choices=PermalinkDisposition.choices,
        required=False,
        label="Its permalinks, when it is closed",
        widget=forms.RadioSelect,
    )
    heir = forms.ModelChoiceField(
        queryset=User.objects.none(),
        required=False,
        label="Hand them over to",
        empty_label="Choose an account",
        to_field_name="username",
    )
    email = forms.EmailField(
        label="E-mail address",
        required=False,
        max_length=254,
        help_text="Its watches send mail there. Set it only if you know that it belongs to this "
        "person.",
    )
    teams = _Rows(
        queryset=Team.objects.order_by("name"),
        required=False,
        label="Teams",
        widget=forms.CheckboxSelectMultiple,
    )
    luns = _luns()

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        initial = {
            "role": str(accounts.kept_role(user)),
            "is_active": user.is_active,
            "email": user.email,
            "teams": user.teams.all(),
            "luns": grantable_luns().filter(grants__user=user),
        }
        super().__init__(*args, **{**kwargs, "initial": initial})
        heirs = User.objects.filter(is_active=True).exclude(pk=user.pk).order_by("username")
        field = self.fields["heir"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = heirs

    @property
    def permalinks_choice(self) -> Permalinks | None:
        """What becomes of them; None where nothing was chosen."""
        fate = self.cleaned_data["permalinks"]
        return Permalinks(PermalinkDisposition(fate), self.cleaned_data["heir"]) if fate else None


class TeamNameForm(forms.ModelForm):
    """A new team."""

    class Meta:
        model = Team
        fields = ["name"]
        error_messages = {"name": {"unique": "There is a team of this name already."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].validators.append(one_line)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if problem := names.team_problem(name, self.instance if self.instance.pk else None):
            raise forms.ValidationError(problem)
        return name


class TeamForm(_AsShown, TeamNameForm):
    """Name, members and LUNs of a team."""

    _compared = ("name", "members", "luns")

    members = _Rows(
        queryset=User.objects.order_by("username"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    luns = _luns()

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        grants = LunGrant.objects.filter(team=team)
        initial = {
            "members": team.members.all(),
            "luns": grantable_luns().filter(pk__in=grants.values("lun")),
        }
        super().__init__(*args, instance=team, initial=initial, **kwargs)
