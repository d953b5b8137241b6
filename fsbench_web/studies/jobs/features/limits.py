"""Limits of what a run on the worker's own kernel may use, by its control group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt

from fsbench_web.catalog.configurations.limits import LEAST_MEMORY_MIB, LIMITS, NO_LIMITS, Limits
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import capacity
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.jobs.features.base import LIST, Feature, FormField
from fsbench_web.studies.jobs.parts import CLOSED, THIS_HOST, Host
from fsbench_web.studies.jobs.problems import Problems

MOST_COMBINATIONS = 32


def _as_list(value: object) -> object:
    """A single number is a list of one."""
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


_Several = Annotated[
    tuple[StrictInt, ...],
    BeforeValidator(_as_list, json_schema_input_type=tuple[StrictInt, ...] | StrictInt),
]


@dataclass(frozen=True)
class LimitsSpec:
    """Limits of a run's control group; 0 is no limit. Everything is run with each combination."""

    __pydantic_config__ = CLOSED

    read_mib_s: Annotated[
        _Several, Field(max_length=8, description="MiB/s read", examples=[[0, 100]])
    ] = ()
    write_mib_s: Annotated[_Several, Field(max_length=8, description="MiB/s written")] = ()
    read_iops: Annotated[_Several, Field(max_length=8, description="reads a second")] = ()
    write_iops: Annotated[_Several, Field(max_length=8, description="writes a second")] = ()
    memory_mib: Annotated[
        _Several, Field(max_length=8, description="memory with the page cache, MiB")
    ] = ()
    cpus: Annotated[_Several, Field(max_length=8, description="processors")] = ()

    @property
    def count(self) -> int:
        return math.prod(len(getattr(self, limit.name)) or 1 for limit in fields(self))

    def combinations(self) -> list[Limits]:
        """All combinations, in the order of the values."""
        names = [limit.name for limit in fields(self)]
        values = [getattr(self, name) or (0,) for name in names]
        return [
            Limits(**dict(zip(names, combination, strict=True))) for combination in product(*values)
        ]


class Limited(Feature):
    form_fields = [
        FormField(
            *(f"limits.{name}", "say one limit or several, as 0, 100; 0 is none"),
            kind=LIST,
            name=f"limit_{name}",
        )
        for name in LIMITS
    ]
    parts = {"limits": LimitsSpec()}

    limits: LimitsSpec = Field(
        default=LimitsSpec(),
        description="of the run's control group; runs with other limits are no repeats",
    )


def hosts_of(limits: LimitsSpec, lun: Lun | None, is_guest: bool, problems: Problems) -> list[Host]:
    """The worker's own machine with each of the limits."""
    if limits.count == 1 and not limits.combinations()[0].are_any:
        return [THIS_HOST]
    before = problems.count
    if is_guest:
        problems.add(
            "limits",
            "A guest has memory and CPUs of its own (guest.memory_mib, guest.cpus), and the rates "
            "of its disks are not limited: leave the limits out, or choose the worker's own "
            "executor.",
        )
    if limits.count > MOST_COMBINATIONS:
        problems.add(
            "limits",
            f"The limits make {limits.count} combinations, and {MOST_COMBINATIONS} is the "
            "most: say fewer values.",
        )
        return []
    _check_limits(limits, problems)
    all_limits = limits.combinations()
    if len(set(all_limits)) < len(all_limits):
        problems.add("limits", "A limit appears twice: give each value once.")
    if lun is not None and not is_guest:
        _check_limited_lun(lun, _all_limited(all_limits), problems)
    return (
        [Host(Machine(limits=limits)) for limits in all_limits] if problems.count == before else []
    )


def _check_limited_lun(lun: Lun, strictest: Limits, problems: Problems) -> None:
    if lun.is_folder:
        if strictest.rates:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, and has no device of its own to limit: leave the "
                "rates out, or choose a LUN on which file systems are made.",
            )
        if strictest.memory_mib:
            problems.add(
                "limits",
                f"{lun.name} is a {lun.kind}, and its runs have no control group of their own: "
                "leave the memory limit out, or choose a LUN on which file systems are made.",
            )
    for sentence in capacity.machine_limit_problems(Machine(limits=strictest), lun.worker):
        problems.add("limits", sentence)


def _check_limits(limits: LimitsSpec, problems: Problems) -> None:
    for name, kind in LIMITS.items():
        for value in getattr(limits, name):
            if not 0 <= value <= kind.most:
                problems.add(
                    f"limits.{name}", f"A limit is 0 (none) to {kind.most}, and not {value}."
                )
            elif name == "memory_mib" and 0 < value < LEAST_MEMORY_MIB:
                problems.add(
                    f"limits.{name}",
                    f"With less than {LEAST_MEMORY_MIB} MiB of memory no benchmark runs: say more "
                    f"than {value}, or 0 for no limit.",
                )


def _all_limited(all_limits: Sequence[Limits]) -> Limits:
    """What any of them limits."""
    stored = {name: value for limits in all_limits for name, value in limits.stored().items()}
    return Limits.of(stored) if stored else NO_LIMITS
