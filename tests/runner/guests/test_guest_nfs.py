"""XFS by NFS for real: a guest's kernel serves it to itself, it is measured and taken down."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fsbench_web.catalog.workers.machines import EMULATED, GUEST_DEVICE, MIB, Machine
from fsbench_web.studies.models import Run, RunState
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.plan import plan_run
from runner.worker import Host
from tests.measured import measured
from tests.runner.guests.test_guest import containers, folder, guests, kernel

__all__ = ["folder", "guests", "kernel"]

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 600}
SERVED = {"nfs": "4.2", "nfs_export": "sync", "nfs_nconnect": "4", "nfs_rsize": "32768"}


def test_xfs_by_nfs_is_measured_and_says_what_server_and_client_agreed(
    make_host: Callable[..., Host],
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    host = make_host(guests=guests)
    arguments = {"tool": "fio-depths", "parameters": QUICK, "options": SERVED}
    machine = Machine(kernel.name, EMULATED, 512 * MIB, 1)

    run = carry_out(
        submitted(host, "xfs", **arguments, machine=machine, kernel=kernel.version), host
    )

    assert run.state == RunState.DONE, run.reason
    assert run.series.configuration.label == "xfs_nfs4.2_exportsync_nconnect4_rsize32768"
    assert measured(run)
    assert run.environment is not None
    facts = run.environment.facts
    assert dict(facts["File system"])["Mounted as"] == "xfs"
    network_facts = dict(facts["NFS over loop-back"])
    assert network_facts["Mounted as"] == "nfs4"
    words = network_facts["Mount options in effect"].split(",")
    assert {"vers=4.2", "nconnect=4", "rsize=32768", "proto=tcp"} <= set(words)
    # What it agreed to, not what was asked for: nobody asked for a write size.
    assert any(word.startswith("wsize=") for word in words)
    assert network_facts["Exported"].startswith(
        "/run/fsbench.served 127.0.0.1(rw,no_root_squash,sync,"
    )
    assert network_facts["Threads of the server"] == "8"
    # Mounted and served anew before each measurement, and gone in the end.
    servers = [
        command["argv"][1] for command in run.commands if command["argv"][0] == "fsbench-nfs"
    ]
    assert servers == ["up", "down"] * 3
    assert run.commands[-1]["argv"] == ["umount", "/mnt/fsbench"]
    assert [command["argv"] for command in run.commands if command["exit_code"]] == []
    assert containers(guests) == []


def test_a_kernel_without_its_modules_is_refused(
    make_host: Callable[..., Host], guests: GuestExecutor, kernel: kernels.Kernel
) -> None:
    plan = plan_run("xfs", SERVED, "fio-depths", QUICK, device=GUEST_DEVICE, size_bytes=2**30)
    guest = {"kernel": kernel.name, "memory_bytes": 512 * MIB, "cpus": 1}
    plan = replace(plan, guest=guest)
    assert guests.refusal(plan, "xfs") == ""
    others = {name: needs for name, needs in kernel.needs.items() if "nfs" not in name}
    without = replace(kernel, needs=others)
    guests._seen[kernel.name] = replace(guests._seen[kernel.name], kernel=without)
    assert "has no nfsd, nfs, nfsv3, nfsv4" in guests.refusal(plan, "xfs")
