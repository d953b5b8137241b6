"""Files and what was said about them -> the runs they are. Nothing is stored."""

import re
from collections import defaultdict
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fsbench_web.core.comparison.imported import (
    far_apart,
    name_before_number,
    placed_runs,
    same_numbers_in,
    stem_of,
)
from fsbench_web.core.formats import (
    NoSureTable,
    ParsedResult,
    UnknownFormat,
    UnreadableFile,
    parse,
)
from fsbench_web.core.formats.fio import logs
from fsbench_web.core.formats.fio.naming import Beside, Jobs, jobs_in
from fsbench_web.core.formats.repeats import CODE
from fsbench_web.core.formats.result import OwnKey, Problem
from fsbench_web.core.formats.tables.cells import MAX_BLOCK
from fsbench_web.core.formats.tables.file_numbers import (
    FileNumbers,
    Samples,
    numbers_of,
)
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.reading import MAX_NUMBERS
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped
from fsbench_web.core.formats.text import lines_of
from fsbench_web.core.latency import Distribution
from fsbench_web.core.measurement_columns import NONE, MeasurementColumns
from fsbench_web.imports import guesses
from fsbench_web.imports.checks import (
    explained_units,
    label_problems,
    target_problems,
    unit_problems,
    unread_columns,
)
from fsbench_web.imports.problems import (
    ImportProblem,
    ImportRefused,
    losses,
    merged_warnings,
    refusal,
)
from fsbench_web.imports.sources import FOLDERS, YES, SourceFile, Target
from fsbench_web.platform import limits, plain_text
from fsbench_web.renderings import reading
from fsbench_web.studies.models import Run, Series

MAX_VALUES = MAX_NUMBERS
"""Of all files of an import together."""
_LARGEST_JOB_FILE = 64 * 1024
_JOB_MARK = re.compile(rb"(?:rw|readwrite)\s{0,8}[= ]")
_ADVICE = "Give each its own configuration, or say that they are repeats (repeats_differ)."


class TooLargeForRequest(Exception):
    """The files are more than a request stores: hand them to the importer (imports.queue)."""

    def __init__(self, plan: "Plan", notes: Sequence[ImportProblem] = ()) -> None:
        self.sources = plan.sources
        self.warnings = [*plan.warnings, *notes]
        super().__init__("These files are stored by the importer.")


@dataclass(eq=False)
class PlannedRun:
    """One run of an import: the numbers of one repeat of one configuration in a file.

    ``repeat`` None: it is numbered. ``keys`` are what the file calls it. Storing fills in
    ``series``, ``number``, ``digest`` and ``run``, which it ``joins`` where this is there already.
    """

    source: SourceFile
    parsed: ParsedResult
    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    block: str
    kernel: str
    keys: list[OwnKey]
    columns: MeasurementColumns
    samples: Samples
    series: Series | None = None
    number: int = 0
    digest: str = ""
    joins: bool = False
    run: Run | None = None

    @property
    def file(self) -> str:
        return self.source.path

    @property
    def line(self) -> int | None:
        line = int(self.columns.lines[0])
        return None if line == NONE else line

    @property
    def is_of_table(self) -> bool:
        return self.parsed.tool == "table"

    @property
    def said_repeat(self) -> int | None:
        """The repeat that a table or somebody says; a tool only counts its own."""
        is_counted = not self.is_of_table and self.keys[0][3] is not None
        return None if is_counted else self.repeat

    @property
    def lacks_settings(self) -> bool:
        """Whether it is a tool's output that says nothing of how it was made."""
        return not (self.is_of_table or self.parsed.modes or self.parsed.command)

    @property
    def reason(self) -> str:
        if self.parsed.complete:
            return f"Imported from {self.file}."
        count = len(self.columns)
        return (
            f"Imported from {self.file}. The file ends before the tool did; the {count} values it "
            "holds are kept."
        )

    @property
    def measured(self) -> guesses.MeasuredDate:
        return guesses.measured_date(self.parsed, self.keys)

    @property
    def distributions(self) -> list[Distribution]:
        """The latencies of the run's own repeats of a file that may hold several."""
        repeats = {key[3] for key in self.keys}
        return [found for found in self.parsed.distributions if found.repeat in repeats]


