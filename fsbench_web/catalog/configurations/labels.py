"""Short labels of configurations, as the Unisys paper writes them: ext3_wb_noatime_dl_xj. Pure.

The order is the paper's; what it does not have stands before the scheduler:
btrfs_data-raid1_2luns_none. Old scheduler words (``noop``, ``dl``) are still understood.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fsbench_web.catalog.configurations.filesystems import (
    ALL,
    AS_MOUNTED,
    ON_LUNS,
    SCHEDULER_LABELS,
    Filesystem,
    Option,
    OptionError,
)
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts, with_word

_FIRST = ("journal_mode", "atime")
EXTERNAL_JOURNAL_LABEL = "xj"
# The paper writes ext3_wb_noatime_dl_xj, and jfs_xj_noop.
_JOURNAL_BEFORE_SCHEDULER = {"jfs"}
# The elevators that got a new name with the multi-queue block layer. cfq and anticipatory have
# no equal today and stay what they are.
_RENAMED_SCHEDULERS = {"noop": "none", "deadline": "mq-deadline"}


def canonical_scheduler(scheduler: str) -> str:
    """Today's name of an I/O scheduler: ``deadline`` of an old kernel is ``mq-deadline``."""
    return _RENAMED_SCHEDULERS.get(scheduler, scheduler)


def current_label(label: str) -> str:
    """The same with today's word for its scheduler: ``ext4_noop`` is ``ext4_none``."""
    parts = parse_label(label)
    if parts is None or canonical_scheduler(parts.scheduler) == parts.scheduler:
        return label
    return configuration_label(
        parts.filesystem,
        parts.options,
        canonical_scheduler(parts.scheduler),
        parts.external_journal,
        parts.shape,
    )


def configuration_label(
    filesystem: str,
    options: Mapping[str, str],
    scheduler: str = "",
    external_journal: bool = False,
    shape: LunCounts = PLAIN_SHAPE,
) -> str:
    """The label of a configuration with options that passed ``validated_options``."""
    spec = ALL[filesystem]
    keys = [key for key in _FIRST if key in options]
    keys += [
        option.key
        for option in spec.options
        if option.key in options and option.key not in _FIRST and not option.is_joined
    ]
    joined = [option for option in spec.options if option.is_joined and option.key in options]
    name = "".join([filesystem, *(option.choice(options[option.key]).label for option in joined)])
    parts = [name, *(spec.option(key).choice(options[key]).label for key in keys)]
    parts += shape.label_words
    ends = [SCHEDULER_LABELS.get(scheduler, scheduler)] if scheduler else []
    if external_journal:
        place = 0 if filesystem in _JOURNAL_BEFORE_SCHEDULER else len(ends)
        ends.insert(place, EXTERNAL_JOURNAL_LABEL)
    return "_".join([*parts, *ends])


@dataclass
class LabelParts:
    """What a label says, in the words of ``catalog.configurations.filesystems``."""

    filesystem: str
    options: dict[str, str] = field(default_factory=dict)
    scheduler: str = ""
    external_journal: bool = False
    shape: LunCounts = PLAIN_SHAPE


def parse_label(label: str) -> LabelParts | None:
    """What a label says, with its parts in any order; None if one is unknown or comes twice."""
    # Two options of mount, and one value of ours: noatime-nodiratime.
    filesystem, *words = label.replace("noatime_nodiratime", "noatime-nodiratime").split("_")
    named = _filesystem_in(filesystem)
    if named is None:
        return None
    spec, parts = named
    for word in words:
        if word == EXTERNAL_JOURNAL_LABEL:
            if parts.external_journal:
                return None
            parts.external_journal = True
        elif word in SCHEDULER_LABELS.values():
            if parts.scheduler:
                return None
            # Of ``dl`` the elevator ``deadline``, not its successor.
            parts.scheduler = next(
                name for name, label in SCHEDULER_LABELS.items() if label == word
            )
        elif (shape := with_word(parts.shape, word)) is not None:
            parts.shape = shape
        else:
            for option in spec.options:
                value = _value_of(option, word)
                if value is not None:
                    break
            else:
                return None
            if option.key in parts.options:
                return None
            parts.options[option.key] = value
    return parts


def _filesystem_in(word: str) -> tuple[Filesystem, LabelParts] | None:
    """The file system of a label's first part; a mounted one counts only with its version."""
    if word in ON_LUNS:
        return ON_LUNS[word], LabelParts(word)
    for spec in AS_MOUNTED.values():
        for option in spec.options:
            value = _value_of(option, word.removeprefix(spec.slug)) if option.is_joined else None
            if value is not None and word.startswith(spec.slug):
                return spec, LabelParts(spec.slug, {option.key: value})
    return None


def _value_of(option: Option, word: str) -> str | None:
    for choice in option.choices:
        if choice.label == word:
            return choice.value
    if option.choices:
        return None
    before, after = option.label_template.split("{}")
    # No leading zero: the label of 4 is ag4, and ag04 is not something fsbench writes.
    match = re.fullmatch(f"{re.escape(before)}([1-9][0-9]*){re.escape(after)}", word)
    if match is None:
        return None
    try:
        return option.choice(match[1]).value
    except OptionError:
        return None
