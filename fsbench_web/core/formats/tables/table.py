"""Tables of measurements that say themselves which column is what: CSV, TSV and other separators.

Long tables name test, sizes, value and unit, and what a number belongs to. Wide ones have a column
for each test, file system or repeat. Matrices have record sizes by file sizes under a title. A row
without a value was not measured. Any other table must be explained (NeedsMapping).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice, pairwise, zip_longest

from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import (
    MISSING,
    known_test,
    number_and_unit,
    size_kb,
    unit_of,
)
from fsbench_web.core.formats.tables.grid import Grid, Row, delimiter_of, grid_of, says_something
from fsbench_web.core.formats.tables.headers import (
    OPEN_SIZES,
    PERCENT,
    WHOLE_ENDINGS,
    Measure,
    OfContender,
    contender_of,
    fallback_field,
    field_of,
    field_word,
    in_two_rows,
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
    MAX_COLUMNS,
    OWN_TEST,
    TESTS,
    Mapping,
    NeedsMapping,
    blocks_of,
    is_ending,
    title_of,
)
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import MAX_LINE_LENGTH, quoted
from fsbench_web.core.formats.values import Collector, reads

_LOOKED_AT = 12
_NUMBER = re.compile("[0-9.,+-]*").fullmatch
_SIZE_UNITS = {"b": "bytes", "bytes": "bytes", "kb": "KB", "kib": "KB", "k": "KB", "mb": "MB"}
_SIZE_UNITS |= {"mib": "MB", "m": "MB", "gb": "GB", "gib": "GB"}


def _recognises(lines: list[str]) -> bool:
    """Whether the first line that says something is the header of a long table."""
    first = next((n for n, line in enumerate(lines) if says_something(line)), None)
    if first is None or not delimiter_of(lines[first : first + 1]):
        return False
    header = grid_of(lines[: first + 1], delimiter_of(lines)).header
    words = {field_word(split_brackets(word)) for word in header.words} if header else set()
    return "test" in words and bool(words & {"value", "score"})


def _recognises_wide(lines: list[str]) -> bool:
    """Whether it is another table that says itself what is what. Ask when no tool claims it."""
    if not delimiter_of(lines):
        return False
    grid = grid_of(lines)
    for row in grid.rows:
        if len(lines[row.line - 1]) >= MAX_LINE_LENGTH:
            row.words[-1:] = []  # cut off by whoever looks at the beginning only
    mapping = proposal(grid)
    if mapping is None or mapping.missing() or not _is_complete(grid, mapping):
        return False
    # The last line of something else may look like a header.
    last = grid.rows[-1].line
    return mapping.header_line < last or grid.rows[0].line == last


def _parse(lines: list[str], _: Collector) -> ParsedResult:
    return parse_grid(grid_of(lines))


parse = reads(FORMAT, FORMAT, _recognises)(_parse)
parse_wide = reads("wide table", FORMAT, _recognises_wide, has_long_lines=True)(_parse)


def parse_grid(grid: Grid) -> ParsedResult:
    """All numbers of a table. Raises UnreadableFile with the place of everything wrong."""
    # Not above: numpy would be loaded by every start.
    from fsbench_web.core.formats.tables.reading import read_mapped

    return read_mapped(grid, mapping_of(grid))


def mapping_of(grid: Grid) -> Mapping:
    """What the header says of a whole table. Raises NeedsMapping where it does not say enough."""
    if _is_too_wide(grid):
        raise UnreadableFile([problem("no_column", most=f"{MAX_COLUMNS:,}")])
    mapping = proposal(grid)
    if mapping is None or (mapping.shape != LONG and mapping.missing()):
        raise NeedsMapping([_mapping_problem(grid, mapping)])
    if mapping.shape == LONG:
        check_header(grid, mapping)
    elif not _is_complete(grid, mapping):
        raise NeedsMapping([_mapping_problem(grid, mapping)])
    return mapping


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


def _mapping_problem(grid: Grid, mapping: Mapping | None) -> Problem:
    header = _likely_header(grid)
    lacking = ", ".join(mapping.missing() or ["test"]) if mapping else "test, value, unit"
    line = grid.header.line if grid.header else None
    if mapping is not None and mapping.column_constants and header is not None:
        columns = ", ".join(quoted(header.words[n]) for n in list(mapping.column_constants)[:4])
        return problem("contenders_missing", header.line, columns=columns, missing=lacking)
    return problem("columns_missing", line, missing=lacking)


def proposal(grid: Grid) -> Mapping | None:
    """What the header says of the columns; None for rows that look like no table at all."""
    if _is_too_wide(grid):
        return None
    merge_header(grid)
    header = _likely_header(grid)
    if header is None:
        return None
    rows = [row for row in grid.rows if not row.problem]
    blocks, _ = blocks_of(rows)
    if blocks and blocks[0].body and not _is_above(header, blocks[0].head):
        return _matrix_proposal(grid, rows)
    contenders = _contenders(header)
    columns = _field_columns(header, contenders)
    measures = {} if contenders else _measures(header, columns)
    tests = {} if "value" in columns else _tests(header, columns, measures)
    units = {name: split(header.words[column])[1] for name, column in columns.items()}
    if contenders:
        tests = _tests_of_contenders(contenders, has_test="test" in columns)
    elif not tests and "value" not in columns:
        if "test" in columns and (len(measures) > 1 or _needs_endings(measures)):
            tests = {column: (measure.ending, measure.unit) for column, measure in measures.items()}
        elif len(measures) == 1:
            [(columns["value"], measure)] = measures.items()
            units["value"] = measure.unit
    value = units.get("value", "")
    is_of_rows = any(is_ending(test) for test, _ in tests.values())
    mapping = Mapping(
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
        column_constants={column: dict(found.said) for column, found in contenders.items()},
    )
    if "unit" in mapping.missing() and _cells_have_units(grid, mapping):
        return replace(mapping, has_cell_units=True)
    return mapping


def _is_too_wide(grid: Grid) -> bool:
    return any(len(row.words) > MAX_COLUMNS for row in grid.rows[:_LOOKED_AT])


def merge_header(grid: Grid) -> None:
    """Make one header of two: ``,ext4,,xfs,`` above ``test,read,write,read,write``."""
    rows = grid.rows
    if _is_too_wide(grid):
        return
    for place, (above, below) in enumerate(pairwise(rows[:_LOOKED_AT])):
        if above.problem or below.problem or not _is_group_row(above.words, below.words):
            continue
        words, group = [], ""
        # Rows of a spreadsheet end at their last cell.
        for own, word in zip_longest(above.words, below.words, fillvalue=""):
            group = own or group
            is_field = bool(field_of(own)) or bool(own and not word)
            is_below = bool(group and word and not is_field)
            words.append(in_two_rows(group, word) if is_below else own or word)
            group = "" if is_field else group
        grid.rows = [*rows[:place], Row(below.line, words), *rows[place + 2 :]]
        return


def _is_group_row(above: list[str], below: list[str]) -> bool:
    """Whether words stand above several columns each, which the row below them names."""
    groups = [
        (column, word)
        for column, word in enumerate(above)
        if word and not field_of(word) and column < len(below) and below[column]
    ]
    spans = [
        column
        for column, _ in groups
        if column + 1 < len(above) and not above[column + 1] and below[column + 1 : column + 2]
    ]
    return (
        bool(spans)
        and len(groups) == len(spans)
        and all(is_contender(word) or test_named(word) or known_test(word) for _, word in groups)
        and not any(_NUMBER(word) or size_kb(word) for word in below if word)
        and all(below[column] and below[column + 1] for column in spans)
    )


def _contenders(header: Row) -> dict[int, OfContender]:
    """Columns of a file system, a set-up or a repeat each; none for a single doubtful one."""
    found = {
        column: contender
        for column, word in enumerate(header.words)
        if not field_of(word) and (contender := contender_of(word)) is not None
    }
    has_value = any(field_of(word) == "value" for word in header.words)
    is_one = len(found) == 1 and "filesystem" not in dict(next(iter(found.values())).said)
    has_measures = any(
        measure_of(word) or test_named(word)
        for column, word in enumerate(header.words)
        if column not in found
    )
    return {} if has_value or is_one or (len(found) == 1 and has_measures) else found


def _tests_of_contenders(
    contenders: dict[int, OfContender], *, has_test: bool
) -> dict[int, tuple[str, str]]:
    """What each of their columns is a test of: the row's own one, or what its header names."""
    endings = {found.test for found in contenders.values() if is_ending(found.test)}
    needs_endings = len(endings) > 1 or bool(endings - WHOLE_ENDINGS - {OWN_TEST})
    tests = {}
    for column, found in contenders.items():
        test = found.test
        if is_ending(test) and not needs_endings:
            test = OWN_TEST
        elif test == OWN_TEST and (measure := measure_of(found.unit)) is not None:
            test = measure.ending
        elif has_test and not is_ending(test):
            test = f"_{test}"
        tests[column] = (test, found.unit)
    return tests


