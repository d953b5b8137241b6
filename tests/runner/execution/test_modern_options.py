"""Options since 2005 with the real mkfs and the kernel of this machine."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS, validated_options
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.models import Lun
from runner.safety import signatures
from tests.runner.conftest import tool

pytestmark = pytest.mark.root

MIB = 2**20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "disk.img"
    path.touch()
    os.truncate(path, 400 * MIB)
    device = tool("losetup", "--find", "--show", str(path))
    yield device
    tool("losetup", "--detach", device)


@pytest.mark.parametrize("slug", ["ext2", "ext3", "ext4", "xfs", "btrfs"])
def test_every_mount_option_is_one_that_the_kernel_knows(
    disk: str, tmp_path: Path, slug: str
) -> None:
    """Made once, mounted with each; in a namespace of its own, so that nothing stays mounted."""
    point = tmp_path / "point"
    point.mkdir()
    tool(*mkfs_command(slug, {}, disk))
    refused = []
    choices = [
        (option.key, choice.value)
        for option in FILESYSTEMS[slug].options
        if option.stage == "mount"
        for choice in (option.choices or (option.choice(option.maximum),))
    ]
    for key, value in choices:
        argv = mount_command(slug, validated_options(slug, {key: value}), disk, str(point))
        unshared = ["unshare", "--mount", "--propagation", "private", *argv]
        done = subprocess.run(unshared, capture_output=True, text=True, check=False)
        if done.returncode:
            refused.append((key, value, done.stderr))
    assert choices
    assert refused == []


@pytest.mark.parametrize(
    ("slug", "options"),
    [
        (
            "ext4",
            {"dir_index": "on", "cluster_size": "65536", "fast_commit": "on", "orphan_file": "on"},
        ),
        (
            "xfs",
            {"reflink": "off", "rmapbt": "on", "bigtime": "off", "log_size_mb": 80, "agcount": 4},
        ),
        ("btrfs", {"checksum": "blake2", "node_size": "16384", "metadata_profile": "single"}),
        ("btrfs", {"space_cache": "v1"}),
    ],
)
def test_features_go_together(
    disk: str, tmp_path: Path, slug: str, options: dict[str, object]
) -> None:
    """And the kernel mounts what they make."""
    tool(*mkfs_command(slug, validated_options(slug, options), disk))
    assert [signature.label for signature in signatures.of(disk)] == ["fsbench"] * len(
        signatures.of(disk)
    )
    argv = mount_command(slug, {}, disk, str(tmp_path))
    tool("unshare", "--mount", "--propagation", "private", *argv)
    if slug == "ext4":
        features = tool("dumpe2fs", "-h", disk)
        assert {"bigalloc", "fast_commit", "orphan_file"} <= set(features.split())


def test_a_log_larger_than_an_allocation_group_is_refused_before_mkfs_does(disk: str) -> None:
    lun = Lun(name="disk1", size_bytes=400 * MIB, kind=Lun.Kind.DEVICE)
    (conflict,) = option_conflicts("xfs", {"log_size_mb": "120"}, lun)
    assert "does not fit into an allocation group of disk1 (100 MiB)" in conflict
    with pytest.raises(subprocess.CalledProcessError):
        tool(*mkfs_command("xfs", {"log_size_mb": "120"}, disk))
    assert not list(option_conflicts("xfs", {"log_size_mb": "80"}, lun))
    (conflict,) = option_conflicts("xfs", {"log_size_mb": "80"}, None, Lun(name="log1"))
    assert "The log on log1 has the size of that LUN" in conflict
