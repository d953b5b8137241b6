"""A comparison in English: what it shows, what its flags mean, how to see more of it."""

from collections.abc import Iterable, Mapping, Sequence

from fsbench_web.compare.selection import fields, profiles
from fsbench_web.compare.selection.fields import CONTENDERS, Filter, sizes_of
from fsbench_web.compare.selection.properties import STAGE_FILTERS, options_in_words
from fsbench_web.compare.selection.spec import EVERYTHING, ComparisonSpec, set_aside
from fsbench_web.core.scoring import quality, testnames
from fsbench_web.core.scoring.profiles.definition import circumstances
from fsbench_web.studies.scores.choices import ScoreChoices

FLAGS: dict[str, tuple[str, str]] = {
    "published_differs": (
        "print differs",
        "The paper printed a delta or a best mark that does not follow from its own scores.",
    ),
    "unequal_repeats": (
        "unequal repeats",
        "Some data points were measured in some of the repeats only.",
    ),
    "partial": (
        "partial",
        "The score has fewer data points than the workload's full matrix.",
    ),
    **{slug: (flag.label, flag.sentence) for slug, flag in quality.FLAGS.items()},
    "mixed_workloads": (
        "mixed workloads",
        "The rows of this table come from different workloads. Choose one workload to compare like "
        "with like.",
    ),
    "mixed_hardware": (
        "mixed hardware",
        "The rows of this table come from different hardware. Choose one hardware profile to "
        "compare like with like.",
    ),
    "mixed_luns": (
        "mixed LUNs",
        "The rows of this table come from different LUNs: they differ in their disks as well.",
    ),
    "mixed_systems": (
        "mixed systems",
        "The rows of this table come from different kernels or distributions.",
    ),
    "mixed_preparations": (
        "mixed preparations",
        "The LUNs of these rows were prepared differently before the runs: discarded, written "
        "once, or filled with files.",
    ),
    "emulated": (
        "emulated",
        "Measured in a guest that was emulated in software: for function, not for speed.",
    ),
    "mixed_machines": (
        "mixed machines",
        "Some rows were measured in guests and others on the host itself, or in guests with other "
        "memory or CPUs.",
    ),
    "not_matched": (
        "not matched",
        "Only the score is known, without its data points, so it covers all of them. The other "
        "scores of the table cover the data points that they have in common.",
    ),
    "no_common_cells": (
        "no common data points",
        "The entries of this table have no data points in common for this score. Each score covers "
        "all of its own.",
    ),
    "unit_unexplained": (
        "KB of 1,000 or 1,024",
        "KB, MB and GB may mean 1,000 or 1,024 bytes here. Against the other rows the score may "
        "be off by 2.4% (KB), 4.9% (MB) or 7.4% (GB).",
    ),
    "not_comparable": (
        "not ranked",
        "It is not known whether more or less of this unit is better, or a value is negative. The "
        "rows are shown but not ranked.",
    ),
}
FILTERS = {entry.name: entry.any_words for entry in fields.FILTERS} | {
    name: setting.any_words for name, setting in fields.SETTINGS.items() if setting.any_words
}
"""Each filter and setting as it is when nothing is said."""
_NAMED_AT_MOST = 4
_SAID = (
    *("cells", "emulated", "papers", "units", "matched", "min_runs", "baseline", "rule"),
    "equivalence",
)
"""Settings that a sentence says, in this order."""


def flag_label(flag: str) -> str:
    """A flag in two words; one this version does not know keeps its name."""
    return FLAGS[flag][0] if flag in FLAGS else flag.replace("_", " ")


def flag_meaning(flag: str) -> str:
    """A flag as a sentence, empty where there is none."""
    return FLAGS[flag][1] if flag in FLAGS else ""


def describe(spec: ComparisonSpec, choices: ScoreChoices) -> str:
    """What the comparison shows, as one sentence, and which of its filters choose nothing."""
    ignored = set_aside(spec)
    return f"{in_words(spec, choices)} {ignored}" if ignored else in_words(spec, choices)


def in_words(spec: ComparisonSpec, choices: ScoreChoices) -> str:
    """What the comparison shows, as one sentence, for who says the others elsewhere."""
    parts = {
        entry.name: _filter_words(entry, getattr(spec, entry.name), choices)
        for entry in fields.FILTERS
        if getattr(spec, entry.name) or entry.name in ("studies", "tests", "categories")
    }
    if spec.is_of_work:
        parts["tests"] = work_words(spec)
        del parts["categories"]
    parts |= {
        name: fields.SETTINGS[name].in_words(spec)
        for name in _SAID
        if getattr(spec, name) != getattr(EVERYTHING, name)
    }
    if spec.is_part:
        parts["part"] = _part(spec)
    return "; ".join([CONTENDERS[spec.by], *parts.values()]) + "."


def work_words(spec: ComparisonSpec) -> str:
    if spec.profile:
        return f"the work profile {spec.profile}"
    parts = [
        _selection_words(
            "operation", "operations", [testnames.label(operation) for operation in spec.operations]
        )
        if spec.operations
        else "IOzone's six operations",
        f"blocks of {sizes_of(spec.block).words}" if spec.block else "",
        f"files of {sizes_of(spec.file).words}" if spec.file else "",
        *circumstances(profiles.ANSWER[spec.cached], profiles.ANSWER[spec.flushed]),
    ]
    return ", ".join(filter(None, parts))


def _filter_words(entry: Filter, chosen: Sequence[str], choices: ScoreChoices) -> str:
    labels = dict(entry.offered(choices)) if chosen else {}
    names = [labels.get(slug) or entry.label(slug) for slug in chosen]
    if entry.parameter in STAGE_FILTERS and len(names) <= _NAMED_AT_MOST:
        return f"{entry.singular} {options_in_words(names)}"
    return _selection_words(entry.singular, entry.plural, names)


def _part(spec: ComparisonSpec) -> str:
    parts = [
        _selection_words(entry.singular, entry.plural, map(entry.label, getattr(spec, entry.name)))
        for entry in fields.PARTS
        if getattr(spec, entry.name)
    ]
    return f"shown of these: {', '.join(parts)}"


def joined(names: Iterable[str], limit: int = _NAMED_AT_MOST) -> str:
    """Names in a sentence: ``a, b and c``; of many the first ones and how many more."""
    listed = list(names)
    if len(listed) > limit:
        return f"{', '.join(listed[: limit - 1])} and {len(listed) - limit + 1} more"
    return " and ".join(part for part in (", ".join(listed[:-1]), *listed[-1:]) if part)


def flags_in_words(flags: Mapping[str, Sequence[str]]) -> str:
    """``contended: ext4; drifted: all``, of the flags of each contender; "" for none."""
    names: dict[str, list[str]] = {}
    for name, contender_flags in flags.items():
        for flag in contender_flags:
            names.setdefault(flag, []).append(name)
    return "; ".join(
        f"{flag_label(flag)}: {'all' if len(contenders) == len(flags) > 1 else joined(contenders)}"
        for flag, contenders in names.items()
    )


def change_words(change_percent: float | None, is_baseline: bool | None) -> str:
    """What a change against the baseline means, in a word."""
    if is_baseline:
        return "baseline"
    if change_percent is None:
        return ""
    if change_percent == 0:
        return "the same"
    return "faster" if change_percent > 0 else "slower"


def _selection_words(singular: str, plural: str, names: Iterable[str]) -> str:
    listed = list(names)
    if not listed:
        return f"all {plural}"
    if len(listed) > _NAMED_AT_MOST:
        return f"{len(listed)} {plural}"
    return f"{singular if len(listed) == 1 else plural} {', '.join(listed)}"
