"""Files -> runs with measurements and scores, all of them or none."""

import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from django.contrib.auth.models import User
from django.db import models, transaction

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.imports import existing_runs, work
from fsbench_web.imports.models import Import, ImportedFile, ImportState, RunContent
from fsbench_web.imports.plan import Plan, PlannedFile, PlannedRun, Target, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun
from fsbench_web.imports.sources import SourceFile, unpack
from fsbench_web.imports.storing import large
from fsbench_web.imports.targets import (
    ALL_KNOWN,
    ONCE,
    ImportResult,
    artefact_of,
    hardware_for,
    study_for,
)
from fsbench_web.imports.workloads import environment_of, workload_of
from fsbench_web.studies.models import Artefact, Run, Series, Study
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.scores.rows import insert_together
from fsbench_web.studies.series import lock_all, series_for


@dataclass(frozen=True)
class StoredRun:
    """A run that an import made (or would make): what it is, and where its numbers came from."""

    run: Run
    planned: PlannedRun


@dataclass(frozen=True)
class ImportPreview:
    """What an import would store; with ``problems`` it would store nothing."""

    study: Study
    study_is_new: bool
    runs: list[StoredRun]
    problems: list[ImportProblem]


def import_files(
    files: Sequence[tuple[str, bytes]],
    *,
    study: str,
    filesystem: str = "",
    configuration: str = "",
    hardware: str = "",
    source: str = "",
    licence: str = "",
    user: User | None,
) -> ImportResult:
    """Store all files, (name, content), as runs of a study, which is made when it is new.

    Files are repeats of each other unless they say otherwise; an archive has one configuration a
    sub-folder. One transaction: raises ImportRefused with all problems, and nothing is stored
    then.
    """
    said = (study, filesystem, configuration, hardware, source, licence)
    uploads = [(name, io.BytesIO(data)) for name, data in files]
    return import_uploads(uploads, Target(*said), user)


def import_uploads(
    uploads: Sequence[tuple[str, BinaryIO]],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    ignored: Collection[str] | None = None,
) -> ImportResult:
    """``import_files`` of open files, which are read piece by piece.

    With ``only_new`` a run whose very numbers the study has already is passed over, not refused.
    ``within_request``: raises LeavesRequest, and nothing is stored, for more than a request does.
    ``ignored``: names of columns of tables; any other that nothing reads is refused, not remarked.
    """
    target = Target(*(text.strip() for text in vars(target).values()))
    sources = unpack([(safe_name(name), file) for name, file in uploads])
    return import_sources(
        sources, target, user, only_new=only_new, within_request=within_request, ignored=ignored
    )


def import_sources(
    sources: Sequence[SourceFile],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    ignored: Collection[str] | None = None,
) -> ImportResult:
    """Store unpacked files: all of them or none. Raises ImportRefused, and LeavesRequest."""
    if large.is_large(sources):
        return large.import_large(
            sources[0],
            target,
            user,
            only_new=only_new,
            within_request=within_request,
            ignored=ignored,
        )
    plan = plan_files(sources, target)
    if ignored is not None:
        plan.ignore_columns(ignored)
    if within_request and not plan.all_problems and work.of_plan(plan).is_much:
        raise work.LeavesRequest(plan.sources, plan.warnings)
    known: list[KnownRun] | None = [] if only_new else None
    with transaction.atomic():
        row = Import(target=target.__dict__, created_by=user)
        done = commit(row, plan, target, user, known)
        if known and not done.runs:
            transaction.set_rollback(True)
            return replace(done, id=None, state=ALL_KNOWN)
    return done


