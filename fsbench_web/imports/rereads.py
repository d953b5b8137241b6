"""Reading stored output again with today's parsers: what would change, and changing it."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from fsbench_web.accounts import audit, rights
from fsbench_web.core import latency_blocks
from fsbench_web.core.comparison.imported import content_of
from fsbench_web.core.formats import ParsedResult, ParsedValue, Problem, UnreadableFile, parse
from fsbench_web.core.formats.result import OwnKey, names_kernels, stored_key
from fsbench_web.core.formats.tables.file_numbers import (
    FileNumbers,
    joined_outputs,
    numbers_of,
    run_values,
)
from fsbench_web.core.formats.text import as_utf8
from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import (
    Column,
    MeasuredTest,
    MeasurementColumns,
    UnreadableBlock,
    cells_of,
    encode,
    joined_columns,
    no_columns,
)
from fsbench_web.core.scoring import testnames
from fsbench_web.core.workloads import MOUNT_POINT, ParameterError, Place
from fsbench_web.core.workloads import workload_of as measured_workload
from fsbench_web.imports.checks import unread_columns
from fsbench_web.imports.guesses import MeasuredDate, measured_date
from fsbench_web.imports.models import Import, ImportedFile
from fsbench_web.imports.plan import read_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, WarningRow, merged_warnings
from fsbench_web.imports.sources import FileDescription, SourceFile
from fsbench_web.imports.storing import numbering
from fsbench_web.imports.targets import workload_of
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import Artefact, MeasurementBlock, Run, Series, StateChange
from fsbench_web.studies.scores import ingest, measurements, renamed
from fsbench_web.studies.scores.measurements import NewBlock, Numbers
from fsbench_web.studies.series import lock_all, next_repeat, series_like

MOST_LISTED = 1000
"""Changes of each kind that are listed one by one; all are counted."""
_Kept = TypeVar("_Kept")
ADDED, REMOVED, CHANGED, MOVED = "added", "removed", "changed", "moved"


@dataclass(frozen=True)
class Change:
    """One cell of one run; ``old`` None: added, ``new`` None: removed."""

    run_id: int
    old: ParsedValue | None
    new: ParsedValue | None

    @property
    def measurement(self) -> ParsedValue:
        value = self.old or self.new
        assert value is not None
        return value


class ReadRun(NamedTuple):
    """The numbers of a run as they are read today, with the samples of some."""

    columns: MeasurementColumns
    samples: Mapping[int, Any]

    def digest(self) -> str:
        """Of all that is stored of them."""
        samples = json.dumps(sorted(self.samples.items()))
        return hashlib.sha256(encode(self.columns) + samples.encode()).hexdigest()


@dataclass
class Difference:
    """What reading again would change, run by run by digests.

    ``runs`` have other numbers, or None. ``changes`` lists the first of each kind, ``counts`` all
    by run; ``moved`` numbers only stand in another line.
    """

    artefact: Artefact
    parsed: ParsedResult
    count: int = 0
    """Numbers that the file holds today."""
    tests: Sequence[MeasuredTest] = ()
    runs: dict[int, ReadRun | None] = field(default_factory=dict)
    stored: dict[int, str] = field(default_factory=dict)
    """The digests of these runs as they are stored."""
    changes: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    renamed: set[tuple[str, str]] = field(default_factory=set)
    """Tests with their loads that have another name today: (old, new)."""
    new_runs: int = 0
    """Runs that the file holds by today's reading and that were not stored."""
    changes_workload: bool = False
    dated: dict[int, MeasuredDate] = field(default_factory=dict)
    """Runs with another date than is stored."""
    latencies: dict[int, list[Distribution]] = field(default_factory=dict)
    """Distributions that would be stored, by run; only runs with changed distributions."""
    over_time: dict[int, list[LatencySeries]] = field(default_factory=dict)
    """The same of latencies over time."""
    warnings: list[WarningRow] | None = None
    """Those of its import as they would be; None where they stay."""

    def total(self, kind: str) -> int:
        return self.counts[kind].total()

    @property
    def is_empty(self) -> bool:
        parts = (self.runs, self.dated, self.latencies, self.over_time)
        return not (any(parts) or self.changes_workload or self.warnings is not None)

    @property
    def digest(self) -> str:
        """What was shown is what is applied: the same digest, or nothing happens."""
        runs = [
            [run, self.stored.get(run, ""), numbers.digest() if numbers else ""]
            for run, numbers in sorted(self.runs.items())
        ]
        dates = [[run, str(date.at), date.source] for run, date in sorted(self.dated.items())]
        measured = [
            [run, latency_blocks.encode(distributions).hex()]
            for run, distributions in sorted(self.latencies.items())
        ]
        logged = [
            [run, latency_blocks.encode_over_time(series).hex()]
            for run, series in sorted(self.over_time.items())
        ]
        parts = [runs, self.changes_workload, dates, self.warnings, measured, logged]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def difference(artefact: Artefact) -> Difference:
    """Compare what is stored with what today's parsers read. Raises ImportRefused."""
    if artefact.run.is_extra:
        message = (
            f"Run {artefact.run_id} is an extra one with tracing, and its numbers never count: "
            "there is nothing to be read again."
        )
        raise ImportRefused([ImportProblem(message, artefact.name)])
    imported = ImportedFile.objects.select_related("import_of").filter(artefact=artefact).first()
    parsed, numbers = _read_again(artefact, imported)
    comparison = Difference(artefact, parsed, len(numbers), numbers.columns.tests)
    if imported is not None:
        comparison.warnings = renewed_warnings(imported.import_of.report, imported.path, parsed)
    stored: dict[int, list[Numbers]] = defaultdict(list)
    blocks = MeasurementBlock.objects.filter(artefact=artefact)
    for block in measurements.read(blocks, samples=True):
        stored[block.run_id].append(block)
    runs = _run_ids(artefact, imported, numbers, stored)
    comparison.new_runs = len({*numbers.keys} - {*runs})
    read = {run_id: ReadRun(*found) for run_id, found in numbers.by_run(runs).items()}
    for run_id in sorted({*stored, *read}):
        parts = [(block.columns, block.samples) for block in stored.get(run_id, ())]
        old = ReadRun(*joined_outputs(parts)) if parts else None
        _compare(run_id, old, read.get(run_id), comparison)
    _compare_dates(parsed, runs, comparison)
    comparison.latencies = _changed_distributions(artefact, parsed, runs)
    run_ids = {*runs.values()} or {artefact.run_id}  # an output may hold a log, and no number
    comparison.over_time = _changed_over_time(artefact, parsed, run_ids)
    comparison.changes_workload = _changes_workload(artefact.run, parsed, numbers)
    return comparison


