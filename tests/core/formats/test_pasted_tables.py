"""Tables as people paste them: whose numbers they are, units in cells, borders, dates."""

from time import process_time

import pytest

from fsbench_web.core.formats import ParsedResult, UnknownFormat, UnreadableFile, parse
from fsbench_web.core.formats.tables.cells import test_of as name_of_test
from fsbench_web.core.formats.tables.grid import grid_of
from fsbench_web.core.formats.tables.headers import contender_of
from fsbench_web.core.formats.tables.mapping import IN_ORDER, LONG, TESTS, Mapping, NeedsMapping
from fsbench_web.core.formats.tables.reading import date_of
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped
from fsbench_web.core.formats.tables.table import parse_grid, proposal


def read(text: str) -> ParsedResult:
    return parse("x", text.encode())


def numbers(text: str) -> list[tuple[str, str, int | None, float, str]]:
    """Test, configuration or file system, repeat, value and unit of each number."""
    return [
        (v.test, v.configuration or v.filesystem, v.repeat, v.value, v.unit)
        for v in read(text).numbers.values()
    ]


def codes(text: str) -> list[str]:
    with pytest.raises(UnreadableFile) as refused:
        read(text)
    return [problem.code for problem in refused.value.problems]


def test_a_column_for_each_file_system() -> None:
    assert numbers("test,ext4 (MB/s),XFS noatime (MB/s)\nread,100,200\nwrite,50,\n") == [
        ("read", "ext4", None, 100, "MB/s"),
        ("read", "xfs_noatime", None, 200, "MB/s"),
        ("write", "ext4", None, 50, "MB/s"),
    ]


def test_a_column_for_each_repeat() -> None:
    text = "test,unit,run1,run2,Run #3,mean,stddev\nread,MB/s,1,2,3,2,1\n"
    assert numbers(text) == [("read", "", n, n, "MB/s") for n in (1, 2, 3)]
    assert [word for _, word in read(text).unread_columns] == ["mean", "stddev"]


def test_a_column_for_each_repeat_of_each_file_system() -> None:
    text = "test,ext4 run 1 (s),ext4 run 2 (s),xfs run 1 (s)\nuntar,1,2,3\n"
    assert numbers(text) == [
        ("untar", "ext4", 1, 1, "s"),
        ("untar", "ext4", 2, 2, "s"),
        ("untar", "xfs", 1, 3, "s"),
    ]


def test_what_was_measured_stands_behind_the_file_system() -> None:
    assert numbers("note,ext4 read (MB/s),xfs read (MB/s)\nx,1,2\n") == [
        ("read", "ext4", None, 1, "MB/s"),
        ("read", "xfs", None, 2, "MB/s"),
    ]
    assert numbers("test,ext4 MB/s,ext4 IOPS\nrandread,1,2\n") == [
        ("randread_bw", "ext4", None, 1, "MB/s"),
        ("randread_iops", "ext4", None, 2, "IOPS"),
    ]


@pytest.mark.parametrize("rest", ["", "\n16k,64k,120,220"])
def test_file_systems_beside_sizes_are_no_tests(rest: str) -> None:
    """Rows of numbers that grow look like a matrix; the header says what they are."""
    text = f"bs,size,ext4 (KB/s),xfs (KB/s)\n4k,64k,100,200\n8k,64k,110,210{rest}\n"
    assert codes(text) == ["contenders_missing"]
    proposed = proposal(grid_of(text.split("\n")))
    assert proposed is not None
    assert proposed.column_constants == {2: {"filesystem": "ext4"}, 3: {"filesystem": "xfs"}}
    mapping = Mapping(
        TESTS,
        columns=proposed.columns,
        constants={"test": "read"},
        tests=proposed.tests,
        column_constants=proposed.column_constants,
    )
    assert Mapping.from_json(mapping.to_json()) == mapping
    values = parse_mapped(text.encode(), mapping).numbers.values()
    assert [(v.test, v.filesystem, v.record_size_kb, v.value) for v in values][:3] == [
        ("read", "ext4", 4, 100),
        ("read", "xfs", 4, 200),
        ("read", "ext4", 8, 110),
    ]


def test_cells_with_units() -> None:
    assert numbers("test,run1,run2,run3\nread,1.5 GiB/s,900 MiB/s,2GiB/s\n") == [
        ("read", "", 1, 1.5, "GiB/s"),
        ("read", "", 2, 900 / 1024, "GiB/s"),
        ("read", "", 3, 2, "GiB/s"),
    ]
    assert numbers("test,value\nread,1.2 GiB/s\nlat,850 us\n") == [
        ("read", "", None, 1.2, "GiB/s"),
        ("lat", "", None, 850, "µs"),
    ]
    assert numbers("fs,test,iops\next4,randread,48k\nxfs,randread,51200\n") == [
        ("randread", "ext4", None, 48000, "IOPS"),
        ("randread", "xfs", None, 51200, "IOPS"),
    ]
    assert numbers("fs,test,latency (us)\next4,a,850 us\nxfs,a,1.2 ms\n") == [
        ("a", "ext4", None, 850, "µs"),
        ("a", "xfs", None, 1200, "µs"),
    ]