@dataclass
class PlannedFile:
    """One file, read; ``parsed`` and ``numbers`` are None where ``problems`` say why not.

    ``is_table``: readable once somebody explains its columns. ``is_unknown``: no output and no
    table. ``is_no_sure_table``: it only looks like one. ``is_job_file``: fio's jobs without
    numbers.
    """

    source: SourceFile
    parsed: ParsedResult | None = None
    numbers: FileNumbers | None = None
    runs: list[PlannedRun] = field(default_factory=list)
    problems: list[ImportProblem] = field(default_factory=list)
    is_table: bool = False
    is_unknown: bool = False
    is_no_sure_table: bool = False
    is_job_file: bool = False

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def unread(self) -> list[str]:
        """Columns that nothing reads, whatever was said of them."""
        return [word for _, word in self.parsed.unread_columns] if self.parsed else []

    @property
    def warnings(self) -> list[ImportProblem]:
        """What is left out of the file, and what else a reader should know."""
        if self.parsed is None:
            return []
        unread, _ = unread_columns(self.parsed.unread_columns, self.source)
        return unread + [ImportProblem.of(warning, self.path) for warning in self.parsed.warnings]


@dataclass
class Plan:
    """All files of an import, and what is wrong with what was said of them.

    ``passed_over``: files of a folder without results. ``left_out``: those that somebody left out.
    """

    files: list[PlannedFile]
    problems: list[ImportProblem] = field(default_factory=list)
    passed_over: list[PlannedFile] = field(default_factory=list)
    left_out: list[SourceFile] = field(default_factory=list)
    is_strict: bool = False

    @property
    def all_problems(self) -> list[ImportProblem]:
        """Every problem once, those of the files in their order last."""
        problems = [*self.problems, *(losses(self._not_read) if self.is_strict else [])]
        return list(
            dict.fromkeys(
                [*problems, *(problem for file in self.files for problem in file.problems)]
            )
        )

    @property
    def sources(self) -> list[SourceFile]:
        """The files as they are to be read again: what was passed over is left out."""
        others = [replace(file.source, is_left_out=True) for file in self.passed_over]
        return [*(file.source for file in self.files), *others]

    @property
    def warnings(self) -> list[ImportProblem]:
        """What is left out, and what else to know; files that are not read first."""
        left_out = [refusal("left_out", source.path, is_note=True) for source in self.left_out]
        file_warnings = (warning for file in self.files for warning in file.warnings)
        return merged_warnings([*left_out, *self._not_read, *file_warnings])

    @property
    def _not_read(self) -> list[ImportProblem]:
        return [
            replace(problem, message=f"Not read: {problem.message}")
            for file in self.passed_over
            for problem in file.problems
        ]

    @property
    def is_much(self) -> bool:
        """Whether the importer stores it.

        A run or a series takes 2 to 4 ms: on SQLite a large import blocks every writer.
        """
        runs = [run for file in self.files for run in file.runs]
        scores = (len({(test.test, test.load) for test in run.columns.tests}) for run in runs)
        return (
            len(runs) > limits.MOST_RUNS_STORED
            or sum(scores) > limits.MOST_SCORES_STORED
            or sum(len(run.columns) for run in runs) > limits.MOST_ROWS_STORED
        )

    def check(self) -> None:
        """Raise ImportRefused with every problem, if there is one."""
        if self.all_problems:
            raise ImportRefused(self.all_problems)


def plan_files(sources: Sequence[SourceFile], target: Target) -> Plan:
    """The runs in all files that are not left out, in the order given, with every problem."""
    plan = Plan([], target_problems(target), is_strict=target.strict)
    plan.left_out = [source for source in sources if source.is_left_out]
    taken = [source for source in sources if not source.is_left_out]
    if not sources:
        plan.problems.append(refusal("no_file"))
    elif not taken:
        plan.problems.append(refusal("all_left_out"))
    plan.files, problems = read_files(sources, target.kilobyte)
    plan.problems += problems
    for planned, source in zip(plan.files, taken, strict=True):
        planned.source = source
    _skip_other_files(plan)
    labels = labels_of([file.path for file in plan.files], target)
    for planned, label in zip(plan.files, labels, strict=True):
        _place_runs(planned, target, label)
    if target.repeats_differ != YES:
        _refuse_doubtful_repeats(plan.files)
    for planned in plan.files:
        if target.strict:
            planned.problems += losses(merged_warnings(planned.warnings))
    return plan


def read_files(
    sources: Sequence[SourceFile], kilobyte: str
) -> tuple[list[PlannedFile], list[ImportProblem]]:
    """Read the files in a process with limits of time and memory, and say if it was stopped.

    Job files count where they are left out, too.
    """
    try:
        return reading.call(_read_files, sources, kilobyte), []
    except reading.ReadingStopped as error:
        taken = [source for source in sources if not source.is_left_out]
        return [PlannedFile(source) for source in taken], [ImportProblem(str(error))]


