"""Which keys pydantic's models and dataclasses declare, by the place of a problem."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""What pydantic calls a key that is not declared: of a model, of a dataclass."""


def keys_at(model: type, place: Sequence[int | str]) -> list[str]:
    """The keys of the map at this place (pydantic's ``loc``) of a model or dataclass."""
    for step in place:
        if isinstance(step, str):
            model = _declaring(get_type_hints(model)[step]) or model
    if issubclass(model, BaseModel):
        return list(model.model_fields)
    return [field.name for field in fields(model)] if is_dataclass(model) else []


def _declaring(hint: Any) -> type | None:
    """The first model or dataclass in a type hint such as ``list[Part] | None``."""
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, BaseModel)):
        return hint
    return next((model for argument in get_args(hint) if (model := _declaring(argument))), None)
