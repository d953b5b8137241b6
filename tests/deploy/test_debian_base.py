"""deploy/debian-base on a host that is no Debian: whose mirror and whose keys it takes."""

import subprocess
from pathlib import Path

import pytest

from tests.services.image import ROOT
from tests.services.process import program

pytestmark = pytest.mark.root
# The host's apt sources and keys are others for this program alone.
AS_ON_UBUNTU = """
mount -t tmpfs tmpfs /etc/apt
echo 'deb http://archive.ubuntu.com/ubuntu noble main universe' >/etc/apt/sources.list
mount -t tmpfs tmpfs /usr/share/keyrings
[ -z "$KEYS" ] || touch /usr/share/keyrings/debian-archive-keyring.gpg
exec "$@"
"""
DOCKER = """#!/bin/sh
[ "$1" != image ]
"""
DEBOOTSTRAP = """#!/bin/sh
echo "$@" >"$(dirname "$0")/asked"
for word in "$@"; do case $word in */base) mkdir "$word" ;; esac; done
"""


def made_on_ubuntu(folder: Path, keys: str) -> tuple[int, str, str]:
    """Exit status, what it said, and what it asked debootstrap for."""
    programs = folder / "bin"
    programs.mkdir()
    for name, text in (("docker", DOCKER), ("debootstrap", DEBOOTSTRAP)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    alone = (program("unshare", "util-linux"), "--mount", "sh", "-ec", AS_ON_UBUNTU, "sh")
    done = subprocess.run(
        [*alone, str(ROOT / "deploy/debian-base")],
        env={"PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin", "KEYS": keys},
        capture_output=True,
        text=True,
    )
    asked = programs / "asked"
    return done.returncode, done.stderr, asked.read_text() if asked.exists() else ""


def test_without_a_mirror_of_debian_it_is_debians_own_with_its_keys(tmp_path: Path) -> None:
    code, said, asked = made_on_ubuntu(tmp_path, keys="there")
    assert code == 0, said
    assert "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg" in asked
    assert asked.split()[-3] == "bookworm"
    assert asked.split()[-1] == "http://deb.debian.org/debian"


def test_nothing_is_made_of_packages_that_cannot_be_checked(tmp_path: Path) -> None:
    code, said, asked = made_on_ubuntu(tmp_path, keys="")
    assert (code, asked) == (1, "")
    assert "apt-get install debian-archive-keyring" in said
