"""Runs to be -> runs with measurements, digests and scores: the way in of all imports."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import models

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.formats.result import OwnKey
from fsbench_web.core.measurement_columns import NONE, MeasurementColumns
from fsbench_web.imports import existing_runs
from fsbench_web.imports.dates import Measured
from fsbench_web.imports.existing_runs import Known
from fsbench_web.imports.models import Import, ImportedFile, RunContent
from fsbench_web.imports.plan import PlannedRun
from fsbench_web.imports.problems import ImportProblem, KnownRun
from fsbench_web.imports.sources import SourceFile
from fsbench_web.imports.targets import ONCE, artefact_of, hardware_for
from fsbench_web.studies.models import Artefact, Run, Series, Study
from fsbench_web.studies.runs import new_runs
from fsbench_web.studies.runs.new_runs import FinishedRun
from fsbench_web.studies.scores import digests, ingest, judging, measurements, quality
from fsbench_web.studies.scores.digests import Content
from fsbench_web.studies.scores.judging import Part
from fsbench_web.studies.scores.measurements import Flags, NewBlock
from fsbench_web.studies.scores.rows import insert_together
from fsbench_web.studies.series import lock_all, series_for

Say = Callable[[str, float], None]
"""Told what is being done, and the share of it that is done."""


@dataclass(frozen=True)
class PlacedRun:
    """One run to be: what it is of, and its numbers.

    ``repeat`` is what somebody says; None: it is numbered on. ``own`` is what the file calls the
    run. ``begins`` is its first line where one table holds all runs, which are told by it.
    ``planned`` is what it was made of, for whoever shows it.
    """

    source: SourceFile
    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    columns: MeasurementColumns
    own: Sequence[OwnKey]
    reason: str
    samples: Mapping[int, Any] = field(default_factory=dict)
    workload: Workload | None = None
    environment: Environment | None = None
    begins: int | None = None
    measured: Measured = field(default_factory=Measured)
    planned: PlannedRun | None = None


@dataclass(frozen=True)
class StoredRun:
    """A run that an import made (or would make), and what it was made of."""

    run: Run
    placed: PlacedRun

    @property
    def planned(self) -> PlannedRun:
        """What a file was planned to give."""
        assert self.placed.planned is not None
        return self.placed.planned


@dataclass(frozen=True)
class Stored:
    """What ``store_runs`` did; with ``problems`` the caller's transaction must not commit."""

    runs: list[StoredRun]
    problems: list[ImportProblem]


def store_runs(
    row: Import,
    study: Study,
    placed: Sequence[PlacedRun],
    user: User | None,
    passed_over: list[KnownRun] | None = None,
    say: Say = lambda what, share: None,
    *,
    ends_at_refusal: bool = False,
) -> Stored:
    """Number runs, and store those that nothing stands against, with their scores.

    The caller holds the transaction. ``row`` is written with the first run where it is new.
    ``passed_over`` takes what is there already; None: it is refused. ``ends_at_refusal``: nothing
    more is done then; otherwise the others tell what else is wrong.
    """
    # Whether they may is decided. What a run is numbered and how it is judged must not depend on
    # which studies they may see.
    with rights.as_user(None):
        serieses = _series(study, placed)
        there = existing_runs.of_series(serieses)
        problems: list[ImportProblem] = []
        numbered = list(_numbered(placed, serieses, there, problems, passed_over, say))
        row.study = study
        if not numbered or (problems and ends_at_refusal):
            return Stored([], problems)
        artefacts: dict[int, Artefact] = {}
        runs = _record(row, numbered, artefacts, user)
        problems += _score_and_store(runs, artefacts, there, say)
        insert_together(*_notes(row, runs, artefacts, user))
    return Stored([StoredRun(run, one.placed) for one, run in runs], problems)


def _series(study: Study, placed: Sequence[PlacedRun]) -> list[Series]:
    """The series of each run, locked."""
    found: dict[tuple[Any, ...], Series] = {}
    for entry in placed:
        key = _circumstances(entry)
        if key in found:
            continue
        hardware = hardware_for(entry.hardware, entry.source.path)
        configuration = from_label(entry.configuration, entry.filesystem)
        series = found[key] = series_for(
            study,
            configuration,
            workload=entry.workload,
            hardware=hardware,
            is_locked=len(placed) == 1,
        )
        # A preview shows them after they were taken back, when they cannot be read any more.
        series.study, series.configuration = study, configuration
        series.workload, series.hardware = entry.workload, hardware
    # Two names may have led to one series.
    serieses = {series.pk: series for series in found.values()}
    if len(placed) > 1:
        lock_all(serieses.values())
    return [serieses[found[_circumstances(entry)].pk] for entry in placed]


