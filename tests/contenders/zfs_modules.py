"""The kernel of the tests of guests with the modules of OpenZFS, built once and kept."""

import hashlib
import shutil
from pathlib import Path

from runner.guests import kernel_packages, zfs_modules
from tests.services.image import cache_folder
from tests.services.kernel import kernel_folder


def kernel_with_zfs(folder: Path, image: str) -> Path:
    """A worker's folder with one kernel that has them. Docker must be that of DOCKER_HOST."""
    package = sorted(kernel_folder().glob("linux-image-*.deb"))[0]
    recipe = hashlib.sha256(zfs_modules.SCRIPT.encode()).hexdigest()[:8]
    archive = cache_folder() / "modules" / f"zfs-{package.stem}-{recipe}.tar"
    copy = Path(shutil.copy(package, folder))
    if archive.exists():
        kernel_packages.add_modules(copy, zfs_modules.ARCHIVE, archive)
        return folder
    place = zfs_modules.build(image, copy)
    archive.parent.mkdir(exist_ok=True)
    unfinished = archive.with_suffix(".part")
    shutil.copy(place / zfs_modules.ARCHIVE, unfinished)
    unfinished.rename(archive)
    return folder
