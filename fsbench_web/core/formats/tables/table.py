"""Tables of measurements that say themselves which column is what: CSV, TSV and other separators.

Long: columns test, record_size_kb, file_size_kb, value, unit; and, where the file itself says what
its numbers belong to, filesystem, configuration, hardware, kernel, repeat, block. A column for each
test, under the names of the tests. Or matrices of record sizes by file sizes under a title that
names the test and the unit. Where the separator is no comma, numbers may have a decimal comma. A
row without a value is a cell that was not measured. Any other table needs somebody to say what is
what (NeedsMapping).
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from fsbench_web.core.formats.result import MAX_VALUES, ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import size_kb, unit_of
from fsbench_web.core.formats.tables.grid import Grid, Row, delimiter_of, grid_of
from fsbench_web.core.formats.tables.headers import (
    OPEN_SIZES,
    PERCENT,
    WHOLE_ENDINGS,
    Measure,
    fallback_field,
    field_of,
    field_word,
    is_contender,
    measure_of,
    split,
    split_brackets,
    test_named,
)
from fsbench_web.core.formats.tables.mapping import (
    FORMAT,
    LONG,
    MATRIX,
    TESTS,
    Mapping,
    NeedsMapping,
    blocks_of,
    is_ending,
    read_mapped,
    title_of,
)
from fsbench_web.core.formats.text import quoted

__all__ = [
    "FORMAT",
    "NeedsMapping",
    "parse",
    "parse_grid",
    "proposal",
    "recognises",
    "recognises_wide",
    "unmapped",
]

_LOOKED_AT = 12
_NUMBER = re.compile("[0-9.,+-]*").fullmatch
WIDE_FORMAT = "wide table"
_SIZE_UNITS = {"b": "bytes", "bytes": "bytes", "kb": "KB", "kib": "KB", "k": "KB", "mb": "MB"}
_SIZE_UNITS |= {"mib": "MB", "m": "MB", "gb": "GB", "gib": "GB"}


def recognises(lines: list[str]) -> bool:
    """Whether the first line that says something is the header of a long table."""
    first = next((n for n, line in enumerate(lines) if line.strip() and line[:1] != "#"), None)
    if first is None or not delimiter_of(lines[first : first + 1]):
        return False
    header = grid_of(lines[: first + 1], delimiter_of(lines)).header
    words = {field_word(split_brackets(word)) for word in header.words} if header else set()
    return "test" in words and bool(words & {"value", "score"})


def recognises_wide(lines: list[str]) -> bool:
    """Whether it is another table that says itself what is what. Ask when no tool claims it."""
    if not delimiter_of(lines):
        return False
    grid = grid_of(lines)
    mapping = proposal(grid)
    return mapping is not None and not mapping.missing() and _is_complete(grid, mapping)


def parse(lines: list[str]) -> ParsedResult:
    """All numbers of the table. Raises UnreadableFile with the place of everything wrong."""
    if len(lines) > 2 * MAX_VALUES:
        message = (
            f"The table has more than {MAX_VALUES:,} values: import it by itself, or split it."
        )
        raise UnreadableFile([Problem(None, None, message)])
    return parse_grid(grid_of(lines))


def parse_grid(grid: Grid) -> ParsedResult:
    """The same of rows. Raises NeedsMapping where they do not say what is what."""
    mapping = proposal(grid)
    if mapping is None or (mapping.shape != LONG and mapping.missing()):
        raise NeedsMapping([_mapping_problem(grid, mapping)])
    if mapping.shape == LONG:
        check_header(grid, mapping)
    elif not _is_complete(grid, mapping):
        raise NeedsMapping([_mapping_problem(grid, mapping)])
    return read_mapped(grid, mapping)


def unmapped(lines: list[str]) -> NeedsMapping | None:
    """The error for a text that is a table and does not say what is what; None for no table."""
    if not delimiter_of(lines):
        return None
    grid = grid_of(lines)
    widths = Counter(len(row.words) for row in grid.rows if not row.problem)
    steady = max(widths.values(), default=0)
    has_numbers = any(
        re.fullmatch("[.,]?[0-9][0-9.,]*", word) for row in grid.rows for word in row.words
    )
    count = widths.total()
    if count < 2 or max(widths) < 2 or 2 * steady < count or not has_numbers:
        return None
    return NeedsMapping([_mapping_problem(grid, proposal(grid))])


def needs_mapping(head: bytes) -> NeedsMapping:
    """The error for a large table of which only the beginning was looked at."""
    grid = grid_of(head.decode("utf-8-sig", "replace").splitlines()[:_LOOKED_AT])
    return NeedsMapping([_mapping_problem(grid, proposal(grid))])


def _mapping_problem(grid: Grid, mapping: Mapping | None) -> Problem:
    line = grid.header.line if grid.header else None
    header = _likely_header(grid)
    contenders = [word for word in header.words if is_contender(word)] if header else []
    if len(contenders) > 1:
        named = ", ".join(map(quoted, contenders[:4]))
        message = (
            f"The columns {named} are file systems or runs, and no tests. Give each number a row "
            "of its own, under the columns test, filesystem, repeat, value and unit. Or say on "
            "the import page which one of them is the value, and import one after the other."
        )
        return Problem(header.line if header else line, None, message)
    lacking = ", ".join(mapping.missing() or ["test"]) if mapping else "test, value, unit"
    message = (
        f"This is a table, and it does not say: {lacking}. Say which column is what on the import "
        "page, or give it a header row with the columns test, record_size_kb, file_size_kb, value "
        "and unit."
    )
    return Problem(line, None, message)


def proposal(grid: Grid) -> Mapping | None:
    """What the header says of the columns; None for rows that look like no table at all."""
    header = _likely_header(grid)
    if header is None:
        return None
    rows = [row for row in grid.rows if not row.problem]
    blocks, _ = blocks_of(rows)
    if blocks and blocks[0].body:
        return _matrix_proposal(grid, rows)
    columns = _field_columns(header)
    measures = _measures(header, columns)
    tests = {} if "value" in columns else _tests(header, columns, measures)
    units = {name: split(header.words[column])[1] for name, column in columns.items()}
    if not tests and "value" not in columns:
        if "test" in columns and (len(measures) > 1 or _needs_endings(measures)):
            tests = {column: (measure.ending, measure.unit) for column, measure in measures.items()}
        elif len(measures) == 1:
            [(columns["value"], measure)] = measures.items()
            units["value"] = measure.unit
    value = units.get("value", "")
    is_of_rows = any(is_ending(test) for test, _ in tests.values())
    return Mapping(
        shape=TESTS if tests else LONG,
        header_line=header.line,
        delimiter=grid.delimiter,
        columns={
            name: column
            for name, column in columns.items()
            if not tests or name != "test" or is_of_rows
        },
        constants={"unit": value} if value and "unit" not in columns else {},
        tests=tests,
        record_unit=_record_unit(header, columns),
        file_unit=_size_unit(units.get("file_size_kb", "")),
        sheet=grid.name,
    )


def shape_reason(grid: Grid, mapping: Mapping) -> str:
    """Why a table is proposed to be of this shape, in a sentence; "" where nothing says it."""
    if mapping.shape == MATRIX:
        return "A row of sizes stands above rows that begin with a size."
    words = next((row.words for row in grid.rows if row.line == mapping.header_line), [])
    if mapping.shape == LONG:
        fields = [mapping.columns[name] for name in ("test", "value") if name in mapping.columns]
        return f"{_quoted_words(words, fields)}: one number a row." if len(fields) > 1 else ""
    of_rows = {column: test for column, (test, _) in mapping.tests.items() if is_ending(test)}
    if not of_rows:
        return f"{_quoted_words(words, mapping.tests)}: a column for each test."
    ending = next(iter(of_rows.values()))
    return (
        f"{_quoted_words(words, of_rows)}: several numbers of the test that "
        f"{_quoted_words(words, [mapping.columns['test']])} names in each row. "
        f"Each is a test of its own, called by both: randread in the row is randread{ending} here."
    )


def _quoted_words(words: list[str], columns: Iterable[int]) -> str:
    return ", ".join(quoted(words[column]) for column in columns)


def _likely_header(grid: Grid) -> Row | None:
    """The first of the first rows that names something, since titles may stand above it."""
    first = [row for row in grid.rows[:_LOOKED_AT] if not row.problem]
    for row in first:
        if len(list(islice(filter(_is_known_word, row.words), 2))) > 1:
            return row
    widest = max((len(row.words) for row in first), default=0)
    return next((row for row in first if len(row.words) == widest), None)


def _is_known_word(word: str) -> bool:
    # Rows of a wide table are numbers, which name nothing.
    return not _NUMBER(word) and bool(field_of(word) or test_named(word) or measure_of(word))


def _field_columns(header: Row) -> dict[str, int]:
    """The fields that the header names, with their columns; the first of two counts."""
    columns: dict[str, int] = {}
    for column, word in enumerate(header.words):
        if (name := field_of(word)) and split(word)[1] != PERCENT:
            columns.setdefault(name, column)
    has_measures = any(measure_of(word) for word in header.words)
    for column, word in enumerate(header.words):
        name = fallback_field(word)
        if name and column not in columns.values() and not (name == "value" and has_measures):
            columns.setdefault(name, column)
    return columns


def _measures(header: Row, fields: dict[str, int]) -> dict[int, Measure]:
    """Columns that hold what was measured of a row's test; of two that hold the same the first."""
    measures: dict[int, Measure] = {}
    for column, word in enumerate(header.words):
        if column in fields.values() or (measure := measure_of(word)) is None:
            continue
        if measure.ending not in {earlier.ending for earlier in measures.values()}:
            measures[column] = measure
    return measures


