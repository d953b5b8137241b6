"""Properties that entries differ in and filters use. Pure. Unknown is a value like any other."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fsbench_web.catalog.configurations.filesystems import ALL
from fsbench_web.catalog.configurations.labels import current_label
from fsbench_web.catalog.configurations.stacks import LunCounts
from fsbench_web.core.comparison.rows import ConfigurationFacts, Value, slug_of
from fsbench_web.studies.scores.choices import ScoreChoices
from fsbench_web.studies.scores.queries import Condition

UNKNOWN = Value("unknown", "not known")
DEFAULTS = Value("defaults", "defaults")
OWN_EXECUTOR = Value("own", "the host itself, no guest")
PLAIN = Value("plain", "a new file system, nothing more")


@dataclass(frozen=True)
class Property:
    """``value_of`` reads it from a series or its score; ``is_of_configuration``: or from
    ConfigurationFacts. ``offered``: the values of scores, where no column selects them.
    """

    slug: str
    singular: str
    plural: str
    value_of: Callable[[Any], Value]
    is_of_configuration: bool = False
    offered: Callable[[ScoreChoices], Iterable[Value]] | None = None

    @property
    def title(self) -> str:
        return self.plural[:1].upper() + self.plural[1:]


@lru_cache(maxsize=4096)
def named_value(text: str) -> Value:
    """Of a text that is its own name; an empty one is not known."""
    return Value(slug_of(text), text) if text.strip() else UNKNOWN


def titled_value(slug: str | None, title: str | None) -> Value:
    """Of a row that has a slug and a title."""
    return UNKNOWN if slug is None else Value(slug, title or slug)


def scheduler(name: str, is_known: bool) -> Value:
    """Of a configuration; one that names no scheduler left it as the host has it."""
    if name:
        return named_value(name)
    return Value("default", "the host's own") if is_known else UNKNOWN


def other_luns(names: str, lun: str | None) -> Value:
    """The further LUNs of a stack; unknown where the LUN is."""
    return named_value(names) if names or lun is None else Value("none", "none")


def stack(stored: Mapping[str, Any], is_known: bool) -> Value:
    """On how many LUNs a configuration stands, and through what."""
    shape = LunCounts.of(stored)
    return Value(shape.slug, shape.words) if stored or is_known else UNKNOWN


def journal(is_external: bool, is_known: bool) -> Value:
    """Where the journal is kept. A file system without a journal counts as internal."""
    if is_external:
        return Value("external", "on another LUN")
    return Value("internal", "on the data LUN, or none") if is_known else UNKNOWN


def preparation(words: str) -> Value:
    """Of the words of catalog.configurations.preparation; none for a plain new file system."""
    return Value(slug_of(words.replace(",", "")), words) if words else PLAIN


def machine(words: str) -> Value:
    """A guest in words, without its kernel; none for the worker's own executor."""
    return Value(slug_of(words.replace(",", "")), words) if words else OWN_EXECUTOR


def option(row: ConfigurationFacts, key: str) -> Value:
    """One option of mkfs or mount. Not given means the tool's default, where all are known."""
    if key in row.options:
        return named_value(str(row.options[key]))
    return Value("default", "default") if row.configuration_is_known else UNKNOWN


def options(row: ConfigurationFacts, stage: str) -> Value:
    """All options of one stage (mkfs or mount) together, by name."""
    if not row.configuration_is_known:
        return UNKNOWN
    stage_options = {
        key: value
        for key, value in row.options.items()
        if STAGES.get((row.filesystem, key)) == stage
    }
    if not stage_options:
        return DEFAULTS
    words = [option_with_value(key, value).label for key, value in sorted(stage_options.items())]
    return Value(slug_of(",".join(words)), ", ".join(words))


def option_with_value(key: str, value: object) -> Value:
    """One option with its value, by which a comparison can be filtered."""
    return named_value(f"{key}={value}")


_OPTIONS = {option.key: option for filesystem in ALL.values() for option in filesystem.options}
STAGES = {
    (filesystem.slug, option.key): option.stage
    for filesystem in ALL.values()
    for option in filesystem.options
}
"""mkfs or mount, by file system and option: Btrfs mounts with what others are made with."""


def keys_of(stage: str, filesystems: Collection[str]) -> frozenset[str]:
    """The options that belong to a stage with every one of these file systems that has them."""
    stages: dict[str, set[str]] = defaultdict(set)
    for (filesystem, key), key_stage in STAGES.items():
        if filesystem in filesystems:
            stages[key].add(key_stage)
    return frozenset(key for key, key_stages in stages.items() if key_stages == {stage})


def _named(
    slug: str, singular: str, plural: str, listed: str = "", *, is_of_configuration: bool = False
) -> Property:
    """Of a text that is its own name; ``listed`` is where ScoreChoices has all of them."""
    return Property(
        *(slug, singular, plural, lambda row: named_value(getattr(row, slug) or "")),
        is_of_configuration,
        (lambda choices: map(named_value, getattr(choices, listed))) if listed else None,
    )


