"""How runs are run, as fields of the job form: texts, which may be texts that are refused.

No database. A field is named as in the address; one that is a field of ``spec.JobOptions`` is read
into it and shown from it by that name.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from django.http import QueryDict
from pydantic import StrictInt

from fsbench_web.catalog.configurations.limits import MOST
from fsbench_web.catalog.workers.machines import EXECUTORS, GUEST, HOST, GuestAbility, GuestKernel
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.jobs.forms import times
from fsbench_web.studies.jobs.forms.option_words import (
    ASKED,
    IS,
    LIMIT_WORDS,
    PREPARED,
    STEERED,
    with_labels,
)
from fsbench_web.studies.jobs.reading import Steps, error_text, read
from fsbench_web.studies.jobs.spec import (
    DEFAULT_REFERENCE_EVERY,
    FORM_REPEATS,
    MOST_CLIENTS,
    GuestSpec,
    JobOptions,
    JobSpec,
    RaceSpec,
)
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM

BY_NUMBER, BY_INTERVAL, BY_RACE = "number", "interval", "race"
WAYS = (BY_NUMBER, BY_INTERVAL, BY_RACE)
_WHOLE = re.compile(r"^-?[0-9]{1,12}$")
_DECIMAL = re.compile(r"^[0-9]{1,6}\.[0-9]{1,6}$")
_PLACES = {
    "half_width": "until.half_width_percent",
    "least": "until.least",
    "most": "until.most",
    "race_find": "race.find",
    "race_hours": "race.hours",
    "race_runs": "race.runs",
    "race_test": "race.test",
    "race_category": "race.category",
    "race_margin": "race.margin_percent",
    "discard": "preparation.discard",
    "precondition": "preparation.precondition",
    "precondition_twice": "preparation.precondition_twice",
    "sprandom_percent": "preparation.sprandom_percent",
    "fill_percent": "preparation.fill_percent",
    "age_rounds": "preparation.age_rounds",
    "age_extents": "preparation.age_extents",
    "kernels": "guest.kernels",
    "guest_memory_mib": "guest.memory_mib",
    "guest_cpus": "guest.cpus",
    **{f"limit_{name}": f"limits.{name}" for name in MOST},
}
"""The fields that are in a part of the job; the others are called as they are there."""
_FIELDS = {place: name for name, place in _PLACES.items()}
_PARTS = {
    "until": "repeats",
    "race": "race",
    "preparation": "preparation",
    "reference_every": "reference",
    "limits": "limits",
}
"""The part of the form under which it is said, where that is not the field's own."""
_INTERVAL = ("half_width", "least", "most")
_RACE = ("race_find", "race_hours", "race_runs", "race_test", "race_category", "race_margin")
_LISTS = tuple(f"limit_{name}" for name in MOST)
"""Several numbers in one field, with commas between them."""
_TEXTS = ("order", "kernels", "tracing", "clients", "race_find", "race_test", "race_category")
_TIMES = ("start_at", "stop_before")
_REFUSED_EMPTY = ("repeats", "repeat_by", "race_hours", *_INTERVAL)
"""An emptied field of these is refused; any other is as if it had not been touched."""
_USUAL_GUEST = GuestSpec(())
_MOST_LETTERS = 200

Unreadable = dict[str, list[str]]


class FormOptions(JobOptions):
    """What the form says of them, and after how many runs the reference is run again."""

    reference_every: StrictInt = DEFAULT_REFERENCE_EVERY