def _cells_have_units(grid: Grid, mapping: Mapping) -> bool:
    columns = [*mapping.tests] or [mapping.columns.get("value", -1)]
    words = [
        row.words[column]
        for row in grid.rows
        if row.line > mapping.header_line and not row.problem
        for column in columns
        if 0 <= column < len(row.words) and row.words[column] not in MISSING
    ][:_LOOKED_AT]
    return bool(words) and all(number_and_unit(word)[1] for word in words)


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


def _is_above(header: Row, head: Row) -> bool:
    """Whether a header names the columns of what only looks like the head of a matrix."""
    known = sum(map(_is_known_word, header.words))
    return header.line < head.line and known > 1 and len(header.words) == len(head.words)


def _is_known_word(word: str) -> bool:
    # Rows of a wide table are numbers, which name nothing.
    return not _NUMBER(word) and bool(
        field_of(word) or test_named(word) or measure_of(word) or is_contender(word)
    )


def _field_columns(header: Row, contenders: Collection[int] = ()) -> dict[str, int]:
    """The fields that the header names, with their columns; the first of two counts."""
    columns: dict[str, int] = {}
    for column, word in enumerate(header.words):
        if (name := field_of(word)) and split(word)[1] != PERCENT and column not in contenders:
            columns.setdefault(name, column)
    has_measures = bool(contenders) or any(measure_of(word) for word in header.words)
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
        problems.append(problem("scores", header.line, lowered.index("category") + 1))
    for column, word in enumerate(header.words):
        name = field_of(word)
        if name and split(word)[1] != PERCENT and mapping.columns[name] != column:
            doubts.append(
                problem("second_column", header.line, column + 1, found=quoted(word), field=name)
            )
    if problems:
        raise UnreadableFile(problems)
    if doubts:
        raise NeedsMapping(doubts)
    if missing := mapping.missing():
        if not {"test", "value"} <= set(mapping.columns):
            raise NeedsMapping([_mapping_problem(grid, mapping)])
        raise NeedsMapping([problem("header_lacks", header.line, missing=", ".join(missing))])
