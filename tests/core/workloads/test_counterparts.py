"""What each workload's tests ask of the LUN, and which of them ask nothing of one kind."""

import pytest

from fsbench_web.core.identity import size_bytes
from fsbench_web.core.scoring.ceilings import RANDOM, READ, SEQUENTIAL, WRITE, Request
from fsbench_web.core.workloads import presets, workload_of
from fsbench_web.core.workloads.fio.jobs import checked_job
from fsbench_web.core.workloads.fio.requests import requests

KIB = 1024
AHEAD = Request(SEQUENTIAL, READ)
BACK = Request(SEQUENTIAL, WRITE)


def test_iozone_asks_as_it_is_told_with_direct_io_and_as_the_kernel_does_without() -> None:
    direct = presets()["iozone-direct"].workload()
    assert direct.counterpart("read", 8) == Request(SEQUENTIAL, READ, 8 * KIB, 1)
    assert direct.counterpart("random_write", 4) == Request(RANDOM, WRITE, 4 * KIB, 1)
    # Direct I/O does not reach the buffered streams of the C library.
    assert direct.counterpart("fread", 8) == AHEAD
    buffered = presets()["iozone-small"].workload()
    assert buffered.counterpart("rewrite", 8) == BACK
    assert buffered.counterpart("random_read", 1) == Request(
        RANDOM, READ, KIB, 1, least_bytes=4 * KIB
    )
    for test in ("backward_read", "stride_read", "record_rewrite", "mkfs", "mount"):
        assert buffered.counterpart(test, 4) is None
    assert buffered.counterpart("read") is None


def test_pgmeter_asks_of_its_sequential_tests_and_the_mixes_have_nothing() -> None:
    direct = workload_of("pgmeter", {"access": "direct"})
    request = direct.counterpart("sequential_read_bw@iodepth=16,jobs=1")
    assert request == Request(SEQUENTIAL, READ, 8 * KIB, 16)
    assert workload_of("pgmeter", {}).counterpart("sequential_write_iops@iodepth=4,jobs=1") == BACK
    for test in ("web_server_bw", "file_server_iops", "oltp_8k_clat_mean"):
        assert direct.counterpart(f"{test}@iodepth=1,jobs=1") is None
    several = workload_of("pgmeter", {"access": "direct", "files": 4})
    assert several.counterpart("sequential_read_bw@iodepth=16,jobs=4") is None


def test_files_that_are_synced_one_by_one_are_flushes() -> None:
    synced = workload_of("file-creation", {"fsync": True})
    assert synced.counterpart("file_creation") == Request(
        RANDOM, WRITE, 4 * KIB, 1, is_flushed=True
    )
    assert synced.counterpart("file_creation_cpu_load") is None
    assert workload_of("file-creation", {}).counterpart("file_creation") is None
    large = workload_of("file-creation", {"fsync": True, "file_bytes": 65536})
    assert large.counterpart("file_creation") is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("rw=randread\nbs=8k\ndirect=1\nioengine=libaio\niodepth=16\nnumjobs=2", (8, 32, {})),
        ("rw=randread\nbs=8k\ndirect=1\niodepth=16", (8, 1, {})),  # psync waits
        ("rw=randread\nbs=8k\nioengine=libaio\niodepth=16", (8, 1, {"least_bytes": 4 * KIB})),
        ("rw=randread\nbs=8k\nbuffered=0\nioengine=io_uring\niodepth=2", (8, 2, {})),
    ],
)
def test_fio_jobs_ask_by_block_size_and_depth(
    options: str, expected: tuple[int, int, dict[str, int]]
) -> None:
    kib, depth, more = expected
    by_job = requests(checked_job(f"[one]\n{options}\n"))
    assert by_job == {("one", READ): Request(RANDOM, READ, kib * KIB, depth, **more)}


@pytest.mark.parametrize(
    "options",
    [
        "rw=randrw\nbs=4k",
        "rw=randread\nbssplit=4k/50:8k/50",
        "rw=randread\nbs=4k,8k",
        "rw=read\nbs=4k\ndirect=1\nnumjobs=2",
        "rw=randwrite\nbs=4k\nfsync=1\nnumjobs=4",
        "rw=randread\nrate=1m",
    ],
)
def test_fio_jobs_of_several_kinds_have_no_counterpart(options: str) -> None:
    assert requests(checked_job(f"[one]\n{options}\n")) == {}


def test_a_job_takes_over_what_is_global_and_its_tests_are_known_by_its_name() -> None:
    text = (
        "[global]\ndirect=1\nbs=4k\n[Seq Read]\nrw=read\nbs=1m\n[sync]\nrw=randwrite\nfsync=1\n"
    ).replace("Seq Read", "Seq-Read")
    own = workload_of("own-fio", {"name": "own", "version": 1, "text": text})
    assert own.counterpart("seq-read_read_bw@iodepth=1,jobs=1") == Request(
        SEQUENTIAL, READ, 1024 * KIB, 1
    )
    assert own.counterpart("sync_write_iops") == Request(RANDOM, WRITE, 4 * KIB, 1, is_flushed=True)
    assert own.counterpart("other_read_bw") is None


def test_sizes_of_fio() -> None:
    assert [size_bytes(text) for text in ("4k", "4KiB", "512", "1m", "2Gb")] == [
        *(4096, 4096, 512, 1024**2, 2 * 1024**3)
    ]
    assert [size_bytes(text) for text in ("", "4k,8k", "x", "0")] == [None] * 4


def test_fio_by_queue_depth_asks_for_the_same_of_the_raw_device() -> None:
    random = presets()["fio-8k"].workload()
    request = Request(RANDOM, WRITE, 8 * KIB, 32)
    assert random.counterpart("random_8k_write_clat_p99@iodepth=32") == request
    assert random.counterpart("random_4k_write_iops@iodepth=32") is None
    stream = presets()["fio-stream"].workload()
    assert stream.counterpart("sequential_1m_read_bw@iodepth=1") == Request(
        SEQUENTIAL, READ, 1024 * KIB, 1
    )


@pytest.mark.parametrize("slug", ["postmark-small", "filemark-small", "mongo-small"])
def test_most_tools_ask_for_many_things_at_once(slug: str) -> None:
    workload = presets()[slug].workload()
    for test, load, record, _ in workload.expected():
        assert workload.counterpart(f"{test}@{load}" if load else test, record) is None
