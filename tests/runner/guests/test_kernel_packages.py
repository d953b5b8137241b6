"""Kernels that apt fetches: whole or not at all, and nothing of the host's own apt is touched."""

import fcntl
import hashlib
import io
import json
import os
import shutil
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from runner.guests import apt as kernel_apt
from runner.guests import kernel_packages, kernels
from runner.guests.apt import FetchError
from runner.guests.executor import GuestExecutor
from runner.guests.kernel_packages import KernelFetch, fetch
from tests.runner.guests.fake_apt import NAME, FakeApt
from tests.services.image import cache_folder

FILE = f"{NAME}_1-6.1.9-1_amd64.deb"
EVIL = ["linux-image-1;id", "linux-image-../../etc", "-o=x", "linux-image-1 2", "linux-image-$(id)"]


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    fake = FakeApt(tmp_path / "apt")
    monkeypatch.setenv("PATH", f"{fake.folder}{os.pathsep}{os.environ['PATH']}")
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kernels"


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".fetch.lock"}


def test_the_distributions_kernel_comes_by_lists_of_its_own(apt: FakeApt, folder: Path) -> None:
    apt.answers(sources=[["Debian", "http://mirror/debian/"], ["Other", "http://other/"]])
    progress: list[tuple[str, float | None]] = []
    path = fetch(folder, on_progress=lambda phase, share: progress.append((phase, share)))
    assert path == folder / FILE
    assert path.read_bytes() == (apt.folder / "package.deb").read_bytes()
    assert [package.name for package in kernels.packages_in(folder)] == [FILE.removesuffix(".deb")]
    assert left_in(folder) == {FILE}
    assert progress[0] == ("Reading the lists of packages", None)
    for program, *argv in apt.calls[1:]:
        assert program in ("apt-get", "apt-cache")
        for option in ("Dir::Etc::sourceparts=-", "APT::Get::AllowUnauthenticated=false"):
            assert option in argv
        lists = next(argument for argument in argv if argument.startswith("Dir::State::lists="))
        assert lists.startswith(f"Dir::State::lists={folder}/.fetch-")
    # Again nothing is downloaded.
    assert fetch(folder, NAME) == path
    assert sum("download" in call for call in apt.calls) == 1


SPLIT = (
    "dracut | initramfs-tools (>= 0.120), linux-base (>= 4.3), "
    "linux-base-6.1.0-99-amd64 (= 6.1.9-1), linux-binary-6.1.0-99-amd64 (= 6.1.9-1), "
    "linux-modules-6.1.0-99-amd64 (= 6.1.9-1)"
)


def test_a_kernel_that_is_split_comes_as_a_folder_of_its_packages(
    apt: FakeApt, folder: Path
) -> None:
    apt.answers(depends=SPLIT, size=1900)
    path = fetch(folder)
    assert path == folder / FILE.removesuffix(".deb")
    assert [file.name.partition("_")[0] for file in sorted(path.iterdir())] == [
        *(f"linux-{part}-6.1.0-99-amd64" for part in ("base", "binary", "image", "modules")),
    ]
    assert [package.name for package in kernels.packages_in(folder)] == [path.name]
    assert left_in(folder) == {path.name}
    assert fetch(folder, NAME) == path
    assert sum("download" in call for call in apt.calls) == 1


def test_backports_are_debians_own(apt: FakeApt, folder: Path) -> None:
    apt.answers(sources=[["Debian Backports", "http://mirror/debian/"]])
    assert fetch(folder, NAME) == folder / FILE


def test_a_part_that_did_not_come_leaves_nothing(apt: FakeApt, folder: Path) -> None:
    apt.answers(depends=SPLIT, lacks=["linux-modules-6.1.0-99-amd64"])
    with pytest.raises(FetchError, match="apt gave no file"):
        fetch(folder)
    assert left_in(folder) == set()


