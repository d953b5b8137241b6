"""fs_mark's short table, and the one with the times of its calls."""

from collections.abc import Callable

from fsbench_web.core.formats import parse

Sample = Callable[[str], bytes]


def test_fs_mark_with_the_times_of_its_calls(sample: Sample) -> None:
    result = parse("x", sample("fs_mark-3.3-verbose"))
    values = {value.test: (value.value, value.unit, value.load) for value in result.values}
    assert values["fs_mark_files"] == (286.8, "files/s", "threads=1")
    assert values["fs_mark_app_overhead"] == (530.0, "µs", "threads=1")
    assert values["fs_mark_creat_min"] == (18.0, "µs", "threads=1")
    assert values["fs_mark_fsync_avg"] == (3420.0, "µs", "threads=1")
    assert values["fs_mark_unlink_max"] == (7369.0, "µs", "threads=1")
    # It did not call sync.
    assert not any(test.startswith("fs_mark_sync_") for test in values)
    assert not result.warnings
