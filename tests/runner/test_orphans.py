"""What dead workers left behind, and that nothing else is touched."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection

from fsbench_web.catalog.workers.announce import announce
from fsbench_web.celery import app
from fsbench_web.core.workloads import MOUNT_POINT
from fsbench_web.studies.models import Lease, Run, RunState
from fsbench_web.studies.runs import lifecycle
from runner import leftovers, orphans
from runner.config import WorkerConfig
from runner.host import layer_marks
from runner.management.commands import orphans as command
from runner.safety import locks, signatures, sparse
from runner.safety.blockdev import ToolError
from runner.safety.fingerprint import boot_id
from runner.worker import Host
from tests.runner.conftest import sparse_lun, tool, write_luns
from tests.runner.host.test_layer_marks import write as write_mark

pytestmark = [pytest.mark.django_db, pytest.mark.root]


@pytest.fixture
def host(make_host: Callable[..., Host], monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose worker is dead; its loop device is attached. There is no Docker daemon."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nosuch/docker.sock")
    return make_host(name=f"orphans-{os.getpid()}")


@pytest.fixture
def config(host: Host, monkeypatch: pytest.MonkeyPatch) -> WorkerConfig:
    monkeypatch.setattr(command, "read_config", lambda: host.config)
    return host.config


def orphans_of(config: WorkerConfig, *kinds: str) -> list[orphans.Orphan]:
    return [orphan for orphan in orphans.find(config) if not kinds or orphan.kind in kinds]


def remove(removable: list[orphans.Orphan]) -> None:
    for orphan in removable:
        assert orphan.remove is not None, orphan
        orphan.remove()


def loops(config: WorkerConfig) -> str:
    return tool(
        "losetup",
        "--noheadings",
        "--output",
        "NAME",
        "-j",
        str(config.lun_file.with_name("scratch.img")),
    )


def test_a_loop_device_is_detached_unless_a_worker_lives(config: WorkerConfig) -> None:
    assert loops(config)
    with locks.worker_lock(orphans.lock_of(config.name, config.site)):
        assert orphans_of(config, "loop device") == []
    (orphan,) = orphans_of(config, "loop device")
    assert str(config.lun_file.with_name("scratch.img")) in orphan.description
    remove([orphan])
    assert not loops(config)
    assert orphans_of(config, "loop device") == []


def test_processors_that_killed_runs_held_are_given_back(config: WorkerConfig) -> None:
    assert orphans_of(config, "processors") == []
    governor = config.data_folder / "scaling_governor"
    governor.parent.mkdir(parents=True, exist_ok=True)
    governor.write_text("performance")
    config.processor_notes.mkdir(parents=True)
    note = {"before": {str(governor): "powersave"}, "wanted": {str(governor): "performance"}}
    (config.processor_notes / "note.json").write_text(json.dumps({"boot": boot_id(), **note}))
    with locks.worker_lock(orphans.lock_of(config.name, config.site)):
        assert orphans_of(config, "processors") == []
    (orphan,) = orphans_of(config, "processors")
    remove([orphan])
    assert governor.read_text() == "powersave"
    assert orphans_of(config, "processors") == []


def test_a_loop_device_that_is_in_use_stays(config: WorkerConfig, host: Host) -> None:
    descriptor = os.open(loops(config), os.O_RDONLY | os.O_EXCL)
    try:
        with pytest.raises(ToolError, match="cannot be detached"):
            remove(orphans_of(config, "loop device"))
        assert loops(config)
    finally:
        os.close(descriptor)


def test_a_loop_device_whose_file_was_deleted_is_detached(config: WorkerConfig) -> None:
    device = loops(config)
    config.lun_file.with_name("scratch.img").unlink()
    (orphan,) = orphans_of(config, "loop device")
    assert f"{device} on " in orphan.description
    assert "(deleted)" in orphan.description
    before = dict(sparse.backing_files())[device]
    remove([orphan])
    # Its number is free again, for another process of the tests.
    assert dict(sparse.backing_files()).get(device) != before


def test_a_deleted_file_that_was_nobodys_lun_is_left_alone(
    config: WorkerConfig, tmp_path: Path
) -> None:
    elsewhere = replace(config, data_folder=tmp_path / "of-this-site")
    other = tmp_path / "somebody else's ä.img"
    other.write_bytes(bytes(2**20))
    device = tool("losetup", "--find", "--show", str(other))
    try:
        other.unlink()
        assert not [
            orphan
            for orphan in orphans_of(elsewhere, "loop device")
            if device in orphan.description
        ]
    finally:
        tool("losetup", "--detach", device)


def test_other_peoples_loop_devices_are_not_seen(config: WorkerConfig, other_loop: str) -> None:
    """Not even one that lies in the data folder, nor one that another site's fsbench made."""
    elsewhere = replace(config, data_folder=config.data_folder / "of-this-site")
    write_luns(config.lun_file)
    assert [orphan.description for orphan in orphans_of(elsewhere, "loop device")] == []
    assert [
        orphan.description
        for orphan in orphans_of(config, "loop device")
        if other_loop in orphan.description
    ] == []
    # Made here, in the data folder, and not listed any more: that one is an orphan.
    assert len(orphans_of(config, "loop device")) == 1
    write_luns(config.lun_file, sparse_lun(config.lun_file.with_name("scratch.img")))


