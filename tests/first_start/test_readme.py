"""The README's two commands and five minutes, in a bare root: all that a new user has."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.first_start import kept_environment, kept_image
from tests.first_start.readme import five_minutes
from tests.first_start.walk import CHECKOUT, Walk
from tests.services.bare_ci import kept_packages
from tests.services.bare_root import BareRoot, bare_root
from tests.services.browser import chromium_browser
from tests.services.image import cache_folder
from tests.services.redis import free_port

pytestmark = [pytest.mark.root, pytest.mark.install]


@contextmanager
def _new_machine() -> Iterator[BareRoot]:
    """With a checkout; what it downloads is kept, as on a machine behind a proxy that keeps it."""
    cache = cache_folder()
    for name in ("pip", "apt"):
        (cache / name).mkdir(exist_ok=True)
    shared = {cache / "pip": "/root/.cache/pip"}
    with bare_root(shared) as root, kept_packages(root, cache / "apt"):
        root.copy_checkout(CHECKOUT)
        yield root


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Callable[..., Walk]]:
    """Makes a walk with a browser of its own, and ends its site."""
    with ExitStack() as stack:

        def make(root: BareRoot, **env: str) -> Walk:
            browser = stack.enter_context(chromium_browser())
            made = Walk(root, browser, tmp_path / "make-run.log", free_port(), env)
            stack.callback(made.interrupt)
            return made

        yield make


def test_without_docker(walk: Callable[..., Walk]) -> None:
    with _new_machine() as root:
        # Nothing that is kept: this one makes its environment by itself each time.
        assert not (root.folder / CHECKOUT.lstrip("/") / ".venv").exists()
        # Nothing that measures or makes a file system that the README names is there.
        missing = root.run(["sh", "-c", "command -v iozone mkfs.xfs docker"], check=False)
        assert missing.stdout == ""
        taken = walk(root)
        taken.walk()
        said = taken.first_printed
        assert "No Docker daemon answers. This host lacks" in said
        assert "The benchmark tools are installed" in said
        kept_environment.keep_environment(root, CHECKOUT)
        print(taken.took, file=sys.stderr)


def test_with_docker(walk: Callable[..., Walk]) -> None:
    with _new_machine() as root:
        root.run(["apt-get", "update"])
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "docker.io"]
        root.run(install, env={"DEBIAN_FRONTEND": "noninteractive"})
        # A disk of its own, so that tens of thousands of files need not be removed one by one.
        disk = root.loop_device(16_000)
        root.run(["mkfs.ext4", "-q", "-E", "nodiscard", disk])
        root.run(["sh", "-ec", f"mkdir -p /var/lib/docker; mount {disk} /var/lib/docker"])
        with (root.folder / "root/dockerd.log").open("w") as log:
            # It shares the host's network, whose firewall and bridges are not its own.
            apart = ("--iptables=false", "--ip6tables=false", "--bridge=none")
            daemon = root.popen(["dockerd", *apart], stdout=log, stderr=log)
        try:
            while root.run(["docker", "version"], check=False).returncode:
                assert daemon.poll() is None, (root.folder / "root/dockerd.log").read_text()
                time.sleep(0.2)
            kept_image.load_layers(root)
            kept_environment.load_environment(root, CHECKOUT)
            taken = walk(root, **kept_image.environment(root))
            taken.walk()
            kept_image.keep_layers(root)
            said = taken.first_printed
            assert "The benchmark image is ready" in said
            assert "Runs are carried out in containers from now on" in said
            # The container brought it all: nothing was installed on the host.
            missing = root.run(["sh", "-c", "command -v iozone mkfs.xfs"], check=False)
            assert missing.stdout == ""
            assert root.run(["docker", "ps", "--all", "--quiet"]).stdout == ""
            print(taken.took, file=sys.stderr)
        finally:
            daemon.terminate()
            daemon.wait(60)


def test_the_readme_has_two_commands_and_numbered_minutes() -> None:
    steps = five_minutes()
    assert steps[0].code[0] == "make run"
    assert "Sign in:" in steps[0].printed
