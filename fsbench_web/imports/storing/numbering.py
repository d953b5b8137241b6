"""Planned runs -> the repeat that each is, or is part of, next to what a series holds already."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F

from fsbench_web.core.comparison import imported
from fsbench_web.core.comparison.imported import Cells, Content, KnownCells, Repeats
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import differences
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.imports.models import RunContent
from fsbench_web.imports.plan import PlannedRun
from fsbench_web.imports.problems import ImportProblem, KnownRun, refusal
from fsbench_web.imports.targets import ONCE
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.scores import measurements, quality
from fsbench_web.studies.scores.measurements import StoredBlock

OnProgress = Callable[[str, float], None]
"""Called with what is being done, and the share that is done."""
_MOST_NAMED = 20
_MOST_FILES_NAMED = 5
_MOST_LETTERS = 200
_READ = ("series_id", "repeat", "state", "origin", "created_by_id")
MOST_COMPARED = 1_000_000
"""Numbers of a series that are read to know what its repeats measured."""


@dataclass
class ExistingRuns:
    """What a series holds: finished runs by digest, all repeats with their runs and blocks.

    A repeat of this import has no run yet. ``measured``: None if not asked for, or too much.
    ``runs`` also has parts of runs that came as several files.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    repeats: dict[int, int | None] = field(default_factory=dict)
    blocks: dict[int, str] = field(default_factory=dict)
    next_repeat: int = 1
    finished: list[Run] = field(default_factory=list)
    measured: Repeats | None = None

    def run_to_join(self, repeat: int, user: User | None) -> Run | None:
        """The run of a repeat that ``user`` imported, which further files of theirs may add to."""
        return next(
            (
                run
                for run in self.finished
                if run.pk == self.repeats.get(repeat)
                and run.origin == Run.Origin.IMPORTED
                and run.created_by_id == (user.pk if user else None)
            ),
            None,
        )


def of_series(serieses: Iterable[Series], *, with_cells: bool = False) -> dict[int, ExistingRuns]:
    """What each series holds, by its key. The caller holds their locks (series.lock_all).

    Missing digests are counted now. ``with_cells``: what its runs measured is read too.
    """
    by_series = {series.pk: ExistingRuns() for series in serieses}
    runs = Run._base_manager.filter(series__in=by_series).order_by("pk")
    for run in runs.only(*_READ, *quality.READ_OF_RUNS).annotate(digest=F("content__digest")):
        existing = by_series[run.series_id]
        existing.repeats[run.repeat], existing.blocks[run.repeat] = run.pk, run.block
        existing.next_repeat = max(existing.next_repeat, run.repeat + 1)
        if run.state == RunState.DONE:
            existing.finished.append(run)
            existing.runs[run.digest or digest_of(run.pk)] = run
    if with_cells:
        _add_cells(by_series)
    return by_series


def _add_cells(by_series: dict[int, ExistingRuns]) -> None:
    """What the finished runs measured; one query where there are any."""
    finished = {run.pk: run for existing in by_series.values() for run in existing.finished}
    blocks: dict[int, list[StoredBlock]] = defaultdict(list)
    if finished:
        for block in measurements.listed(measurements.of_finished(by_series), samples=False):
            blocks[block.series_id].append(block)
    for pk, existing in by_series.items():
        count = sum(block.count for block in blocks[pk])
        if count > MOST_COMPARED:
            continue
        existing.measured, cells = Repeats(), KnownCells()
        by_output: dict[tuple[int, int | None], list[MeasurementColumns]] = defaultdict(list)
        for block in blocks[pk]:
            columns = block.read().columns
            existing.measured.add(finished[block.run_id].repeat, cells.of(columns))
            by_output[block.run_id, block.artefact_id].append(columns)
        outputs = Counter(run_id for run_id, _ in by_output)
        for (run_id, _), parts in by_output.items():
            if outputs[run_id] > 1:
                existing.runs.setdefault(imported.digest_of(*parts), finished[run_id])


def digest_of(run_id: int) -> str:
    """The digest of the numbers that a run holds, counted now."""
    blocks = measurements.read(measurements.of_run(run_id))
    return imported.digest_of(*(numbers.columns for numbers in blocks))


def forget(run_ids: Sequence[int]) -> None:
    """The numbers of these runs have changed."""
    if run_ids:
        RunContent.objects.filter(run_id__in=run_ids).delete()


