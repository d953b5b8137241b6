"""Files -> runs with measurements and scores, all of them or none."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.comparison import imported
from fsbench_web.imports.guesses import MeasuredDate
from fsbench_web.imports.models import Import, ImportedFile, ImportState, RunContent
from fsbench_web.imports.plan import Plan, PlannedRun, TooLargeForRequest, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun
from fsbench_web.imports.sources import (
    NOTHING_SAID,
    FileDescription,
    SourceFile,
    Target,
    leave_out,
    safe_path,
    unpack,
)
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.storing.numbering import (
    ExistingRuns,
    Numbering,
    OnProgress,
    by_repeat,
    forget,
    of_series,
)
from fsbench_web.imports.targets import (
    ALL_KNOWN,
    ImportResult,
    artefact_of,
    environment_of,
    hardware_for,
    study_for,
    workload_of,
)
from fsbench_web.platform import clock
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import (
    Artefact,
    LatencyBlock,
    Run,
    RunState,
    Series,
    StateChange,
    Study,
)
from fsbench_web.studies.runs import new_runs
from fsbench_web.studies.runs.new_runs import FinishedRun
from fsbench_web.studies.scores import ingest, measurements
from fsbench_web.studies.scores.measurements import NewBlock
from fsbench_web.studies.series import lock_all, series_for

MOST_FILES_NAMED = 5


def keys_of(runs: Iterable[PlannedRun]) -> list[int]:
    """The key of each run once, in order: several may be parts of one."""
    return list(dict.fromkeys(stored.pk for _, stored in _with_runs(runs)))


def _with_runs(runs: Iterable[PlannedRun]) -> Iterator[tuple[PlannedRun, Run]]:
    """Each with its row, which it has by now."""
    return ((planned, planned.run) for planned in runs if planned.run is not None)


@dataclass(frozen=True)
class Stored:
    """What ``store_runs`` did; with ``problems`` the transaction must not commit."""

    study: Study
    study_is_new: bool
    runs: list[PlannedRun]
    problems: list[ImportProblem]
    remarks: list[ImportProblem]


def store_runs(
    row: Import,
    target: Target,
    planned: Sequence[PlannedRun],
    user: User | None,
    passed_over: list[KnownRun] | None = None,
    on_progress: OnProgress = lambda phase, share: None,
) -> Stored:
    """Number runs, and store the good ones with their scores. The caller holds the transaction.

    ``row`` is written with the first run if it is new. ``passed_over`` takes known runs; None: they
    are refused. Raises ImportRefused for a study that takes no runs.
    """
    study, is_new = study_for(target, user)
    # Whether they may is decided. What a run is numbered and how it is judged must not depend on
    # which studies they may see.
    with rights.as_user(None):
        serieses = _series(study, planned)
        existing = of_series(serieses, with_cells=True)
        numbering = Numbering(existing, user, passed_over)
        numbering.number(planned, serieses, on_progress)
        row.study = study
        runs, problems = numbering.runs, numbering.problems
        if runs:
            artefacts: dict[int, Artefact] = {}
            _record(row, runs, artefacts, user)
            problems += _store_and_score(runs, artefacts, existing, on_progress)
            _store_notes(row, runs, artefacts, user)
    return Stored(study, is_new, runs, problems, numbering.remarks if runs else [])


def _series(study: Study, planned: Sequence[PlannedRun]) -> list[Series]:
    by_key: dict[tuple[Any, ...], Series] = {}
    workloads: dict[int, Workload | None] = {}
    keys = []
    for entry in planned:
        if id(entry.parsed) not in workloads:
            workloads[id(entry.parsed)] = workload_of(entry.parsed, entry.columns.tests)
        workload = workloads[id(entry.parsed)]
        of_run = entry.filesystem, entry.configuration, entry.hardware, entry.kernel
        keys.append((*of_run, workload.pk if workload else None))
        if keys[-1] in by_key:
            continue
        hardware = hardware_for(entry.hardware, entry.file)
        configuration = from_label(entry.configuration, entry.filesystem)
        series = by_key[keys[-1]] = series_for(
            study,
            configuration,
            workload=workload,
            hardware=hardware,
            kernel=entry.kernel,
            is_locked=len(planned) == 1,
        )
        # A preview shows them after they were taken back, when they can no longer be read.
        series.study, series.configuration = study, configuration
        series.workload, series.hardware = workload, hardware
    # Two names may have led to one series.
    serieses = {series.pk: series for series in by_key.values()}
    if len(planned) > 1:
        lock_all(serieses.values())
    return [serieses[by_key[key].pk] for key in keys]


def _record(
    row: Import, runs: Sequence[PlannedRun], artefacts: dict[int, Artefact], user: User | None
) -> None:
    """Write the rows of runs; a file is kept with the first of its own."""
    repeats = by_repeat(runs)
    environments: dict[int, Environment | None] = {}
    finished: dict[tuple[int, int], FinishedRun] = {}
    further: list[tuple[tuple[int, int], Artefact]] = []
    for key, parts in repeats.items():
        own_artefact: Artefact | None = None
        for part in parts:
            if id(part.source) in artefacts:
                continue
            artefact = artefacts[id(part.source)] = artefact_of(part.source)
            if own_artefact is None and not part.joins:
                own_artefact = artefact
            else:
                further.append((key, artefact))
        first = parts[0]
        if first.joins or first.series is None:
            continue
        if id(first.parsed) not in environments:
            environments[id(first.parsed)] = environment_of(first.parsed)
        measured = _measured(parts)
        finished[key] = FinishedRun(
            first.series,
            first.number,
            _reason(parts),
            environments[id(first.parsed)],
            own_artefact,
            measured.at,
            measured.source,
            first.block,
        )
    if row.pk is None:
        row.save()
    new = new_runs.record_all_finished(list(finished.values()), by=user)
    for key, run in zip(finished, new, strict=True):
        for part in repeats[key]:
            part.run = run
    for key, artefact in further:
        if (owner := repeats[key][0].run) is not None:
            artefact.run = owner
    now = clock.now()
    Artefact._base_manager.bulk_create((artefact for _, artefact in further), batch_size=500)
    StateChange.objects.bulk_create(
        StateChange(run=parts[0].run, at=now, state=RunState.DONE, reason=_reason(parts))
        for parts in repeats.values()
        if parts[0].joins
    )


def _measured(parts: Sequence[PlannedRun]) -> MeasuredDate:
    """When the first of the parts was measured that say it."""
    dates = [part.measured for part in parts]
    known_dates = [(date.at, date) for date in dates if date.at is not None]
    return min(known_dates, key=lambda pair: pair[0])[1] if known_dates else MeasuredDate()


def _reason(parts: Sequence[PlannedRun]) -> str:
    words = list(dict.fromkeys(part.reason for part in parts))
    more = len(words) - MOST_FILES_NAMED
    return " ".join(words[:MOST_FILES_NAMED]) + (f" And {more:,} more files." if more > 0 else "")


def _store_and_score(
    runs: Sequence[PlannedRun],
    artefacts: Mapping[int, Artefact],
    existing: Mapping[int, ExistingRuns],
    on_progress: OnProgress,
) -> list[ImportProblem]:
    """Write numbers, flags and scores. Returns which series cannot have any scores."""
    blocks = [
        NewBlock(run.pk, artefacts[id(planned.source)].pk, planned.columns, samples=planned.samples)
        for planned, run in _with_runs(runs)
    ]
    total = sum(len(block.columns) for block in blocks)
    measurements.store(blocks, lambda stored: on_progress("Storing", stored / total))
    _store_over_time(runs, artefacts)
    new: dict[int, dict[int, Run]] = defaultdict(dict)
    series_of: dict[int, Series] = {}
    for planned, run in _with_runs(runs):
        series_of[run.series_id] = run.series
        if not planned.joins:
            new[run.series_id][run.pk] = run
    problems = []
    for done, (pk, series) in enumerate(series_of.items()):
        on_progress("Scoring", done / len(series_of))
        existing[pk].finished += new[pk].values()
        try:
            ingest.rescore_locked(series, existing[pk].finished)
        except ingest.MixedMeasurements as error:
            problems.append(_mixed_problem(series, error))
    return problems


def _store_over_time(runs: Sequence[PlannedRun], artefacts: Mapping[int, Artefact]) -> None:
    """Of files that are of one run: which of several they belong to, no file says."""
    counts = Counter(id(planned.source) for planned in runs)
    for planned, run in _with_runs(runs):
        key = id(planned.source)
        if counts[key] == 1:
            latencies.store_series(run, artefacts[key], planned.parsed.over_time)


def _mixed_problem(series: Series, error: ingest.MixedMeasurements) -> ImportProblem:
    return ImportProblem(
        f"{series.configuration.label}: {error} Runs of one configuration in one study are repeats "
        "of each other; import these into a study of their own."
    )


def _store_notes(
    row: Import, runs: Sequence[PlannedRun], artefacts: Mapping[int, Artefact], user: User | None
) -> None:
    """Write digests of the numbers, how to read the files again, and who did what."""
    by_source: dict[int, list[tuple[PlannedRun, Run]]] = defaultdict(list)
    latency_rows = []
    forget([run.pk for planned, run in _with_runs(runs) if planned.joins])
    for planned, run in _with_runs(runs):
        by_source[id(planned.source)].append((planned, run))
        if measured := planned.distributions:
            latency_rows.append(
                latencies.new_block(run.pk, artefacts[id(planned.source)], measured)
            )
    LatencyBlock._base_manager.bulk_create(latency_rows, batch_size=100)
    new = by_repeat(planned for planned in runs if not planned.joins).values()
    RunContent.objects.bulk_create(
        RunContent(run=parts[0].run, digest=_digest_of(parts)) for parts in new
    )
    ImportedFile.objects.bulk_create(
        ImportedFile(
            import_of=row,
            artefact=artefacts[key],
            path=pairs[0][0].source.path,
            mapping=pairs[0][0].source.mapping,
            beside=pairs[0][0].parsed.beside,
            runs=[[file_key, run.pk] for planned, run in pairs for file_key in planned.keys],
        )
        for key, pairs in by_source.items()
    )
    run_ids = keys_of(runs)
    row.runs.add(*run_ids)
    slug = row.study.slug if row.study else ""
    audit.note(user, "imported", f"import {row.pk}", study=slug, runs=len(run_ids))


def _digest_of(parts: Sequence[PlannedRun]) -> str:
    """That of all parts of a run together."""
    own_digest = parts[0].digest if len(parts) == 1 else ""
    return own_digest or imported.digest_of(*(part.columns for part in parts))


def import_uploads(
    uploads: Sequence[tuple[str, BinaryIO]],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    given: FileDescription = NOTHING_SAID,
    columns: dict[str, Any] | None = None,
    left_out: Sequence[str] = (),
) -> ImportResult:
    """Store all files, (name, open file), as runs of a study, in one transaction.

    Raises ImportRefused with all problems. ``only_new``: runs that are known are passed over.
    ``within_request``: raises TooLargeForRequest for more than a request stores. ``given`` and
    ``columns`` hold for each file. ``left_out``: names of files that are not read.
    """
    target = target.stripped()
    files = leave_out(unpack([(safe_name(name), file) for name, file in uploads]), left_out)
    sources = [replace(source, description=given, mapping=columns) for source in files]
    return import_sources(sources, target, user, only_new=only_new, within_request=within_request)


def import_sources(
    sources: Sequence[SourceFile],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
) -> ImportResult:
    """Store unpacked files: all of them or none. Raises ImportRefused, and TooLargeForRequest.

    Nobody looked at a preview: what is stored already by its bytes is said in the warnings.
    """
    # Who wants only what is new is told by run what is known.
    notes = [] if only_new else known_files.notes_on(sources)
    plan = plan_files(sources, target)
    if within_request and not plan.all_problems and plan.is_much:
        raise TooLargeForRequest(plan, notes)
    passed_over: list[KnownRun] | None = [] if only_new else None
    with transaction.atomic():
        row = Import(target=target.__dict__, created_by=user)
        done = commit(row, plan, target, user, passed_over, notes)
        if passed_over and not done.runs:
            transaction.set_rollback(True)
            return replace(done, id=None, state=ALL_KNOWN)
    return done


def commit(
    row: Import,
    plan: Plan,
    target: Target,
    user: User | None,
    passed_over: list[KnownRun] | None = None,
    notes: Sequence[ImportProblem] = (),
    on_progress: OnProgress = lambda phase, share: None,
) -> ImportResult:
    """Store what was planned, and note it in ``row``. The caller holds the transaction.

    ``passed_over`` takes known runs; None: they are refused. ``notes`` are added to the warnings.
    Raises ImportRefused; the transaction must not commit then.
    """
    plan.check()
    was_kept, row.state = row.pk is not None, ImportState.DONE
    warnings = row.report.get("warnings") or [warning.as_warning() for warning in plan.warnings]
    row.report = {"warnings": warnings} if warnings else {}
    runs = [run for file in plan.files for run in file.runs]
    stored = store_runs(row, target, runs, user, passed_over, on_progress)
    if stored.problems:
        raise ImportRefused(stored.problems)
    if notes or stored.remarks:
        remarks = [remark.as_warning() for remark in (*notes, *stored.remarks)]
        warnings += remarks
        # Apart too: reading a file again says nothing of them (rereads.renewed_warnings).
        row.report = {"warnings": warnings, "remarks": remarks}
    if was_kept:
        row.save()
        row.files.all().delete()
    elif row.pk is not None and (notes or stored.remarks):
        row.save(update_fields=["report"])
    return ImportResult(
        row.pk, str(row.state), keys_of(stored.runs), known=passed_over or [], warnings=warnings
    )


def preview(plan: Plan, target: Target, user: User | None) -> Stored:
    """What ``commit`` would do with the good files, taken back. Raises ImportRefused."""
    with transaction.atomic():
        row = Import.objects.create(target=target.__dict__, created_by=user)
        good_files = (file for file in plan.files if not file.problems)
        runs = [run for file in good_files for run in file.runs]
        stored = store_runs(row, target, runs, user)
        transaction.set_rollback(True)
    return stored


def safe_name(name: str) -> str:
    """The last part of a file's name, without signs that nobody sees."""
    return safe_path(re.split(r"[/\\]", name)[-1])
