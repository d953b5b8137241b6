"""Runs to be -> which repeat each is, or part of which; and why one is none."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.formats.result import OwnKey, ParsedResult
from fsbench_web.core.formats.settings import differences
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.latency import Distribution
from fsbench_web.core.measurement_columns import NONE, MeasurementColumns
from fsbench_web.imports.dates import MeasuredDate
from fsbench_web.imports.plan import PlannedRun
from fsbench_web.imports.problems import ImportProblem, KnownRun, refusal
from fsbench_web.imports.sources import SourceFile
from fsbench_web.imports.storing.existing_runs import ExistingRuns
from fsbench_web.imports.storing.repeats import Cells, cells_of
from fsbench_web.imports.targets import ONCE
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.scores import digests
from fsbench_web.studies.scores.digests import Content

OnProgress = Callable[[str, float], None]
"""Told what is being done, and the share of it that is done."""
_MOST_NAMED = 20
_MOST_FILES_NAMED = 5
_MOST_LETTERS = 200


@dataclass(frozen=True)
class PlacedRun:
    """One run to be: what it is of, and its numbers.

    ``repeat`` is what somebody says; None: it is numbered on. ``block``: see ``Run.block``.
    ``keys`` are what the file calls the run. ``begins`` is its first line where one table
    holds all runs, which are told by it. ``planned`` is what it was made of, for whoever shows it.
    """

    source: SourceFile
    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    columns: MeasurementColumns
    keys: Sequence[OwnKey]
    reason: str
    samples: Mapping[int, Any] = field(default_factory=dict)
    workload: Workload | None = None
    environment: Environment | None = None
    begins: int | None = None
    block: str = ""
    kernel: str = ""
    measured: MeasuredDate = field(default_factory=MeasuredDate)
    planned: PlannedRun | None = None
    distributions: Sequence[Distribution] = ()

    @property
    def lacks_settings(self) -> bool:
        """Whether it is a tool's output that says nothing of how it was made."""
        if self.planned is None or self.planned.parsed.tool == "table":
            return False
        return not (self.planned.parsed.modes or self.planned.parsed.command)


@dataclass(frozen=True)
class Numbered:
    """A run that nothing stands against, or a part of one: several have the number of one repeat.

    ``joins`` is the stored run that this is a part of.
    """

    placed: PlacedRun
    series: Series
    repeat: int
    digest: str
    joins: Run | None = None


@dataclass
class Numbering:
    """What becomes of the runs of an import: repeats with their numbers, in order; what refuses it;
    and what whoever imports should know.

    ``existing`` is what the series hold, by key, and counts on. ``passed_over`` takes what is there
    already; None: it is refused.
    """

    existing: Mapping[int, ExistingRuns]
    user: User | None
    passed_over: list[KnownRun] | None = None
    runs: list[Numbered] = field(default_factory=list)
    problems: list[ImportProblem] = field(default_factory=list)
    remarks: list[ImportProblem] = field(default_factory=list)

    def number(
        self, placed: Sequence[PlacedRun], serieses: Sequence[Series], on_progress: OnProgress
    ) -> None:
        """Number all of them; ``serieses`` are those of each."""
        by_digest: dict[int, dict[str, Run | PlacedRun]] = {
            pk: {**existing.runs} for pk, existing in self.existing.items()
        }
        data: dict[int, set[int]] = defaultdict(set)
        for entry, series in zip(placed, serieses, strict=True):
            if entry.repeat is not None:
                data[series.pk].add(entry.repeat)
        for done, (entry, series) in enumerate(zip(placed, serieses, strict=True)):
            on_progress("Checking", done / len(placed))
            content = digests.content_of([entry.columns])
            same = _duplicate(entry, by_digest[series.pk].get(content.digest))
            problem = given_twice(entry.source.path, entry.columns, content)
            if problem is None and self.passed_over is not None and isinstance(same, Run):
                self.passed_over.append({"file": entry.source.path, "run": same.pk})
                continue
            problem = problem or _duplicate_problem(entry, series, same)
            if problem is None:
                problem = self._place(entry, series, content.digest, data[series.pk])
            if problem is None:
                by_digest[series.pk][content.digest] = entry
            else:
                self.problems.append(problem)
        self.remarks += [*self._of_settings(), *self._of_parts(), *self._of_unequal()]

    def _place(
        self, entry: PlacedRun, series: Series, digest: str, taken: set[int]
    ) -> ImportProblem | None:
        """Give a run its number, or say why it has none."""
        existing = self.existing[series.pk]
        cells = (
            cells_of(entry.columns)
            if existing.measured is not None and entry.begins is None
            else {}
        )
        repeat = self._repeat_of(entry, existing, cells)
        if repeat is None and entry.repeat is not None:
            return _repeat_taken(entry, series, existing)
        if repeat is None:
            repeat = existing.next_repeat
            while repeat in taken:
                repeat += 1
        joins = existing.run_to_join(repeat, self.user)
        if joins is not None:
            joins.series = series
        existing.next_repeat = max(existing.next_repeat, repeat + 1)
        existing.repeats.setdefault(repeat, None)
        existing.blocks.setdefault(repeat, entry.block)
        if existing.measured is not None and cells:
            existing.measured.add(repeat, cells)
        self.runs.append(Numbered(entry, series, repeat, digest, joins))
        return None

    def _repeat_of(self, entry: PlacedRun, existing: ExistingRuns, cells: Cells) -> int | None:
        """The repeat that is said, or that a run is a part of: it measures nothing that this has.

        None: it is a further one, or where a repeat is said, that one is taken.
        """

        def may_be(repeat: int) -> bool:
            is_new = repeat in existing.repeats and existing.repeats[repeat] is None
            is_there = is_new or existing.run_to_join(repeat, self.user) is not None
            has_room = (
                existing.measured is None
                or existing.measured.parts(repeat) < limits.MOST_OUTPUTS_OF_RUN
            )
            return is_there and has_room and existing.blocks.get(repeat, "") == entry.block

        if entry.repeat is None:
            places = (
                existing.measured.places(cells) if existing.measured is not None and cells else []
            )
            return next((repeat for repeat in places if may_be(repeat)), None)
        if entry.repeat not in existing.repeats:
            return entry.repeat
        is_part = (
            existing.measured is not None
            and cells
            and may_be(entry.repeat)
            and not existing.measured.has_any(entry.repeat, cells)
        )
        return entry.repeat if is_part else None

    def _of_settings(self) -> Iterator[ImportProblem]:
        """That outputs of one tool are no repeats of each other, and by which settings."""
        groups: dict[tuple[str, ...], dict[int, ParsedResult]] = defaultdict(dict)
        for numbered in self.runs:
            planned = numbered.placed.planned
            if planned is not None and planned.parsed.tool != "table":
                placed = numbered.placed
                key = (
                    planned.parsed.tool,
                    placed.filesystem,
                    placed.configuration,
                    placed.hardware,
                    placed.kernel,
                )
                groups[key].setdefault(numbered.series.pk, planned.parsed)
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
        by_repeat: dict[tuple[int, int], list[Numbered]] = defaultdict(list)
        for numbered in self.runs:
            by_repeat[numbered.series.pk, numbered.repeat].append(numbered)
        groups = [
            group for group in by_repeat.values() if len(group) > 1 or group[0].joins is not None
        ]
        for group in groups[:_MOST_NAMED]:
            names = list(dict.fromkeys(numbered.placed.source.path for numbered in group))
            first, others = group[0], len(names) - _MOST_FILES_NAMED
            files = ", ".join(names[:_MOST_FILES_NAMED])
            files += f" and {others:,} more files" if others > 0 else ""
            description = f"part of repeat {first.repeat} of {first.series.configuration.label}"
            description += f" (run {first.joins.pk})" if first.joins is not None else ""
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
        by_series: dict[int, list[Numbered]] = defaultdict(list)
        for numbered in self.runs:
            by_series[numbered.series.pk].append(numbered)
        for pk, group in by_series.items():
            measured, label = self.existing[pk].measured, group[0].series.configuration.label
            if measured is None or len(measured) < 2:
                continue
            files = {numbered.repeat: numbered.placed.source.path for numbered in reversed(group)}
            unequal = [repeat for repeat in measured.unequal if repeat in files]
            for repeat in unequal[:_MOST_NAMED]:
                message = f"Repeat {repeat} of {label} lacks {measured.missing_cells(repeat)}."
                yield _note(message, files[repeat])
            if others := len(measured.unequal) - len(unequal):
                yield _note(f"{others:,} of the stored repeats of {label} lack some values too.")
            if (more := len(unequal) - _MOST_NAMED) > 0:
                yield _note(f"And {more:,} more repeats of {label} lack some.")
            silent = next((numbered for numbered in group if numbered.placed.lacks_settings), None)
            if silent is not None:
                yield _note(
                    f"It says no settings: repeats of {label} are repeats only if these were the "
                    "same. Give it another configuration where they were not.",
                    silent.placed.source.path,
                )


