"""What a daemon keeps of the benchmark image between test runs: the layers, never the image.

The worker makes the image by itself each time, and what a machine does that made it before, its
daemon does here: steps of the same files are found. Where a builder of another kind finds none,
it makes them.
"""

import shutil
from pathlib import Path

from tests.services.bare_root import BareRoot
from tests.services.image import RUNNER_PARTS, cache_folder, digest_of

IMAGE, KEPT, BASE = "fsbench-runner:local", "kept-layers", "fsbench-base:bookworm"


def _kept() -> Path:
    return cache_folder() / f"layers-{digest_of(*RUNNER_PARTS)}.tar"


def environment(root: BareRoot) -> dict[str, str]:
    """The base that other tests made is used; deploy/debian-base makes it where there is none."""
    base = cache_folder() / "base.tar"
    if not base.exists():
        return {}
    _place(base, root.folder / "root/base.tar")
    return {"FSBENCH_IMAGE_CACHE": "/root/base.tar"}


def _place(kept: Path, inside: Path) -> None:
    """Without a copy where that can be: in a bare root in a bare root the cache is a mount."""
    try:
        inside.hardlink_to(kept)
    except OSError:
        shutil.copyfile(kept, inside)


def load_layers(root: BareRoot) -> None:
    if _kept().exists():
        inside = root.folder / "root/layers.tar"
        _place(_kept(), inside)
        root.run(["docker", "load", "--input", "/root/layers.tar"])
        inside.unlink()


def keep_layers(root: BareRoot) -> None:
    """With the images between, each of which is one step: the daemon looks for those."""
    if _kept().exists():
        return
    root.run(["docker", "tag", IMAGE, KEPT])
    listed = root.run(["docker", "images", "--all", "--quiet", "--no-trunc"])
    root.run(
        ["docker", "save", "--output", "/root/layers.tar", KEPT, BASE, *set(listed.stdout.split())]
    )
    made = root.folder / "root/layers.tar"
    unfinished = _kept().with_suffix(".part")
    shutil.move(made, unfinished)
    unfinished.rename(_kept())
    for old in sorted(cache_folder().glob("layers-*.tar"), key=lambda path: path.stat().st_mtime)[
        :-2
    ]:
        old.unlink()
