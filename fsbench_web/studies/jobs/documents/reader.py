"""The values of a document by their place in it, and what is wrong with them. No database."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, StrictStr, ValidationError
from pydantic_core import PydanticCustomError

from fsbench_web.platform.declared_keys import UNKNOWN_KEY, keys_at
from fsbench_web.studies.jobs.problems import Problems

Read = TypeVar("Read", bound=BaseModel)
Steps = tuple[int | str, ...]
_MISSING = {
    "kernels": "the kernels that are booted",
    "name": "the name of a workload",
    "half_width_percent": "a number of percent",
}
_MUST_BE = {
    "string_type": "must be a text: put {!r} in quotes if it is meant so",
    "int_type": "must be a whole number, not {!r}",
    "float_type": "must be a number, not {!r}",
    "moment": 'must be a time with its zone (ISO 8601), as "2026-11-23T22:00:00+01:00", not {!r}',
    "bool_type": "must be true or false, not {!r}",
    "list_type": "must be a list with at least one name",
    "tuple_type": "must be a list of names, not {!r}",
    "mapping_type": "must be a map",
    "dict_type": "must be a map of options and their values",
    "dataclass_type": "must be a map with ",
    "model_type": "must be a map with ",
    "parameter": "must be a whole number, a list of them, a word, true or false, not {!r}",
}


def sentence(text: str) -> PydanticCustomError:
    """A problem as people read it."""
    return PydanticCustomError("sentence", "{said}", {"said": text})


def _as_list(value: object) -> list[Any]:
    if value == []:
        raise sentence("The list is empty: name at least one, or leave it out.")
    return value if isinstance(value, list) else [value]


SEVERAL = BeforeValidator(_as_list)
"""Of a list: a lone value is a list of one."""
Several = Annotated[list[Any], SEVERAL]
Names = Annotated[list[StrictStr | None], SEVERAL]


def map_of(key: str, otherwise: str) -> BeforeValidator:
    """Of a map: a lone text is what this key has; anything else is refused so."""

    def name_as_map(value: object) -> object:
        if not isinstance(value, str | Mapping):
            raise sentence(otherwise)
        return {key: value} if isinstance(value, str) else value

    return BeforeValidator(name_as_map)


def read_map(
    model: type[Read], data: Mapping[str, Any], problems: Problems, parent: str = ""
) -> Read:
    """The map without what is wrong, which is noted with its place; null is as if left out."""
    return read(model, data, partial(_report, model, problems, parent))


def _report(
    model: type[BaseModel], problems: Problems, parent: str, steps: Steps, error: Any
) -> None:
    kind, value, last = error["type"], error["input"], steps[-1]
    is_parameter = steps[-2:-1] == ("parameters",)
    if value is None and isinstance(last, str) and not is_parameter:
        return
    if kind in UNKNOWN_KEY:
        allowed = ", ".join(key for key in keys_at(model, steps[:-1]) if key != "until")
        sentence = f'"{last}" means nothing here: leave it out, or write one of {allowed}.'
        problems.add(_place(steps[:-1], parent) or str(last), sentence)
    elif kind == "missing":
        key = error["loc"][-1]
        require(None, _place((*steps, key), parent), _MISSING[key], problems)
    elif is_parameter:
        problems.add(_place(steps, parent), f"{last} {_MUST_BE['parameter'].format(value)}.")
    elif kind in ("sentence", "value_error"):
        problems.add(_place(steps, parent), error_text(error))
    elif isinstance(error["loc"][-1], int):
        problems.add(_place(steps, parent), f"This must be a name, not {value!r}.")
    else:
        text = _MUST_BE.get(kind) or error["msg"].replace("Input should", "must", 1)
        keys = ", ".join(keys_at(model, steps)) if kind in ("dataclass_type", "model_type") else ""
        problems.add(_place(steps, parent), f"{last} {text.format(value)}{keys}.")


def _place(steps: Steps, place: str) -> str:
    """``configurations[2].options``; what is under ``until`` is written under ``repeats``."""
    if steps[:1] == ("until",):
        steps = ("repeats", *steps[1:])
    for step in steps:
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    return place.removeprefix(".")


def require(value: Any, place: str, description: str, problems: Problems) -> bool:
    """Whether it is there; a problem is noted where nothing else was said of it."""
    if not value and place not in problems.by_part:
        problems.add(place, f"{place.rpartition('.')[2]} is missing: {description}.")
    return bool(value)


def with_places(
    entries: list[Any], data: Mapping[str, Any], key: str, problems: Problems, parent: str = ""
) -> list[tuple[Any, str]]:
    """(value, place) of what is said under this key, alone or in a list, and is not wrong."""
    place, is_list = _place((key,), parent), isinstance(data.get(key), list)
    pairs = [
        (value, f"{place}[{index}]" if is_list else place) for index, value in enumerate(entries)
    ]
    return [(value, where) for value, where in pairs if where not in problems.by_part]


def read(
    model: type[Read], data: Mapping[str, Any], on_error: Callable[[Steps, Any], None]
) -> Read:
    """The model without what is wrong in the data: that takes its default.

    ``on_error`` gets each problem of pydantic with the steps that lead to it.
    """
    value: Any = deepcopy(dict(data))
    while True:
        try:
            return model.model_validate(value)
        except ValidationError as refused:
            wrong: dict[Steps, Any] = {}
            for error in refused.errors(include_url=False):
                wrong.setdefault(_steps_in_data(value, error["loc"]), error)
            for steps, error in wrong.items():
                on_error(steps, error)
            for steps in reversed(wrong):
                _leave_out(value, steps)


def error_text(error: Any) -> str:
    """What a check of several values together said of them; what pydantic says of any other."""
    cause = error.get("ctx", {}).get("error")
    return str(error["msg"] if cause is None else cause)


def _steps_in_data(value: Any, steps: Steps) -> Steps:
    """As many of pydantic's steps as lead to something in the data; a lone value is its list."""
    data_steps: Steps = ()
    for step in steps:
        if isinstance(step, int) and not isinstance(value, list):
            continue
        try:
            value = value[step] if not isinstance(value, str) else None
        except (KeyError, IndexError, TypeError):
            break
        data_steps = (*data_steps, step)
    return data_steps


def _leave_out(value: Any, steps: Steps) -> None:
    """Without the value there; in a list an empty text keeps the places of those behind it."""
    *before, last = steps
    for step in before:
        value = value[step]
    if isinstance(last, int) and value[last] != "":
        value[last] = ""
    else:
        del value[last]