@pytest.mark.parametrize("name", EVIL)
def test_what_is_no_kernels_name_reaches_no_program(apt: FakeApt, folder: Path, name: str) -> None:
    with pytest.raises(FetchError, match="is not a package of a kernel"):
        fetch(folder, name)
    assert apt.calls == []
    assert not folder.exists()


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"sources": []}, "no mirror of Debian or Ubuntu"),
        ({"sources": [["Other", "http://other/"]]}, "no mirror of Debian or Ubuntu"),
        ({"fails": {"update": "The mirror is away."}}, "apt cannot get it: The mirror is away."),
        ({"fails": {"show": "No packages found"}}, "No packages found"),
        ({"fails": {"download": "Hash Sum mismatch"}}, "Hash Sum mismatch"),
        ({"file": "other.txt"}, "apt gave no file"),
        ({"size": 10**18}, "make room there"),
    ],
    ids=["no source", "another's", "no mirror", "no package", "another sum", "no file", "no room"],
)
def test_what_fails_says_why_and_leaves_nothing(
    apt: FakeApt, folder: Path, answers: dict[str, Any], says: str
) -> None:
    apt.answers(**answers)
    with pytest.raises(FetchError, match=says):
        fetch(folder)
    assert left_in(folder) == set()


def test_a_package_that_cannot_be_read_is_not_kept(apt: FakeApt, folder: Path) -> None:
    (apt.folder / "package.deb").write_bytes(b"a page of a captive portal")
    apt.answers()
    with pytest.raises(FetchError, match="is no Debian package"):
        fetch(folder)
    assert left_in(folder) == set()


def test_one_at_a_time_and_what_a_killed_one_left_is_removed(apt: FakeApt, folder: Path) -> None:
    (folder / ".fetch-killed/lists").mkdir(parents=True)
    with (folder / ".fetch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(FetchError, match="being fetched here already"):
            fetch(folder)
    assert left_in(folder) == {".fetch-killed"}
    fetch(folder)
    assert left_in(folder) == {FILE}


def test_apt_ends_with_the_worker(apt: FakeApt, folder: Path) -> None:
    apt.answers(hangs=["download"])

    def keeps_on() -> bool:
        return not any("download" in call for call in apt.calls)

    with pytest.raises(FetchError, match="The worker ended meanwhile"):
        fetch(folder, keeps_on=keeps_on)
    assert left_in(folder) == set()


def test_without_apt_it_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FetchError, match="This host has no apt: put"):
        fetch(folder)


# What a worker does when it is asked


def test_a_worker_fetches_when_nothing_is_measured_and_says_how_far_it_is(
    apt: FakeApt, folder: Path
) -> None:
    pending_fetch = KernelFetch(folder)
    pending_fetch.ask(NAME)
    pending_fetch.look(lambda: False, lambda: True)
    assert pending_fetch.announcement()["fetching"] == {"package": NAME, "state": "waiting"}
    assert apt.calls == []
    apt.answers(hangs=["download"])
    goes_on = threading.Event()
    goes_on.set()
    thread = threading.Thread(target=pending_fetch.look, args=(lambda: True, goes_on.is_set))
    thread.start()
    while pending_fetch.announcement()["fetching"].get("phase") != f"Downloading {NAME}":
        assert thread.is_alive()
    # Asked for again meanwhile, it stays this one.
    pending_fetch.ask("")
    fetching = pending_fetch.announcement()["fetching"]
    assert (fetching["package"], fetching["state"], fetching["share"]) == (NAME, "running", 0.0)
    goes_on.clear()
    thread.join(60)
    fetching = pending_fetch.announcement()["fetching"]
    assert (fetching["state"], fetching["problem"]) == (
        "failed",
        "The worker ended meanwhile: ask again.",
    )
    apt.answers()
    pending_fetch.ask("")
    pending_fetch.look(lambda: True, lambda: True)
    assert pending_fetch.announcement()["fetching"] == {"package": FILE, "state": "done"}


def test_a_worker_that_may_not_refuses_whoever_asks(apt: FakeApt, folder: Path) -> None:
    pending_fetch = KernelFetch(folder, "FSBENCH_INSTALL=no.")
    pending_fetch.ask("")
    pending_fetch.look(lambda: True, lambda: True)
    announced = pending_fetch.announcement()
    assert announced["why_not_fetch"] == "FSBENCH_INSTALL=no."
    assert (announced["fetching"]["state"], announced["fetching"]["problem"]) == (
        "failed",
        "FSBENCH_INSTALL=no.",
    )
    assert (apt.calls, folder.exists()) == ([], False)


