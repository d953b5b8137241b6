"""Large tables read in one pass: the same numbers and the same problems as small ones."""

import io
import tracemalloc
from dataclasses import replace
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.result import MAX_VALUE, MIN_VALUE
from fsbench_web.core.formats.tables import long
from fsbench_web.core.formats.tables.long_rows import RowReader
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping

HEADER = "test,record_size_kb,file_size_kb,value,unit\n"
Found = list[tuple[object, ...]]


def read(data: bytes, mapping: Mapping | None = None) -> Found:
    table = long.read(io.BytesIO(data), len(data), mapping)
    return sorted(
        (
            (
                *(line, *own, test.test, test.load, test.unit),
                *(-1 if record is None else record, -1 if file is None else file, value),
            )
            for own, run in table.runs.items()
            for test, record, file, value, line in run.rows()
        ),
        key=repr,
    )


def as_small(data: bytes) -> Found:
    return sorted(
        (
            (
                v.line,
                *(v.filesystem, v.configuration, v.hardware, v.repeat, v.block, v.kernel),
                *(v.test, v.load, v.unit),
                -1 if v.record_size_kb is None else v.record_size_kb,
                -1 if v.file_size_kb is None else v.file_size_kb,
                v.value,
            )
            for v in parse("x", data).values
        ),
        key=repr,
    )


SAMPLES = [
    HEADER + "write,4,64,1234.5,KB/s\nRandom Read,4k,1M,7,kBytes/sec\n\n# note\nread,4,64,,KB/s\n",
    "test;value;unit\nboot;1,5;s\nmake;2;s\n",
    "test;value;unit\nboot;.5;s\nmake;0.25;s\nlink;.5e3;s\ncopy;+.75;s\nsync;.000;s\n",
    "test;value;unit\nboot;,5;s\nmake;0,25;s\nlink;,5e3;s\n",
    "filesystem,configuration,hardware,repeat,test,value,unit,mood\n"
    "xfs,xfs,lab 3,2,untar,93.5,s,-\n",
    "filesystem,block,test,value,unit\nxfs,night 1,untar,93.5,s\nxfs,2,untar,93,s\n",
    "A title\nfilesystem,Kernel Version,test,value,unit\nxfs,6.1,untar,93.5,s\nxfs,6.2,a,93,s\n",
    "filesystem,Kernel Version,test,value,unit\nxfs,6.1,untar,93.5,s\nxfs,6.10,untar,93,s\n",
    '"test","value",unit\n"a b",1,"s"\nc,"2",s\n',
    "test\tsize\treclen\tvalue\tunit\r\nwrite\t64\t4\t0\tKB/s\r\n",
    "test,threads,qd,value,unit\nread,8,1,5,MB/s\nread,16,-,6,MB/s\nread,16,32,7,MB/s\nread,,,8,MB/s\n",
]