def test_units_that_nobody_can_convert_are_refused() -> None:
    assert codes("test,value,unit\nread,48k,MB/s\n") == ["thousands_of_what"]
    assert codes("test,value,unit\nread,1.2 GiB/s,MB/s\n") == ["units_differ"]
    assert codes("test,value,unit\nread,5 parsecs,MB/s\n") == ["not_a_number"]


def test_times_in_headers() -> None:
    assert numbers("fs,copy (s),untar (ms)\next4,12.5,30\n") == [
        ("copy", "ext4", None, 12.5, "s"),
        ("untar", "ext4", None, 30, "ms"),
    ]
    assert codes("fs,run,runtime (s)\next4,1,12.5\n") == ["columns_missing"]


BORDERED = [
    "| fs | read (MB/s) |\n|----|---:|\n| ext4 | 5 |\n| xfs | - |\n",
    "fs | read (MB/s)\n---|---\next4 | 5\n",
    "+----+---------+\n| fs | read MB/s |\n+====+=========+\n| ext4 |    5 |\n+------+--+\n",
    "┌────┬─────────┐\n│ fs │ read MB/s │\n├────┼─────────┤\n│ ext4 │    5 │\n└──────┴──┘\n",
]


@pytest.mark.parametrize("text", BORDERED)
def test_drawn_borders_are_no_cells(text: str) -> None:
    assert [row[1:] for row in numbers(text)] == [("ext4", None, 5, "MB/s")]


MERGED = [
    ",ext4,,xfs,\ntest,read (MB/s),write (MB/s),read (MB/s),write (MB/s)\n8k,1,2,3,4\n",
    "test,ext4,,xfs,\n,read (MB/s),write (MB/s),read (MB/s),write (MB/s)\n8k,1,2,3,4\n",
]


@pytest.mark.parametrize("text", MERGED)
def test_a_header_in_two_rows(text: str) -> None:
    assert numbers(text) == [
        ("8k_read", "ext4", None, 1, "MB/s"),
        ("8k_write", "ext4", None, 2, "MB/s"),
        ("8k_read", "xfs", None, 3, "MB/s"),
        ("8k_write", "xfs", None, 4, "MB/s"),
    ]


def test_tests_above_what_was_measured_of_each() -> None:
    assert numbers("fs;Sequential read;;Random read;\n;MB/s;us;MB/s;us\next4;1;2;3;4\n") == [
        ("read", "ext4", None, 1, "MB/s"),
        ("read_latency", "ext4", None, 2, "µs"),
        ("random_read", "ext4", None, 3, "MB/s"),
        ("random_read_latency", "ext4", None, 4, "µs"),
    ]


def test_a_title_above_the_header_is_no_header() -> None:
    assert numbers("Results of May,,\nfs,read (MB/s),write (MB/s)\next4,1,2\n")[0][0] == "read"


def test_any_printable_text_is_the_name_of_a_test() -> None:
    text = 'test,value,unit\n"Copy, cold & buffered",5,s\n顺序读取,6,s\nöffnen: 100%,7,s\n'
    assert [value.test for value in read(text).numbers.values()] == [
        "copy,_cold_&_buffered",
        "顺序读取",
        "öffnen:_100%",
    ]
    for text in ("", "-", "a\x07b", "a\u200bb", "x" * 101, "read@threads=8"):
        assert name_of_test(text) is None


DATED = "Filesystem,Test,Throughput (MB/s),Latency (us),Date\n"


def test_dates_order_repeats_and_are_kept() -> None:
    rows = "ext4,read,100,5,2024-03-02\next4,read,110,6,2024-03-01\next4,read,120,7,2024-03-03\n"
    result = read(DATED + rows)
    assert [(v.test, v.value, v.repeat) for v in result.numbers.values()] == [
        *(("read_bw", 100, 2), ("read_latency", 5, 2)),
        *(("read_bw", 110, 1), ("read_latency", 6, 1)),
        *(("read_bw", 120, 3), ("read_latency", 7, 3)),
    ]
    kept = {key[3]: (date.text, date.line) for key, date in result.dates.items()}
    assert kept == {1: ("2024-03-01", 3), 2: ("2024-03-02", 2), 3: ("2024-03-03", 4)}


def test_a_date_alone_makes_no_repeat() -> None:
    result = read("test,value,unit,date\nread,1,s,1.3.2024\nwrite,2,s,2.3.2024\n")
    assert {value.repeat for value in result.numbers.values()} == {None}
    [date] = result.dates.values()
    assert date.at is not None
    assert date.at.isoformat() == "2024-03-01T00:00:00"


