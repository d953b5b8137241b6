"""ZFS for a kernel of guests: what is asked of Docker and apt, and what is kept. No real build."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import DockerException, ImageNotFound

from runner.guests import kernels, zfs_modules
from runner.guests.apt import FetchError
from tests.runner.guests.fake_apt import FakeApt
from tests.runner.guests.test_kernels import VERSION, ZFS, deb, files, tar_of

NAME = f"linux-image-{VERSION}_6.1.9-1_amd64"
BUILT = {f"lib/modules/{VERSION}/updates/dkms/{name}.ko": content for name, content in ZFS.items()}


class FakeDocker:
    """A daemon that builds ``built``, or says ``log`` and ends with 100."""

    def __init__(self, built: bytes | None, suite: str = "bookworm") -> None:
        self.built, self.log = built, b"E: Unable to locate package linux-headers\n"
        self.labels = {"fsbench.suite": suite}
        self.asked: dict[str, Any] = {}
        self.status, self.is_removed = "running", False
        self.images = SimpleNamespace(get=lambda name: self)
        self.containers = SimpleNamespace(create=self.create)

    def create(self, image: str, **arguments: Any) -> "FakeDocker":
        self.asked = {"image": image, **arguments}
        return self

    @property
    def attrs(self) -> dict[str, Any]:
        return {"State": {"ExitCode": 0 if self.built is not None else 100}}

    def start(self) -> None:
        self.status = "exited"

    def reload(self) -> None: ...

    def logs(self, tail: int) -> bytes:
        return self.log

    def get_archive(self, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        assert path == f"/{zfs_modules.ARCHIVE}"
        return iter([tar_of({zfs_modules.ARCHIVE: self.built or b""}, "w")]), {}

    def remove(self, **how: Any) -> None:
        self.is_removed = True


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    fake = FakeApt(tmp_path / "apt")
    fake.answers(sources=[["Debian", "http://mirror/debian/"], ["Other", "http://other/"]])
    monkeypatch.setenv("PATH", f"{fake.folder}{os.pathsep}{os.environ['PATH']}")
    return fake


@pytest.fixture
def package(tmp_path: Path, apt: FakeApt) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    return deb(folder / f"{NAME}.deb", files())


def daemon(monkeypatch: pytest.MonkeyPatch, fake: FakeDocker) -> FakeDocker:
    monkeypatch.setattr(zfs_modules.docker, "from_env", lambda: fake)
    return fake


def test_the_modules_stand_beside_the_package_under_its_name(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = daemon(monkeypatch, FakeDocker(tar_of(BUILT, "w")))
    before = package.read_bytes()
    place = zfs_modules.build("image:tag", package)
    assert place == package.parent / NAME
    assert (place / package.name).read_bytes() == before
    assert [kernel_package.name for kernel_package in kernels.packages_in(package.parent)] == [NAME]
    assert not package.exists()
    # The kernel's release and the sources are arguments, no text of the script.
    assert fake.asked["command"] == [VERSION, "deb http://mirror/debian/ bookworm main contrib"]
    assert VERSION not in fake.asked["entrypoint"][2]
    assert fake.is_removed
    # Again nothing is built.
    fake.built = None
    assert zfs_modules.build("image:tag", place) == place


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (None, "cannot be built for 6.1.0-99-amd64.*Unable to locate package linux-headers"),
        (b"no tar", "cannot be read"),
        (tar_of({}, "w"), "made no zfs.ko"),
        (tar_of({"lib/modules/5.10/updates/zfs.ko": b"x"}, "w"), "made no zfs.ko"),
        (tar_of(BUILT | {"../etc/passwd": b"x"}, "w"), "made no zfs.ko"),
    ],
)
def test_what_is_no_zfs_for_it_leaves_the_package_as_it_was(
    package: Path, monkeypatch: pytest.MonkeyPatch, built: bytes | None, words: str
) -> None:
    fake = daemon(monkeypatch, FakeDocker(built))
    with pytest.raises(FetchError, match=words):
        zfs_modules.build("image:tag", package)
    assert [kernel_package.name for kernel_package in kernels.packages_in(package.parent)] == [NAME]
    assert package.is_file()
    assert fake.is_removed


def test_a_mirror_of_another_release_than_the_images_is_not_used(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zfs_modules, "distribution", lambda: "debian")
    fake = daemon(monkeypatch, FakeDocker(b"", suite="trixie"))
    with pytest.raises(FetchError, match=r"is of Debian trixie, .*FSBENCH_IMAGE_SUITE"):
        zfs_modules.build("image:tag", package)
    assert fake.asked == {}


@pytest.mark.parametrize("error", [ImageNotFound("none"), DockerException("no daemon")])
def test_without_docker_or_image_it_says_what_to_do(
    package: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fake = daemon(monkeypatch, FakeDocker(b""))

    def fail(name: str) -> None:
        raise error

    fake.images.get = fail
    with pytest.raises(FetchError, match="make image"):
        zfs_modules.build("image:tag", package)


@pytest.mark.parametrize("name", ["linux-image-amd64", "linux-image-6.1;id_1", "zfs.tar", "-x"])
def test_what_is_not_called_like_a_kernel_is_not_built_for(name: str) -> None:
    with pytest.raises(FetchError, match="not called like"):
        zfs_modules.release_of(Path(name))


def test_the_archive_is_read_and_never_unpacked_here(tmp_path: Path) -> None:
    link = tmp_path / "link.tar"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(f"lib/modules/{VERSION}/updates/zfs.ko")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/shadow"
        archive.addfile(entry)
    link.write_bytes(buffer.getvalue())
    with pytest.raises(FetchError, match=r"made no zfs\.ko"):
        zfs_modules.check(link, VERSION)