def _circumstances(entry: PlacedRun) -> tuple[Any, ...]:
    workload = entry.workload.pk if entry.workload else None
    return entry.filesystem, entry.configuration, entry.hardware, workload


@dataclass(frozen=True)
class Numbered:
    """A run that nothing stands against."""

    placed: PlacedRun
    series: Series
    repeat: int
    digest: str


def _numbered(
    placed: Sequence[PlacedRun],
    serieses: Sequence[Series],
    there: Mapping[int, Known],
    problems: list[ImportProblem],
    passed_over: list[KnownRun] | None,
    say: Say,
) -> Iterator[Numbered]:
    """The runs that can be; what cannot goes to ``problems``, what is there to ``passed_over``."""
    known: dict[int, dict[str, Run | PlacedRun]] = {pk: {**of.runs} for pk, of in there.items()}
    said: dict[int, set[int]] = defaultdict(set)
    for entry, series in zip(placed, serieses, strict=True):
        if entry.repeat is not None:
            said[series.pk].add(entry.repeat)
    for done, (entry, series) in enumerate(zip(placed, serieses, strict=True)):
        say("Checking", done / len(placed))
        of, content = there[series.pk], digests.content_of([entry.columns])
        same = _same(entry, known[series.pk].get(content.digest))
        problem = _twice(entry, content)
        if problem is None and passed_over is not None and isinstance(same, Run):
            passed_over.append({"file": entry.source.path, "run": same.pk})
            continue
        problem = problem or _refusal(entry, series, same, of)
        if problem is not None:
            problems.append(problem)
            continue
        repeat = entry.repeat
        if repeat is None:
            repeat = of.following
            while repeat in said[series.pk]:
                repeat += 1
        of.following = max(of.following, repeat + 1)
        of.repeats[repeat] = None
        known[series.pk][content.digest] = entry
        yield Numbered(entry, series, repeat, content.digest)


def _twice(entry: PlacedRun, content: Content) -> ImportProblem | None:
    """That a run has two numbers of one cell."""
    if content.twice is None:
        return None
    first, second = entry.columns.lines[list(content.twice)].tolist()
    message = (
        f"The same cell was already given in line {first}. Repeats of a cell need a column "
        "repeat, or a file each."
    )
    return ImportProblem(message, entry.source.path, second)


def _same(entry: PlacedRun, same: Run | PlacedRun | None) -> Run | PlacedRun | None:
    """The run, or that of this import, which holds the very same measurement, or None.

    Who numbers the repeats, in a table or in the preview, says that they are several, also when a
    coarse clock gave two of them the same numbers; the same file sent again is then told by its
    numbers of repeats. A tool that ran several times in one file may print the same each time.
    """
    counts_repeats = entry.own[0][3] is not None
    if isinstance(same, PlacedRun) and same.source is entry.source and counts_repeats:
        return None
    if entry.repeat is None or (isinstance(same, Run) and same.repeat == entry.repeat):
        return same
    return None


def _refusal(
    entry: PlacedRun, series: Series, same: Run | PlacedRun | None, of: Known
) -> ImportProblem | None:
    """Why this run cannot be stored beside those that are there, or None.

    ``same`` holds the very same numbers. No problem names a run of this very import: nobody can
    look at it yet.
    """
    file, label = entry.source.path, series.configuration.label
    if isinstance(same, PlacedRun) and same.begins is None:
        return ImportProblem(f"{same.source.path} holds the very same numbers: {ONCE}", file)
    if isinstance(same, PlacedRun):
        message = (
            "The run that begins here holds the very same numbers as the one that begins in "
            f"line {same.begins}: {ONCE}"
        )
        return ImportProblem(message, file, entry.begins)
    if same is not None:
        message = (
            f"These numbers are already there, as run {same.pk} (repeat {same.repeat} of {label} "
            f"in {series.study.slug}). A repeat hardly ever gives the very same numbers: {ONCE}"
        )
        return ImportProblem(message, file, entry.begins, run_id=same.pk)
    if entry.repeat is not None and entry.repeat in of.repeats:
        message = (
            f"Repeat {entry.repeat} of {label} is already there. Leave the repeat empty, and the "
            "runs are numbered on."
        )
        line = int(entry.columns.lines[0])
        first = None if line == NONE else line
        return ImportProblem(message, file, first, run_id=of.repeats[entry.repeat])
    return None


