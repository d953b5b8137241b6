"""Runs to be -> runs with measurements, digests and scores: the way in of all imports."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from fsbench_web.accounts import audit, rights
from fsbench_web.catalog.configurations.records import from_label
from fsbench_web.imports.dates import MeasuredDate
from fsbench_web.imports.models import Import, ImportedFile, RunContent
from fsbench_web.imports.plan import PlannedRun
from fsbench_web.imports.problems import ImportProblem, KnownRun
from fsbench_web.imports.storing import existing_runs
from fsbench_web.imports.storing.existing_runs import ExistingRuns
from fsbench_web.imports.storing.numbering import Numbered, Numbering, OnProgress, PlacedRun
from fsbench_web.imports.targets import artefact_of, hardware_for
from fsbench_web.platform import clock
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import Artefact, LatencyBlock, Run, Series, StateChange, Study
from fsbench_web.studies.runs import new_runs
from fsbench_web.studies.runs.new_runs import FinishedRun
from fsbench_web.studies.scores import digests, ingest, measurements
from fsbench_web.studies.scores.measurements import NewBlock
from fsbench_web.studies.series import lock_all, series_for

MOST_FILES_NAMED = 5


@dataclass(frozen=True)
class StoredRun:
    """A run that an import made (or would make), and what it was made of."""

    run: Run
    placed: PlacedRun
    joins: bool = False
    """Whether the run is there already, and this is a further part of it."""

    @property
    def planned(self) -> PlannedRun:
        """What a file was planned to give."""
        assert self.placed.planned is not None
        return self.placed.planned


def keys_of(runs: Iterable[StoredRun]) -> list[int]:
    """The key of each run once, in order: several may be parts of one."""
    return list(dict.fromkeys(stored.run.pk for stored in runs))


@dataclass(frozen=True)
class Stored:
    """What ``store_runs`` did; with ``problems`` the caller's transaction must not commit.

    Several of ``runs`` may be parts of one. ``remarks`` are what whoever imports should know.
    """

    runs: list[StoredRun]
    problems: list[ImportProblem]
    remarks: list[ImportProblem] = field(default_factory=list)


def store_runs(
    row: Import,
    study: Study,
    placed: Sequence[PlacedRun],
    user: User | None,
    passed_over: list[KnownRun] | None = None,
    on_progress: OnProgress = lambda phase, share: None,
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
        # The rows of a large table say themselves what they belong to.
        with_cells = any(entry.begins is None for entry in placed)
        existing = existing_runs.of_series(serieses, with_cells=with_cells)
        numbering = Numbering(existing, user, passed_over)
        numbering.number(placed, serieses, on_progress)
        problems, row.study = numbering.problems, study
        if not numbering.runs or (problems and ends_at_refusal):
            return Stored([], problems)
        artefacts: dict[int, Artefact] = {}
        runs = _record(row, numbering.runs, artefacts, user)
        problems += _store_and_score(runs, artefacts, existing, on_progress)
        _store_notes(row, runs, artefacts, user)
    stored = [StoredRun(run, numbered.placed, numbered.joins is not None) for numbered, run in runs]
    return Stored(stored, problems, numbering.remarks)


def _series(study: Study, placed: Sequence[PlacedRun]) -> list[Series]:
    """The series of each run, locked."""
    by_key: dict[tuple[Any, ...], Series] = {}
    for entry in placed:
        key = _circumstances(entry)
        if key in by_key:
            continue
        hardware = hardware_for(entry.hardware, entry.source.path)
        configuration = from_label(entry.configuration, entry.filesystem)
        series = by_key[key] = series_for(
            study,
            configuration,
            workload=entry.workload,
            hardware=hardware,
            kernel=entry.kernel,
            is_locked=len(placed) == 1,
        )
        # A preview shows them after they were taken back, when they cannot be read any more.
        series.study, series.configuration = study, configuration
        series.workload, series.hardware = entry.workload, hardware
    # Two names may have led to one series.
    serieses = {series.pk: series for series in by_key.values()}
    if len(placed) > 1:
        lock_all(serieses.values())
    return [serieses[by_key[_circumstances(entry)].pk] for entry in placed]


def _circumstances(entry: PlacedRun) -> tuple[Any, ...]:
    workload = entry.workload.pk if entry.workload else None
    return entry.filesystem, entry.configuration, entry.hardware, entry.kernel, workload


Recorded = list[tuple[Numbered, Run]]


def _record(
    row: Import, numbered: Sequence[Numbered], artefacts: dict[int, Artefact], user: User | None
) -> Recorded:
    """Write the runs; a file is kept with the first of its own."""
    by_repeat: dict[tuple[int, int], list[Numbered]] = defaultdict(list)
    for part in numbered:
        by_repeat[part.series.pk, part.repeat].append(part)
    finished: dict[tuple[int, int], FinishedRun] = {}
    further: list[tuple[tuple[int, int], Artefact]] = []
    for key, parts in by_repeat.items():
        own_artefact: Artefact | None = None
        for part in parts:
            source = part.placed.source
            if id(source) in artefacts:
                continue
            artefact = artefacts[id(source)] = artefact_of(source)
            if own_artefact is None and part.joins is None:
                own_artefact = artefact
            else:
                further.append((key, artefact))
        if parts[0].joins is None:
            first, measured = parts[0], _measured(parts)
            finished[key] = FinishedRun(
                first.series,
                first.repeat,
                _reason(parts),
                first.placed.environment,
                own_artefact,
                measured.at,
                measured.source,
                first.placed.block,
            )
    if row.pk is None:
        row.save()
    new = new_runs.record_all_finished(list(finished.values()), by=user)
    runs = dict(zip(finished, new, strict=True))
    joined = {key: parts[0].joins for key, parts in by_repeat.items() if parts[0].joins is not None}
    runs |= joined
    for key, artefact in further:
        artefact.run = runs[key]
    now = clock.now()
    Artefact._base_manager.bulk_create((artefact for _, artefact in further), batch_size=500)
    StateChange.objects.bulk_create(
        StateChange(run=run, at=now, state=run.state, reason=_reason(by_repeat[key]))
        for key, run in joined.items()
    )
    return [(part, runs[part.series.pk, part.repeat]) for part in numbered]


def _measured(parts: Sequence[Numbered]) -> MeasuredDate:
    """When the first of the parts was measured that say it."""
    dates = [(part.placed.measured.at, part.placed.measured) for part in parts]
    known_dates = [(at, date) for at, date in dates if at is not None]
    return min(known_dates, key=lambda pair: pair[0])[1] if known_dates else MeasuredDate()


def _reason(parts: Sequence[Numbered]) -> str:
    """What the history of a run says of the files it came from."""
    words = list(dict.fromkeys(part.placed.reason for part in parts))
    more = len(words) - MOST_FILES_NAMED
    return " ".join(words[:MOST_FILES_NAMED]) + (f" And {more:,} more files." if more > 0 else "")


def _store_and_score(
    runs: Recorded,
    artefacts: Mapping[int, Artefact],
    existing: Mapping[int, ExistingRuns],
    on_progress: OnProgress,
) -> list[ImportProblem]:
    """Write numbers, flags and scores. Returns which series cannot have any scores."""
    blocks = [
        NewBlock(
            run.pk,
            artefacts[id(numbered.placed.source)].pk,
            numbered.placed.columns,
            samples=numbered.placed.samples,
        )
        for numbered, run in runs
    ]
    total = sum(len(block.columns) for block in blocks)
    measurements.store(blocks, lambda stored: on_progress("Storing", stored / total))
    _store_over_time(runs, artefacts)
    new: dict[int, dict[int, Run]] = defaultdict(dict)
    series_of = {numbered.series.pk: numbered.series for numbered, _ in runs}
    for numbered, run in runs:
        if numbered.joins is None:
            new[numbered.series.pk][run.pk] = run
    problems = []
    for done, (pk, series) in enumerate(series_of.items()):
        on_progress("Scoring", done / len(series_of))
        existing[pk].finished += new[pk].values()
        try:
            ingest.rescore_locked(series, existing[pk].finished)
        except ingest.MixedMeasurements as error:
            problems.append(_mixed_problem(series, error))
    return problems


def _store_over_time(runs: Recorded, artefacts: Mapping[int, Artefact]) -> None:
    """Of files that are of one run: which of several they belong to, no file says."""
    counts = Counter(id(numbered.placed.source) for numbered, _ in runs)
    for numbered, run in runs:
        key = id(numbered.placed.source)
        if numbered.placed.planned is None or counts[key] > 1:
            continue
        latencies.store_series(run, artefacts[key], numbered.placed.planned.parsed.over_time)


def _mixed_problem(series: Series, error: ingest.MixedMeasurements) -> ImportProblem:
    return ImportProblem(
        f"{series.configuration.label}: {error} Runs of one configuration in one study are repeats "
        "of each other; import these into a study of their own."
    )


def _store_notes(
    row: Import, runs: Recorded, artefacts: Mapping[int, Artefact], user: User | None
) -> None:
    """Write digests of the numbers, how to read the files again, and who did what."""
    by_source: dict[int, list[tuple[PlacedRun, Run]]] = defaultdict(list)
    parts: dict[int, list[Numbered]] = defaultdict(list)
    latency_rows = []
    existing_runs.forget([run.pk for numbered, run in runs if numbered.joins is not None])
    for numbered, run in runs:
        by_source[id(numbered.placed.source)].append((numbered.placed, run))
        if measured := numbered.placed.distributions:
            artefact = artefacts[id(numbered.placed.source)]
            latency_rows.append(latencies.new_block(run.pk, artefact, measured))
        if numbered.joins is None:
            parts[run.pk].append(numbered)
    LatencyBlock._base_manager.bulk_create(latency_rows, batch_size=100)
    RunContent.objects.bulk_create(
        RunContent(run_id=run_id, digest=_digest_of(run_parts))
        for run_id, run_parts in parts.items()
    )
    ImportedFile.objects.bulk_create(
        ImportedFile(
            import_of=row,
            artefact=artefacts[key],
            path=pairs[0][0].source.path,
            mapping=pairs[0][0].source.mapping,
            runs=[[file_key, run.pk] for placed, run in pairs for file_key in placed.keys],
        )
        for key, pairs in by_source.items()
    )
    run_ids = {run.pk for _, run in runs}
    row.runs.add(*run_ids)
    study = runs[0][0].series.study
    audit.note(user, "imported", f"import {row.pk}", study=study.slug, runs=len(run_ids))


def _digest_of(parts: Sequence[Numbered]) -> str:
    """That of all parts of a run together."""
    if len(parts) == 1:
        return parts[0].digest
    return digests.digest_of(*(part.placed.columns for part in parts))
