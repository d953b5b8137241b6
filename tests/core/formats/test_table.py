"""Tables: delimiters, decimal signs, and every problem at its line and column."""

import re
from dataclasses import replace

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped

HEADER = "test,record_size_kb,file_size_kb,value,unit\n"


def values(text: str) -> list[tuple[str, int | None, int | None, float, str]]:
    result = parse("x", text.encode())
    return [
        (v.test, v.record_size_kb, v.file_size_kb, v.value, v.unit) for v in result.numbers.values()
    ]


def problems(text: str | bytes) -> list[tuple[int | None, int | None, str]]:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", text.encode() if isinstance(text, str) else text)
    return [(p.line, p.column, p.message) for p in refused.value.problems]


def test_it_reads_comma_separated_values() -> None:
    text = HEADER + "write,4,64,1234.5,KB/s\nrandom_read,8,64,7,kBytes/sec\n"
    assert values(text) == [("write", 4, 64, 1234.5, "KB/s"), ("random_read", 8, 64, 7, "KB/s")]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_decimal_comma_needs_another_delimiter(delimiter: str) -> None:
    text = "Test;reclen;size;score;unit\nwrite;4;64;1234,5;KB/s\n".replace(";", delimiter)
    assert values(text) == [("write", 4, 64, 1234.5, "KB/s")]


def test_two_decimal_signs_in_one_file_are_refused() -> None:
    text = "test;value;unit\nboot;1,5;s\nmake;2.5;s\n"
    [(line, column, message)] = problems(text)
    assert (line, column) == (3, 2)
    assert "numbers before have a decimal ','" in message


def test_signs_that_set_no_thousands_apart_are_refused() -> None:
    for number in ("1.23,5", "1,2345.6", "1 234", "1_234", "1'234"):
        [(line, column, message)] = problems(f"test;value;unit\nboot;{number};s\n")
        assert (line, column) == (2, 2)
        assert number in message


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_it_reads_what_spreadsheets_write(encoding: str) -> None:
    data = "test,value,unit\r\nboot,1.5,s\r\n".encode(encoding)
    assert [v.value for v in parse("x.csv", data).numbers.values()] == [1.5]


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        *((one, "MB/s") for one in ("MB/s", "MB/sec", "MBps", "MBytes/s")),
        *((one, "IOPS") for one in ("IOPS", "iops")),
        *((one, one) for one in ("mb/s", "Mb/s", "Mbps", "mbps", "MB/S")),  # bits, or nobody knows
        *((one, one) for one in ("Kb/s", "Kb/sec", "Kib/s", "Mib/s", "Gib/s", "Mib/sec")),
        *((one, "MiB/s") for one in ("MiB/s", "mib/s", "MIB/S", "MiB/sec")),
    ],
)
def test_a_unit_becomes_another_only_where_both_are_one(written: str, unit: str) -> None:
    assert values(f"test,value,unit\nread,5,{written}\n") == [("read", None, None, 5.0, unit)]


def test_a_small_b_of_a_header_stays_too() -> None:
    assert values("fs,rw,BW (Mib/s)\next4,read,800\n") == [("read", None, None, 800.0, "Mib/s")]


def test_a_test_without_sizes_has_none() -> None:
    assert values("test,value,unit\nuntar,93.5,s\n") == [("untar", None, None, 93.5, "s")]


def test_names_of_tests_may_be_written_otherwise() -> None:
    names = ["Random Write", "random-read", "Re-read", "My test", "fs-mark"]
    rows = "".join(f"{name},1,s\n" for name in names)
    assert [v[0] for v in values("test,value,unit\n" + rows)] == [
        *("random_write", "random_read", "reread", "my_test", "fs-mark")
    ]


def test_an_empty_value_is_a_missing_cell() -> None:
    assert values(HEADER + "write,4,64,,KB/s\nread,4,64,5,KB/s\n") == [("read", 4, 64, 5, "KB/s")]


