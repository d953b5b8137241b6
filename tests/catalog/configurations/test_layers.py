"""Layers: what is allowed, how it is called, and the commands that make and undo it."""

import pytest

from fsbench_web.catalog.configurations.commands.layers import layer_commands
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.layers import (
    LAYERS,
    Layer,
    conflicts,
    layer_of_label,
    least_cache_bytes,
    remaining_devices,
)
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.options import OptionError
from fsbench_web.catalog.configurations.preparation import Preparation
from fsbench_web.catalog.configurations.stacks import LunCounts, Member
from fsbench_web.core.requirements import LAYERS as PROGRAMS
from fsbench_web.core.workloads import presets, workload_of
from runner.safety.marks import OWN_CACHE_UUID, OWN_LABEL

GIB = 2**30
OF_EVERY_SYSTEM = {"fsbench-resync", "fsbench-bcache", "wipefs", "blkdiscard", "dd"}
EACH = [
    {"layer": kind.slug, **{key: kind.option(key).choices[0].value for key in kind.required}}
    | {option.key: choice.value}
    for kind in LAYERS.values()
    for option in kind.options
    for choice in option.choices
]


def layers(*documents: dict[str, object]) -> tuple[Layer, ...]:
    return tuple(Layer.of(document) for document in documents)


@pytest.mark.parametrize("document", EACH, ids=lambda document: "-".join(document.values()))
def test_every_layer_is_read_again_from_its_label_and_row(document: dict[str, str]) -> None:
    layer = Layer.of(document)
    assert layer_of_label(layer.label) == layer
    assert Layer.of(layer.stored()) == layer
    shape = LunCounts(2, cache=1, layers=(layer, Layer("luks")))
    label = configuration_label("ext4", {"atime": "noatime"}, "none", True, shape)
    parts = parse_label(label)
    assert parts is not None
    assert (parts.shape, parts.external_journal) == (shape, True)
    assert LunCounts.of(shape.stored()) == shape


