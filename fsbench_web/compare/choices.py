"""The filter form: what the chosen studies offer, and which choices are made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fsbench_web.compare.selection import fields, profiles
from fsbench_web.compare.selection.fields import CONTENDERS, SETTINGS
from fsbench_web.compare.selection.properties import PROPERTIES, STAGE_FILTERS
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.comparison.rows import DeltaTable, shown_names
from fsbench_web.core.scoring import testnames
from fsbench_web.platform import limits
from fsbench_web.studies.scores.choices import ScoreChoices
from fsbench_web.studies.scores.queries import NO_PAPERS

ALL_OPTIONS = "A configuration must have every option ticked; of several values of one option, any."


class Choice(NamedTuple):
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Filter:
    """One group of checkboxes: none ticked takes all. ``left_out``: how many are not listed."""

    parameter: str
    title: str
    choices: list[Choice]
    left_out: int = 0
    help: str = ""

    @property
    def chosen(self) -> int:
        return sum(choice.is_chosen for choice in self.choices)

    @property
    def total(self) -> int:
        return len(self.choices) + self.left_out


def work_choice(spec: ComparisonSpec) -> dict[str, list[Choice]]:
    """What contenders can be ranked by besides tests and categories: a profile, or a range."""
    titles = profiles.titles()
    if spec.profile and spec.profile not in titles:
        titles[spec.profile] = spec.profile
    tests = dict.fromkeys((*testnames.PAPER_TESTS, *spec.operations))
    return _selects(spec, "cached", "flushed") | {
        "profiles": _options({"": "No profile: tests and categories", **titles}, spec.profile),
        "operations": [
            Choice(test, testnames.label(test), test in spec.operations) for test in tests
        ],
    }


def form(
    spec: ComparisonSpec, choices: ScoreChoices, tables: Iterable[DeltaTable] = ()
) -> dict[str, Any]:
    """The form for ``spec``. Of the contenders of ``tables`` each can be the baseline."""
    names = sorted({row.contender for table in tables for row in table.rows})
    if spec.baseline and spec.baseline not in names:
        names.append(spec.baseline)
    emulated = ["emulated"] if choices.has_emulated or spec.emulated else []
    return {
        "contenders": _contenders(spec.by),
        "filters": filters(spec, choices),
        "baselines": _options({"": "The best of each table", **shown_names(names)}, spec.baseline),
        "selects": _selects(spec, "sort", "cells", "units", "rule", *emulated)
        | {"papers": _options(SETTINGS["papers"].choices, spec.papers or NO_PAPERS)},
    }


def _selects(spec: ComparisonSpec, *names: str) -> dict[str, list[Choice]]:
    return {name: _options(SETTINGS[name].choices, getattr(spec, name)) for name in names}


def _contenders(by: str) -> list[tuple[str, bool, list[Choice]]]:
    """(title, whether it is open, choices): what contenders can be; the usual ones first."""
    usual, options = ("filesystem", "configuration"), "option."
    others = [slug for slug in PROPERTIES if slug not in usual and not slug.startswith(options)]
    single = [slug for slug in PROPERTIES if slug.startswith(options)]
    return [
        ("", True, [Choice(slug, CONTENDERS[slug], slug == by) for slug in usual]),
        (
            "By another property",
            by in others,
            [Choice(slug, PROPERTIES[slug].title, slug == by) for slug in others],
        ),
        (
            "By one option",
            by in single,
            [Choice(slug, slug.removeprefix(options), slug == by) for slug in single],
        ),
    ]


def _options(offered: Mapping[str, str], chosen: str) -> list[Choice]:
    return [Choice(value, label, value == chosen) for value, label in offered.items()]


def filters(spec: ComparisonSpec, choices: ScoreChoices) -> list[Filter]:
    """The groups in reading order; one with nothing to choose between is left out."""
    groups = [
        _filter(entry, entry.offered(choices), getattr(spec, entry.name))
        for entry in fields.FILTERS
    ]
    return [group for group in groups if len(group.choices) > 1 or group.chosen]


def _filter(
    entry: fields.Filter, offered: Iterable[tuple[str, str]], values: Iterable[str]
) -> Filter:
    chosen = set(values)
    labels = dict(offered)
    # What is chosen stays in the form, also when no score has it: else it could not be unchosen.
    labels |= {value: value for value in sorted(chosen) if value not in labels}
    shown = list(labels)
    if len(shown) > limits.MOST_OPTIONS:
        shown = [value for value in labels if value in chosen]
        room = max(0, limits.MOST_OPTIONS - len(shown))
        shown += [value for value in labels if value not in chosen][:room]
    if entry.parameter == "configuration":
        short = shown_names(labels.values())
        labels = {value: short[label] for value, label in labels.items()}
    return Filter(
        entry.parameter,
        entry.title,
        [Choice(value, labels[value], value in chosen) for value in shown],
        len(labels) - len(shown),
        ALL_OPTIONS if entry.parameter in STAGE_FILTERS else "",
    )
