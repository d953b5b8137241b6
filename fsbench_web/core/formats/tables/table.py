"""Tables of measurements that say themselves which column is what: CSV, TSV and other separators.

Long: columns test, record_size_kb, file_size_kb, value, unit; and, where the file itself says what
its numbers belong to, filesystem, configuration, hardware, repeat, block. A column for each test,
under the names of the tests. Or matrices of record sizes by file sizes under a title that names the
test and the unit. Where the separator is no comma, numbers may have a decimal comma. A row without
a value is a cell that was not measured. Any other table needs somebody to say what is what
(NeedsMapping).
"""

import re

from fsbench_web.core.formats.result import MAX_VALUES, ParsedResult, Problem, UnreadableFile
from fsbench_web.core.formats.tables.cells import known_test, size_kb, unit_of
from fsbench_web.core.formats.tables.grid import Grid, Row, delimiter_of, grid_of
from fsbench_web.core.formats.tables.mapping import (
    FORMAT,
    LONG,
    MATRIX,
    TESTS,
    Mapping,
    NeedsMapping,
    blocks_of,
    read_mapped,
    title_of,
)
from fsbench_web.core.formats.text import shown

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

_NAMES = {
    "test": ("test", "benchmark", "operation", "rw", "readwrite"),
    "record_size_kb": (
        *("record_size_kb", "record_kb", "record_size", "reclen", "record", "block_size", "bs"),
        *("block_size_kb", "record_length", "blocksize"),
    ),
    "file_size_kb": ("file_size_kb", "file_kb", "file_size", "size", "kb", "filesize"),
    "value": ("value", "score", "result", "throughput", "rate", "bw", "bandwidth", "iops"),
    "unit": ("unit", "units"),
    "filesystem": ("filesystem", "file_system", "fs", "fstype", "fs_type"),
    "configuration": ("configuration", "config", "label"),
    "hardware": ("hardware",),
    "repeat": ("repeat", "run", "iteration", "repetition", "iter", "rep"),
    "block": ("block",),
    "threads": ("threads", "thread", "num_threads", "nthreads", "numthreads"),
    "iodepth": ("iodepth", "io_depth", "queue_depth", "queuedepth", "qd"),
    "jobs": ("jobs", "numjobs", "num_jobs", "njobs", "processes"),
    "tasks": ("tasks", "num_tasks", "ntasks", "ranks"),
    "clients": ("clients", "num_clients", "nclients"),
}
FIELD_OF = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
# bs=4096 of a command line are bytes, a record of 4 is in KB: these names leave it open.
_OPEN_SIZES = ("bs", "block_size", "blocksize", "record", "record_size", "record_length")
_LOOKED_AT = 12
WIDE_FORMAT = "wide table"
_WITH_UNIT = re.compile(r"(.+?)\s*[(\[]([^()\[\]]{1,20})[)\]]")
_SIZE_UNITS = {"b": "bytes", "bytes": "bytes", "kb": "KB", "kib": "KB", "k": "KB", "mb": "MB"}
_SIZE_UNITS |= {"mib": "MB", "m": "MB", "gb": "GB", "gib": "GB"}


def recognises(lines: list[str]) -> bool:
    """Whether the first line that says something is the header of a long table."""
    first = next((n for n, line in enumerate(lines) if line.strip() and line[:1] != "#"), None)
    if first is None or not delimiter_of(lines[first : first + 1]):
        return False
    header = grid_of(lines[: first + 1], delimiter_of(lines)).header
    words = {_name(_split(word)[0]) for word in header.words} if header else set()
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
        raise NeedsMapping([_asks(grid, mapping)])
    if mapping.shape == LONG:
        check_header(grid, mapping)
    elif not _is_complete(grid, mapping):
        raise NeedsMapping([_asks(grid, mapping)])
    return read_mapped(grid, mapping)


def unmapped(lines: list[str]) -> NeedsMapping | None:
    """The error for a text that is a table and does not say what is what; None for no table."""
    if not delimiter_of(lines):
        return None
    grid = grid_of(lines)
    widths = [len(row.words) for row in grid.rows if not row.problem]
    steady = max(widths.count(width) for width in set(widths)) if widths else 0
    has_numbers = any(
        re.fullmatch("[0-9][0-9.,]*", word) for row in grid.rows for word in row.words
    )
    if len(widths) < 2 or max(widths) < 2 or 2 * steady < len(widths) or not has_numbers:
        return None
    return NeedsMapping([_asks(grid, proposal(grid))])


