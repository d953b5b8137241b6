"""Forms of the account page."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from fsbench_web.accounts.models import ApiToken


class TokenForm(forms.ModelForm):
    """A new API token: what it is for."""

    class Meta:
        model = ApiToken
        fields = ["name"]
        error_messages = {"name": {"required": "Say what the token is for, then make it."}}

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if ApiToken.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(
                f'You have a token named "{name}". Choose another name, or revoke that one first.'
            )
        return name