def test_the_file_may_say_what_its_numbers_belong_to() -> None:
    text = (
        "filesystem,configuration,hardware,repeat,test,value,unit\n"
        "xfs,xfs_noatime,lab 3,2,untar,93.5,s\n"
    )
    [value] = parse("x", text.encode()).numbers.values()
    assert (value.filesystem, value.configuration) == ("xfs", "xfs_noatime")
    assert (value.hardware, value.repeat, value.line) == ("lab 3", 2, 2)


def test_all_problems_come_at_once_with_their_places() -> None:
    reported = problems(
        HEADER
        + "write,4,64,fast,KB/s\n"
        + "write,four,64,1,KB/s\n"
        + ",4,128,1,KB/s\n"
        + "write,4,256,1,\n"
        + "write,4,512,1\n"
        + "write,,1024,1,KB/s\n"
        + 'write,4,2048,"1,KB/s\n'
    )
    assert [(line, column) for line, column, _ in reported] == [
        (2, 4),
        (3, 2),
        (4, 1),
        (5, 5),
        (6, None),
        (7, 2),
        (8, None),
    ]
    assert reported[0][2] == 'Found "fast", expected a number such as 1234.5, without separators.'
    assert "Found 4 fields separated by comma, expected 5" in reported[4][2]


@pytest.mark.parametrize("word", ["NA", "NaN", "nan", "#N/A", "NULL", "null", "None", "n/a", "-"])
def test_what_tools_write_for_nothing_is_missing(word: str) -> None:
    data = HEADER + f"write,4,64,{word},KB/s\nwrite,4,128,2,KB/s\n"
    [value] = parse("x", data.encode()).numbers.values()
    assert (value.line, value.value) == (3, 2)


@pytest.mark.parametrize(
    "number", ["NAN", "none", "inf", "-inf", "Infinity", "1e999", "-1", "１２"]
)
def test_what_is_no_measurement_is_refused(number: str) -> None:
    [(line, column, _)] = problems(HEADER + f"write,4,64,{number},KB/s\n")
    assert (line, column) == (2, 4)


def test_the_same_cell_twice_is_refused() -> None:
    [(line, _, message)] = problems(HEADER + "write,4,64,1,KB/s\nwrite,4,64,2,KB/s\n")
    assert line == 3
    assert "already given in line 2" in message


def test_repeats_in_a_column_that_nothing_reads_are_asked_about() -> None:
    data = b"test,value,unit,Attempt,mood\nboot,1,s,a,x\nboot,2,s,b,x\nboot,3,s,c,x\n"
    with pytest.raises(NeedsMapping) as error:
        parse("x", data)
    [problem] = error.value.problems
    assert problem.line == 3
    assert problem.code == "cell_twice_unread"
    assert dict(problem.parameters)["columns"] == '"Attempt", "mood"'
    mapping = Mapping(columns={"test": 0, "value": 1, "unit": 2, "block": 3})
    assert [v.block for v in parse_mapped(data, mapping).numbers.values()] == ["a", "b", "c"]


@pytest.mark.parametrize("word", ["Run #", "#run", "Run no.", "trial", "Run Number", "Durchlauf"])
def test_a_column_may_count_repeats_in_other_words(word: str) -> None:
    data = f"test,value,unit,{word}\nboot,1,s,1\nboot,2,s,2\n".encode()
    assert [v.repeat for v in parse("x", data).numbers.values()] == [1, 2]


def test_scores_are_not_measurements() -> None:
    [(line, column, message)] = problems("test,category,score,unit\nwrite,maximum,1,KB/s\n")
    assert (line, column) == (1, 2)
    assert "holds scores" in message


def test_a_missing_column_is_named() -> None:
    assert problems("test,value\nwrite,1\n") == [(1, None, "The header has no column unit.")]


def test_a_column_that_is_not_ours_is_named() -> None:
    result = parse("x", b"test,value,unit,mood\nuntar,1,s,good\n")
    assert result.unread_columns == [(1, "mood")]


