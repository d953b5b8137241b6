"""Tables with a column for each test, matrices, other separators, and mappings that say it all."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse
from fsbench_web.core.formats.tables.cells import size_kb
from fsbench_web.core.formats.tables.grid import grid_of
from fsbench_web.core.formats.tables.mapping import (
    MATRIX,
    OWN_TEST,
    TESTS,
    Mapping,
    NeedsMapping,
)
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped, tables_of
from fsbench_web.core.formats.tables.table import proposal

Row = tuple[str, int | None, int | None, float, str, int]


def rows(result: ParsedResult) -> list[Row]:
    return [
        (v.test, v.record_size_kb, v.file_size_kb, v.value, v.unit, v.line)
        for v in result.numbers.values()
    ]


def read(text: str) -> list[Row]:
    return rows(parse("x", text.encode()))


def problems(text: str) -> list[tuple[int | None, int | None, str]]:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", text.encode())
    return [(p.line, p.column, p.message) for p in refused.value.problems]


def test_a_column_for_each_test() -> None:
    head = "file_kb,record size (bytes),write (KB/s),Re-read (KB/s),note\n"
    assert read(f"{head}64,4096,10,20.5,x\n128,4096,,-,\n64,8192,7,n/a,\n") == [
        ("write", 4, 64, 10, "KB/s", 2),
        ("reread", 4, 64, 20.5, "KB/s", 2),
        ("write", 8, 64, 7, "KB/s", 4),
    ]


def test_tests_in_columns_may_have_the_unit_in_a_column() -> None:
    text = "unit;write;random read\nops/s;1,5;2\n"
    assert read(text) == [
        ("write", None, None, 1.5, "ops/s", 2),
        ("random_read", None, None, 2, "ops/s", 2),
    ]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_a_matrix_under_a_title(sign: str) -> None:
    text = "Write (KB/s)\n\n;4;8;16k\n64;1;2;3\n128;4;;6\n\nread (KB/s)\n;4;8\n64;7;-\n"
    assert read(text.replace(";", sign)) == [
        ("write", 4, 64, 1, "KB/s", 4),
        ("write", 8, 64, 2, "KB/s", 4),
        ("write", 16, 64, 3, "KB/s", 4),
        ("write", 4, 128, 4, "KB/s", 5),
        ("write", 16, 128, 6, "KB/s", 5),
        ("read", 4, 64, 7, "KB/s", 9),
    ]


def test_the_larger_sizes_are_the_files() -> None:
    assert read("write (KB/s)\n,64,128\n4,1,2\n8,3,4\n")[1] == ("write", 4, 128, 2, "KB/s", 3)
    text = "write (KB/s)\nreclen,4,8\n4,1,\n8,3,4\n"
    assert read(text)[1] == ("write", 8, 4, 3, "KB/s", 4), "the corner says what the rows are"


def test_a_matrix_without_a_test_asks_for_it() -> None:
    [(line, column, message)] = problems(",4,8\n64,1,2\n128,3,4\n")
    assert (line, column) == (1, None)
    assert "Say which column is what on the import page" in message
    with pytest.raises(NeedsMapping):
        parse("x", b",4,8\n64,1,2\n128,3,4\n")


def test_all_problems_of_a_matrix_come_with_their_places() -> None:
    reported = problems("write (KB/s)\n,4,8\n64,fast,2\nsum,3,4\n128,1,2,9\n256,-1,0.5\n")
    assert [(line, column) for line, column, _ in reported] == [(3, 2), (4, 1), (5, None), (6, 2)]


@pytest.mark.parametrize(
    ("text", "kb"),
    [
        ("64", 64),
        ("64k", 64),
        ("64 KB", 64),
        ("1M", 1024),
        ("2GiB", 2 * 1024**2),
        ("65536 bytes", 64),
        ("64.0", 64),
        ("1000 bytes", None),
        ("0", None),
        ("-4", None),
        ("1e3", None),
        ("4.5", None),
        ("٤", None),
    ],
)
def test_sizes(text: str, kb: int | None) -> None:
    assert size_kb(text) == kb


LAB = "date;who;bs;MB;mode;speed\n2005-01-02;ann;4;1;seq-w;1.234,5\n2005-01-03;bob;8;1;seq-r;99,5\n"


def test_a_table_with_other_names_asks_which_column_is_what() -> None:
    text = LAB.replace("1.234", "1234")
    with pytest.raises(NeedsMapping) as error:
        parse("x", text.encode())
    assert "does not say: test, unit" in str(error.value)
    [grid] = tables_of(text.encode())
    proposed = proposal(grid)
    assert proposed is not None
    assert proposed.columns == {"record_size_kb": 2, "value": 5, "date": 0}
    mapping = Mapping(
        header_line=1,
        delimiter=";",
        columns={"record_size_kb": 2, "file_size_kb": 3, "test": 4, "value": 5},
        constants={"unit": "KB/s", "filesystem": "ext3", "configuration": "ext3", "repeat": "2"},
        file_unit="MB",
    )
    result = parse_mapped(text.encode(), mapping)
    assert rows(result) == [
        ("seq-w", 4, 1024, 1234.5, "KB/s", 2),
        ("seq-r", 8, 1024, 99.5, "KB/s", 3),
    ]
    assert {(v.filesystem, v.repeat) for v in result.numbers.values()} == {("ext3", 2)}
    assert Mapping.from_json(json.loads(json.dumps(mapping.to_json()))) == mapping


def test_a_mapping_reads_a_matrix_and_tests_in_columns() -> None:
    constants = {"test": "write", "unit": "KB/s"}
    matrix = Mapping(MATRIX, header_line=2, constants=constants, rows_are="record")
    assert rows(parse_mapped(b"a title\n,64,128\n4,1,2\n", matrix)) == [
        ("write", 4, 64, 1, "KB/s", 3),
        ("write", 4, 128, 2, "KB/s", 3),
    ]
    tests = Mapping(
        TESTS, delimiter=" ", tests={0: ("untar", "s"), 2: ("make", "")}, constants={"unit": "min"}
    )
    assert rows(parse_mapped(b"t  x   m\n9   1  2\n", tests)) == [
        ("untar", None, None, 9, "s", 2),
        ("make", None, None, 2, "min", 2),
    ]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (Mapping(), "value is missing"),
        (Mapping(columns={"test": 0, "value": 0, "unit": 1}), "said to be two things"),
        (Mapping(columns={"test": 0, "value": 2900, "unit": 1}), "no such column"),
        (Mapping(columns={"test": 0, "value": 1, "unit": 2}, header_line=9), "no header in line 9"),
        (Mapping(columns={"test": 0, "value": 1, "unit": 2}, decimal="'"), "a point or a comma"),
        (Mapping(columns={"test": 0, "value": 1, "unit": 2}, file_unit="mm"), "bytes, KB, MB"),
        (Mapping(shape="cube"), "not known"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(mapping: Mapping, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse_mapped(b"a,b,c\nwrite,1,KB/s\n", mapping)


def test_utf_16_and_quotes_are_read() -> None:
    text = 'file_kb;record_kb;"write (KB/s)"\n64;4;"1,5"\n'
    assert rows(parse("x", text.encode("utf-16")))[0] == ("write", 4, 64, 1.5, "KB/s", 2)


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet="write,;|\t\n 0123456789.-()KB/sread\"'kM", max_size=250),
    st.sampled_from(["write (KB/s)\n,4,8\n64,", "file_kb;record_kb;write (KB/s)\n64;4;", ""]),
)
def test_nearly_wide_tables_give_numbers_of_the_file_or_a_problem(text: str, start: str) -> None:
    import re

    data = start + text
    try:
        result = parse("x", data.encode())
    except UnreadableFile as error:
        assert error.problems  # noqa: PT017
        return
    lines = re.split(r"\r\n|\r|\n", data)
    for value in result.numbers.values():
        words = re.findall(r"[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?", lines[value.line - 1])
        words += re.findall(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?", lines[value.line - 1])
        assert value.value in [float(word.replace(",", ".")) for word in words]


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet='write,;\t\n 0123456789.-"KB/s', max_size=200),
    st.builds(
        Mapping,
        shape=st.sampled_from(["long", "tests", "matrix"]),
        header_line=st.integers(0, 4),
        delimiter=st.sampled_from([",", ";", " ", ""]),
        columns=st.dictionaries(
            st.sampled_from(["test", "value", "unit", "file_size_kb", "repeat"]),
            st.integers(-1, 6),
        ),
        constants=st.dictionaries(
            st.sampled_from(["test", "unit", "record_size_kb", "repeat"]), st.text(max_size=5)
        ),
        tests=st.dictionaries(
            st.integers(-1, 5), st.tuples(st.text(max_size=8), st.sampled_from(["", "s"]))
        ),
        rows_are=st.sampled_from(["file", "record"]),
    ),
)
def test_any_mapping_of_any_text_gives_numbers_or_a_problem(text: str, mapping: Mapping) -> None:
    try:
        result = parse_mapped(text.encode(), mapping)
    except UnreadableFile as error:
        assert error.problems  # noqa: PT017
        return
    assert all(value.value >= 0 and value.unit for value in result.numbers.values())


def test_the_field_s_own_headers_say_what_is_what() -> None:
    """As people write down what fio printed: fs, rw, bs, bw with its unit, or IOPS."""
    result = parse(
        "x", b"fs,rw,bs,size,bw (MiB/s)\next4,randread,4k,1g,120.5\nxfs,randread,4k,1g,99\n"
    )
    assert [
        (v.filesystem, v.test, v.record_size_kb, v.file_size_kb, v.value, v.unit)
        for v in result.numbers.values()
    ] == [
        ("ext4", "randread", 4, 1048576, 120.5, "MiB/s"),
        ("xfs", "randread", 4, 1048576, 99.0, "MiB/s"),
    ]
    result = parse("x", b"fs,test,qd,iops\next4,randwrite,8,1200\n")
    [value] = result.numbers.values()
    assert (value.load, value.value, value.unit) == ("iodepth=8", 1200.0, "IOPS")


def test_what_others_call_our_tests_is_proposed() -> None:
    [grid] = tables_of(b"fs,randread (KB/s),seq write (KB/s)\next4,10,20\n")
    mapping = proposal(grid)
    assert mapping is not None
    assert mapping.tests == {1: ("random_read", "KB/s"), 2: ("write", "KB/s")}


@pytest.mark.parametrize(
    "header",
    [
        "record,file,ext4 (KB/s),xfs (KB/s)",
        "record_size_kb,file_size_kb,XFS noatime (MB/s),btrfs-zstd MB/s",
        "bs,size,run1 (KB/s),Run #2 (KB/s)",
        "bs,size,before (KB/s),after (KB/s)",
        "bs,size,ReiserFS kB/s,NFS kB/s",
    ],
)
def test_a_column_of_a_contender_is_no_test(header: str) -> None:
    """Which file system a column is of no test says: it was stored as a test called ext4."""
    with pytest.raises(NeedsMapping) as refused:
        parse("x", f"{header}\n4,64,100,200\n8,64,110,210\n".encode())
    [problem] = refused.value.problems
    assert (problem.line, problem.code) == (1, "contenders_missing")
    words = ", ".join(f'"{word}"' for word in header.split(",")[2:])
    assert dict(problem.parameters) == {"columns": words, "missing": "test"}
    proposed = proposal(grid_of(f"{header}\n4,64,100,200\n".split("\n")))
    assert proposed is not None
    assert {test for test, _ in proposed.tests.values()} == {OWN_TEST}


def test_a_table_with_tests_as_columns_is_read_whatever_its_rows_are_of() -> None:
    values = parse(
        "x", b"filesystem,read (KB/s),pread (KB/s)\next4,2,3\nxfs,4,5\n"
    ).numbers.values()
    assert [(v.test, v.filesystem, v.value) for v in values] == [
        *(("read", "ext4", 2), ("pread", "ext4", 3)),
        *(("read", "xfs", 4), ("pread", "xfs", 5)),
    ]
