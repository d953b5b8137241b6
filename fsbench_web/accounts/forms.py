"""Forms of the account page."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User

from fsbench_web.accounts.models import ApiToken


class SignInForm(AuthenticationForm):
    """User name and password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


class PasswordForm(PasswordChangeForm):
    """The old password and the new one, twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        # The form is one of several on its page: the browser must not scroll down to it.
        del self.fields["old_password"].widget.attrs["autofocus"]


class TokenForm(forms.ModelForm):
    """A new API token: what it is for."""

    class Meta:
        model = ApiToken
        fields = ["name"]
        error_messages = {"name": {"required": "Say what the token is for, then make it."}}

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.user = user

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if ApiToken.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(
                f'You have a token named "{name}". Choose another name, or revoke that one first.'
            )
        return name
