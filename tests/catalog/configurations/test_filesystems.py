"""The allow-list: argument lists are built from closed lists, and nothing else gets in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    OWN_LABEL,
    Filesystem,
    OptionError,
    filesystem,
    validated_options,
)


def test_mkfs_and_mount_get_their_own_options() -> None:
    options = {"block_size": "4096", "journal_mode": "writeback", "atime": "noatime"}
    assert mkfs_command("ext4", options, "/dev/loop7") == [
        *("mkfs.ext4", "-q", "-F", "-L", OWN_LABEL),
        *("-E", "lazy_itable_init=0,lazy_journal_init=0", "-b", "4096", "/dev/loop7"),
    ]
    assert mount_command("ext4", options, "/dev/loop7", "/mnt/x") == [
        *("mount", "-t", "ext4", "-o", "data=writeback,noatime", "/dev/loop7", "/mnt/x")
    ]


def test_without_options_the_tools_defaults_are_used() -> None:
    assert mkfs_command("xfs", {}, "/dev/loop7") == [
        *("mkfs.xfs", "-q", "-f", "-L", OWN_LABEL, "/dev/loop7")
    ]
    assert mount_command("xfs", {}, "/dev/loop7", "/m") == [
        *("mount", "-t", "xfs", "/dev/loop7", "/m")
    ]


def test_a_number_becomes_part_of_one_argument() -> None:
    assert "-dagcount=16" in mkfs_command("xfs", {"agcount": 16}, "/dev/loop7")


def test_empty_values_are_the_tools_default() -> None:
    assert validated_options("ext4", {"atime": "", "journal_mode": None, "inode_size": "256"}) == {
        "inode_size": "256"
    }


@pytest.mark.parametrize(
    "value",
    [1, 513, -4, 4.0, True, "4 ", "+4", "0x10", "٤", "4\n", "1e2", [], "9" * 30, "9" * 5000],
)
def test_a_number_out_of_bounds_or_form_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match="2 to 512"):
        validated_options("xfs", {"agcount": value})


def test_what_is_unknown_is_refused_with_what_there_is() -> None:
    with pytest.raises(OptionError, match="it can make ext2, ext3, ext4, xfs, btrfs"):
        filesystem("ntfs")
    with pytest.raises(OptionError, match="it has data_profile"):
        validated_options("btrfs", {"agcount": 4})


@given(
    st.sampled_from(list(FILESYSTEMS)),
    st.dictionaries(st.text(max_size=12), st.text(max_size=20), max_size=3),
)
def test_no_text_of_a_user_becomes_an_argument(slug: str, options: dict[str, str]) -> None:
    try:
        cleaned = validated_options(slug, options)
    except OptionError:
        return
    spec = filesystem(slug)
    for key, value in cleaned.items():
        assert spec.option(key).choice(value).value == value


@pytest.mark.parametrize("spec", FILESYSTEMS.values(), ids=lambda spec: spec.slug)
def test_keys_are_unique_and_labels_hold_no_separator(spec: Filesystem) -> None:
    keys = [option.key for option in spec.options]
    assert len(keys) == len(set(keys))
    for option in spec.options:
        assert option.stage in ("mkfs", "mount")
        assert bool(option.choices) != (option.minimum is not None)
        for choice in option.choices:
            assert "_" not in choice.label
