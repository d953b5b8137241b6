"""Rows of tables: known words, hostile cells, limits."""

import tracemalloc
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.result import MAX_VALUE, MIN_VALUE
from fsbench_web.core.formats.tables import reading
from fsbench_web.core.formats.tables.file_numbers import ParsedTable
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped

HEADER = "test,record_size_kb,file_size_kb,value,unit\n"
Found = list[tuple[object, ...]]


def table_of(data: bytes, mapping: Mapping | None = None) -> ParsedTable:
    parsed = parse("x", data) if mapping is None else parse_mapped(data, mapping)
    assert isinstance(parsed, ParsedTable)
    return parsed


def read(data: bytes, mapping: Mapping | None = None) -> Found:
    return [
        (value.line, value.test, value.load, value.unit, value.value)
        for value in table_of(data, mapping).numbers.values()
    ]


BAD = [
    "write,4,64,fast,KB/s",
    "write,four,64,1,KB/s",
    ",4,128,1,KB/s",
    "write,4,256,1,",
    "write,4,512,1",
    "write,,1024,1,KB/s",
    'write,4,2048,"1,KB/s',
    "write,4,64,-1,KB/s",
    "write,4,64,inf,KB/s",
    "write,4,64,.,KB/s",
    "write,4,64,.e5,KB/s",
    "write,4,64,-.5,KB/s",
    "write,4,64,.5.5,KB/s",
    "write,4,64,1e999,KB/s",
    "write,4,64,1e-400,KB/s",
    "write,4,0,1,KB/s",
    "write,4,99999999999999,1,KB/s",
    "write,4,64,1,KB/s,more",
]
BAD_LOADS = ["read,x,1,s", "read,0,1,s", "read,8.0,1,s", "read,1000000001,1,s"]


@pytest.mark.parametrize(
    ("header", "rows"), [(HEADER, BAD), ("test,iodepth,value,unit\n", BAD_LOADS)]
)
def test_each_row_that_is_wrong_is_told_with_its_line(header: str, rows: list[str]) -> None:
    data = (header + "".join(f"{row}\n" for row in rows)).encode()
    with pytest.raises(UnreadableFile) as refused:
        read(data)
    lines = [problem.line for problem in refused.value.problems]
    assert [*dict.fromkeys(lines)] == list(range(2, len(rows) + 2))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HEADER.encode(), "no values"),
        (HEADER.encode() + b"write,4,64,1,KB/s\n" * 5000 + b"read\x00,4,64,1,KB/s\n", "NUL byte"),
        (HEADER.encode() + b"write,4,64,1,KB/s\n" * 20_000 + b"wr\xffite,4,4,1,s\n", "not UTF-8"),
        (HEADER.encode() + b"write,4,64,1,KB/s," + b"x" * 50_000, "10000 is the most"),
        (b"test,value,unit,repeat\nuntar,1,s,-1\n", "whole number from 0"),
        (b"test,value,unit\nboot,1,s\nboot,1;5,s\n", 'Found "1;5"'),
        (b"test;value;unit\nboot;1,5;s\nmake;2.5;s\n", "numbers before have a decimal ','"),
        (b"test,category,value,unit\nx,maximum,1,s\n", "holds scores"),
        (HEADER.encode() + b"\n" * 5_000_001, "more than 5,000,000 lines"),
    ],
)
def test_what_is_no_table_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        read(data)


