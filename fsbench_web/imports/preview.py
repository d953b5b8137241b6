"""What the preview page shows of an upload, and what its form says."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field, replace

import numpy as np
from django.contrib.auth.models import User

from fsbench_web.core.formats import ParsedResult
from fsbench_web.core.formats.repeats import CODE
from fsbench_web.core.formats.tables.file_numbers import FileNumbers
from fsbench_web.core.formats.tables.mapping import LONG, Mapping
from fsbench_web.core.formats.values import differences
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring import testnames
from fsbench_web.imports import mappings
from fsbench_web.imports.models import ImportFile, SavedMapping
from fsbench_web.imports.plan import PlannedFile, PlannedRun
from fsbench_web.imports.problems import ImportProblem, WarningRow
from fsbench_web.imports.sources import FileDescription, Target, read_repeat
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.storing.known_files import KnownFile
from fsbench_web.imports.uploads import Correction, Preview
from fsbench_web.platform import limits, plain_text
from fsbench_web.studies.models import Run


@dataclass(frozen=True)
class TestSummary:
    """One test of one run. Sizes are KB, None for tests without them; rates are in ``unit``."""

    test: str
    label: str
    cells: int
    unit: str
    smallest: float
    largest: float
    record_kb: tuple[int, int] | None
    file_kb: tuple[int, int] | None


def summary(columns: MeasurementColumns) -> list[TestSummary]:
    """One row a test, in IOzone's order."""
    codes_of: dict[str, list[int]] = {}
    for code, test in enumerate(columns.tests):
        codes_of.setdefault(testnames.at_load(test.test, test.load), []).append(code)
    names = sorted(codes_of, key=testnames.place)
    return [_test_summary(name, columns, codes_of[name]) for name in names]


def _test_summary(name: str, columns: MeasurementColumns, codes: list[int]) -> TestSummary:
    of_test = columns.subset(np.isin(columns.codes, codes))
    records, files = (sizes[sizes >= 0] for sizes in (of_test.records, of_test.files))
    return TestSummary(
        test=name,
        label=testnames.label(name),
        cells=len(of_test),
        unit=columns.tests[of_test.codes[0]].unit,
        smallest=float(of_test.values.min()),
        largest=float(of_test.values.max()),
        record_kb=(int(records.min()), int(records.max())) if len(records) else None,
        file_kb=(int(files.min()), int(files.max())) if len(files) else None,
    )


# Seven fields a file; Django takes 1000 fields of a form.
MAX_FILES_SHOWN = 140
MAX_RUNS_SHOWN = 12
_MOST_OFFERS = 20
OF_ALL_FILES = ("filesystem", "configuration", "hardware", "kernel")
"""What can be said of each file, or of all of them at once."""


@dataclass(frozen=True)
class RunPreview:
    """One run to be, or a part of one: ``files`` are how many there are of it."""

    planned: PlannedRun
    tests: list[TestSummary]
    more_tests: int = 0
    files: int = 1

    @property
    def run(self) -> Run:
        assert self.planned.run is not None
        return self.planned.run


@dataclass(frozen=True)
class UnreadColumns:
    """Names of a table's columns that nothing reads, whatever was said of them."""

    names: Sequence[str]
    description: FileDescription

    @property
    def as_json(self) -> str:
        """For the form, which says them again."""
        return json.dumps(self.names, ensure_ascii=False)

    @property
    def are_ignored(self) -> bool:
        return not self.open_names

    @property
    def open_names(self) -> list[str]:
        """Those that are not said to be left out yet."""
        return [name for name in self.names if name not in (self.description.ignored or ())]