def needs_mapping(head: bytes) -> NeedsMapping:
    """The error for a large table of which only the beginning was looked at."""
    grid = grid_of(head.decode("utf-8-sig", "replace").splitlines()[:_LOOKED_AT])
    return NeedsMapping([_asks(grid, proposal(grid))])


def _asks(grid: Grid, mapping: Mapping | None) -> Problem:
    line = grid.header.line if grid.header else None
    lacking = ", ".join(mapping.missing() or ["test"]) if mapping else "test, value, unit"
    message = (
        f"This is a table, and it does not say: {lacking}. Say which column is what on the import "
        "page, or give it a header row with the columns test, record_size_kb, file_size_kb, value "
        "and unit."
    )
    return Problem(line, None, message)


def _name(word: str) -> str:
    return word.strip().lower().replace(" ", "_").replace("-", "_")


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
    known = {name: column for name, (column, _) in columns.items()}
    units = {name: unit for name, (_, unit) in columns.items() if unit}
    tests = {}
    for column, word in enumerate(header.words):
        name, unit = _split(word)
        if column not in known.values() and (test := known_test(name)):
            tests[column] = (test, unit_of(unit))
    shape = TESTS if tests and "value" not in known else LONG
    said = units.get("value", "") or _unit_by_name(header, known.get("value"))
    constants = {"unit": said} if said and "unit" not in known else {}
    return Mapping(
        shape=shape,
        header_line=header.line,
        delimiter=grid.delimiter,
        columns=known if shape == LONG else {k: v for k, v in known.items() if k != "test"},
        constants=constants,
        tests=tests if shape == TESTS else {},
        record_unit=_record_unit(header, columns),
        file_unit=_size_unit(units.get("file_size_kb", "")),
        sheet=grid.name,
    )


def _likely_header(grid: Grid) -> Row | None:
    """The first of the first rows that names something, since titles may stand above it."""
    first = [row for row in grid.rows[:_LOOKED_AT] if not row.problem]
    for row in first:
        words = [_split(word)[0] for word in row.words]
        if sum(_name(word) in FIELD_OF or bool(known_test(word)) for word in words) > 1:
            return row
    widest = max((len(row.words) for row in first), default=0)
    return next((row for row in first if len(row.words) == widest), None)


def _split(word: str) -> tuple[str, str]:
    """A header's name and the unit it gives in brackets."""
    match = _WITH_UNIT.fullmatch(word.strip())
    return (match[1], match[2]) if match else (word, "")


def _field_columns(header: Row) -> dict[str, tuple[int, str]]:
    """The fields that the header names: (column, unit in brackets); the first of two counts."""
    found: dict[str, tuple[int, str]] = {}
    for column, word in enumerate(header.words):
        name, unit = _split(word)
        if (kept := FIELD_OF.get(_name(name))) is not None:
            found.setdefault(kept, (column, unit))
    return found


def _unit_by_name(header: Row, column: int | None) -> str:
    """The unit that the name of a column is itself; "" where it is none."""
    return "IOPS" if column is not None and _name(header.words[column]) == "iops" else ""


def _record_unit(header: Row, columns: dict[str, tuple[int, str]]) -> str:
    """What sizes of records are in; "" where their column is named and does not tell."""
    column, unit = columns.get("record_size_kb", (None, ""))
    name = "" if column is None else _name(_split(header.words[column])[0])
    return "" if name in _OPEN_SIZES and not unit else _size_unit(unit)


def _size_unit(text: str) -> str:
    return _SIZE_UNITS.get(text.strip().lower(), "KB")


def _matrix_proposal(grid: Grid, rows: list[Row]) -> Mapping:
    blocks, _ = blocks_of(rows)
    corner = FIELD_OF.get(_name(blocks[0].head.words[0]), "")
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
    problems = []
    lowered = [word.lower() for word in header.words]
    if "category" in lowered:
        place = lowered.index("category") + 1
        message = (
            "A table with categories holds scores, not measurements: fsbench makes the scores. "
            "Import the measurements they were made of."
        )
        problems.append(Problem(header.line, place, message))
    for column, word in enumerate(header.words):
        name = FIELD_OF.get(_name(_split(word)[0]))
        if name is not None and mapping.columns[name] != column:
            message = f"{shown(word)} is a second column for {name}."
            problems.append(Problem(header.line, column + 1, message))
    if problems:
        raise UnreadableFile(problems)
    if missing := mapping.missing():
        if not {"test", "value"} <= set(mapping.columns):
            raise NeedsMapping([_asks(grid, mapping)])
        message = f"The header has no column {', '.join(missing)}."
        raise NeedsMapping([Problem(header.line, None, message)])
