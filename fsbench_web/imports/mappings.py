"""Which column of a table is what: the mapping page's form, and mappings kept by name."""

import gzip
import io
import json
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import Team
from fsbench_web.core.formats import Problem, UnreadableFile
from fsbench_web.core.formats.archive import is_spreadsheet
from fsbench_web.core.formats.tables.cells import FIELDS, MAX_TEST, other_name, unit_of
from fsbench_web.core.formats.tables.grid import GAPS, MOST_LOOKED_AT, SPACES, Grid, Row
from fsbench_web.core.formats.tables.mapping import (
    LONG,
    MATRIX,
    MOST_NAMES,
    TESTS,
    Mapping,
    header_digest,
)
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped, tables_of
from fsbench_web.core.formats.tables.table import proposal, shape_reason
from fsbench_web.imports.models import Import, ImportFile, ImportState, SavedMapping
from fsbench_web.imports.problems import COLUMN_LABELS, ImportProblem, ImportRefused
from fsbench_web.platform import plain_text
from fsbench_web.renderings import reading

_Answer = TypeVar("_Answer")
ROWS_SHOWN = 12
COLUMNS_SHOWN = 60
SAID_OF_COLUMNS = ("filesystem", "configuration", "repeat")
"""What the page asks of a column with numbers."""
_HEAD_BYTES = 64 * 1024
_MOST_DIGITS = 7
"""Of a column or a line: no table has more of either."""
_MOST_LOOKED_AT, _MOST_OFFERED = 50, 5
_MOST_OF_REST = 1024 * 1024
_MOST_OF_NAME = 100
_MOST_OF_WORD, _MOST_OF_FORM = 60, 2000
"""Characters of a word for not measured, and of all of them."""


@dataclass(frozen=True)
class ColumnPreview:
    """A column from 0: its header, test, unit, what was said of it, and whether it is ignored."""

    number: int
    header: str
    test: str
    unit: str
    said: dict[str, str]
    is_ignored: bool


@dataclass(frozen=True)
class FieldPreview:
    name: str
    label: str
    column: int | None
    constant: str
    takes_constant: bool
    elsewhere: bool
    """Whether its column is one that is not shown."""


@dataclass(frozen=True)
class TablePreview:
    mapping: Mapping
    sheets: list[str]
    rows: list[Row]
    row_count: int
    width: int
    columns: list[ColumnPreview]
    """The COLUMNS_SHOWN from ``first`` on."""
    rest: str
    """What is said of the other columns, as JSON, for the form to send again."""
    fields: list[FieldPreview]
    names: dict[str, str]
    """Words in the column of tests: what each is said to mean, or is proposed to."""
    reason: str
    """Why it is proposed to be of this shape; "" where somebody said it."""
    first: int = 0

    @property
    def pages(self) -> list[tuple[int, int, int]]:
        """Place of the first column of each page, and the numbers of its first and last one."""
        starts = range(0, self.width, COLUMNS_SHOWN) if self.width > COLUMNS_SHOWN else ()
        return [(start, start + 1, min(start + COLUMNS_SHOWN, self.width)) for start in starts]


def table_preview(data: bytes, mapping: Mapping | None, first: int = 0) -> TablePreview:
    """The table as ``mapping`` or a proposal says, from column ``first``. Raises UnreadableFile."""
    table = _called(_table_or_problems, data, mapping, first)
    if isinstance(table, list):
        raise UnreadableFile(table)
    return table


def _table_or_problems(
    data: bytes, mapping: Mapping | None, first: int
) -> TablePreview | list[Problem]:
    try:
        return _table(data, mapping, first)
    except UnreadableFile as error:
        return error.problems


def _table(data: bytes, mapping: Mapping | None, first: int) -> TablePreview:
    tables = tables_of(data, mapping.delimiter if mapping else "")
    grid = next((table for table in tables if mapping and table.name == mapping.sheet), tables[0])
    shown_mapping = mapping or proposal(grid) or Mapping(delimiter=grid.delimiter, sheet=grid.name)
    rows = [row for row in grid.rows if not row.problem]
    header = _header(grid, shown_mapping)
    width = max([len(row.words) for row in rows[:ROWS_SHOWN]] + [len(header)])
    first = first if first < width else 0
    window = range(first, min(width, first + COLUMNS_SHOWN))
    columns = [
        ColumnPreview(
            number,
            header[number] if number < len(header) else "",
            *shown_mapping.tests.get(number, ("", "")),
            shown_mapping.column_constants.get(number, {}),
            number in shown_mapping.ignored,
        )
        for number in window
    ]
    fields = [
        FieldPreview(
            name,
            COLUMN_LABELS[name],
            shown_mapping.columns.get(name),
            shown_mapping.constants.get(name, ""),
            name != "value",
            name in shown_mapping.columns and shown_mapping.columns[name] not in window,
        )
        for name in FIELDS
    ]
    return TablePreview(
        shown_mapping,
        [table.name for table in tables],
        [Row(row.line, row.words[window.start : window.stop]) for row in rows[:ROWS_SHOWN]],
        len(rows) + max(0, len(grid.lines) - MOST_LOOKED_AT),
        width,
        columns,
        _rest_of(shown_mapping, window),
        fields,
        _names(rows, shown_mapping),
        "" if mapping else shape_reason(grid, shown_mapping),
        first,
    )