def _read_files(sources: Sequence[SourceFile], kilobyte: str) -> list[PlannedFile]:
    """The files, read, each without its content: that stays where it is."""
    jobs = {source.path: _described_in(source) for source in sources}
    descriptions = _Descriptions({path: of for path, of in jobs.items() if of})
    read: dict[str, PlannedFile] = {}
    for source in sources:
        if source.path in descriptions.jobs:
            read[source.path] = planned = _read_file(source, kilobyte, {})
            if planned.is_unknown or planned.is_no_sure_table:
                planned.problems = [refusal("job_file", source.path, is_note=True)]
                planned.is_job_file = True
            else:
                descriptions.results.add(source.path)
    count = 0
    files = []
    for source in sources:
        if source.is_left_out:
            continue
        if count > MAX_VALUES:
            problem = refusal("import_too_large", source.path, most=MAX_VALUES)
            planned = PlannedFile(source, problems=[problem])
        else:
            planned = read.get(source.path) or _read_file(
                source, kilobyte, descriptions.beside(source)
            )
        count += len(planned.numbers) if planned.numbers else 0
        planned.source = replace(source, content_gzip=b"")
        files.append(planned)
    return files


def _described_in(source: SourceFile) -> Jobs:
    """The jobs of a job file, or of the commands in a script or above an output; {} of others."""
    if source.problem or source.mapping is not None or source.size_bytes > _LARGEST_JOB_FILE:
        return {}
    data = source.read()
    if not _JOB_MARK.search(data):
        return {}
    try:
        return jobs_in(lines_of(data))
    except UnreadableFile:
        return {}


@dataclass
class _Descriptions:
    """What the files of an import say of jobs, by path; ``results`` are those that hold numbers."""

    jobs: AnyMapping[str, Jobs]
    results: set[str] = field(default_factory=set)

    def beside(self, source: SourceFile) -> Beside:
        """What other files say of a file's jobs, by their names: those in its folder or above.

        A file of its own name goes first. What stands above one result is said of a log alone.
        """
        if source.beside is not None:
            return source.beside
        is_log = logs.is_named(source.name)
        paths = [
            path
            for path in self.jobs
            if source.path.startswith(path[: path.rfind("/") + 1])
            and (is_log or path not in self.results)
        ]
        named_alike = [path for path in paths if stem_of(path) == stem_of(source.path)]
        # Of two files of one name the one in the nearest folder counts.
        by_depth = sorted(named_alike or paths, key=lambda path: path.count("/"))
        return {path.rsplit("/", 1)[-1]: self.jobs[path] for path in by_depth}


def _skip_other_files(plan: Plan) -> None:
    """Leave out files without results, and those that repeat another file."""
    has_output = any(file.parsed and file.parsed.tool != "table" for file in plan.files)
    others = [
        file
        for file in plan.files
        if file.is_job_file
        or (
            file.source.is_of_folder and (file.is_unknown or (has_output and file.is_no_sure_table))
        )
    ]
    if len(others) < len(plan.files):
        plan.passed_over = others
        passed_over = {file.path for file in others}
        plan.files = [file for file in plan.files if file.path not in passed_over]
    duplicates = same_numbers_in(
        [(file.path, file.parsed.format) for file in plan.files if file.parsed]
    )
    for file in [
        file for file in plan.files if file.path in duplicates and file.source.is_of_folder
    ]:
        file.problems = [
            refusal("same_numbers", file.path, is_note=True, other=duplicates[file.path])
        ]
        plan.files.remove(file)
        plan.passed_over.append(file)


def _place_runs(planned: PlannedFile, target: Target, label: str) -> None:
    if planned.parsed is None or planned.numbers is None:
        return
    planned.runs = _runs_of(planned.source, planned.parsed, planned.numbers, target, label)
    planned.problems += [problem for run in planned.runs for problem in _run_problems(run)]
    planned.problems += _repeat_problems(planned)
    planned.problems += unread_columns(planned.parsed.unread_columns, planned.source)[1]


def labels_of(paths: Sequence[str], target: Target) -> list[str]:
    """For each file the label of its folders, or its own name where the folders are blocks."""
    if target.blocks != FOLDERS:
        return guesses.folder_labels(paths)
    labels = guesses.folder_labels([_without_folder(path) for path in paths])
    if target.configuration:
        return labels
    return [label or guesses.name_label(path) for label, path in zip(labels, paths, strict=True)]


def folder_of(path: str) -> str:
    return path.split("/")[-2] if "/" in path else ""


def _without_folder(path: str) -> str:
    """The path without that folder: it says the block, and no configuration."""
    *folders, name = path.split("/")
    return "/".join([*folders[:-1], name])


