"""LUNs of the kind mount: what the host has mounted, with a folder of fsbench's own on it."""

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.safety import checks, lun_identity, mount_folder, mounts
from runner.safety.luns import LunEntry, LunFileError, read_luns
from tests.runner.conftest import write_luns

pytestmark = pytest.mark.root

_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def point(tmp_path: Path) -> Iterator[Path]:
    """A mount that stands on no block device."""
    point = tmp_path / "share"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", point], check=True)
    yield point
    while mounts.mounted_at(point):
        subprocess.run(["umount", "--lazy", point], check=True)


class Share:
    """The mount as a LUN of this host."""

    def __init__(self, folder: Path, point: Path) -> None:
        self.notes, self.file = folder / "notes", folder / "luns.toml"
        write_luns(self.file, {"name": "share", "kind": "mount", "path": str(point)})

    @property
    def entry(self) -> LunEntry:
        return read_luns(self.file)[0]

    @property
    def mark(self) -> str:
        return mounts.own_mark(self.entry, self.notes)

    @property
    def own_folder(self) -> Path:
        return Path(mounts.path_of(self.entry))

    def make(self) -> Path:
        return Path(mounts.make_folder(self.entry, self.notes))

    def problem(self, confirmed: dict[str, object] | None = None) -> str:
        results = checks.verify(self.entry, self.file, str(self.own_folder), confirmed, self.mark)
        return checks.problem(results)


@pytest.fixture
def share(tmp_path: Path, point: Path) -> Share:
    return Share(tmp_path, point)


def test_a_folder_is_made_once_and_marked(share: Share, point: Path) -> None:
    (point / "somebody's").write_text("file")
    own = share.make()
    assert own.parent == point
    assert own.name == f"fsbench-{os.uname().nodename}-share"
    assert own.stat().st_mode & 0o777 == 0o700
    mark = share.mark
    assert len(mark) == 32
    assert share.make() == own
    assert share.mark == mark
    assert share.problem() == ""
    assert sorted(path.name for path in point.iterdir()) == [own.name, "somebody's"]


def test_it_is_known_as_what_is_mounted(share: Share, point: Path) -> None:
    share.make()
    identity = dict(map(tuple, mounts.identity(share.entry)))
    assert identity["File system"] == "tmpfs"
    assert "size=65536k" in identity["Mount options"]
    fingerprint = mounts.fingerprint(share.entry, share.mark)
    assert fingerprint == {
        "kind": "mount",
        "filesystem": "tmpfs",
        "export": "tmpfs",
        "mark": share.mark,
    }


def a_link(own: Path) -> None:
    elsewhere = own.parent / "elsewhere"
    elsewhere.mkdir()
    own.rename(elsewhere / own.name)
    own.symlink_to(elsewhere / own.name)


def a_strange_marker(own: Path) -> None:
    (own / mount_folder.MARKER).write_text('{"id": "of another host"}')


def a_linked_marker(own: Path) -> None:
    marker = own / mount_folder.MARKER
    marker.rename(own / "kept")
    marker.symlink_to("kept")


def an_open_folder(own: Path) -> None:
    own.chmod(0o777)


def another_owner(own: Path) -> None:
    os.chown(own, 65534, 65534)


def not_on_the_mount(own: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", own], check=True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (a_link, "symbolic link"),
        (a_strange_marker, "not a folder that fsbench made"),
        (a_linked_marker, "not a folder that fsbench made"),
        (an_open_folder, "can be written by others"),
        (another_owner, "not a folder that fsbench made"),
        (not_on_the_mount, "another file system"),
    ],
)
def test_what_is_not_its_own_is_refused(
    share: Share, change: Callable[[Path], None], why: str
) -> None:
    own = share.make()
    try:
        change(own)
        assert why in share.problem()
        with pytest.raises(mounts.MountError, match=why):
            share.make()
    finally:
        if change is not_on_the_mount:
            subprocess.run(["umount", own], check=True)


def test_a_folder_that_was_there_is_somebody_elses(share: Share) -> None:
    share.own_folder.mkdir(mode=0o700)
    with pytest.raises(mounts.MountError, match="not a folder that fsbench made"):
        share.make()
    assert list(share.own_folder.iterdir()) == []


def test_workers_of_one_data_folder_have_notes_of_their_own(tmp_path: Path, point: Path) -> None:
    """Both call their mount alike, each with a folder of its own: none loses what it noted."""
    notes, entries = tmp_path / "mounts", {}
    for worker in ("node1", "node2"):
        file = tmp_path / f"{worker}.toml"
        named = {"name": "share", "kind": "mount", "path": str(point), "folder": worker}
        write_luns(file, named)
        entries[worker] = read_luns(file)[0]
        mounts.make_folder(entries[worker], notes / worker)
    marks = {worker: mounts.own_mark(entry, notes / worker) for worker, entry in entries.items()}
    assert len(set(marks.values())) == 2
    for worker, entry in entries.items():
        assert mounts.make_folder(entry, notes / worker) == str(point / worker)


