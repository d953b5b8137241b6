"""Pools of OpenZFS: what is written for them, and what is refused before anything is."""

import pytest

from fsbench_web.catalog.configurations import zfs
from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts, Member
from fsbench_web.core.workloads import MOUNT_POINT, workload_of

DEPTHS = workload_of(
    "fio-depths", {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 60}
)
POOL = "/dev/fsbench.zpool"
ALL_ROLES = (
    *(Member("data", f"/dev/vd{letter}") for letter in "bcd"),
    *(Member("log", f"/dev/vd{letter}") for letter in "ef"),
    *(Member("special", f"/dev/vd{letter}") for letter in "gh"),
    *(Member("cache", f"/dev/vd{letter}") for letter in "ij"),
)


def commands(
    options: dict[str, str],
    members: tuple[Member, ...] = (),
    layers: tuple[Layer, ...] = (),
) -> list[PlannedCommand]:
    return run_commands(
        *("zfs", validated_options("zfs", options), DEPTHS, "/dev/vda", MOUNT_POINT, True),
        size_bytes=2**30,
        members=members,
        layers=layers,
    )


def vdevs(options: dict[str, str], members: tuple[Member, ...]) -> str:
    """What stands behind the pool's name."""
    (mkfs,) = (command.argv for command in commands(options, members) if command.phase == "mkfs")
    words = mkfs[mkfs.index("fsbench") + 1 :]
    return " ".join(words).replace(f"{POOL}/vd", "")


def test_one_lun_is_made_mounted_and_taken_away_in_the_reverse_order() -> None:
    argvs = [
        command.argv for command in commands({"atime": "noatime"}) if command.phase != "benchmark"
    ]
    anew = [
        ("umount", MOUNT_POINT),
        ("fsbench-zpool", "healthy", "fsbench"),
        ("zpool", "export", "fsbench"),
        ("zpool", "import", "-d", POOL, "-o", "cachefile=none", "fsbench"),
        ("mount", "-t", "zfs", "-o", "noatime", "fsbench", MOUNT_POINT),
    ]
    assert argvs == [
        ("fsbench-zpool", "nodes", POOL, "/dev/vda"),
        (
            *("zpool", "create", "-f", "-o", "cachefile=none", "-O", "mountpoint=legacy"),
            *("-O", "atime=on", "-O", "relatime=off", "fsbench", f"{POOL}/vda"),
        ),
        anew[-1],
        # Twice measured: what ZFS cached goes with the pool, not with the mount.
        *anew,
        *anew,
        ("sync", "-f", MOUNT_POINT),
        ("fsbench-zpool", "healthy", "fsbench"),
        ("umount", MOUNT_POINT),
        ("zpool", "destroy", "-f", "fsbench"),
        ("zpool", "labelclear", "-f", f"{POOL}/vda"),
        ("wipefs", "--all", "/dev/vda"),
    ]


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("", "a b c d special g h log e f cache i j"),
        ("mirror", "mirror a b c d special mirror g h log mirror e f cache i j"),
        ("pairs", "mirror a b mirror c d special mirror g h log mirror e f cache i j"),
        ("raidz1", "raidz1 a b c d special mirror g h log mirror e f cache i j"),
        ("raidz3", "raidz3 a b c d special mirror g h log mirror e f cache i j"),
    ],
)
def test_every_lun_has_its_role(layout: str, words: str) -> None:
    assert vdevs({"layout": layout} if layout else {}, ALL_ROLES) == words


def test_all_luns_are_wiped_and_cleared() -> None:
    down = [command.argv for command in commands({}, ALL_ROLES) if command.phase == "teardown"]
    devices = [
        "/dev/vda",
        *(member.device for member in sorted(ALL_ROLES, key=lambda member: member.device)),
    ]
    assert {argv[-1] for argv in down if argv[1] == "labelclear"} == {
        f"{POOL}/{device.removeprefix('/dev/')}" for device in devices
    }
    assert sorted(down[-1][2:]) == devices


