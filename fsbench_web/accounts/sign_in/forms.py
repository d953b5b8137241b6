"""Forms of the account page."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.utils import timezone

from fsbench_web.accounts.models import ApiToken
from fsbench_web.platform.plain_text import one_line


class SignInForm(AuthenticationForm):
    """User name and password."""

    error_messages = {
        **AuthenticationForm.error_messages,
        # The same of an account that is not there or is closed.
        "invalid_login": "Wrong name or password. Capital letters matter. If you forgot the "
        "password, an administrator can set a new one.",
    }


class PasswordForm(PasswordChangeForm):
    """The old password and the new one, twice. With ``refused`` the old one is not even checked."""

    def __init__(self, *args: Any, refused: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._refused = refused
        # The form is one of several on its page: the browser must not scroll down to it.
        del self.fields["old_password"].widget.attrs["autofocus"]

    def clean_old_password(self) -> str:
        if self._refused:
            raise forms.ValidationError(self._refused)
        old: str = super().clean_old_password()
        return old

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        new = self.cleaned_data.get("new_password1")
        if new and new == self.cleaned_data.get("old_password"):
            self.add_error("new_password1", "This is the old password: choose another.")
        return cleaned


class EmailForm(forms.Form):
    """The address that watches write to."""

    email = forms.EmailField(
        label="E-mail address",
        required=False,
        max_length=254,
        help_text="fsbench first sends a link there. Empty: no address.",
        error_messages={"invalid": "Write the address as ada@example.org, or leave it empty."},
    )


class TokenForm(forms.ModelForm):
    """A new API token: what it is for."""

    days = forms.TypedChoiceField(
        label="Expires",
        coerce=int,
        required=False,
        choices=[(30, "In 30 days"), (90, "In 90 days"), (365, "In a year"), (0, "Never")],
        initial=90,
    )

    class Meta:
        model = ApiToken
        fields = ["name", "can_import", "can_run", "can_administer"]
        labels = {
            "can_import": "May import",
            "can_run": "May submit and steer runs",
            "can_administer": "May administer",
        }
        help_texts = {
            "can_import": "Scope import: results, permalinks, watches, who sees a study.",
            "can_run": "Scope run: it erases the LUNs granted to you; also uploads workloads.",
            "can_administer": "Scope administer: people, teams, grants, withdrawing workloads.",
        }
        error_messages = {"name": {"required": "Give the token a name, then make it."}}

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].validators.append(one_line)
        self.user = user

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]  # "" where the form did not say
        return timezone.now() + timedelta(days=days) if days else None

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if ApiToken.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(
                f'You have a token named "{name}". Choose another name, or revoke that one first.'
            )
        return name
