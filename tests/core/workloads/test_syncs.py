"""What each workload knows of its syncs."""

import pytest

from fsbench_web.core.activity.promises import PRESET, Syncs
from fsbench_web.core.workloads import Workload, presets, workload_of
from tests.core.formats.test_fio_syncs import report

SYSBENCH = b"""File operations:
    reads/s:                      0.00
    writes/s:                     1500.00
    fsyncs/s:                     2394.02

General statistics:
    total time:                          2.0044s
"""


def of(preset: str, **changes: object) -> Workload:
    chosen = presets()[preset]
    return workload_of(chosen.tool, {**chosen.parameters, **changes})


def test_sysbench_needs_one_flush_for_a_turn_through_its_files() -> None:
    """Btrfs skips files that are clean: 826 flushes were enough for these 4,798 syncs."""
    tool = next(preset.tool for preset in presets().values() if preset.tool == "sysbench-fileio")
    workload = workload_of(tool, {"files": 16, "threads": [1, 4]})
    name = "sysbench-seqrewr-{}.txt"
    found = workload.syncs({name.format(count): SYSBENCH for count in (1, 4)})
    assert found == {name.format(1): Syncs(4782, 16), name.format(4): Syncs(4734, 64)}
    one = found[name.format(1)]
    assert one is not None
    assert one.least_flushes == 299


def test_fio_by_queue_depth() -> None:
    workload = of("fio-4k-small", fsync_every=1, jobs=8, depths=[1, 4], engine="libaio")
    outputs = {
        f"fio-{direction}-{depth}.json": report((800 * (direction == "write"), 792))
        for direction in ("read", "write")
        for depth in (1, 4)
    }
    assert workload.syncs(outputs) == {
        "fio-read-1.json": Syncs(0),
        "fio-read-4.json": Syncs(0),
        "fio-write-1.json": Syncs(792, 8),
        "fio-write-4.json": Syncs(792, 64),
    }
    outputs = {"fio-write-1.json": report((800, 0))}
    assert of("fio-4k-small").syncs(outputs) == {"fio-write-1.json": Syncs(0)}


def test_a_fio_job_that_was_uploaded() -> None:
    job = "[global]\nrw=write\nfsync=1\n[a]\nnumjobs=2\n[b]\nnumjobs=3\n"
    workload = workload_of("own-fio", {"name": "x", "version": 1, "text": job})
    assert workload.syncs({"fio.json": report((1280, 1275))}) == {"fio.json": Syncs(1275, 5)}


@pytest.mark.parametrize(("synchronous", "expected"), [("full", Syncs(1234)), ("normal", None)])
def test_sqlite(synchronous: str, expected: Syncs | None) -> None:
    workload = workload_of("sqlite", {"synchronous": synchronous})
    printed = b"SQLite 3.40.1: 1234 transactions in 5.000001 s\n{}\n"
    assert workload.syncs({"sqlite-wal.txt": printed}) == {"sqlite-wal.txt": expected}
    assert workload.syncs({"sqlite-wal.txt": b"nothing"}) == {"sqlite-wal.txt": None}


def test_the_mail_spool() -> None:
    workload = of("maildir-small", processes=[2], seconds=3)
    printed = (
        b'{"fsbench": "maildir_operations", "value": "999.000000"}\n'
        b'{"fsbench": "maildir_deliver", "value": "100.333333", "unit": "operations/s"}\n'
    )
    assert workload.syncs({"maildir-2.txt": printed}) == {"maildir-2.txt": Syncs(301, 2)}


@pytest.mark.parametrize("fsync", [True, False])
def test_what_presets_ask_for(fsync: bool) -> None:
    created = workload_of("file-creation", {"files": 500, "fsync": fsync})
    [(_, syncs)] = created.syncs({}).items()
    assert syncs == Syncs(500 * fsync, known_by=PRESET)
    iozone = of("iozone-small", include_flush=fsync)
    [(_, syncs)] = iozone.syncs({}).items()
    assert syncs == Syncs(2 * len(list(iozone.cells())) * fsync, known_by=PRESET)


def test_others_do_not_know() -> None:
    assert of("source-copy-small").syncs({"x": b""}) == {}