@dataclass
class FilePreview:
    """One file of the upload with what was understood, and what is wrong with it."""

    row: ImportFile
    parsed: ParsedResult | None = None
    numbers: FileNumbers | None = None
    tests: list[TestSummary] = field(default_factory=list)
    """Of all its runs together, where these are not listed."""
    problems: list[ImportProblem] = field(default_factory=list)
    runs: list[RunPreview] = field(default_factory=list)
    more_runs: int = 0
    is_table: bool = False
    warnings: list[WarningRow] = field(default_factory=list)
    unread: UnreadColumns | None = None
    saved_mappings: list[SavedMapping] = field(default_factory=list)
    """Mappings that were kept for its header, where nothing says which column is what."""
    stored_file: KnownFile | None = None
    """Where the very same file is kept already."""
    own_settings: list[str] | None = None
    """Those that not all files of its tool and configuration have; None where all have the same."""

    @property
    def open_units(self) -> list[str]:
        if self.parsed is None or self.numbers is None:
            return []
        return self.numbers.open_units(self.parsed.tool)

    @property
    def proposed_names(self) -> dict[str, str]:
        """Tests of a table that are ours under another name, with ours (imports.mappings)."""
        if self.numbers is None or not self.is_table:
            return {}
        mapping = Mapping.from_json(self.row.mapping) if self.row.mapping else None
        if mapping is not None and mapping.shape != LONG:
            return {}
        return mappings.proposed_names(
            dict.fromkeys(test.test for test in self.numbers.columns.tests), mapping
        )

    @property
    def names_configurations(self) -> bool:
        """Whether the file's own columns say file system and configuration of every number."""
        return self.numbers is not None and all(key[0] and key[1] for key in self.numbers.keys)


@dataclass(frozen=True)
class UploadPreview:
    """The files of a preview, those with problems first, and what is wrong with the rest."""

    files: list[FilePreview]
    more_files: int
    problems: list[ImportProblem]
    warnings: list[WarningRow]
    run_count: int
    bad_count: int
    unread_count: int
    """Files with columns that nothing reads."""
    known_count: int = 0
    """Files that are kept already."""
    open_units: list[str] = field(default_factory=list)
    """Those that may be of 1,000 or of 1,024 bytes."""
    has_doubtful_repeats: bool = False
    """Whether it must be said of some files that they are repeats."""

    @property
    def open_columns(self) -> list[str]:
        """Names of columns that nothing reads, and that are not left out."""
        of_files = (file.unread.open_names for file in self.files if file.unread)
        return list(dict.fromkeys(name for names in of_files for name in names))


def upload_preview(rows: Sequence[ImportFile], preview: Preview, user: User) -> UploadPreview:
    """What to show of all files of an upload."""
    planned: dict[int | None, PlannedFile] = {file.source.pk: file for file in preview.plan.files}
    by_file: dict[str | None, list[ImportProblem]] = defaultdict(list)
    for problem in preview.problems:
        by_file[problem.file].append(problem)
    data: dict[str | None, list[WarningRow]] = defaultdict(list)
    for warning in preview.warnings:
        data[warning.file].append(warning.as_warning())
    files = [FilePreview(row) for row in rows]
    file_problems: set[ImportProblem] = set()
    for file in files:
        plan = planned.get(file.row.pk)
        if plan is not None:
            file.parsed, file.numbers, file.is_table = plan.parsed, plan.numbers, plan.is_table
            if preview.is_much and plan.numbers is not None:
                file.tests = summary(plan.numbers.columns)[: limits.MOST_TESTS]
            file.unread = (
                UnreadColumns(plan.unread, plan.source.description) if plan.unread else None
            )
            file.warnings = data.pop(file.row.path, [])
            file.problems = list(dict.fromkeys([*plan.problems, *by_file.pop(file.row.path, [])]))
            file_problems |= set(file.problems)
    run_count = _show_runs(files, preview)
    _distinguish_settings(files, planned)
    by_digest = known_files.by_digest(row.sha256 for row in rows)
    for file in files:
        file.stored_file = by_digest.get(file.row.sha256)
    for file in [file for file in files if file.is_table and file.parsed is None][:_MOST_OFFERS]:
        file.saved_mappings = mappings.saved_for_header(mappings.head_of(file.row), user)
    files.sort(key=lambda file: not file.problems)
    return UploadPreview(
        files=files[:MAX_FILES_SHOWN],
        more_files=max(0, len(files) - MAX_FILES_SHOWN),
        problems=[
            problem for rest in by_file.values() for problem in rest if problem not in file_problems
        ],
        warnings=[warning for rest in data.values() for warning in rest],
        run_count=run_count,
        bad_count=sum(1 for file in files if file.problems),
        unread_count=sum(1 for file in files[:MAX_FILES_SHOWN] if file.unread),
        known_count=sum(1 for file in files if file.stored_file),
        open_units=list(dict.fromkeys(unit for file in files for unit in file.open_units)),
        has_doubtful_repeats=any(problem.code == CODE for problem in preview.problems),
    )


