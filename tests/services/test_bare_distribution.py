"""Which system a bare root is of, and that one which is kept waits for nobody."""

from pathlib import Path

import pytest

from tests.services import bare_root, registries
from tests.services.process import ServiceFailed


def test_a_bare_root_can_be_of_another_distribution(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(registries, "release", lambda: ("debian", "bookworm"))
    monkeypatch.setenv("FSBENCH_BARE_SUITE", "ubuntu/noble")
    assert registries.bare_release() == ("ubuntu", "noble")
    archive = "http://archive.ubuntu.com/ubuntu"
    assert [str(one) for one in registries.bare_sources()] == [
        f"deb {archive} {suite} main universe"
        for suite in ("noble", "noble-updates", "noble-security")
    ]
    keys = tmp_path / "keys.gpg"
    monkeypatch.setenv("FSBENCH_BARE_KEYRING", str(keys))
    with pytest.raises(ServiceFailed, match="FSBENCH_BARE_KEYRING"):
        registries.bare_keyring()
    keys.touch()
    assert registries.bare_keyring() == keys
    monkeypatch.setenv("FSBENCH_BARE_SUITE", "gentoo/today")
    with pytest.raises(ServiceFailed, match="gentoo"):
        registries.bare_sources()
    monkeypatch.setenv("FSBENCH_BARE_SUITE", "trixie")
    assert registries.bare_keyring() is None


def test_debootstrap_makes_releases_that_it_does_not_know_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def make(*argv: str) -> None:
        asked.extend(argv)
        Path(argv[3]).touch()

    monkeypatch.setattr(bare_root, "_run_alone", make)
    monkeypatch.setattr(registries, "release", lambda: ("debian", "bookworm"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FSBENCH_BARE_SUITE", "ubuntu/zany")
    monkeypatch.setenv("FSBENCH_BARE_KEYRING", str(tmp_path / "keys.gpg"))
    (tmp_path / "keys.gpg").touch()
    kept = bare_root.kept_root()
    assert asked[-4:] == [
        "zany",
        "/mnt/root",
        "http://archive.ubuntu.com/ubuntu",
        "/usr/share/debootstrap/scripts/gutsy",
    ]
    assert f"--keyring={tmp_path / 'keys.gpg'}" in asked

    def wait(*_: object) -> None:
        pytest.fail("it waits for whoever makes another root")

    monkeypatch.setattr("fcntl.flock", wait)
    assert bare_root.kept_root() == kept