@dataclass
class Numbering:
    """Which repeat each run of an import becomes, what refuses it, and remarks.

    ``existing``: what the series hold. ``passed_over`` takes known runs; None: they are refused.
    """

    existing: Mapping[int, ExistingRuns]
    user: User | None
    passed_over: list[KnownRun] | None = None
    runs: list[PlannedRun] = field(default_factory=list)
    problems: list[ImportProblem] = field(default_factory=list)
    remarks: list[ImportProblem] = field(default_factory=list)
    _cells: KnownCells = field(default_factory=KnownCells)

    def number(
        self, placed: Sequence[PlannedRun], serieses: Sequence[Series], on_progress: OnProgress
    ) -> None:
        """Number all of them; ``serieses`` are those of each."""
        by_digest: dict[int, dict[str, Run | PlannedRun]] = {
            pk: {**existing.runs} for pk, existing in self.existing.items()
        }
        data: dict[int, set[int]] = defaultdict(set)
        for entry, series in zip(placed, serieses, strict=True):
            entry.series = series
            if entry.said_repeat is not None:
                data[series.pk].add(entry.said_repeat)
        for done, (entry, series) in enumerate(zip(placed, serieses, strict=True)):
            on_progress("Checking", done / len(placed))
            content = imported.content_of([entry.columns])
            entry.digest = content.digest
            same = _duplicate(entry, by_digest[series.pk].get(content.digest))
            problem = _given_twice(entry, content)
            if problem is None and self.passed_over is not None and isinstance(same, Run):
                self.passed_over.append({"file": entry.source.path, "run": same.pk})
                continue
            problem = problem or _duplicate_problem(entry, series, same)
            if problem is None:
                problem = self._place(entry, series, data[series.pk])
            if problem is None:
                by_digest[series.pk][content.digest] = entry
            else:
                self.problems.append(problem)
        self.remarks += [*self._of_settings(), *self._of_parts(), *self._of_unequal()]

    def _place(self, entry: PlannedRun, series: Series, taken: set[int]) -> ImportProblem | None:
        """Give a run its number, or say why it has none."""
        existing = self.existing[series.pk]
        cells = self._cells.of(entry.columns) if existing.measured is not None else {}
        repeat = self._repeat_of(entry, existing, cells)
        if repeat is None and entry.said_repeat is not None:
            return _repeat_taken(entry, series, existing)
        if repeat is None:
            repeat = existing.next_repeat
            while repeat in taken:
                repeat += 1
        entry.number, entry.run = repeat, existing.run_to_join(repeat, self.user)
        if entry.run is not None:
            entry.joins, entry.run.series = True, series
        existing.next_repeat = max(existing.next_repeat, repeat + 1)
        existing.repeats.setdefault(repeat, None)
        existing.blocks.setdefault(repeat, entry.block)
        if existing.measured is not None and cells:
            existing.measured.add(repeat, cells)
        self.runs.append(entry)
        return None

    def _repeat_of(self, entry: PlannedRun, existing: ExistingRuns, cells: Cells) -> int | None:
        """The repeat that is said, or that a run is part of; None: a further one, or taken."""

        def may_be(repeat: int) -> bool:
            is_new = repeat in existing.repeats and existing.repeats[repeat] is None
            is_there = is_new or existing.run_to_join(repeat, self.user) is not None
            has_room = (
                existing.measured is None
                or existing.measured.parts(repeat) < limits.MOST_OUTPUTS_OF_RUN
            )
            return is_there and has_room and existing.blocks.get(repeat, "") == entry.block

        if entry.said_repeat is None:
            places = (
                existing.measured.places(cells) if existing.measured is not None and cells else []
            )
            return next((repeat for repeat in places if may_be(repeat)), None)
        if entry.said_repeat not in existing.repeats:
            return entry.said_repeat
        is_part = (
            existing.measured is not None
            and cells
            and may_be(entry.said_repeat)
            and not existing.measured.has_any(entry.said_repeat, cells)
        )
        return entry.said_repeat if is_part else None

    def _of_settings(self) -> Iterator[ImportProblem]:
        """That outputs of one tool are no repeats of each other, and by which settings."""
        groups: dict[tuple[str, ...], dict[int, ParsedResult]] = defaultdict(dict)
        for run in self.runs:
            if not run.is_of_table and run.series is not None:
                key = run.parsed.tool, run.filesystem, run.configuration, run.hardware, run.kernel
                groups[key].setdefault(run.series.pk, run.parsed)
        several = [
            (key, list(outputs.values())) for key, outputs in groups.items() if len(outputs) > 1
        ]
        for (tool, _, label, *_), outputs in several[:_MOST_NAMED]:
            settings = dict.fromkeys(
                setting for settings in differences(outputs) for setting in settings
            )
            named = quoted("; ".join(settings), _MOST_LETTERS) if settings else "what it measured"
            finding = f"{len(outputs):,} workloads, which are no repeats of each other"
            yield _note(f"{tool} on {label}: {finding}, by {named}.")
        if (more := len(several) - _MOST_NAMED) > 0:
            yield _note(f"And {more:,} more tools with several workloads.")

    def _of_parts(self) -> Iterator[ImportProblem]:
        """That files are parts of one repeat, because each measures what the others do not."""
        groups = [
            group for group in by_repeat(self.runs).values() if len(group) > 1 or group[0].joins
        ]
        for group in groups[:_MOST_NAMED]:
            names = list(dict.fromkeys(run.file for run in group))
            first, others = group[0], len(names) - _MOST_FILES_NAMED
            files = ", ".join(names[:_MOST_FILES_NAMED])
            files += f" and {others:,} more files" if others > 0 else ""
            description = f"part of repeat {first.number} of {_label(first)}"
            if first.joins and first.run is not None:
                description += f" (run {first.run.pk})"
            is_alone = len(names) == 1
            yield _note(
                f"{f'P{description[1:]}' if is_alone else f'{files}: {description}'}, because "
                "nothing in one is measured in another. Say the repeat of a file that belongs to "
                "another one.",
                names[0] if is_alone else None,
            )
        if (more := len(groups) - _MOST_NAMED) > 0:
            yield _note(f"And {more:,} more repeats that came as several files.")

    def _of_unequal(self) -> Iterator[ImportProblem]:
        """That a repeat lacks what others have, and that nobody can know whether it is one."""
        by_series: dict[int, list[PlannedRun]] = defaultdict(list)
        for run in self.runs:
            if run.series is not None:
                by_series[run.series.pk].append(run)
        for pk, group in by_series.items():
            measured, label = self.existing[pk].measured, _label(group[0])
            if measured is None or len(measured) < 2:
                continue
            files = {run.number: run.file for run in reversed(group)}
            unequal = [repeat for repeat in measured.unequal if repeat in files]
            for repeat in unequal[:_MOST_NAMED]:
                message = f"Repeat {repeat} of {label} lacks {measured.missing_cells(repeat)}."
                yield _note(message, files[repeat])
            if others := len(measured.unequal) - len(unequal):
                yield _note(f"{others:,} of the stored repeats of {label} lack some values too.")
            if (more := len(unequal) - _MOST_NAMED) > 0:
                yield _note(f"And {more:,} more repeats of {label} lack some.")
            if (silent := next((run for run in group if run.lacks_settings), None)) is not None:
                yield _note(
                    f"It says no settings: repeats of {label} are repeats only if these were the "
                    "same. Give it another configuration where they were not.",
                    silent.file,
                )


