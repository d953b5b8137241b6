"""A file system shared by SMB and mounted over itself: options, label, commands, smb.conf."""

import configparser
from typing import Any

import pytest

from fsbench_web.catalog.configurations import networks
from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.core import requirements
from runner.agent.preparation import smb as server
from runner.plan import RunPlan, plan_run

ALL = {"smb": "3.1.1", "smb_protection": "seal", "smb_cache": "none"}
QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 300}


def plan(options: dict[str, Any], filesystem: str = "xfs") -> RunPlan:
    return plan_run(filesystem, options, "fio-depths", QUICK, device="/dev/vda", size_bytes=2**30)


def test_the_label_says_all_of_it_and_is_read_again() -> None:
    label = configuration_label("xfs", validated_options("xfs", ALL), "none")
    assert label == "xfs_smb3.1.1_smbseal_smbcache-none_none"
    parts = parse_label(label)
    assert parts is not None
    assert parts.options == ALL


@pytest.mark.parametrize("slug", ["ext4", "xfs", "btrfs"])
def test_the_file_system_itself_is_made_and_mounted_as_without_it(slug: str) -> None:
    assert mkfs_command(slug, ALL, "/dev/x") == mkfs_command(slug, {}, "/dev/x")
    assert mount_command(slug, ALL, "/dev/x", "/m") == mount_command(slug, {}, "/dev/x", "/m")


def test_only_those_that_can_be_exported_have_it() -> None:
    having = {slug for slug, spec in FILESYSTEMS.items() if networks.SMB in spec.options}
    assert having == {"ext4", "xfs", "btrfs"}


def test_an_older_version_is_refused() -> None:
    with pytest.raises(OptionError, match=r"is not one of 3\.1\.1"):
        validated_options("xfs", {"smb": "1.0"})


def test_each_unmounting_is_the_reverse_of_mounting() -> None:
    served = plan({"smb": "3.1.1"})
    steps = [" ".join(step.argv[:2]) for step in served.steps if step.phase != "benchmark"]
    up = ["mount -t", "fsbench-smb up", "mount -t"]
    down = ["umount /mnt/fsbench", "fsbench-smb down", "umount /mnt/fsbench"]
    # What the client has sent, its server may still hold.
    assert steps == ["mkfs.xfs -q", *up, *[*down, *up] * 2, "sync -f", "sync -f", *down]
    assert [step.argv[2] for step in served.steps if step.phase == "sync"] == [
        *("/mnt/fsbench", "/run/fsbench.served"),
    ]
    assert served.filesystem == "xfs"
    assert served.network is not None
    assert served.network.name == "SMB"
    assert served.modules_above == ["cifs"]
    assert set(requirements.SMB) <= set(served.tools)
    assert not set(requirements.NFS) & set(served.tools)


def test_what_is_chosen_reaches_the_client_and_no_password_stands_in_a_command() -> None:
    up, client = (step.argv for step in plan(ALL).steps[2:4])
    assert up == [
        *("fsbench-smb", "up", "--version", "3.1.1", "/mnt/fsbench", "/run/fsbench.served"),
    ]
    assert client[:3] == ["mount", "-t", "cifs"]
    assert client[5:] == ["//127.0.0.1/fsbench", "/mnt/fsbench"]
    words = set(client[4].split(","))
    assert {"vers=3.1.1", "sec=ntlmssp", "seal", "cache=none", "hard"} <= words
    assert f"credentials={server.CREDENTIALS}" in words
    plain = networks.NETWORKS[1].mount_command({"smb": "3.1.1"}, "/m")[4].split(",")
    assert not {"seal", "sign"} & set(plain)


def test_the_server_speaks_one_version_to_one_user_of_this_machine() -> None:
    smb_conf = configparser.ConfigParser(interpolation=None)
    smb_conf.read_string(server.configuration("3.1.1", "/run/fsbench.served"))
    general, share = smb_conf["global"], smb_conf["fsbench"]
    assert general["server min protocol"] == general["server max protocol"] == "SMB3_11"
    assert general["interfaces"] == "127.0.0.1/8"
    assert general["bind interfaces only"] == "yes"
    assert (share["path"], share["valid users"]) == ("/run/fsbench.served", "root")
    # Nothing of it is kept out of memory, or with the state of a server of somebody else.
    state = [value for key, value in general.items() if key.endswith((" dir", " directory"))]
    assert len(state) == 6
    assert all(value.startswith("/run/fsbench.smb/") for value in state)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smb_cache": "none"}, "smb_cache is of SMB over loop-back"),
        ({"smb": "3.1.1", "overlay": "on"}, "overlayfs and SMB do not stand"),
        ({"smb": "3.1.1", "nfs": "4.2"}, "NFS and SMB do not stand"),
    ],
)
def test_what_does_not_go_together_is_told(options: dict[str, str], words: str) -> None:
    (conflict,) = option_conflicts("xfs", options, None)
    assert words in conflict
    assert list(option_conflicts("xfs", ALL, None)) == []