@pytest.fixture
def mounted(config: WorkerConfig) -> Iterator[Callable[..., str]]:
    """``mounted(point, label)`` makes ext4 on the LUN and mounts it in this namespace."""
    points = []

    def mount(point: Path, label: str) -> str:
        tool("mkfs.ext4", "-q", "-F", "-L", label, loops(config))
        point.mkdir(parents=True, exist_ok=True)
        tool("mount", loops(config), str(point))
        points.append(str(point))
        return str(point)

    yield mount
    for point in points:
        if Path(point).is_mount():
            tool("umount", point)


def test_a_mount_of_fsbench_is_undone(config: WorkerConfig, mounted: Callable[..., str]) -> None:
    if Path(MOUNT_POINT).is_mount():
        pytest.fail(f"{MOUNT_POINT} is mounted already")
    point = mounted(Path(MOUNT_POINT), "fsbench")
    (orphan,) = orphans_of(config, "mount")
    assert point in orphan.description
    remove([orphan])
    assert not Path(point).is_mount()


@pytest.fixture
def another_namespace() -> Iterator[Callable[..., None]]:
    """Calling it has a process with all mounts that there are, and what the arguments mount too."""
    holders = []

    def hold(*argv: str) -> None:
        then = "echo ready; exec sleep 600"
        holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", f'"$@"; {then}', "sh", *(argv or ("true",))],
            stdout=subprocess.PIPE,
        )
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"

    yield hold
    for holder in holders:
        holder.kill()
        holder.communicate()


def test_a_mount_that_another_namespace_has_too_is_one_orphan(
    config: WorkerConfig,
    mounted: Callable[..., str],
    another_namespace: Callable[..., None],
    tmp_path: Path,
) -> None:
    """Services and containers get copies of all mounts that there are when they are started."""
    point = mounted(Path(MOUNT_POINT), "fsbench")
    another_namespace()
    (orphan,) = orphans_of(config, "mount")
    remove([orphan])
    assert not Path(point).is_mount()
    assert orphans_of(config, "mount") == []


def test_a_mount_of_another_disk_at_the_same_point_is_not_undone(
    config: WorkerConfig, another_namespace: Callable[..., None], other_loop: str
) -> None:
    """While a run of another worker, in its own namespace, has this LUN there."""
    Path(MOUNT_POINT).mkdir(exist_ok=True)
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", loops(config))
    another_namespace("mount", loops(config), MOUNT_POINT)
    tool("mkfs.ext4", "-q", "-F", other_loop)
    tool("mount", other_loop, MOUNT_POINT)
    try:
        assert orphans_of(config, "mount") == []
    finally:
        tool("umount", MOUNT_POINT)


def test_what_was_mounted_over_it_meanwhile_stays(
    config: WorkerConfig, mounted: Callable[..., str], other_loop: str
) -> None:
    point = mounted(Path(MOUNT_POINT), "fsbench")
    (orphan,) = orphans_of(config, "mount")
    tool("mkfs.ext4", "-q", "-F", other_loop)
    tool("mount", other_loop, point)
    try:
        with pytest.raises(ToolError, match="Something else is mounted"):
            remove([orphan])
        (remaining,) = orphans_of(config, "mount")
        assert remaining.remove is None
        assert tool("findmnt", "--noheadings", "--output", "SOURCE", other_loop) == other_loop
    finally:
        tool("umount", point)


def test_a_mount_of_somebody_else_is_only_told(
    config: WorkerConfig, mounted: Callable[..., str], tmp_path: Path
) -> None:
    point = mounted(tmp_path / "mine", "fsbench")
    (orphan,) = orphans_of(config, "mount")
    assert orphan.remove is None
    assert "unmount it by hand" in orphan.description
    assert Path(point).is_mount()


def test_what_a_killed_guests_layers_left_is_removed_and_nobody_elses(
    config: WorkerConfig, host: Host
) -> None:
    """With the worker alive it is left to it; a stranger's array is not even named."""
    device = Path(host.device(host.entry("scratch")))
    write_mark(device, "own-md")
    with locks.worker_lock(orphans.lock_of(config.name, config.site)):
        assert orphans_of(config, "layer") == []
    (orphan,) = orphans_of(config, "layer")
    assert orphan.description == "linux_raid_member of LUN scratch"
    remove([orphan])
    assert signatures.of(str(device)) == []
    write_mark(device, "foreign-md")
    assert orphans_of(config, "layer") == []


def test_leases_of_a_dead_worker_end_with_their_runs_as_lost(
    config: WorkerConfig, host: Host, submitted: Callable[..., Run]
) -> None:
    run = submitted(host)
    worker = announce(host.announcement())
    assert lifecycle.claim(run.pk, worker) is not None
    with locks.worker_lock(orphans.lock_of(config.name, config.site)):
        assert orphans_of(config, "lease") == []
    (orphan,) = orphans_of(config, "lease")
    assert f"run {run.pk}, leased" in orphan.description
    remove([orphan])
    run.refresh_from_db()
    assert run.state == RunState.LOST
    assert not Lease.objects.exclude(run=None).exists()


