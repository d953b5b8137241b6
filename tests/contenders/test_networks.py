"""Served by NFS and SMB: with versions and options that the suite's own tests do not have."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.workers.machines import EMULATED, Machine
from fsbench_web.studies.models import Run, RunState
from runner.guests.executor import GuestExecutor
from runner.worker import Host
from tests.contenders.test_kernels import QUICK
from tests.measured import measured
from tests.runner.conftest import MIB

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


@pytest.mark.parametrize(
    ("filesystem", "options", "network", "words"),
    [
        ("btrfs", {"nfs": "4.1"}, "NFS", {"vers=4.1"}),
        (
            "xfs",
            {"smb": "3.1.1", "smb_protection": "sign", "smb_cache": "none"},
            "SMB",
            {"vers=3.1.1", "cache=none", "sec=ntlmsspi"},
        ),
    ],
)
def test_it_is_served_measured_and_taken_down(
    host: Host,
    guests: GuestExecutor,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    filesystem: str,
    options: dict[str, str],
    network: str,
    words: set[str],
) -> None:
    kernel = next(
        booted.kernel
        for booted in guests._seen.values()
        if booted.kernel is not None and booted.kernel.version.startswith("6.1.")
    )
    run = carry_out(
        submitted(
            host,
            filesystem,
            options=options,
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
    network_facts = dict(facts[f"{network} over loop-back"])
    assert words <= set(network_facts["Mount options in effect"].split(","))
    assert [command["argv"] for command in run.commands if command["exit_code"]] == []
    assert run.commands[-1]["argv"] == ["umount", "/mnt/fsbench"]