def _read_again(
    artefact: Artefact, imported: ImportedFile | None
) -> tuple[ParsedResult, FileNumbers]:
    """What a file holds by today's parsers. Raises ImportRefused."""
    mapping = imported.mapping if imported is not None else None
    if mapping is None and artefact.run.origin == Run.Origin.MEASURED:
        try:
            parsed = _as_its_workload_reads(artefact, as_utf8(ingest.artefact_bytes(artefact)))
        except UnreadableFile as error:
            problems = [ImportProblem.of(problem, artefact.name) for problem in error.problems]
            raise ImportRefused(problems) from None
        return parsed, numbers_of(parsed)
    content = bytes(artefact.content_gzip)
    beside = imported.beside if imported is not None else {}
    source = SourceFile(artefact.name, content, artefact.size_bytes, mapping=mapping, beside=beside)
    kilobyte = imported.import_of.target.get("kilobyte", "") if imported is not None else ""
    (planned,), problems = read_files([source], kilobyte)
    if planned.parsed is None or planned.numbers is None:
        raise ImportRefused([*problems, *planned.problems])
    parsed, numbers = planned.parsed, planned.numbers
    if imported is None or names_kernels(stored_key(key) for key, _ in imported.runs):
        return parsed, numbers
    if any(key[5] for key in numbers.keys):
        return parsed.without_kernels(), numbers.without_kernels()
    return parsed, numbers


def _run_ids(
    artefact: Artefact,
    imported: ImportedFile | None,
    numbers: FileNumbers,
    stored: Collection[int],
) -> dict[OwnKey, int]:
    """The run that each part of the file was stored with. Raises ImportRefused."""
    if imported is not None and imported.runs:
        return {stored_key(key): pk for key, pk in imported.runs}
    if len(stored) > 1:
        message = (
            "The file holds the numbers of several runs. It was imported before fsbench kept "
            "which run each number belongs to. Import it again into another study."
        )
        raise ImportRefused([ImportProblem(message, artefact.name)])
    # A run that was measured here has its output to itself.
    return dict.fromkeys(numbers.keys, artefact.run_id)


