"""AIM7's table, as multitask prints it; the numbers are made up for these tests."""

import pytest

from fsbench_web.core.formats import UnreadableFile, parse

TABLE = """\
AIM Multiuser Benchmark - Suite VII Run Beginning

Tasks    jobs/min  jti  jobs/min/task      real       cpu
    1      500.25  100       500.2500     12.01      1.97   Fri Mar 25 11:01:42 2005
  100    27000.50   89       270.0050     21.44    148.71   Fri Mar 25
11:02:04 2005
  200    31000.00   82       155.0000     37.80    296.72   Fri Mar 25 11:02:42 2005
"""


def test_each_number_of_tasks_is_a_load() -> None:
    result = parse("x", TABLE.encode())
    assert (result.format, result.tool, result.complete) == ("aim7", "AIM7", True)
    values = {(value.test, value.load): (value.value, value.unit) for value in result.values}
    assert values["aim7_jobs", "tasks=100"] == (27000.5, "jobs/min")
    assert values["aim7_real", "tasks=200"] == (37.8, "s")
    assert values["aim7_cpu", "tasks=1"] == (1.97, "s")
    assert len(values) == 9
    assert {value.line for value in result.values} == {4, 5, 7}


def test_a_second_table_is_a_repeat() -> None:
    result = parse("x", (TABLE + "\n" + TABLE).encode())
    assert {value.repeat for value in result.values} == {1, 2}


def test_a_row_that_was_not_finished_is_told() -> None:
    result = parse("x", (TABLE + "  300\nFatal error 98 at line 284 of file pipe_test.c").encode())
    assert not result.complete
    assert len(result.values) == 9
    assert "not finished" in str(result.warnings[0])


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="no row of it"):
        parse("x", TABLE.split("    1 ")[0].encode())
