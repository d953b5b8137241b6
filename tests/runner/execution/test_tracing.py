"""An extra run is traced and never counted: a real kernel's events, a loop device, IOzone."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from django.test import Client

from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.studies.activity import traces
from fsbench_web.studies.models import MeasurementBlock, Run, RunState, RunTrace
from fsbench_web.studies.scores import ingest
from runner import leftovers, orphans
from runner.execution import tracing
from runner.executors.local import LocalExecutor
from runner.host.tracing import block_events, operation_events
from runner.host.tracing.block_events import TraceError
from runner.safety import locks
from runner.worker import Host
from tests.runner.conftest import SMALL, sparse_lun, tool, write_luns

pytestmark = [pytest.mark.django_db, pytest.mark.root]

CarryOut = Callable[[Run, Host], Run]


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    write_luns(path, sparse_lun(tmp_path / "scratch.img", size="64 MiB"))
    return path


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    return make_host(LocalExecutor())


def extra(run: Run) -> Run:
    run.tracing = REQUESTS
    run.save(update_fields=["tracing"])
    return run


def test_an_extra_run_is_traced_and_changes_no_score(
    host: Host, submitted: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    counted, traced = (
        submitted(host, "ext2", scheduler="none", parameters=SMALL | {"direct_io": True})
        for _ in range(2)
    )
    extra(traced)
    carry_out(counted, host)
    traced.refresh_from_db()
    for run in (counted, traced):
        run.refresh_from_db()
        assert run.state == RunState.DONE, run.reason
    assert counted.series == traced.series
    assert {tuple(score.run_ids) for score in counted.series.scores.all()} == {(counted.pk,)}
    assert not MeasurementBlock.objects.filter(run=traced).exists()
    assert "Its numbers enter no score" in traced.reason
    ingest.rescore(traced.series)
    assert {score.repeats for score in counted.series.scores.all()} == {1}
    with pytest.raises(ImportRefused, match="never count"):
        reading.difference(traced.artefacts.exclude(name=tracing.ARTEFACT)[0])

    trace = traces.requests_of(traced.pk)
    assert trace is not None
    # IOzone writes 64 and 128 KB files in records of 4 and 8 KB, directly, and reads them.
    assert trace.requests["write"] > 50
    assert trace.requests["read"] > 50
    assert trace.device_bytes == 64 * 2**20
    assert (trace.lost, trace.outside, trace.is_cut) == (0, 0, False)
    assert trace.without_start == trace.without_end == 0
    assert traced.artefacts.get(name=tracing.ARTEFACT).size_bytes > 10_000
    assert not list(
        block_events.leftover_instances(
            block_events.instance_prefix("test", host.name), lambda run: False
        )
    )

    page = client.get(f"/runs/{traced.pk}/").content.decode()
    assert "This is an extra run." in page
    assert "Requests of the device" in page
    assert "trace-map-figure" in page
    assert "Scores" not in page.split("<main", 1)[-1].split("details", 1)[0]
    lines = client.get(f"/api/v1/runs/{traced.pk}/trace/requests/latency.csv").content.decode()
    assert lines.startswith("operation,from_us,below_us,requests\r\n")
    assert sum(int(line.split(",")[3]) for line in lines.split()[1:]) == sum(
        trace.requests.values()
    )
    table = client.get(f"/api/v1/runs/{traced.pk}/trace/requests/map.csv").content.decode()
    assert len(table.split("\r\n")) == sum(map(len, trace.maps.values())) + 2
    assert client.get(f"/api/v1/runs/{counted.pk}/trace/requests/map.csv").status_code == 404
    assert client.get(f"/api/v1/runs/{traced.pk}").json()["tracing"] == ["requests"]
    assert "extra" in client.get("/runs/").content.decode()


@pytest.mark.skipif(
    bool(shutil.which("bpftrace") and operation_events.why_not_traceable()),
    reason="this kernel cannot be traced so",
)
def test_operations_of_a_run_are_counted_beside_its_requests(
    host: Host, submitted: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    run = submitted(host, "ext4", scheduler="none", parameters=SMALL)
    run.tracing = f"{REQUESTS} {OPERATIONS}"
    run.save(update_fields=["tracing"])
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert not MeasurementBlock.objects.filter(run=run).exists()
    assert not RunTrace.objects.filter(run=run).exclude(problem="").exists()
    trace = traces.operations_of(run.pk)
    assert trace is not None
    # IOzone writes and reads files of 64 and 128 KB in records of 4 and 8 KB.
    assert trace.ended["write"] > 100
    assert trace.ended["read"] > 100
    assert trace.bytes_of["write"] > 2 * (64 + 128) * 1024
    assert (trace.lost, trace.is_cut, trace.queued) == (0, False, {})
    artefact = run.artefacts.get(name=tracing.OPERATIONS_ARTEFACT)
    assert b'"@begun"' in ingest.artefact_bytes(artefact)

    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Operations of the file system" in page
    assert "Requests of the device" in page
    address = f"/api/v1/runs/{run.pk}/trace/operations"
    lines = client.get(f"{address}/latency.csv").content.decode().split("\r\n")
    assert lines[0] == "operation,from_ns,below_ns,operations"
    assert sum(int(line.split(",")[3]) for line in lines[1:-1]) == sum(trace.ended.values())
    table = client.get(f"{address}/summary.csv").content.decode().split("\r\n")
    assert table[0] == "operation,operations,total_ns,bytes,failed,queued"
    assert table[1].startswith(f"read,{trace.ended['read']},{trace.total_ns['read']},")
    assert client.get(f"{address}/map.csv").status_code == 404
    assert client.get(f"/api/v1/runs/{run.pk}/trace/requests/summary.csv").status_code == 404
    assert client.get(f"/api/v1/runs/{run.pk}/trace/nosuch/latency.csv").status_code == 404


class Recorded:
    """A trace that only says what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self) -> None:
        self.told.append("begin")

    def end(self) -> None:
        self.told.append("end")