def _read_file(source: SourceFile, kilobyte: str, beside: Beside) -> PlannedFile:
    """What one file holds, or why it cannot be read; its runs are not placed yet."""
    if source.problem:
        return PlannedFile(source, problems=[ImportProblem(source.problem, source.path)])
    try:
        parsed = _read(source, beside)
    except UnreadableFile as error:
        problems = [ImportProblem.of(problem, source.path) for problem in error.problems]
        problems += unit_problems(source.path, error.units)
        is_table = source.mapping is not None or isinstance(error, NeedsMapping)
        return PlannedFile(
            source,
            problems=problems,
            is_table=is_table,
            is_unknown=isinstance(error, UnknownFormat),
            is_no_sure_table=source.mapping is None
            and isinstance(error, (NoSureTable, NeedsMapping)),
        )
    parsed.warnings += guesses.date_doubts(parsed)
    numbers, doubts_of_units = explained_units(numbers_of(parsed), parsed.tool, kilobyte)
    parsed.warnings += doubts_of_units
    parsed.values = []
    problems = unit_problems(source.path, numbers.units())
    planned = PlannedFile(source, parsed, numbers, problems=problems)
    planned.is_table = parsed.tool == "table"
    return planned


def _read(source: SourceFile, beside: Beside) -> ParsedResult:
    """What the file holds, read with its mapping where it has one. Raises UnreadableFile."""
    if source.mapping is not None:
        return parse_mapped(source.read(), Mapping.from_json(source.mapping))
    parsed = parse(source.name, source.read(), beside)
    is_ignored = any(
        word in (source.description.ignored or ()) for _, word in parsed.kernel_columns
    )
    return parsed.without_kernels() if is_ignored else parsed


def _runs_of(
    source: SourceFile,
    parsed: ParsedResult,
    numbers: FileNumbers,
    target: Target,
    folder_label: str,
) -> list[PlannedRun]:
    """What the file itself says goes first, then what was said of it, its folder, and the rest."""
    description, folder = source.description, guesses.from_folder(folder_label)
    filesystem = description.filesystem or folder.filesystem or target.filesystem
    configuration = description.configuration or folder.configuration or target.configuration
    hardware = description.hardware or target.hardware
    kernel = description.kernel or target.kernel
    block = folder_of(source.path) if target.blocks == FOLDERS else ""
    said = (filesystem, configuration, hardware, description.repeat, block, kernel)
    return [PlannedRun(source, parsed, *run) for run in placed_runs(numbers, said)]


def _repeat_problems(file: PlannedFile) -> list[ImportProblem]:
    """That one repeat is said of a tool's output that counts several itself."""
    repeats = {run.repeat for run in file.runs}
    if file.source.description.repeat is None or file.parsed is None or file.parsed.tool == "table":
        return []
    if repeats == {file.source.description.repeat}:
        return []
    return [refusal("several_repeats", file.path, found=len(repeats))]


def _run_problems(run: PlannedRun) -> list[ImportProblem]:
    problems = []
    if reason := plain_text.problem(run.block):
        problems.append(refusal("unshowable", run.file, run.line, field="block", reason=reason))
    elif len(run.block) > MAX_BLOCK:
        problems.append(refusal("block_name_too_long", run.file, run.line, most=MAX_BLOCK))
    return problems + label_problems(
        *(run.filesystem, run.configuration, run.hardware, run.kernel),
        (run.file, run.line),
        own_filesystem=bool(run.keys[0][0]),
        own_label=bool(run.keys[0][1]),
    )


def _refuse_doubtful_repeats(files: Sequence[PlannedFile]) -> None:
    groups: dict[tuple[object, ...], list[PlannedRun]] = defaultdict(list)
    by_path = {file.path: file for file in files}
    for file in files:
        for doubt in file.parsed.doubts if file.parsed else ():
            file.problems.append(_doubt(doubt, file.path))
        for run in file.runs:
            if run.repeat is None and not run.keys[0][1]:
                key = (run.filesystem, run.configuration, run.hardware, run.block, run.kernel)
                groups[(*key, run.parsed.tool, run.parsed.modes)].append(run)
    for runs in groups.values():
        if (found := _other_name(runs) or _far_apart(runs)) is not None:
            file_name, doubt = found
            by_path[file_name].problems.append(_doubt(doubt, file_name))


def _doubt(doubt: Problem, path: str) -> ImportProblem:
    return ImportProblem.of(replace(doubt, message=f"{doubt.message} {_ADVICE}"), path)


def _other_name(runs: Sequence[PlannedRun]) -> tuple[str, Problem] | None:
    """The first file with another name before its number: base-1, base-2, caching-1."""
    named = [(run.file, name_before_number(run.file)) for run in runs]
    if not all(name for _, name in named):
        return None
    first_file, first = named[0]
    for file, name in named:
        if name != first:
            message = f"{file} and {first_file} would be repeats, and are called otherwise."
            return file, Problem(None, None, message, code=CODE)
    return None


def _far_apart(runs: Sequence[PlannedRun]) -> tuple[str, Problem] | None:
    """The file with the number that is farthest from that of another file."""
    if len({run.file for run in runs}) < 2:
        return None
    return far_apart((run.file, run.columns) for run in runs)
