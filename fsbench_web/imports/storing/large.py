"""A table of up to millions of rows -> runs, in one pass and one transaction, in bounded memory."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables import long
from fsbench_web.core.formats.tables.long import Columns, LargeTable, Own
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.table import unkept
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.imports import existing_runs, work
from fsbench_web.imports.models import Import, ImportedFile, ImportState, RunContent
from fsbench_web.imports.plan import (
    Target,
    label_problems,
    target_problems,
    unit_problems,
    unread_column,
)
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun
from fsbench_web.imports.sources import SourceFile
from fsbench_web.imports.targets import (
    ALL_KNOWN,
    ONCE,
    ImportResult,
    hardware_for,
    store_source,
    study_for,
)
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import digests as content
from fsbench_web.studies.scores import ingest, judging, measurements, quality
from fsbench_web.studies.scores.judging import Part
from fsbench_web.studies.scores.measurements import Flags, NewBlock
from fsbench_web.studies.series import lock_all, next_repeat, series_for

LARGE_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 64 * 1024
_KEYS_KEPT = 2000
Say = Callable[[str, float], None]
"""Told what is being done, and the share of it that is done."""


def is_large(sources: Sequence[SourceFile]) -> bool:
    """Whether an upload is one table too large to be read as others are."""
    if len(sources) != 1 or sources[0].size_bytes < LARGE_BYTES or sources[0].problem:
        return False
    source = sources[0]
    with source.open() as stream:
        head = stream.read(_HEAD_BYTES)
    if source.mapping is not None:
        mapping: Mapping | None = Mapping.from_json(source.mapping)
        return mapping is not None and mapping.shape == "long" and not mapping.has_load
    try:
        mapping = long.mapping_of(head)
        return mapping is not None and not mapping.has_load
    except UnreadableFile:
        return True


def read(source: SourceFile, say: Say) -> LargeTable:
    """All numbers of the table. Raises ImportRefused with the first problems of its rows."""
    mapping = Mapping.from_json(source.mapping) if source.mapping is not None else None
    try:
        with source.open() as stream:
            return long.read(
                stream, source.size_bytes, mapping, lambda share: say("Reading", share)
            )
    except UnreadableFile as error:
        raise ImportRefused(
            [
                *(ImportProblem(p.message, source.path, p.line, p.column) for p in error.problems),
                *unit_problems(source.path, error.units),
            ]
        ) from error


@dataclass(frozen=True)
class Placed:
    """One run to be: what it is of, and its numbers."""

    own: Own
    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    columns: Columns


def place(table: LargeTable, source: SourceFile, target: Target) -> list[Placed]:
    """What each run of the table is of: its own columns first, then what was said of it."""
    said = source.given
    return [
        Placed(
            own,
            (own[0] or said.filesystem or target.filesystem).lower(),
            own[1] or said.configuration or target.configuration,
            own[2] or said.hardware or target.hardware,
            own[3] if own[3] is not None else said.repeat,
            columns,
        )
        for own, columns in table.runs.items()
    ]


def report(table: LargeTable, source: SourceFile) -> dict[str, Any]:
    """What the preview shows of a table, as JSON."""
    keys: Counter[tuple[str, str, str]] = Counter(own[:3] for own in table.runs)
    tests: dict[int, list[Any]] = {}
    for columns in table.runs.values():
        for test, record, file, value in zip(
            columns.tests, columns.records, columns.files, columns.values, strict=True
        ):
            row = tests.get(test)
            if row is None:
                tests[test] = [1, record, record, file, file, value, value]
                continue
            row[0] += 1
            if record < row[1]:
                row[1] = record
            elif record > row[2]:
                row[2] = record
            if file < row[3]:
                row[3] = file
            elif file > row[4]:
                row[4] = file
            if value < row[5]:
                row[5] = value
            elif value > row[6]:
                row[6] = value
    return {
        "values": len(table),
        "rows": table.rows,
        "runs": len(table.runs),
        "zeros": table.zeros,
        "unused": table.unused[:50],
        "keys": [[*key, count] for key, count in keys.most_common(_KEYS_KEPT)],
        "tests": [
            [*table.tests[test], *row]
            for test, row in sorted(
                tests.items(), key=lambda pair: testnames.place(table.tests[pair[0]][0])
            )
        ][:500],
        "problems": [vars(problem) for problem in unit_problems(source.path, table.units())],
    }


def warnings_of(table: LargeTable, source: SourceFile) -> list[ImportProblem]:
    """What whoever imports the table should know, as small tables say it (plan.Plan.warnings)."""
    found = [
        ImportProblem(unkept(word), source.path, table.header_line) for word in table.unused[:50]
    ]
    if table.zeros:
        zeros = f"{table.zeros:,} values are 0, and are kept as measured."
        found.append(ImportProblem(zeros, source.path))
    return found


def key_problems(kept: dict[str, Any], source: SourceFile, target: Target) -> list[ImportProblem]:
    """What is wrong with what the table, and somebody beside it, say it is of."""
    said = source.given
    problems = [*target_problems(target)]
    for filesystem, configuration, hardware, _ in kept.get("keys", []):
        problems += label_problems(
            (filesystem or said.filesystem or target.filesystem).lower(),
            configuration or said.configuration or target.configuration,
            hardware or said.hardware or target.hardware,
        )
    return list(dict.fromkeys(problems))[:100]


def import_large(
    source: SourceFile,
    target: Target,
    user: User | None,
    say: Say = lambda what, share: None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    ignored: Collection[str] | None = None,
) -> ImportResult:
    """Read and store a large table in one go. Raises ImportRefused, and nothing is stored then.

    ``only_new``, ``within_request`` and ``ignored`` are those of ``commit.import_uploads``.
    """
    known: list[KnownRun] | None = [] if only_new else None
    table = read(source, say)
    problems = [ImportProblem(**row) for row in report(table, source)["problems"]]
    problems += key_problems({"keys": [[*own[:3], 1] for own in table.runs]}, source, target)
    if ignored is not None:
        unread = [word for word in table.unused if word not in ignored]
        problems += [unread_column(word, source.path, table.header_line) for word in unread]
        table.unused = []
    if problems:
        raise ImportRefused(problems)
    warnings = warnings_of(table, source)
    if within_request and work.of_table(table).is_much:
        raise work.LeavesRequest([source], warnings)
    said = [one.as_row() for one in warnings]
    with transaction.atomic():
        row = Import(target=vars(target), created_by=user)
        row.save()
        runs = store(row, source, table, target, user, say, known)
        if known and not runs:
            transaction.set_rollback(True)
            return ImportResult(None, ALL_KNOWN, [], known=known, warnings=said)
        row.state = ImportState.DONE
        row.save()
    return ImportResult(row.pk, str(row.state), runs, known=known or [], warnings=said)


def store(
    row: Import,
    source: SourceFile,
    table: LargeTable,
    target: Target,
    user: User | None,
    say: Say,
    passed_over: list[KnownRun] | None = None,
) -> list[int]:
    """Store all runs of a table, with their scores. The caller holds the transaction, and saves

    ``row``. Returns the runs' numbers; ``passed_over`` takes what is there already, which is
    refused where it is None. Raises ImportRefused.
    """
    study, _ = study_for(target, user)
    serieses: dict[tuple[str, str, str], Series] = {}
    placed = place(table, source, target)
    for entry in placed:
        key = (entry.filesystem, entry.configuration, entry.hardware)
        if key not in serieses:
            serieses[key] = series_for(
                study,
                from_label(entry.configuration, entry.filesystem),
                hardware=hardware_for(entry.hardware, source.path),
            )
    by_series: dict[int, list[Placed]] = defaultdict(list)
    for entry in placed:
        key = (entry.filesystem, entry.configuration, entry.hardware)
        by_series[serieses[key].pk].append(entry)
    touched = {series.pk: series for series in serieses.values()}
    lock_all(touched.values())
    places: list[tuple[Series, int]] = []
    entries: list[Placed] = []
    digests: list[str] = []
    fresh: set[int] = set()
    problems: list[ImportProblem] = []
    for pk, found in by_series.items():
        series = touched[pk]
        if not series.runs.exists():
            fresh.add(pk)
        numbered = _numbered(table, found, series, source, say, problems, passed_over)
        for entry, repeat, digest in numbered:
            places.append((series, repeat))
            entries.append(entry)
            digests.append(digest)
    if problems:
        more = len(problems) - 100
        last = [ImportProblem(f"And {more} more problems.", source.path)] if more > 0 else []
        raise ImportRefused([*problems[:100], *last])
    if passed_over and not entries:
        return []
    reason = f"Imported from {source.path}."
    runs = lifecycle.record_many_finished(places, by=user, reason=reason)
    audit.note(user, "imported", f"study {study.slug}", runs=len(runs), file=source.path)
    artefact = store_source(runs[0], source)
    tests = [MeasuredTest(test, "", unit) for test, unit in table.tests]
    numbers = [columns_of(tests, entry.columns) for entry in entries]
    flags = _score({pk: touched[pk] for pk in fresh}, runs, numbers, say)
    total = len(table)
    measurements.store(
        (
            NewBlock(run.pk, artefact.pk, columns, flags.get(run.pk))
            for run, columns in zip(runs, numbers, strict=True)
        ),
        lambda stored: say("Storing", stored / total),
    )
    RunContent.objects.bulk_create(
        [RunContent(run=run, digest=digest) for run, digest in zip(runs, digests, strict=True)],
        batch_size=500,
    )
    ImportedFile.objects.create(
        import_of=row,
        artefact=artefact,
        path=source.path,
        mapping=source.mapping,
        runs=[[list(entry.own), run.pk] for entry, run in zip(entries, runs, strict=True)],
    )
    _rescore([series for pk, series in touched.items() if pk not in fresh])
    row.study = study
    row.files.all().delete()
    through = Import.runs.through
    through.objects.bulk_create(
        [through(import_id=row.pk, run_id=run.pk) for run in runs], batch_size=500
    )
    return [run.pk for run in runs]


def _numbered(
    table: LargeTable,
    found: list[Placed],
    series: Series,
    source: SourceFile,
    say: Say,
    problems: list[ImportProblem],
    passed_over: list[KnownRun] | None,
) -> Iterator[tuple[Placed, int, str]]:
    """The runs of one series with their repeat and digest; what cannot be goes to ``problems``,
    what is there already to ``passed_over`` where that is wanted.
    """
    taken = set(series.runs.values_list("repeat", flat=True))
    following = next_repeat(series)
    following = max([following, *(e.repeat + 1 for e in found if e.repeat is not None)])
    known: dict[str, Run | Placed] = {**existing_runs.known(series)}
    label = series.configuration.label
    for done, entry in enumerate(found):
        say("Checking", done / len(found))
        digest, problem = _content(table, entry, source)
        same = known.get(digest)
        if entry.repeat is not None and not (isinstance(same, Run) and same.repeat == entry.repeat):
            # Who numbers the repeats says that they are several, also where two are equal.
            same = None
        line = entry.columns.lines[0]
        if problem is None and isinstance(same, Run) and passed_over is not None:
            passed_over.append({"file": source.path, "run": same.pk})
            continue
        if problem is None and isinstance(same, Run):
            problem = ImportProblem(
                f"These numbers are already there, as run {same.pk} (repeat {same.repeat} of "
                f"{label} in {series.study.slug}). A repeat hardly ever gives the very same "
                f"numbers: {ONCE}",
                source.path,
                line,
                run_id=same.pk,
            )
        elif problem is None and isinstance(same, Placed):
            message = (
                f"The run that begins here holds the very same numbers as the one that begins in "
                f"line {same.columns.lines[0]}: {ONCE}"
            )
            problem = ImportProblem(message, source.path, line)
        elif problem is None and entry.repeat in taken:
            message = (
                f"Repeat {entry.repeat} of {label} is already there. Leave the repeat empty, and "
                "the runs are numbered on."
            )
            problem = ImportProblem(message, source.path, line)
        if problem is not None:
            problems.append(problem)
            continue
        known[digest] = entry
        repeat = entry.repeat
        if repeat is None:
            repeat, following = following, following + 1
        taken.add(repeat)
        yield entry, repeat, digest


def _prefixes(table: LargeTable) -> list[bytes]:
    return [content.test_prefix(test, "", unit) for test, unit in table.tests]


def _cells(prefixes: list[bytes], columns: Columns) -> list[bytes]:
    cells = [
        content.cell(prefixes[test], record, file, value)
        for test, record, file, value in zip(
            columns.tests, columns.records, columns.files, columns.values, strict=True
        )
    ]
    cells.sort()
    return cells


def digest(table: LargeTable, columns: Columns) -> str:
    """What makes the numbers of a run the same measurement (studies.scores.digests)."""
    return content.digest_of_sorted(_cells(_prefixes(table), columns))


def _content(
    table: LargeTable, entry: Placed, source: SourceFile
) -> tuple[str, ImportProblem | None]:
    """The digest of a run's numbers, and the cell that it holds twice."""
    columns = entry.columns
    prefixes = _prefixes(table)
    cells = _cells(prefixes, columns)
    twice = content.first_repeated(cells)
    digest = content.digest_of_sorted(cells)
    if twice is None:
        return digest, None
    lines = [
        line
        for test, record, file, value, line in zip(
            columns.tests,
            columns.records,
            columns.files,
            columns.values,
            columns.lines,
            strict=True,
        )
        if content.cell(prefixes[test], record, file, value).startswith(twice)
    ]
    message = (
        f"The same cell was already given in line {lines[0]}. Repeats of a cell need a column "
        "repeat, or a file each."
    )
    return digest, ImportProblem(message, source.path, lines[1])