def _rest_of(mapping: Mapping, window: range) -> str:
    kept = mapping.to_json()
    return json.dumps(
        {
            "tests": [entry for entry in kept["tests"] if entry[0] not in window],
            "column_constants": [
                entry for entry in kept["column_constants"] if entry[0] not in window
            ],
            "ignored": [number for number in mapping.ignored if number not in window],
        }
    )


def _said_of_rest(text: str) -> Mapping:
    """What the form repeats of columns that it does not show; nothing of what it cannot have."""
    try:
        said = Mapping.from_json(json.loads(text[:_MOST_OF_REST]))
        texts = [
            *said.tests.values(),
            *(tuple(pairs.values()) for pairs in said.column_constants.values()),
        ]
        if all(isinstance(word, str) for words in texts for word in words) and all(
            isinstance(number, int) for number in said.ignored
        ):
            return said
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return Mapping()


def first_of(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0


def proposed_names(tests: Iterable[str], mapping: Mapping | None) -> dict[str, str]:
    """The tests that are ours under another name, with ours, if their meaning is open."""
    names = {*mapping.names, *(test for test, _ in mapping.tests.values())} if mapping else set()
    proposals = {test: other_name(test) for test in tests if test not in names}
    return {test: name for test, name in proposals.items() if name}


def _names(rows: list[Row], mapping: Mapping) -> dict[str, str]:
    column = mapping.columns.get("test")
    if column is None or mapping.shape == MATRIX:
        return {}
    words = dict.fromkeys(
        row.words[column].strip().lower()
        for row in rows
        if row.line > mapping.header_line and column < len(row.words)
    )
    by_word = {word: mapping.names.get(word) or other_name(word) for word in words}
    by_word = {**mapping.names, **{word: name for word, name in by_word.items() if name}}
    return dict(list(by_word.items())[:MOST_NAMES])


def _header(grid: Grid, mapping: Mapping) -> list[str]:
    return next((row.words for row in grid.rows if row.line == mapping.header_line), [])


def mapping_of(form: AnyMapping[str, str]) -> Mapping:
    """What the mapping page's form says; what cannot be is refused by Mapping.check."""
    shape = form.get("shape", LONG)
    first = first_of(form.get("first", ""))
    window = range(first, first + COLUMNS_SHOWN)
    rest = _said_of_rest(form.get("rest", ""))
    columns = {
        name: int(text[:_MOST_DIGITS])
        for name in FIELDS
        if shape != MATRIX and (text := form.get(f"column-{name}", "")).isdecimal()
    }
    if shape == TESTS:
        columns.pop("value", None)
    constants = {
        name: text
        for name in FIELDS
        if name not in columns and (text := form.get(f"constant-{name}", "").strip()[:200])
    }
    tests = rest.tests if shape == TESTS else {}
    tests |= {
        number: (test, unit_of(form.get(f"unit-{number}", "")))
        for number in window
        if shape == TESTS and (test := form.get(f"test-{number}", "").strip())
    }
    column_constants = {n: said for n, said in rest.column_constants.items() if n in tests}
    column_constants |= {
        number: said
        for number in window
        if number in tests
        and (
            said := {
                name: text
                for name in SAID_OF_COLUMNS
                if (text := form.get(f"{name}-of-{number}", "").strip()[:200])
            }
        )
    }
    names = {
        word: form.get(f"meant-{number}", "").strip()[:MAX_TEST] or word
        for number in range(MOST_NAMES)
        if shape != MATRIX and (word := form.get(f"word-{number}", "")[:200])
    }
    line = form.get("header_line", "1")
    return Mapping(
        shape=shape,
        header_line=int(line) if line.isdecimal() and len(line) <= _MOST_DIGITS else 0,
        delimiter={"tab": "\t", "space": SPACES, "gap": GAPS}.get(
            form.get("delimiter", ""), form.get("delimiter", "")
        ),
        decimal=form.get("decimal", ""),
        columns=columns,
        constants=constants,
        tests=tests,
        rows_are=form.get("rows_are", "file"),
        record_unit=form.get("record_unit", "KB"),
        file_unit=form.get("file_unit", "KB"),
        sheet=form.get("sheet", ""),
        names=names,
        not_measured=[
            word.strip()[:_MOST_OF_WORD]
            for word in form.get("not_measured", "")[:_MOST_OF_FORM].split(",")
            if word.strip()
        ],
        column_constants=column_constants,
        ignored=[*rest.ignored, *(number for number in window if f"ignored-{number}" in form)],
        repeats=form.get("repeats", ""),
        has_cell_units="has_cell_units" in form,
    )


def check(file: ImportFile, data: bytes, mapping: Mapping) -> list[ImportProblem]:
    """Everything that stands against reading a file with a mapping."""
    return [ImportProblem.of(problem, file.path) for problem in _called(_problems, data, mapping)]


def _problems(data: bytes, mapping: Mapping) -> list[Problem]:
    try:
        parse_mapped(data, mapping)
    except UnreadableFile as error:
        return error.problems
    return []


def _called(
    function: Callable[..., _Answer | list[Problem]], *arguments: Any
) -> _Answer | list[Problem]:
    """What a function gives that reads a table, or the problem of one that was stopped."""
    try:
        return reading.call(function, *arguments)
    except reading.ReadingStopped as error:
        return [Problem(None, None, str(error))]


def keep(
    file: ImportFile,
    data: bytes,
    mapping: Mapping,
    user: User,
    name: str,
    team_name: str = "",
    *,
    is_new: bool = True,
) -> None:
    """Read a file so from now on, and keep a new mapping that has a name.

    Raises ImportRefused with all that is wrong, and Import.DoesNotExist as ``apply`` does.
    """
    problems = check(file, data, mapping)
    team = Team.objects.filter(members=user, name=team_name).first()
    if len(name) > _MOST_OF_NAME:
        problems.append(ImportProblem("The name of the mapping is too long."))
    if reason := plain_text.problem(name):
        problems.append(ImportProblem(f"The name of the mapping cannot be shown. {reason}"))
    if team_name and team is None:
        problems.append(ImportProblem(f'You are not a member of a team "{team_name[:80]}".'))
    if problems:
        raise ImportRefused(problems)
    apply(file, mapping, name)
    if not (name and is_new):
        return
    digest = _digests(data, [mapping])[0]
    values = {"header_digest": digest, "mapping": mapping.to_json(), "team": team}
    with transaction.atomic():
        SavedMapping.objects.update_or_create(name=name, created_by=user, defaults=values)
        if team is not None:
            # It says how tables of other people may be read.
            audit.note(user, "columns kept", f"columns {name}", team=team.name)


def _digests(data: bytes, mappings: list[Mapping]) -> list[str]:
    """Of the header that each mapping names; "" where the table cannot be read so."""
    try:
        return reading.call(_read_digests, data, mappings)
    except reading.ReadingStopped:
        return [""] * len(mappings)


def _read_digests(data: bytes, mappings: list[Mapping]) -> list[str]:
    tables: dict[str, list[Grid]] = {}
    digests = []
    for mapping in mappings:
        try:
            if mapping.delimiter not in tables:
                tables[mapping.delimiter] = tables_of(data, mapping.delimiter)
        except UnreadableFile:
            tables[mapping.delimiter] = []
        grids = tables[mapping.delimiter]
        grid = next((grid for grid in grids if grid.name == mapping.sheet), next(iter(grids), None))
        digests.append(header_digest(_header(grid, mapping)) if grid else "")
    return digests


def of(user: User) -> QuerySet[SavedMapping]:
    """The mappings that somebody may use: their own first, then those of their teams."""
    teams = Team.objects.filter(pk=OuterRef("team"), members=user)
    lent = Exists(teams.filter(members=OuterRef("created_by")))
    is_others = Case(When(created_by=user, then=0), default=1)
    return (
        SavedMapping.objects.filter(Q(created_by=user) | lent)
        .select_related("created_by", "team")
        .order_by(is_others, "-created_at", "-id")
    )


def saved_for_header(data: bytes, user: User) -> list[SavedMapping]:
    """Those for tables with this header. ``data`` is the table, or its first lines."""
    kept = list(of(user)[:_MOST_LOOKED_AT])
    digests = _digests(data, [Mapping.from_json(saved.mapping) for saved in kept]) if kept else []
    pairs = zip(kept, digests, strict=True)
    return [saved for saved, digest in pairs if digest and digest == saved.header_digest][
        :_MOST_OFFERED
    ]


def head_of(file: ImportFile) -> bytes:
    """The first whole lines of a table, all of a spreadsheet: enough to know its columns."""
    with gzip.GzipFile(fileobj=io.BytesIO(file.content_gzip)) as stream:
        head = stream.read(_HEAD_BYTES)
        if is_spreadsheet(head):
            return head + stream.read()
    return head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1] or head


@transaction.atomic
def apply(file: ImportFile, mapping: Mapping, name: str) -> None:
    """Read a file so from now on. Raises Import.DoesNotExist if it was accepted meanwhile.

    ``name`` is what the mapping is kept by, or "".
    """
    # Asked under the lock that whoever accepts it takes, too.
    Import.objects.select_for_update().get(pk=file.import_of_id, state=ImportState.PREVIEWED)
    values = {"mapping": mapping.to_json(), "mapping_name": name}
    ImportFile.objects.filter(pk=file.pk).update(**values)
