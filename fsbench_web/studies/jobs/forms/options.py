"""How runs are run, as fields of the job form: texts, which may be refused. No database."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from pydantic import StrictInt

from fsbench_web.catalog.configurations.limits import LIMITS
from fsbench_web.catalog.configurations.preparation import (
    MAXIMUM_AGE_ROUNDS,
    MAXIMUM_FILL_PERCENT,
    MAXIMUM_SPRANDOM_PERCENT,
)
from fsbench_web.catalog.workers.machines import EXECUTORS, GUEST, HOST, GuestAbility, GuestKernel
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.jobs.documents.reader import Steps, error_text, read
from fsbench_web.studies.jobs.spec import (
    DEFAULT_REFERENCE_EVERY,
    FORM_REPEATS,
    LEAST_PROBE_S,
    MOST_CLIENTS,
    MOST_PROBE_S,
    GuestSpec,
    JobOptions,
    JobSpec,
    RaceSpec,
)
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM

BY_NUMBER, BY_INTERVAL, BY_RACE = "number", "interval", "race"
WAYS = (BY_NUMBER, BY_INTERVAL, BY_RACE)
VALUE, NEEDED, AMOUNT, FLAG, TEXT, TIME, LIST = range(7)
"""What a field holds: a number, which may have to be there or be 0 for nothing; yes or no; a text
or several; a time; numbers with commas between them.
"""
_NOTHING = {FLAG: "no", AMOUNT: "0"}
LABELS = {
    "precondition": "Write the whole LUN once",
    "fill_percent": "Fill level",
    "age_rounds": "Age it first",
    "age_extents": "Stop ageing at",
}
"""What the form calls the options that sentences about several of them name by their keys."""
_WHOLE = re.compile(r"^-?[0-9]{1,12}$")
_DECIMAL = re.compile(r"^[0-9]{1,6}\.[0-9]{1,6}$")
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_PARTS = {
    **{name: name for name in ("race", "preparation", "limits")},
    **{"until": "repeats", "reference_every": "reference"},
}
"""The part of the form under which it is said, where that is not the field's own."""
_IS = {
    "bool_type": "is neither yes nor no",
    "float_type": "is not a number",
    "int_type": "is not a whole number",
    "moment": "is not a time",
}
_TIME_ASKED = (
    "say a day and a time, as 2026-11-23T22:00, and its zone too (+01:00) in an hour in which "
    "clocks are changed"
)
_USUAL_GUEST = GuestSpec(())
_MOST_LETTERS = 200

Unreadable = dict[str, list[str]]


class FormOptions(JobOptions):
    """What the form says of them, and after how many runs the reference is run again."""

    reference_every: StrictInt = DEFAULT_REFERENCE_EVERY


@dataclass(frozen=True)
class _Said:
    """What the form knows of a field: what it says untouched, and where it is in the job.

    ``asked`` is what to say where it cannot be read, ``words`` how a summary shows it.
    """

    usual: str | list[str]
    place: str
    asked: str = ""
    words: str = ""
    kind: int = VALUE

    def is_usual(self, text: str | list[str]) -> bool:
        return text in (self.usual, _NOTHING.get(self.kind, self.usual))


def _said(usual: str, *said: Any) -> Any:
    return field(default=usual, metadata={"said": _Said(usual, *said)})


def _limit(name: str) -> Any:
    asked = "say one limit or several, as 0, 100; 0 is none"
    return _said("", f"limits.{name}", asked, "", LIST)


