"""Kernels and tools of other releases of Debian, from the mirror that this host uses."""

import os
import subprocess
from pathlib import Path

import pytest

from runner.guests import kernel_packages
from tests.services.image import cache_folder
from tests.services.process import ServiceFailed
from tests.services.registries import sources

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def configuration(folder: Path, *suites: str) -> Path:
    """An apt.conf with lists of its own in ``folder``, for these suites. Raises ServiceFailed."""
    mirror = next((source.address for source in sources() if "security" not in source.address), "")
    if not mirror:
        raise ServiceFailed("apt has no mirror of Debian: contenders need one.")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    lines = [f"deb [signed-by={KEYRING}] {mirror} {suite} main\n" for suite in suites]
    (folder / "sources.list").write_text("".join(lines))
    apt_conf = folder / "apt.conf"
    apt_conf.write_text(
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
        'Acquire::Languages "none";\nAPT::Sandbox::User "root";\n'
    )
    return apt_conf


def kernel_of(suite: str, folder: Path, work: Path) -> Path:
    """The kernel of today of a suite, fetched as a worker fetches it; kept in ``folder``."""
    suite_folder = folder / suite.replace("/", "-")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("APT_CONFIG", str(configuration(work, suite)))
        return kernel_packages.fetch(suite_folder)


def kept_kernels() -> Path:
    """Where they are kept between runs: some 120 MB each."""
    return cache_folder() / "contenders"


def unpacked(work: Path, suites: tuple[str, ...], *packages: str) -> Path:
    """The files of these packages (``NAME/SUITE``), in a folder; nothing is installed."""
    environment = os.environ | {"APT_CONFIG": str(configuration(work, *suites))}
    debs, root = work / "debs", work / "root"
    debs.mkdir()
    for argv in (["apt-get", "-q", "update"], ["apt-get", "-q", "download", *packages]):
        subprocess.run(argv, cwd=debs, env=environment, check=True, stdout=subprocess.DEVNULL)
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    return root
