"""What bodies have in common, and forms of the pages that check them."""

from typing import Any

from django import forms
from ninja import Schema
from pydantic import ConfigDict, model_validator

from fsbench_web.api import text
from fsbench_web.api.errors import Refused


class Strict(Schema):
    """Refuses keys that mean nothing, and text that no database could hold."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_storable(cls, value: Any) -> Any:
        place = text.unstorable(value)
        if place is not None:
            raise ValueError(f"{place or 'a key'} {text.UNSTORABLE}")
        return value


def given(body: Schema) -> dict[str, Any]:
    """What a PATCH says; what it does not say stays."""
    return body.model_dump(exclude_unset=True)


def cleaned(form: forms.BaseForm) -> dict[str, Any]:
    """What the form of the page makes of the values. Raises Refused with all of its problems."""
    if form.is_valid():
        return form.cleaned_data
    raise Refused(
        422,
        [
            (None if name == "__all__" else name, str(sentence))
            for name, sentences in form.errors.items()
            for sentence in sentences
        ],
    )