Recorded = list[tuple[Numbered, Run]]


def _record(
    row: Import, numbered: Sequence[Numbered], artefacts: dict[int, Artefact], user: User | None
) -> Recorded:
    """Write the runs; a file is kept with the first of its own."""
    finished = []
    for one in numbered:
        source, artefact = one.placed.source, None
        if id(source) not in artefacts:
            artefact = artefacts[id(source)] = artefact_of(source)
        finished.append(
            FinishedRun(
                one.series,
                one.repeat,
                one.placed.reason,
                one.placed.environment,
                artefact,
                one.placed.measured.at,
                one.placed.measured.source,
            )
        )
    beside: list[models.Model] = [row] if row.pk is None else []
    runs = new_runs.record_all_finished(finished, by=user, beside=beside)
    return list(zip(numbered, runs, strict=True))


def _score_and_store(
    runs: Recorded, artefacts: Mapping[int, Artefact], there: Mapping[int, Known], say: Say
) -> list[ImportProblem]:
    """Write numbers, flags and scores. Returns which series cannot have any."""
    problems: list[ImportProblem] = []
    of_series: dict[int, list[tuple[Numbered, Run]]] = defaultdict(list)
    for one, run in runs:
        of_series[one.series.pk].append((one, run))
        there[one.series.pk].finished.append(run)
    flags: dict[int, Flags] = {}
    later: list[Series] = []
    for done, (pk, some) in enumerate(of_series.items()):
        say("Scoring", done / len(of_series))
        series, finished = some[0][0].series, there[pk].finished
        if len(finished) > len(some) or any(one.placed.samples for one, _ in some):
            # Flags are found among all its runs, and samples are read where they are stored.
            later.append(series)
            continue
        parts = [
            Part(run.pk, columns, np.zeros(len(columns), dtype=np.uint8))
            for run, columns in ((run, one.placed.columns) for one, run in some)
        ]
        basis = quality.basis_of(series, finished)
        try:
            ingest.replace_scores(series, basis, judging.judge_new(parts, basis))
        except ingest.MixedMeasurements as error:
            problems.append(_mixed(series, error))
        flags |= {part.run_id: quality.flags_of(part.bits) for part in parts}
    total = sum(len(one.placed.columns) for one, _ in runs)
    measurements.store(
        (
            NewBlock(
                run.pk,
                artefacts[id(one.placed.source)].pk,
                one.placed.columns,
                flags.get(run.pk),
                one.placed.samples,
            )
            for one, run in runs
        ),
        lambda stored: say("Storing", stored / total),
    )
    for series in later:
        try:
            ingest.rescore_locked(series, there[series.pk].finished)
        except ingest.MixedMeasurements as error:
            problems.append(_mixed(series, error))
    return problems


def _mixed(series: Series, error: ingest.MixedMeasurements) -> ImportProblem:
    return ImportProblem(
        f"{series.configuration.label}: {error} Runs of one configuration in one study are repeats "
        "of each other; import these into a study of their own."
    )


def _notes(
    row: Import, runs: Recorded, artefacts: Mapping[int, Artefact], user: User | None
) -> Iterator[models.Model]:
    """How to know the numbers again, how to read the files again, and who did what."""
    of_source: dict[int, list[tuple[PlacedRun, Run]]] = defaultdict(list)
    for one, run in runs:
        of_source[id(one.placed.source)].append((one.placed, run))
        yield RunContent(run=run, digest=one.digest)
    for key, some in of_source.items():
        source = some[0][0].source
        yield ImportedFile(
            import_of=row,
            artefact=artefacts[key],
            path=source.path,
            mapping=source.mapping,
            runs=[[own, run.pk] for placed, run in some for own in placed.own],
        )
    for _, run in runs:
        yield Import.runs.through(import_id=row.pk, run_id=run.pk)
    study = runs[0][0].series.study
    yield audit.entry(user, "imported", f"import {row.pk}", study=study.slug, runs=len(runs))
