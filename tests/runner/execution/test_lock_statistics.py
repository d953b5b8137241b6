"""What /proc/lock_stat says between two moments, and why it may say nothing."""

from pathlib import Path

from runner.execution import lock_statistics
from runner.execution.lock_statistics import LockCounts, parse, waits_between

# In the form of Documentation/locking/lockstat.rst, version 0.4; the numbers are made up.
TABLE = """\
lock_stat version 0.4
-----------------------------------------------------------------------------------------------
                 class name    con-bounces    contentions   waittime-min   waittime-max ...
-----------------------------------------------------------------------------------------------

              &sb->s_umount-W:     46             84           0.26         939.10       16371.53\
         194.90          47291        2922365           0.16     2220301.69 17464026916.32  5975.99
              &sb->s_umount-R:     37            100           1.31      299502.61      325629.52\
        3256.30         212344       34316685           0.10        7744.91    95016910.20     2.77
              ---------------
              &sb->s_umount              1          [<ffffffff811502a7>] some_function+0x207/0x280
"""


def test_the_table_is_read_by_lock() -> None:
    assert parse(TABLE) == {
        "&sb->s_umount-W": (84, 16371.53),
        "&sb->s_umount-R": (100, 325629.52),
    }


def test_only_what_was_waited_for_meanwhile_counts() -> None:
    before = LockCounts(100.0, {"a": (10, 500.0), "b": (1, 1.0)})
    after = LockCounts(110.0, {"a": (14, 2500.5), "b": (1, 1.0), "c": (2, 9000.0)})
    assert waits_between(before, after, cpus=4) == {
        "elapsed_s": 10.0,
        "cpus": 4,
        "locks": [["c", 2, 9000.0], ["a", 4, 2000.5]],
    }
    assert "set back" in waits_between(after, before)["reason"]


def test_it_says_why_nothing_is_known(tmp_path: Path) -> None:
    table, switch = tmp_path / "lock_stat", tmp_path / "switch"
    nothing = lock_statistics.read(table, switch)
    assert "CONFIG_LOCK_STAT" in waits_between(nothing, nothing)["reason"]
    table.write_text(TABLE)
    switch.write_text("0\n")
    assert "switched off" in lock_statistics.read(table, switch).reason
    switch.write_text("1\n")
    statistics = lock_statistics.read(table, switch)
    assert (statistics.reason, len(statistics.waits)) == ("", 2)


def test_a_table_that_cannot_be_read_is_told(
    tmp_path: Path,
) -> None:
    assert lock_statistics.read(tmp_path, tmp_path / "none").reason == lock_statistics.NOT_READABLE
