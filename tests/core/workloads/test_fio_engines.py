"""fio by queue depth with other engines, jobs, fsync and the page cache."""

from fsbench_web.core.workloads import Place, workload_of

CHANGED = {
    "depths": [4],
    "directions": "read",
    "jobs": 3,
    "engine": "psync",
    "direct": False,
    "fsync_every": 8,
}


def test_what_is_usual_is_not_among_the_values() -> None:
    assert not set(CHANGED) & set(workload_of("fio-depths", {}).values) - {"depths"}


def test_each_option_reaches_fio_and_the_name_of_the_test() -> None:
    workload = workload_of("fio-depths", {"block_kb": 8, **CHANGED})
    commands = [command.argv for command in workload.commands(Place("/m")) if command.output]
    assert len(commands) == 1
    words = {"--rw=randread", "--numjobs=3", "--ioengine=psync", "--direct=0", "--fsync=8"}
    assert words | {"--group_reporting", "--iodepth=4"} <= set(commands[0])
    assert not any(word.startswith("--write_hist_log") for word in commands[0])
    assert {(test, load) for test, load, _, _ in workload.expected()} == {
        ("random_8k_buffered_psync_fsync-8_read_iops", "iodepth=4,jobs=3"),
        ("random_8k_buffered_psync_fsync-8_read_bw", "iodepth=4,jobs=3"),
    }
    assert not workload.is_direct
    assert not workload.takes_device
    assert workload.counterpart("random_8k_buffered_psync_fsync-8_read_iops@iodepth=4") is None


def test_buffered_reads_of_a_small_file_measure_memory() -> None:
    buffered = workload_of("fio-depths", {"direct": False, "file_mb": 32})
    assert buffered.measures_memory(2**30)
    assert not workload_of("fio-depths", {"file_mb": 32}).measures_memory(2**30)