def _options_of(stage: str) -> Property:
    return Property(
        *(stage, f"{stage} options", f"{stage} options", lambda row: options(row, stage), True),
        lambda choices: _offered_options(choices, stage),
    )


def _of_option(key: str) -> Property:
    name = _OPTIONS[key].name
    return Property(
        *(f"option.{key}", f"{name[:1].lower() + name[1:]} ({key})", f"values of {key}"),
        lambda row: option(row, key),
        is_of_configuration=True,
    )


def _offered_options(choices: ScoreChoices, stage: str) -> Iterable[Value]:
    for filesystem, is_known, pairs in choices.option_sets:
        values = [
            option_with_value(key, value)
            for key, value in pairs
            if STAGES.get((filesystem, key)) == stage
        ]
        yield from values or [DEFAULTS if is_known else UNKNOWN]


_ALL = (
    _named("filesystem", "file system", "file systems", is_of_configuration=True),
    _named(
        "configuration",
        "configuration",
        "configurations",
        "configurations",
        is_of_configuration=True,
    ),
    _named("kernel", "kernel", "kernels", "kernels"),
    _named("distribution", "distribution", "distributions", "distributions"),
    Property(
        *("hardware", "hardware", "hardware"),
        lambda row: titled_value(row.hardware, row.hardware_name),
    ),
    _named("lun", "LUN", "LUNs", "luns"),
    _named("journal_lun", "journal LUN", "journal LUNs"),
    Property(
        *("stack_luns", "other LUNs of the stack", "other LUNs of the stack"),
        lambda row: other_luns(row.stack_luns, row.lun),
    ),
    Property(
        *("stack", "stack", "stacks"),
        lambda row: stack(row.stack, row.configuration_is_known),
        is_of_configuration=True,
    ),
    Property(
        *("scheduler", "I/O scheduler", "I/O schedulers"),
        lambda row: scheduler(row.scheduler, row.configuration_is_known),
        True,
        lambda choices: (scheduler(*pair) for pair in choices.schedulers),
    ),
    Property(
        *("journal", "journal placement", "journal placements"),
        lambda row: journal(row.external_journal, row.configuration_is_known),
        True,
        lambda choices: (journal(*pair) for pair in choices.journals),
    ),
    _options_of("mkfs"),
    _options_of("mount"),
    Property(
        *("workload", "workload", "workloads"),
        lambda row: titled_value(row.workload, row.workload_title),
    ),
    Property("study", "study", "studies", lambda row: Value(row.study, row.study_title)),
    Property(
        *("preparation", "preparation of the LUN", "preparations of the LUN"),
        lambda row: preparation(row.preparation),
        offered=lambda choices: map(preparation, choices.preparations),
    ),
    Property(
        *("machine", "machine", "machines"),
        lambda row: machine(row.machine),
        offered=lambda choices: map(machine, choices.machines),
    ),
    *map(_of_option, sorted(_OPTIONS)),
)
PROPERTIES = {entry.slug: entry for entry in _ALL}
STAGE_FILTERS = ("mkfs", "mount")
"""The filters by single options of a stage; a configuration has several."""


def contenders() -> dict[str, str]:
    """What ``by`` may be, with the words for it."""
    return {
        slug: f"{entry.title}, each by its best configuration" for slug, entry in PROPERTIES.items()
    } | {"configuration": "Configurations, each on its own"}


def condition(parameter: str, chosen: Collection[str]) -> Condition:
    """The condition of a filter set to these slugs: every chosen option, one value of each."""
    chosen_property = PROPERTIES[parameter]
    if parameter == "configuration":
        chosen = {*chosen, *map(current_label, chosen)}
    if parameter not in STAGE_FILTERS:
        return Condition(
            lambda row: chosen_property.value_of(row).slug in chosen,
            chosen_property.is_of_configuration,
        )
    by_key: dict[str, set[str]] = defaultdict(set)
    for slug in chosen:
        if "=" in slug:
            by_key[slug.partition("=")[0]].add(slug)

    def takes(row: Any) -> bool:
        options = row.options
        if by_key and all(
            key in options
            and STAGES.get((row.filesystem, key)) == parameter
            and option_with_value(key, options[key]).slug in values
            for key, values in by_key.items()
        ):
            return True
        value = chosen_property.value_of(row)
        return value in (DEFAULTS, UNKNOWN) and value.slug in chosen

    return Condition(takes, chosen_property.is_of_configuration)


def options_in_words(labels: Iterable[str]) -> str:
    """Chosen options as they are meant: ``a=1 or a=2, and b=3, or defaults``."""
    by_key: dict[str, list[str]] = defaultdict(list)
    whole = []
    for label in labels:
        if "=" in label:
            by_key[label.partition("=")[0]].append(label)
        else:
            whole.append(label)
    has_several = len(by_key) > 1 and any(len(values) > 1 for values in by_key.values())
    joined = (", and " if has_several else " and ").join(
        " or ".join(values) for values in by_key.values()
    )
    return (", or " if len(by_key) > 1 else " or ").join([*([joined] if joined else []), *whole])
