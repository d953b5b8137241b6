"""bcachefs, really: one device, copies on two, a cache; and one that breaks in the middle."""

from dataclasses import replace
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.stacks import Member
from fsbench_web.catalog.workers.machines import guest_device
from fsbench_web.core.workloads import MOUNT_POINT
from runner.executors.base import Message, Target
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan, Step, plan_run
from runner.safety import checks, signatures
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.contenders.conftest import NAMES, SIZE_BYTES
from tests.contenders.test_kernels import QUICK
from tests.runner.conftest import MIB

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]
# Options, and the roles of the LUNs beside the first.
STACKS: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    ({}, ()),
    (
        {
            "compression": "zstd:1",
            "data_checksum": "xxhash",
            "metadata_checksum": "crc64",
            "encoded_extent_max_kb": "128",
            "block_size": "4096",
            "online_discard": "on",
        },
        (),
    ),
    ({"cache_mode": "writearound"}, ("data", "cache")),
    ({"copy_on_write": "off"}, ("cache",)),
    ({"data_replicas": "2", "metadata_replicas": "2"}, ("data",)),
)


def plan_of(options: dict[str, str], roles: tuple[str, ...]) -> RunPlan:
    members = [
        Member(role, guest_device(place), SIZE_BYTES) for place, role in enumerate(roles, start=1)
    ]
    return plan_run(
        *("bcachefs", options, "fio-depths", QUICK),
        device=guest_device(0),
        size_bytes=SIZE_BYTES,
        members=members,
    )


def test_every_stack_is_made_measured_and_taken_down(
    host: Host, guests: GuestExecutor, lun_file: Path
) -> None:
    """One boot makes all of them, one after the other; the last one breaks in the middle."""
    kernel = next(name for name in guests._seen if "6.12." in name)
    plans = [plan_of(*stack) for stack in STACKS]
    last = plans[-1]
    begin = next(place for place, step in enumerate(last.steps) if step.phase == "benchmark")
    everything = replace(
        plans[0],
        steps=[
            *(step for plan in plans for step in plan.steps),
            *(*last.steps[:begin], Step("benchmark", ["false"], 60.0)),
        ],
        member_devices=[guest_device(1), guest_device(2)],
        guest={"kernel": kernel, "memory_bytes": 768 * MIB, "cpus": 1},
    )
    entries = read_luns(lun_file)
    devices = [host.device(entry) for entry in entries]
    members = tuple(zip(NAMES[1:], devices[1:], strict=True))
    messages: list[Message] = []

    outcome = guests.run(
        everything,
        Target(1, "host-one", "scratch", devices[0], members=members),
        messages.append,
        lambda: False,
    )

    commands = [message for message in messages if message["type"] == "command"]
    failed = [command["argv"] for command in commands if command["exit_code"] != 0]
    assert failed == [["false"]], messages[-20:]
    assert outcome.exit_code == 1
    assert commands[-1]["argv"] == ["umount", MOUNT_POINT]
    mounted = [message for message in messages if message["type"] == "mounted"]
    assert {message["filesystem"] for message in mounted} == {"bcachefs"}
    mount_options = " ".join(str(message["options"]) for message in mounted)
    for words in (
        "compression=zstd:1",
        "data_checksum=xxhash",
        "foreground_target=data",
        "foreground_target=cache",
        "data_replicas=2",
        "nocow",
    ):
        assert words in mount_options
    # What stays is known as fsbench's own, on each of them.
    for entry, device in zip(entries, devices, strict=True):
        (signature,) = signatures.of(device)
        assert (signature.type, signature.label) == ("bcachefs", "fsbench")
        assert checks.problem(checks.verify(entry, lun_file, device)) == ""