def test_leases_of_a_worker_that_came_back_meanwhile_are_its_own(
    config: WorkerConfig, host: Host, submitted: Callable[..., Run]
) -> None:
    run = submitted(host)
    assert lifecycle.claim(run.pk, announce(host.announcement())) is not None
    leases = orphans_of(config, "lease")
    lock = orphans.lock_of(config.name, config.site)
    with locks.worker_lock(lock), pytest.raises(locks.LockedElsewhere):
        remove(leases)
    run.refresh_from_db()
    assert run.state == RunState.LEASED


def test_leases_of_a_worker_that_moved_to_another_host_are_left_alone(
    config: WorkerConfig, host: Host, submitted: Callable[..., Run]
) -> None:
    run = submitted(host)
    worker = announce(host.announcement())
    assert lifecycle.claim(run.pk, worker) is not None
    assert orphans_of(config, "lease")
    worker.capabilities["host_mark"] = "another host"
    worker.save()
    assert orphans_of(config, "lease") == []


def test_messages_without_a_run_that_waits_are_removed_and_others_stay(
    config: WorkerConfig, host: Host, submitted: Callable[..., Run], broker: str
) -> None:
    waiting = submitted(host)
    for number in (4711, waiting.pk, 4712):
        send(broker, host, number)
    messages = orphans_of(config, "message")
    assert [message.description.split(",")[0] for message in messages] == [
        "for run 4711",
        "for run 4712",
    ]
    assert len(orphans_of(config, "message")) == 2
    remove(messages)
    assert orphans_of(config, "message") == []
    assert queued(broker, host) == [waiting.pk]


@pytest.fixture(params=["filesystem", "redis"])
def broker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address; the application speaks to it."""
    if request.param == "filesystem":
        return ""
    address: str = request.getfixturevalue("redis_url")
    monkeypatch.setattr(app, "connection_for_write", lambda **_: Connection(address), raising=True)
    return address


def send(broker: str, host: Host, number: int) -> None:
    with app.connection_for_write() as connection:
        app.send_task(
            "runner.execute", args=[number], queue=f"host.{host.name}", connection=connection
        )


def queued(broker: str, host: Host) -> list[int]:
    with app.connection_for_write() as connection:
        queue = app.amqp.queues[f"host.{host.name}"](connection.channel())
        run_ids: list[int] = []
        while (message := queue.get(no_ack=True)) is not None:
            run_ids.append(message.payload[0][0])
        return run_ids


def test_output_of_a_run_that_has_ended_is_removed(
    config: WorkerConfig, host: Host, submitted: Callable[..., Run]
) -> None:
    run = submitted(host)
    worker = announce(host.announcement())
    host.spool_folder.mkdir(parents=True)
    (host.spool_folder / f"run-{run.pk}.jsonl").write_text("{}")
    (host.spool_folder / "run-4711.jsonl").write_text("{}")
    assert lifecycle.claim(run.pk, worker) is not None
    by_what = {
        orphan.description.rpartition("/")[2]: orphan for orphan in orphans_of(config, "output")
    }
    assert by_what[f"run-{run.pk}.jsonl: start the worker, which stores it"].remove is None
    remove([by_what["run-4711.jsonl of a run that has ended"]])
    assert [path.name for path in host.spool_folder.iterdir()] == [f"run-{run.pk}.jsonl"]


def test_output_of_a_run_that_was_lost_goes_while_its_worker_lives(
    host: Host, submitted: Callable[..., Run]
) -> None:
    """Its end could not be written: the database's disk was full for longer than its lease."""
    run = submitted(host)
    worker = announce(host.announcement())
    host.spool_folder.mkdir(parents=True)
    file = host.spool_folder / f"run-{run.pk}.jsonl"
    file.write_text("{}")
    assert lifecycle.claim(run.pk, worker) is not None
    leftovers.remove_leftovers(host)
    assert file.exists()
    lifecycle.recover(worker)
    leftovers.remove_leftovers(host)
    assert not file.exists()


def test_the_command_lists_removes_and_says_when_there_is_nothing(
    config: WorkerConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(**options: Any) -> str:
        command.Command().handle(**{"remove": False, **options})
        return capsys.readouterr().out

    listed = call()
    assert "loop device: /dev/loop" in listed
    assert "manage.py orphans --remove" in listed
    assert loops(config)
    assert ": removed" in call(remove=True)
    assert not loops(config)
    assert call() == "Nothing was left behind.\n"


def test_an_imported_pool_is_named_and_left_to_a_person(
    config: WorkerConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kstat" / "fsbench").mkdir(parents=True)
    pools = layer_marks.leftover_pools(tmp_path / "kstat")
    monkeypatch.setattr(layer_marks, "leftover_pools", lambda: pools)
    (orphan,) = orphans_of(config, "pool")
    assert orphan.remove is None
    assert "zpool destroy fsbench" in orphan.description