def _compare(run_id: int, old: ReadRun | None, new: ReadRun | None, comparison: Difference) -> None:
    old_digest = old.digest() if old else ""
    if old and new and old_digest == new.digest():
        return
    nothing = ReadRun(no_columns(), {})
    before, after = old or nothing, new or nothing
    both = joined_columns([before.columns, after.columns])
    cells, size = cells_of(both), len(before.columns)
    _, at_old, at_new = np.intersect1d(cells[:size], cells[size:], return_indices=True)
    units = np.array([test.unit for test in both.tests])[both.codes]
    is_changed = before.columns.values[at_old] != after.columns.values[at_new]
    is_changed |= units[at_old] != units[size + at_new]
    is_moved = before.columns.lines[at_old] != after.columns.lines[at_new]
    if before.samples or after.samples:
        pairs = zip(at_old.tolist(), at_new.tolist(), strict=True)
        is_moved |= [before.samples.get(first) != after.samples.get(last) for first, last in pairs]
    is_moved &= ~is_changed
    places = {
        ADDED: (None, np.setdiff1d(np.arange(len(after.columns)), at_new)),
        REMOVED: (np.setdiff1d(np.arange(size), at_old), None),
        CHANGED: (at_old[is_changed], at_new[is_changed]),
        MOVED: (at_old[is_moved], at_new[is_moved]),
    }
    for kind, (of_old, of_new) in places.items():
        count = len(of_new if of_old is None else of_old)
        comparison.counts[kind][run_id] += count
        room = MOST_LISTED - len(comparison.changes[kind])
        olds = _values(before, of_old, room) or [None] * min(count, room)
        news = _values(after, of_new, room) or [None] * min(count, room)
        changes = zip(olds, news, strict=True)
        comparison.changes[kind] += [Change(run_id, *values) for values in changes]
    comparison.renamed |= _renamed(
        before.columns.subset(places[REMOVED][0]), after.columns.subset(places[ADDED][1])
    )
    if any(comparison.counts[kind][run_id] for kind in places):
        comparison.runs[run_id], comparison.stored[run_id] = new, old_digest


def _renamed(removed: MeasurementColumns, added: MeasurementColumns) -> set[tuple[str, str]]:
    """Tests (old, new) with the same first number in the same line."""
    before, today = _by_first_number(removed), _by_first_number(added)
    return {
        pair
        for first, names in before.items()
        # Several numbers of a line may be equal: both readings have them in one order.
        if len(names) == len(today.get(first, ()))
        for pair in zip(names, today[first], strict=True)
    }


def _by_first_number(columns: MeasurementColumns) -> dict[tuple[int, str], list[str]]:
    """The names of tests with their loads by line and digits of their first number."""
    names: dict[tuple[int, str], list[str]] = defaultdict(list)
    for code, place in zip(*np.unique(columns.codes, return_index=True), strict=True):
        test = columns.tests[code]
        # The unit may be another too: µs became ns.
        digits = f"{columns.values[place]:.11e}".partition("e")[0]
        names[int(columns.lines[place]), digits].append(testnames.at_load(test.test, test.load))
    return names


def _values(run: ReadRun, places: Column | None, most: int) -> list[ParsedValue | None]:
    return [] if places is None else [*run_values(run.columns.subset(places[:most]))]


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


def _changes_workload(run: Run, parsed: ParsedResult, numbers: FileNumbers) -> bool:
    if run.origin != Run.Origin.IMPORTED or parsed.tool == "table":
        return False
    with transaction.atomic():
        workload = workload_of(parsed, numbers.columns.tests)
        changes = workload is not None and workload.pk != run.series.workload_id
        transaction.set_rollback(True)
    return changes


def _changed_distributions(
    artefact: Artefact, parsed: ParsedResult, runs: Mapping[OwnKey, int]
) -> dict[int, list[Distribution]]:
    """Distributions that would be stored, by run; only runs with changed distributions."""
    by_repeat = {key[3]: run_id for key, run_id in runs.items()}
    read: dict[int, list[Distribution]] = defaultdict(list)
    for distribution in parsed.distributions:
        if (run_id := by_repeat.get(distribution.repeat)) is not None:
            read[run_id].append(replace(distribution, repeat=None))
    try:
        return _changed(read, latencies.of_output(artefact))
    except UnreadableBlock:
        return _changed(read, {})


def _changed_over_time(
    artefact: Artefact, parsed: ParsedResult, runs: Collection[int]
) -> dict[int, list[LatencySeries]]:
    """The same of latencies over time, which a file of several ``runs`` says of none of them."""
    series = parsed.over_time if len(runs) == 1 else []
    try:
        stored = latencies.series_of_output(artefact)
    except UnreadableBlock:
        return {run_id: list(series) for run_id in runs}
    return _changed({run_id: list(series) for run_id in runs if series}, stored)


def _changed(
    read: Mapping[int, list[_Kept]], stored: Mapping[int, list[_Kept]]
) -> dict[int, list[_Kept]]:
    return {
        run_id: read.get(run_id, [])
        for run_id in {*read, *stored}
        if read.get(run_id, []) != stored.get(run_id, [])
    }


