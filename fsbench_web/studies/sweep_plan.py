"""From a document to the configurations and workloads it stands for.

No database. A document is plain data (studies.sweep_document)::

    study: Array test            # the slug of a study, or the title of a new one
    lun: disk1
    worker: lab1                 # where several workers have a LUN of that name
    configurations:
      - filesystem: [ext3, ext4]
        options: {journal_mode: [default, writeback], atime: noatime}
        schedulers: [none]       # else those of the whole sweep
        journals: [internal]     # internal, or the name of a journal LUN
    schedulers: [none, mq-deadline]
    workloads: [iozone-small, {name: iozone-direct, parameters: {maximum_file_kb: 65536}}]
    repeats: 2                   # or {half_width_percent: 5, least: 3, most: 10}
    preparation: {discard: true, precondition: true, fill_percent: 50}
    executor: guest              # or own, the worker's own; a guest is booted for every run
    guest: {kernels: [debian-6.1, debian-4.19], memory_mib: 2048, cpus: 2}
    order: random                # or as-written
    seed: 42
    reference: {every: 10, configuration: {filesystem: ext4}}
    priority: 0
    time_limit_s: 7200

Lists multiply. A combination that cannot be is left out, with the reason, where the entry stands
for others too; where it stands for nothing else it is a problem. So is what no file system of the
entry knows: a misspelt word never just disappears.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from fsbench_web.catalog.filesystems import (
    FILESYSTEMS,
    OptionError,
    external_journal,
    filesystem,
)
from fsbench_web.catalog.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    EXECUTORS,
    GUEST,
    MIB,
    OWN,
)
from fsbench_web.catalog.option_conflicts import option_conflicts
from fsbench_web.catalog.preparation import PLAIN, Preparation, PreparationError
from fsbench_web.scoring.confidence import RepeatTarget
from fsbench_web.studies.orders import (
    ConfigurationRequest,
    GuestRequest,
    Problems,
    ReferenceRequest,
    WorkloadRequest,
)
from fsbench_web.studies.sequence import RANDOM

DEFAULT_REPEATS = 2  # as in the Unisys 2005 paper
DEFAULT_REFERENCE_EVERY = 10
MAXIMUM_COMBINATIONS = 5000
INTERNAL_JOURNAL = "internal"
DEFAULT_VALUES = (None, "", "default")
_KEYS = (
    *("study", "lun", "worker", "configurations", "schedulers", "journals", "workloads"),
    *(
        "repeats",
        "preparation",
        "executor",
        "guest",
        "order",
        "seed",
        "reference",
        "priority",
        "time_limit_s",
    ),
)
_CONFIGURATION_KEYS = ("filesystem", "options", "schedulers", "journals")


@dataclass(frozen=True)
class SweepPlan:
    """What a document says: names are not looked up yet. ``problems`` are sentences by place."""

    study: str = ""
    lun: str = ""
    worker: str = ""
    configurations: tuple[ConfigurationRequest, ...] = ()
    workloads: tuple[WorkloadRequest, ...] = ()
    repeats: int = DEFAULT_REPEATS
    until: RepeatTarget | None = None
    preparation: Preparation = PLAIN
    guest: GuestRequest | None = None
    order: str = RANDOM
    seed: int | None = None
    reference: ReferenceRequest | None = None
    priority: int = 0
    time_limit_s: int | None = None
    left_out: tuple[tuple[str, str, str], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, list[str]] = field(default_factory=dict)


def expand(data: object) -> SweepPlan:
    """Everything that a document stands for, and everything that is wrong with it."""
    problems = Problems({})
    if not isinstance(data, Mapping):
        problems.add(
            "document", "A sweep is a map: study, lun, configurations and workloads are needed."
        )
        return SweepPlan(problems=problems.by_part)
    reader = _Reader(problems)
    reader.known_keys(data, _KEYS, "document")
    until = reader.until(data)
    return SweepPlan(
        study=reader.text(data, "study", "the slug of a study, or the title of a new one"),
        lun=reader.text(data, "lun", "the name of the LUN to run on"),
        worker=reader.text(data, "worker"),
        configurations=tuple(reader.configurations(data)),
        workloads=tuple(reader.workloads(data)),
        repeats=DEFAULT_REPEATS if until else reader.repeats(data),
        until=until,
        preparation=reader.preparation(data),
        guest=reader.guest(data),
        order=reader.text(data, "order") or RANDOM,
        seed=reader.whole(data, "seed", None),
        reference=reader.reference(data),
        priority=reader.whole(data, "priority", 0) or 0,
        time_limit_s=reader.whole(data, "time_limit_s", None),
        left_out=tuple(reader.left_out),
        document=dict(data),
        problems=problems.by_part,
    )


class _Reader:
    """Reads parts of a document, and notes what is wrong with its place."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.left_out: list[tuple[str, str, str]] = []
        self.combinations = 0

    def known_keys(self, data: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
        for key in data:
            if key not in known:
                self.problems.add(
                    place if place != "document" else str(key),
                    f'"{key}" means nothing here: leave it out, or write one of '
                    f"{', '.join(known)}.",
                )

    def text(self, data: Mapping[str, Any], key: str, needed: str = "", place: str = "") -> str:
        value = data.get(key)
        if isinstance(value, str):
            if value.strip() or not needed:
                return value.strip()
        elif value is not None:
            self.problems.add(
                place or key, f"{key} must be a text: put {value!r} in quotes if it is meant so."
            )
            return ""
        if needed:
            self.problems.add(place or key, f"{key} is missing: {needed}.")
        return ""

    def whole(
        self, data: Mapping[str, Any], key: str, default: int | None, at: str = ""
    ) -> int | None:
        value = data.get(key, default)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value if value is not None else default
        self.problems.add(f"{at}{key}", f"{key} must be a whole number, not {value!r}.")
        return default

    def values(self, value: object, place: str) -> list[tuple[Any, str]]:
        """(value, place) of a single value or of each in a list."""
        if isinstance(value, list):
            if not value:
                self.problems.add(place, "The list is empty: name at least one, or leave it out.")
            return [(one, f"{place}[{index}]") for index, one in enumerate(value)]
        return [(value, place)]

    def names(self, value: object, place: str) -> list[tuple[str, str]]:
        """(name, place) of texts; "" for null."""
        found = []
        for one, where in self.values(value, place):
            if one is None or isinstance(one, str):
                found.append((one or "", where))
            else:
                self.problems.add(where, f"This must be a name, not {one!r}.")
        return found

    # ---- configurations ----
    def configurations(self, data: Mapping[str, Any]) -> Iterator[ConfigurationRequest]:
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

    def shared(self, data: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
        """Schedulers and journals that hold where an entry names none."""
        return {
            "schedulers": self.names(data.get("schedulers"), "schedulers"),
            "journals": self.names(data.get("journals"), "journals"),
        }

    def entry(
        self, entry: object, place: str, shared: Mapping[str, list[tuple[str, str]]]
    ) -> list[ConfigurationRequest]:
        """All that one entry stands for."""
        if isinstance(entry, str):
            entry = {"filesystem": entry}
        if not isinstance(entry, Mapping):
            self.problems.add(place, "An entry is a map with filesystem, and options if any.")
            return []
        before = self.problems.count
        self.known_keys(entry, _CONFIGURATION_KEYS, place)
        filesystems = self.filesystems(entry, place)
        options = self.options(
            entry.get("options"), f"{place}.options", [f for f, _ in filesystems]
        )
        schedulers, journals = (
            self.names(entry[key], f"{place}.{key}") if key in entry else shared[key]
            for key in ("schedulers", "journals")
        )
        count = math.prod(map(len, (filesystems, schedulers, journals, *options.values())))
        self.combinations += count
        if self.combinations > MAXIMUM_COMBINATIONS:
            self.problems.add(
                place,
                f"With {count} combinations here the sweep stands for more than "
                f"{MAXIMUM_COMBINATIONS}: shorten the lists, or order it in parts.",
            )
        if self.problems.count > before:
            return []
        found = []
        for (slug, fs_place), chosen, scheduler, journal in product(
            filesystems, _products(options), schedulers, journals
        ):
            wanted = _configuration(slug, chosen, scheduler, journal, place, fs_place)
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

    def filesystems(self, entry: Mapping[str, Any], place: str) -> list[tuple[str, str]]:
        if entry.get("filesystem") is None:
            self.problems.add(place, f"filesystem is missing: one of {', '.join(FILESYSTEMS)}.")
            return []
        found = []
        for slug, where in self.names(entry["filesystem"], f"{place}.filesystem"):
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
            found[key] = [(_text(one), at) for one, at in self.values(value, f"{place}.{key}")]
            for one, where in found[key]:
                # A default of an unknown option is a misspelt option all the same.
                reasons = {slug: _refusal(slug, key, one) for slug in slugs}
                if reasons and all(reasons.values()):
                    # One that knows the option says more than one that does not.
                    knowing = [slug for slug in slugs if not _refusal(slug, key, None)]
                    self.problems.add(where, reasons[(knowing or slugs)[0]])
        return found

    # ---- the rest ----
    def repeats(self, data: Mapping[str, Any]) -> int:
        if isinstance(data.get("repeats"), Mapping):
            return DEFAULT_REPEATS  # ``until`` said what is wrong with it
        return self.whole(data, "repeats", DEFAULT_REPEATS) or 0

    def until(self, data: Mapping[str, Any]) -> RepeatTarget | None:
        value = data.get("repeats")
        if not isinstance(value, Mapping):
            return None
        self.known_keys(value, ("half_width_percent", "least", "most"), "repeats")
        half_width = value.get("half_width_percent")
        if isinstance(half_width, bool) or not isinstance(half_width, int | float):
            self.problems.add(
                "repeats.half_width_percent",
                f"half_width_percent must be a number, not {half_width!r}.",
            )
            return None
        least, most = (self.whole(value, key, None, "repeats.") for key in ("least", "most"))
        for key, number in (("least", least), ("most", most)):
            if number is None:
                self.problems.add(f"repeats.{key}", f"{key} is missing: a number of repeats.")
        if least is None or most is None:
            return None
        return RepeatTarget(float(half_width), least, most)

    def preparation(self, data: Mapping[str, Any]) -> Preparation:
        value = data.get("preparation")
        try:
            if value is not None and not isinstance(value, Mapping):
                raise PreparationError("preparation must be a map.")
            return Preparation.of(value or {})
        except PreparationError as error:
            self.problems.add("preparation", str(error))
            return PLAIN

    def guest(self, data: Mapping[str, Any]) -> GuestRequest | None:
        executor = self.text(data, "executor") or (GUEST if "guest" in data else OWN)
        value = data.get("guest")
        if executor not in EXECUTORS:
            self.problems.add(
                "executor", f'"{executor}" is no executor: write one of {", ".join(EXECUTORS)}.'
            )
        if executor != GUEST:
            if value is not None and executor in EXECUTORS:
                self.problems.add(
                    "guest",
                    "guest says how guests are run: write executor: guest, or leave it out.",
                )
            return None
        if not isinstance(value, Mapping):
            self.problems.add("guest", "guest must be a map with kernels, a list of names.")
            return None
        self.known_keys(value, ("kernels", "memory_mib", "cpus"), "guest")
        if value.get("kernels") is None:
            self.problems.add("guest.kernels", "kernels is missing: the kernels that are booted.")
            return None
        names = self.names(value["kernels"], "guest.kernels")
        memory = self.whole(value, "memory_mib", DEFAULT_MEMORY_BYTES // MIB, "guest.") or 0
        cpus = self.whole(value, "cpus", DEFAULT_CPUS, "guest.") or 0
        return GuestRequest(
            tuple(name for name, _ in names),
            memory * MIB,
            cpus,
            places={f"kernel {name}": place for name, place in names}
            | {"guest_memory_mib": "guest.memory_mib", "guest_cpus": "guest.cpus"},
        )

    def workloads(self, data: Mapping[str, Any]) -> Iterator[WorkloadRequest]:
        entries = data.get("workloads")
        if not isinstance(entries, list) or not entries:
            self.problems.add("workloads", "workloads must be a list with at least one name.")
            return
        for index, entry in enumerate(entries):
            place = f"workloads[{index}]"
            if isinstance(entry, str):
                entry = {"name": entry}
            if not isinstance(entry, Mapping):
                self.problems.add(place, "A workload is a name, or a map with name and parameters.")
                continue
            self.known_keys(entry, ("name", "parameters"), place)
            parameters = entry.get("parameters") or {}
            if not isinstance(parameters, Mapping):
                self.problems.add(f"{place}.parameters", "parameters must be a map.")
                continue
            for key, value in parameters.items():
                parts = value if isinstance(value, list) else [value]
                if not all(isinstance(part, int | str) for part in parts):
                    self.problems.add(
                        f"{place}.parameters.{key}",
                        f"{key} must be a whole number, a list of them, a word, true or false, "
                        f"not {value!r}.",
                    )
            name = self.text(entry, "name", "the name of a workload", f"{place}.name")
            if name:
                yield WorkloadRequest(name, dict(parameters), place)

    def reference(self, data: Mapping[str, Any]) -> ReferenceRequest | None:
        value = data.get("reference")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problems.add("reference", "reference must be a map with configuration and every.")
            return None
        self.known_keys(value, ("configuration", "every"), "reference")
        every = self.whole(value, "every", DEFAULT_REFERENCE_EVERY, "reference.")
        place = "reference.configuration"
        if value.get("configuration") is None:
            self.problems.add(
                place, "configuration is missing: the one that is run again and again."
            )
            return None
        before = self.problems.count
        kept = len(self.left_out)
        found = self.entry(value["configuration"], place, self.shared(data))
        del self.left_out[kept:]
        if len(found) == 1:
            return ReferenceRequest(found[0], every or 0)
        if self.problems.count == before:
            self.problems.add(
                place,
                f"The reference stands for {len(found)} configurations: name one file system, one "
                "scheduler, and one value for each option.",
            )
        return None


def _text(value: object) -> object:
    """Numbers as the text they are on the lists of options; ``512`` and ``"512"`` are the same."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _products(options: Mapping[str, list[tuple[Any, str]]]) -> list[dict[str, tuple[Any, str]]]:
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*options.values())]


def _configuration(
    slug: str,
    options: Mapping[str, tuple[Any, str]],
    scheduler: tuple[str, str],
    journal: tuple[str, str],
    place: str,
    filesystem_place: str,
) -> ConfigurationRequest:
    return ConfigurationRequest(
        slug,
        {key: value for key, (value, _) in options.items() if value not in DEFAULT_VALUES},
        scheduler[0],
        "" if journal[0] == INTERNAL_JOURNAL else journal[0],
        places={
            "": place,
            "filesystem": filesystem_place,
            "scheduler": scheduler[1],
            "journal": journal[1],
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


def _impossible(wanted: ConfigurationRequest) -> str:
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
    return next(option_conflicts(wanted.filesystem, options, None), "")


def _in_words(wanted: ConfigurationRequest) -> str:
    parts = [wanted.filesystem, *(f"{key}={value}" for key, value in wanted.options.items())]
    if wanted.scheduler:
        parts.append(f"scheduler={wanted.scheduler}")
    if wanted.journal:
        parts.append(f"journal={wanted.journal}")
    return " ".join(parts)
