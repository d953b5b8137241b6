"""The parameters of a workload: names, bounds, and how text becomes a value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

KB = 1024
Value = int | bool | str | list[int]
_WHOLE = re.compile(r"^[0-9]{1,12}$")
MOST_IN_A_LIST = 32


class ParameterError(ValueError):
    """A parameter outside its bounds; the text tells the user what is allowed."""


class Kind(StrEnum):
    WHOLE = "whole"  # a whole number within minimum and maximum, in ``unit``
    WHOLES = "wholes"  # several of them, each once, in rising order
    FLAG = "flag"  # yes or no
    CHOICE = "choice"  # one of ``choices``
    TEXT = "text"  # of at most ``maximum`` characters; only where it is fixed
    SIZE = "size"  # a power of two in KB of 1024 bytes, within minimum and maximum


@dataclass(frozen=True)
class Parameter:
    """One parameter. ``default`` None: it has to be given. ``choices`` are (value, label).

    ``paper``: what the paper used. ``fixed``: it belongs to a preset, and no job may change it.
    ``is_late``: it came after runs were kept, so its default is stored nowhere.
    """

    key: str
    label: str
    kind: Kind = Kind.WHOLE
    default: Value | None = None
    unit: str = ""
    minimum: int = 0
    maximum: int = 2**40
    choices: tuple[tuple[str, str], ...] = ()
    help: str = ""
    paper: str = ""
    fixed: bool = False
    is_late: bool = False

    @property
    def is_flag(self) -> bool:
        return self.kind == Kind.FLAG

    @property
    def sizes_kb(self) -> tuple[int, ...]:
        """Every size that can be chosen; empty where it is not a size."""
        if self.kind != Kind.SIZE:
            return ()
        sizes = [self.minimum]
        while sizes[-1] * 2 <= self.maximum:
            sizes.append(sizes[-1] * 2)
        return tuple(sizes)

    @property
    def _name(self) -> str:
        """The label within a sentence: CPUs stays as it is."""
        is_word = self.label[1:2].islower() or self.label[1:2] == ""
        return f"{self.label[0].lower()}{self.label[1:]}" if is_word else self.label

    def checked(self, value: object) -> Value:
        """The value, if it may be. Raises ParameterError."""
        name = self._name
        if self.kind == Kind.FLAG:
            if not isinstance(value, bool):
                raise ParameterError(f"{self.label} must be true or false, not {_short(value)}.")
            return value
        if self.kind == Kind.CHOICE:
            choices = [choice for choice, _ in self.choices]
            if not isinstance(value, str) or value not in choices:
                raise ParameterError(
                    f"The {name} must be one of {', '.join(choices)}, not {_short(value)}."
                )
            return value
        if self.kind == Kind.TEXT:
            if not isinstance(value, str) or "\x00" in value or len(value) > self.maximum:
                raise ParameterError(
                    f"The {name} must be a text of at most {self.maximum:,} characters."
                )
            return value
        if self.kind == Kind.WHOLES:
            return self._checked_list(name, value)
        return self._checked_whole(name, value)

    def _checked_list(self, name: str, value: object) -> list[int]:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= MOST_IN_A_LIST:
            raise ParameterError(
                f"The {name} must be a list of 1 to {MOST_IN_A_LIST} whole numbers, "
                f"not {_short(value)}."
            )
        numbers = [self._checked_whole(name, number) for number in value]
        if len(set(numbers)) < len(numbers):
            raise ParameterError(f"The {name} names a number twice: name each once.")
        return sorted(numbers)

    def _checked_whole(self, name: str, value: object) -> int:
        # Stored and sent parameters are JSON: true is a number there, and 4.0 is no whole one.
        if isinstance(value, bool) or not isinstance(value, int):
            raise ParameterError(f"The {name} must be a whole number, not {_short(value)}.")
        unit = "KB" if self.kind == Kind.SIZE else self.unit
        if not self.minimum <= value <= self.maximum:
            raise ParameterError(
                f"The {name} must be {self.minimum} to {self.maximum}{unit and ' '}{unit}, "
                f"not {value}."
            )
        if self.kind == Kind.SIZE and value & (value - 1):
            raise ParameterError(f"The {name} must be a power of two in KB, not {value}.")
        return value

    def of_text(self, text: str) -> Value:
        """The value that a form's text stands for. Raises ParameterError with a sentence."""
        if self.kind == Kind.FLAG:
            if text in ("yes", "no"):
                return text == "yes"
            raise ParameterError(f'{self.label}: "{_short(text)}" is neither yes nor no.')
        if self.kind in (Kind.CHOICE, Kind.TEXT):
            return self.checked(text)
        if self.kind == Kind.WHOLES:
            parts = [part for part in re.split(r"[\s,;]+", text) if part]
            if not parts:
                raise ParameterError(
                    f"{self.label}: nothing is given. Write 1 to {MOST_IN_A_LIST} whole numbers, "
                    "with commas between them."
                )
            return self._checked_list(self._name, [self._whole_number(part) for part in parts])
        return self._whole_number(text)

    def _whole_number(self, text: str) -> int:
        if _WHOLE.match(text):
            return int(text)
        unit = "KB" if self.kind == Kind.SIZE else self.unit
        expected = f"a whole number of {unit}" if unit else "a whole number"
        if not text:
            raise ParameterError(f"{self.label}: nothing is given. Write {expected}.")
        raise ParameterError(f'{self.label}: "{_short(text)}" is not {expected}.')

    def to_text(self, value: Value | None) -> str:
        """The inverse of ``of_text``; "" for None."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(map(str, value))
        return "" if value is None else str(value)


def checked_values(
    parameters: Sequence[Parameter], values: dict[str, Any], name: str
) -> dict[str, Value]:
    """All values of the workload ``name``, with defaults. Raises ParameterError."""
    unknown = sorted(set(values) - {parameter.key for parameter in parameters})
    if unknown:
        raise ParameterError(f"{name} has no parameter {', '.join(map(_short, unknown))}.")
    checked: dict[str, Value] = {}
    for parameter in parameters:
        if parameter.key not in values and parameter.default is None:
            raise ParameterError(
                f"{name}'s parameters are not complete: {parameter.key} is missing."
            )
        value = parameter.checked(values.get(parameter.key, parameter.default))
        if not parameter.is_late or value != parameter.default:
            checked[parameter.key] = value
    return checked


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
