"""A file system exported by NFS and mounted over itself: options, label, commands."""

from typing import Any

import pytest

from fsbench_web.catalog.configurations import networks
from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS, validated_options
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from runner.plan import RunPlan, plan_run

ALL = {
    "nfs": "4.2",
    "nfs_export": "async",
    "nfs_nconnect": "4",
    "nfs_rsize": "65536",
    "nfs_wsize": "1048576",
}
QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 300}


def plan(options: dict[str, Any], filesystem: str = "xfs") -> RunPlan:
    return plan_run(filesystem, options, "fio-depths", QUICK, device="/dev/vda", size_bytes=2**30)


def test_the_label_says_all_of_it_and_is_read_again() -> None:
    label = configuration_label("xfs", validated_options("xfs", ALL), "none")
    assert label == "xfs_nfs4.2_exportasync_nconnect4_rsize65536_wsize1048576_none"
    parts = parse_label(label)
    assert parts is not None
    assert parts.options == ALL
    assert configuration_label("xfs", {"nfs": "3"}) == "xfs_nfs3"


@pytest.mark.parametrize("slug", ["ext4", "xfs", "btrfs"])
def test_the_file_system_itself_is_made_and_mounted_as_without_it(slug: str) -> None:
    assert mkfs_command(slug, ALL, "/dev/x") == mkfs_command(slug, {}, "/dev/x")
    assert mount_command(slug, ALL, "/dev/x", "/m") == mount_command(slug, {}, "/dev/x", "/m")


def test_only_those_that_can_be_exported_have_it() -> None:
    having = {slug for slug, spec in FILESYSTEMS.items() if networks.NFS in spec.options}
    assert having == {"ext4", "xfs", "btrfs"}


def test_each_unmounting_is_the_reverse_of_mounting() -> None:
    served = plan({"nfs": "4.2"})
    steps = [" ".join(step.argv[:2]) for step in served.steps if step.phase != "benchmark"]
    up = ["mount -t", "fsbench-nfs up", "mount -t"]
    down = ["umount /mnt/fsbench", "fsbench-nfs down", "umount /mnt/fsbench"]
    # What the client has sent, its server may still hold.
    assert steps == ["mkfs.xfs -q", *up, *[*down, *up] * 2, "sync -f", "sync -f", *down]
    assert [step.argv[2] for step in served.steps if step.phase == "sync"] == [
        *("/mnt/fsbench", "/run/fsbench.served"),
    ]
    assert served.filesystem == "xfs"
    assert served.network is not None
    assert (served.network.name, plan({}).network) == ("NFS", None)
    assert served.modules_above == ["nfsd", "nfs", "nfsv3", "nfsv4"]
    assert {"exportfs", "rpc.nfsd", "rpc.mountd", "mount.nfs"} <= set(served.tools)
    assert plan({"overlay": "on"}).modules_above == ["overlay"]
    assert plan({}).modules_above == []


def test_what_is_chosen_reaches_server_and_client() -> None:
    steps = [step.argv for step in plan(ALL).steps if step.phase == "nfs"]
    server, client = steps[:2]
    assert server == [
        *("fsbench-nfs", "up", "--version", "4.2", "--export", "async"),
        *("/mnt/fsbench", "/run/fsbench.served"),
    ]
    assert client[:3] == ["mount", "-t", "nfs"]
    assert client[5:] == ["127.0.0.1:/", "/mnt/fsbench"]
    words = set(client[4].split(","))
    assert {"vers=4.2", "nconnect=4", "rsize=65536", "wsize=1048576", "hard"} <= words
    old = networks.NETWORKS[0].mount_command({"nfs": "3"}, "/m")
    assert old[-2:] == ("127.0.0.1:/run/fsbench.served", "/m")
    assert {"vers=3", "nolock", "mountport=20048"} <= set(old[4].split(","))
    assert "nconnect" not in old[4]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nfs_nconnect": "4"}, "nfs_nconnect is of NFS over loop-back"),
        ({"nfs": "4.2", "overlay": "on"}, "overlayfs and NFS do not stand"),
    ],
)
def test_what_does_not_go_together_is_told(options: dict[str, str], words: str) -> None:
    (conflict,) = option_conflicts("xfs", options, None)
    assert words in conflict
    assert list(option_conflicts("xfs", ALL, None)) == []
