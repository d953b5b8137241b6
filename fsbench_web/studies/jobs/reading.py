"""What forms and documents say, as pydantic takes it: without what is wrong, which is told."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Read = TypeVar("Read", bound=BaseModel)
Steps = tuple[int | str, ...]


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
