"""A kernel package for the tests of guests, as apt gets it: ``tests/services/install.sh`` does."""

import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.guests import kernels
from runner.guests.kernels import Kernel, Package
from tests.services.image import cache_folder, digest_of
from tests.services.process import ServiceFailed


def kernel_folder() -> Path:
    """The folder with the package. Raises ServiceFailed."""
    folder = cache_folder() / "kernels"
    if not list(folder.glob("linux-image-*.deb")):
        raise ServiceFailed(
            f"there is no linux-image-*.deb in {folder}: run tests/services/install.sh"
        )
    return folder


def kernel_package() -> Path:
    """One package, whatever else was downloaded. Raises ServiceFailed."""
    return sorted(kernel_folder().glob("linux-image-*.deb"))[0]


def unpacked(package: Package, cache: Path) -> Kernel:
    """As ``kernels.unpacked_kernel`` leaves ``kernel_package`` in ``cache``, which costs 7
    seconds of a processor: it is done once, and copied, until the package or what unpacks it is
    another.

    ``package`` is that file, or a link to it or a copy of it.
    """
    folder = _kept_kernel(package.path.resolve())
    shutil.copytree(folder, cache / package.digest)
    return kernels.unpacked_kernel(package, cache)


def _kept_kernel(path: Path) -> Path:
    status = path.stat()
    made_by = digest_of("runner/guests")
    folder = cache_folder() / f"unpacked-{made_by}-{path.stem}-{status.st_size}"
    if not folder.exists():
        with TemporaryDirectory(dir=cache_folder(), prefix="unpacking-") as work:
            kernel = kernels.unpacked_kernel(Package(path.stem, path, "kernel"), Path(work))
            with suppress(OSError):  # another process was quicker
                kernel.folder.rename(folder)
        others = cache_folder().glob("unpacked-*")
        for old in sorted(others, key=lambda other: other.stat().st_mtime)[:-2]:
            shutil.rmtree(old, ignore_errors=True)
    return folder
