"""The report of a study: one page, for the screen and the printer."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.models import HardwareProfile, Workload
from fsbench_web.compare.exports.document import written
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.fields import CONTENDERS
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, units_of
from fsbench_web.compare.tables import bounds, findings
from fsbench_web.compare.tables.delta_tables import (
    answer_of,
    comparison,
    in_units_of,
)
from fsbench_web.compare.tables.differences import order_over_time
from fsbench_web.compare.tables.statements import check
from fsbench_web.core import numbers
from fsbench_web.core.comparison.answer import matrix_of
from fsbench_web.core.comparison.answer_shown import answer_context
from fsbench_web.core.comparison.headlines import headline_tables
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.platform import limits
from fsbench_web.studies.jobs.forms.workload import named_parameters
from fsbench_web.studies.models import END_STATES, UNTRACED, Run, RunState, Study
from fsbench_web.studies.runs import repeats
from fsbench_web.studies.scores.source_runs import spans_of
from fsbench_web.studies.views.study import study_or_404


@require_safe
@requires(Action.READ)
def html(request: HttpRequest, slug: str) -> HttpResponse:
    """The report, ready to print. ``?by=``: what its tables rank; ``units=``: their units."""
    study = study_or_404(slug)
    spec = _spec(request, study)
    limited = bounds.BoundedComparison(spec)
    if not study.is_published:
        limited = bounds.by_rows(limited, room=limits.REPORT)
    compared = comparison(limited.spec)
    ranked, emulated = compared.tables, compared.emulated
    work, work_tables = _work(spec, request.GET)
    tables = [*work_tables, *ranked]
    answer = answer_of(tables)
    part = limited.part
    whole = f"{reverse('compare:page')}?{part.whole.to_query()}" if part else ""
    context = {
        "study": study,
        "made_at": timezone.localtime(),
        "address": request.build_absolute_uri(reverse("report", args=[study.slug])),
        "site": request.build_absolute_uri("/"),
        "work": work,
        "part": part,
        "whole": request.build_absolute_uri(whole) if part else "",
        "emulated": emulated if emulated and emulated.left_out else None,
        "in_turn": () if study.is_published else order_over_time(ranked, spans_of).turns,
        **answer_context(answer),
        "matrix": matrix_of(tables, answer),
        **content_of(study, tables),
        **method_context(study),
        "query": replace(spec, units="").to_query(),
        "file_query": in_units_of(spec, tables).to_query(),
    }
    return render(request, "compare/report.html", context)


def _spec(request: HttpRequest, study: Study) -> ComparisonSpec:
    by = request.GET.get("by") or next(
        (section.get("by", "") for section in study.sections if section["kind"] == "tables"), ""
    )
    if by not in CONTENDERS:
        by = "filesystem"
    return ComparisonSpec(studies=(study.slug,), by=by, units=units_of(request.GET))


def _work(spec: ComparisonSpec, query: QueryDict) -> tuple[list[str], list[DeltaTable]]:
    """What was measured of the work profile that the address asks for, and its tables."""
    try:
        work_spec = profiles.of_query(spec, query)
        work_comparison = comparison(work_spec) if work_spec.is_of_work else None
    except SpecError as error:
        return error.problems, []
    if work_comparison is None:
        return [], []
    return [
        sentence for work_answer in work_comparison.work for sentence in work_answer.sentences
    ], work_comparison.tables


MOST_TABLES = 300
"""Tables that are printed; the file has those beyond."""
MOST_ROWS = 3000
"""Rows of all tables that are printed: 60 pages of paper."""
_OF_METHOD = ("facts", "list", "missing", "table")


@dataclass(frozen=True)
class Grid:
    """A table. ``columns`` are (heading, is it numeric); ``strong`` are the places of best rows."""

    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    anchor: str = ""
    strong: frozenset[int] = frozenset()
    notes: Sequence[str] = ()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The rows for a template: cells with whether they are numeric."""
        return [
            {
                "is_strong": place in self.strong,
                "cells": [
                    (cell, is_numeric)
                    for cell, (_, is_numeric) in zip(row, self.columns, strict=True)
                ],
            }
            for place, row in enumerate(self.rows)
        ]


