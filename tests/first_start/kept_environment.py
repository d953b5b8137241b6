"""The virtual environment that one walk made from nothing, for the next one to begin with."""

import shutil
from pathlib import Path

from tests.services.bare_root import BareRoot, kept_root
from tests.services.image import cache_folder, digest_of


def _archive() -> Path:
    """Of these requirements, in a root of the same packages."""
    made_of = digest_of("requirements.txt", "deploy/environment.sh")
    return cache_folder() / f"environment-{made_of}-{kept_root().stem}.tar"


def load_environment(root: BareRoot, checkout: str) -> None:
    """Where none is kept, nothing: `make run` makes it."""
    if _archive().exists():
        with _archive().open() as tar:
            root.run(["tar", "-C", checkout, "-xf", "-"], stdin=tar)


def keep_environment(root: BareRoot, checkout: str) -> None:
    if _archive().exists():
        return
    root.run(["tar", "-C", checkout, "-cf", "/root/environment.tar", ".venv"])
    unfinished = _archive().with_suffix(".part")
    shutil.move(root.folder / "root/environment.tar", unfinished)
    unfinished.rename(_archive())
    archives = sorted(
        cache_folder().glob("environment-*.tar"), key=lambda path: path.stat().st_mtime
    )
    for old in archives[:-2]:
        old.unlink()
