"""What an address of a comparison can say: one table, which spec, form and words follow."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.labels import current_label
from fsbench_web.compare.selection.properties import PROPERTIES, contenders
from fsbench_web.core.comparison.rows import Value
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.profiles.definition import LARGEST_KB, Sizes
from fsbench_web.core.stats.verdicts import FREENIX
from fsbench_web.core.units import BINARY, DECIMAL, PRINTED
from fsbench_web.studies.scores.choices import ScoreChoices

# What a setting can be, and how its form says it.
CONTENDERS = contenders()
CELLS = {
    "": "All data points",
    "sound": "Sound data points: those with a quality flag left out",
    "cached": "Data points of files that fit into the cache",
    "uncached": "Data points of files that do not fit into the cache",
}
EMULATED = {
    "": "Left out, unless there is nothing else",
    "out": "Left out",
    "with": "Shown with the others",
    "only": "Shown alone",
}
PAPERS = {
    "no": "Left out",
    "yes": "Shown with measurements",
    "only": "Shown alone",
}
UNITS = {
    "": "As printed, or binary",
    PRINTED: "As printed alone",
    BINARY: "Binary: MiB/s",
    DECIMAL: "Decimal: MB/s",
}
_ORDERS = {
    "score": ("Score", "lowest first", "highest first"),
    "contender": ("Entry", "A to Z", "Z to A"),
    "change": ("Change against the baseline", "lowest first", "highest first"),
    "share": ("Of the LUN", "least first", "most first"),
    "runs": ("Runs", "fewest first", "most first"),
    "cells": ("Data points", "fewest first", "most first"),
    "interval": ("Interval", "narrowest first", "widest first"),
    "configuration": ("Configuration", "A to Z", "Z to A"),
    "workload": ("Workload", "A to Z", "Z to A"),
    "hardware": ("Hardware", "A to Z", "Z to A"),
    "lun": ("LUN", "A to Z", "Z to A"),
    "kernel": ("Kernel", "lowest first", "highest first"),
    "study": ("Study", "A to Z", "Z to A"),
}
SORTS = {"": "Worst first", "best": "Best first"} | {
    sign + slug: f"{title}, {words[sign]}"
    for slug, (title, rising, falling) in _ORDERS.items()
    for words in [{"": rising, "-": falling}]
    for sign in words
}
RULES = {
    "": "Paired where runs share rounds, else unpaired",
    FREENIX: "FREENIX 2002: intervals apart, means the margin apart",
}
ANSWERS = {"": "Either way", "yes": "Yes", "no": "No"}

_RANGE = re.compile(r"([0-9]{1,13})\s*([kmg]?)b?(?:\s*-\s*([0-9]{1,13})\s*([kmg]?)b?)?")
_TIMES = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}


def sizes_of(text: str) -> Sizes:
    """Sizes of 1024 bytes, KB where nothing is said. Raises ValueError with what it can be."""
    ends = _RANGE.fullmatch(text.strip().lower())
    if ends is None:
        raise ValueError("sizes as 8k-16k or 1g-4g")
    least = int(ends[1]) * _TIMES[ends[2]]
    most = int(ends[3]) * _TIMES[ends[4] or ""] if ends[3] else least
    if not 0 < least <= most <= LARGEST_KB:
        raise ValueError("sizes from the smallest to the largest, as 8k-16k")
    return Sizes(least, most)


def text_of(sizes: Sizes) -> str:
    """The one way in which an address says them."""
    if sizes.least == sizes.most:
        return _size(sizes.least)
    return f"{_size(sizes.least)}-{_size(sizes.most)}"


def canonical(text: str) -> str:
    """A range as an address says it. Raises ValueError."""
    return text_of(sizes_of(text))


def _size(kb: int) -> str:
    for letter in "km":
        if kb % 1024:
            return f"{kb}{letter}"
        kb //= 1024
    return f"{kb}g"


LONGEST_VALUE = 200
# Of what a refusal names: it must stay readable, whatever was asked.
UNKNOWN_NAMED = 3
NAMED_AT_MOST = 24
_PROFILE = re.compile(r"[a-z0-9][a-z0-9-]{0,59}(@[1-9][0-9]{0,5})?")


def _contender(text: str) -> str:
    if len(text) > LONGEST_VALUE or "\x00" in text:
        raise ValueError("the name of an entry of the tables")
    return text


def _profile(text: str) -> str:
    if not _PROFILE.fullmatch(text):
        raise ValueError("the name of a work profile, as oltp, or a version of it, as oltp@1")
    return text


def _flag(text: str) -> bool:
    if text != "1":
        raise ValueError("1, or left out")
    return True


def percent(text: str, most: int = 100) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise ValueError(f"a number of percent from 0 to {most}")
    return number + 0.0  # -0 is 0


def _whole_number(words: str, digits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= digits and int(text) > 0):
            raise ValueError(words)
        return int(text)

    return read


def _one_of(choices: Collection[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text in choices:
            return text
        names = [choice for choice in choices if choice]
        raise ValueError(" or ".join(filter(None, [", ".join(names[:-1]), names[-1]])))

    return read


@dataclass(frozen=True)
class Setting:
    """A parameter that is given once, an attribute of a spec. ``read`` raises ValueError with what
    it can be; ``words`` say what it is set to, by value or as a format of the spec. ``choices``:
    what a form offers.
    """

    name: str
    read: Callable[[str], Any]
    words: Mapping[str, str] | str = ""
    any_words: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)

    def in_words(self, spec: Any) -> str:
        """What ``spec`` sets it to, in words; "" for nothing to say."""
        if isinstance(self.words, str):
            return self.words.format(spec)
        return self.words.get(getattr(spec, self.name), "")


def _choice(
    name: str, choices: Mapping[str, str], words: Mapping[str, str] | str = "", any_words: str = ""
) -> Setting:
    return Setting(name, _one_of(choices), words, any_words, choices)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("profile", _profile),
        Setting("block", canonical),
        Setting("file", canonical),
        _choice("cached", ANSWERS),
        _choice("flushed", ANSWERS),
        _choice("by", CONTENDERS),
        Setting("baseline", _contender, "changes against {0.baseline}"),
        _choice(
            "cells",
            CELLS,
            {slug: words[:1].lower() + words[1:] for slug, words in CELLS.items()},
            "all data points",
        ),
        Setting("matched", _flag, "only data points that all entries of a table have"),
        _choice(
            "emulated",
            EMULATED,
            {
                "out": "without emulated results",
                "with": "emulated and real results",
                "only": "emulated results alone",
            },
            "emulated results where there is nothing else",
        ),
        _choice(
            "papers",
            PAPERS,
            {
                "no": "without published papers",
                "yes": "published papers and measurements",
                "only": "published papers alone",
            },
        ),
        _choice(
            "units",
            UNITS,
            {PRINTED: "units as printed", BINARY: "binary units", DECIMAL: "decimal units"},
        ),
        _choice("sort", SORTS),
        _choice(
            "rule", RULES, "judged by the rule of FREENIX 2002, different from {0.margin:g}% on"
        ),
        Setting("margin", percent),
        Setting("equivalence", percent, "equivalent within {0.equivalence:g}%"),
        Setting(
            "min_runs",
            _whole_number("a whole number of runs from 1", 6),
            "scores of {0.min_runs} runs or more",
            "scores of any number of runs",
        ),
        Setting("from_test", _whole_number("a whole number from 1", 9)),
        Setting("from_row", _whole_number("a whole number from 1", 9)),
    )
}
WORK_PARAMETERS = ("profile", "operation", "block", "file", "cached", "flushed")
"""Those that rank by a work profile or by a range of sizes."""


@dataclass(frozen=True)
class Filter:
    """A parameter that takes several values, and the attribute ``name`` of a spec.

    ``offered``: values that scores have, with labels, in the order of the form. ``known``: further
    valid values. ``is_closed``: only ``known`` is valid. ``is_condition``: no column selects it.
    ``all_word`` and the plural say that it is not set.
    """

    parameter: str
    name: str
    singular: str
    plural: str
    offered: Callable[[ScoreChoices], Iterable[tuple[str, str]]] = lambda choices: ()
    known: Collection[str] = ()
    order: Callable[[str], Any] = str
    label: Callable[[str], str] = str
    is_closed: bool = False
    is_condition: bool = False
    all_word: str = "all"

    @property
    def any_words(self) -> str:
        return f"{self.all_word} {self.plural}"

    @property
    def title(self) -> str:
        return self.plural[:1].upper() + self.plural[1:]

    def unknown(self, values: Iterable[str], choices: ScoreChoices) -> list[str]:
        """A sentence about values that exist nowhere; an old label means that of today."""
        slugs = dict.fromkeys([*self.known, *(slug for slug, _ in self.offered(choices))])
        is_label = self.parameter == "configuration"
        return unknown(
            self.parameter,
            [value for value in values if not (is_label and current_label(value) in slugs)],
            slugs,
        )


def _by_property(parameter: str, name: str, all_word: str = "all") -> Filter:
    chosen = PROPERTIES[parameter]

    def offered(choices: ScoreChoices) -> list[Value]:
        values = set(chosen.offered(choices)) if chosen.offered else set()
        return sorted(values, key=lambda value: (value.label, value.slug))

    return Filter(
        *(parameter, name, chosen.singular, chosen.plural, offered),
        is_condition=True,
        all_word=all_word,
    )


def _labelled(
    names: Iterable[str], order: Callable[[str], Any], label: Callable[[str], str]
) -> list[tuple[str, str]]:
    return [(name, label(name)) for name in sorted(names, key=order)]


_TEST = Filter(
    *("test", "tests", "test", "tests"),
    lambda choices: _labelled(choices.tests, testnames.place, testnames.label),
    *(testnames.IOZONE_TESTS, testnames.place, testnames.label),
)
_CATEGORY = Filter(
    *("category", "categories", "category", "categories"),
    lambda choices: _labelled(choices.categories, categories.place, categories.label),
    *(categories.all_slugs(), categories.place, categories.label),
    is_closed=True,
)
FILTERS = (
    Filter("study", "studies", "study", "studies", lambda choices: choices.studies),
    _TEST,
    _CATEGORY,
    Filter(
        *("filesystem", "filesystems", "file system", "file systems"),
        lambda choices: [(name, name) for name in choices.filesystems],
        FILESYSTEMS,
    ),
    Filter("workload", "workloads", "workload", "workloads", lambda choices: choices.workloads),
    Filter("hardware", "hardware", "hardware", "hardware", lambda choices: choices.hardware),
    _by_property("configuration", "configurations"),
    _by_property("kernel", "kernels"),
    _by_property("distribution", "distributions"),
    _by_property("lun", "luns"),
    _by_property("scheduler", "schedulers"),
    _by_property("journal", "journals"),
    _by_property("mkfs", "mkfs", "any"),
    _by_property("mount", "mount", "any"),
    _by_property("preparation", "preparations"),
    _by_property("machine", "machines"),
)
PARTS = (
    replace(
        _TEST,
        parameter="part_test",
        name="part_tests",
        known=(*testnames.IOZONE_TESTS, testnames.WORK),
    ),
    replace(_CATEGORY, parameter="part_category", name="part_categories"),
)
OPERATION = replace(_TEST, parameter="operation", name="operations", known=())
LISTS = (*FILTERS, *PARTS, OPERATION)
ATTRIBUTES = {
    **{entry.parameter: entry.name for entry in FILTERS},
    **{name: name for name in SETTINGS},
    **{entry.parameter: entry.name for entry in (*PARTS, OPERATION)},
}
"""The attribute of a spec that each parameter sets, in the order of an address."""


def query_of(shown: object, usual: object, attributes: Mapping[str, str]) -> str:
    """How an address says what of ``shown`` is not as ``usual``; ``attributes`` by parameter."""
    changed = {
        parameter: _as_text(getattr(shown, name))
        for parameter, name in attributes.items()
        if getattr(shown, name) != getattr(usual, name)
    }
    return urlencode(changed, doseq=True)


def _as_text(value: Any) -> Any:
    if value is True:
        return "1"
    return str(value).removesuffix(".0") if isinstance(value, float) else value


def unknown(parameter: str, values: Iterable[str], known_values: Iterable[str]) -> list[str]:
    """One sentence however many values nobody knows, and however many there are to name."""
    known_values = dict.fromkeys(known_values)
    unknown = [value for value in values if value not in known_values]
    if not unknown:
        return []
    listed = ", ".join(map(shortened, islice(known_values, NAMED_AT_MOST))) or "none yet"
    more = len(known_values) - NAMED_AT_MOST
    there_is = f"{listed} and {more} more" if more > 0 else listed
    return [f"There is no {parameter} {quoted(unknown)}; there is {there_is}."]


def quoted(names: Sequence[str]) -> str:
    """``"a"``, ``"a" or "b"``; of many the first ones, and how many there are."""
    first = [f'"{shortened(name)}"' for name in names[:UNKNOWN_NAMED]]
    if len(names) > UNKNOWN_NAMED:
        return f"{', '.join(first)} and {len(names) - UNKNOWN_NAMED} more ({len(names)} in all)"
    return " or ".join(part for part in (", ".join(first[:-1]), first[-1]) if part)


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
