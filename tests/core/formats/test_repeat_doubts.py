"""Several contenders in one paste: repeats of which nothing says that they are some are doubted."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import parse
from fsbench_web.core.formats.repeats import CODE, far_apart

Sample = Callable[[str], bytes]

TBENCH = "Throughput {} MB/sec  8 clients  8 procs  max_latency=3.481 ms\n"
FS_MARK = (
    "#  ./fs_mark -d /mnt/t -n 1000\n"
    "FSUse%        Count         Size    Files/sec     App Overhead\n"
    "     5         1000        51200       {}          1000\n"
)
DD = (
    "1024+0 records in\n1024+0 records out\n"
    "1073741824 bytes (1.1 GB, 1.0 GiB) copied, {0} s, {0} MB/s\n"
)
DD_COMMAND = "$ dd if=/dev/zero of=/mnt/t bs=1M count=1024\n" + DD


def doubted_lines(text: str) -> list[int | None]:
    result = parse("x", text.encode())
    assert any(value.repeat == 2 for value in result.values)
    assert {doubt.code for doubt in result.doubts} <= {CODE}
    return [doubt.line for doubt in result.doubts]


@pytest.mark.parametrize("one", [TBENCH, FS_MARK, DD_COMMAND])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("before", "after"),
        ("Before:", "After:"),
        ("# ext4", "# xfs"),
        ("=== kernel 5.15 ===", "=== kernel 6.1 ==="),
        ("NO_DELAY_DEQUEUE", "DELAY_DEQUEUE"),
        ("6.3.0.g8ca09d5", "6.3.0.g8ca09d5+eevdf"),
        ("", "with barriers off"),
        ("# mount -o remount,barrier=1 /mnt", "# mount -o remount,barrier=0 /mnt"),
        ("", "root@lab:~# tune2fs -O ^has_journal /dev/sdb1"),
        ("", "$ echo none > /sys/block/sda/queue/scheduler"),
    ],
)
def test_another_heading_is_asked_about(one: str, first: str, second: str) -> None:
    text = f"{first}\n{one.format('100.5')}\n{second}\n{one.format('120.5')}"
    assert doubted_lines(text) == [text.splitlines().index(second) + 1]


@pytest.mark.parametrize("one", [TBENCH, FS_MARK, DD_COMMAND])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("run 1", "run 2"),
        ("Iteration: 1 of 2", "Iteration: 2 of 2"),
        ("first run", "second run"),
        ("", "again"),
        ("Mon May  1 10:00:00 UTC 2023", "Tue May  2 11:30:00 CEST 2023"),
        ("my results:", ""),
        ("", "# sync"),
        ("", "$ rm -rf /mnt/t"),
        ("", "root@lab:~# echo 3 > /proc/sys/vm/drop_caches"),
        ("", "WARNING: device is in use"),
    ],
)
def test_what_repeats_have_above_them_is_not(one: str, first: str, second: str) -> None:
    text = f"{first}\n{one.format('100.5')}\n{second}\n{one.format('120.5')}"
    assert doubted_lines(text) == []


def test_groups_below_two_headings() -> None:
    """As a public mail to linux-kernel (2024) has them: three runs of each scheduler."""
    runs = "".join(TBENCH.format(rate) for rate in ("3285.04", "3289.66", "3293.83"))
    text = f"6.9.0-master\nNO_DELAY_DEQUEUE\n{runs}DELAY_DEQUEUE\n{runs.replace('32', '33')}"
    assert doubted_lines(text) == [6]


@pytest.mark.parametrize("one", [TBENCH, FS_MARK, DD_COMMAND])
def test_rates_that_are_far_apart_are_asked_about(one: str) -> None:
    assert doubted_lines(one.format("100.5") + one.format("301.0")) == []
    text = one.format("100.5") + one.format("302.0")
    assert doubted_lines(text) == [len(text.splitlines())]


def test_a_longest_time_may_be_another_in_each_run() -> None:
    assert doubted_lines(TBENCH.format("100") + TBENCH.replace("3.4", "30.4").format("101")) == []


def test_a_single_cell_of_a_matrix_may_be_off(sample: Sample) -> None:
    """Two runs of IOzone on a busy host: single cells differ by a factor of 11."""
    values = [
        value
        for name in ("tests-0-1-2", "tests-0-1-2-again", "killed")
        for value in parse("x", sample(f"iozone-3.489-{name}")).values
    ]
    assert far_apart(values) is None


@pytest.mark.parametrize(
    "name",
    [
        *("bonnie-1.03", "dbench-4.00", "fio-3.33-normal", "fs_mark-3.3-loops", "ioping-1.3"),
        *("pgbench-15-select", "sysbench-1.0.20", "filebench-1.4.9", "hdparm-9.65", "mdtest-4.1"),
    ],
)
def test_the_same_output_twice_is_repeats(sample: Sample, name: str) -> None:
    data = sample(name)
    assert parse("x", data + data).doubts == []
    assert parse("x", b"before\n" + data + b"\nafter\n" + data).doubts != []