def test_a_zero_is_kept_and_questioned() -> None:
    result = parse("x", b"test,value,unit\nuntar,0,s\n")
    assert result.numbers.values()[0].value == 0
    assert (result.warnings[0].line, result.warnings[0].column) == (2, 2)


def test_a_header_alone_is_refused() -> None:
    assert problems(HEADER) == [(2, None, "The table has a header and no values.")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"test,value,unit\nuntar,1\x00,s\n", "NUL"),
        (b"\x7fELF\x02\x01\x01", "code|UTF-8"),
        (b"test,value,unit\nuntar,1,s\xff\n", "0xff, which is not UTF-8"),
        (b"test,value,unit\n" + b"x" * 20_000, "20000 characters"),
        (b"\xff\xfea", "UTF-16"),
        (b"hello\n", "not the output of a tool that fsbench reads .*, nor a table"),
        (b"%PDF-1.7\n", "a PDF"),
    ],
)
def test_what_is_not_a_table_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("results.csv", data)


def test_the_place_of_a_byte_that_is_no_text_is_told() -> None:
    [(line, column, _)] = problems(b"test,value,unit\nuntar,1,s\xff\n")
    assert (line, column) == (2, 10)


def test_many_problems_are_counted_not_listed() -> None:
    reported = problems(HEADER + "write,4,64,x,KB/s\n" * 500)
    assert len(reported) == 101
    assert reported[-1][2] == "And 400 more problems."


def test_a_file_of_problems_is_not_read_to_its_end() -> None:
    reported = problems(HEADER + "write,4,64,x,KB/s\n" * 5000)
    assert len(reported) == 101
    assert "what follows was not read" in reported[-1][2]
    reported = problems(HEADER + "\x01\n" * 5000)
    assert len(reported) == 101
    assert "what follows was not read" in reported[-1][2]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_more_lines_than_any_tool_prints_are_refused(end: str) -> None:
    [(line, column, message)] = problems("x" + end * 1_000_001 + "x")
    assert (line, column) == (None, None)
    assert "1,000,000 lines" in message


@pytest.mark.parametrize("number", ["1e31", "1.7e308", "1e999"])
def test_a_value_whose_sums_are_no_numbers_is_refused(number: str) -> None:
    [(line, column, message)] = problems(HEADER + f"write,4,64,{number},KB/s\n")
    assert (line, column) == (2, 4)
    assert "too large" in message


@pytest.mark.parametrize("number", ["1e-400", "0.04E-399", "1e-324", "5e-324", "9e-31"])
def test_a_value_whose_ratios_are_no_numbers_is_refused(number: str) -> None:
    [(line, column, message)] = problems(HEADER + f"write,4,64,{number},KB/s\n")
    assert (line, column) == (2, 4)
    assert "too small" in message


@pytest.mark.parametrize("number", ["0", "0.00", "0e5", "1e-30"])
def test_a_zero_and_the_smallest_value_are_read(number: str) -> None:
    [value] = values(HEADER + f"write,4,64,{number},KB/s\n")
    assert value[3] == float(number)


@pytest.mark.parametrize("number", ["-0", "-0.0", "-0e5"])
def test_no_zero_is_negative(number: str) -> None:
    [value] = values(HEADER + f"write,4,64,{number},KB/s\n")
    assert repr(value[3]) == "0.0"


def test_a_repeat_leaves_room_for_further_ones() -> None:
    text = "test,value,unit,repeat\nboot,1,s,{}\n"
    assert values(text.format(1_000_000))
    [(line, column, message)] = problems(text.format(2_147_483_647))
    assert (line, column) == (2, 4)
    assert "0 to 1,000,000" in message


