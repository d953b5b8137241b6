"""A bare root has what a fresh Debian has, reaches the registries, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.services import bare_keeper, registries
from tests.services.bare_root import BareRoot, bare_root
from tests.services.image import ROOT
from tests.services.process import ServiceFailed, program

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def root() -> Iterator[BareRoot]:
    with bare_root() as bare:
        yield bare


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nothing_of_the_host_is_there(root: BareRoot, tmp_path: Path) -> None:
    here = ("python3", "make", "git", "apt-get", "losetup", "mount", "unshare")
    for name in here:
        assert root.run(["sh", "-c", f"command -v {name}"]).stdout.startswith("/")
    for name in ("docker", "dockerd", "mkfs.xfs", "iozone", "fio", "gcc", "pip", "postgres", "ip"):
        assert root.run(["sh", "-c", f"command -v {name}"], check=False).stdout == ""
    mounts = root.run(["cat", "/proc/mounts"]).stdout
    assert {line.split()[1] for line in mounts.splitlines()} >= {"/", "/proc", "/dev/pts"}
    assert str(root.folder) not in mounts
    assert not root.run(["ls", str(ROOT)], check=False).stdout.startswith("Makefile")
    processes = root.run(["sh", "-c", "cat /proc/[0-9]*/cmdline"]).stdout
    assert "pytest" not in processes


def test_it_has_the_environment_of_a_plain_shell(
    root: BareRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSBENCH_SECRET_KEY", "of the host")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels/of/the/host")
    monkeypatch.setenv("no_proxy", "localhost")
    lines = root.run(["env"], env={"CI": "true"}).stdout.splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    assert variables["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert variables["HOME"] == "/root"
    assert variables["no_proxy"] == "localhost"
    assert variables["CI"] == "true"
    assert not {"FSBENCH_SECRET_KEY", "PIP_FIND_LINKS", "DJANGO_SETTINGS_MODULE"} & set(variables)


def test_debian_and_the_package_index_can_be_reached(root: BareRoot) -> None:
    root.run(["apt-get", "update"])
    assert "Candidate: 6." in root.run(["apt-cache", "policy", "linux-image-amd64"]).stdout
    # As it lies there: an environment of its own would take five seconds of a processor.
    (pip,) = (root.folder / "usr/share/python-wheels").glob("pip-*.whl")
    brought = f"/usr/share/python-wheels/{pip.name}/pip"
    root.run(["python3", brought, "download", "--no-deps", "--dest=/tmp/wheels", "asgiref"])
    assert list((root.folder / "tmp/wheels").glob("asgiref-*.whl"))


def test_it_has_a_disk_of_its_own(root: BareRoot) -> None:
    device = root.loop_device(64)
    # From outside: a bare Debian 13 has no e2fsprogs.
    subprocess.run([program("mkfs.ext4", "e2fsprogs"), "-q", device], check=True)
    root.run(["mount", device, "/mnt"])
    assert not list(Path("/mnt").glob("lost+found"))
    assert "lost+found" in root.run(["ls", "/mnt"]).stdout
    root.run(["umount", "/mnt"])


def test_the_checkout_in_it_is_a_clean_one(root: BareRoot, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "new file").write_text("not yet added")
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "make.log").touch()
    root.copy_checkout("/root/copy", tmp_path)
    assert root.run(["git", "status", "--porcelain"], cwd="/root/copy").stdout == ""
    listed = root.run(["git", "ls-files"], cwd="/root/copy").stdout
    assert listed.splitlines() == [".gitignore", "new file", "run"]
    assert os.access(root.folder / "root/copy/run", os.X_OK)


def test_a_failure_and_a_signal_are_told(root: BareRoot) -> None:
    with pytest.raises(ServiceFailed, match="ended with 3:\nso"):
        root.run(["sh", "-c", "echo so; exit 3"])
    with pytest.raises(subprocess.TimeoutExpired):
        root.run(["sleep", "1000"], timeout_s=0.5)
    process = root.popen(["sh", "-c", "sleep 1000; exit"], stdout=subprocess.PIPE)
    until(lambda: "sleep 1000" in _commands(root))
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM
    until(lambda: "sleep 1000" not in _commands(root))


def _commands(root: BareRoot) -> str:
    show = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null"
    return root.run(["sh", "-c", show]).stdout.replace(show, "")


OPENER = """
import json, subprocess, time
from tests.services.bare_root import bare_root
with bare_root() as root:
    sleeper = root.popen(["setsid", "sleep", "1000"])
    root.run(["truncate", "--size=20M", "/tmp/disk.img"])
    device = root.run(["losetup", "--find", "--show", "/tmp/disk.img"]).stdout.strip()
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    root.run(["mount", device, "/mnt"])
    print(json.dumps([root.pid, str(root.folder), device]), flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_stays_when_its_opener_is_ended(number: signal.Signals) -> None:
    opener = subprocess.Popen(
        [sys.executable, "-c", OPENER], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert opener.stdout is not None
    pid, folder, device = json.loads(opener.stdout.readline())
    inode = (Path(folder) / "tmp/disk.img").stat().st_ino
    assert inode in _backing_inodes(device)
    opener.send_signal(number)
    opener.wait(60)
    until(lambda: not Path(f"/proc/{pid}").exists())
    until(lambda: not Path(folder).parent.exists())
    until(lambda: inode not in _backing_inodes(device))


def _backing_inodes(device: str) -> list[int]:
    listed = subprocess.run(
        [program("losetup", "mount"), "--list", "--noheadings", "--output", "BACK-INO", device],
        capture_output=True,
        text=True,
    )
    return [int(line) for line in listed.stdout.split()]


def test_what_a_killed_daemon_left_in_the_kernel_goes_with_its_root(tmp_path: Path) -> None:
    """A bridge and a control group; those of other daemons stay."""
    ours, others = os.urandom(32).hex(), os.urandom(32).hex()
    data = tmp_path / "gone/root/tmp/fsbench-docker-x/data"
    (data / "network/files").mkdir(parents=True)
    (data / "network/files/local-kv.db").write_bytes(b"\0{" + ours.encode() + b"}\0")
    (data / "containers" / ours).mkdir(parents=True)
    hierarchy = next(path.parent for path in Path("/sys/fs/cgroup").rglob("cgroup.procs"))
    groups = {number: hierarchy / f"fsbench-{ours[:8]}" / number for number in (ours, others)}
    links = {number: f"br-{number[:12]}" for number in (ours, others)}
    try:
        for number in (ours, others):
            (groups[number] / "inner").mkdir(parents=True)
            subprocess.run(["ip", "link", "add", links[number], "type", "bridge"], check=True)
        bare_keeper.remove(tmp_path / "gone")
        assert not (tmp_path / "gone").exists()
        assert not groups[ours].exists()
        assert groups[others].exists()
        bridges = {path.name for path in Path("/sys/class/net").iterdir()}
        assert links[ours] not in bridges
        assert links[others] in bridges
    finally:
        for number in (ours, others):
            subprocess.run(["ip", "link", "delete", links[number]], capture_output=True)
            for path in (groups[number] / "inner", groups[number], groups[number].parent):
                if path.exists() and not list(path.glob("*/")):
                    path.rmdir()


def test_another_release_comes_from_the_same_mirrors(monkeypatch: pytest.MonkeyPatch) -> None:
    distribution, own = registries.release()
    assert (registries.bare_release(), registries.bare_sources()) == (
        (distribution, own),
        registries.sources(),
    )
    monkeypatch.setenv("FSBENCH_BARE_SUITE", "next")
    assert registries.bare_release() == (distribution, "next")
    suites = [source.suite for source in registries.sources()]
    assert own in suites
    assert [source.suite for source in registries.bare_sources()] == [
        suite.replace(own, "next") for suite in suites
    ]
