"""Reading stored output again with today's parsers: what would change, and changing it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from fsbench_web.accounts import audit, rights
from fsbench_web.core import latency_blocks
from fsbench_web.core.formats import ParsedResult, ParsedValue, Problem, UnreadableFile, parse
from fsbench_web.core.formats.result import OwnKey, names_kernels, own_key, stored_key
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped
from fsbench_web.core.formats.text import as_utf8
from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.workloads import MOUNT_POINT, ParameterError, Place
from fsbench_web.core.workloads import workload_of as measured_workload
from fsbench_web.imports import kilobytes
from fsbench_web.imports.dates import MeasuredDate, measured_date
from fsbench_web.imports.models import Import, ImportedFile
from fsbench_web.imports.problems import ImportProblem, ImportRefused, WarningRow
from fsbench_web.imports.rereads import kept_latencies
from fsbench_web.imports.rereads.renewal import renewed_warnings
from fsbench_web.imports.storing import existing_runs
from fsbench_web.imports.workloads import workload_of
from fsbench_web.renderings import reading
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import Artefact, MeasurementBlock, Run, Series, StateChange
from fsbench_web.studies.scores import ingest, measurements
from fsbench_web.studies.scores.measurements import Measurement
from fsbench_web.studies.series import lock_all, members_of, next_repeat, series_for

MAX_VALUES = 50_000
Cell = tuple[str, str, int | None, int | None]
"""Test, load, record size KB, file size KB."""


def _cell(value: Measurement | ParsedValue) -> Cell:
    return value.test, value.load, value.record_size_kb, value.file_size_kb


@dataclass(frozen=True)
class Change:
    """One cell of one run; ``old`` None: added, ``new`` None: removed."""

    run_id: int
    old: Measurement | None
    new: ParsedValue | None

    @property
    def measurement(self) -> Measurement | ParsedValue:
        """Whichever there is: both are of the same cell."""
        value = self.old or self.new
        assert value is not None
        return value


@dataclass
class Difference:
    """What reading again would change. ``moved`` are numbers that stand in another line only."""

    artefact: Artefact
    added: list[Change] = field(default_factory=list)
    removed: list[Change] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    moved: list[Change] = field(default_factory=list)
    new_runs: int = 0
    """Runs that the file holds by today's reading and that were not stored."""
    parsed: ParsedResult | None = None
    changes_workload: bool = False
    dated: dict[int, MeasuredDate] = field(default_factory=dict)
    """Runs with another date than is stored."""
    latencies: dict[int, list[Distribution]] = field(default_factory=dict)
    """Distributions as they would be kept, by run; of those alone whose are others."""
    over_time: dict[int, list[LatencySeries]] = field(default_factory=dict)
    """The same of latencies over time."""
    warnings: list[WarningRow] | None = None
    """Those of its import as they would be; None where they stay."""

    @property
    def is_empty(self) -> bool:
        numbers = (self.added, self.removed, self.changed, self.moved)
        parts = (*numbers, self.dated, self.latencies, self.over_time)
        return not (any(parts) or self.changes_workload or self.warnings is not None)

    @property
    def digest(self) -> str:
        """What was shown is what is applied: the same digest, or nothing happens."""
        rows = [
            [
                change.run_id,
                *((*_cell(old), old.value, old.unit, old.line) if (old := change.old) else ()),
                *(
                    (new.test, new.load, new.value, new.unit, new.line)
                    if (new := change.new)
                    else ()
                ),
            ]
            for change in (*self.added, *self.removed, *self.changed, *self.moved)
        ]
        dates = [[run, str(date.at), date.source] for run, date in sorted(self.dated.items())]
        parts = [rows, self.changes_workload, *dates]
        if self.warnings is not None:
            parts.append(self.warnings)
        if self.latencies:
            encoded = [
                latency_blocks.encode(distributions).hex()
                for _, distributions in sorted(self.latencies.items())
            ]
            parts.append([sorted(self.latencies), encoded])
        if self.over_time:
            logged = sorted(self.over_time.items())
            blocks = [(run, latency_blocks.encode_over_time(series)) for run, series in logged]
            parts.append([[run, block.hex()] for run, block in blocks])
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def is_large(artefact: Artefact) -> bool:
    """Whether the numbers are too many for ``difference``, and reread_large compares the runs."""
    blocks = MeasurementBlock.objects.filter(artefact=artefact)
    return (blocks.aggregate(numbers=Sum("count"))["numbers"] or 0) > MAX_VALUES