def test_more_numbers_runs_or_tests_than_a_table_may_have_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = "".join(f"t{n},{n},s,{n}\n" for n in range(1, 2000))
    for name, code in (
        ("MAX_NUMBERS", "too_many_values"),
        ("MAX_RUNS", "too_many_runs"),
        ("MAX_TESTS", "too_many_tests"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(reading, name, 1000)
            with pytest.raises(UnreadableFile) as refused:
                read(f"test,value,unit,repeat\n{rows}".encode())
        assert [problem.code for problem in refused.value.problems] == [code]


def test_a_million_numbers_take_little_memory() -> None:
    """Some 40 bytes a number, and the text with its lines."""
    count = 200_000
    data = HEADER.encode() + b"".join(b"write,4,%d,%d,KB/s\n" % (n, n) for n in range(4, count + 4))
    tracemalloc.start()
    try:
        assert table_of(data).count == count
        assert tracemalloc.get_traced_memory()[1] < 400 * count
    finally:
        tracemalloc.stop()


def test_a_line_without_end_costs_no_memory() -> None:
    data = HEADER.encode() + b"x" * (64 * 1024 * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile, match="longer than"):
            parse("t.csv", data)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_mapping_says_what_the_header_does_not() -> None:
    mapping = Mapping(delimiter=";", columns={"test": 1, "value": 0}, constants={"unit": "s"})
    expected = [(2, "untar", "", "s", 5.0), (3, "make", "", "s", 6.0)]
    assert read(b"t;n\n5;untar\n6;make\n", mapping) == expected
    mapping = replace(mapping, constants={"unit": "s", "tasks": "8"})
    assert [row[2] for row in read(b"t;n\n5;untar\n6;make\n", mapping)] == ["tasks=8", "tasks=8"]
    with pytest.raises(NeedsMapping):
        read(b"t;n\n5;untar\n6;make\n")


def test_a_number_that_is_said_of_all_rows_needs_no_column() -> None:
    mapping = Mapping("long", columns={"test": 0, "unit": 1}, constants={"value": "1.5"})
    assert [row[-1] for row in read(b"test,unit\nread,MB/s\nwrite,MB/s\n", mapping)] == [1.5, 1.5]


CELLS = {
    "value": (
        *("1", "1.5", "1,5", "1234,5", "1,234.5", "1 234", "0", "0.0", "", "-", "n/a", "+++++"),
        *(
            *("nan", "NaN", "NA", "#N/A", "NULL", "None"),
            "inf",
            "-1",
            "+1",
            "1e3",
            "1E+30",
            "1e31",
            "1e999",
            "1e-400",
            "5e-324",
            "1e-30",
            "0e5",
        ),
        *("12.", ".5", "1.5.2", "1e", "e5", "1_000", "0x10", "٣", "000012.50", " 7", "7 ", "\xa07"),
        *("1.234,5", "1.234", "1,234,567", '"1,234.5"', '"1.234,5"'),
        *('"1"', '"1.5"', '"1,5"', '" 2"', '""', '"', '"1""2"', '"a', "1\x00", "9" * 400),
        *("123456789012345", "1234567890123456", "9007199254740993", "0." + "3" * 16),
    ),
    "test": (
        *("write", "Random Read", "re-read", "a b", "", "_x", "Ä", "write ", "  write", '"write"'),
        *('"a, b"', "write\x07", "x" * 60, "x" * 61, "x" * 300, "a\u200bb", "#x", "wr\udcffite"),
    ),
    "unit": ("KB/s", "kB/sec", "s", "µs", "", "x" * 21, "KB/s\u200b", " s", '"s"'),
    "record_size_kb": (
        *("4", "64", "4k", "1M", "64.0", "0", "-", "", "007", " 16", "4096 bytes", "4 KB", "x"),
        *("2147483648", "1000000000001", "9" * 15, "9" * 16, "64\xa0KB", "1.5", "-4", "1e3", '"8"'),
    ),
    "filesystem": ("ext4", "xfs", "", "ext4 ", "EXT4", '"xfs"', "a\u200bb", "é", "x" * 300),
    "threads": ("1", "8", "", "-", "0", "08", "8.0", "x", "1000000001", '"16"', " 4", "9" * 20),
    "repeat": ("1", "2", "", "0", "-1", "1000001", "9" * 50, " 2", "02", "x", '"4"'),
    "block": ("1", "night 2", "", "x" * 60, "x" * 61, "a\u200bb", '"2"'),
    "kernel": ("6.1", "6.10-rc1", "", " 6.1", "x" * 300, "a\u200bb", '"6.1"'),
    "mood": ("", "x", "\x00", "ü", "bad\udcff", '"', "#", "a b"),
}
CELLS["file_size_kb"] = CELLS["record_size_kb"]
CELLS["configuration"] = CELLS["filesystem"]
USUAL = {
    "value": st.one_of(
        st.integers(0, 10**18).map(str),
        st.floats(0, 1e12).map(repr),
        st.decimals(0, 10**9, places=4).map(str),
    ),
    "test": st.sampled_from(["write", "read"]),
    "unit": st.just("KB/s"),
    "record_size_kb": st.sampled_from(["4", "64"]),
    "file_size_kb": st.integers(1, 10**6).map(str),
    "filesystem": st.sampled_from(["ext4", "xfs"]),
    "configuration": st.just("ext4"),
    "threads": st.sampled_from(["1", "8", "16"]),
    "repeat": st.sampled_from(["1", "2"]),
    "block": st.sampled_from(["1", "2"]),
    "kernel": st.sampled_from(["6.1", "6.10"]),
    "mood": st.just("fine"),
}
LINES = ("", "   ", "# note", " # x", ",,,,", "a,b", "x" * 1200, "x" * 10_001, "\t\t", '"', "\x0c")


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, Mapping | None]:
    """A table of rows that are mostly as they should be, and what is said of its columns."""
    more = [name for name in CELLS if name not in ("test", "value", "unit")]
    names = draw(st.permutations(["test", "value", "unit", *draw(st.sets(st.sampled_from(more)))]))
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    is_comma = separator != "," and draw(st.booleans())
    odd = draw(st.sampled_from([0, 0, 2, 10]))
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        if odd and draw(st.integers(0, 99)) < odd:
            rows.append(draw(st.sampled_from(LINES)))
            continue
        cells = []
        for name in names:
            if odd and draw(st.integers(0, 99)) < 3 * odd:
                cells.append(draw(st.sampled_from(CELLS[name])))
            else:
                cell = draw(USUAL[name])
                cells.append(cell.replace(".", ",") if is_comma and name == "value" else cell)
        rows.append(separator.join(cells))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join([separator.join(names), *rows * draw(st.sampled_from([1, 3])), ""])
    mapping = None
    if draw(st.booleans()):
        mapping = Mapping(
            delimiter=separator,
            decimal=draw(st.sampled_from(["", ".", ","])),
            columns={name: place for place, name in enumerate(names) if name != "mood"},
            constants=draw(
                st.dictionaries(st.sampled_from(["unit", "repeat", "record_size_kb"]), st.just("4"))
            ),
            file_unit=draw(st.sampled_from(["KB", "bytes", "GB"])),
        )
        if draw(st.booleans()):
            text = text.replace(separator, " " * draw(st.integers(1, 2)))
            mapping = replace(mapping, delimiter=" ")
    return text.encode("utf-8-sig", "surrogateescape"), mapping


def outcome(data: bytes, mapping: Mapping | None) -> object:
    """All that a table is read as, or all that is said to be wrong with it."""
    try:
        table = table_of(data, mapping)
    except UnreadableFile as error:
        return error.problems, error.units
    runs = [(own, list(run.rows())) for own, run, _ in table.numbers.runs()]
    return table.numbers.columns.tests, runs, table.warnings, table.unread_columns


@settings(max_examples=300, deadline=None)
@given(tables())
def test_known_words_tell_what_reading_cell_by_cell_does(
    given_table: tuple[bytes, Mapping | None],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_known_words = outcome(*given_table)
        patch.setattr(reading.TableReader, "_keep_known", lambda *_: False)
        assert with_known_words == outcome(*given_table)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            (st.just(0.0) | st.floats(MIN_VALUE, MAX_VALUE)).map(repr),
            st.floats(0, 1e15).map("{:.6f}".format),
            st.integers(0, 10**30).map(str),
            st.from_regex(r"[0-9]{1,18}\.[0-9]{0,18}", fullmatch=True),
            st.from_regex(r"[0-9]{1,3}\.[0-9]{1,3}[eE][+-]?[0-2]?[0-9]", fullmatch=True).filter(
                lambda text: not float(text) or MIN_VALUE <= float(text) <= MAX_VALUE
            ),
        ),
        min_size=1,
        max_size=50,
    )
)
def test_every_number_is_the_very_float_of_its_text(texts: list[str]) -> None:
    # Of scores no one knows the most there can be.
    data = (
        b"test,value,unit,repeat\n"
        + "".join(f"x,{text},score,{n}\n" for n, text in enumerate(["1234", *texts])).encode()
    )
    rows = sorted(read(data), key=itemgetter(0))
    assert [row[-1] for row in rows[1:]] == [float(text) for text in texts]