def test_dates_that_nobody_can_order_are_asked_about() -> None:
    assert codes("test,value,unit,date\na,1,s,3/4/2024\na,2,s,4/4/2024\n") == ["date_open"] * 2
    assert codes("test,value,unit,date\na,1,s,yesterday\na,2,s,today\n") == ["no_date"] * 2
    needless = read("test,value,unit,date\na,1,s,yesterday\nb,2,s,3/4/2024\n")
    assert [warning.code for warning in needless.warnings] == ["no_date", "date_open"]
    assert (needless.count, needless.dates) == (2, {})
    result = read("test,value,unit,date\na,1,s,3/14/2024\na,2,s,3/5/2024\n")
    assert [value.repeat for value in result.numbers.values()] == [2, 1]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-03-01", "2024-03-01T00:00:00"),
        ("2024/03/01 10:30", "2024-03-01T10:30:00"),
        ("2024-03-01T10:30:00Z", "2024-03-01T10:30:00+00:00"),
        ("1.3.2024 10:30", "2024-03-01T10:30:00"),
        ("1 Mar 2024", "2024-03-01T00:00:00"),
        ("March 1, 2024", "2024-03-01T00:00:00"),
        ("Fri Mar  1 10:30:00 2024", "2024-03-01T10:30:00"),
        ("1709289000", "2024-03-01T10:30:00+00:00"),
    ],
)
def test_dates_as_people_write_them(text: str, iso: str) -> None:
    moment = date_of(text)
    assert moment is not None
    assert moment.isoformat() == iso


def test_rows_can_be_said_to_be_repeats_in_order() -> None:
    text = "test,value,unit,note\na,3,s,x\nb,9,s,x\na,1,s,y\n"
    assert codes(text) == ["cell_twice_unread"]
    mapping = Mapping(
        LONG, columns={"test": 0, "value": 1, "unit": 2}, repeats=IN_ORDER, ignored=[3]
    )
    result = parse_mapped(text.encode(), mapping)
    assert [(v.test, v.value, v.repeat) for v in result.numbers.values()] == [
        *(("a", 3, 1), ("b", 9, 1), ("a", 1, 2)),
    ]
    assert result.unread_columns == []
    assert [(warning.code, warning.is_note) for warning in result.warnings] == [
        ("column_ignored", True)
    ]


def test_what_tells_no_rows_apart_is_asked_with_the_next_step() -> None:
    with pytest.raises(NeedsMapping) as refused:
        read("test,value,unit\na,1,s\na,2,s\n")
    [problem] = refused.value.problems
    assert (problem.code, problem.line) == ("cell_twice", 3)
    assert dict(problem.parameters)["first"] == "2"


def test_the_last_line_of_something_else_is_no_header() -> None:
    """It was refused as a table with a header and no values."""
    line = "209715200 bytes (210 MB, 200 MiB) copied, 0.427196 s, fast MB/s"
    with pytest.raises(UnknownFormat):
        read(f"200+0 records in\n200+0 records out\n{line}\n")


@pytest.mark.parametrize("word", ["write (MB/s)", "fs", "lat (us)", "note", "ext4 util (%)"])
def test_other_headers_name_no_contender(word: str) -> None:
    assert contender_of(word) is None


def test_a_table_of_1500_columns_is_read() -> None:
    names = [f"workload number {n} (MB/s)" for n in range(1500)]
    text = f"fs,{','.join(names)}\next4,{','.join(map(str, range(1, 1501)))}\n"
    values = read(text).numbers.values()
    assert len(values) == 1500
    assert (values[-1].test, values[-1].value) == ("workload_number_1499", 1500)


def test_a_hostile_header_of_a_megabyte_is_refused_at_once() -> None:
    header = ",".join(["fs", *(f"work {n} (MB/s)" for n in range(60_000))])
    started = process_time()
    with pytest.raises(UnreadableFile) as refused:
        parse_grid(grid_of([header, f"ext4{',1' * 60_000}"]))
    assert [problem.code for problem in refused.value.problems] == ["no_column"]
    assert process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        "test   fs    value  unit\nread   ext4  12.5   MB/s\nwrite  xfs   13     MB/s\n",
        "test fs value unit\nread ext4 12.5 MB/s\nwrite xfs 13 MB/s\n",
        "  test   fs     value unit\n  read   ext4   12.5  MB/s\n  write  xfs    13    MB/s\n",
    ],
)
def test_columns_that_blanks_align_are_read(text: str) -> None:
    assert [(v.test, v.filesystem, v.value, v.unit) for v in read(text).numbers.values()] == [
        ("read", "ext4", 12.5, "MB/s"),
        ("write", "xfs", 13, "MB/s"),
    ]


def test_names_with_blanks_stand_in_columns_that_are_two_apart() -> None:
    text = "File system   read MB/s   write MB/s\next4          120         100\n"
    assert [(v.test, v.filesystem, v.value) for v in read(text).numbers.values()] == [
        ("read", "ext4", 120),
        ("write", "ext4", 100),
    ]
    with pytest.raises(NeedsMapping):
        read("place         speed       other\next4          120         100\nxfs  7  8\n")


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><th colspan=2>ext4</th></tr>\n<tr><td>1,5</td><td>2,5</td></tr></table>\n",
        "\n<!DOCTYPE html>\n<html>\n<body>a, b\n",
    ],
)
def test_html_is_refused_as_what_it_is(text: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(text)
    assert [problem.code for problem in refused.value.problems] == ["html"]
