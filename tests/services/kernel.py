"""A kernel package for the tests of guests, as apt gets it: ``tests/services/install.sh`` does."""

from pathlib import Path

from tests.services.image import cache_folder
from tests.services.process import ServiceFailed


def kernel_folder() -> Path:
    """The folder with the package. Raises ServiceFailed."""
    folder = cache_folder() / "kernels"
    if not list(folder.glob("linux-image-*.deb")):
        raise ServiceFailed(
            f"there is no linux-image-*.deb in {folder}: run tests/services/install.sh"
        )
    return folder
