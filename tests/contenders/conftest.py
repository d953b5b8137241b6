"""A worker with the kernels of several releases of Debian, and the image with bcachefs in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fsbench_web.catalog.workers.machines import EMULATED
from runner.guests.executor import GuestExecutor
from runner.worker import Host
from tests.contenders import debian, image
from tests.runner.conftest import (
    MIB,
    _quick,
    carry_out,
    make_host,
    sparse_lun,
    submitted,
    write_luns,
)
from tests.services.kernel import kernel_folder

__all__ = ["_quick", "carry_out", "make_host", "submitted"]
SUITES = ("trixie", "trixie-backports", "sid")
NAMES = ("scratch", "second", "third")
SIZE_MIB = 512
SIZE_BYTES = SIZE_MIB * MIB


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's kernels of 12, of 13, of 13 with backports, and of unstable, by links."""
    folder = tmp_path_factory.mktemp("kernels")
    packages = [sorted(kernel_folder().glob("linux-image-*.deb"))[0]]
    for suite in SUITES:
        work = tmp_path_factory.mktemp("apt")
        packages.append(debian.kernel_of(suite, debian.kept_kernels(), work))
    for path in packages:
        (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="session")
def contenders_image(
    docker_host: str, runner_image: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    return image.build(docker_host, runner_image, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def guest_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is unpacked and known of the kernels: the first test boots each, and no other does."""
    return tmp_path_factory.mktemp("known")


@pytest.fixture
def guests(
    docker_host: str,
    contenders_image: str,
    folder: Path,
    guest_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> GuestExecutor:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    executor = GuestExecutor(
        contenders_image, "test", folder=folder, cache=guest_cache, accelerator=EMULATED
    )
    executor.look()
    return executor


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    luns = [
        sparse_lun(tmp_path / f"{name}.img", name=name, size=f"{SIZE_MIB} MiB") for name in NAMES
    ]
    write_luns(path, *luns)
    return path


@pytest.fixture
def host(make_host: Callable[..., Host], guests: GuestExecutor) -> Host:
    return make_host(guests=guests)
