"""Expand the configurations of a job document. No database.

Lists multiply. An impossible combination is left out, with the reason. It is a problem if its entry
stands for nothing else, or if no file system of the entry knows a word.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any

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
from fsbench_web.studies.jobs.documents.reader import (
    SEVERAL,
    Names,
    Several,
    map_of,
    read_map,
    with_places,
)
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import ConfigurationSpec

MAXIMUM_COMBINATIONS = 5000
INTERNAL_JOURNAL = "internal"
DEFAULT_VALUES = (None, "", "default")


SINGLE = "single"
_PARTS = {"scheduler": "schedulers", "journal": "journals", "stack": "stacks"}
"""The parts of a configuration that multiply, as an entry and the whole job call them."""
_Layer = Annotated[
    dict[str, Several],
    map_of("layer", f"A layer is one of {', '.join(LAYERS)}, or a map with layer."),
]


class _Stack(BaseModel):
    """``Stack``, with as many layers in the place of one as the values of its options make."""

    model_config = ConfigDict(extra="forbid")

    luns: Names = []
    log: Names = []
    cache: Names = []
    special: Names = []
    layers: Annotated[list[_Layer], SEVERAL] | None = None


class _Entry(BaseModel):
    """``Configuration``, with lists of what may be in each of its places."""

    model_config = ConfigDict(extra="forbid")

    filesystem: Names = []
    options: dict[str, Several] | None = None
    schedulers: Names = []
    journals: Names = []
    stacks: Several = []


class ConfigurationReader:
    """Reads configurations; ``left_out`` are those that cannot be: (place, in words, why)."""

    def __init__(self, base_model: BaseModel, data: Mapping[str, Any], problems: Problems) -> None:
        self.problems = problems
        self.left_out: list[tuple[str, str, str]] = []
        self.combinations = 0
        self.shared = {
            part: self._placed_parts(getattr(base_model, key), data, key)
            for part, key in _PARTS.items()
        }

    def configurations(self, data: Mapping[str, Any]) -> Iterator[ConfigurationSpec]:
        entries = data.get("configurations")
        if not isinstance(entries, list) or not entries:
            self.problems.add(
                "configurations",
                "configurations must be a list with at least one entry: a file system with its "
                "options.",
            )
            return
        for index, entry in enumerate(entries):
            yield from self.entry(entry, f"configurations[{index}]")
            if self.combinations > MAXIMUM_COMBINATIONS:
                return  # it has been said

    def _placed_parts(
        self, entries: list[Any], data: Mapping[str, Any], key: str, place: str = ""
    ) -> list[tuple[Any, str]]:
        """Schedulers, journals or stacks, each with its place."""
        values = with_places(entries, data, key, self.problems, place)
        if key == "stacks":
            return [
                (stack, where) for value, where in values for stack in self._stacks(value, where)
            ]
        return [(name or "", where) for name, where in values]

    def entry(self, data: object, place: str) -> list[ConfigurationSpec]:
        """All that one entry stands for."""
        if isinstance(data, str):
            data = {"filesystem": data}
        if not isinstance(data, Mapping):
            self.problems.add(place, "An entry is a map with filesystem, and options if any.")
            return []
        before = self.problems.count
        entry_read = read_map(_Entry, data, self.problems, place)
        filesystems = self._filesystems(entry_read, data, place)
        options = self._options(entry_read, data, place, [slug for slug, _ in filesystems])
        parts = {
            part: self._placed_parts(getattr(entry_read, key), data, key, place)
            if key in data
            else self.shared[part]
            for part, key in _PARTS.items()
        }
        count = math.prod(map(len, (filesystems, *options.values(), *parts.values())))
        self.combinations += count
        if self.combinations > MAXIMUM_COMBINATIONS:
            self.problems.add(
                place,
                f"With {count} combinations here the job stands for more than "
                f"{MAXIMUM_COMBINATIONS}: shorten the lists, or submit it in parts.",
            )
        if self.problems.count > before:
            return []
        configurations = []
        for placed_slug, chosen, others in product(
            filesystems, _products(options), _products(parts)
        ):
            wanted = _configuration(placed_slug, chosen, others, place)
            reason = _impossible_reason(wanted)
            if not reason:
                configurations.append(wanted)
            elif count == 1:
                self.problems.add(place, reason)
            else:
                self.left_out.append((place, _in_words(wanted), reason))
        if not configurations and count > 1:
            reasons = dict.fromkeys(why for where, _, why in self.left_out if where == place)
            self.problems.add(place, f"Nothing of this entry can be: {' '.join(reasons)}")
        return configurations

    def _stacks(self, data: object, place: str) -> list[Stack]:
        """All that one stands for: the values of options of its layers multiply."""
        if data in (None, SINGLE):
            return [PLAIN_STACK]
        if not isinstance(data, Mapping):
            self.problems.add(
                place, f"A stack is {SINGLE}, or a map with luns, log, cache, special or layers."
            )
            return []
        stack = read_map(_Stack, data, self.problems, place)
        named = {key: tuple(filter(None, getattr(stack, key))) for key in ROLE_KEYS}
        if sum(map(len, named.values())) > MOST_LUNS:
            self.problems.add(place, f"A stack has {MOST_LUNS} further LUNs at most.")
        layers = with_places(stack.layers or [], data, "layers", self.problems, place)
        if len(layers) > MOST_LAYERS:
            self.problems.add(f"{place}.layers", f"A stack has {MOST_LAYERS} layers at most.")
            return []
        layer_choices = [self._layer(layer, where) for layer, where in layers]
        if math.prod(map(len, layer_choices)) > MAXIMUM_COMBINATIONS:
            self.problems.add(place, f"Its layers stand for more than {MAXIMUM_COMBINATIONS}.")
            return []
        return [Stack(**named, layers=layers) for layers in product(*layer_choices)]

    def _layer(self, data: Mapping[str, list[Any]], place: str) -> list[Layer]:
        if math.prod(map(len, data.values())) > MAXIMUM_COMBINATIONS:
            self.problems.add(place, f"It stands for more than {MAXIMUM_COMBINATIONS} layers.")
            return []
        layers = []
        for chosen in product(*data.values()):
            try:
                layers.append(Layer.of(dict(zip(data, chosen, strict=True))))
            except OptionError as error:
                self.problems.add(place, str(error))
        return layers

    def _filesystems(
        self, entry: _Entry, data: Mapping[str, Any], place: str
    ) -> list[tuple[str, str]]:
        if data.get("filesystem") is None:
            self.problems.add(place, f"filesystem is missing: one of {', '.join(ON_LUNS)}.")
            return []
        filesystems = []
        for slug, where in with_places(entry.filesystem, data, "filesystem", self.problems, place):
            try:
                filesystems.append((filesystem(slug or "").slug, where))
            except OptionError as error:
                self.problems.add(where, str(error))
        return filesystems

    def _options(
        self, entry: _Entry, data: Mapping[str, Any], place: str, slugs: list[str]
    ) -> dict[str, list[tuple[Any, str]]]:
        """{option: [(value, place)]}; each value is one that a file system of the entry knows."""
        options: dict[str, list[tuple[Any, str]]] = {}
        for key, values in (entry.options or {}).items():
            placed_values = with_places(
                values, data["options"], key, self.problems, f"{place}.options"
            )
            options[key] = [(as_text(value), where) for value, where in placed_values]
            for value, where in options[key]:
                # A default of an unknown option is a misspelt option all the same.
                reasons = {slug: _refusal(slug, key, value) for slug in slugs}
                if reasons and all(reasons.values()):
                    # One that knows the option says more than one that does not.
                    knowing = [slug for slug in slugs if not _refusal(slug, key, None)]
                    self.problems.add(where, reasons[(knowing or slugs)[0]])
        return options


def _products(options: Mapping[str, list[tuple[Any, str]]]) -> list[dict[str, tuple[Any, str]]]:
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*options.values())]


def _configuration(
    placed_slug: tuple[str, str],
    options: Mapping[str, tuple[Any, str]],
    parts: Mapping[str, tuple[Any, str]],
    place: str,
) -> ConfigurationSpec:
    values = {part: value for part, (value, _) in parts.items()}
    return ConfigurationSpec(
        placed_slug[0],
        {key: value for key, (value, _) in options.items() if value not in DEFAULT_VALUES},
        **values | ({"journal": ""} if values["journal"] == INTERNAL_JOURNAL else {}),
        places={
            "": place,
            "filesystem": placed_slug[1],
            **{part: where for part, (_, where) in parts.items()},
        },
    )


def _refusal(slug: str, key: str, value: object) -> str:
    try:
        option = filesystem(slug).option(key)
        if value not in DEFAULT_VALUES:
            option.choice(value)
    except OptionError as error:
        return str(error)
    return ""


def _impossible_reason(wanted: ConfigurationSpec) -> str:
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