@dataclass
class OptionsForm:
    """``reference`` is a variant of the form, ``ext4.2``; "": there is no reference.

    The intervals are FREENIX 2002's, which stops at 10%, and half of it. A race takes a night,
    unless a number of runs is said instead.
    """

    executor: str = HOST
    kernels: list[str] = field(default_factory=list)
    guest_memory_mib: str = str(_USUAL_GUEST.memory_mib)
    guest_cpus: str = str(_USUAL_GUEST.cpus)
    repeats: str = str(FORM_REPEATS)
    repeat_by: str = BY_NUMBER
    half_width: str = "5"
    least: str = str(FORM_REPEATS)
    most: str = "20"
    race_find: str = RaceSpec.find
    race_hours: str = "8"
    race_runs: str = ""
    race_test: str = ""
    race_category: str = ""
    race_margin: str = f"{RaceSpec.margin_percent:g}"
    discard: str = ""
    precondition: str = ""
    precondition_twice: str = ""
    sprandom_percent: str = ""
    fill_percent: str = ""
    age_rounds: str = ""
    age_extents: str = ""
    probe_s: str = ""
    tracing: list[str] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)
    limit_read_mib_s: str = ""
    limit_write_mib_s: str = ""
    limit_read_iops: str = ""
    limit_write_iops: str = ""
    limit_memory_mib: str = ""
    limit_cpus: str = ""
    order: str = RANDOM
    seed: str = ""
    reference: str = ""
    reference_every: str = str(DEFAULT_REFERENCE_EVERY)
    priority: str = "0"
    time_limit_s: str = ""
    run_again: str = str(DEFAULT_RUN_AGAIN)
    start_at: str = ""
    stop_before: str = ""

    @property
    def is_guest(self) -> bool:
        return self.executor == GUEST

    @property
    def limit_fields(self) -> list[dict[str, str]]:
        """Name, label, unit, text and help of each, for the page."""
        return [
            {"name": name, "text": getattr(self, name), **words}
            for name, words in zip(_LISTS, LIMIT_WORDS, strict=True)
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
        return bool(self.race_runs) and self.race_hours in ("", _USUAL["race_hours"])

    @property
    def changed_count(self) -> int:
        """How many fields of the executor, the preparation, the order, times and limits are others
        than the default.
        """
        changed = sum(
            getattr(self, name) not in (_USUAL[name], *_NOTHING.get(name, ()))
            for name in _SHOWN_WHERE_CHANGED
        )
        return changed + self.is_guest

    @property
    def prepared(self) -> str:
        """What is to be done to the LUN before a run, in words; "" for nothing but the usual."""
        return self._changed(PREPARED)

    @property
    def steered(self) -> str:
        """Which of order, times and limits are others than the usual, in words."""
        return self._changed(STEERED)

    @property
    def limited(self) -> str:
        """The limits of each run in words; "" for none."""
        fields = [limit for limit in self.limit_fields if limit["text"]]
        return ", ".join(
            f"{limit['label'].lower()} {limit['text']} {limit['unit']}" for limit in fields
        )

    def _changed(self, words: Mapping[str, str]) -> str:
        values = {name: getattr(self, name) for name in words}
        return ", ".join(
            words[name].format(" ".join(text) if isinstance(text, list) else text)
            for name, text in values.items()
            if text not in (_USUAL[name], *_NOTHING.get(name, ()))
        )

    def chosen_kernels(self, ability: GuestAbility | None) -> list[GuestKernel]:
        """Those of the worker's kernels that the form names; none where no guest is chosen."""
        if ability is None or not self.is_guest:
            return []
        return [kernel for kernel in ability.usable_kernels if kernel.name in self.kernels]

    def fit(self, ability: GuestAbility) -> None:
        """Lower what is still at its default to what this worker can give a guest."""
        most_bytes = ability.most_memory_bytes
        if self.guest_memory_mib == _USUAL["guest_memory_mib"] and most_bytes is not None:
            self.guest_memory_mib = str(min(_USUAL_GUEST.memory_mib, most_bytes // 2**20))
        if self.guest_cpus == _USUAL["guest_cpus"] and ability.most_cpus is not None:
            self.guest_cpus = str(min(_USUAL_GUEST.cpus, ability.most_cpus))

    def choose_seed(self) -> None:
        """Choose a seed where a random order has none yet: what is reviewed is what is run."""
        if self.order == RANDOM and not self.seed:
            self.seed = str(secrets.randbelow(MAXIMUM_SEED + 1))

    def run_options(self, unreadable: Unreadable, wrong: set[str] | None = None) -> FormOptions:
        """What the texts say; what cannot be read is noted and left at its default. Into ``wrong``
        go the fields that it is in.
        """
        if self.executor not in EXECUTORS:
            unreadable["executor"] = [
                f'"{self.executor}" is no executor: choose one of {", ".join(EXECUTORS)}.'
            ]
        if self.repeat_by not in WAYS:
            unreadable["repeats"] = [
                f'"{self.repeat_by}" is no way to repeat: choose one of {", ".join(WAYS)}.'
            ]
        data: dict[str, Any] = {}
        for name in _SAID:
            *part, key = _PLACES.get(name, name).split(".")
            text = getattr(self, name)
            if name == "race_hours" and self.is_race_of_runs:
                continue
            if self._is_asked((*part, key)[0]) and (text != "" or name in _REFUSED_EMPTY):
                holder = data.setdefault(part[0], {}) if part else data
                holder[key] = _value_of(name, text)
        marked = set() if wrong is None else wrong
        return read(FormOptions, data, partial(self._report, unreadable, marked))

    def wrong_fields(self, places: Iterable[str] = ()) -> set[str]:
        """The fields to be marked: what cannot be read, and these places of the job."""
        wrong = {_FIELDS.get(place, place) for place in places}
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
            "reference_every": bool(self.reference),
        }.get(part, True)

    def _report(self, unreadable: Unreadable, wrong: set[str], steps: Steps, error: Any) -> None:
        if error["type"] == "missing":  # it was told why
            return
        place = ".".join(map(str, steps))
        name = _FIELDS.get(place, place)
        if name in ASKED:
            text, why = _shortened(getattr(self, name)), IS.get(error["type"], "cannot be")
            sentence = f'"{text}" {why}: {ASKED[name]}.'
            wrong.add(name)
        else:  # fields of a part that do not go together
            sentence = with_labels(error_text(error))
            values = getattr(error.get("ctx", {}).get("error"), "values", ())
            wrong.update(_FIELDS.get(f"{place}.{value}", value) for value in values)
        unreadable.setdefault(_PARTS.get(str(steps[0]), place), []).append(sentence)

    def write_options(self, query: QueryDict) -> None:
        """Put into a query string what is not left at its default."""
        if self.executor != HOST:
            query["executor"] = self.executor
            query.setlist("kernel", self.kernels)
            query["guest_memory_mib"], query["guest_cpus"] = self.guest_memory_mib, self.guest_cpus
        # One of these says that somebody filled the form in.
        names = {BY_NUMBER: ("repeats",), BY_RACE: ("repeat_by", *_RACE)}
        for name in names.get(self.repeat_by, ("repeat_by", *_INTERVAL)):
            if getattr(self, name) or name in _REFUSED_EMPTY:
                query[name] = getattr(self, name)
        if self.is_race and self.is_race_of_runs:
            del query["race_hours"]
        if query.get("race_find") == _USUAL["race_find"]:
            del query["race_find"]
        for name in _SHOWN_WHERE_CHANGED:
            value = getattr(self, name)
            if value not in (_USUAL[name], *_NOTHING.get(name, ())):
                query.setlist(name, value if isinstance(value, list) else [value])
        if not self.reference:
            query.pop("reference_every", None)


_USUAL = {
    form_field.name: getattr(OptionsForm(), form_field.name) for form_field in fields(OptionsForm)
}
_SHOWN_WHERE_CHANGED = list(_USUAL)[list(_USUAL).index("discard") :]
_SAID = [name for name in _USUAL if name not in ("executor", "repeat_by", "reference")]
_NOTHING = {
    **{
        "discard": ("no",),
        "precondition": ("no",),
        "precondition_twice": ("no",),
        "sprandom_percent": ("0",),
        "fill_percent": ("0",),
        "probe_s": ("0",),
    },
    **{"age_rounds": ("0",), "age_extents": ("0",)},
}


def read_options(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``OptionsForm``."""
    values = {name: query.get(name, usual).strip() for name, usual in _USUAL.items() if usual != []}
    values |= {name: times.local(values[name]) for name in _TIMES}
    return {
        "kernels": list(dict.fromkeys(filter(None, query.getlist("kernel")))),
        "tracing": list(dict.fromkeys(filter(None, query.getlist("tracing")))),
        "clients": list(dict.fromkeys(map(_shortened, filter(None, query.getlist("clients")))))[
            :MOST_CLIENTS
        ],
        **{
            name: text if text or name in _REFUSED_EMPTY else _USUAL[name]
            for name, text in values.items()
        },
    }


def options_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a job says, without the reference (a variant of the form)."""
    values = spec.model_dump(mode="json", include=set(JobOptions.model_fields))
    values["preparation"] = spec.preparation.stored()
    form_values: dict[str, Any] = {"repeat_by": BY_INTERVAL} if spec.until else {}
    if spec.race:
        form_values["repeat_by"] = BY_RACE
    if spec.guest:
        form_values["executor"] = GUEST
    for name in _SAID:
        *part, key = _PLACES.get(name, name).split(".")
        value = ((values[part[0]] or {}) if part else values).get(key)
        if name in _LISTS:
            form_values[name] = ", ".join(map(str, value or ()))
        elif value is not None:
            form_values[name] = value if isinstance(value, list) else _text(value)
    form_values |= {name: times.local(form_values[name]) for name in _TIMES if name in form_values}
    return form_values


def by_field(by_part: Mapping[str, list[str]]) -> Unreadable:
    """Problems of a job under the fields of the form."""
    unreadable: Unreadable = {}
    for place, sentences in by_part.items():
        place = place.partition("[")[0]
        if place.startswith("limits."):  # they are told together
            place = "limits"
        unreadable.setdefault(_FIELDS.get(place, place), []).extend(sentences)
    return unreadable


def _shortened(value: str | list[str]) -> str:
    """What was said, or how it begins where no name of anything is so long."""
    text = value if isinstance(value, str) else ", ".join(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _value_of(name: str, text: str) -> object:
    """What the text of a field stands for."""
    if name in _TIMES:
        return times.with_zone(text)
    return text if name in _TEXTS else _value(text, name in _LISTS)


def _value(text: str, is_list: bool = False) -> object:
    """What the text stands for; the text itself where it is neither number, yes nor no."""
    if is_list:
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
