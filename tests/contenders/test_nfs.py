"""What is served by NFS with other kernels and versions than the suite's own tests have."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.workers.machines import EMULATED, Machine
from fsbench_web.studies.models import Run, RunState
from runner.executors.guest import GuestExecutor
from runner.worker import Host
from tests.contenders.test_kernels import QUICK
from tests.measured import measured
from tests.runner.conftest import MIB

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


@pytest.mark.parametrize(("filesystem", "asked", "version"), [("btrfs", "4.1", "6.1.")])
def test_it_is_served_measured_and_taken_down(
    host: Host,
    guests: GuestExecutor,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    filesystem: str,
    asked: str,
    version: str,
) -> None:
    kernel = next(
        seen.kernel
        for seen in guests._seen.values()
        if seen.kernel is not None and seen.kernel.version.startswith(version)
    )
    run = carry_out(
        submitted(
            host,
            filesystem,
            options={"nfs": asked},
            tool="fio-depths",
            parameters=QUICK,
            machine=Machine(kernel.name, EMULATED, 768 * MIB, 1),
            kernel=kernel.version,
        ),
        host,
    )
    assert run.state == RunState.DONE, run.reason
    assert measured(run)
    assert run.environment is not None
    facts = run.environment.facts
    assert dict(facts["File system"])["Mounted as"] == filesystem
    said = dict(facts["NFS over loop-back"])
    assert f"vers={asked}" in said["Mount options in effect"].split(",")
    assert [one["argv"] for one in run.commands if one["exit_code"]] == []
    assert run.commands[-1]["argv"] == ["umount", "/mnt/fsbench"]
