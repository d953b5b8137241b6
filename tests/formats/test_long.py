"""Large tables read in one pass: the same numbers and the same problems as small ones."""

import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.tables import long
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.core.formats.tables.table import NeedsMapping

HEADER = "test,record_size_kb,file_size_kb,value,unit\n"
Found = list[tuple[object, ...]]


def read(data: bytes, mapping: Mapping | None = None) -> Found:
    table = long.read(io.BytesIO(data), len(data), mapping)
    return sorted(
        (
            (line, *own, *table.tests[test], record, file, value)
            for own, run in table.runs.items()
            for test, record, file, value, line in zip(
                run.tests, run.records, run.files, run.values, run.lines, strict=True
            )
        ),
        key=repr,
    )


def as_small(data: bytes) -> Found:
    return sorted(
        (
            (
                v.line,
                *(v.filesystem, v.configuration, v.hardware, v.repeat, v.test, v.unit),
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
    "filesystem,configuration,hardware,repeat,test,value,unit,mood\n"
    "xfs,xfs,lab 3,2,untar,93.5,s,-\n",
    '"test","value",unit\n"a b",1,"s"\nc,"2",s\n',
    "test\tsize\treclen\tvalue\tunit\r\nwrite\t64\t4\t0\tKB/s\r\n",
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
    "write,4,64,1e999,KB/s",
    "write,4,64,1e-400,KB/s",
    "write,4,0,1,KB/s",
    "write,4,99999999999999,1,KB/s",
    "write,4,64,1,KB/s,more",
]


def test_its_problems_are_those_of_a_small_table() -> None:
    data = (HEADER + "".join(f"{row}\n" for row in BAD)).encode()
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
        (HEADER.encode() + b"write,4,64,1,KB/s," + b"x" * 50_000, "longer than 10000"),
        (
            "\ufeff".encode("utf-16-le") + HEADER.encode("utf-16-le") + b"\x00\xdc\x00",
            "not the text",
        ),
        (b"test,value,unit,repeat\nuntar,1,s,-1\n", "whole number from 1"),
        (b"test,value,unit,hardware\nuntar,1,s,a\nuntar,2,s,b\x07\n", "cannot be shown"),
        (b"test,value,unit\nboot,1,s\nboot,1;5,s\n", 'Found "1;5"'),
        (b"test;value;unit\nboot;1,5;s\nmake;2.5;s\n", "numbers before have a decimal ','"),
        (b"test,category,value,unit\nx,maximum,1,s\n", "holds scores"),
    ],
)
def test_what_is_no_table_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        read(data)


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
    said = Mapping(delimiter=";", columns={"test": 1, "value": 0}, constants={"unit": "s"})
    assert [row[5:] for row in read(b"t;n\n5;untar\n6;make\n", said)] == [
        ("untar", "s", -1, -1, 5.0),
        ("make", "s", -1, -1, 6.0),
    ]
    with pytest.raises(NeedsMapping):
        read(b"t;n\n5;untar\n6;make\n")


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
        found: object = read(data)
    except UnreadableFile:
        found = None
    try:
        small: object = as_small(data)
    except UnreadableFile as error:
        # A cell given twice is told when it is stored; a matrix or an empty file is no long table.
        if any("already given" in problem.message for problem in error.problems):
            return
        small = None
    if found is not None:
        assert found == small
