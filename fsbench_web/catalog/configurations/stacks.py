"""What a file system stands on: one LUN, or several with roles, through layers. Pure: no Django.

A *stack* is the LUNs of a run beside its own, each in a role, and the layers between them and the
file system, the lowest first. ``Shape`` is what a configuration says of it (how many LUNs in which
role), ``Stack`` the same with the names of LUNs, as a job asks for it. The LUN alone is the plain
stack: nothing is stored of it, so that configurations and series of before are what they were.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictStr

from fsbench_web.catalog.configurations.options import OptionError

DATA, LOG, CACHE, SPECIAL = "data", "log", "cache", "special"
ROLES = (DATA, LOG, CACHE, SPECIAL)
"""What a LUN of a stack is for; the journal of a file system has its own place (``journals``)."""
MOST_LUNS = 24
_COUNTED = re.compile(r"([1-9][0-9]?)(luns|log|cache|special)")
_WORDS = {LOG: "log", CACHE: "cache", SPECIAL: "special"}


@dataclass(frozen=True)
class Shape:
    """How many LUNs in which role; ``data`` counts the LUN that is measured too."""

    data: int = 1
    log: int = 0
    cache: int = 0
    special: int = 0

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> "Shape":
        """The inverse of ``stored``. Raises OptionError for what is no stack."""
        said = dict(stored or {})
        counts = {role: said.pop(role, 1 if role == DATA else 0) for role in ROLES}
        if said or not all(type(count) is int for count in counts.values()):
            raise OptionError("This stack was stored by another version of fsbench.")
        return cls(**counts)

    @classmethod
    def of_roles(cls, roles: Iterable[str]) -> "Shape":
        """That of a LUN with others in these roles."""
        counts = Counter(roles)
        return cls(1 + counts[DATA], counts[LOG], counts[CACHE], counts[SPECIAL])

    def stored(self) -> dict[str, Any]:
        """As ``FilesystemConfiguration.stack`` has it; empty for the LUN alone."""
        if self == PLAIN_SHAPE:
            return {}
        return {role: count for role, count in self._counts().items() if count or role == DATA}

    def _counts(self) -> dict[str, int]:
        return {DATA: self.data, LOG: self.log, CACHE: self.cache, SPECIAL: self.special}

    @property
    def luns(self) -> int:
        return sum(self._counts().values())

    @property
    def label_words(self) -> list[str]:
        """The parts of a configuration's label: ``2luns``, ``1cache``."""
        found = [f"{self.data}luns"] if self.data > 1 else []
        found += [
            f"{self._counts()[role]}{word}" for role, word in _WORDS.items() if self._counts()[role]
        ]
        return found

    @property
    def slug(self) -> str:
        """For addresses: ``2luns-1cache``, or ``single``."""
        return "-".join(self.label_words) or "single"

    @property
    def words(self) -> str:
        """For people: "2 LUNs", "one LUN, 1 for the cache"."""
        data = f"{self.data} LUNs" if self.data > 1 else "one LUN"
        others = [
            f"{count} for the {role}"
            for role, count in self._counts().items()
            if role != DATA and count
        ]
        return ", ".join([data, *others])


PLAIN_SHAPE = Shape()


def with_word(shape: Shape, word: str) -> Shape | None:
    """The shape with what this part of a label says; None where it says nothing of a stack, or
    what has been said.
    """
    match = _COUNTED.fullmatch(word)
    if match is None:
        return None
    count, role = int(match[1]), DATA if match[2] == "luns" else match[2]
    usual = getattr(PLAIN_SHAPE, role)
    if getattr(shape, role) != usual or count == usual:
        return None
    counts = {**vars(shape), role: count}
    return Shape(**counts)


_Names = Annotated[tuple[StrictStr, ...], Field(max_length=MOST_LUNS)]


@dataclass(frozen=True)
class Stack:
    """The names of the LUNs beside the one that is measured, by role, each in its order."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    luns: Annotated[
        _Names, Field(description="names of further LUNs for data, in order; they are erased too")
    ] = ()
    log: Annotated[_Names, Field(description="names of LUNs for the file system's log")] = ()
    cache: Annotated[_Names, Field(description="names of LUNs for a cache")] = ()
    special: Annotated[_Names, Field(description="names of LUNs for metadata alone")] = ()

    @property
    def members(self) -> tuple[tuple[str, str], ...]:
        """(role, name) of each, the further data LUNs first."""
        return tuple(
            (role, name)
            for role, names in zip(
                ROLES, (self.luns, self.log, self.cache, self.special), strict=True
            )
            for name in names
        )

    @property
    def shape(self) -> Shape:
        return Shape.of_roles(role for role, _ in self.members)

    @property
    def words(self) -> str:
        return in_words(self.members)


def in_words(members: Iterable[tuple[str, str]]) -> str:
    """``data-2,data-3 cache=nvme-1``, from (role, name) of each; "" for none."""
    by_role: dict[str, list[str]] = {}
    for role, name in members:
        by_role.setdefault(role, []).append(name)
    return " ".join(
        ",".join(names) if role == DATA else f"{role}={','.join(names)}"
        for role, names in by_role.items()
    )


def members_in(words: str) -> list[tuple[str, str]]:
    """The inverse of ``in_words``."""
    found = []
    for part in words.split():
        role, equals, names = part.rpartition("=")
        found += [(role if equals else DATA, name) for name in names.split(",")]
    return found


def stack_of(members: Iterable[tuple[str, str]]) -> Stack:
    """The inverse of ``Stack.members``."""
    by_role: dict[str, tuple[str, ...]] = dict.fromkeys(ROLES, ())
    for role, name in members:
        by_role[role] += (name,)
    return Stack(*by_role.values())


PLAIN_STACK = Stack()


@dataclass(frozen=True)
class Member:
    """One of them: the device as commands name it."""

    role: str
    device: str
    size_bytes: int | None = None


def data_devices(device: str, members: Iterable[Member]) -> list[str]:
    """All that hold the file system's data: that of the run's own LUN first."""
    return [device, *(one.device for one in members if one.role == DATA)]
