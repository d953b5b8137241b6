"""exFAT and NTFS: their options, and what workloads miss on them."""

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.commands.run import run_commands, workload_problem
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.core.workloads import presets

# What was tried in guests and failed there: links that cannot be made, ":" in names of maildirs,
# initdb's own look at its folder. Names that differ in case alone are of a kernel's tree.
NOT_ON_EXFAT = {
    *("maildir-small", "maildir", "container-image-small", "container-image"),
    *("pgbench-small", "pgbench-tpcb", "pgbench-read-only"),
    *("kernel-build-tiny", "kernel-build-galli", "source-copy-hilzinger"),
    *("git-linux", "archives-linux"),
}


def test_commands_are_of_the_closed_lists() -> None:
    options = validated_options(
        "exfat",
        {"cluster_size": "131072", "boundary_alignment": "4194304", "online_discard": "on"},
    )
    assert mkfs_command("exfat", options, "/dev/x") == (
        ["mkfs.exfat", "-L", "fsbench", "-c", "131072", "-b", "4194304", "/dev/x"]
    )
    assert mount_command("exfat", options, "/dev/x", "/m") == (
        ["mount", "-t", "exfat", "-o", "discard", "/dev/x", "/m"]
    )
    options = validated_options("ntfs3", {"compression": "on", "prealloc": "on"})
    assert mkfs_command("ntfs3", options, "/dev/x") == (
        ["mkntfs", "-q", "-Q", "-F", "-L", "fsbench", "-C", "/dev/x"]
    )
    assert mount_command("ntfs3", options, "/dev/x", "/m") == (
        ["mount", "-t", "ntfs3", "-o", "prealloc", "/dev/x", "/m"]
    )
    for slug, wrong in (("exfat", "512; rm"), ("ntfs3", "131072")):
        with pytest.raises(OptionError, match="is not one of 4096"):
            validated_options(slug, {"cluster_size": wrong})


@pytest.mark.parametrize(
    ("slug", "options", "label"),
    [
        ("exfat", {"cluster_size": "32768", "boundary_alignment": "4096"}, "c32768_align4096"),
        ("exfat", {"atime": "noatime", "online_discard": "on"}, "noatime_discard"),
        ("ntfs3", {"cluster_size": "65536"}, "c65536"),
        ("ntfs3", {"compression": "on", "prealloc": "on"}, "compressed_prealloc"),
    ],
)
def test_labels_are_read_back(slug: str, options: dict[str, str], label: str) -> None:
    whole = configuration_label(slug, options, "none")
    assert whole == f"{slug}_{label}_none"
    parts = parse_label(whole)
    assert parts is not None
    assert (parts.filesystem, dict(parts.options)) == (slug, options)


def test_which_workloads_miss_something_on_exfat() -> None:
    refused = {
        slug for slug, preset in presets().items() if workload_problem("exfat", preset.workload())
    }
    assert refused == NOT_ON_EXFAT
    complete = [slug for slug, spec in FILESYSTEMS.items() if not spec.lacks]
    assert set(FILESYSTEMS) - set(complete) == {"exfat"}
    for preset in presets().values():
        assert not any(workload_problem(slug, preset.workload()) for slug in complete)


def test_nothing_is_planned_of_what_would_fail() -> None:
    links = presets()["container-image-small"].workload()
    with pytest.raises(OptionError) as caught:
        run_commands("exfat", {}, links, "/dev/x", "/m", makes_filesystem=True)
    assert str(caught.value) == (
        "Container image needs symbolic links and hard links, and exFAT has none: choose another "
        "workload, or leave exFAT out."
    )
    assert run_commands("ntfs3", {}, links, "/dev/x", "/m", makes_filesystem=True)