def _note(message: str, file: str | None = None) -> ImportProblem:
    """A warning that loses nothing."""
    return ImportProblem(message, file, is_note=True)


def given_twice(path: str, columns: MeasurementColumns, content: Content) -> ImportProblem | None:
    """That a run has two numbers of one cell; ``content`` is that of its columns."""
    if content.twice is None:
        return None
    first, second = columns.lines[list(content.twice)].tolist()
    return refusal("cell_twice_in_run", path, second, first=first)


def _duplicate(entry: PlacedRun, same: Run | PlacedRun | None) -> Run | PlacedRun | None:
    """The run, or that of this import, which holds the very same measurement, or None.

    Who numbers the repeats, in a table or in the preview, says that they are several, also when a
    coarse clock gave two of them the same numbers; the same file sent again is then told by its
    numbers of repeats. A tool that ran several times in one file may print the same each time.
    """
    counts_repeats = entry.keys[0][3] is not None or bool(entry.block)
    if isinstance(same, PlacedRun) and same.source is entry.source and counts_repeats:
        return None
    if entry.repeat is None or (isinstance(same, Run) and same.repeat == entry.repeat):
        return same
    return None


def _duplicate_problem(
    entry: PlacedRun, series: Series, same: Run | PlacedRun | None
) -> ImportProblem | None:
    """That the very same numbers are there, in ``same``, or None.

    No problem names a run of this very import: nobody can look at it yet.
    """
    file, label = entry.source.path, series.configuration.label
    if isinstance(same, PlacedRun) and same.begins is None:
        return refusal("numbers_twice", file, other=same.source.path, once=ONCE)
    if isinstance(same, PlacedRun):
        return refusal("run_twice", file, entry.begins, first=same.begins, once=ONCE)
    if same is not None:
        return refusal(
            "numbers_known",
            file,
            entry.begins,
            run_id=same.pk,
            run=same.pk,
            repeat=same.repeat,
            label=label,
            study=series.study.slug,
            once=ONCE,
        )
    return None


def _repeat_taken(entry: PlacedRun, series: Series, existing: ExistingRuns) -> ImportProblem:
    """That the repeat which is said measured the same already."""
    line = int(entry.columns.lines[0])
    first = None if line == NONE else line
    assert entry.repeat is not None
    return refusal(
        "repeat_taken",
        entry.source.path,
        first,
        run_id=existing.repeats[entry.repeat],
        repeat=entry.repeat,
        label=series.configuration.label,
    )