def _show_runs(files: Iterable[FilePreview], preview: Preview) -> int:
    """Give each file the first of its runs; how many runs there are in all."""
    if preview.stored is None:
        return sum(len(file.runs) for file in preview.plan.files) if preview.is_much else 0
    runs: dict[str, list[PlannedRun]] = defaultdict(list)
    sources: dict[Run | None, set[str]] = defaultdict(set)
    for planned in preview.stored.runs:
        runs[planned.file].append(planned)
        sources[planned.run].add(planned.file)
    for file in files:
        file_runs = runs[file.row.path]
        file.more_runs = max(0, len(file_runs) - MAX_RUNS_SHOWN)
        file.runs = [
            _run(planned, len(sources[planned.run])) for planned in file_runs[:MAX_RUNS_SHOWN]
        ]
    return len(sources)


def _distinguish_settings(
    files: Sequence[FilePreview], planned: AnyMapping[int | None, PlannedFile]
) -> None:
    """Say in which settings files differ that would otherwise be repeats of each other."""
    groups: dict[tuple[str, ...], list[tuple[FilePreview, ParsedResult]]] = defaultdict(list)
    for file in files:
        plan = planned.get(file.row.pk)
        if plan is not None and plan.parsed is not None and plan.parsed.tool != "table":
            for run in plan.runs[:1]:
                key = (
                    *(plan.parsed.tool, run.filesystem, run.configuration),
                    *(run.hardware, run.kernel),
                )
                groups[key].append((file, plan.parsed))
    for group in groups.values():
        file_settings = differences([parsed for _, parsed in group])
        if any(file_settings):
            for (file, _), own_settings in zip(group, file_settings, strict=True):
                file.own_settings = own_settings


def _run(planned: PlannedRun, files: int) -> RunPreview:
    tests = summary(planned.columns)
    more = max(0, len(tests) - limits.MOST_TESTS)
    return RunPreview(planned, tests[: limits.MOST_TESTS], more, files)


def corrections_of(
    form: AnyMapping[str, str], rows: Iterable[ImportFile], target: Target
) -> tuple[dict[int, Correction], list[ImportProblem]]:
    """What the form says of each file, or of all files where that is empty; and problems."""
    corrections, problems = {}, []
    for row in rows:
        if f"configuration-{row.pk}" not in form:
            continue
        text = {
            name: form.get(f"{name}-{row.pk}", "").strip()
            for name in ("filesystem", "configuration", "hardware", "kernel", "repeat")
        }
        for name in OF_ALL_FILES:
            if name in form and text[name] in ("", getattr(target, name)):
                text[name] = form[name].strip()
        for name, value in text.items():
            problem = plain_text.problem(value)
            if problem or len(value) > 200:
                message = f"{name} is too long or cannot be shown. {problem}".strip()
                problems.append(ImportProblem(message, row.path))
                text[name] = ""
        repeat = None
        try:
            repeat = read_repeat(text.pop("repeat"))
        except ValueError as error:
            problems.append(ImportProblem(str(error), row.path))
        description = FileDescription(**text, repeat=repeat, ignored=_ignored_columns(form, row))
        corrections[row.pk] = Correction(description, is_left_out=f"take-{row.pk}" not in form)
    return corrections, problems


def _ignored_columns(form: AnyMapping[str, str], row: ImportFile) -> tuple[str, ...] | None:
    """The columns that the form says are not to be read: those it shows, all or none."""
    if f"unread-{row.pk}" not in form:
        return FileDescription.from_json(row.given).ignored
    try:
        columns = json.loads(form[f"unread-{row.pk}"])
    except (ValueError, RecursionError):
        columns = []
    is_ticked = bool({f"ignore-{row.pk}", "ignore-all"} & {*form}) and isinstance(columns, list)
    return tuple(filter(_can_be_kept, columns)) if is_ticked else ()


def _can_be_kept(word: object) -> bool:
    """Whether it is a text that both databases take; no other is a column's name."""
    return isinstance(word, str) and not re.search("[\0\ud800-\udfff]", word)


def corrected_target(target: Target, form: AnyMapping[str, str]) -> Target:
    """The target with what the form says of the whole import."""
    values = {name: form[name].strip() for name in target.texts if name in form}
    strict = form["strict"] == "true" if "strict" in form else target.strict
    return replace(target, **values, strict=strict)
