"""What is stored of how a study was measured. A constant number of queries."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import HardwareProfile, Workload
from fsbench_web.core import numbers
from fsbench_web.studies.jobs.forms.workload import named_parameters
from fsbench_web.studies.models import END_STATES, UNTRACED, Run, RunState, Series, Study
from fsbench_web.studies.runs import repeats

Facts = tuple[tuple[str, str], ...]
Sections = Mapping[str, Iterable[Sequence[object]]]

_FIRST = ("Operating system", "Machine", "Tools", "Execution", "LUN", "File system")
"""What readers look for; the kernel's own settings come after it."""
_UNAFFECTED = "Not affected"
_MOST_NAMED = 6
MOST_SERIES = 150
"""Configurations listed one by one; a report with more is no report."""


@dataclass(frozen=True)
class RecordedSeries:
    """One series with the quoted commands of its newest finished run, if any."""

    configuration: str
    workload: str
    hardware: str
    lun: str
    system: str
    preparation: str
    repeats: str
    done: int
    failed: int
    run_id: int | None
    origin: str
    commands: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Method:
    """All that is stored. ``series``: the first of ``total``."""

    hardware: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    environments: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    workloads: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    series: tuple[RecordedSeries, ...]
    total: int


def method_of(study: Study) -> Method:
    """Hardware, systems, workloads and series of a study, with the commands that were run."""
    rows = _rows(study)
    listed = rows[:MOST_SERIES]
    runs = {
        run.pk: run
        for run in Run.objects.filter(pk__in=[row.newest for row in listed if row.newest])
        .select_related("environment")
        .only("id", "commands", "origin", "environment", "series_id")
    }
    rules = repeats.rules_of(row.pk for row in listed)
    is_part = len(rows) > MOST_SERIES
    profiles, workloads = _hardware_and_workloads(study, listed, is_part)
    environments = {run.environment.pk: run.environment for run in runs.values() if run.environment}
    labels: dict[int, list[str]] = defaultdict(list)
    for row in listed:
        run = runs.get(row.newest or 0)
        if run and run.environment_id and row.configuration.label not in labels[run.environment_id]:
            labels[run.environment_id].append(row.configuration.label)
    return Method(
        hardware=tuple((profile.name, _facts_of(profile)) for profile in profiles),
        environments=systems(
            (str(environment), labels[environment.pk], environment.shown_facts)
            for environment in environments.values()
        ),
        workloads=tuple((workload.title, _parameters(workload)) for workload in workloads),
        series=tuple(
            _recorded_series(
                row,
                runs.get(row.newest or 0),
                [repeats.in_words(rule) for rule in rules.get(row.pk, ())],
            )
            for row in listed
        ),
        total=study.series.count() if is_part else len(rows),
    )


def _hardware_and_workloads(
    study: Study, listed: list[Any], is_part: bool
) -> tuple[list[HardwareProfile], list[Workload]]:
    """Each once; where ``listed`` is a part of the series, also what the others have."""
    profiles = {profile.pk: profile for profile in study.systems.order_by("id")}
    profiles |= {row.hardware.pk: row.hardware for row in listed if row.hardware}
    workloads = {row.workload.pk: row.workload for row in listed if row.workload}
    if is_part:
        other_profiles = HardwareProfile.objects.filter(pk__in=study.series.values("hardware"))
        profiles |= {profile.pk: profile for profile in other_profiles.order_by("id")[:MOST_SERIES]}
        other_workloads = Workload.objects.filter(pk__in=study.series.values("workload"))
        workloads |= {
            workload.pk: workload for workload in other_workloads.order_by("id")[:MOST_SERIES]
        }
    return list(profiles.values()), list(workloads.values())


