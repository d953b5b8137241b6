"""The configurations of a job: what each entry of its document stands for. No database.

Lists multiply. A combination that cannot be is left out, with the reason, where the entry stands
for others too; where it stands for nothing else it is a problem. So is what no file system of the
entry knows: a misspelt word never just disappears.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from pydantic import BaseModel, ConfigDict

from fsbench_web.catalog.configurations.filesystems import (
    ON_LUNS,
    OptionError,
    external_journal,
    filesystem,
)
from fsbench_web.catalog.configurations.layers import LAYERS, Layer, as_text
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.stacks import (
    MOST_LAYERS,
    MOST_LUNS,
    PLAIN_STACK,
    ROLE_KEYS,
    Stack,
)
from fsbench_web.studies.jobs.documents.reader import names, read_map, values
from fsbench_web.studies.jobs.spec import ConfigurationSpec, Problems

MAXIMUM_COMBINATIONS = 5000
INTERNAL_JOURNAL = "internal"
DEFAULT_VALUES = (None, "", "default")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    filesystem: Any = None
    options: Any = None
    schedulers: Any = None
    journals: Any = None
    stacks: Any = None


class _Stack(BaseModel):
    model_config = ConfigDict(extra="forbid")

    luns: Any = None
    log: Any = None
    cache: Any = None
    special: Any = None
    layers: Any = None


SINGLE = "single"


class ConfigurationReader:
    """Reads configurations; ``left_out`` are those that cannot be: (place, in words, why)."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.left_out: list[tuple[str, str, str]] = []
        self.combinations = 0

    def configurations(self, data: Mapping[str, Any]) -> Iterator[ConfigurationSpec]:
        entries = data.get("configurations")
        if not isinstance(entries, list) or not entries:
            self.problems.add(
                "configurations",
                "configurations must be a list with at least one entry: a file system with its "
                "options.",
            )
            return
        shared = self.shared(data)
        for index, entry in enumerate(entries):
            yield from self.entry(entry, f"configurations[{index}]", shared)
            if self.combinations > MAXIMUM_COMBINATIONS:
                return  # it has been said

    def shared(self, data: Mapping[str, Any]) -> dict[str, list[tuple[Any, str]]]:
        """Schedulers, journals and stacks that hold where an entry names none."""
        return {
            "schedulers": names(data.get("schedulers"), "schedulers", self.problems),
            "journals": names(data.get("journals"), "journals", self.problems),
            "stacks": self.stacks(data.get("stacks"), "stacks"),
        }

    def entry(
        self, entry: object, place: str, shared: Mapping[str, list[tuple[Any, str]]]
    ) -> list[ConfigurationSpec]:
        """All that one entry stands for."""
        if isinstance(entry, str):
            entry = {"filesystem": entry}
        if not isinstance(entry, Mapping):
            self.problems.add(place, "An entry is a map with filesystem, and options if any.")
            return []
        before = self.problems.count
        read_map(_Entry, entry, self.problems, place)
        filesystems = self.filesystems(entry, place)
        options = self.options(
            entry.get("options"), f"{place}.options", [f for f, _ in filesystems]
        )
        schedulers, journals = (
            names(entry[key], f"{place}.{key}", self.problems) if key in entry else shared[key]
            for key in ("schedulers", "journals")
        )
        stacks = (
            self.stacks(entry["stacks"], f"{place}.stacks")
            if "stacks" in entry
            else shared["stacks"]
        )
        count = math.prod(map(len, (filesystems, schedulers, journals, stacks, *options.values())))
        self.combinations += count
        if self.combinations > MAXIMUM_COMBINATIONS:
            self.problems.add(
                place,
                f"With {count} combinations here the job stands for more than "
                f"{MAXIMUM_COMBINATIONS}: shorten the lists, or submit it in parts.",
            )
        if self.problems.count > before:
            return []
        found = []
        for (slug, fs_place), chosen, scheduler, journal, stack in product(
            filesystems, _products(options), schedulers, journals, stacks
        ):
            wanted = _configuration(slug, chosen, scheduler, journal, stack, place, fs_place)
            reason = _impossible(wanted)
            if not reason:
                found.append(wanted)
            elif count == 1:
                self.problems.add(place, reason)
            else:
                self.left_out.append((place, _in_words(wanted), reason))
        if not found and count > 1:
            reasons = dict.fromkeys(why for where, _, why in self.left_out if where == place)
            self.problems.add(place, f"Nothing of this entry can be: {' '.join(reasons)}")
        return found

    def stacks(self, said: object, place: str) -> list[tuple[Stack, str]]:
        """(stack, place) of a single one or of each in a list; that of null is the LUN alone."""
        found = []
        for one, where in values(said, place, self.problems):
            if one in (None, SINGLE):
                found.append((PLAIN_STACK, where))
            elif isinstance(one, Mapping):
                read_map(_Stack, one, self.problems, where)
                found += [(stack, where) for stack in self._stacks(one, where)]
            else:
                self.problems.add(
                    where,
                    f"A stack is {SINGLE}, or a map with luns, log, cache, special or layers.",
                )
        return found

    def _stacks(self, said: Mapping[str, Any], place: str) -> list[Stack]:
        """All that a map stands for: the values of options of its layers multiply."""
        named = {
            key: tuple(
                name for name, _ in names(said[key], f"{place}.{key}", self.problems) if name
            )
            for key in ROLE_KEYS
            if said.get(key) is not None
        }
        if sum(map(len, named.values())) > MOST_LUNS:
            self.problems.add(place, f"A stack has {MOST_LUNS} further LUNs at most.")
        each = self._layers(said.get("layers"), f"{place}.layers")
        if math.prod(map(len, each)) > MAXIMUM_COMBINATIONS:
            self.problems.add(place, f"Its layers stand for more than {MAXIMUM_COMBINATIONS}.")
            return []
        return [Stack(**named, layers=layers) for layers in product(*each)]

    def _layers(self, said: object, place: str) -> list[list[Layer]]:
        """What each layer stands for, the lowest first."""
        if said is None:
            return []
        entries = values(said, place, self.problems)
        if len(entries) > MOST_LAYERS:
            self.problems.add(place, f"A stack has {MOST_LAYERS} layers at most.")
            return []
        return [self._layer(one, where) for one, where in entries]

    def _layer(self, said: object, place: str) -> list[Layer]:
        entry = {"layer": said} if isinstance(said, str) else said
        if not isinstance(entry, Mapping):
            self.problems.add(place, f"A layer is one of {', '.join(LAYERS)}, or a map with layer.")
            return []
        options = {
            str(key): values(value, f"{place}.{key}", self.problems) for key, value in entry.items()
        }
        if math.prod(map(len, options.values())) > MAXIMUM_COMBINATIONS:
            self.problems.add(place, f"It stands for more than {MAXIMUM_COMBINATIONS} layers.")
            return []
        found = []
        for chosen in _products(options):
            try:
                found.append(Layer.of({key: value for key, (value, _) in chosen.items()}))
            except OptionError as error:
                self.problems.add(place, str(error))
        return found

    def filesystems(self, entry: Mapping[str, Any], place: str) -> list[tuple[str, str]]:
        if entry.get("filesystem") is None:
            self.problems.add(place, f"filesystem is missing: one of {', '.join(ON_LUNS)}.")
            return []
        found = []
        for slug, where in names(entry["filesystem"], f"{place}.filesystem", self.problems):
            try:
                filesystem(slug)
            except OptionError as error:
                self.problems.add(where, str(error))
            else:
                found.append((slug, where))
        return found

    def options(
        self, options: object, place: str, slugs: list[str]
    ) -> dict[str, list[tuple[Any, str]]]:
        """{option: [(value, place)]}; each value is one that a file system of the entry knows."""
        if options is None:
            return {}
        if not isinstance(options, Mapping):
            self.problems.add(place, "options must be a map of options and their values.")
            return {}
        found: dict[str, list[tuple[Any, str]]] = {}
        for key, value in options.items():
            found[key] = [
                (as_text(one), at) for one, at in values(value, f"{place}.{key}", self.problems)
            ]
            for one, where in found[key]:
                # A default of an unknown option is a misspelt option all the same.
                reasons = {slug: _refusal(slug, key, one) for slug in slugs}
                if reasons and all(reasons.values()):
                    # One that knows the option says more than one that does not.
                    knowing = [slug for slug in slugs if not _refusal(slug, key, None)]
                    self.problems.add(where, reasons[(knowing or slugs)[0]])
        return found