def commit(
    row: Import,
    plan: Plan,
    target: Target,
    user: User | None,
    known: list[KnownRun] | None = None,
) -> ImportResult:
    """Store what was planned, and note it in ``row``. The caller holds the transaction.

    ``known`` takes what is there already; None: it is refused. Raises ImportRefused; the caller's
    transaction must not commit then.
    """
    plan.check()
    was_kept, row.state = row.pk is not None, ImportState.DONE
    notes: list[models.Model] = []
    stored = _store(plan.files, target, user, row, notes, known)
    if stored.problems:
        raise ImportRefused(stored.problems)
    if was_kept:
        row.files.all().delete()
    runs, thing = [entry.run.pk for entry in stored.runs], f"import {row.pk}"
    insert_together(
        *notes,
        *(Import.runs.through(import_id=row.pk, run_id=run) for run in runs),
        audit.entry(user, "imported", thing, study=stored.study.slug, runs=len(runs)),
    )
    warnings = [one.as_row() for one in plan.warnings]
    return ImportResult(row.pk, str(row.state), runs, known=known or [], warnings=warnings)


def preview(plan: Plan, target: Target, user: User | None) -> ImportPreview:
    """What ``commit`` would do with the files that have no problem, by doing it and taking all of
    it back. Raises ImportRefused when the study takes no runs.
    """
    with transaction.atomic():
        row = Import.objects.create(target=target.__dict__, created_by=user)
        stored = _store([file for file in plan.files if not file.problems], target, user, row, [])
        transaction.set_rollback(True)
    return stored


def safe_name(name: str) -> str:
    """The last part of a file's name, without what a database or a header refuses."""
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[\x00-\x1f\x7f]", "", last).strip()[:200] or "unnamed"


def _store(
    files: Sequence[PlannedFile],
    target: Target,
    user: User | None,
    row: Import,
    notes: list[models.Model],
    passed_over: list[KnownRun] | None = None,
) -> ImportPreview:
    """``notes`` takes new rows, to be written once all is stored: how to know and to read it again.

    ``row`` is written with the first run where it is new.
    """
    study, is_new = study_for(target, user)
    # Whether they may is decided. What a run is numbered and how it is judged must not depend on
    # which studies they may see.
    with rights.as_user(None):
        stored, problems = _store_in(study, files, user, row, notes, passed_over)
    return ImportPreview(study, is_new, stored, problems)


def _store_in(
    study: Study,
    files: Sequence[PlannedFile],
    user: User | None,
    row: Import,
    notes: list[models.Model],
    passed_over: list[KnownRun] | None,
) -> tuple[list[StoredRun], list[ImportProblem]]:
    problems: list[ImportProblem] = []
    stored: list[StoredRun] = []
    is_one = sum(len(file.runs) for file in files) == 1
    places = [[_series(study, entry, is_locked=is_one) for entry in file.runs] for file in files]
    touched = {series.pk: series for serieses in places for series in serieses}
    if not is_one:
        lock_all(touched.values())
    there = existing_runs.of_series(touched.values())
    known_of: dict[int, dict[str, Run | str]] = {pk: {**there[pk].runs} for pk in touched}
    row.study = study
    if row.pk is not None:
        row.save()
    for file, serieses in zip(files, places, strict=True):
        kept: list[StoredRun] = []
        artefact: Artefact | None = None
        for entry, series in zip(file.runs, serieses, strict=True):
            known = known_of[series.pk]
            content = entry.content
            same = _same(entry, known.get(content))
            if passed_over is not None and isinstance(same, Run):
                passed_over.append({"file": file.path, "run": same.pk})
                continue
            refusal = _refusal(entry, series, same, [*stored, *kept])
            if refusal is not None:
                problems.append(refusal)
                continue
            following = there[series.pk].following
            new = artefact_of(file.source) if artefact is None else None
            run = lifecycle.record_finished(
                series,
                _said_repeat(entry) or following,
                by=user,
                reason=_reason(entry),
                environment=environment_of(entry.parsed),
                artefact=new,  # a file is kept with the first of its runs
                beside=[row] if row.pk is None else [],
            )
            there[series.pk].following = max(following, run.repeat + 1)
            there[series.pk].finished.append(run)
            artefact = artefact or new
            ingest.store_values(run, artefact, entry.values, is_new=True)
            notes.append(RunContent(run=run, digest=content))
            known[content] = file.path
            kept.append(StoredRun(run, entry))
        if artefact is not None:
            notes.append(_how_read(row, file, artefact, kept))
        stored += kept
    if row.pk is None:  # no file held a run, or each was refused
        row.save()
    for series in touched.values():
        try:
            ingest.rescore_locked(series, there[series.pk].finished)
        except ingest.MixedMeasurements as error:
            problems.append(
                ImportProblem(
                    f"{series.configuration.label}: {error} Runs of one configuration in one "
                    "study are repeats of each other; import these into a study of their own."
                )
            )
    return stored, problems


