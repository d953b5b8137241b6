"""How many syncs fio issued, by its report and its options."""

import json
from typing import Any

import pytest

from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.fio.syncs import syncs


def report(*jobs: tuple[int, int]) -> bytes:
    """(writes, fsyncs) of each job, in the form of fio 3.33."""
    entries: list[dict[str, Any]] = [
        {
            "jobname": f"j{place}",
            "read": {"total_ios": 1000},
            "write": {"total_ios": writes},
            "sync": {"total_ios": fsyncs},
        }
        for place, (writes, fsyncs) in enumerate(jobs)
    ]
    return json.dumps({"fio version": "fio-3.33", "jobs": entries}).encode()


WRITE = {"rw": "randwrite"}


@pytest.mark.parametrize(
    ("options", "writes", "fsyncs", "expected"),
    [
        ({**WRITE, "fsync": "1"}, 300, 299, Syncs(299)),
        ({**WRITE, "fsync": "1", "numjobs": "8"}, 800, 792, Syncs(792, 8)),
        ({"readwrite": "write", "fsync": "4"}, 300, 74, Syncs(74)),
        # fio 3.33 does not count fdatasync; the last one may be missing.
        ({**WRITE, "fdatasync": "1"}, 300, 0, Syncs(298)),
        ({**WRITE, "fdatasync": "10", "numjobs": "2"}, 300, 0, Syncs(26, 2)),
        # After a read fio syncs again, with nothing to write.
        ({"rw": "randrw", "fsync": "1"}, 148, 296, Syncs(146)),
        ({"rw": "randrw", "fsync": "4"}, 148, 72, Syncs(35)),
        ({**WRITE, "sync": "1"}, 300, 0, Syncs(300)),
        ({**WRITE, "sync": "dsync", "direct": "1"}, 300, 0, Syncs(300, can_be_forced=True)),
        ({**WRITE, "fsync": "1", "ioengine": "libaio", "iodepth": "16"}, 300, 285, Syncs(285, 32)),
        ({**WRITE, "fsync": "1", "ioengine": "sync", "iodepth": "16"}, 300, 299, Syncs(299)),
        ({**WRITE, "fsync": "0", "sync": "0"}, 300, 0, Syncs(0)),
        ({"rw": "randread", "fsync": "1"}, 0, 0, Syncs(0)),
        ({**WRITE, "fsync": "1", "nrfiles": "4"}, 300, 299, None),
        ({**WRITE, "sync": "1", "ioengine": "mmap"}, 300, 0, None),
    ],
)
def test_one_job(options: dict[str, str], writes: int, fsyncs: int, expected: Syncs | None) -> None:
    assert syncs(report((writes, fsyncs)), [options]) == expected


def test_jobs_that_sync_in_one_way_count_together_however_fio_reports_them() -> None:
    jobs = [{**WRITE, "fsync": "1", "numjobs": "2"}, {**WRITE, "fsync": "1", "numjobs": "3"}]
    assert syncs(report((1280, 1275)), jobs) == Syncs(1275, 5)
    assert syncs(report((512, 510), (768, 765)), jobs) == Syncs(1275, 5)


def test_jobs_that_sync_in_several_ways_cannot_be_told_apart() -> None:
    assert syncs(report((300, 150)), [{**WRITE, "fsync": "1"}, WRITE]) is None
    reading = {"rw": "randread"}
    assert syncs(report((300, 299)), [{**WRITE, "fsync": "1"}, reading]) == Syncs(299)


@pytest.mark.parametrize("data", [b"", b"fio: pid=1", b'{"jobs": [', b'{ "jobs'])
def test_a_report_that_cannot_be_read_says_nothing(data: bytes) -> None:
    assert syncs(data, [{**WRITE, "fsync": "1"}]) is None