def _products(options: Mapping[str, list[tuple[Any, str]]]) -> list[dict[str, tuple[Any, str]]]:
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*options.values())]


def _configuration(
    slug: str,
    options: Mapping[str, tuple[Any, str]],
    scheduler: tuple[str, str],
    journal: tuple[str, str],
    stack: tuple[Stack, str],
    place: str,
    filesystem_place: str,
) -> ConfigurationSpec:
    return ConfigurationSpec(
        slug,
        {key: value for key, (value, _) in options.items() if value not in DEFAULT_VALUES},
        scheduler[0],
        "" if journal[0] == INTERNAL_JOURNAL else journal[0],
        stack[0],
        places={
            "": place,
            "filesystem": filesystem_place,
            "scheduler": scheduler[1],
            "journal": journal[1],
            "stack": stack[1],
        },
    )


def _refusal(slug: str, key: str, value: object) -> str:
    """Why this file system does not take this value for this option, or ""."""
    try:
        option = filesystem(slug).option(key)
        if value not in DEFAULT_VALUES:
            option.choice(value)
    except OptionError as error:
        return str(error)
    return ""


def _impossible(wanted: ConfigurationSpec) -> str:
    """Why there can be no such configuration on any LUN, or ""."""
    for key, value in wanted.options.items():
        reason = _refusal(wanted.filesystem, key, value)
        if reason:
            return reason
    if wanted.journal:
        try:
            external_journal(wanted.filesystem)
        except OptionError as error:
            return str(error)
    options = {key: str(value) for key, value in wanted.options.items()}
    return next(option_conflicts(wanted.filesystem, options, None, shape=wanted.stack.shape), "")


def _in_words(wanted: ConfigurationSpec) -> str:
    parts = [wanted.filesystem, *(f"{key}={value}" for key, value in wanted.options.items())]
    if wanted.scheduler:
        parts.append(f"scheduler={wanted.scheduler}")
    if wanted.journal:
        parts.append(f"journal={wanted.journal}")
    if wanted.stack != PLAIN_STACK:
        parts.append(f"on {wanted.stack.words}")
    return " ".join(parts)