def columns_of(tests: Sequence[MeasuredTest], columns: Columns) -> MeasurementColumns:
    """The numbers of one run, without a copy."""
    return MeasurementColumns(
        tests,
        np.frombuffer(columns.tests, dtype=np.uint16),
        np.frombuffer(columns.records, dtype=np.int32),
        np.frombuffer(columns.files, dtype=np.int64),
        np.frombuffer(columns.values, dtype=np.float64),
        np.frombuffer(columns.lines, dtype=np.uint32),
    )


def _score(
    fresh: dict[int, Series],
    runs: list[Run],
    entries: list[MeasurementColumns],
    say: Say,
) -> dict[int, Flags]:
    """Scores of the series that were empty before; returns the flags of their numbers by run.

    Of a series that had runs before, flags are found among all of them afterwards.
    """
    of_series: dict[int, list[Part]] = defaultdict(list)
    for run, columns in zip(runs, entries, strict=True):
        if run.series_id in fresh:
            part = Part(run.pk, columns, np.zeros(len(columns), dtype=np.uint8))
            of_series[run.series_id].append(part)
    for done, (pk, parts) in enumerate(of_series.items()):
        say("Scoring", done / len(of_series))
        basis = quality.basis_of(fresh[pk])
        try:
            ingest.replace_scores(fresh[pk], basis, judging.judge_new(parts, basis))
        except ingest.MixedMeasurements as error:
            raise _mixed(fresh[pk], error) from None
    return {
        part.run_id: quality.flags_of(part.bits) for parts in of_series.values() for part in parts
    }


def _rescore(serieses: list[Series]) -> None:
    for series in serieses:
        try:
            ingest.rescore(series)
        except ingest.MixedMeasurements as error:
            raise _mixed(series, error) from None


def _mixed(series: Series, error: ingest.MixedMeasurements) -> ImportRefused:
    return ImportRefused(
        [
            ImportProblem(
                f"{series.configuration.label}: {error} Runs of one configuration in one "
                "study are repeats of each other; import these into a study of their own."
            )
        ]
    )