def renewed_warnings(
    report: Mapping[str, Any], path: str, parsed: ParsedResult
) -> list[WarningRow] | None:
    """All warnings of an import, those of the file at ``path`` renewed; None: unchanged.

    ``remarks`` on its runs stay. If they were not kept apart, nothing is taken away. If there were
    too many warnings, they stay.
    """
    stored: list[WarningRow] = report.get("warnings", [])
    if any(row["file"] is None for row in stored):
        return None
    file_rows = [row for row in stored if row["file"] == path]
    current_rows = [
        warning.as_warning() for warning in merged_warnings(_file_problems(file_rows, path, parsed))
    ]
    names = {row["message"] for row in current_rows}
    remarks = report.get("remarks")
    remaining = [
        row
        for row in file_rows
        if row["message"] not in names and (remarks is None or row in remarks)
    ]
    if _sorted([*current_rows, *remaining]) == _sorted(file_rows):
        return None
    place = next((number for number, row in enumerate(stored) if row["file"] == path), len(stored))
    others = [row for row in stored[place:] if row["file"] != path]
    return [*stored[:place], *current_rows, *remaining, *others]


def _file_problems(
    rows: Sequence[WarningRow], path: str, parsed: ParsedResult
) -> list[ImportProblem]:
    """What reading a file says today; columns that somebody left out are still left out."""
    messages = {row["message"] for row in rows}
    problems = []
    for column in parsed.unread_columns:
        for ignored in ((column[1],), None):
            source = SourceFile(path, b"", 0, description=FileDescription(ignored=ignored))
            (problem,), _ = unread_columns([column], source)
            if ignored is None or problem.message in messages:
                problems.append(problem)
                break
    return problems + [ImportProblem.of(warning, path) for warning in parsed.warnings]


def _sorted(rows: Sequence[WarningRow]) -> list[str]:
    # Imports of before there were codes have none.
    return sorted(
        repr([row["file"], row["line"], row["column"], row["message"], row["count"], row["lost"]])
        for row in rows
    )


@transaction.atomic
def apply(artefact_id: int, digest: str, user: User) -> Difference:
    """Store what reading again gives, and recompute the scores, all or nothing.

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
    renamed.note(comparison.renamed)
    for row in imports if comparison.warnings is not None else ():
        row.report["warnings"] = comparison.warnings
        row.save(update_fields=["report"])
    for run_id in run_ids:
        _note(runs[run_id], comparison, user)
    numbering.forget(list(run_ids))
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
    """Store the runs that changed as they are read today. Raises ImportRefused."""
    for run_id, date in comparison.dated.items():
        Run.objects.filter(pk=run_id).update(measured_at=date.at, measured_source=date.source)
    artefact = comparison.artefact
    latencies.replace_of_output(artefact, comparison.latencies, comparison.over_time)
    MeasurementBlock.objects.filter(artefact=artefact, run__in=comparison.runs).delete()
    read = {run_id: run for run_id, run in comparison.runs.items() if run is not None}
    blocks = [
        NewBlock(run_id, artefact.pk, run.columns, samples=run.samples)
        for run_id, run in read.items()
    ]
    measurements.store(blocks)
    for run_id in read:
        parts = [block.columns for block in measurements.read(measurements.of_run(run_id))]
        if content_of(parts).twice is not None:
            message = f"Another file of run {run_id} holds a number of the same cell."
            raise ImportRefused([ImportProblem(message, artefact.name)])


def _note(run: Run, comparison: Difference, user: User) -> None:
    """The run's history says who read it again, and what that changed."""
    kinds = (ADDED, REMOVED, CHANGED)
    text = ", ".join(f"{comparison.counts[kind][run.pk]} {kind}" for kind in kinds)
    if run.pk in comparison.dated:
        text += ", its date is another"
    if run.pk in comparison.latencies:
        text += ", its latency distributions are stored again"
    if run.pk in comparison.over_time:
        text += ", and over time"
    if comparison.warnings is not None:
        text += ", the warnings of its import are renewed"
    reason = f"{comparison.artefact.name} was read again by {user.get_username()}: {text}."
    StateChange.objects.create(run=run, at=timezone.now(), state=run.state, reason=reason)


def _move(runs: Iterable[Run], comparison: Difference) -> dict[int, Series]:
    """Put runs into the series of the workload that their output says today."""
    workload = workload_of(comparison.parsed, comparison.tests)
    moved = {}
    for run in runs:
        old = run.series
        new = series_like(old, workload=workload)
        if new.pk == old.pk:
            continue
        run.repeat = next_repeat(new)
        run.series = new
        run.save(update_fields=["series", "repeat"])
        moved[new.pk] = new
    return moved