@pytest.fixture
def cells_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The line of each cell that is read by itself."""
    lines: list[int] = []
    read_cell = reading.read_cell

    def noted(reader: Any, line: int, cells: Any) -> Any:
        lines.append(line)
        return read_cell(reader, line, cells)

    monkeypatch.setattr(reading, "read_cell", noted)
    return lines


def test_few_rows_are_read_cell_by_cell(cells_read: list[int]) -> None:
    """Those that bring something new, however they are written."""
    rows = [
        f'"{["ext4", "xfs"][n % 2]}", write,{2 ** (n % 3)}k,{n + 100},{n / 7!r},"µs"\n'
        for n in range(3000)
    ]
    data = ("filesystem,test,record_size_kb,file_size_kb,value,unit\n" + "".join(rows)).encode()
    assert len(read(data)) == 3000
    assert len(cells_read) < 10


@pytest.mark.parametrize("unit", ["ms", "KB/s", "ops/s"])
def test_what_cannot_be_measured_is_refused(unit: str) -> None:
    """2**64, and a number of so few digits that it could be read at a glance."""
    rows = [f"a,1,{unit}", f"a,18446744073709551616,{unit}", f"a,1e20,{unit}", f"b,2,{unit}"]
    data = "\n".join(["test,value,unit,repeat", *(f"{r},{n}" for n, r in enumerate(rows))]) + "\n"
    with pytest.raises(UnreadableFile) as refused:
        read(data.encode())
    assert [(p.line, p.column) for p in refused.value.problems] == [(3, 2), (4, 2)]


@pytest.mark.parametrize(
    ("header", "row", "calls"),
    [
        ("repeat" + ",copy{} (MB/s)" * 20, "{n}" + ",{n}.5" * 20, 20 + 49),
        # Each file system has runs of its own.
        ("repeat,test,ext4 (MB/s),xfs (MB/s)", "{n},read,{n}.5,{n}.7", 2 * 50),
    ],
)
def test_rows_of_many_columns_tell_their_run_once(
    header: str,
    row: str,
    calls: int,
    cells_read: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [header.format(*range(20)), *(row.format(n=n) for n in range(1, 51)), ""]
    data = "\n".join(lines).encode()
    found = outcome(data, None)
    assert len(cells_read) == calls
    monkeypatch.setattr(reading.TableReader, "_keep_known", lambda *_: False)
    assert found == outcome(data, None)
