"""Where the host is no Debian, ZFS for guests is refused with what can be done."""

import os
from pathlib import Path

import pytest

from runner.guests import zfs_modules
from runner.guests.apt import FetchError
from tests.runner.guests.fake_apt import NAME, FakeApt
from tests.runner.guests.test_kernels import deb, files
from tests.runner.guests.test_zfs_modules import FakeDocker


def test_ubuntu_is_told_where_zfs_can_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own releases are none of the image's, so that no other image would help."""
    apt = FakeApt(tmp_path / "apt")
    apt.answers(sources=[["Ubuntu", "http://mirror/ubuntu/"]])
    monkeypatch.setenv("PATH", f"{apt.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(zfs_modules, "distribution", lambda: "ubuntu")
    daemon = FakeDocker(b"", suite="trixie")
    monkeypatch.setattr(zfs_modules.docker, "from_env", lambda: daemon)
    with pytest.raises(FetchError, match="on a host with Debian"):
        zfs_modules.build("image:tag", deb(tmp_path / f"{NAME}.deb", files()))
    assert daemon.asked == {}