@dataclass
class OptionsForm:
    """``reference`` is a variant of the form, ``ext4.2``; "": there is no reference.

    The intervals are FREENIX 2002's, which stops at 10%, and half of it.
    """

    executor: str = HOST
    kernels: list[str] = field(
        default_factory=list,
        metadata={"said": _Said([], "guest.kernels", "choose fewer kernels", "", TEXT)},
    )
    guest_memory_mib: str = _said(
        *(str(_USUAL_GUEST.memory_mib), "guest.memory_mib"),
        "say how much memory the guest has, in MiB",
    )
    guest_cpus: str = _said(
        *(str(_USUAL_GUEST.cpus), "guest.cpus", "say how many CPUs the guest has")
    )
    repeats: str = _said(
        *(str(FORM_REPEATS), "repeats", "say how often each configuration is run", "", NEEDED)
    )
    repeat_by: str = BY_NUMBER
    half_width: str = _said(
        *("5", "until.half_width_percent"),
        *("say within how many percent of the mean the confidence interval shall lie", "", NEEDED),
    )
    least: str = _said(
        *(str(FORM_REPEATS), "until.least", "say how many repeats there are at least", "", NEEDED)
    )
    most: str = _said("20", "until.most", "say how many repeats there are at most", "", NEEDED)
    race_find: str = _said(RaceSpec.find, "race.find", "choose best or change", "", TEXT)
    race_hours: str = _said(
        *("8", "race.hours", "say how many hours the race may take", "", NEEDED)
    )
    race_runs: str = _said("", "race.runs", "say how many runs the race may have in all")
    race_test: str = _said("", "race.test", "", "", TEXT)
    race_category: str = _said("", "race.category", "", "", TEXT)
    race_margin: str = _said(
        *(f"{RaceSpec.margin_percent:g}", "race.margin_percent"),
        "say how many percent are no difference",
    )
    discard: str = _said(
        *("", "preparation.discard", "say whether the LUN is discarded", "discard", FLAG)
    )
    precondition: str = _said(
        *("", "preparation.precondition", "say whether the LUN is written once"),
        *("write the whole LUN once", FLAG),
    )
    precondition_twice: str = _said(
        *("", "preparation.precondition_twice", "say whether the LUN is written twice"),
        *("twice", FLAG),
    )
    sprandom_percent: str = _said(
        *("", "preparation.sprandom_percent"),
        f"say 0 to {MAXIMUM_SPRANDOM_PERCENT} percent of over-provisioning",
        *("sprandom with {} percent of over-provisioning", AMOUNT),
    )
    fill_percent: str = _said(
        *("", "preparation.fill_percent"),
        f"the fill level must be 0 to {MAXIMUM_FILL_PERCENT} percent",
        *("fill level {} percent", AMOUNT),
    )
    age_rounds: str = _said(
        *("", "preparation.age_rounds", f"say 0 to {MAXIMUM_AGE_ROUNDS} rounds of ageing"),
        *("age it for {} rounds", AMOUNT),
    )
    age_extents: str = _said(
        *("", "preparation.age_extents"),
        "say how many hundredths of an extent a file has, or leave it empty",
        *("or until {} hundredths of an extent a file", AMOUNT),
    )
    probe_s: str = _said(
        *("", "probe_s", f"say {LEAST_PROBE_S} to {MOST_PROBE_S} seconds, or 0 for not at all"),
        *("measure the LUN itself for {} seconds", AMOUNT),
    )
    tracing: list[str] = field(
        default_factory=list,
        metadata={
            "said": _Said(
                *([], "tracing", "name each tracer once", "one more run, traced: {}", TEXT)
            )
        },
    )
    clients: list[str] = field(
        default_factory=list,
        metadata={
            "said": _Said(
                *([], "clients", f"name {MOST_CLIENTS - 1} other workers at most, each once"),
                *("", TEXT),
            )
        },
    )
    limit_read_mib_s: str = _limit("read_mib_s")
    limit_write_mib_s: str = _limit("write_mib_s")
    limit_read_iops: str = _limit("read_iops")
    limit_write_iops: str = _limit("write_iops")
    limit_memory_mib: str = _limit("memory_mib")
    limit_cpus: str = _limit("cpus")
    order: str = _said(RANDOM, "order", "", "order {}", TEXT)
    seed: str = _said("", "seed", "leave the seed empty to get one", "seed {}")
    reference: str = _said("", "reference", "", "reference {}")
    reference_every: str = _said(
        *(str(DEFAULT_REFERENCE_EVERY), "reference_every"),
        *("say after how many runs the reference is run again", "after every {} runs"),
    )
    priority: str = _said("0", "priority", "say -10 to 10, or leave it at 0", "priority {}")
    time_limit_s: str = _said(
        *("", "time_limit_s", "say how many seconds a run may take", "time limit {} seconds")
    )
    start_at: str = _said("", "start_at", _TIME_ASKED, "start at {}", TIME)
    stop_before: str = _said("", "stop_before", _TIME_ASKED, "stop before {}", TIME)
    run_again: str = _said(
        *(str(DEFAULT_RUN_AGAIN), "run_again"),
        f"say 0 to {MOST_RUN_AGAIN}, or leave it at {DEFAULT_RUN_AGAIN}",
        "run again what was interrupted {} times",
    )

    @property
    def is_guest(self) -> bool:
        return self.executor == GUEST

    @property
    def limit_fields(self) -> list[dict[str, Any]]:
        """Name, text and kind of each, for the page."""
        names = [name for name, said in _FORM.items() if said.kind == LIST]
        return [
            {"name": name, "text": getattr(self, name), "kind": kind}
            for name, kind in zip(names, LIMITS.values(), strict=True)
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
        return bool(self.race_runs) and self.race_hours in ("", _FORM["race_hours"].usual)

    @property
    def changed_count(self) -> int:
        """How many fields that the form folds away differ from the default."""
        return len(self._changed(_ADVANCED)) + self.is_guest

    @property
    def prepared(self) -> str:
        """What is to be done to the LUN before a run, in words; "" for nothing but the usual."""
        return self._in_words(set(_ADVANCED) - STEERING)

    @property
    def steered(self) -> str:
        """Which of order, times and limits are others than the usual, in words."""
        return self._in_words(STEERING)

    @property
    def limited(self) -> str:
        return ", ".join(
            f"{limit['kind'].label.lower()} {limit['text']} {limit['kind'].unit}"
            for limit in self.limit_fields
            if limit["text"]
        )

    def _changed(self, names: Iterable[str]) -> dict[str, str | list[str]]:
        values = {name: getattr(self, name) for name in names}
        return {name: text for name, text in values.items() if not _FORM[name].is_usual(text)}

    def _in_words(self, names: set[str]) -> str:
        changed = self._changed(name for name in _ADVANCED if name in names and _FORM[name].words)
        return ", ".join(
            _FORM[name].words.format(" ".join(text) if isinstance(text, list) else text)
            for name, text in changed.items()
        )

    def chosen_kernels(self, ability: GuestAbility | None) -> list[GuestKernel]:
        """Those of the worker's kernels that the form names; none where no guest is chosen."""
        if ability is None or not self.is_guest:
            return []
        return [kernel for kernel in ability.usable_kernels if kernel.name in self.kernels]

    def fit(self, ability: GuestAbility) -> None:
        """Lower what is still at its default to what this worker can give a guest."""
        most_bytes = ability.most_memory_bytes
        if self.guest_memory_mib == str(_USUAL_GUEST.memory_mib) and most_bytes is not None:
            self.guest_memory_mib = str(min(_USUAL_GUEST.memory_mib, most_bytes // 2**20))
        if self.guest_cpus == str(_USUAL_GUEST.cpus) and ability.most_cpus is not None:
            self.guest_cpus = str(min(_USUAL_GUEST.cpus, ability.most_cpus))

    def choose_seed(self) -> None:
        """Choose a seed where a random order has none yet: what is reviewed is what is run."""
        if self.order == RANDOM and not self.seed:
            self.seed = str(secrets.randbelow(MAXIMUM_SEED + 1))

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
        for name, said in _FORM.items():
            *part, key = said.place.split(".")
            text = getattr(self, name)
            if name == "reference" or (name == "race_hours" and self.is_race_of_runs):
                continue
            if self._is_asked((*part, key)[0]) and (text != "" or said.kind == NEEDED):
                holder = data.setdefault(part[0], {}) if part else data
                holder[key] = _value_of(text, said.kind)
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
            "reference_every": bool(self.reference),
        }.get(part, True)

    def _report(self, unreadable: Unreadable, wrong: set[str], steps: Steps, error: Any) -> None:
        if error["type"] == "missing":  # it was told why
            return
        place = ".".join(map(str, steps))
        name = _NAMES.get(place, place)
        if name in _FORM and _FORM[name].asked:
            text, why = _shortened(getattr(self, name)), _IS.get(error["type"], "cannot be")
            sentence = f'"{text}" {why}: {_FORM[name].asked}.'
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
            query.setlist("kernel", self.kernels)
            query["guest_memory_mib"], query["guest_cpus"] = self.guest_memory_mib, self.guest_cpus
        # One of these says that somebody filled the form in.
        part = {BY_NUMBER: "repeats", BY_RACE: "race."}.get(self.repeat_by, "until.")
        if self.repeat_by != BY_NUMBER:
            query["repeat_by"] = self.repeat_by
        for name, said in _FORM.items():
            is_of_part = said.place.startswith(part)
            if is_of_part and (getattr(self, name) or said.kind == NEEDED):
                query[name] = getattr(self, name)
        if self.is_race and self.is_race_of_runs:
            del query["race_hours"]
        if query.get("race_find") == RaceSpec.find:
            del query["race_find"]
        for name, value in self._changed(_ADVANCED).items():
            query.setlist(name, value if isinstance(value, list) else [value])
        if not self.reference:
            query.pop("reference_every", None)


_FORM: dict[str, _Said] = {
    each.name: each.metadata["said"] for each in fields(OptionsForm) if "said" in each.metadata
}
_NAMES = {said.place: name for name, said in _FORM.items()}
"""The fields by their place in the job."""
_ADVANCED = list(_FORM)[list(_FORM).index("discard") :]
STEERING = set(_ADVANCED[_ADVANCED.index("order") :])
"""The fields of order, times and limits."""


def read_options(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``OptionsForm``."""
    values: dict[str, Any] = {
        "executor": query.get("executor", HOST).strip() or HOST,
        "repeat_by": query.get("repeat_by", BY_NUMBER).strip(),
    }
    for name, said in _FORM.items():
        if isinstance(said.usual, list):
            key = "kernel" if name == "kernels" else name
            values[name] = list(dict.fromkeys(filter(None, query.getlist(key))))
            continue
        text = query.get(name, said.usual).strip()
        text = local_time(text) if said.kind == TIME else text
        values[name] = text if text or said.kind == NEEDED else said.usual
    values["clients"] = list(dict.fromkeys(map(_shortened, values["clients"])))[:MOST_CLIENTS]
    return values


def options_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a job says, without the reference (a variant of the form)."""
    values = spec.model_dump(mode="json", include=set(JobOptions.model_fields))
    values["preparation"] = spec.preparation.stored()
    form_values: dict[str, Any] = {"repeat_by": BY_INTERVAL} if spec.until else {}
    if spec.race:
        form_values["repeat_by"] = BY_RACE
    if spec.guest:
        form_values["executor"] = GUEST
    for name, said in _FORM.items():
        *part, key = said.place.split(".")
        value = ((values.get(part[0]) or {}) if part else values).get(key)
        if said.kind == LIST:
            form_values[name] = ", ".join(map(str, value or ()))
        elif value is not None:
            form_values[name] = value if isinstance(value, list) else _text(value)
            if said.kind == TIME:
                form_values[name] = local_time(form_values[name])
    return form_values


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
    if kind == TEXT:
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
