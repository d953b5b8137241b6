"""What a file system stands on: one LUN, or several in roles, through layers. No Django.

``LunCounts`` counts LUNs by role, as configurations store it; ``Stack`` has their names, as jobs
ask for it. The LUN alone is the plain stack: nothing is stored of it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, StrictStr

from fsbench_web.catalog.configurations.layers import Layer, layer_of_label, remaining_devices
from fsbench_web.catalog.configurations.options import OptionError

DATA, LOG, CACHE, SPECIAL = "data", "log", "cache", "special"
ROLES = (DATA, LOG, CACHE, SPECIAL)
"""What a LUN of a stack is for; the journal of a file system has its own place (``journals``)."""
ROLE_KEYS = ("luns", LOG, CACHE, SPECIAL)
"""What documents and the API call the names in each of them."""
MOST_LUNS = 24
MOST_LAYERS = 6
_COUNTED = re.compile(r"([1-9][0-9]?)(luns|log|cache|special)")


@dataclass(frozen=True)
class LunCounts:
    """How many LUNs in which role; ``data`` counts the LUN that is measured too."""

    data: int = 1
    log: int = 0
    cache: int = 0
    special: int = 0
    layers: tuple[Layer, ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> "LunCounts":
        """The inverse of ``stored``. Raises OptionError for what is no stack."""
        values = dict(stored or {})
        layers = values.pop("layers", [])
        counts = {role: values.pop(role, 1 if role == DATA else 0) for role in ROLES}
        if values or not all(type(count) is int for count in counts.values()):
            raise OptionError("This stack was stored by another version of fsbench.")
        return cls(**counts, layers=tuple(map(Layer.of, layers)))

    @classmethod
    def of_roles(cls, roles: Iterable[str], layers: tuple[Layer, ...] = ()) -> "LunCounts":
        """That of a LUN with others in these roles."""
        counts = Counter(roles)
        return cls(1 + counts[DATA], counts[LOG], counts[CACHE], counts[SPECIAL], layers)

    def stored(self) -> dict[str, Any]:
        """As ``FilesystemConfiguration.stack`` has it; empty for the LUN alone."""
        if self == PLAIN_SHAPE:
            return {}
        layers = {"layers": [layer.stored() for layer in self.layers]} if self.layers else {}
        return {DATA: self.data, **self._others, **layers}

    @property
    def _others(self) -> dict[str, int]:
        """How many LUNs have another role than data, of the roles that are there."""
        return {role: count for role in ROLES[1:] if (count := getattr(self, role))}

    @property
    def luns(self) -> int:
        return self.data + sum(self._others.values())

    @property
    def is_one_device(self) -> bool:
        """Whether all data lie on one device below the file system, so that it can be measured."""
        others = self.log + self.special
        return not others and remaining_devices(self.layers, self.data) == 1

    @property
    def label_words(self) -> list[str]:
        """The parts of a configuration's label: ``2luns``, ``1cache``."""
        words = [layer.label for layer in self.layers]
        words += [f"{self.data}luns"] if self.data > 1 else []
        return words + [f"{count}{role}" for role, count in self._others.items()]

    @property
    def slug(self) -> str:
        """For addresses: ``2luns-1cache``, or ``single``."""
        return "-".join(self.label_words) or "single"

    @property
    def words(self) -> str:
        """For people: "2 LUNs", "one LUN, 1 for the cache"."""
        data = f"{self.data} LUNs" if self.data > 1 else "one LUN"
        others = [f"{count} for the {role}" for role, count in self._others.items()]
        suffix = "".join(f", {layer.words}" for layer in self.layers)
        return ", ".join([data, *others]) + suffix


PLAIN_SHAPE = LunCounts()


def with_word(shape: LunCounts, word: str) -> LunCounts | None:
    """The shape with what this part of a label says; None if it says nothing new of a stack."""
    layer = layer_of_label(word)
    if layer is not None:
        return replace(shape, layers=(*shape.layers, layer))
    match = _COUNTED.fullmatch(word)
    if match is None:
        return None
    count, role = int(match[1]), DATA if match[2] == "luns" else match[2]
    usual = getattr(PLAIN_SHAPE, role)
    if getattr(shape, role) != usual or count == usual:
        return None
    return LunCounts(**{**vars(shape), role: count})


def read_layers(value: object) -> object:
    """Maps as layers; what is no list of maps is left to pydantic. Raises OptionError."""
    if not isinstance(value, list | tuple):
        return value
    return tuple(Layer.of(entry) if isinstance(entry, Mapping) else entry for entry in value)


_Names = Annotated[tuple[StrictStr, ...], Field(max_length=MOST_LUNS)]


@dataclass(frozen=True)
class Stack:
    """The names of the LUNs besides the measured one, by role, each in its order."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    luns: Annotated[
        _Names, Field(description="names of further LUNs for data, in order; they are erased too")
    ] = ()
    log: Annotated[_Names, Field(description="names of LUNs for the file system's log")] = ()
    cache: Annotated[_Names, Field(description="names of LUNs for a cache")] = ()
    special: Annotated[_Names, Field(description="names of LUNs for metadata alone")] = ()
    layers: Annotated[
        tuple[Layer, ...],
        BeforeValidator(read_layers, json_schema_input_type=list[dict[str, str | int]]),
        Field(
            max_length=MOST_LAYERS,
            description="between the LUNs and the file system, the lowest first: maps with layer "
            "(md, lvm, luks, integrity, bcache) and its options; in guests alone",
        ),
    ] = ()

    @property
    def members(self) -> tuple[tuple[str, str], ...]:
        """(role, name) of each, the further data LUNs first."""
        return tuple(
            (role, name)
            for role, key in zip(ROLES, ROLE_KEYS, strict=True)
            for name in getattr(self, key)
        )

    @property
    def shape(self) -> LunCounts:
        return LunCounts.of_roles((role for role, _ in self.members), self.layers)

    @property
    def words(self) -> str:
        """``disk2,disk3 cache=fast md-raid1``; "" for the LUN alone."""
        return " ".join([in_words(self.members), *(layer.label for layer in self.layers)]).strip()

    def stored(self) -> dict[str, Any]:
        """As documents have it; empty for the LUN alone."""
        data: dict[str, Any] = {
            key: list(luns) for key in ROLE_KEYS if (luns := getattr(self, key))
        }
        return data | ({"layers": [layer.stored() for layer in self.layers]} if self.layers else {})


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
    members = []
    for part in words.split():
        role, equals, names = part.rpartition("=")
        members += [(role if equals else DATA, name) for name in names.split(",")]
    return members


def stack_of(members: Iterable[tuple[str, str]], layers: tuple[Layer, ...] = ()) -> Stack:
    """The inverse of ``Stack.members``."""
    by_role: dict[str, tuple[str, ...]] = dict.fromkeys(ROLES, ())
    for role, name in members:
        by_role[role] += (name,)
    data, log, cache, special = by_role.values()
    return Stack(data, log, cache, special, layers)


PLAIN_STACK = Stack()


@dataclass(frozen=True)
class Member:
    """One of them: the device as commands name it."""

    role: str
    device: str
    size_bytes: int | None = None


def data_devices(device: str, members: Iterable[Member]) -> list[str]:
    """All that hold the file system's data: that of the run's own LUN first."""
    return [device, *(member.device for member in members if member.role == DATA)]
