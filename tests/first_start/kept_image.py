"""What a daemon keeps of the benchmark image between test runs: the layers, never the image.

The worker makes the image by itself each time, and what a machine does that made it before, its
daemon does here: steps of the same files are found. Where a builder of another kind finds none,
it makes them.
"""

import shutil
from pathlib import Path

from tests.services.bare_root import BareRoot
from tests.services.dockerd import store_of
from tests.services.image import RUNNER_PARTS, cache_folder, digest_of

IMAGE, KEPT = "fsbench-runner:local", "kept-layers"


def _stored_layers() -> Path:
    return cache_folder() / f"layers-{digest_of(*RUNNER_PARTS)}"


def environment(root: BareRoot) -> dict[str, str]:
    """The base that other tests made is used; deploy/debian-base makes it where there is none."""
    base = cache_folder() / "base.tar"
    if not base.exists():
        return {}
    inside = root.folder / "root/base.tar"
    try:
        inside.hardlink_to(base)
    except OSError:  # in a bare root in a bare root the cache is a mount
        shutil.copyfile(base, inside)
    return {"FSBENCH_IMAGE_CACHE": "/root/base.tar"}


def layers() -> Path | None:
    """What a daemon begins with; None where no walk has made it."""
    return _stored_layers() if _stored_layers().exists() else None


def forget_image(root: BareRoot) -> None:
    """Of what the daemon has the image goes, its layers stay, with the images between, each of
    which is one step: the daemon looks for those.
    """
    root.run(["docker", "tag", IMAGE, KEPT])
    root.run(["docker", "rmi", IMAGE])


def keep_layers(data: Path) -> None:
    """For the next time, of a daemon that has ended and forgot its image."""
    if _stored_layers().exists():
        return
    store_of(data, _stored_layers())
    for old in sorted(cache_folder().glob("layers-*"), key=lambda path: path.stat().st_mtime)[:-2]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