def _rows(study: Study) -> list[Any]:
    """The series of a study with how many of their runs are done; one more than MOST_SERIES."""
    failed = [state for state in END_STATES if state != RunState.DONE]
    return list(
        study.series.select_related("configuration", "workload", "hardware", "lun__worker")
        .annotate(
            done_count=Count("runs", filter=Q(runs__state=RunState.DONE, runs__tracing=UNTRACED)),
            failed_count=Count("runs", filter=Q(runs__state__in=failed)),
            newest=Max("runs__id", filter=Q(runs__state=RunState.DONE, runs__tracing=UNTRACED)),
        )
        .order_by("configuration__filesystem", "configuration__label", "id")[: MOST_SERIES + 1]
    )


def _parameters(workload: Workload) -> tuple[tuple[str, str], ...]:
    parameters = named_parameters(workload.tool, workload.parameters)
    return (("Tool", workload.tool), *((str(key), str(value)) for key, value in parameters))


def by_command_lines(
    series: tuple[RecordedSeries, ...],
) -> list[tuple[list[RecordedSeries], tuple[str, ...]]]:
    """Series with the same command lines together, so that nothing is printed twice."""
    by_commands: dict[tuple[str, ...], list[RecordedSeries]] = defaultdict(list)
    for recorded_series in series:
        by_commands[tuple(line for _, line in recorded_series.commands)].append(recorded_series)
    return [(group, lines) for lines, group in by_commands.items() if lines]


def _recorded_series(row: Series, run: Run | None, rules: list[str]) -> RecordedSeries:
    lun = f"{row.lun.name} on {row.lun.worker.name}" if row.lun else ""
    return RecordedSeries(
        configuration=row.configuration.label,
        workload=row.workload.title if row.workload else "",
        hardware=row.hardware.name if row.hardware else "",
        lun=lun,
        system=" ".join(part for part in (row.distribution, row.kernel) if part),
        preparation=preparation.in_words(row.preparation),
        repeats="; ".join(rules),
        done=int(getattr(row, "done_count", 0)),
        failed=int(getattr(row, "failed_count", 0)),
        run_id=run.pk if run else None,
        origin=run.origin if run else "",
        commands=tuple(
            (
                str(command.get("phase", "")),
                shlex.join(str(word) for word in command.get("argv", [])),
            )
            for command in (run.commands if run else [])
        ),
    )


def _facts_of(profile: HardwareProfile) -> tuple[tuple[str, str], ...]:
    return tuple((str(label), str(value)) for label, value in profile.facts)


def systems(
    recorded: Iterable[tuple[str, Sequence[str], Sections]],
) -> tuple[tuple[str, Facts], ...]:
    """(heading, facts) of each (name, configurations, facts): the first whole, then differences."""
    entries: list[tuple[str, Facts]] = []
    first_facts: dict[str, str] = {}
    for name, configurations, sections in recorded:
        facts: dict[str, str] = {}
        for label, value in _in_order(sections):
            facts[label] = f"{facts[label]}; {value}" if label in facts else value
        heading = f"{name}: {_joined_names(configurations)}" if configurations else name
        if not entries:
            first_facts = facts
            entries.append((heading, tuple(facts.items())))
            continue
        other = tuple(fact for fact in facts.items() if first_facts.get(fact[0]) != fact[1])
        lacking = tuple((label, numbers.MISSING) for label in first_facts if label not in facts)
        entries.append((f"{heading}; what differs from the first", (*other, *lacking)))
    return tuple(entries)


def _joined_names(configurations: Sequence[str]) -> str:
    more = len(configurations) - _MOST_NAMED
    named = ", ".join(configurations[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _in_order(sections: Sections) -> Iterable[tuple[str, str]]:
    """Facts with their section before them; what a processor is not affected by is one fact."""
    place = {name: number for number, name in enumerate(_FIRST)}
    for section in sorted(sections, key=lambda name: place.get(name, len(place))):
        facts = [(str(label), str(value)) for label, value in sections[section]]
        unaffected = [label for label, value in facts if value == _UNAFFECTED]
        for label, value in facts:
            if len(unaffected) < 2 or value != _UNAFFECTED:
                yield f"{section}: {label}", value
        if len(unaffected) > 1:
            yield f"{section}: not affected", ", ".join(unaffected)
