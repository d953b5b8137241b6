"""Files -> runs: the numbers of one repeat of one entry each. The site's readers and rules."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fsbench.local import files
from fsbench.local.files import FoundFile, FoundFiles, common_parts
from fsbench.local.problems import FileProblem, problem
from fsbench_web.core.comparison import imported
from fsbench_web.core.comparison.imported import KnownCells, Repeats, content_of
from fsbench_web.core.formats import NoSureTable, ParsedResult, UnknownFormat, UnreadableFile, parse
from fsbench_web.core.formats.result import OwnKey
from fsbench_web.core.formats.tables.file_numbers import FileNumbers, Samples, numbers_of
from fsbench_web.core.formats.tables.mapping import NeedsMapping
from fsbench_web.core.formats.tables.reading import MAX_NUMBERS
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.units import UnknownUnit, lower_is_better

_FAILURES = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError)
Circumstances = tuple[str, str, str, str, str, str]
"""Entry, file system, configuration, hardware, kernel, workload: what repeats have in common."""


@dataclass(eq=False)
class FileResult:
    """What one file holds. Its numbers are columns, and none are in ``parsed``."""

    file: FoundFile
    parsed: ParsedResult
    numbers: FileNumbers


@dataclass(eq=False)
class LocalRun:
    """The numbers of a file that belong to one repeat. ``number`` counts the repeats of a series.

    Files that each hold a part of a repeat have the same ``pk``.
    """

    result: FileResult
    filesystem: str
    configuration: str
    hardware: str
    said_repeat: int | None
    block: str
    kernel: str
    keys: list[OwnKey]
    columns: MeasurementColumns
    samples: Samples
    number: int = 0
    pk: int = 0

    def __post_init__(self) -> None:
        parsed = self.parsed
        self.is_of_table = parsed.tool == "table"
        if not self.is_of_table and self.keys[0][3] is not None:
            self.said_repeat = None  # a tool only counts its own
        names = ("", "") if self.is_of_table else imported.workload_name(parsed, self.columns.tests)
        self.workload, self.workload_title = names
        self.circumstances: Circumstances = (
            *(self.entry, self.filesystem, self.configuration),
            *(self.hardware, self.kernel, self.workload),
        )

    @property
    def parsed(self) -> ParsedResult:
        return self.result.parsed

    @property
    def file(self) -> str:
        return self.result.file.path

    @property
    def entry(self) -> str:
        return self.result.file.entry


@dataclass
class Reading:
    """All that was read. ``runs`` by series, oldest first."""

    results: list[FileResult] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    series: dict[Circumstances, list[LocalRun]] = field(default_factory=dict)


def read_files(found: FoundFiles) -> Reading:
    """What the files hold, without what is no result and what another file says too."""
    reading = Reading(problems=list(found.problems))
    others: list[tuple[FoundFile, Exception]] = []
    count = size = 0
    for file in found.files:
        if count > MAX_NUMBERS:
            reading.problems.append(problem("too_many_numbers", most=MAX_NUMBERS))
            break
        try:
            content = file.read()
            size += len(content)
            if size > files.MOST_BYTES:
                problem_of_size = problem("too_large", most=files.MOST_BYTES // 2**20)
                reading.problems.append(problem_of_size)
                break
            result = _read(file, content)
        except (UnknownFormat, NoSureTable, NeedsMapping) as error:
            others.append((file, error))
        except UnreadableFile as error:
            reading.problems += _problems_of(file, error)
        except UnknownUnit as error:
            reading.problems.append(problem("unit_unknown", file.path, reason=error))
        except OSError as error:
            reason = error.strerror or "input or output failed"
            reading.problems.append(problem("denied", file.path, found=file.path, reason=reason))
        except _FAILURES as error:
            reason = type(error).__name__
            reading.problems.append(problem("failed", file.path, reason=reason))
        else:
            reading.results.append(result)
            count += len(result.numbers)
    _sort_others(reading, others)
    _leave_out_duplicates(reading)
    for result in reading.results:
        for warning in result.parsed.warnings:
            reading.problems.append(
                problem("warning", result.file.path, warning.line, reason=warning.message)
            )
    return reading


def _read(file: FoundFile, content: bytes) -> FileResult:
    parsed = parse(file.name, content)
    numbers = numbers_of(parsed)
    parsed.values = []
    for unit in numbers.units():
        lower_is_better(unit)
    return FileResult(file, parsed, numbers)


def _problems_of(file: FoundFile, error: UnreadableFile) -> Iterator[FileProblem]:
    for one in error.problems:
        yield problem("unreadable", file.path, one.line, reason=one.message)


def _sort_others(reading: Reading, others: Sequence[tuple[FoundFile, Exception]]) -> None:
    """Report files that are no results: notes in a folder with results, otherwise problems."""
    has_output = any(result.parsed.tool != "table" for result in reading.results)
    for file, error in others:
        is_beside = isinstance(error, UnknownFormat) or has_output
        is_note = file.is_of_folder and bool(reading.results) and is_beside
        code = "other_file" if is_note else "unreadable"
        reading.problems.append(problem(code, file.path, reason=error))


def _leave_out_duplicates(reading: Reading) -> None:
    formats = [(result.file.path, result.parsed.format) for result in reading.results]
    same = imported.same_numbers_in(formats)
    for result in [one for one in reading.results if one.file.path in same]:
        if result.file.is_of_folder:
            reading.results.remove(result)
            other = same[result.file.path]
            reading.problems.append(problem("same_numbers", result.file.path, found=other))


def place_runs(reading: Reading, *, blocks_are_folders: bool = False) -> None:
    """Fill in ``series``: which numbers are repeats of each other, as an import decides it."""
    cells = KnownCells()
    by_series: dict[Circumstances, list[LocalRun]] = defaultdict(list)
    for result, label in zip(
        reading.results, _labels(reading, blocks_are_folders=blocks_are_folders), strict=True
    ):
        block = result.file.folder if blocks_are_folders else ""
        for placed in imported.placed_runs(result.numbers, ("", label, "", None, block, "")):
            run = LocalRun(result, *placed)
            by_series[run.circumstances].append(run)
    next_pk = 1
    for key, runs in by_series.items():
        kept = _numbered(reading, runs, cells)
        first_pk = dict.fromkeys(run.number for run in kept)
        pks = {number: next_pk + place for place, number in enumerate(first_pk)}
        next_pk += len(pks)
        for run in kept:
            run.pk = pks[run.number]
        if kept:
            reading.series[key] = sorted(kept, key=lambda run: run.pk)
    _note_doubts(reading)


def _labels(reading: Reading, *, blocks_are_folders: bool) -> list[str]:
    """The configuration of each file: its entry, and folders below that are no repeats or blocks.

    Of ext4/noatime/run-1/fio.json it is ext4_noatime: only folders with a number are repeats.
    """
    by_entry: dict[str, list[list[str]]] = defaultdict(list)
    for result in reading.results:
        by_entry[result.file.entry].append(result.file.path.split("/")[:-1])
    common = {entry: len(common_parts(folders)) for entry, folders in by_entry.items()}
    labels: dict[str, dict[str, None]] = defaultdict(dict)
    found = []
    for result in reading.results:
        file = result.file
        below = file.path.split("/")[:-1][common[file.entry] :]
        words = [imported.stem_of(part) for part in (below[:-1] if blocks_are_folders else below)]
        label = imported.as_label("_".join([file.entry, *filter(None, words)])) or "results"
        found.append(label)
        labels[file.entry][label] = None
    for entry, of_entry in labels.items():
        if len(of_entry) > 1:
            reading.problems.append(
                problem("several_configurations", found=entry, count=len(of_entry))
            )
    return found


def _numbered(reading: Reading, runs: Sequence[LocalRun], cells: KnownCells) -> list[LocalRun]:
    """The runs that are repeats, or parts of one, with their numbers."""
    measured, digests, blocks = Repeats(), dict[str, LocalRun](), dict[int, str]()
    taken = {run.said_repeat for run in runs}
    kept: list[LocalRun] = []
    for run in runs:
        content = content_of([run.columns])
        if content.twice is not None:
            first, second = run.columns.lines[list(content.twice)].tolist()
            reading.problems.append(problem("cell_twice", run.file, first=first, second=second))
            continue
        if (same := _same_run(run, digests.get(content.digest))) is not None:
            reading.problems.append(problem("given_twice", run.file, found=same.file))
            continue
        of_run = cells.of(run.columns)
        if run.said_repeat is not None:
            number = run.said_repeat
            if number in blocks and (
                blocks[number] != run.block or measured.has_any(number, of_run)
            ):
                reading.problems.append(problem("repeat_taken", run.file, found=number))
                continue
        else:
            places = measured.places(of_run)
            number = next((place for place in places if blocks[place] == run.block), 0)
            number = number or _next_number(blocks, taken)
        measured.add(number, of_run)
        blocks.setdefault(number, run.block)
        digests[content.digest] = run
        run.number = number
        kept.append(run)
    return kept


def _next_number(blocks: dict[int, str], taken: set[int | None]) -> int:
    number = max(blocks, default=0) + 1
    while number in taken:
        number += 1
    return number


def _same_run(run: LocalRun, same: LocalRun | None) -> LocalRun | None:
    """The run that holds the very same measurement, unless somebody says that they are several."""
    if same is None or run.said_repeat is not None:
        return None
    counts_repeats = run.keys[0][3] is not None or bool(run.block)
    return None if same.result is run.result and counts_repeats else same


def _note_doubts(reading: Reading) -> None:
    """That repeats are far apart, or stand under other headings: they may be none."""
    for result in reading.results:
        for doubt in result.parsed.doubts:
            reading.problems.append(
                problem("repeats_differ", result.file.path, doubt.line, reason=doubt.message)
            )
    for runs in reading.series.values():
        counted = [run for run in runs if run.said_repeat is None and not run.keys[0][1]]
        apart = imported.far_apart((run.file, run.columns) for run in counted)
        if len({run.file for run in counted}) > 1 and apart is not None:
            file, doubt = apart
            reading.problems.append(
                problem("repeats_differ", file, doubt.line, reason=doubt.message)
            )
