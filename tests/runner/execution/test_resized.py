"""A LUN whose size changes during a run is not one disk, and its numbers are of none."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Run, RunState
from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from runner.worker import Host
from tests.measured import measured
from tests.runner import fake
from tests.runner.conftest import MIB, write_luns
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def meanwhile(change: Callable[[], None]) -> fake.Script:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        change()
        return fake.succeed(plan, on_message, should_stop)

    return script


@pytest.mark.parametrize("size_mib", [1, 500])
def test_a_sparse_file_that_is_cut_or_grows(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, tmp_path: Path, size_mib: int
) -> None:
    path = tmp_path / "scratch.img"
    host = make_host(FakeExecutor(meanwhile(lambda: os.truncate(path, size_mib * MIB))))
    assert_failed(carry_out(submitted(host), host), 400 * MIB, size_mib * MIB)


def test_a_device_that_grows(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    tmp_path: Path,
    lun_file: Path,
    other_loop: str,
) -> None:
    write_luns(lun_file, {"name": "scratch", "kind": "device", "path": other_loop})

    def grow() -> None:
        os.truncate(tmp_path / "other.img", 80 * MIB)
        subprocess.run(["losetup", "--set-capacity", other_loop], check=True)

    host = make_host(FakeExecutor(meanwhile(grow)))
    assert_failed(carry_out(submitted(host), host), 64 * MIB, 80 * MIB)


def assert_failed(run: Run, was_bytes: int, is_bytes: int) -> None:
    assert (run.state, run.cause) == (RunState.FAILED, Cause.BENCHMARK), run.reason
    assert str(was_bytes) in run.reason
    assert str(is_bytes) in run.reason
    assert measured(run) == []