def test_a_workload_may_unmount_between_its_measurements() -> None:
    run_tracing = tracing.Tracing(
        trace=cast("block_events.Trace", recorded := Recorded()),
        operations=cast("operation_events.Operations", beside := Recorded()),
    )
    phases = ["mkfs", "mount", "benchmark", "unmount", "mount", "benchmark", "unmount", "mount"]
    for phase in phases:
        run_tracing.on_message({"type": "phase", "phase": phase})
    assert recorded.told == ["begin", "begin"]
    for phase in ("benchmark", "sync", "unmount"):
        run_tracing.on_message({"type": "phase", "phase": phase})
    assert recorded.told[-1] == "end"
    assert recorded.told.count("end") == 1
    assert beside.told == recorded.told


def test_what_cannot_be_traced_is_named_and_the_run_is_done(
    host: Host,
    submitted: Callable[..., Run],
    carry_out: CarryOut,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    why = "This kernel has no event block:block_rq_issue (CONFIG_BLK_DEV_IO_TRACE)."
    monkeypatch.setattr(block_events, "why_not_traceable", lambda *folder: why)
    run = carry_out(extra(submitted(host, "ext2", scheduler="none")), host)
    assert run.state == RunState.DONE, run.reason
    assert RunTrace.objects.get(run=run).problem == why
    assert why in client.get(f"/runs/{run.pk}/").content.decode()
    page = client.get(f"/workers/{host.name}/").content.decode()
    assert "Trace: requests of the device" in page


_BEGIN = """
import sys, time
from runner.host.tracing import block_events
with block_events.trace_device(int(sys.argv[1]), sys.argv[2]) as trace:
    trace.begin()
    print("begun", flush=True)
    time.sleep(600)
"""


def killed(other_loop: str, instance: Path) -> None:
    """Begin a trace in a process of its own, and kill that without a warning."""
    number = str(Path(other_loop).stat().st_rdev)
    argv = [sys.executable, "-c", _BEGIN, number, instance.name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)
    assert instance.is_dir()


def test_a_killed_worker_leaves_no_trace_behind(
    host: Host, other_loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nosuch/docker.sock")
    instance = (
        block_events.TRACEFS / "instances" / f"{block_events.instance_prefix('test', host.name)}7"
    )
    killed(other_loop, instance)
    with host.carrying_out(7):
        leftovers.remove_traces(host)
        assert instance.is_dir()  # of a run that goes on here
    leftovers.remove_traces(host)
    assert not instance.exists()

    # Where no worker comes back: orphans tells of it, unless one lives, and takes it away.
    killed(other_loop, instance)
    with locks.worker_lock(orphans.lock_of(host.config.name, host.config.site)):
        assert [orphan for orphan in orphans.find(host.config) if orphan.kind == "trace"] == []
    (orphan,) = [orphan for orphan in orphans.find(host.config) if orphan.kind == "trace"]
    assert orphan.description == str(instance)
    assert orphan.remove is not None
    orphan.remove()
    assert not instance.exists()


def test_a_trace_ends_at_its_bound(other_loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_events, "MOST_BYTES", 4096)
    number = Path(other_loop).stat().st_rdev
    with block_events.trace_device(number, "fsbench.test.bound.1") as trace:
        trace.begin()
        tool("dd", "if=/dev/zero", f"of={other_loop}", "bs=4k", "count=400", "oflag=direct")
        trace.end()
        trace.begin()  # is over
    assert trace.is_cut
    assert 4096 <= len(trace.text) <= 4096 + 2**16


def test_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not block_events.why_not_traceable()
    without = tmp_path / "filesystems"
    without.write_text("nodev proc\n")
    assert "no tracefs" in block_events.why_not_traceable(filesystems=without)
    locked = tmp_path / "lockdown"
    locked.write_text("none integrity [confidentiality]\n")
    assert "locked down" in block_events.why_not_traceable(lockdown=locked)
    locked.write_text("none [integrity] confidentiality\n")
    assert not block_events.why_not_traceable(lockdown=locked)
    (tmp_path / "instances").mkdir()
    assert "no event block:block_rq_issue" in block_events.why_not_traceable(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in block_events.why_not_traceable()


def test_a_container_with_a_sys_of_its_own_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "tracing"
    folder.mkdir()
    tool("mount", "-t", "tmpfs", "fsbench-test", str(folder))
    try:
        for event in block_events.EVENTS:
            (folder / "events/block" / event).mkdir(parents=True)
        assert not block_events.why_not_traceable(folder)
        tool("mount", "-o", "remount,ro", str(folder))
        assert "as in a container" in block_events.why_not_traceable(folder)
        number = Path("/dev/null").stat().st_rdev
        with (
            pytest.raises(TraceError, match="as in a container"),
            block_events.trace_device(number, "fsbench.test.1", folder),
        ):
            raise AssertionError("nothing can be traced here")
        tool("mount", "-o", "remount,rw", str(folder))
        (folder / "instances").mkdir()
        tool("mount", "-o", "remount,ro", str(folder))
        assert "is read-only here" in block_events.why_not_traceable(folder)
    finally:
        tool("umount", str(folder))