def _needs_endings(measures: dict[int, Measure]) -> bool:
    """Whether what was measured has to be part of the test's name: a percentile, reads alone."""
    return any(measure.ending not in WHOLE_ENDINGS for measure in measures.values())


def _tests(
    header: Row, fields: dict[str, int], measures: dict[int, Measure]
) -> dict[int, tuple[str, str]]:
    """Columns that name tests of their own, with their units; none where rows name their test."""
    if "test" in fields:
        return {}
    tests: dict[int, tuple[str, str]] = {}
    for column, word in enumerate(header.words):
        if column not in fields.values() and (named := test_named(word)) is not None:
            tests[column] = named
    if tests:
        for column, measure in measures.items():
            tests.setdefault(column, (measure.ending.lstrip("_"), measure.unit))
    # Of the same test in two columns the first is proposed.
    first = {test: column for column, (test, _) in sorted(tests.items(), reverse=True)}
    return {column: tests[column] for column in sorted(first.values())}


def _record_unit(header: Row, columns: dict[str, int]) -> str:
    """What sizes of records are in; "" where their column is named and does not tell."""
    column = columns.get("record_size_kb")
    name, unit = (
        ("", "") if column is None else (header.words[column], split(header.words[column])[1])
    )
    return "" if field_word(split_brackets(name)) in OPEN_SIZES and not unit else _size_unit(unit)


