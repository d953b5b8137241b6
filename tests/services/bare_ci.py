"""The README's test command in a bare root: ``python3 -m tests.services.bare_ci [COMMAND...]``.

What `.ci/run` calls. The command, `make test` if none is named, sees a copy of this checkout on a
Debian where nothing is that the project did not install by itself, so that a package that nobody
declared fails its tests. Its output and its exit status are those of this program. Packages, wheels
and images that it got are kept for the next time in the folder of what takes long to get.
Standard library only.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import registries
from tests.services.bare_root import BareRoot, bare_root
from tests.services.image import ROOT, cache_folder
from tests.services.process import ServiceFailed

CHECKOUT = "/root/fsbench"


def main(command: list[str]) -> int:
    """Exit status of the command; 1 and a sentence where there can be no bare root."""
    command = command or ["make", "test"]
    if os.geteuid() != 0:
        print("Not root: the tests run on this host itself, not in a bare root.", flush=True)
        os.chdir(ROOT)
        os.execvp(command[0], command)
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the root is left in order
        signal.signal(number, signal.default_int_handler)
    try:
        return in_bare_root(command)
    except ServiceFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def in_bare_root(command: list[str]) -> int:
    """Run the command there. Raises ServiceFailed."""
    cache = cache_folder()
    shared = {
        cache: "/var/cache/fsbench-test",
        cache / "pip": "/root/.cache/pip",
        cache / "mypy": f"{CHECKOUT}/.mypy_cache",
    }
    for folder in shared:
        folder.mkdir(exist_ok=True)
    with bare_root(shared) as root, kept_packages(root, cache):
        root.copy_checkout(CHECKOUT)
        env = {"CI": os.environ.get("CI", "true")}
        return root.popen(command, cwd=CHECKOUT, env=env, stdin=None).wait()


@contextmanager
def kept_packages(root: BareRoot, cache: Path) -> Iterator[None]:
    """What apt downloaded the last time is there; what it has now is there the next time.

    Linked and not mounted, because apt locks that folder: two roots would wait for each other.
    """
    archives = root.folder / "var/cache/apt/archives"
    (_, own), (_, suite) = registries.release(), registries.bare_release()
    downloads = cache / ("apt" if suite == own else f"apt-{suite}")
    downloads.mkdir(exist_ok=True)
    _link(downloads, archives)
    yield
    if not list((root.folder / "var/lib/apt/lists").glob("*_Packages*")):
        return  # nothing was installed, so nothing is known of what the mirror has
    root.run(["apt-get", "autoclean"])
    _link(archives, downloads)
    for path in downloads.glob("*.deb"):
        if not (archives / path.name).exists():
            path.unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    for path in source.glob("*.deb"):
        if not (target / path.name).exists():
            try:
                os.link(path, target / path.name)
            except OSError:  # on another file system
                shutil.copyfile(path, target / path.name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