@pytest.mark.parametrize(
    ("header", "load"),
    [
        ("threads", "threads=8"),
        ("Queue Depth", "iodepth=8"),
        ("numjobs", "jobs=8"),
        ("tasks", "tasks=8"),
        ("clients", "clients=8"),
    ],
)
def test_a_column_may_say_the_load(header: str, load: str) -> None:
    result = parse("x", f"test,{header},value,unit\nread,8,5,MB/s\nread,16,6,MB/s\n".encode())
    assert [v.load for v in result.numbers.values()] == [load, load.replace("8", "16")]
    assert not result.warnings


def test_a_load_is_a_count() -> None:
    with pytest.raises(UnreadableFile, match=r"line 2, column 2: .*expected how many threads"):
        parse("x", b"test,threads,value,unit\nread,many,5,MB/s\n")


def test_repeats_may_begin_at_0() -> None:
    data = b"test,iter,value,unit\nread,0,5,MB/s\nread,1,6,MB/s\n"
    assert [(v.repeat, v.value) for v in parse("x", data).numbers.values()] == [(1, 5), (2, 6)]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (("1,034.5", "987.25", "1,031"), (1034.5, 987.25, 1031)),
        (("1.034,5", "987,25", "1.031"), (1034.5, 987.25, 1031)),
        (("1,234,567", "765", "2.5"), (1234567, 765, 2.5)),
        (("987.25", "12,345.", "1e3"), (987.25, 12345, 1000)),
        ((".5", "1.234", "987"), (0.5, 1.234, 987)),
    ],
)
@pytest.mark.parametrize("separator", [",", ";"])
def test_thousands_are_read_where_a_number_tells_it(
    written: tuple[str, ...], read: tuple[float, ...], separator: str
) -> None:
    # Spreadsheets write "1,034.5" in quotes where commas separate.
    rows = [f'"test{n}";"{text}";"s"' for n, text in enumerate(written)]
    data = "\n".join(["test;value;unit", *rows, ""]).replace(";", separator)
    result = parse("x", data.encode())
    assert tuple(v.value for v in result.numbers.values()) == read


def test_numbers_whose_thousands_disagree_are_asked_about() -> None:
    for later in ("1,234,567.5", "1.234.567"):
        before = "90,546" if later.endswith(".5") else "90.546"
        data = f"test;value;unit\na;{before};s\nb;{later};s\nc;765;s\n"
        with pytest.raises(NeedsMapping, match=f'Found "{re.escape(later)}", but numbers before'):
            parse("x", data.encode())


def test_thousands_are_read_once_the_decimal_sign_is_said() -> None:
    data = b"test;value;unit\na;90,546;s\nb;1,234,567.5;s\nc;765;s\n"
    columns = {"test": 0, "value": 1, "unit": 2}
    mapping = Mapping(delimiter=";", decimal=".", columns=columns)
    assert [v.value for v in parse_mapped(data, mapping).numbers.values()] == [
        90546,
        1234567.5,
        765,
    ]
    with pytest.raises(UnreadableFile, match=r"1,234,567\.5"):
        parse_mapped(data, replace(mapping, decimal=","))
    few = b"test;value;unit\na;90,546;s\nc;765;s\n"
    with pytest.raises(NeedsMapping, match=r'"90,546" may be 90546 or a thousandth of it'):
        parse("x", few)
    assert [v.value for v in parse_mapped(few, replace(mapping, decimal=",")).numbers.values()] == [
        90.546,
        765,
    ]


def test_a_block_size_says_its_unit_or_is_asked_about() -> None:
    data = b"test,bs,file_size_kb,value,unit\nread,4096,65536,1,KB/s\n"
    with pytest.raises(NeedsMapping, match='line 2, column 2: "4096" has no unit'):
        parse("x", data)
    columns = {"test": 0, "record_size_kb": 1, "file_size_kb": 2, "value": 3, "unit": 4}
    mapping = Mapping(columns=columns, record_unit="bytes")
    assert [v.record_size_kb for v in parse_mapped(data, mapping).numbers.values()] == [4]