@pytest.mark.parametrize("text", SAMPLES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_it_reads_what_a_small_table_says(text: str, encoding: str) -> None:
    assert read(text.encode(encoding)) == as_small(text.encode(encoding))


BAD = [
    "write,4,64,fast,KB/s",
    "write,four,64,1,KB/s",
    ",4,128,1,KB/s",
    "write,4,256,1,",
    "write,4,512,1",
    "write,,1024,1,KB/s",
    'write,4,2048,"1,KB/s',
    "write,4,64,-1,KB/s",
    "write,4,64,nan,KB/s",
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
BAD_LOADS = ["read,x,1,s", "read,0,1,s", "read,8.0,1,s", "read,1000000001,1,s", "read,8,1,s"]


@pytest.mark.parametrize(
    ("header", "rows"), [(HEADER, BAD), ("test,iodepth,value,unit\n", BAD_LOADS)]
)
def test_its_problems_are_those_of_a_small_table(header: str, rows: list[str]) -> None:
    data = (header + "".join(f"{row}\n" for row in rows)).encode()
    with pytest.raises(UnreadableFile) as small:
        parse("x", data)
    with pytest.raises(UnreadableFile) as large:
        read(data)
    assert large.value.problems == small.value.problems


def test_the_first_problems_are_told_and_the_others_counted() -> None:
    data = (HEADER + "write,4,64,x,KB/s\n" * 5000).encode()
    with pytest.raises(UnreadableFile) as refused:
        read(data)
    assert len(refused.value.problems) == 101
    assert refused.value.problems[-1].message == "And 4900 more problems."


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HEADER.encode(), "no values"),
        (HEADER.encode() + b"write,4,64,1,KB/s\n" * 5000 + b"read\x00,4,64,1,KB/s\n", "no text"),
        (HEADER.encode() + b"wr\xffite,4,64,1,KB/s\n", "no text in UTF-8"),
        (b"test,value,unit,m\xffood\nuntar,1,s,x\n", "line 1: Found bytes that are no text"),
        (HEADER.encode() + b"write,4,64,1,KB/s," + b"x" * 50_000, "longer than 10000"),
        (
            "\ufeff".encode("utf-16-le") + HEADER.encode("utf-16-le") + b"\x00\xdc\x00",
            "not the text",
        ),
        (b"test,value,unit,repeat\nuntar,1,s,-1\n", "whole number from 0"),
        (b"test,value,unit,hardware\nuntar,1,s,a\nuntar,2,s,b\x07\n", "no text"),
        ("test,value,unit,hardware\nuntar,1,s,a\nuntar,2,s,b\u200b\n".encode(), "cannot be shown"),
        (b"test,value,unit\nboot,1,s\nboot,1;5,s\n", 'Found "1;5"'),
        (b"test;value;unit\nboot;1,5;s\nmake;2.5;s\n", "numbers before have a decimal ','"),
        (b"test,category,value,unit\nx,maximum,1,s\n", "holds scores"),
    ],
)
def test_what_is_no_table_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        read(data)


@pytest.mark.parametrize("line", ["#" * 10_001, "x" * 10_001, " " * 10_001])
def test_nothing_behind_a_line_too_long_is_dropped_in_silence(line: str) -> None:
    data = f"test,value,unit\nboot,1,s\n{line}\nboot,2,s\n".encode()
    with pytest.raises(UnreadableFile, match="line 3, column 10001: The line is longer than"):
        read(data)
    longest = f"test,value,unit\nboot,1,s\n#{'x' * 9_999}\nboot,2,s\n".encode()
    assert [row[0] for row in read(longest)] == [2, 4]


def test_a_line_without_end_costs_no_memory() -> None:
    data = HEADER.encode() + b"x" * (64 * 1024 * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile, match="longer than"):
            long.read(io.BytesIO(data), len(data))
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_mapping_says_what_the_header_does_not() -> None:
    mapping = Mapping(delimiter=";", columns={"test": 1, "value": 0}, constants={"unit": "s"})
    assert [row[7:] for row in read(b"t;n\n5;untar\n6;make\n", mapping)] == [
        ("untar", "", "s", -1, -1, 5.0),
        ("make", "", "s", -1, -1, 6.0),
    ]
    mapping = replace(mapping, constants={"unit": "s", "tasks": "8"})
    assert [row[8] for row in read(b"t;n\n5;untar\n6;make\n", mapping)] == ["tasks=8", "tasks=8"]
    with pytest.raises(NeedsMapping):
        read(b"t;n\n5;untar\n6;make\n")


def test_a_number_that_is_said_of_all_rows_needs_no_column() -> None:
    columns = {"test": 0, "unit": 1}
    mapping = Mapping("long", columns=columns, constants={"value": "1.5"})
    data = b"test,unit\nread,MB/s\nwrite,MB/s\n"
    table = long.read(io.BytesIO(data), len(data), mapping, lambda share: None)
    assert table.numbers.values.tolist() == [1.5, 1.5]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SAMPLES),
    st.lists(
        st.tuples(
            st.integers(0, 200),
            st.integers(0, 12),
            st.sampled_from(["", ",", ";", "\n", "4", '"', "x", "-", " ", "\t", "1.5", "\r", "#"]),
        ),
        max_size=4,
    ),
)
def test_any_table_is_read_as_a_small_one(text: str, edits: list[tuple[int, int, str]]) -> None:
    for place, length, piece in edits:
        start = place % (len(text) + 1)
        text = text[:start] + piece + text[start + length :]
    data = text.encode()
    try:
        large: object = read(data)
    except UnreadableFile as error:
        # Of small tables that is told when they are stored.
        if any("cannot be shown" in problem.message for problem in error.problems):
            return
        large = None
    try:
        small: object = as_small(data)
    except UnreadableFile as error:
        # A cell given twice is told when it is stored; a matrix or an empty file is no long table.
        if any("already given" in problem.message for problem in error.problems):
            return
        small = None
    assert large == small


