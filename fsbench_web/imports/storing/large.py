"""A table of up to millions of rows -> runs, in one pass and one transaction, in bounded memory."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables import long
from fsbench_web.core.formats.tables.long import LargeTable
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.imports import guesses, kilobytes
from fsbench_web.imports.checks import (
    label_problems,
    target_problems,
    unit_problems,
    unread_columns,
)
from fsbench_web.imports.models import Import, ImportState
from fsbench_web.imports.plan import ImportWork, TooLargeForRequest
from fsbench_web.imports.problems import (
    ImportProblem,
    ImportRefused,
    KnownRun,
    losses,
    merged_warnings,
)
from fsbench_web.imports.sources import SourceFile, Target
from fsbench_web.imports.storing.numbering import OnProgress, PlacedRun, given_twice
from fsbench_web.imports.storing.runs import keys_of, store_runs
from fsbench_web.imports.targets import ALL_KNOWN, ImportResult, study_for
from fsbench_web.studies.scores import digests

LARGE_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 64 * 1024
_KEYS_KEPT = 2000
_MOST_PROBLEMS = 100


def is_large(sources: Sequence[SourceFile]) -> bool:
    """Whether an upload is one table too large to be read as others are."""
    if len(sources) != 1 or sources[0].size_bytes < LARGE_BYTES or sources[0].problem:
        return False
    source = sources[0]
    with source.open() as stream:
        head = stream.read(_HEAD_BYTES)
    if source.mapping is not None:
        return not Mapping.from_json(source.mapping).needs_whole_table
    try:
        return long.mapping_of(head) is not None
    except UnreadableFile:
        return True


def read(source: SourceFile, on_progress: OnProgress, *, has_kernels: bool = True) -> LargeTable:
    """All numbers of the table. Raises ImportRefused with the first problems of its rows.

    Not ``has_kernels``: what a column says of them is not read.
    """
    mapping = Mapping.from_json(source.mapping) if source.mapping is not None else None
    try:
        with source.open() as stream:
            if mapping is None:
                mapping = long.mapping_of(
                    stream.read(_HEAD_BYTES), source.description.ignored or ()
                )
                stream.seek(0)
            if mapping is not None and not has_kernels:
                mapping = mapping.without("kernel")
            return long.read(
                stream, source.size_bytes, mapping, lambda share: on_progress("Reading", share)
            )
    except UnreadableFile as error:
        raise ImportRefused(
            [
                *(ImportProblem.of(found, source.path) for found in error.problems),
                *unit_problems(source.path, error.units),
            ]
        ) from error


def _configuration(filesystem: str, configuration: str, source: SourceFile, target: Target) -> str:
    """As ``imports.plan`` says it of small tables, of what the rows say."""
    fallback = source.description.configuration or target.configuration
    label = guesses.written_label(configuration) or fallback
    return label or guesses.written_label(filesystem)


def place(table: LargeTable, source: SourceFile, target: Target) -> list[PlacedRun]:
    """What each run of the table is of: its own columns first, then what was said of it."""
    description = source.description
    return [
        PlacedRun(
            source=source,
            filesystem=(key[0] or description.filesystem or target.filesystem).lower(),
            configuration=_configuration(key[0], key[1], source, target),
            hardware=key[2] or description.hardware or target.hardware,
            repeat=key[3] if key[3] is not None else description.repeat,
            columns=kilobytes.renamed(columns, target.kilobyte),
            keys=[key],
            block=key[4],
            kernel=key[5] or description.kernel or target.kernel,
            reason=f"Imported from {source.path}.",
            begins=int(columns.lines[0]),
        )
        for key, columns in table.runs.items()
    ]


def report(table: LargeTable, source: SourceFile) -> dict[str, Any]:
    """What the preview shows of a table, as JSON."""
    keys = Counter((*key[:3], key[5]) for key in table.runs)
    return {
        "values": len(table),
        "rows": table.rows,
        "runs": len(table.runs),
        "zeros": table.zeros,
        "first_zero": table.first_zero,
        "not_measured": [[word, *seen] for word, seen in table.not_measured.items()],
        "unused": table.unused,
        "header_line": table.header_line,
        "keys": [[*key[:3], count, key[3]] for key, count in keys.most_common(_KEYS_KEPT)],
        "tests": _tests(table.numbers)[:500],
        "problems": [vars(problem) for problem in unit_problems(source.path, table.units())],
    }


def counted_key(stored: Sequence[Any]) -> tuple[str, str, str, str, int]:
    """Of a ``report``: file system, configuration, hardware, kernel, and how many runs are of them.

    It has the kernel last, for programs that read the count; one of before tables said it has none.
    """
    filesystem, configuration, hardware, count, *kernel = stored
    return filesystem, configuration, hardware, kernel[0] if kernel else "", count


def cells_given_twice(
    table: LargeTable, source: SourceFile, on_progress: OnProgress
) -> list[ImportProblem]:
    """The first cell of each run that has two numbers, which storing refuses; at most
    _MOST_PROBLEMS.
    """
    problems: list[ImportProblem] = []
    for done, columns in enumerate(table.runs.values()):
        on_progress("Reading", done / len(table.runs))
        problem = given_twice(source.path, columns, digests.content_of([columns]))
        if problem is not None:
            problems.append(problem)
        if len(problems) == _MOST_PROBLEMS:
            break
    return problems


def _tests(numbers: MeasurementColumns) -> list[list[Any]]:
    """[test, unit, numbers, smallest and largest record size, file size and value] of each."""
    order = np.argsort(numbers.codes, kind="stable")
    codes = numbers.codes[order]
    starts = np.flatnonzero(np.diff(codes.astype(np.int64), prepend=-1))
    columns = [np.diff(starts, append=len(codes))]
    for column in (numbers.records, numbers.files, numbers.values):
        sorted_ = column[order]
        columns += [np.minimum.reduceat(sorted_, starts), np.maximum.reduceat(sorted_, starts)]
    tests = [numbers.tests[code] for code in codes[starts].tolist()]
    names = [(testnames.at_load(test.test, test.load), test.unit) for test in tests]
    rows = zip(names, *(column.tolist() for column in columns), strict=True)
    return sorted(
        ([*name, *rest] for name, *rest in rows),
        key=lambda row: testnames.place(row[0]),
    )


def problems_and_notes(
    report: dict[str, Any], source: SourceFile, target: Target
) -> tuple[list[ImportProblem], list[ImportProblem]]:
    """Everything that stands against storing a table whose ``report`` this is; and what whoever
    imports it should know, as of small tables.
    """
    unused = [(report.get("header_line", 1), word) for word in report.get("unused", [])]
    unread, refused = unread_columns(unused, source)
    units = (
        [] if target.kilobyte else kilobytes.open_units(row[1] for row in report.get("tests", []))
    )
    notes = [ImportProblem(kilobytes.doubt(unit), source.path, is_note=True) for unit in units]
    if zeros := report.get("zeros"):
        zero = problem("zero", report.get("first_zero"), is_note=True)
        notes.append(replace(ImportProblem.of(zero, source.path), count=zeros))
    notes += [
        replace(
            ImportProblem.of(
                problem("said_not_measured", line, is_note=True, found=quoted(word)), source.path
            ),
            count=count,
        )
        for word, count, line in report.get("not_measured", [])
    ]
    warnings = merged_warnings([*unread, *notes])
    problems = [
        *_key_problems(report.get("keys", []), source, target),
        *(ImportProblem.from_json(problem) for problem in report.get("problems", [])),
        *refused,
    ]
    return problems + (losses(warnings) if target.strict else []), warnings


def _key_problems(
    keys: Iterable[Sequence[Any]], source: SourceFile, target: Target
) -> list[ImportProblem]:
    """What is wrong with what the table, and somebody beside it, say it is of."""
    description = source.description
    problems = [*target_problems(target)]
    for filesystem, configuration, hardware, kernel, _ in map(counted_key, keys):
        problems += label_problems(
            (filesystem or description.filesystem or target.filesystem).lower(),
            _configuration(filesystem, configuration, source, target),
            hardware or description.hardware or target.hardware,
            kernel or description.kernel or target.kernel,
        )
    return list(dict.fromkeys(problems))[:100]


def _work_of(table: LargeTable) -> ImportWork:
    """That of storing a table, whose runs and numbers are written in bulk: its series count."""
    series: dict[Collection[object], set[int]] = {}
    for key, columns in table.runs.items():
        series.setdefault((*key[:3], key[5]), set()).update(np.unique(columns.codes).tolist())
    return ImportWork(len(series), sum(map(len, series.values())), 0)


def import_large(
    source: SourceFile,
    target: Target,
    user: User | None,
    on_progress: OnProgress = lambda phase, share: None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    notes: Sequence[ImportProblem] = (),
) -> ImportResult:
    """Read and store a large table in one go. Raises ImportRefused, and nothing is stored then.

    ``only_new`` and ``within_request`` are those of ``commit.import_uploads``, ``notes`` is that of
    ``commit.commit``.
    """
    passed_over: list[KnownRun] | None = [] if only_new else None
    table = read(source, on_progress)
    problems, table_notes = problems_and_notes(report(table, source), source, target)
    if problems:
        raise ImportRefused(problems)
    warnings = [*table_notes, *notes]
    if within_request and _work_of(table).is_much:
        raise TooLargeForRequest([source], warnings)
    parts = [warning.as_warning() for warning in warnings]
    with transaction.atomic():
        row = Import(state=ImportState.DONE, target=vars(target), created_by=user)
        row.report = {"warnings": parts} if parts else {}
        runs = store(row, source, table, target, user, on_progress, passed_over)
        if passed_over and not runs:
            transaction.set_rollback(True)
            return ImportResult(None, ALL_KNOWN, [], known=passed_over, warnings=parts)
    return ImportResult(row.pk, str(row.state), runs, known=passed_over or [], warnings=parts)


def store(
    row: Import,
    source: SourceFile,
    table: LargeTable,
    target: Target,
    user: User | None,
    on_progress: OnProgress,
    passed_over: list[KnownRun] | None = None,
) -> list[int]:
    """Store all runs of a table, with their scores. The caller holds the transaction, and saves
    ``row`` where it was saved before.

    Returns the runs' numbers; ``passed_over`` takes what is there already, which is refused where
    it is None. Raises ImportRefused.
    """
    study, _ = study_for(target, user)
    stored = store_runs(
        row,
        study,
        place(table, source, target),
        user,
        passed_over,
        on_progress,
        ends_at_refusal=True,
    )
    if problems := stored.problems:
        more = len(problems) - _MOST_PROBLEMS
        last = [ImportProblem(f"And {more} more problems.", source.path)] if more > 0 else []
        raise ImportRefused([*problems[:_MOST_PROBLEMS], *last])
    return keys_of(stored.runs)