def test_a_note_of_before_is_read_where_it_is_of_this_folder(share: Share, tmp_path: Path) -> None:
    share.make()
    own = tmp_path / "notes" / "node1"
    assert mounts.own_mark(share.entry, own) == share.mark
    assert mounts.make_folder(share.entry, own) == str(share.own_folder)
    other = tmp_path / "other.toml"
    named = {"name": "share", "kind": "mount", "path": str(share.own_folder.parent), "folder": "b"}
    write_luns(other, named)
    assert mounts.own_mark(read_luns(other)[0], own) == ""


def test_a_mount_that_is_gone_is_refused_and_nothing_is_made_below_it(
    share: Share, point: Path
) -> None:
    share.make()
    subprocess.run(["umount", point], check=True)
    assert "Nothing is mounted at" in share.problem()
    with pytest.raises(mounts.MountError, match="Nothing is mounted"):
        share.make()
    assert list(point.iterdir()) == []


def test_another_server_under_the_same_name_is_refused(share: Share, point: Path) -> None:
    share.make()
    confirmed = mounts.fingerprint(share.entry, share.mark)
    assert share.problem(confirmed) == ""
    subprocess.run(["umount", point], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "other", point], check=True)
    share.make()
    problem = share.problem(confirmed)
    assert "share is another mount now than the one that was confirmed" in problem
    assert "export tmpfs" in problem
    assert "export other" in problem


def test_of_network_file_systems_server_and_address_count() -> None:
    fingerprint = {
        "kind": "mount",
        "server": "nas",
        "export": "/v",
        "address": "10.0.0.1",
        "mark": "a",
    }
    assert lun_identity.is_same(fingerprint, dict(fingerprint))
    for key in ("server", "export", "address", "mark"):
        assert not lun_identity.is_same(fingerprint, fingerprint | {key: "other"}), key


def test_what_is_mounted_read_only_or_made_of_a_disk_is_refused(share: Share, point: Path) -> None:
    share.make()
    subprocess.run(["mount", "-o", "remount,ro", point], check=True)
    assert "read-only" in share.problem()
    write_luns(share.file, {"name": "share", "kind": "mount", "path": "/proc"})
    assert "folder of the operating system" in share.problem()
    subprocess.run(["mount", "--bind", "/etc", point], check=True)
    write_luns(share.file, {"name": "share", "kind": "mount", "path": str(point)})
    assert "fsbench measures mounts of" in share.problem()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"folder": "../etc"}, "folder is one below"),
        ({"folder": "/etc"}, "folder is one below"),
        ({"folder": "a//b"}, "folder is one below"),
        ({"size": "1 GiB"}, "a mount has no size"),
        ({"role": "journal"}, "a mount has no size"),
        ({"kind": "directory", "folder": "a"}, "only a mount has a folder"),
    ],
)
def test_the_list_says_only_what_a_mount_has(
    tmp_path: Path, changes: dict[str, str], why: str
) -> None:
    file = tmp_path / "luns.toml"
    write_luns(file, {"name": "share", "kind": "mount", "path": "/mnt/x"} | changes)
    with pytest.raises(LunFileError, match=why):
        read_luns(file)


def test_a_folder_below_others_is_made_in_one_that_is_there(share: Share, point: Path) -> None:
    lun = {"name": "share", "kind": "mount", "path": str(point), "folder": "team/fsbench"}
    write_luns(share.file, lun)
    with pytest.raises(mounts.MountError, match="team is missing"):
        share.make()
    (point / "team").mkdir()
    assert share.make() == point / "team/fsbench"
    assert share.problem() == ""


@pytest.fixture
def dead_share(tmp_path: Path) -> Iterator[Share]:
    """A mount whose server is there and says nothing: the other end of FUSE is never read."""
    point = tmp_path / "dead"
    point.mkdir()
    server = os.open("/dev/fuse", os.O_RDWR)
    words = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    source, kind = b"user@nas:/export", b"fuse.sshfs"
    if _libc.mount(source, os.fsencode(point), kind, 0, words) != 0:
        os.close(server)
        pytest.skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
    yield Share(tmp_path, point)
    os.close(server)  # what waits for it gets an error
    subprocess.run(["umount", "--lazy", point], check=True)


def test_a_server_that_is_silent_is_said_to_be_and_hangs_nobody(
    dead_share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "ANSWER_S", 1.0)
    assert dict(map(tuple, mounts.identity(dead_share.entry)))["Server"] == "user@nas"
    with pytest.raises(mounts.ServerSilent, match="does not answer"):
        dead_share.make()
    # It is not asked a second time at once.
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", None)
        assert "does not answer" in dead_share.problem()
        assert mounts.free_bytes(dead_share.entry, "") is None