def read_again(name: str, data: bytes, mapping: dict[str, Any] | None) -> ParsedResult:
    """What an upload holds by today's parsers. Raises ImportRefused."""
    try:
        parsed = reading.call(_parsed_or_problems, name, data, mapping)
    except reading.ReadingStopped as error:
        raise ImportRefused([ImportProblem(str(error), name)]) from None
    if isinstance(parsed, list):
        raise _refused(name, parsed)
    return parsed


def _parsed_or_problems(
    name: str, data: bytes, mapping: dict[str, Any] | None
) -> ParsedResult | list[Problem]:
    try:
        if mapping is not None:
            return parse_mapped(data, Mapping.from_json(mapping))
        return parse(name, data)
    except UnreadableFile as error:
        return error.problems


def _refused(name: str, problems: Iterable[Problem]) -> ImportRefused:
    return ImportRefused([ImportProblem.of(problem, name) for problem in problems])


def difference(artefact: Artefact) -> Difference:
    """Compare what is stored with what today's parsers read. Raises ImportRefused."""
    if artefact.run.is_extra:
        message = (
            f"Run {artefact.run_id} is an extra one with tracing, and its numbers never count: "
            "there is nothing to be read again."
        )
        raise ImportRefused([ImportProblem(message, artefact.name)])
    if is_large(artefact):
        message = (
            f"The file holds more than {MAX_VALUES:,} values, too many to be replaced one by one. "
            "Import it again into another study, and compare the two."
        )
        raise ImportRefused([ImportProblem(message, artefact.name)])
    imported = ImportedFile.objects.select_related("import_of").filter(artefact=artefact).first()
    data = ingest.artefact_bytes(artefact)
    mapping = imported.mapping if imported is not None else None
    if mapping is None and artefact.run.origin == Run.Origin.MEASURED:
        try:
            parsed = _as_its_workload_reads(artefact, as_utf8(data))
        except UnreadableFile as error:
            raise _refused(artefact.name, error.problems) from None
    else:
        parsed = read_again(artefact.name, data, mapping)
    if imported is not None:
        if not names_kernels(stored_key(key) for key, _ in imported.runs):
            parsed = parsed.without_kernels()
        kilobytes.explain(parsed, imported.import_of.target.get("kilobyte", ""))
    comparison = Difference(artefact, parsed=parsed)
    if imported is not None:
        comparison.warnings = renewed_warnings(imported.import_of.report, imported.path, parsed)
    stored: dict[int, dict[Cell, Measurement]] = defaultdict(dict)
    for row in measurements.rows(MeasurementBlock.objects.filter(artefact=artefact)):
        stored[row.run_id][_cell(row)] = row
    read = _by_run(parsed, imported, artefact, stored, comparison)
    for run_id in sorted({*stored, *read}):
        _compare(run_id, stored.get(run_id, {}), read.get(run_id, {}), comparison)
    comparison.changes_workload = _changes_workload(artefact.run, parsed)
    return comparison


def _as_its_workload_reads(artefact: Artefact, data: bytes) -> ParsedResult:
    """What a run's own workload makes of an output. Raises UnreadableFile.

    It alone knows at which load a tool was run, and may need several outputs for one number.
    """
    row = artefact.run.series.workload
    if row is None:
        return parse(artefact.name, data)
    try:
        workload = measured_workload(row.tool, row.parameters)
        names = {command.output for command in workload.commands(Place(MOUNT_POINT))}
        if artefact.name not in names:
            return parse(artefact.name, data)
        outputs = artefact.run.artefacts.filter(name__in=names)
        read = workload.parse(
            {output.name: as_utf8(ingest.artefact_bytes(output)) for output in outputs}
        )
    except (ParameterError, KeyError) as error:
        message = f"The run's workload cannot read its outputs any more: {error}"
        raise UnreadableFile([Problem(None, None, message)]) from None
    if artefact.name not in read:
        message = "No number is of this output alone."
        raise UnreadableFile([Problem(None, None, message)])
    return read[artefact.name]


