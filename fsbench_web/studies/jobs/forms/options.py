"""How runs are run, as fields of the job form: texts, which may be texts that are refused.

No database. A field is named as in the address; one that is a field of ``spec.JobOptions`` is read
into it and shown from it by that name.
"""

import re
import secrets
from dataclasses import dataclass, field, fields
from typing import Any

from django.http import QueryDict

from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation, PreparationError
from fsbench_web.catalog.workers.machines import EXECUTORS, GUEST, HOST, GuestAbility, GuestKernel
from fsbench_web.core.scoring.confidence import RepeatTarget
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.jobs.documents.plan import DEFAULT_REFERENCE_EVERY
from fsbench_web.studies.jobs.spec import DEFAULT_REPEATS, GuestSpec, JobOptions, JobSpec, RaceSpec
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM

BY_NUMBER, BY_INTERVAL, BY_RACE = "number", "interval", "race"
_WHOLE = re.compile(r"^[0-9]{1,12}$")
_DECIMAL = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
_NUMBERS = {
    "repeats": "say how often each configuration is run",
    "seed": "leave the seed empty to get one",
    "reference_every": "say after how many runs the reference is run again",
    "priority": "say -10 to 10, or leave it at 0",
    "time_limit_s": "say how many seconds a run may take",
    "run_again": f"say 0 to {MOST_RUN_AGAIN}, or leave it at {DEFAULT_RUN_AGAIN}",
    "guest_memory_mib": "say how much memory the guest has, in MiB",
    "guest_cpus": "say how many CPUs the guest has",
}
"""The fields that are whole numbers, and what to say of one that is none."""
_INTERVAL = {
    "half_width": "say how many percent of the mean the half-width may be",
    "least": "say how many repeats there are at least",
    "most": "say how many repeats there are at most",
}
_RACE = ("race_hours", "race_measure")
"""The measure is a test and a category of the first workload; empty: its main one."""
_REFUSED_EMPTY = ("repeats", "repeat_by", "race_hours", *_INTERVAL)
"""An emptied field of these is refused; any other is as if it had not been touched."""
_PARTS = {"reference_every": "reference"}
_USUAL_GUEST = GuestSpec(())
_USUAL_HOURS = 8
"""A night."""

Unreadable = dict[str, list[str]]