# What people and tools write into the columns of tables, and what nobody should.
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
        table = long.read(io.BytesIO(data), len(data), mapping)
    except UnreadableFile as error:
        return error.problems, error.units
    runs = [(own, list(run.rows())) for own, run in table.runs.items()]
    return table.numbers.tests, runs, table.rows, table.zeros, table.unused


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from([64, 300, 8192]))
def test_known_words_tell_what_reading_row_by_row_does(
    given_table: tuple[bytes, Mapping | None], block_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long, "_BLOCK_BYTES", block_bytes)
        with_known_words = outcome(*given_table)
        patch.setattr(RowReader, "_known_row", lambda *_: None)
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
    data = b"test,value,unit\n" + "".join(f"x,{text},score\n" for text in ["1234", *texts]).encode()
    rows = sorted(read(data), key=itemgetter(0))
    assert [row[-1] for row in rows[1:]] == [float(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "test,value,unit\na,1.234,s\nb,12.345,s\nc,987,s\n",
        "test;value;unit\na;90,546;s\nb;73,514;s\nc;765;s\n",
        "test;value;unit\na;90,546;s\nb;73,514;s\n",
        "test,bs,file_size_kb,value,unit\nread,4096,65536,1,KB/s\nwrite,8k,65536,1,KB/s\n",
    ],
)
def test_what_is_in_doubt_is_asked_for_in_the_same_words(text: str) -> None:
    with pytest.raises(NeedsMapping) as small:
        parse("x", text.encode())
    with pytest.raises(NeedsMapping) as large:
        read(text.encode())
    assert large.value.problems == small.value.problems


@pytest.mark.parametrize(
    "text",
    [
        "test,repeat,value,unit\na,0,1,s\na,1,2,s\nb,,3,s\n",
        # Of these a number tells what its sign is, or all have three decimals.
        "test,value,unit\na,1.234,s\nb,12.345,s\nc,987.1,s\n",
        "test,value,unit\na,1.234,s\nb,12.345,s\nc,1987,s\n",
        "test,value,unit\na,1.234,s\nb,0.345,s\nc,987,s\n",
        "test,value,unit\na,1.234,s\nb,12.345,s\n",
        "test,bs (bytes),file_size_kb,value,unit\nread,4096,65536,1,KB/s\n",
        "test,bs,file_size_kb,value,unit\nread,4k,65536,1,KB/s\n",
    ],
)
def test_what_is_in_no_doubt_is_read_alike(text: str) -> None:
    assert read(text.encode()) == as_small(text.encode())


def test_few_rows_are_read_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that bring something new; nearly all others at a glance, however they are written."""
    numbers = []
    row = RowReader.row
    monkeypatch.setattr(
        RowReader,
        "row",
        lambda self, line, number: numbers.append(number) or row(self, line, number),
    )
    rows = [
        f'"{["ext4", "xfs"][n % 2]}", write,{2 ** (n % 3)}k,{n + 100},{n / 7!r},"µs"\n'
        for n in range(3000)
    ]
    data = ("filesystem,test,record_size_kb,file_size_kb,value,unit\n" + "".join(rows)).encode()
    assert len(read(data)) == 3000
    assert len(numbers) < 10


@pytest.mark.parametrize("unit", ["ms", "KB/s", "ops/s"])
def test_what_cannot_be_measured_is_refused_in_the_same_words(unit: str) -> None:
    """2**64, and a number of so few digits that it could be read at a glance."""
    rows = [f"a,1,{unit}", f"a,18446744073709551616,{unit}", f"a,1e20,{unit}", f"b,2,{unit}"]
    data = "\n".join(["test,value,unit,repeat", *(f"{r},{n}" for n, r in enumerate(rows))]) + "\n"
    with pytest.raises(UnreadableFile) as large:
        read(data.encode())
    with pytest.raises(UnreadableFile) as small:
        parse("x", data.encode())
    assert [(p.line, p.column) for p in large.value.problems] == [(3, 2), (4, 2)]
    assert large.value.problems == small.value.problems
