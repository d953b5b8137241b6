"""What is done to a LUN before each run; other preparation is another series. No Django."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StrictInt, TypeAdapter, ValidationError

MAXIMUM_FILL_PERCENT = 90
MAXIMUM_SPRANDOM_PERCENT = 90
SPRANDOM_FROM = (3, 41)
"""The first release of fio that has it."""
LEAST_SPRANDOM_REGIONS, SPRANDOM_REGION_BYTES = 100, 8 * 1024**3
MAXIMUM_AGE_ROUNDS, MAXIMUM_AGE_EXTENTS = 100, 100_000
MIB = 1024 * 1024
# A LUN is written from here on: what stands before keeps the label by which fsbench knows its own
# LUNs, should the run be killed before mkfs.
PRECONDITION_FROM_BYTES = MIB
NOT_FOR_RAW = (
    "The raw device has no files: it can be neither filled nor aged. Leave that out, or leave out "
    "the raw device."
)
NOT_FOR_DIRECTORIES = (
    "A directory LUN has the file system it has: it is neither discarded, nor written as a whole, "
    "nor filled. Leave the preparation out, or choose a LUN on which file systems are made."
)


class PreparationError(ValueError):
    """A preparation that cannot be; the text says what is allowed, ``values`` what is wrong."""

    def __init__(self, text: str, *values: str) -> None:
        super().__init__(text)
        self.values = values


@dataclass(frozen=True)
class Preparation:
    """What is done before each run, beyond a new file system; not on a directory LUN."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    discard: Annotated[
        StrictBool, Field(description="discard (TRIM) the LUN before mkfs: nothing on it is needed")
    ] = False
    precondition: Annotated[
        StrictBool,
        Field(
            description="write the whole LUN once, one block after the other, with random data, "
            "before mkfs"
        ),
    ] = False
    fill_percent: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MAXIMUM_FILL_PERCENT,
            description="fill so much of the new file system with files before the benchmark",
        ),
    ] = 0
    age_rounds: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MAXIMUM_AGE_ROUNDS,
            description="age it: with files of all sizes, and then so many times the filled bytes "
            "of deleting, creating and rewriting them; needs fill_percent",
        ),
    ] = 0
    age_extents: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MAXIMUM_AGE_EXTENTS,
            description="age it for fewer rounds where files have so many hundredths of an extent "
            "on average before: 150 is one and a half",
        ),
    ] = 0
    precondition_twice: Annotated[
        StrictBool,
        Field(
            description="write it so twice, which is the preconditioning of SNIA's PTS; needs "
            "precondition"
        ),
    ] = False

    sprandom_percent: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MAXIMUM_SPRANDOM_PERCENT,
            description="bring a solid-state disk to the steady state of random writes by fio's "
            "sprandom, with so many percent of over-provisioning as its maker states; needs fio "
            "3.41 or later, 0: not done",
        ),
    ] = 0

    def __post_init__(self) -> None:
        if self.sprandom_percent and self.precondition:
            raise PreparationError(
                "sprandom already writes the whole LUN: leave precondition out, or sprandom.",
                "sprandom_percent",
                "precondition",
            )
        if self.precondition_twice and not self.precondition:
            raise PreparationError("Writing twice needs precondition: add it.", "precondition")
        if self.age_rounds and not self.fill_percent:
            raise PreparationError(
                "A file system is aged at a fill level: say fill_percent, too, or leave age_rounds "
                "out.",
                "fill_percent",
            )
        if self.age_extents and not self.age_rounds:
            raise PreparationError(
                "age_extents ends the ageing earlier: say age_rounds, too.", "age_rounds"
            )

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Preparation":
        """Of stored values; what is left out is not done. Raises PreparationError."""
        try:
            return _READER.validate_python(dict(stored))
        except ValidationError as refused:
            messages = (
                ": ".join([*map(str, error["loc"][:1]), error["msg"].rstrip(".")])
                for error in refused.errors()
            )
            raise PreparationError(f"This is no preparation: {'; '.join(messages)}.") from None

    def stored(self) -> dict[str, bool | int]:
        """Only what is done, so that a plain new file system is an empty dict for ever."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def words(self) -> list[str]:
        """What is done, for people, in order."""
        return [
            text
            for text, is_done in (
                ("discarded", self.discard),
                ("written once", self.precondition and not self.precondition_twice),
                ("written twice", self.precondition_twice),
                (
                    f"written by sprandom for {self.sprandom_percent}% over-provisioning",
                    self.sprandom_percent,
                ),
                (f"filled to {self.fill_percent}%", self.fill_percent),
                (self._age_in_words(), self.age_rounds),
            )
            if is_done
        ]

    def _age_in_words(self) -> str:
        until = f" or {self.age_extents / 100:g} extents a file" if self.age_extents else ""
        rounds = "round" if self.age_rounds == 1 else "rounds"
        return f"aged for {self.age_rounds} {rounds}{until}"

    def written_bytes(self, size_bytes: int) -> int:
        """How much is written into the new file system before the benchmark, at most."""
        return self.space_bytes(size_bytes) * (1 + self.age_rounds)

    @property
    def passes(self) -> int:
        """How often the whole LUN is written."""
        return 2 if self.precondition_twice else int(self.precondition or self.sprandom_percent > 0)

    def space_bytes(self, size_bytes: int) -> int:
        """How much of a LUN of this size the files take that fill it."""
        return size_bytes * self.fill_percent // 100


def has_sprandom(version: str) -> bool:
    """Whether fio of this version, as it prints it, has sprandom; False where none is reported."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version)
    return match is not None and (int(match[1]), int(match[2])) >= SPRANDOM_FROM


_READER = TypeAdapter(Preparation)
PLAIN = Preparation()
"""A new file system, mounted, and nothing more."""


def in_words(stored: Mapping[str, Any]) -> str:
    """A stored preparation for people, also one that this version does not know; "" for plain."""
    try:
        return ", ".join(Preparation.of(stored).words())
    except PreparationError:
        return ", ".join(f"{name} {value}" for name, value in sorted(stored.items()))
