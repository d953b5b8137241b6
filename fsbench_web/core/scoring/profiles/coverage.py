"""What is known of a reader's work: the cells measured, and the nearest ones. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from fsbench_web.core.numbers import scale_of
from fsbench_web.core.scoring.profiles.definition import RATIO, TOGETHER

Kind = TypeVar("Kind")
MOST_NAMED = 6
SMALLER_DATA_SET = "smaller_data_set"
"""A cell was measured by direct I/O on less data than its files hold."""


NOTES = {
    SMALLER_DATA_SET: "Direct I/O on less data than the profile's files measured some cells.",
}


def cells_were(count: int) -> str:
    """``cell was`` of one, ``cells were`` of several."""
    return "cell was" if count == 1 else "cells were"


@dataclass(frozen=True)
class Coverage:
    """How many cells a contender's best configuration has; ``why`` it has no score, else ""."""

    contender: str
    label: str
    configuration: str
    measured: int
    of: int
    missing: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class NearestValue:
    """The best that a contender measured of one cell; ``base`` of KB, MB and GB if known."""

    contender: str
    label: str
    value: float
    unit: str
    run_ids: tuple[int, ...]
    base: int | None = None


@dataclass(frozen=True)
class NearestCell:
    """The measured cell nearest to missing ones; ``values`` best first, each unit alone."""

    operation: str
    cell: str
    values: tuple[NearestValue, ...]
    record_kb: int | None = None
    file_kb: int | None = None

    @property
    def labelled_values(self) -> list[tuple[NearestValue, str]]:
        """Each value as people read it, all in one unit where they were printed in one."""
        kinds = {(value.unit, value.base) for value in self.values}
        labelled = []
        for value in self.values:
            alike = self.values if len(kinds) == 1 else (value,)
            scale = scale_of(value.unit, [other.value for other in alike], value.base)
            labelled.append((value, f"{scale.amount(value.value)} {scale.unit}".strip()))
        return labelled


@dataclass(frozen=True)
class PartWords:
    """A part in words, with its share in percent and how many of its cells anybody measured."""

    words: str
    percent: float
    measured: int
    of: int


@dataclass(frozen=True)
class WorkAnswer:
    """A profile, or a range, over the contenders of a comparison; permalinks keep it.

    ``measured`` of ``of`` cells by any contender, ``by_all`` by every one. ``scored``: contenders
    with all. ``baseline``: 1.00 of ratios. ``only_printed``: series of papers. ``unceiled``:
    contenders without a ceiling. ``apart``: entries with workloads that differ. ``notes``: codes.
    """

    title: str
    name: str
    together: str
    test: str
    category: str
    parts: tuple[PartWords, ...]
    measured: int
    of: int
    by_all: int
    scored: int
    contenders: int
    coverage: tuple[Coverage, ...]
    nearest: tuple[NearestCell, ...] = ()
    baseline: str = ""
    is_baseline_chosen: bool = False
    baseline_missing: bool = False
    only_printed: int = 0
    source: str = ""
    unceiled: tuple[str, ...] = ()
    apart: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every contender has a score."""
        return self.scored == self.contenders > 0

    @property
    def subject(self) -> str:
        """``your work``, or of a range ``this range``."""
        return "your work" if self.name else "this range"

    @property
    def headline(self) -> str:
        """What was measured, before anything else is said."""
        cells = "cell" if self.of == 1 else "cells"
        text = f"{self.measured} of {self.of} {cells} of {self.subject} measured"
        if not self.contenders:
            return f"{text}: there is nothing that could be compared"
        if 0 < self.measured < self.of:
            return f"{text}: no entry has all of them"
        if self.measured and not self.is_complete:
            entries = (
                f"{self.scored} of {self.contenders} entr{'ies' * (self.contenders > 1) or 'y'}"
            )
            return f"{text}, all of them {'in one way ' if self.apart else ''}by {entries}"
        return text

    @property
    def sentences(self) -> list[str]:
        """The same where there is no page: what was measured, and what is nearest."""
        parts = [f"{self.headline} ({self.title})."]
        for nearest in self.nearest:
            listed = "; ".join(
                f"{value.contender} {text}" for value, text in nearest.labelled_values[:MOST_NAMED]
            )
            parts.append(
                f"{nearest.operation}: nearest measured is {nearest.cell}: {listed}."
                if listed
                else f"{nearest.operation}: not measured this way, at any size."
            )
        if self.unceiled:
            parts.append(self.unceiled_words)
        parts += self.note_sentences
        return parts

    @property
    def unceiled_words(self) -> str:
        """Why there is no share of the LUN."""
        return f"No share of the LUN, for want of a ceiling: {', '.join(self.unceiled)}."

    @property
    def note_sentences(self) -> list[str]:
        """``notes`` in words."""
        return [NOTES[note] for note in self.notes]

    @property
    def method(self) -> str:
        return TOGETHER.get(self.together, self.together)

    @property
    def is_ratio(self) -> bool:
        return self.together == RATIO

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"headline": self.headline}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "WorkAnswer":
        """The inverse of ``as_dict``; what another version wrote besides is left out."""
        values = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        values |= {
            "parts": tuple(PartWords(**part) for part in data["parts"]),
            "coverage": tuple(_read(Coverage, entry) for entry in data["coverage"]),
            "nearest": tuple(
                _read(
                    NearestCell, cell | {"values": [_read(NearestValue, v) for v in cell["values"]]}
                )
                for cell in data["nearest"]
            ),
        }
        return _read(cls, values)


def _read(kind: type[Kind], data: Mapping[str, Any]) -> Kind:
    """A dataclass of JSON, with lists as tuples."""
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in data.items()})