def test_properties_are_those_of_the_dataset_and_the_cache_is_limited_before() -> None:
    options = {
        **{"ashift": "12", "recordsize": "16384", "compression": "zstd-9", "logbias": "latency"},
        **{"sync": "always", "primarycache": "metadata", "arc_max_mb": "256"},
    }
    argvs = [command.argv for command in commands(options) if command.phase in ("pool", "mkfs")][:3]
    assert argvs[1] == ("fsbench-zpool", "arc", "256")
    words = " ".join(argvs[2])
    assert "-o ashift=12 -O recordsize=16384 -O compression=zstd-9 -O logbias=latency" in words
    assert "-O sync=always -O primarycache=metadata -O mountpoint=legacy" in words
    assert "256" not in argvs[2]


def test_a_cache_belongs_to_the_layer_that_caches() -> None:
    layer = Layer.of({"layer": "lvm", "layout": "linear", "cache_mode": "writeback"})
    steps = commands({}, (Member("cache", "/dev/vdb", 2**28),), (layer,))
    (create,) = (step.argv for step in steps if step.phase == "mkfs")
    assert create[-2:] == ("fsbench", f"{POOL}/fsbench0-data")
    # The pool goes first, then what it stands on.
    down = [step.argv[0] for step in steps if step.phase == "teardown"]
    assert down == ["zpool", "zpool", "wipefs", "lvm", "wipefs"]


@pytest.mark.parametrize(
    ("options", "shape", "words"),
    [
        ({"layout": "mirror"}, PLAIN_SHAPE, "made over 2 devices or more, and here over 1"),
        ({"layout": "raidz3"}, LunCounts(data=3), "made over 4 devices or more"),
        ({"layout": "pairs"}, LunCounts(data=5), "an even number of devices, not over 5"),
        (
            {"layout": "mirror"},
            LunCounts(data=2, layers=(Layer.of({"layer": "md", "level": "raid0"}),)),
            "here over 1",
        ),
        ({"special_small_blocks": "4096"}, PLAIN_SHAPE, "needs a LUN with the role special"),
        (
            {"special_small_blocks": "65536", "recordsize": "16384"},
            LunCounts(special=1),
            "must be smaller than recordsize 16384",
        ),
        ({"secondarycache": "all"}, LunCounts(log=1), "needs a LUN with the role cache"),
    ],
)
def test_what_no_pool_can_be_is_refused_in_words(
    options: dict[str, str], shape: LunCounts, words: str
) -> None:
    (conflict,) = option_conflicts("zfs", options, None, shape=shape)
    assert words in conflict


def test_roles_and_layouts_that_fit_are_not_refused() -> None:
    shape = LunCounts(4, 2, 1, 2)
    options = {"layout": "raidz2", "special_small_blocks": "4096", "secondarycache": "metadata"}
    assert list(option_conflicts("zfs", options, None, shape=shape)) == []
    assert list(option_conflicts("zfs", {}, None)) == []


@pytest.mark.parametrize("option", FILESYSTEMS["zfs"].options, ids=lambda option: option.key)
def test_every_value_is_in_the_label_and_read_from_it(option: object) -> None:
    spec = FILESYSTEMS["zfs"].option(option.key)  # type: ignore[attr-defined]
    for value in [choice.value for choice in spec.choices] or ["64", "4096"]:
        label = configuration_label("zfs", {spec.key: value}, "none", False, LunCounts(3, log=1))
        parts = parse_label(label)
        assert parts is not None
        assert (parts.options, parts.shape) == ({spec.key: value}, LunCounts(3, log=1))


@pytest.mark.parametrize(
    "options",
    [
        {"recordsize": "4096 -O exec=on"},
        {"compression": "lz4,setuid=on"},
        {"layout": "mirror /dev/sda"},
        {"arc_max_mb": "-1"},
        {"arc_max_mb": "64;reboot"},
        {"mountpoint": "/"},
        {"atime": "noatime,exec"},
    ],
)
def test_no_text_of_anybody_gets_into_a_command(options: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        validated_options("zfs", options)


def test_it_has_no_mkfs_of_its_own() -> None:
    with pytest.raises(OptionError, match="as a pool"):
        mkfs_command("zfs", {}, "/dev/vda")
    assert zfs.node("/dev/mapper/fsbench0-0") == f"{POOL}/fsbench0-0"