def test_labels_and_words_stay_readable() -> None:
    md = Layer.of({"layer": "md", "level": "raid10", "chunk_kb": 64})
    shape = LunCounts(4, layers=(md, Layer("luks", {"sector_size": "4096"})))
    label = configuration_label("xfs", {"atime": "noatime"}, "mq-deadline", False, shape)
    assert label == "xfs_noatime_md-raid10-c64_luks-s4096_4luns_mq-deadline"
    assert (
        shape.words == "4 LUNs, md raid10, chunk (KB) 64, dm-crypt (LUKS2) sector size (bytes) 4096"
    )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, '"None" is not a layer'),
        ({"layer": "drbd"}, "write one of md, lvm, luks, integrity, bcache"),
        ({"layer": "md"}, "needs its level: one of raid0, raid1"),
        ({"layer": "md", "level": "raid1; reboot"}, "is not one of raid0"),
        ({"layer": "md", "level": "raid1", "device": "/dev/sda"}, 'has no option "device"'),
        ({"layer": "luks", "key_bits": 128}, "is not one of 256, 512"),
    ],
)
def test_what_is_on_no_list_is_refused(document: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Layer.of(document)


@pytest.mark.parametrize(
    "word", ["md", "md-raid9", "md-raid1-raid1", "lvm", "luks-", "luks-xts-s5"]
)
def test_what_is_no_part_of_a_label_says_no_layer(word: str) -> None:
    assert layer_of_label(word) is None


@pytest.mark.parametrize(
    ("documents", "data", "caches", "words"),
    [
        ([{"layer": "md", "level": "raid5"}], 2, 0, "made of 3 devices or more, and here of 2"),
        ([{"layer": "md", "level": "raid1", "chunk_kb": 64}], 2, 0, "raid1 has no chunks"),
        ([{"layer": "md", "level": "raid0", "bitmap": "none"}], 2, 0, "raid0 has no bitmap"),
        ([{"layer": "lvm", "layout": "striped"}], 1, 0, "made of 2 devices or more"),
        ([{"layer": "lvm", "layout": "linear", "stripe_kb": 64}], 2, 0, "has no stripes"),
        ([{"layer": "lvm", "layout": "linear", "thin_chunk_kb": 64}], 2, 0, "in no thin pool"),
        ([{"layer": "lvm", "layout": "linear", "cache_mode": "writeback"}], 1, 0, "role cache"),
        ([{"layer": "lvm", "layout": "thin", "cache_mode": "writeback"}], 1, 1, "not cached here"),
        ([{"layer": "bcache", "cache_mode": "writeback"}], 1, 0, "has one LUN with the role cache"),
        ([{"layer": "bcache", "cache_mode": "writeback"}], 2, 2, "and here there are 2"),
        (
            [
                {"layer": "bcache", "cache_mode": "writeback"},
                {"layer": "lvm", "layout": "linear", "cache_mode": "writeback"},
            ],
            1,
            1,
            "Two layers of one stack cannot have the same cache",
        ),
        ([{"layer": "luks"}], 1, 1, "Nothing in this stack uses a LUN for the cache"),
        ([{"layer": "luks", "cipher": "aes-cbc-essiv", "key_bits": 512}], 1, 0, "256 bits at most"),
        # Encryption leaves as many devices as there were, and an array one.
        (
            [
                {"layer": "luks"},
                {"layer": "md", "level": "raid10"},
                {"layer": "md", "level": "raid0"},
            ],
            4,
            0,
            "md raid0 is made of 2 devices or more, and here of 1",
        ),
    ],
)
def test_layers_that_cannot_be_are_refused_in_words(
    documents: list[dict[str, object]], data: int, caches: int, words: str
) -> None:
    (conflict,) = conflicts(layers(*documents), data, caches)
    assert words in conflict


def test_a_file_system_on_one_device_needs_a_layer_that_joins() -> None:
    luks, md = layers({"layer": "luks"}, {"layer": "md", "level": "raid1"})
    assert (remaining_devices((luks,), 2), remaining_devices((luks, md), 2)) == (2, 1)
    (conflict,) = option_conflicts("ext4", {}, None, shape=LunCounts(2, layers=(luks,)))
    assert "need a layer that joins the LUNs: md or lvm" in conflict
    assert not list(option_conflicts("ext4", {}, None, shape=LunCounts(2, layers=(luks, md))))
    assert not list(option_conflicts("btrfs", {}, None, shape=LunCounts(2, layers=(luks,))))
    raid1 = {"data_profile": "raid1"}
    (conflict,) = option_conflicts("btrfs", raid1, None, shape=LunCounts(2, layers=(md,)))
    assert "made over 2 devices or more, and here over 1" in conflict


def test_layers_are_undone_in_the_reverse_order_and_leave_no_device_unwiped() -> None:
    stack = layers({"layer": "luks"}, {"layer": "md", "level": "raid1"})
    commands = layer_commands(stack, ["/dev/vda", "/dev/vdb"], [GIB, GIB])
    assert commands.devices == ("/dev/md1",)
    assert [argv[:2] for argv, _ in commands.assemble] == [
        ("cryptsetup", "luksFormat"),
        ("cryptsetup", "open"),
        ("cryptsetup", "luksFormat"),
        ("cryptsetup", "open"),
        ("mdadm", "--create"),
        ("fsbench-resync", "md1"),
    ]
    assert [argv for argv, _ in commands.disassemble] == [
        ("mdadm", "--stop", "/dev/md1"),
        ("wipefs", "--all", "/dev/mapper/fsbench0-0", "/dev/mapper/fsbench0-1"),
        ("cryptsetup", "close", "fsbench0-1"),
        ("cryptsetup", "close", "fsbench0-0"),
        ("wipefs", "--all", "/dev/vda", "/dev/vdb"),
    ]


def test_checksums_are_labelled_before_all_is_written_and_a_cache_is_of_all_devices() -> None:
    stack = layers(
        {"layer": "integrity", "algorithm": "sha256", "writes": "direct", "sector_size": 4096},
        {"layer": "bcache", "cache_mode": "writeback", "bucket_kb": 64, "sequential": "cached"},
    )
    commands = layer_commands(stack, ["/dev/vda"], [GIB], ["/dev/vdb"])
    assert commands.devices == ("/dev/bcache0",)
    mapped, how = "/dev/mapper/fsbench0-0", ("--integrity", "sha256", "--integrity-no-journal")
    made_of = ("make-bcache", "--cset-uuid", OWN_CACHE_UUID)
    label = ("dd", "of=/dev/vda", "bs=1", "seek=1024", "status=none", "conv=notrunc,nocreat,fsync")
    make = ("integritysetup", "format", "--batch-mode", "--no-wipe", *how, "--sector-size", "4096")
    assert commands.assemble == (
        ((*make, "/dev/vda"), ""),
        *(
            (label, OWN_LABEL),
            (("integritysetup", "open", *how, "/dev/vda", "fsbench0-0"), ""),
            (("blkdiscard", "--force", "--zeroout", mapped), ""),
            (("wipefs", "--all", mapped, "/dev/vdb"), ""),
            ((*made_of, "--bucket", "64k", "-C", "/dev/vdb"), ""),
            ((*made_of, "-B", mapped), ""),
            (
                (
                    *("fsbench-bcache", "start", "--cache=/dev/vdb", "--mode=writeback"),
                    *("--sequential-cutoff=0", mapped),
                ),
                "",
            ),
        ),
    )
    assert [argv for argv, _ in commands.disassemble] == [
        ("fsbench-bcache", "stop", "--cache=/dev/vdb", mapped),
        ("wipefs", "--all", mapped, "/dev/vdb"),
        ("integritysetup", "close", "fsbench0-0"),
        ("wipefs", "--all", "/dev/vda"),
    ]


def test_a_cache_of_bcache_has_more_than_512_buckets() -> None:
    mode = {"layer": "bcache", "cache_mode": "writeback"}
    assert least_cache_bytes(layers(mode)) == 513 * 512 * 1024
    assert least_cache_bytes(layers({**mode, "bucket_kb": 64})) == 513 * 64 * 1024
    assert least_cache_bytes(layers({"layer": "luks"})) == 0


def test_every_command_names_the_devices_of_its_stack_and_no_other() -> None:
    """Of each layer with each option: a path of /dev is a LUN's, or was made by the layer below."""
    for document in EACH:
        stack = (Layer.of(document), Layer("luks"))
        luns, cache = [f"/dev/vd{letter}" for letter in "abcd"], ["/dev/vde"]
        of_stack = layer_commands(stack, luns, [GIB] * 4, cache)
        devices = {*luns, *cache, "/dev/md0", "/dev/mapper/fsbench0-data"}
        devices |= {f"/dev/bcache{place}" for place in range(4)}
        devices |= {f"/dev/mapper/fsbench{n}-{place}" for n in (0, 1) for place in range(4)}
        commands = [*of_stack.assemble, *of_stack.disassemble]
        words = {word.rpartition("=")[2] for argv, _ in commands for word in argv}
        named = {word for word in words if word.startswith("/dev/")}
        assert named <= devices, document
        assert {argv[0] for argv, _ in commands} - OF_EVERY_SYSTEM <= set(PROGRAMS)
        (last, _) = of_stack.disassemble[-1]
        has_cache = "cache_mode" in document
        assert last == ("wipefs", "--all", *luns, *(cache if has_cache else []))


def test_a_thin_volume_needs_the_sizes_and_is_smaller_than_its_pool() -> None:
    thin = layers({"layer": "lvm", "layout": "thin"})
    sizes = [
        argv
        for argv, _ in layer_commands(thin, ["/dev/vda"], [GIB]).assemble
        if "--virtualsize" in argv
    ]
    assert sizes[0][sizes[0].index("--virtualsize") + 1] == "868m"
    with pytest.raises(OptionError, match="sizes are not known"):
        layer_commands(thin, ["/dev/vda"], [None])


def test_a_run_wipes_prepares_layers_measures_and_takes_down() -> None:
    preset = presets()["iozone-small"]
    commands = run_commands(
        "ext4",
        {},
        workload_of(preset.tool, preset.parameters),
        "/dev/vda",
        "/mnt",
        True,
        preparation=Preparation(discard=True),
        size_bytes=GIB,
        members=[Member("data", "/dev/vdb", GIB), Member("cache", "/dev/vdc", GIB)],
        layers=layers({"layer": "lvm", "layout": "striped", "cache_mode": "writethrough"}),
        probe_s=5,
    )
    phases = list(dict.fromkeys(command.phase for command in commands))
    assert phases == [
        *(
            "wipe",
            "discard",
            "layer",
            "probe",
            "mkfs",
            "mount",
            "benchmark",
            "sync",
            "unmount",
            "teardown",
        )
    ]
    # The device that layers make of them, and no LUN of its own.
    (probe,) = (command for command in commands if command.phase == "probe")
    assert probe.argv[-1] == "/dev/mapper/fsbench0-data"
    assert commands[0].argv == ("wipefs", "--all", "/dev/vda", "/dev/vdb", "/dev/vdc")
    mkfs = next(command for command in commands if command.phase == "mkfs")
    assert mkfs.argv[-1] == "/dev/mapper/fsbench0-data"


def test_below_the_layers_of_one_lun_the_lun_itself_is_measured() -> None:
    preset = presets()["iozone-small"]
    workload = workload_of(preset.tool, preset.parameters)
    alone = layers({"layer": "lvm", "layout": "linear"})
    commands = run_commands(
        *("ext4", {}, workload, "/dev/vda", "/mnt", True), size_bytes=GIB, layers=alone, probe_s=5
    )
    assert [command.phase for command in commands][:3] == ["wipe", "probe", "layer"]
    assert commands[1].argv == ("fsbench-probe", "--seconds", "5", "/dev/vda")
