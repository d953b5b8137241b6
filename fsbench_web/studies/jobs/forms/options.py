"""How runs are run, as fields of the job form: texts, which may be refused. No database."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from pydantic import StrictInt

from fsbench_web.catalog.configurations.limits import LIMITS
from fsbench_web.catalog.workers.machines import (
    DEFAULT_CPUS,
    DEFAULT_MEMORY_BYTES,
    EXECUTORS,
    GUEST,
    HOST,
    MIB,
    GuestAbility,
    GuestKernel,
)
from fsbench_web.studies.jobs.documents.reader import Steps, error_text, read
from fsbench_web.studies.jobs.features.base import ALWAYS, LIST, NAMES, NEEDED, STEERING, TEXT, TIME
from fsbench_web.studies.jobs.features.clients import MOST_CLIENTS
from fsbench_web.studies.jobs.features.limits import Limited
from fsbench_web.studies.jobs.features.order import DEFAULT_REFERENCE_EVERY
from fsbench_web.studies.jobs.features.race import RaceSpec
from fsbench_web.studies.jobs.spec import FEATURES, JobOptions, JobSpec
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM

BY_NUMBER, BY_INTERVAL, BY_RACE = "number", "interval", "race"
WAYS = (BY_NUMBER, BY_INTERVAL, BY_RACE)
_WHOLE = re.compile(r"^-?[0-9]{1,12}$")
_DECIMAL = re.compile(r"^[0-9]{1,6}\.[0-9]{1,6}$")
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_IS = {
    "bool_type": "is neither yes nor no",
    "float_type": "is not a number",
    "int_type": "is not a whole number",
    "moment": "is not a time",
}
_MOST_LETTERS = 200

Unreadable = dict[str, list[str]]


class FormOptions(JobOptions):
    """What the form says of them, and after how many runs the reference is run again."""

    reference_every: StrictInt = DEFAULT_REFERENCE_EVERY


FIELDS = {each.name: each for feature in FEATURES for each in feature.form_fields}
_ADVANCED = {
    each.name: feature.shown
    for feature in FEATURES
    for each in feature.form_fields
    if feature.shown != ALWAYS
}
STEERING_FIELDS = {name for name, shown in _ADVANCED.items() if shown == STEERING}
"""The fields of order, times and limits."""
LABELS = {name: form_field.label for name, form_field in FIELDS.items() if form_field.label}
"""What the form calls the options that sentences about several of them name by their keys."""
_NAMES = {form_field.place: name for name, form_field in FIELDS.items()}
"""The fields by their place in the job."""
_PARTS = {part: part for feature in FEATURES for part in feature.parts}
_PARTS |= {"until": "repeats", "reference_every": "reference"}
"""The part of the form that shows the problems of a part of the job, if that is another one."""


def _usual_texts() -> dict[str, Any]:
    return {name: [] if each.kind == NAMES else each.usual for name, each in FIELDS.items()}


@dataclass
class OptionsForm:
    """``texts`` are those of ``FIELDS``; ``form["seed"]`` is one, also in a template."""

    executor: str = HOST
    repeat_by: str = BY_NUMBER
    texts: dict[str, Any] = field(default_factory=_usual_texts)

    def __getitem__(self, name: str) -> Any:
        return self.texts[name]

    @property
    def is_guest(self) -> bool:
        return self.executor == GUEST

    @property
    def limit_fields(self) -> list[dict[str, Any]]:
        """Name, text and kind of each, for the page."""
        return [
            {"name": each.name, "text": self[each.name], "kind": kind}
            for each, kind in zip(Limited.form_fields, LIMITS.values(), strict=True)
        ]

    @property
    def is_by_interval(self) -> bool:
        return self.repeat_by == BY_INTERVAL

    @property
    def is_race(self) -> bool:
        return self.repeat_by == BY_RACE

    @property
    def is_race_of_runs(self) -> bool:
        """Whether runs are said, and hours by nobody: they are at their default."""
        return bool(self["race_runs"]) and self["race_hours"] in ("", FIELDS["race_hours"].usual)

    @property
    def changed_count(self) -> int:
        """How many fields that the form folds away differ from the default."""
        return len(self._changed(_ADVANCED)) + self.is_guest

    @property
    def prepared(self) -> str:
        """What is to be done to the LUN before a run, in words; "" for nothing but the usual."""
        return self._in_words(set(_ADVANCED) - STEERING_FIELDS)

    @property
    def steered(self) -> str:
        """Which of order, times and limits are others than the usual, in words."""
        return self._in_words(STEERING_FIELDS)

    @property
    def limited(self) -> str:
        return ", ".join(
            f"{limit['kind'].label.lower()} {limit['text']} {limit['kind'].unit}"
            for limit in self.limit_fields
            if limit["text"]
        )

    def _changed(self, names: Iterable[str]) -> dict[str, str | list[str]]:
        return {name: self[name] for name in names if not FIELDS[name].is_usual(self[name])}

    def _in_words(self, names: set[str]) -> str:
        changed = self._changed(name for name in _ADVANCED if name in names and FIELDS[name].words)
        return ", ".join(
            FIELDS[name].words.format(" ".join(text) if isinstance(text, list) else text)
            for name, text in changed.items()
        )

    def chosen_kernels(self, ability: GuestAbility | None) -> list[GuestKernel]:
        """Those of the worker's kernels that the form names; none where no guest is chosen."""
        if ability is None or not self.is_guest:
            return []
        return [kernel for kernel in ability.usable_kernels if kernel.name in self["kernels"]]

    def fit(self, ability: GuestAbility) -> None:
        """Lower what is still at its default to what this worker can give a guest."""
        most_bytes, texts = ability.most_memory_bytes, self.texts
        if texts["guest_memory_mib"] == FIELDS["guest_memory_mib"].usual and most_bytes is not None:
            texts["guest_memory_mib"] = str(min(DEFAULT_MEMORY_BYTES, most_bytes) // MIB)
        if texts["guest_cpus"] == FIELDS["guest_cpus"].usual and ability.most_cpus is not None:
            texts["guest_cpus"] = str(min(DEFAULT_CPUS, ability.most_cpus))

    def choose_seed(self) -> None:
        """Choose a seed where a random order has none yet: what is reviewed is what is run."""
        if self["order"] == RANDOM and not self["seed"]:
            self.texts["seed"] = str(secrets.randbelow(MAXIMUM_SEED + 1))

    def run_options(self, unreadable: Unreadable, wrong: set[str] | None = None) -> FormOptions:
        """What the texts say; unreadable ones are noted, left at their default and put into
        ``wrong``.
        """
        for place, value, choices, kind in (
            ("executor", self.executor, EXECUTORS, "executor"),
            ("repeats", self.repeat_by, WAYS, "way to repeat"),
        ):
            if value not in choices:
                sentence = f'"{value}" is no {kind}: choose one of {", ".join(choices)}.'
                unreadable[place] = [sentence]
        data: dict[str, Any] = {}
        for name, each in FIELDS.items():
            *part, key = each.place.split(".")
            text = self[name]
            if name == "reference" or (name == "race_hours" and self.is_race_of_runs):
                continue
            if self._is_asked((*part, key)[0]) and (text != "" or each.kind == NEEDED):
                holder = data.setdefault(part[0], {}) if part else data
                holder[key] = _value_of(text, each.kind)
        marked = set() if wrong is None else wrong
        return read(FormOptions, data, partial(self._report, unreadable, marked))

    def wrong_fields(self, places: Iterable[str] = ()) -> set[str]:
        """The fields to be marked: what cannot be read, and these places of the job."""
        wrong = {_NAMES.get(place, place) for place in places}
        self.run_options({}, wrong)
        if self.repeat_by != BY_NUMBER:
            wrong.discard("repeats")
        return wrong

    def _is_asked(self, part: str) -> bool:
        """Whether this part of the job counts as the form is filled in."""
        return {
            "repeats": self.repeat_by == BY_NUMBER,
            "until": self.is_by_interval,
            "race": self.is_race,
            "guest": self.is_guest,
            "reference_every": bool(self["reference"]),
        }.get(part, True)

    def _report(self, unreadable: Unreadable, wrong: set[str], steps: Steps, error: Any) -> None:
        if error["type"] == "missing":  # it was told why
            return
        place = ".".join(map(str, steps))
        name = _NAMES.get(place, place)
        if name in FIELDS and FIELDS[name].asked:
            text, why = _shortened(self[name]), _IS.get(error["type"], "cannot be")
            sentence = f'"{text}" {why}: {FIELDS[name].asked}.'
            wrong.add(name)
        else:  # fields of a part that do not go together
            sentence = _with_labels(error_text(error))
            values = getattr(error.get("ctx", {}).get("error"), "values", ())
            wrong.update(_NAMES.get(f"{place}.{value}", value) for value in values)
        unreadable.setdefault(_PARTS.get(str(steps[0]), place), []).append(sentence)

    def write_options(self, query: QueryDict) -> None:
        """Put into a query string what differs from the defaults."""
        if self.executor != HOST:
            query["executor"] = self.executor
            query.setlist("kernel", self["kernels"])
            query["guest_memory_mib"] = self["guest_memory_mib"]
            query["guest_cpus"] = self["guest_cpus"]
        # One of these says that somebody filled the form in.
        part = {BY_NUMBER: "repeats", BY_RACE: "race."}.get(self.repeat_by, "until.")
        if self.repeat_by != BY_NUMBER:
            query["repeat_by"] = self.repeat_by
        for name, each in FIELDS.items():
            is_of_part = each.place.startswith(part)
            if is_of_part and (self[name] or each.kind == NEEDED):
                query[name] = self[name]
        if self.is_race and self.is_race_of_runs:
            del query["race_hours"]
        if query.get("race_find") == RaceSpec.find:
            del query["race_find"]
        for name, value in self._changed(_ADVANCED).items():
            query.setlist(name, value if isinstance(value, list) else [value])
        if not self["reference"]:
            query.pop("reference_every", None)


def read_options(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``OptionsForm``."""
    texts: dict[str, Any] = {}
    for name, each in FIELDS.items():
        if each.kind == NAMES:
            key = "kernel" if name == "kernels" else name
            texts[name] = list(dict.fromkeys(filter(None, query.getlist(key))))
            continue
        text = query.get(name, each.usual).strip()
        text = local_time(text) if each.kind == TIME else text
        texts[name] = text if text or each.kind == NEEDED else each.usual
    texts["clients"] = list(dict.fromkeys(map(_shortened, texts["clients"])))[:MOST_CLIENTS]
    return {
        "executor": query.get("executor", HOST).strip() or HOST,
        "repeat_by": query.get("repeat_by", BY_NUMBER).strip(),
        "texts": texts,
    }


def options_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a job says, without the reference (a variant of the form)."""
    values = spec.model_dump(mode="json", include=set(JobOptions.model_fields))
    values["preparation"] = spec.preparation.stored()
    texts = _usual_texts()
    for name, each in FIELDS.items():
        *part, key = each.place.split(".")
        value = ((values.get(part[0]) or {}) if part else values).get(key)
        if each.kind == LIST:
            texts[name] = ", ".join(map(str, value or ()))
        elif value is not None:
            texts[name] = value if isinstance(value, list) else _text(value)
            if each.kind == TIME:
                texts[name] = local_time(texts[name])
    return {
        "executor": GUEST if spec.guest else HOST,
        "repeat_by": BY_RACE if spec.race else BY_INTERVAL if spec.until else BY_NUMBER,
        "texts": texts,
    }


def by_field(by_part: Mapping[str, list[str]]) -> Unreadable:
    """Problems of a job under the fields of the form."""
    unreadable: Unreadable = {}
    for place, sentences in by_part.items():
        place = place.partition("[")[0]
        if place.startswith("limits."):  # they are told together
            place = "limits"
        unreadable.setdefault(_NAMES.get(place, place), []).extend(sentences)
    return unreadable


def _with_labels(sentence: str) -> str:
    """A sentence that names options by their keys, as job files write them, with their labels."""
    keys = "|".join(LABELS)
    return re.sub(rf"\b({keys})\b", lambda match: f"“{LABELS[match[1]]}”", sentence)


def _shortened(value: str | list[str]) -> str:
    """What was said, or how it begins where no name of anything is so long."""
    text = value if isinstance(value, str) else ", ".join(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _value_of(text: str, kind: int) -> object:
    """What the text stands for; the text itself where it is neither number, yes nor no."""
    if kind in (TEXT, NAMES):
        return text
    if kind == TIME:
        return with_zone(text)
    if kind == LIST:
        parts = [part for part in re.split(r"[,\s]+", text) if part]
        return [int(part) for part in parts] if all(map(_WHOLE.match, parts)) else text
    if _WHOLE.match(text):
        return int(text)
    return float(text) if _DECIMAL.match(text) else {"yes": True, "no": False}.get(text, text)


def _text(value: object) -> str:
    """The inverse."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_zone(text: str) -> str:
    """``2026-11-23T22:00`` in the site's zone as ISO 8601; anything else as it is, to be refused.

    So is a time that comes twice or never, because clocks are changed.
    """
    if not _LOCAL.fullmatch(text):
        return text
    try:
        local = datetime.fromisoformat(text).replace(tzinfo=timezone.get_current_timezone())
        other = local.replace(fold=1)
        return local.isoformat() if local.utcoffset() == other.utcoffset() else text
    except (ValueError, OverflowError):
        return text


def local_time(text: str) -> str:
    """The inverse: what has a zone, in the site's; anything else as it is."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return text
        local = timezone.localtime(moment.astimezone(UTC)).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return text
    written = local.isoformat(timespec="minutes" if not local.second else "seconds")
    # A time that comes twice keeps its zone.
    return written if with_zone(written) != written else text
