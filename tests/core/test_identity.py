"""What was done, by fio's options and by names: one identity, one name."""

import pytest

from fsbench_web.core.identity import (
    Identity,
    in_flight,
    of_fio,
    of_fio_name,
    of_stored,
    size_bytes,
    size_text,
)

RANDOM_8K = {"rw": "randread", "bs": "8k", "ioengine": "libaio", "direct": "1", "iodepth": "8"}


def test_our_own_names_stay() -> None:
    found = of_fio(RANDOM_8K)
    assert found is not None
    assert (found.stem, found.name, found.load) == ("random_8k", "random_8k_read", "iodepth=8")
    assert found.operation == "random_read"


@pytest.mark.parametrize(
    "label",
    [
        {"name": "my-job", "filename": "/mnt/x", "directory": "/mnt"},
        {"runtime": "60", "ramp_time": "5", "time_based": "", "size": "2g", "io_size": "1g"},
        {"group_reporting": "", "percentile_list": "50:99", "write_bw_log": "x", "eta": "never"},
        {"numjobs": "1", "randseed": "7", "invalidate": "1", "fsync": "0", "stonewall": ""},
    ],
)
def test_labels_and_conditions_are_no_part_of_it(label: dict[str, str]) -> None:
    assert of_fio(RANDOM_8K | label) == of_fio(RANDOM_8K)


@pytest.mark.parametrize(
    ("other", "name", "load"),
    [
        ({"bs": "4096"}, "random_4k_read", "iodepth=8"),
        ({"direct": "0"}, "random_8k_buffered_read", "iodepth=8"),
        ({"direct": ""}, "random_8k_read", "iodepth=8"),
        ({"ioengine": "io_uring"}, "random_8k_io-uring_read", "iodepth=8"),
        ({"numjobs": "4"}, "random_8k_read", "iodepth=8,jobs=4"),
        ({"rw": "read", "bs": "1m"}, "sequential_1m_read", "iodepth=8"),
        ({"rw": "randwrite", "bs": "4k,64k"}, "random_64k_write", "iodepth=8"),
        ({"rw": "randrw", "rwmixwrite": "30"}, "random_8k_rw70", "iodepth=8"),
        ({"rw": "randwrite", "fsync": "1"}, "random_8k_fsync-1_write", "iodepth=8"),
        ({"rw": "write", "sync": ""}, "sequential_8k_sync-1_write", "iodepth=8"),
        ({"ioengine": "sync"}, "random_8k_sync_read", "iodepth=8"),
        ({"rate_iops": "100"}, "random_8k_rate-iops-100_read", "iodepth=8"),
        ({"nrfiles": "64"}, "random_8k_nrfiles-64_read", "iodepth=8"),
    ],
)
def test_what_was_done_names_the_test_and_can_be_read_back(
    other: dict[str, str], name: str, load: str
) -> None:
    found = of_fio(RANDOM_8K | other)
    assert found is not None
    assert (found.name, found.load) == (name, load)
    test = f"{name}_read_iops" if found.read_percent is not None else f"{name}_iops"
    assert of_fio_name(test, load) == (found, "iops")


@pytest.mark.parametrize(
    "other", [{"bssplit": "4k/50:8k/50"}, {"rw": "randrw", "bs": "4k,8k"}, {"iodepth": "x"}]
)
def test_what_is_not_one_thing_has_no_identity(other: dict[str, str]) -> None:
    assert of_fio(RANDOM_8K | other) is None
    assert of_fio({"bs": "8k"}) is None


def test_names_of_others_say_no_identity() -> None:
    for test in ("random_read", "myjob_read_iops", "sequential_read_iops", "8k_random_read_bw"):
        assert of_fio_name(test) is None


def test_many_settings_leave_a_name_that_can_be_kept() -> None:
    many = {f"further_setting_{n}": "5" for n in range(20)}
    names = [of_fio(RANDOM_8K | many | {"rate_iops": rate}) for rate in ("5", "6")]
    stems = {found.stem for found in names if found is not None}
    assert len(stems) == 2
    assert all(len(stem) < 95 for stem in stems)


def test_engines_that_wait_have_one_request_in_flight() -> None:
    found = of_fio(RANDOM_8K | {"ioengine": "psync"})
    assert found is not None
    assert (found.depth, found.in_flight) == (8, 1)


def test_loads_of_tools() -> None:
    assert in_flight("") == (1, 1)
    assert in_flight("hosts=1,iodepth=4,threads=8") == (4, 8)
    assert in_flight("mb=10") == (None, None)


def test_processes_of_iozone_are_jobs_and_its_settings_say_the_rest() -> None:
    found = of_stored("random_write", "processes=4", ("O_DIRECT feature enabled", "SYNC Mode."))
    assert found is not None
    assert (found.operation, found.depth, found.jobs) == ("random_write", 1, 4)
    assert (found.tool, found.direct, found.sync, found.block_bytes) == (
        *("iozone", True, "sync"),
        None,
    )
    flushed = of_stored("write", "threads=2", ("Include fsync in write timing",))
    assert flushed is not None
    assert (flushed.direct, flushed.sync) == (False, "fsync")
    assert of_stored("write", "") is None, "profiles name it themselves"
    assert of_stored("reread", "processes=4") is None


def test_what_is_not_known_has_no_name() -> None:
    assert Identity("fio", "random", "read", 8192).stem == ""


def test_sizes() -> None:
    assert [size_text(size_bytes(text) or 0) for text in ("8K", "1024k", "512", "1536k")] == [
        *("8k", "1m", "512b", "1536k")
    ]