def _by_run(
    parsed: ParsedResult,
    imported: ImportedFile | None,
    artefact: Artefact,
    stored: dict[int, dict[Cell, Measurement]],
    comparison: Difference,
) -> dict[int, dict[Cell, ParsedValue]]:
    """What was read now, by the run that it was stored with."""
    runs: dict[OwnKey, int] = {stored_key(key): pk for key, pk in imported.runs} if imported else {}
    if not runs:
        if len(stored) > 1:
            message = (
                "The file holds the numbers of several runs, and was imported before fsbench kept "
                "which are whose. Import it again into another study."
            )
            raise ImportRefused([ImportProblem(message, artefact.name)])
        runs = {own_key(value): artefact.run_id for value in parsed.values}
    read: dict[int, dict[Cell, ParsedValue]] = defaultdict(dict)
    unknown = set()
    for value in parsed.values:
        run_id = runs.get(own_key(value))
        if run_id is None:
            unknown.add(own_key(value))
            continue
        read[run_id][_cell(value)] = value
    comparison.new_runs = len(unknown)
    _compare_dates(parsed, runs, comparison)
    comparison.latencies = kept_latencies.distributions(artefact, parsed, runs)
    run_ids = {*runs.values()} or {artefact.run_id}  # an output may hold a log, and no number
    comparison.over_time = kept_latencies.over_time(artefact, parsed, run_ids)
    return read


def _compare_dates(parsed: ParsedResult, runs: dict[OwnKey, int], comparison: Difference) -> None:
    keys: dict[int, list[OwnKey]] = defaultdict(list)
    for key, run_id in runs.items():
        keys[run_id].append(key)
    # A run that came as several files has the date of one of them.
    others = MeasurementBlock.objects.filter(run__in=keys).exclude(artefact=comparison.artefact)
    imported = Run.objects.filter(pk__in=keys, origin=Run.Origin.IMPORTED)
    imported = imported.exclude(pk__in=others.values("run"))
    for run_id, *stored in imported.values_list("pk", "measured_at", "measured_source"):
        date = measured_date(parsed, keys[run_id])
        if [date.at, date.source] != stored:
            comparison.dated[run_id] = date


def _compare(
    run_id: int,
    old: dict[Cell, Measurement],
    new: dict[Cell, ParsedValue],
    comparison: Difference,
) -> None:
    for cell, row in old.items():
        value = new.get(cell)
        change = Change(run_id, row, value)
        if value is None:
            comparison.removed.append(change)
        elif (row.value, row.unit) != (value.value, value.unit):
            comparison.changed.append(change)
        elif row.line != value.line or (row.samples or []) != list(value.samples):
            comparison.moved.append(change)
    comparison.added += [
        Change(run_id, None, value) for cell, value in new.items() if cell not in old
    ]


def _changes_workload(run: Run, parsed: ParsedResult) -> bool:
    if run.origin != Run.Origin.IMPORTED or parsed.tool == "table":
        return False
    with transaction.atomic():
        workload = workload_of(parsed)
        changes = workload is not None and workload.pk != run.series.workload_id
        transaction.set_rollback(True)
    return changes