@dataclass
class OptionsForm:
    """``reference`` is a variant of the form, ``ext4.2``; "": there is no reference.

    The intervals are FREENIX 2002's, which stops at 10%, and half of it.
    """

    executor: str = HOST
    kernels: list[str] = field(default_factory=list)
    guest_memory_mib: str = str(_USUAL_GUEST.memory_mib)
    guest_cpus: str = str(_USUAL_GUEST.cpus)
    repeats: str = str(DEFAULT_REPEATS)
    repeat_by: str = BY_NUMBER
    half_width: str = "5"
    least: str = "3"
    most: str = "10"
    race_hours: str = str(_USUAL_HOURS)
    race_measure: str = ""
    discard: str = ""
    precondition: str = ""
    fill_percent: str = ""
    order: str = RANDOM
    seed: str = ""
    reference: str = ""
    reference_every: str = str(DEFAULT_REFERENCE_EVERY)
    priority: str = "0"
    time_limit_s: str = ""
    run_again: str = str(DEFAULT_RUN_AGAIN)

    @property
    def is_guest(self) -> bool:
        return self.executor == GUEST

    @property
    def is_by_interval(self) -> bool:
        return self.repeat_by == BY_INTERVAL

    @property
    def is_race(self) -> bool:
        return self.repeat_by == BY_RACE

    def chosen_kernels(self, ability: GuestAbility | None) -> list[GuestKernel]:
        """Those of the worker's kernels that the form names; none where no guest is chosen."""
        if ability is None or not self.is_guest:
            return []
        return [one for one in ability.usable_kernels if one.name in self.kernels]

    def fit(self, ability: GuestAbility) -> None:
        """Lower what is still at its default to what this worker can give a guest."""
        most_bytes = ability.most_memory_bytes
        if self.guest_memory_mib == _USUAL["guest_memory_mib"] and most_bytes is not None:
            self.guest_memory_mib = str(min(_USUAL_GUEST.memory_mib, most_bytes // 2**20))
        if self.guest_cpus == _USUAL["guest_cpus"] and ability.most_cpus is not None:
            self.guest_cpus = str(min(_USUAL_GUEST.cpus, ability.most_cpus))

    def give_seed(self) -> None:
        """Choose a seed where a random order has none yet: what is reviewed is what is run."""
        if self.order == RANDOM and not self.seed:
            self.seed = str(secrets.randbelow(MAXIMUM_SEED + 1))

    def run_options(self, unreadable: Unreadable) -> dict[str, Any]:
        """What a JobSpec says of them, but for the reference."""
        numbers = {name for name in JobOptions.model_fields if name in _NUMBERS}
        said = {name: self._number(name, unreadable) for name in numbers - {"repeats"}}
        # What has a default is not None in a job: it is refused for its text.
        said |= {name: said[name] or 0 for name in ("priority", "run_again")}
        return {
            **said,
            "order": self.order,
            "repeats": self._repeats(unreadable),
            "until": self._until(unreadable),
            "race": self._race(unreadable),
            "preparation": self._preparation(unreadable),
            "guest": self.guest(unreadable),
        }

    def every(self, unreadable: Unreadable) -> int:
        """After how many runs the reference is run again."""
        number = self._number("reference_every", unreadable)
        return DEFAULT_REFERENCE_EVERY if number is None else number

    def guest(self, unreadable: Unreadable) -> GuestSpec | None:
        """The guest that the form asks for; None for the worker's own executor."""
        if self.executor not in EXECUTORS:
            unreadable["executor"] = [
                f'"{self.executor}" is no executor: choose one of {", ".join(EXECUTORS)}.'
            ]
        if not self.is_guest:
            return None
        memory, cpus = (
            self._number(f"guest_{name}", unreadable) for name in ("memory_mib", "cpus")
        )
        return GuestSpec(
            tuple(self.kernels),
            _USUAL_GUEST.memory_mib if memory is None else memory,
            _USUAL_GUEST.cpus if cpus is None else cpus,
        )

    def _number(self, name: str, unreadable: Unreadable) -> int | None:
        """None for an empty text, and for one that is no number."""
        text = getattr(self, name)
        if _WHOLE.match(text.removeprefix("-") if name == "priority" else text):
            return int(text)
        if text or name in _REFUSED_EMPTY:
            sentence = f'"{text}" is not a whole number: {_NUMBERS[name]}.'
            unreadable.setdefault(_PARTS.get(name, name), []).append(sentence)
        return None

    def _repeats(self, unreadable: Unreadable) -> int:
        if self.is_by_interval or self.is_race:
            return DEFAULT_REPEATS
        if self.repeat_by != BY_NUMBER:
            unreadable["repeats"] = [
                f'"{self.repeat_by}" is no way to repeat: choose {BY_NUMBER}, {BY_INTERVAL} or '
                f"{BY_RACE}."
            ]
            return 0
        return self._number("repeats", unreadable) or 0

    def _until(self, unreadable: Unreadable) -> RepeatTarget | None:
        if not self.is_by_interval:
            return None
        problems = [
            f'"{text}" is not a number: {what}.'
            for name, what in _INTERVAL.items()
            if not (_DECIMAL if name == "half_width" else _WHOLE).match(text := getattr(self, name))
        ]
        if problems:
            unreadable["repeats"] = problems
            return None
        return RepeatTarget(float(self.half_width), int(self.least), int(self.most))

    def _race(self, unreadable: Unreadable) -> RaceSpec | None:
        if not self.is_race:
            return None
        if not _DECIMAL.match(self.race_hours):
            said = f'"{self.race_hours}" is not a number: say how many hours the race may take.'
            unreadable["race"] = [said]
            return None
        test, _, category = self.race_measure.partition(" ")
        return RaceSpec(hours=float(self.race_hours), test=test, category=category)

    def _preparation(self, unreadable: Unreadable) -> Preparation:
        problems = [
            f'{name}: "{text}" is neither yes nor no.'
            for name, text in (("Discard", self.discard), ("Writing once", self.precondition))
            if text not in ("", "yes", "no")
        ]
        fill = self.fill_percent or "0"
        if not _WHOLE.match(fill):
            problems.append(f'Fill level: "{fill}" is not a whole number of percent.')
        if not problems:
            try:
                return Preparation(self.discard == "yes", self.precondition == "yes", int(fill))
            except PreparationError as error:
                problems.append(str(error))
        unreadable["preparation"] = problems
        return PLAIN

    def write_options(self, query: QueryDict) -> None:
        """Put into a query string what is not left at its default."""
        if self.executor != HOST:
            query["executor"] = self.executor
            query.setlist("kernel", self.kernels)
            query["guest_memory_mib"], query["guest_cpus"] = self.guest_memory_mib, self.guest_cpus
        # One of these says that somebody filled the form in.
        said = {BY_NUMBER: ("repeats",), BY_RACE: ("repeat_by", *_RACE)}
        for name in said.get(self.repeat_by, ("repeat_by", *_INTERVAL)):
            if name != "race_measure" or self.race_measure:
                query[name] = getattr(self, name)
        for name in _SHOWN_WHERE_CHANGED:
            value = getattr(self, name)
            if value not in (_USUAL[name], *_NOTHING.get(name, ())):
                query[name] = value
        if not self.reference:
            query.pop("reference_every", None)


_USUAL = {one.name: getattr(OptionsForm(), one.name) for one in fields(OptionsForm)}
_SHOWN_WHERE_CHANGED = list(_USUAL)[list(_USUAL).index("discard") :]
_NOTHING = {"discard": ("no",), "precondition": ("no",), "fill_percent": ("0",)}


def read_options(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``OptionsForm``."""
    said = {name: query.get(name, usual).strip() for name, usual in _USUAL.items() if usual != []}
    return {
        "kernels": list(dict.fromkeys(filter(None, query.getlist("kernel")))),
        **{
            name: text if text or name in _REFUSED_EMPTY else _USUAL[name]
            for name, text in said.items()
        },
    }


def options_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a job says, without the reference (a variant of the form)."""
    found = {name: str(value) for name, value in spec.options().items() if value is not None}
    for name, value in spec.preparation.stored().items():
        found[name] = "yes" if value is True else str(value)
    if spec.until is not None:
        found |= {
            "repeat_by": BY_INTERVAL,
            "half_width": f"{spec.until.half_width_percent:g}",
            "least": str(spec.until.least),
            "most": str(spec.until.most),
        }
    if spec.race is not None:
        found |= {
            "repeat_by": BY_RACE,
            "race_hours": f"{spec.race.hours or _USUAL_HOURS:g}",
            "race_measure": f"{spec.race.test} {spec.race.category}".strip(),
        }
    if spec.guest is None:
        return found
    return found | {
        "executor": GUEST,
        "kernels": list(spec.guest.kernels),
        "guest_memory_mib": str(spec.guest.memory_mib),
        "guest_cpus": str(spec.guest.cpus),
    }
