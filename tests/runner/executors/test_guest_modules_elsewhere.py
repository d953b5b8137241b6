"""Where the host is no Debian, ZFS for guests is refused with what can be done."""

import os
from pathlib import Path

import pytest

from runner.executors import guest_modules
from runner.host.guest_kernels.apt import FetchError
from tests.runner.executors.test_guest_modules import FakeDocker
from tests.runner.host.guest_kernels.fake_apt import NAME, FakeApt
from tests.runner.host.guest_kernels.test_kernels import deb, files


def test_ubuntu_is_told_where_zfs_can_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own releases are none of the image's, so that no other image would help."""
    apt = FakeApt(tmp_path / "apt")
    apt.answers(sources=[["Ubuntu", "http://mirror/ubuntu/"]])
    monkeypatch.setenv("PATH", f"{apt.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(guest_modules, "distribution", lambda: "ubuntu")
    daemon = FakeDocker(b"", suite="trixie")
    monkeypatch.setattr(guest_modules.docker, "from_env", lambda: daemon)
    with pytest.raises(FetchError, match="on a host with Debian"):
        guest_modules.build("image:tag", deb(tmp_path / f"{NAME}.deb", files()))
    assert daemon.asked == {}
