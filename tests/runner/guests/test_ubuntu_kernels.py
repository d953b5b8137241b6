"""Ubuntu's kernels come with the modules that no package of theirs depends on."""

import os
from pathlib import Path

import pytest

from runner.guests.kernel_packages import fetch
from tests.runner.guests.fake_apt import NAME, FakeApt

VERSION = NAME.removeprefix("linux-image-")


@pytest.mark.parametrize("has", [[], [f"linux-modules-extra-{VERSION}"]], ids=["none", "extra"])
def test_the_other_half_of_the_modules_is_fetched_where_there_is_one(
    has: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JFS, ReiserFS, F2FS, NILFS2, exFAT and NTFS3 are in it."""
    apt = FakeApt(tmp_path / "apt")
    monkeypatch.setenv("PATH", f"{apt.folder}{os.pathsep}{os.environ['PATH']}")
    apt.answers(depends=f"kmod, linux-base (>= 4.5), linux-modules-{VERSION}", has=has)
    there = [path.name.partition("_")[0] for path in fetch(tmp_path / "kernels").iterdir()]
    assert sorted(there) == sorted([NAME, f"linux-modules-{VERSION}", *has])
