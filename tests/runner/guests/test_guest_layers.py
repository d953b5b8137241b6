"""Layers for real: made in a guest, measured and taken down."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.commands.preparation import PROBE_OUTPUT
from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.stacks import Member
from fsbench_web.catalog.workers.machines import EMULATED, MIB, Machine, guest_device
from fsbench_web.core.scoring.ceilings import read_probe
from fsbench_web.core.workloads import MOUNT_POINT
from fsbench_web.studies.models import LogLine, Run, RunState
from runner.execution.record import Recorder
from runner.executors.base import Message, Target
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan, Step, plan_run
from runner.safety import checks, signatures
from runner.safety.luns import read_luns
from runner.safety.marks import LAYER_SIGNATURES
from runner.worker import Host
from tests.runner.conftest import LONG, SMALL, sparse_lun, write_luns
from tests.runner.guests import mount_in_guest
from tests.runner.guests.test_guest import folder, guests, kernel

__all__ = ["folder", "guests", "kernel"]

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

TINY = SMALL | {"maximum_record_kb": 4, "maximum_file_kb": 64}
NAMES = ("scratch", "second", "third", "fourth")
# What checks its sums (integrity) is written whole, and an array is waited for: emulated, a second
# for each four MiB. A cache of bcache wants more than 512 buckets.
SIZES_MIB = (40, 40, 40, 68)
# Btrfs wants 125 MiB behind the 16 of LUKS.
BTRFS_SIZES_MIB = (160, 160, 64, 68)
# What stands on how many of the LUNs, and with the fourth as a cache.
STACKS = (
    (
        [{"layer": "md", "level": "raid5", "chunk_kb": 64, "bitmap": "none"}, {"layer": "luks"}],
        3,
        False,
    ),
    ([{"layer": "md", "level": "raid0"}, {"layer": "lvm", "layout": "thin"}], 2, False),
    ([{"layer": "lvm", "layout": "linear", "cache_mode": "writeback"}], 2, True),
    (
        [
            {"layer": "luks", "cipher": "aes-cbc-essiv", "workqueues": "off"},
            {"layer": "lvm", "layout": "striped", "stripe_kb": 16},
        ],
        2,
        False,
    ),
    (
        [
            {"layer": "integrity", "algorithm": "sha256", "writes": "bitmap"},
            {"layer": "bcache", "cache_mode": "writeback", "bucket_kb": 64, "sequential": "cached"},
            {"layer": "md", "level": "raid1"},
        ],
        2,
        True,
    ),
    ([{"layer": "md", "level": "raid10"}, {"layer": "luks", "sector_size": 4096}], 4, False),
)

PROBED = STACKS[2][0]
# By NFS over loop-back above: the one with the cache, and the last, which breaks.
SERVED = {
    2: {"nfs": "3", "nfs_export": "async"},
    len(STACKS) - 1: {"nfs": "4.2", "nfs_nconnect": "2"},
}


@pytest.fixture
def sizes_mib(request: pytest.FixtureRequest) -> tuple[int, ...]:
    sizes: tuple[int, ...] = getattr(request, "param", SIZES_MIB)
    return sizes


@pytest.fixture
def lun_file(tmp_path: Path, sizes_mib: tuple[int, ...]) -> Path:
    path = tmp_path / "luns.toml"
    write_luns(
        path,
        *(
            sparse_lun(tmp_path / f"{name}.img", name=name, size=f"{size} MiB")
            for name, size in zip(NAMES, sizes_mib, strict=True)
        ),
    )
    return path


@pytest.fixture
def host(make_host: Callable[..., Host], guests: GuestExecutor) -> Host:
    return make_host(guests=guests)


@pytest.fixture
def devices(host: Host, lun_file: Path) -> list[str]:
    return [host.device(entry) for entry in read_luns(lun_file)]


def layered(
    layers: list[dict[str, object]], count: int, has_cache: bool, options: dict[str, str]
) -> RunPlan:
    """The plan of one stack on the first disks of a guest that has four."""
    members = [
        Member("data", guest_device(place), SIZES_MIB[place] * MIB) for place in range(1, count)
    ]
    members += [Member("cache", guest_device(3), SIZES_MIB[3] * MIB)] if has_cache else []
    return plan_run(
        "ext4",
        options,
        "iozone",
        TINY,
        device=guest_device(0),
        size_bytes=SIZES_MIB[0] * MIB,
        members=members,
        layers=[Layer.of(layer) for layer in layers],
        probe_s=1 if layers == PROBED else 0,
    )


def left_of_layers(devices: list[str]) -> set[str]:
    types = {signature.type for device in devices for signature in signatures.of(device)}
    return types & LAYER_SIGNATURES


def assert_known_as_a_mount(messages: list[Message]) -> None:
    """A real NFS mount as a LUN: known by server and options, and by its silence."""
    printed = [
        message["text"] for message in messages if message.get("name") == mount_in_guest.OUTPUT
    ]
    report = json.loads("".join(printed))
    identity = dict(report["identity"])
    assert identity["File system"] == "nfs4"
    assert (identity["Server"], identity["Export"]) == ("127.0.0.1", "/")
    assert identity["Server's address"] == "127.0.0.1"
    assert {"vers=4.2", "nconnect=2", "hard"} <= set(identity["Mount options"].split(","))
    filesystem, options = report["contender"]
    assert filesystem == "nfs"
    assert (options["vers"], options["nconnect"]) == ("4.2", "2")
    assert report["fingerprint"]["server"] == "127.0.0.1"
    assert len(report["fingerprint"]["mark"]) == 32
    assert [passed for _, passed, _ in report["problems"]] == [True, True]
    assert report["free_bytes"] > MIB
    assert ["does not answer" in problem for problem in report["silent"]] == [True, True]
    assert report["is_known_without_server"]
    assert report["back"] == ""


def test_every_layer_is_made_measured_and_taken_down(
    host: Host, guests: GuestExecutor, kernel: kernels.Kernel, devices: list[str]
) -> None:
    """One boot makes all of them, one after the other; the last one breaks in the middle."""
    plans = [layered(*stack, SERVED.get(place, {})) for place, stack in enumerate(STACKS)]
    last = plans[-1]
    begin = next(n for n, step in enumerate(last.steps) if step.phase == "benchmark")
    broken = [*last.steps[:begin], mount_in_guest.step(), Step("benchmark", ["false"], 60.0)]
    everything = replace(
        last,
        steps=[*(step for plan in plans[:-1] for step in plan.steps), *broken],
        layers=sorted({name for plan in plans for name in plan.layers}),
        member_devices=[guest_device(place) for place in (1, 2, 3)],
        guest={"kernel": kernel.name, "memory_bytes": 384 * MIB, "cpus": 1},
    )
    messages: list[Message] = []
    members = tuple(zip(NAMES[1:], devices[1:], strict=True))

    outcome = guests.run(
        everything,
        Target(1, "host-one", "scratch", devices[0], members=members),
        messages.append,
        lambda: False,
    )

    commands = [message for message in messages if message["type"] == "command"]
    failed = [command for command in commands if command["exit_code"] != 0]
    errors = [message["reason"] for message in messages if message["type"] == "error"]
    assert errors == ["false ended with exit status 1."], (failed, commands[-2:])
    assert [command["argv"] for command in failed] == [["false"]], failed
    assert outcome.exit_code == 1
    # The device that layers make of several LUNs is measured without a file system.
    (probed,) = (command for command in commands if command["phase"] == "probe")
    assert probed["argv"][-1] == "/dev/mapper/fsbench0-data"
    (printed,) = (message["text"] for message in messages if message.get("name") == PROBE_OUTPUT)
    assert len(read_probe(json.loads(printed)).points) == 5
    sources = [command["argv"][-2] for command in commands if command["phase"] == "mount"]
    assert sources == [
        "/dev/mapper/fsbench1-0",
        "/dev/mapper/fsbench1-data",
        "/dev/mapper/fsbench0-data",
        "/dev/mapper/fsbench1-data",
        "/dev/md2",
        "/dev/mapper/fsbench1-0",
    ]
    assert sum(message["type"] == "output" for message in messages) >= len(plans) - 1
    served = [message for message in messages if message["type"] == "served"]
    assert [message["filesystem"] for message in served] == ["nfs", "nfs4"]
    assert ["async" in message["export"] for message in served] == [True, False]
    assert "nconnect=2" in served[1]["options"].split(",")
    assert_known_as_a_mount(messages)
    # The broken one was taken down too, from the top: nothing of any layer is on any LUN.
    above = [command["argv"][:2] for command in commands[-7:-4]]
    assert above == [["umount", MOUNT_POINT], ["fsbench-nfs", "down"], ["umount", MOUNT_POINT]]
    assert [command["argv"][0] for command in commands[-4:]] == [
        "cryptsetup",
        "wipefs",
        "mdadm",
        "wipefs",
    ]
    assert [signatures.of(device) for device in devices] == [[], [], [], []]


@pytest.mark.parametrize("sizes_mib", [BTRFS_SIZES_MIB], indirect=True, ids=["160 MiB"])
def test_what_a_killed_guest_leaves_is_removed_from_every_lun(
    host: Host,
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    devices: list[str],
    lun_file: Path,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Btrfs over two encrypted LUNs, killed while it is measured."""
    machine = Machine(kernel.name, EMULATED, 384 * MIB, 1)
    run = submitted(
        host,
        "btrfs",
        options={"data_profile": "raid1", "metadata_profile": "raid1"},
        members=[("data", "second")],
        layers=(Layer.of({"layer": "luks"}),),
        parameters=LONG | {"minimum_file_kb": 16384, "maximum_file_kb": 32768},
        machine=machine,
        kernel=kernel.version,
    )
    assert run.series.configuration.label == "btrfs_data-raid1_meta-raid1_luks_2luns"
    types: list[set[str]] = []
    take = Recorder.take

    def kill_while_it_measures(recorder: Recorder, message: Message) -> None:
        take(recorder, message)
        if message.get("phase") == "benchmark" and message["type"] == "phase":
            types.append(left_of_layers(devices))
            for container in guests.client.containers.list():
                container.kill()

    monkeypatch.setattr(Recorder, "take", kill_while_it_measures)
    carry_out(run, host)

    assert run.state == RunState.FAILED
    assert "killed from outside" in run.reason
    assert types == [{"crypto_LUKS"}]
    assert left_of_layers(devices) == set()
    lines = LogLine.objects.filter(run=run, text__startswith="Left of layers")
    assert [line.text for line in lines] == [
        f"Left of layers on {name}, and removed: crypto_LUKS." for name in ("scratch", "second")
    ]
    for entry, device in zip(read_luns(lun_file), devices, strict=True):
        assert checks.problem(checks.verify(entry, lun_file, device)) == ""