def _size_unit(text: str) -> str:
    return _SIZE_UNITS.get(text.strip().lower(), "KB")


def _matrix_proposal(grid: Grid, rows: list[Row]) -> Mapping:
    blocks, _ = blocks_of(rows)
    corner = field_of(blocks[0].head.words[0])
    rows_are = "record" if corner == "record_size_kb" else "file"
    if not corner:
        pairs = [
            (size_kb(row.words[0]) or 0, size_kb(block.head.words[column]) or 0)
            for block in blocks
            for row in block.body
            for column in range(1, min(len(row.words), len(block.head.words)))
            if row.words[column]
        ]
        # A record is never larger than its file.
        if any(down < across for down, across in pairs):
            rows_are = "record" if all(down <= across for down, across in pairs) else "file"
    unit = title_of(blocks[0].title)[1] or title_of(grid.name)[1]
    return Mapping(
        shape=MATRIX,
        header_line=blocks[0].head.line,
        delimiter=grid.delimiter,
        constants={"unit": unit_of(unit)} if unit else {},
        rows_are=rows_are,
        sheet=grid.name,
    )


def _is_complete(grid: Grid, mapping: Mapping) -> bool:
    """Whether every matrix names its test."""
    if mapping.shape != MATRIX:
        return True
    blocks, _ = blocks_of([row for row in grid.rows if not row.problem])
    return all(title_of(block.title)[0] or title_of(grid.name)[0] for block in blocks)


def check_header(grid: Grid, mapping: Mapping) -> None:
    """Raise UnreadableFile for a header of long shape that cannot be, NeedsMapping for a part."""
    header = next(row for row in grid.rows if row.line == mapping.header_line)
    problems, doubts = [], []
    lowered = [word.lower() for word in header.words]
    if "category" in lowered:
        place = lowered.index("category") + 1
        message = (
            "A table with categories holds scores, not measurements: fsbench makes the scores. "
            "Import the measurements they were made of."
        )
        problems.append(Problem(header.line, place, message))
    for column, word in enumerate(header.words):
        name = field_of(word)
        if name and split(word)[1] != PERCENT and mapping.columns[name] != column:
            message = f"{quoted(word)} is a second column for {name}: say which one it is."
            doubts.append(Problem(header.line, column + 1, message))
    if problems:
        raise UnreadableFile(problems)
    if doubts:
        raise NeedsMapping(doubts)
    if missing := mapping.missing():
        if not {"test", "value"} <= set(mapping.columns):
            raise NeedsMapping([_mapping_problem(grid, mapping)])
        message = f"The header has no column {', '.join(missing)}."
        raise NeedsMapping([Problem(header.line, None, message)])