def by_repeat(runs: Iterable[PlannedRun]) -> dict[tuple[int, int], list[PlannedRun]]:
    """The parts of each repeat, by its series and its number."""
    parts: dict[tuple[int, int], list[PlannedRun]] = defaultdict(list)
    for run in runs:
        assert run.series is not None
        parts[run.series.pk, run.number].append(run)
    return parts


def _label(run: PlannedRun) -> str:
    assert run.series is not None
    return run.series.configuration.label


def _note(message: str, file: str | None = None) -> ImportProblem:
    return ImportProblem(message, file, is_note=True)


def _given_twice(run: PlannedRun, content: Content) -> ImportProblem | None:
    """That a run has two numbers of one cell; ``content`` is that of its columns."""
    if content.twice is None:
        return None
    first, second = run.columns.lines[list(content.twice)].tolist()
    return refusal("cell_twice_in_run", run.file, second, first=first)


def _duplicate(entry: PlannedRun, same: Run | PlannedRun | None) -> Run | PlannedRun | None:
    """The stored or planned run that holds the very same measurement, or None.

    Who numbers the repeats says that they are several: a coarse clock may give equal numbers. A
    tool that ran several times in one file may print the same each time.
    """
    counts_repeats = entry.keys[0][3] is not None or bool(entry.block)
    if isinstance(same, PlannedRun) and same.source is entry.source and counts_repeats:
        return None
    if entry.said_repeat is None or (isinstance(same, Run) and same.repeat == entry.said_repeat):
        return same
    return None


def _duplicate_problem(
    entry: PlannedRun, series: Series, same: Run | PlannedRun | None
) -> ImportProblem | None:
    """That the very same numbers are there, in ``same``, or None.

    No problem names a run of this very import: nobody can look at it yet.
    """
    if isinstance(same, PlannedRun):
        if same.source is entry.source:
            return refusal("run_twice", entry.file, entry.line, first=same.line, once=ONCE)
        return refusal("numbers_twice", entry.file, other=same.file, once=ONCE)
    if same is not None:
        said: dict[str, Any] = {"repeat": same.repeat, "label": _label(entry)}
        return refusal(
            "numbers_known",
            entry.file,
            entry.line if entry.is_of_table else None,
            run_id=same.pk,
            run=same.pk,
            once=ONCE,
            study=series.study.slug,
            **said,
        )
    return None


def _repeat_taken(entry: PlannedRun, series: Series, existing: ExistingRuns) -> ImportProblem:
    assert entry.said_repeat is not None
    return refusal(
        "repeat_taken",
        entry.file,
        entry.line,
        run_id=existing.repeats[entry.said_repeat],
        repeat=entry.said_repeat,
        label=series.configuration.label,
    )
