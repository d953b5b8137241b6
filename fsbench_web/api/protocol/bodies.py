"""What bodies have in common, and forms of the pages that check them."""

from typing import Any

from django import forms
from ninja import Schema
from pydantic import ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from fsbench_web.api.protocol import text
from fsbench_web.api.protocol.errors import Refused, nearest
from fsbench_web.platform.declared_keys import UNKNOWN_KEY, keys_at


class Closed(Schema):
    """Refuses keys that mean nothing: a misspelt one must not be left out in silence."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _says_what_there_is(cls, value: Any, handler: ModelWrapValidatorHandler["Closed"]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                error.title, [_error_details(problem, cls) for problem in error.errors()]
            ) from None


class Strict(Closed):
    """Refuses text that no database could hold too."""

    @model_validator(mode="before")
    @classmethod
    def _is_storable(cls, value: Any) -> Any:
        place = text.unstorable(value)
        if place is not None:
            raise ValueError(f"{place or 'a key'} {text.UNSTORABLE}")
        return value


def _error_details(error: Any, model: type[Closed]) -> InitErrorDetails:
    """The same problem; that of a key which is not declared, with those that are."""
    place, text = error["loc"], error["msg"]
    if error["type"] in UNKNOWN_KEY:
        keys = keys_at(model, place[:-1])
        text = f"not permitted, there is no such field{nearest(str(place[-1]), keys)}"
    answer = PydanticCustomError("value_error", "{text}", {"text": text})
    return InitErrorDetails(type=answer, loc=place, input=error["input"])


def given_fields(body: Schema) -> dict[str, Any]:
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
