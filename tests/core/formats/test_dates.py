"""When the runs of a file were measured, as tools print it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fsbench_web.core.formats import FORMATS, dates, parse
from fsbench_web.core.formats.result import ParsedValue, PrintedDate
from tests.core.formats.conftest import SAMPLES


def dates_of(name: str, change: tuple[str, str] = ("", "")) -> list[PrintedDate]:
    text = (SAMPLES / name).read_text().replace(*change) if change[0] else None
    data = (SAMPLES / name).read_bytes() if text is None else text.encode()
    printed = parse(name, data).dates
    return [printed[key] for key in sorted(printed, key=str)]


@pytest.mark.parametrize(
    ("sample", "at", "text", "line"),
    [
        (
            "iozone-3.226-tests-0-2-5.txt",
            datetime(2005, 8, 9, 10, 12, 44),
            "Run began: Tue Aug  9 10:12:44 2005",
            12,
        ),
        (
            "fio-3.1-two-hosts.txt",
            datetime(2017, 11, 6, 20, 26, 40, tzinfo=UTC),
            '"timestamp" : 1510000000',
            7,
        ),
        (
            "fio-3.33-json.txt",
            datetime(2026, 11, 21, 8, 36, 12, 314000, tzinfo=UTC),
            '"timestamp_ms" : 1795250172314',
            4,
        ),
        (
            "fio-2.2.10-normal.txt",
            datetime(2020, 6, 19, 1, 26, 6),
            "pid=121314: Fri Jun 19 01:26:06 2020",
            5,
        ),
        (
            "ior-3.2-two-iterations.txt",
            datetime(2018, 10, 24, 17, 26, 3),
            "StartTime           : Wed Oct 24 17:26:03 2018",
            6,
        ),
        ("ior-2.10.txt", datetime(2011, 3, 8, 10, 55), "Run began: Tue Mar  8 10:55:00 2011", 3),
        (
            "mdtest-3.4-many-tasks.txt",
            datetime(2021, 6, 11, 15, 51, 26),
            "-- started at 06/11/2021 15:51:26",
            1,
        ),
        ("elbencho-3.1.txt", datetime(2026, 5, 22, 16, 9, 38), "2026-05-22T16:09:38,", 2),
        (
            "diskspd-2.txt",
            datetime(2021, 4, 16, 19, 3, 38, tzinfo=UTC),
            "start time: 2021/04/16 19:03:38 UTC",
            27,
        ),
        (
            "crystaldiskmark-8.0.1.txt",
            datetime(2021, 6, 23, 0, 5, 57),
            "Date: 2021/06/23 0:05:57",
            24,
        ),
        (
            "vdbench-5.04-flatfile.txt",
            datetime(2019, 3, 8, 15, 17, 15),
            "15:17:15.048 03/08/2019-15:17:15-ICT",
            103,
        ),
        (
            "vdbench-5.04-summary.txt",
            datetime(2019, 10, 9, 2, 42, 35, tzinfo=UTC),
            "Vdbench summary report, created 09:42:35 Oct 09 2019 ICT (02:42:35 Oct 09 2019 UTC)",
            3,
        ),
        (
            "vdbench-5.04-totals-chinese.txt",
            datetime(2023, 5, 10),
            "5\u6708 10, 2023    interval",
            12,
        ),
        (
            "phoronix-pgbench.txt",
            datetime(2026, 7, 13, 3, 51, 17),
            "LastModified: 2026-07-13 03:51:17",
            21,
        ),
    ],
)
def test_the_date_is_that_of_the_file(sample: str, at: datetime, text: str, line: int) -> None:
    assert dates_of(sample) == [PrintedDate(at, text, line)]


@pytest.mark.parametrize(
    ("sample", "times"),
    [
        ("fio-3.33-twice.txt", ["08:56:08.884000", "08:56:09.170000"]),
        ("fio-3.33-status-interval.txt", ["08:36:18.577000"]),  # of the last of the reports
        ("elbencho-3.1-iterations-table.txt", ["09:57:04", "09:57:04"]),
        ("elbencho-3.1-file-json.txt", ["09:56:52.462000"]),
        ("ior-4.1-json.txt", ["09:46:07"]),
        ("db_bench-7.8.3.txt", ["09:51:40", "09:51:40"]),
        ("fs_mark-3.3-loops.txt", ["10:11:49", "10:11:49"]),
        ("iozone-3.489-throughput.txt", ["07:42:03"]),
    ],
)
def test_each_run_of_a_file_has_its_own(sample: str, times: list[str]) -> None:
    assert [str(date.at.time()) for date in dates_of(sample) if date.at] == times


@pytest.mark.parametrize(
    "sample", ["bonnie-1.96.txt", "iozone-3.489-matrix.xls", "postmark-1.51.txt", "dd-9.1.txt"]
)
def test_what_prints_none_has_none(sample: str) -> None:
    """The seed of bonnie++ is none, though it looks like one."""
    assert dates_of(sample) == []


def test_a_system_of_the_phoronix_test_suite_says_when_before_the_file_does() -> None:
    """The samples were published without their systems' user and time (pts_result_file_writer)."""
    marks = ("<Identifier>EXT4</Identifier>", "<TimeStamp>2023-01-30 09:00:00</TimeStamp>")
    printed = dates_of("phoronix-composite.txt", (marks[0], "".join(marks)))
    assert {date.text for date in printed} == {
        "TimeStamp: 2023-01-30 09:00:00",
        "LastModified: 2023-02-01 10:11:12",
    }


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("Feb 30 10:12:44 2005", None),
        ("Aug  9 25:12:44 2005", None),
        ("Aug  9 10:12:60 2005", None),
        ("Jan  1 00:00:00 0001", datetime(1, 1, 1)),
        ("Dec 31 23:59:59 9999", datetime(9999, 12, 31, 23, 59, 59)),
    ],
)
def test_what_is_no_date_stays_text(written: str, at: datetime | None) -> None:
    sample = "iozone-3.226-tests-0-2-5.txt"
    (date,) = dates_of(sample, ("Aug  9 10:12:44 2005", written))
    assert (date.at, date.text) == (at, f"Run began: Tue {written}")


def test_milliseconds_beyond_all_time_are_no_date() -> None:
    (date,) = dates_of("fio-3.33-json.txt", ("1795250172314", "9999999999999999"))
    assert date.at is None


def test_dates_behind_the_numbers_are_those_of_the_numbers_before() -> None:
    lines = ["1", "Date: 2021/06/23 0:05:57", "2", "Date: 2021/06/24 0:05:57"]
    values = [ParsedValue("t", None, None, 1, "s", line, repeat=line) for line in (1, 3)]
    behind = dates.of_runs("crystaldiskmark", lines, values)
    assert [date.line for date in behind.values()] == [2, 4]
    before = dates.of_runs("crystaldiskmark", lines[1:3], [replace(values[1], line=2)])
    assert [date.line for date in before.values()] == [1]


def test_every_format_named_here_is_one() -> None:
    assert set(dates.NAMED) < set(FORMATS)
