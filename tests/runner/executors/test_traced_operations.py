"""Operations of a file system, counted by a real bpftrace while executors run: what is left when a
run is cancelled, and what is seen of a container."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsbench_web.core.traces.tracers import OPERATIONS, REQUESTS
from fsbench_web.studies.activity import traces
from fsbench_web.studies.models import MeasurementBlock, Run, RunState, RunTrace
from fsbench_web.studies.runs import lifecycle
from runner.executors.base import Executor
from runner.executors.docker import DockerExecutor
from runner.executors.local import LocalExecutor
from runner.host.tracing import block_events, operation_events
from runner.safety import checks
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.runner.conftest import LONG, SMALL

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.skipif(
        bool(shutil.which("bpftrace") and operation_events.why_not_traceable()),
        reason="this kernel cannot be traced so",
    ),
]

Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


@pytest.fixture(params=["local", "docker"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Executor:
    if request.param == "local":
        return LocalExecutor()
    monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_host"))
    return DockerExecutor(request.getfixturevalue("runner_image"), "test")


@pytest.fixture
def host(make_host: Callable[..., Host], executor: Executor) -> Host:
    return make_host(executor)


def extra(run: Run) -> Run:
    run.tracing = f"{REQUESTS} {OPERATIONS}"
    run.save(update_fields=["tracing"])
    return run


def holders_of_programs() -> set[str]:
    """Processes that hold a program of the kernel (bpf(2)): with the last descriptor it is gone."""
    holders = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if any("bpf-prog" in link for link in links_of(process / "fd")):
                holders.add(process.name)
    return holders


def links_of(folder: Path) -> Iterator[str]:
    for descriptor in list(folder.iterdir()):
        with contextlib.suppress(OSError):  # it is closed meanwhile
            yield str(descriptor.readlink())


@pytest.mark.parametrize("executor", ["docker"], indirect=True)
def test_what_a_container_does_is_counted_from_outside_of_it(
    host: Host, submitted: Submit, carry_out: CarryOut
) -> None:
    run = carry_out(extra(submitted(host, "ext4", scheduler="none", parameters=SMALL)), host)
    assert run.state == RunState.DONE, run.reason
    assert not RunTrace.objects.filter(run=run).exclude(problem="").exists()
    trace = traces.operations_of(run.pk)
    assert trace is not None
    # IOzone writes and reads files of 64 and 128 KB in records of 4 and 8 KB.
    assert trace.ended["write"] > 100
    assert trace.ended["read"] > 100
    assert (trace.lost, trace.is_cut) == (0, False)


def test_a_cancelled_run_leaves_no_tracer_no_probe_and_no_mount(
    host: Host,
    lun_file: Path,
    submitted: Submit,
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner = block_events.instance_prefix("test", host.name)
    others = holders_of_programs()
    beat = lifecycle.heartbeat
    began: list[object] = []
    tracers: list[int] = []
    begin = operation_events.Operations.begin

    def begin_and_tell(self: operation_events.Operations) -> None:
        begin(self)
        began.append(self)

    def cancel_when_counting(handle: lifecycle.LeaseHandle, **values: object) -> bool:
        if began and not tracers:
            tracers.extend(
                pid for pid, _ in operation_events.leftover_traces(owner, lambda run: False)
            )
            assert set(map(str, tracers)) <= holders_of_programs() - others
            assert list(block_events.leftover_instances(owner, lambda run: False))
            lifecycle.cancel(handle.run_id, "somebody")
        return beat(handle, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(operation_events.Operations, "begin", begin_and_tell)
    monkeypatch.setattr(lifecycle, "heartbeat", cancel_when_counting)
    run = carry_out(extra(submitted(host, "ext4", scheduler="none", parameters=LONG)), host)
    assert run.state == RunState.CANCELLED, run.reason
    assert len(tracers) == 1
    assert not Path(f"/proc/{tracers[0]}").exists()
    assert not list(operation_events.leftover_traces(owner, lambda run: False))
    assert not list(block_events.leftover_instances(owner, lambda run: False))
    assert not holders_of_programs() & set(map(str, tracers))
    entry = read_luns(lun_file)[0]
    device = host.device(entry)
    assert device not in Path("/proc/self/mounts").read_text()
    assert checks.problem(checks.verify(entry, lun_file, device)) == ""
    # What was seen until then is kept with the run, and counts nowhere.
    assert {trace.tracer for trace in RunTrace.objects.filter(run=run)} == {REQUESTS, OPERATIONS}
    assert not MeasurementBlock.objects.filter(run=run).exists()
