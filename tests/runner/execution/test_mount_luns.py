"""Runs in fsbench's own folder on a mount of the host."""

import os
import subprocess
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from fsbench_web.studies.models import Run, RunState
from runner.execution import mount_watch
from runner.executors.local import LocalExecutor
from runner.safety import mount_folder, mounts
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.runner import fake
from tests.runner.conftest import write_luns
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]
MakeHost = Callable[..., Host]


@pytest.fixture
def point(tmp_path: Path, lun_file: Path) -> Iterator[Path]:
    point = tmp_path / "share"
    point.mkdir()
    mount(point)
    write_luns(lun_file, {"name": "share", "kind": "mount", "path": str(point)})
    yield point
    while mounts.mounted_at(point):
        subprocess.run(["umount", "--lazy", point], check=True)


def mount(point: Path, source: str = "tmpfs", words: str = "size=64m") -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", words, source, point], check=True)


def own_folder(host: Host) -> Path:
    return Path(mounts.path_of(host.entry("share")))


def test_workers_with_one_list_have_folders_of_their_own(make_host: MakeHost, point: Path) -> None:
    hosts = [make_host(name=name) for name in ("node1", "node2")]
    assert [own_folder(host).name for host in hosts] == [
        "fsbench-node1-share",
        "fsbench-node2-share",
    ]
    assert [lun.problem for host in hosts for lun in host.announcement().luns] == ["", ""]


@pytest.mark.parametrize("is_of_another_name", [False, True], ids=["same host", "host renamed"])
def test_a_folder_of_before_stays_the_workers(
    make_host: MakeHost,
    lun_file: Path,
    point: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_of_another_name: bool,
) -> None:
    """It was named after the host: a container that is made anew is another one."""
    (entry,) = read_luns(lun_file)
    before = Path(mounts.make_folder(entry, tmp_path / "mounts" / "node1"))
    assert before.name == f"fsbench-{os.uname().nodename}-share"
    if is_of_another_name:
        monkeypatch.setattr(mounts, "_folder_of_before", lambda _: "fsbench-elsewhere-share")
    hosts = [make_host(name=name) for name in ("node1", "node2")]
    assert own_folder(hosts[0]) == before
    assert own_folder(hosts[1]).name == "fsbench-node2-share"
    assert [lun.problem for host in hosts for lun in host.announcement().luns] == ["", ""]


def test_luns_check_knows_the_folder_for_its_own(
    lun_file: Path, point: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LUNS", str(lun_file)), ("EXECUTOR", "local"), ("WORKER", "node1")):
        monkeypatch.setenv(f"FSBENCH_{name}", value)
    output = StringIO()
    call_command("luns", "check", stdout=output)
    assert f"ok   folder: {point}/fsbench-node1-share is fsbench's own" in output.getvalue()


def test_it_is_measured_where_it_is_mounted_and_left_clean(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, point: Path
) -> None:
    (point / "theirs").write_text("kept")
    host = make_host(LocalExecutor())
    (lun,) = host.announcement().luns
    assert (lun.problem, lun.kind, lun.device) == ("", "mount", str(own_folder(host)))
    assert lun.fingerprint["export"] == "tmpfs"
    run = carry_out(submitted(host, "tmpfs", lun="share"), host)
    assert run.state == RunState.DONE, run.reason
    assert run.series.configuration.label == "tmpfs"
    assert [command["phase"] for command in run.commands] == ["benchmark"]
    assert run.environment is not None
    facts = run.environment.facts
    assert dict(facts["File system"])["Mounted as"] == "tmpfs"
    assert "size=65536k" in dict(facts["File system"])["Mount options in effect"]
    assert "size=65536k" in dict(facts["LUN"])["Mount options"]
    assert dict(facts["LUN"])["Source"] == "tmpfs"
    assert (point / "theirs").read_text() == "kept"
    assert [path.name for path in own_folder(host).iterdir()] == [mount_folder.MARKER]


def test_another_mount_under_its_name_is_refused(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, point: Path
) -> None:
    host = make_host(FakeExecutor())
    run = submitted(host, "tmpfs", lun="share")
    subprocess.run(["umount", point], check=True)
    mount(point, "other")
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "share was not used. share is another mount now" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]


def test_its_numbers_go_to_no_other_options_and_no_other_file_system(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, point: Path
) -> None:
    host = make_host(FakeExecutor())
    with_huge = submitted(host, "tmpfs", lun="share", options={"huge": "always"})
    assert "mounted as tmpfs now" in carry_out(with_huge, host).reason
    assert "submitted for tmpfs_huge" in with_huge.reason
    nfs = submitted(host, "nfs", lun="share", options={"vers": "4.2", "nconnect": "4"})
    assert nfs.series.configuration.label == "nfs4.2_nconnect4"
    assert "submitted for nfs4.2_nconnect4" in carry_out(nfs, host).reason
    assert host.executor.plans == []  # type: ignore[attr-defined]


def test_the_agent_touches_nothing_without_the_marker(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    point: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = make_host(LocalExecutor())
    run = submitted(host, "tmpfs", lun="share")
    folder, run_plan = own_folder(host), LocalExecutor.run
    leftover = folder / "fsbench.work"

    def swap(*arguments: object, **named: object) -> object:
        """Behind the last check of the worker."""
        (folder / mount_folder.MARKER).unlink()
        leftover.mkdir()
        return run_plan(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalExecutor, "run", swap)
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "is not the folder that fsbench made" in run.reason
    assert leftover.is_dir()


def test_a_run_whose_server_falls_silent_is_ended(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    point: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = make_host(FakeExecutor(fake.wait_to_be_stopped))
    run = submitted(host, "tmpfs", lun="share")

    def silent(*_: object, **__: object) -> str:
        raise mounts.ServerSilent("The server of the share does not answer: see.")

    monkeypatch.setattr(mount_watch, "EVERY_S", 0.01)
    monkeypatch.setattr(mounts, "folder_problem", silent)
    # The checks before it ask in another way here.
    monkeypatch.setattr(mounts, "problems", lambda *_: [])
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "does not answer" in run.reason