def content_of(study: Study, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The part of the template's context that the tables of the study give."""
    printed = printed_tables(tables)
    places = {id(table): f"#table-{number}" for number, table in enumerate(tables, start=1)}

    def place(table: DeltaTable) -> str:
        return places[id(table)]

    # As its page has it: all categories are what a paper's tables are read by.
    answering = tables if study.is_published else headline_tables(tables)
    stated: Sequence[Mapping[str, Any]] = next(
        (section["items"] for section in study.sections if section["kind"] == "statements"), ()
    )
    stated_charts = [section for section in study.sections if section["kind"] == "chart"]
    return {
        "tables_count": len(tables),
        "printed_count": len(printed),
        "tests_count": len({table.test for table in tables}),
        "costs_count": sum(testnames.is_cost(table.test) for table in tables),
        "runs_count": len({run for table in tables for row in table.rows for run in row.run_ids}),
        "findings": findings.findings_by_test(answering, place),
        "checked": check(stated, tables, place),
        "tests": _tests(tables, printed, places),
        "paper_grids": [_stated_values(section) for section in stated_charts],
        "described": [
            _described(section) for section in study.sections if section["kind"] in _OF_METHOD
        ],
        "definitions": [
            (categories.label(slug), categories.category(slug).definition)
            for slug in categories.all_slugs()
        ],
    }


def printed_tables(tables: Sequence[DeltaTable]) -> Sequence[DeltaTable]:
    """The first of the tables, whole: as many as have ``MOST_ROWS`` rows; one at least."""
    rows = 0
    for place, table in enumerate(tables[:MOST_TABLES]):
        rows += len(table.rows)
        if rows > MOST_ROWS and place:
            return tables[:place]
    return tables[:MOST_TABLES]


def _tests(
    tables: Sequence[DeltaTable], printed: Sequence[DeltaTable], places: Mapping[int, str]
) -> list[dict[str, Any]]:
    """The printed tests: label, sentences and tables of each."""
    tests: dict[str, dict[str, Any]] = {
        table.test: {"label": testnames.label(table.test), "sentences": [], "tables": []}
        for table in printed
    }
    for finding in findings.findings(tables, lambda table: places[id(table)]):
        if finding.test in tests:
            tests[finding.test]["sentences"].append(finding)
    for table in printed:
        tests[table.test]["tables"].append(_grid(table, places[id(table)][1:]))
    return list(tests.values())


def _grid(table: DeltaTable, anchor: str) -> Grid:
    shown = written(table)
    first, *others = shown.columns
    return Grid(
        [(column.heading, column.kind == "number") for column in shown.columns],
        [
            [
                first.text(row) + "".join(f" ({sign})" for sign in (mark, *letters) if sign),
                *(column.text(row) for column in others),
            ]
            for row, mark, letters in shown.rows
        ],
        title=f"{shown.title} ({shown.unit})",
        anchor=anchor,
        strong=frozenset(place for place, (_, mark, _) in enumerate(shown.rows) if mark == "best"),
        notes=[*shown.remarks, *shown.lines],
    )


def _described(section: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a publication says of its method; its tables as a Grid."""
    if section["kind"] != "table":
        return {**section, "entries": section.get("items", ())}  # a dict has items of its own
    numeric = section.get("numeric", ())
    named = [(str(name), place in numeric) for place, name in enumerate(section["columns"])]
    return {**section, "grid": Grid(named, [list(map(str, row)) for row in section["rows"]])}


def _stated_values(section: Mapping[str, Any]) -> Grid:
    """The values of a chart that a paper printed without a table."""
    return Grid(
        [("Entry", False), (f"{section['unit']}, less is better", True)],
        [
            [label, "not stated" if value is None else f"{bound} {value}".strip()]
            for label, value, bound in section["rows"]
        ],
        title=section["title"],
        notes=[text for text in (section.get("text"), section.get("note")) if text],
    )


# What is stored of how a study was measured. A constant number of queries.

Facts = tuple[tuple[str, str], ...]
Sections = Mapping[str, Iterable[Sequence[object]]]

_FIRST = ("Operating system", "Machine", "Tools", "Execution", "LUN", "File system")
"""What readers look for; the kernel's own settings come after it."""
_UNAFFECTED = "Not affected"
_MOST_NAMED = 6
MOST_SERIES = 150
"""Configurations listed one by one; a report with more is no report."""


def method_context(study: Study) -> dict[str, Any]:
    """Hardware, systems, workloads and series of a study, with the commands that were run."""
    rows = _rows(study)
    listed = rows[:MOST_SERIES]
    runs = {
        run.pk: run
        for run in Run.objects.filter(pk__in=[row.newest for row in listed if row.newest])
        .select_related("environment")
        .only("id", "commands", "environment", "series_id")
    }
    rules = repeats.rules_of(row.pk for row in listed)
    is_part = len(rows) > MOST_SERIES
    profiles, workloads = _hardware_and_workloads(study, listed, is_part)
    environments = {run.environment.pk: run.environment for run in runs.values() if run.environment}
    labels: dict[int, list[str]] = defaultdict(list)
    series = []
    by_commands: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in listed:
        run = runs.get(row.newest or 0)
        if run and run.environment_id and row.configuration.label not in labels[run.environment_id]:
            labels[run.environment_id].append(row.configuration.label)
        series.append(_recorded_series(row, [*map(repeats.in_words, rules.get(row.pk, ()))]))
        by_commands[_command_lines(run)].append(series[-1])
    return {
        "series": series,
        "total": study.series.count() if is_part else len(rows),
        "most_series": MOST_SERIES,
        "recorded": [
            (
                "Hardware",
                [(profile.name, _facts_of(profile)) for profile in profiles],
                "No hardware profile.",
            ),
            (
                "Systems",
                systems(
                    (str(environment), labels[environment.pk], environment.shown_facts)
                    for environment in environments.values()
                ),
                "Nothing was recorded of kernel and tools.",
            ),
            (
                "Workloads",
                [(workload.title, _parameters(workload)) for workload in workloads],
                "No workload was named.",
            ),
        ],
        # Series with the same command lines together, so that nothing is printed twice.
        "commands": [(group, lines) for lines, group in by_commands.items() if lines],
        "silent": dict.fromkeys(each["configuration"] for each in by_commands[()]),
    }


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


def _command_lines(run: Run | None) -> tuple[str, ...]:
    """The quoted commands of the newest finished run of a series, if any."""
    commands = run.commands if run else []
    return tuple(shlex.join(map(str, command.get("argv", []))) for command in commands)


def _recorded_series(row: Any, rules: list[str]) -> dict[str, Any]:
    return {
        "configuration": row.configuration.label,
        "workload": row.workload.title if row.workload else "",
        "lun": f"{row.lun.name} on {row.lun.worker.name}" if row.lun else "",
        "system": " ".join(part for part in (row.distribution, row.kernel) if part),
        "preparation": preparation.in_words(row.preparation),
        "repeats": "; ".join(rules),
        "done": row.done_count,
        "failed": row.failed_count,
        "run_id": row.newest,
    }


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
