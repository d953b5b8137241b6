"""What is done to a LUN before each run, beyond a new file system. Pure: no Django.

Runs with different preparation are never repeats of each other (studies.series).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StrictInt, TypeAdapter, ValidationError

MAXIMUM_FILL_PERCENT = 90
MIB = 1024 * 1024
# A LUN is written from here on: what stands before keeps the label by which fsbench knows its own
# LUNs, should the run be killed before mkfs.
PRECONDITION_FROM_BYTES = MIB
NOT_FOR_DIRECTORIES = (
    "A directory LUN has the file system it has: it is neither discarded, nor written as a whole, "
    "nor filled. Leave the preparation out, or choose a LUN on which file systems are made."
)


class PreparationError(ValueError):
    """A preparation that cannot be; the text says what is allowed."""


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

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Preparation":
        """Of stored values; what is left out is not done. Raises PreparationError."""
        try:
            return TypeAdapter(cls).validate_python(dict(stored))
        except ValidationError as refused:
            said = (f"{error['loc'][0]}: {error['msg']}" for error in refused.errors())
            raise PreparationError(f"This is no preparation: {'; '.join(said)}.") from None

    def stored(self) -> dict[str, bool | int]:
        """Only what is done, so that a plain new file system is an empty dict for ever."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def words(self) -> list[str]:
        """What is done, for people, in order."""
        return [
            text
            for text, wanted in (
                ("discarded", self.discard),
                ("written once", self.precondition),
                (f"filled to {self.fill_percent}%", self.fill_percent),
            )
            if wanted
        ]

    def space_bytes(self, size_bytes: int) -> int:
        """How much of a LUN of this size the files take that fill it."""
        return size_bytes * self.fill_percent // 100


PLAIN = Preparation()
"""A new file system, mounted, and nothing more."""


def in_words(stored: Mapping[str, Any]) -> str:
    """A stored preparation for people, also one that this version does not know; "" for plain."""
    try:
        return ", ".join(Preparation.of(stored).words())
    except PreparationError:
        return ", ".join(f"{name} {value}" for name, value in sorted(stored.items()))