def _how_read(
    row: Import, file: PlannedFile, artefact: Artefact, kept: list[StoredRun]
) -> ImportedFile:
    """For reading the file again."""
    return ImportedFile(
        import_of=row,
        artefact=artefact,
        path=file.path,
        mapping=file.source.mapping,
        runs=[[own, entry.run.pk] for entry in kept for own in entry.planned.own],
    )


def _series(study: Study, entry: PlannedRun, *, is_locked: bool) -> Series:
    hardware = hardware_for(entry.hardware, entry.file)
    configuration = from_label(entry.configuration, entry.filesystem)
    workload = workload_of(entry.parsed)
    series = series_for(
        study, configuration, workload=workload, hardware=hardware, is_locked=is_locked
    )
    # A preview shows them after they were taken back, when they cannot be read any more.
    series.study, series.configuration = study, configuration
    series.workload, series.hardware = workload, hardware
    return series


def _said_repeat(entry: PlannedRun) -> int | None:
    """The repeat that the user or a table names. The output of a tool only counts its own."""
    counted = entry.parsed.tool != "table" and entry.values[0].repeat is not None
    return None if counted else entry.repeat


def _same(entry: PlannedRun, same: Run | str | None) -> Run | str | None:
    """The run, or the file of this import, that holds the very same measurement, or None.

    Who numbers the repeats, in a table or in the preview, says that they are several, also when a
    coarse clock gave two of them the same numbers; the same file sent again is then told by its
    numbers of repeats. A tool that ran several times in one file may print the same each time.
    """
    if same == entry.file and entry.values[0].repeat is not None:
        return None
    said = _said_repeat(entry)
    return same if said is None or (isinstance(same, Run) and same.repeat == said) else None


def _refusal(
    entry: PlannedRun, series: Series, same: Run | str | None, ours: Sequence[StoredRun]
) -> ImportProblem | None:
    """Why this run cannot be stored beside those that are there, or None.

    ``same`` holds the very same numbers: a run, or a file of this import. ``ours`` are runs of this
    very import: nobody can look at them yet.
    """
    said = _said_repeat(entry)
    label = series.configuration.label
    if isinstance(same, str):
        message = f"{same} holds the very same numbers: {ONCE}"
        return ImportProblem(message, file=entry.file)
    if same is not None:
        return ImportProblem(
            f"These numbers are already there, as run {same.pk} (repeat {same.repeat} of {label} "
            f"in {series.study.slug}). A repeat hardly ever gives the very same numbers: {ONCE}",
            file=entry.file,
            run_id=same.pk,
        )
    there = series.runs.filter(repeat=said).first() if said is not None else None
    if there is not None:
        return ImportProblem(
            f"Repeat {said} of {label} is already there. Leave the repeat empty, and the runs are "
            "numbered on.",
            file=entry.file,
            line=entry.values[0].line,
            run_id=None if there.pk in {one.run.pk for one in ours} else there.pk,
        )
    return None


def _reason(entry: PlannedRun) -> str:
    reason = f"Imported from {entry.file}."
    if not entry.parsed.complete:
        reason += (
            f" The file ends before the tool did; the {len(entry.values)} values it holds are kept."
        )
    return reason
