"""bcachefs: its options, its devices with their roles, and what does not go together."""

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import OptionError, validated_options
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.options import BCACHEFS_OPTIONS
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts, Member
from fsbench_web.core.workloads import MOUNT_POINT, workload_of

PLAIN = ["mkfs.bcachefs", "-q", "-f", "-L", "fsbench"]
QUICK = workload_of("fio-depths", {"file_mb": 8})


def test_one_device_is_made_with_its_options_and_mounted_by_the_kernel_alone() -> None:
    options = {"compression": "zstd:1", "encoded_extent_max_kb": "128", "atime": "noatime"}
    mkfs = mkfs_command("bcachefs", options, "/dev/a")
    assert mkfs == [*PLAIN, "--encoded_extent_max=128k", "--compression=zstd:1", "/dev/a"]
    mounted = mount_command("bcachefs", options, "/dev/a", "/mnt")
    assert mounted == ["mount", "-i", "-t", "bcachefs", "-o", "noatime", "/dev/a", "/mnt"]


def test_every_device_is_named_when_it_is_made_and_mounted() -> None:
    mkfs = mkfs_command("bcachefs", {"data_replicas": "2"}, "/dev/a", further=["/dev/b"])
    assert mkfs == [*PLAIN, "--data_replicas=2", "/dev/a", "/dev/b"]
    mounted = mount_command("bcachefs", {}, "/dev/a", "/mnt", further=["/dev/b"], caches=["/dev/c"])
    assert mounted[-2:] == ["/dev/a:/dev/b:/dev/c", "/mnt"]


@pytest.mark.parametrize(
    ("options", "foreground"), [({}, "cache"), ({"cache_mode": "writearound"}, "data")]
)
def test_a_cache_is_a_target_of_its_own(options: dict[str, str], foreground: str) -> None:
    mkfs = mkfs_command("bcachefs", options, "/dev/a", further=["/dev/b"], caches=["/dev/c"])
    assert mkfs[len(PLAIN) :] == [
        *(f"--foreground_target={foreground}", "--promote_target=cache"),
        *("--background_target=data", "--label=data.data0", "/dev/a"),
        *("--label=data.data1", "/dev/b", "--label=cache.cache0", "/dev/c"),
    ]


def test_a_layer_that_uses_the_cache_leaves_none_to_the_file_system() -> None:
    members = [Member("cache", "/dev/c", 2**30)]
    for layers, has_cache in (
        ([], True),
        ([Layer.of({"layer": "bcache", "cache_mode": "writeback"})], False),
    ):
        commands = run_commands(
            *("bcachefs", {}, QUICK, "/dev/a", MOUNT_POINT, True),
            size_bytes=2**30,
            members=members,
            layers=layers,
        )
        (mkfs,) = [command.argv for command in commands if command.phase == "mkfs"]
        assert ("--label=cache.cache0" in mkfs) == has_cache


@pytest.mark.parametrize(
    ("options", "shape", "words"),
    [
        ({"data_replicas": "2"}, PLAIN_SHAPE, "made over 2 devices or more, and here over 1"),
        (
            {"metadata_replicas": "3"},
            LunCounts(data=2),
            "metadata_replicas 3 is made over 3 devices",
        ),
        ({"copy_on_write": "off", "compression": "lz4"}, PLAIN_SHAPE, "does not compress without"),
        (
            {"copy_on_write": "off", "data_checksum": "xxhash"},
            PLAIN_SHAPE,
            "does not checksum data without",
        ),
        ({"cache_mode": "writeback"}, PLAIN_SHAPE, "needs a LUN with the role cache"),
        ({}, LunCounts(log=1), "Nothing in this stack of bcachefs uses a LUN for the log"),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(
    options: dict[str, str], shape: LunCounts, words: str
) -> None:
    (conflict,) = option_conflicts("bcachefs", options, None, shape=shape)
    assert words in conflict


def test_what_goes_together_is_not_refused() -> None:
    options = {"data_replicas": "2", "cache_mode": "writearound"}
    assert not list(option_conflicts("bcachefs", options, None, shape=LunCounts(data=2, cache=1)))
    nocow = {"copy_on_write": "off", "data_checksum": "none"}
    assert not list(option_conflicts("bcachefs", nocow, None))


def test_labels_say_every_option_and_are_read_again() -> None:
    for option in BCACHEFS_OPTIONS:
        for choice in option.choices:
            options = {option.key: choice.value}
            label = configuration_label(
                "bcachefs", options, "none", False, LunCounts(data=2, cache=1)
            )
            parts = parse_label(label)
            assert parts is not None, label
            assert (parts.options, parts.shape) == (options, LunCounts(data=2, cache=1))
    assert configuration_label(
        "bcachefs", {"data_replicas": "2"}, "none", False, LunCounts(data=2)
    ) == ("bcachefs_copies2_2luns_none")


@pytest.mark.parametrize(
    ("key", "value"), [("compression", "zstd;id"), ("data_replicas", "4"), ("label", "x")]
)
def test_nothing_else_reaches_a_command(key: str, value: str) -> None:
    with pytest.raises(OptionError):
        validated_options("bcachefs", {key: value})