@transaction.atomic
def apply(artefact_id: int, digest: str, user: User) -> Difference:
    """Store what reading again gives, and make the scores anew: all of it or nothing.

    Raises Artefact.DoesNotExist, and ImportRefused when something changed since it was shown.
    """
    artefact = Artefact.objects.select_related("run__series").get(pk=artefact_id)
    run_ids = {artefact.run_id, *measurements.runs_of(artefact.pk)}
    runs = {run.pk: run for run in Run.objects.filter(pk__in=run_ids).select_related("series")}
    touched = {run.series_id: run.series for run in runs.values()}
    for study in {series.study_id: series.study for series in touched.values()}.values():
        rights.require(user, rights.Action.IMPORT, study)
    lock_all(touched.values())
    # Another file of the import may be read again at the same time.
    imports = list(
        Import.objects.select_for_update(of=("self",))
        .filter(imported_files__artefact=artefact_id)
        .order_by("pk")
    )
    comparison = difference(artefact)
    if comparison.digest != digest:
        message = "What is stored has changed since this was shown: look at it again."
        raise ImportRefused([ImportProblem(message)])
    _write(comparison)
    for row in imports if comparison.warnings is not None else ():
        row.report["warnings"] = comparison.warnings
        row.save(update_fields=["report"])
    for run_id in run_ids:
        _note(runs[run_id], comparison, user)
    existing_runs.forget(list(run_ids))
    if comparison.changes_workload:
        touched |= _move(runs.values(), comparison)
    for series in touched.values():
        try:
            ingest.rescore(series)
        except ingest.MixedMeasurements as error:
            raise ImportRefused([ImportProblem(f"{series.configuration.label}: {error}")]) from None
    audit.note(
        user, "read again", f"artefact {artefact_id}", runs=sorted(run_ids)[:100], of=len(run_ids)
    )
    return comparison


def _write(comparison: Difference) -> None:
    """Numbers that stay keep their place, and what is known of them; new ones come last."""
    for run_id, date in comparison.dated.items():
        Run.objects.filter(pk=run_id).update(measured_at=date.at, measured_source=date.source)
    latencies.replace_of_output(comparison.artefact, comparison.latencies)
    latencies.replace_series_of_output(comparison.artefact, comparison.over_time)
    new = {
        (change.run_id, _cell(change.measurement)): change.new
        for change in (*comparison.removed, *comparison.changed, *comparison.moved)
    }
    touched = {run_id for run_id, _ in new}
    blocks = MeasurementBlock.objects.filter(artefact=comparison.artefact, run__in=touched)
    for block in measurements.listed(blocks):
        rows = []
        for row in block.read().rows():
            value = new.get((row.run_id, _cell(row)), row)
            if isinstance(value, ParsedValue):
                row = row._replace(
                    value=value.value,
                    unit=value.unit,
                    line=value.line,
                    samples=list(value.samples) or None,
                )
            if value is not None:
                rows.append(row)
        measurements.rewrite(block, rows)
    added: dict[int, list[ParsedValue]] = defaultdict(list)
    for change in comparison.added:
        assert change.new is not None
        added[change.run_id].append(change.new)
    for run_id, values in added.items():
        ingest.store_values(Run.objects.get(pk=run_id), comparison.artefact, values)


def _note(run: Run, comparison: Difference, user: User) -> None:
    """The run's history says who read it again, and what that changed."""
    counts = {
        word: sum(1 for change in changes if change.run_id == run.pk)
        for word, changes in (
            ("added", comparison.added),
            ("removed", comparison.removed),
            ("changed", comparison.changed),
        )
    }
    text = ", ".join(f"{count} {word}" for word, count in counts.items())
    if run.pk in comparison.dated:
        text += ", its date is another"
    if run.pk in comparison.latencies:
        text += ", its latencies are kept as distributions anew"
    if run.pk in comparison.over_time:
        text += ", and over time"
    if comparison.warnings is not None:
        text += ", the warnings of its import are renewed"
    reason = f"{comparison.artefact.name} was read again by {user.get_username()}: {text}."
    StateChange.objects.create(run=run, at=timezone.now(), state=run.state, reason=reason)


def _move(runs: Iterable[Run], comparison: Difference) -> dict[int, Series]:
    """Put runs into the series of the workload that their output says today."""
    assert comparison.parsed is not None
    workload = workload_of(comparison.parsed)
    moved = {}
    for run in runs:
        old = run.series
        new = series_for(
            old.study,
            old.configuration,
            workload=workload,
            hardware=old.hardware,
            lun=old.lun,
            journal_lun=old.journal_lun,
            members=members_of(old),
            kernel=old.kernel,
            distribution=old.distribution,
            preparation=old.preparation,
        )
        if new.pk == old.pk:
            continue
        run.repeat = next_repeat(new)
        run.series = new
        run.save(update_fields=["series", "repeat"])
        moved[new.pk] = new
    return moved
