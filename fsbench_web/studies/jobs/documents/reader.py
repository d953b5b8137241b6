"""The values of a document by their place in it, and what is wrong with them. No database."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fsbench_web.studies.jobs.spec import Problems


class DocumentMap(BaseModel):
    """A map of a document. Every key has a default, which is also what a wrong value becomes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Read = TypeVar("Read", bound=DocumentMap)


def read(model: type[Read], data: Mapping[str, Any], problems: Problems, at: str = "") -> Read:
    """The map without what is wrong, which is noted with its place; null is as if left out."""
    said = {str(key): value for key, value in data.items() if value is not None}
    try:
        return model.model_validate(said)
    except ValidationError as refused:
        for error in refused.errors():
            key = str(error["loc"][0])
            place = (at or key) if error["type"] == "extra_forbidden" else _joined(at, key)
            problems.add(place, _sentence(key, error["type"], error["input"], model))
            said.pop(key, None)
        return model.model_validate(said)


def _joined(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _sentence(key: str, kind: str, value: object, model: type[BaseModel]) -> str:
    if kind == "extra_forbidden":
        known = ", ".join(model.model_fields)
        return f'"{key}" means nothing here: leave it out, or write one of {known}.'
    if kind == "string_type":
        return f"{key} must be a text: put {value!r} in quotes if it is meant so."
    if kind == "int_type":
        return f"{key} must be a whole number, not {value!r}."
    return f"{key} must be a number, not {value!r}."


def needed(value: Any, place: str, what: str, problems: Problems) -> bool:
    """Whether it is there; a problem is noted where nothing else was said of it."""
    if not value and place not in problems.by_part:
        problems.add(place, f"{place.rpartition('.')[2]} is missing: {what}.")
    return bool(value)


def values(value: object, place: str, problems: Problems) -> list[tuple[Any, str]]:
    """(value, place) of a single value or of each in a list."""
    if isinstance(value, list):
        if not value:
            problems.add(place, "The list is empty: name at least one, or leave it out.")
        return [(one, f"{place}[{index}]") for index, one in enumerate(value)]
    return [(value, place)]


def names(value: object, place: str, problems: Problems) -> list[tuple[str, str]]:
    """(name, place) of texts; "" for null."""
    found = []
    for one, where in values(value, place, problems):
        if one is None or isinstance(one, str):
            found.append((one or "", where))
        else:
            problems.add(where, f"This must be a name, not {one!r}.")
    return found
