"""XFS by SMB for real: a guest's smbd serves it, it is measured, breaks, and is taken down."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fsbench_web.catalog.workers.machines import GUEST_DEVICE, MIB
from fsbench_web.core.workloads import MOUNT_POINT
from runner.executors.base import Message, Target
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan, Step, plan_run
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.runner.guests import mount_in_guest
from tests.runner.guests.test_guest import TINY, containers, folder, guests, kernel

__all__ = ["folder", "guests", "kernel"]

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


def plan_of(options: dict[str, str]) -> RunPlan:
    return plan_run("xfs", options, "iozone", TINY, device=GUEST_DEVICE, size_bytes=400 * MIB)


def assert_known_as_a_mount(report: dict[str, Any]) -> None:
    """A real SMB mount as a LUN: known by server and options, and by its silence."""
    identity = dict(report["identity"])
    assert identity["File system"] == "cifs"
    assert (identity["Server"], identity["Export"]) == ("127.0.0.1", "fsbench")
    assert identity["Server's address"] == "127.0.0.1"
    assert {"vers=3.1.1", "seal", "hard"} <= set(identity["Mount options"].split(","))
    filesystem, options = report["contender"]
    assert filesystem == "cifs"
    assert options["vers"] == "3.1.1"
    assert report["fingerprint"]["server"] == "127.0.0.1"
    assert len(report["fingerprint"]["mark"]) == 32
    assert [passed for _, passed, _ in report["problems"]] == [True, True]
    assert report["free_bytes"] > MIB
    assert ["does not answer" in problem for problem in report["silent"]] == [True, True]
    assert report["is_known_without_server"]
    assert report["back"] == ""


def test_it_is_made_measured_and_taken_down(
    make_host: Callable[..., Host], guests: GuestExecutor, kernel: kernels.Kernel, lun_file: Any
) -> None:
    """One boot makes both, one after the other; the second breaks in the middle."""
    whole, last = plan_of({"smb": "3.1.1"}), plan_of({"smb": "3.1.1", "smb_protection": "seal"})
    begin = next(n for n, step in enumerate(last.steps) if step.phase == "benchmark")
    broken = [*last.steps[:begin], mount_in_guest.step("smb"), Step("benchmark", ["false"], 60.0)]
    plan = replace(
        last,
        steps=[*whole.steps, *broken],
        guest={"kernel": kernel.name, "memory_bytes": 512 * MIB, "cpus": 1},
    )
    host = make_host(guests=guests)
    entry = read_luns(lun_file)[0]
    messages: list[Message] = []

    outcome = guests.run(
        plan,
        Target(1, "host-one", entry.name, host.device(entry)),
        messages.append,
        lambda: False,
    )

    commands = [message for message in messages if message["type"] == "command"]
    assert [command["argv"] for command in commands if command["exit_code"]] == [["false"]], (
        messages[-20:]
    )
    errors = [message["reason"] for message in messages if message["type"] == "error"]
    assert errors == ["false ended with exit status 1."]
    assert outcome.exit_code == 1
    mounted = [message["filesystem"] for message in messages if message["type"] == "mounted"]
    assert set(mounted) == {"xfs"}
    served = [message for message in messages if message["type"] == "served"]
    assert len(served) == len(mounted)
    assert {(message["network"], message["filesystem"]) for message in served} == {("SMB", "cifs")}
    assert {message["server"].rpartition(" ")[0] for message in served} == {"Samba's smbd"}
    assert {message["export"] for message in served} == {
        "path = /run/fsbench.served; read only = no; valid users = root"
    }
    assert ["seal" in message["options"].split(",") for message in served[-2:]] == [False, True]
    printed = [
        message["text"] for message in messages if message.get("name") == mount_in_guest.OUTPUT
    ]
    assert_known_as_a_mount(json.loads("".join(printed)))
    # The benchmark wrote what it read by SMB, and the broken one was taken down from the top.
    assert any(message["type"] == "output" and message["text"] for message in messages)
    assert [command["argv"][:2] for command in commands[-3:]] == [
        ["umount", MOUNT_POINT],
        ["fsbench-smb", "down"],
        ["umount", MOUNT_POINT],
    ]
    assert containers(guests) == []


def test_a_kernel_without_its_module_is_refused(
    make_host: Callable[..., Host], guests: GuestExecutor, kernel: kernels.Kernel
) -> None:
    guest = {"kernel": kernel.name, "memory_bytes": 512 * MIB, "cpus": 1}
    plan = replace(plan_of({"smb": "3.1.1"}), guest=guest)
    assert guests.refusal(plan, "xfs") == ""
    others = {name: needs for name, needs in kernel.needs.items() if name != "cifs"}
    without = replace(kernel, needs=others)
    guests._seen[kernel.name] = replace(guests._seen[kernel.name], kernel=without)
    assert "has no cifs" in guests.refusal(plan, "xfs")
