"""The README's two commands and five minutes, in a bare root: all that a new user has."""

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.first_start import kept_environment, kept_image
from tests.first_start.readme import five_minutes
from tests.first_start.site import CHECKOUT, Site
from tests.first_start.walk import Walk
from tests.services import registries
from tests.services.bare_ci import kept_packages
from tests.services.bare_root import BareRoot, bare_root
from tests.services.browser import chromium_browser, chromium_path
from tests.services.dockerd import daemon_folder
from tests.services.image import ROOT, cache_folder
from tests.services.redis import free_port

pytestmark = [pytest.mark.root, pytest.mark.install]


@contextmanager
def _new_machine(
    folders: Mapping[Path, str] | None = None, with_packages: Sequence[str] = ()
) -> Iterator[BareRoot]:
    """With a checkout; what it downloads is kept, as on a machine behind a proxy that keeps it."""
    cache = cache_folder()
    (cache / "pip").mkdir(exist_ok=True)
    shared = {cache / "pip": "/root/.cache/pip", **(folders or {})}
    with bare_root(shared, with_packages) as root, kept_packages(root, cache):
        root.copy_checkout(CHECKOUT)
        yield root


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Callable[..., Walk]]:
    """Makes a walk with a browser of its own, and ends its site."""
    with ExitStack() as stack:

        def make(root: BareRoot, got: str, **env: str) -> Walk:
            site = Site(root, tmp_path / "make-run.log", free_port(), env)
            stack.callback(site.interrupt)
            # Chromium as users have it, with a window.
            browser = stack.enter_context(chromium_browser(chromium_path()))
            return Walk(site, browser, got)

        yield make


def test_without_docker(walk: Callable[..., Walk]) -> None:
    with _new_machine() as root:
        # Nothing that is kept: this one makes its environment by itself each time.
        assert not (root.folder / CHECKOUT.lstrip("/") / ".venv").exists()
        # Nothing that measures or makes a file system that the README names is there.
        missing = root.run(["sh", "-c", "command -v iozone mkfs.xfs docker"], check=False)
        assert missing.stdout == ""
        the_walk = walk(root, "The benchmark tools are installed")
        the_walk.walk()
        output = the_walk.first_printed
        assert "Making the virtual environment" in output
        assert _installers(root) == {"pip": _pinned("pip")}
        assert "No Docker daemon answers. This host lacks" in output
        # The second start, which the walk ended with, is at work.
        the_walk.site.a_second_one_is_refused()
        the_walk.site.a_crashed_worker_comes_back()
        the_walk.site.end(signal.SIGTERM)
        kept_environment.keep_environment(root, CHECKOUT)
        print(the_walk.took, file=sys.stderr)


def _installers(root: BareRoot) -> dict[str, str]:
    """What Python brings along in its own version: {name: version} in the environment."""
    library = root.folder / CHECKOUT.lstrip("/") / ".venv/lib"
    (packages,) = library.glob("python3*/site-packages")
    versions = {dist.name: dist.version for dist in distributions(path=[str(packages)])}
    return {name: versions[name] for name in ("pip", "setuptools", "wheel") if name in versions}


def _pinned(name: str) -> str:
    match = re.search(rf"^{name}==(\S+)", (ROOT / "requirements.txt").read_text(), re.M)
    assert match
    return match[1]


def test_with_docker(walk: Callable[..., Walk]) -> None:
    """What begins with the environment that the other walk made, and measures in containers."""
    with (
        daemon_folder(kept_image.layers(), cache_folder()) as daemon,
        _new_machine({daemon / "data": "/var/lib/docker"}, _docker_packages()) as root,
    ):
        kept_environment.load_environment(root, CHECKOUT)
        with _docker_daemon(root):
            env = {"FSBENCH_DATA": "/root/its data", **kept_image.environment(root)}
            the_walk = walk(root, "Runs are carried out in containers from now on", **env)
            the_walk.measure()
            assert "The benchmark image is ready" in the_walk.first_printed
            the_walk.site.end(signal.SIGINT)
            # The container brought it all: nothing was installed on the host.
            missing = root.run(["sh", "-c", "command -v iozone mkfs.xfs"], check=False)
            assert missing.stdout == ""
            assert root.run(["docker", "ps", "--all", "--quiet"]).stdout == ""
            kept_image.forget_image(root)
            print(the_walk.took, file=sys.stderr)
        kept_image.keep_layers(daemon / "data")


def _docker_packages() -> list[str]:
    """From Debian 13 on the client is a package of its own, which ``docker.io`` recommends."""
    distribution, suite = registries.bare_release()
    has_both = distribution != "debian" or suite == "bookworm"
    return ["docker.io"] if has_both else ["docker.io", "docker-cli"]


@contextmanager
def _docker_daemon(root: BareRoot) -> Iterator[None]:
    with (root.folder / "root/dockerd.log").open("w") as log:
        # It shares the host's network, whose firewall and bridges are not its own.
        apart = ("--iptables=false", "--ip6tables=false", "--bridge=none")
        daemon = root.popen(["dockerd", *apart], stdout=log, stderr=log)
    try:
        while root.run(["docker", "version"], check=False).returncode:
            assert daemon.poll() is None, (root.folder / "root/dockerd.log").read_text()
            time.sleep(0.2)
        yield
    finally:
        daemon.terminate()
        daemon.wait(60)


def test_the_readme_has_two_commands_and_numbered_minutes() -> None:
    steps = five_minutes()
    assert steps[0].code[0] == "make run"
    assert "Sign in:" in steps[0].printed