def test_an_error_that_nobody_foresaw_is_told_and_not_raised(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Path:
        raise RuntimeError("odd")

    monkeypatch.setattr(kernel_packages, "fetch", broken)
    pending_fetch = KernelFetch(folder)
    pending_fetch.ask("")
    pending_fetch.look(lambda: True, lambda: True)
    assert pending_fetch.announcement()["fetching"]["problem"].startswith("odd. The worker's log")


def test_a_worker_without_kernels_says_so_and_what_to_do(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    guests = GuestExecutor("image", "test", folder=folder, cache=tmp_path / "cache")
    guests.look()
    announced = guests.announcement()
    assert (
        f"This worker has no kernel for guests ({folder}): an administrator" in announced["reason"]
    )
    assert "manage.py guest_kernel" in announced["reason"]
    assert "No Docker daemon answers" in announced["reason"]
    assert (announced["usable"], announced["kernels"], announced["why_not_fetch"]) == (
        False,
        [],
        "",
    )


# The command


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("guest_kernel", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_fetches_lists_and_refuses_in_words(
    apt: FakeApt, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    folder = tmp_path / "data/kernels"
    assert f"In {folder} there is no kernel." in run("--list")
    output = run()
    assert f"{folder / FILE} is there now." in output
    assert "The worker of this host finds it within seconds" in output
    assert "is there already" in run(NAME)
    apt.answers(size=64 * 2**20)
    listed = run("--list")
    assert f"  {FILE.removesuffix('.deb')}\n" in listed
    assert f"  {NAME} (1:6.1.9-1, 64 MiB)\n" in listed
    assert "-dbg" not in listed
    # Small by itself, and as large as its parts: a kernel, and no package that only depends on one.
    apt.answers(size=1900, depends=SPLIT)
    assert f"  {NAME} (1:6.1.9-1, 3 MiB)\n" not in run("--list")
    apt.answers(size=6 * 2**20, depends=SPLIT)
    assert f"  {NAME} (1:6.1.9-1, 9 MiB)\n" in run("--list")
    with pytest.raises(CommandError, match="is not a package of a kernel"):
        run("linux-image-1;id")


# apt itself

Fetched = namedtuple("Fetched", "name size_bytes left host_changed there")


def _state_of_apt() -> set[str]:
    """Of the host's lists, caches and packages: names, sizes and times."""
    state = set()
    for root in ("/var/lib/apt/lists", "/var/cache/apt", "/var/lib/dpkg", "/etc/apt"):
        for path in sorted(Path(root).rglob("*")):
            # Other tests' installations hold locks; what they lock is looked at.
            if path.is_file() and not path.name.startswith("lock"):
                status = path.stat()
                state.add(f"{path} {status.st_size} {status.st_mtime_ns}")
    return state


@pytest.fixture
def fetched(tmp_path: Path) -> Fetched:
    """What a real fetch gave: done once, and again only where the code that does it has changed."""
    code = b"".join(
        Path(str(module.__file__)).read_bytes() for module in (kernel_apt, kernel_packages, kernels)
    )
    cached = cache_folder() / f"fetched-kernel-{hashlib.sha256(code).hexdigest()[:16]}.json"
    if not cached.is_file():
        folder = tmp_path / "kernels"
        before = _state_of_apt()
        path = fetch(folder)
        [package] = kernels.packages_in(folder)
        kernel = kernels.unpacked_kernel(package, tmp_path / "cache")
        result = Fetched(
            path.name,
            # A kernel that is split is a folder.
            sum(file.stat().st_size for file in (path, *path.glob("*.deb"))),
            sorted(left_in(folder)),
            sorted(_state_of_apt() ^ before),
            [name for name in ("jfs", "reiserfs", "virtio_blk") if kernel.has(name)],
        )
        shutil.rmtree(folder)
        if result.host_changed:
            return result  # nothing to keep: it is looked at anew
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.with_suffix(".part").write_text(json.dumps(result._asdict()))
        cached.with_suffix(".part").replace(cached)
    return Fetched(**json.loads(cached.read_text()))


@pytest.mark.root
def test_the_real_apt_fetches_a_kernel_that_has_what_hosts_dropped(fetched: Fetched) -> None:
    assert kernels.NAME.fullmatch(fetched.name.removesuffix(".deb"))
    assert fetched.size_bytes > 10 * 2**20
    assert fetched.left == [fetched.name]
    assert fetched.host_changed == []
    assert fetched.there == ["jfs", "reiserfs", "virtio_blk"]
