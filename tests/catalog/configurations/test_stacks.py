"""Stacks in labels, digests and words; and that nothing of before is another one for them."""

import hashlib

import pytest
from django.core.management import call_command

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.options import OptionError
from fsbench_web.catalog.configurations.records import configuration_for, from_label
from fsbench_web.catalog.configurations.stacks import (
    PLAIN_SHAPE,
    LunCounts,
    Stack,
    in_words,
    members_in,
    stack_of,
)
from fsbench_web.catalog.models import FilesystemConfiguration

RAID1 = {"data_profile": "raid1", "metadata_profile": "raid1"}


@pytest.mark.django_db
def test_configurations_of_before_keep_their_digests() -> None:
    """As they were stored before there were stacks: one made, and all of the published studies, of
    which four have their printed label in the digest."""
    call_command("load_published", verbosity=0)
    rows = FilesystemConfiguration.objects.values_list("label", "digest")
    listing = "\n".join(sorted(f"{label} {digest}" for label, digest in rows))
    assert (len(rows), hashlib.sha256(listing.encode()).hexdigest()) == (
        14,
        "2741ba6b3793e5b7c3131564f127e08eedc5e3785bfb49d5ee5eece225865a41",
    )
    text = (
        '{"external_journal":false,"filesystem":"ext4","is_known":true,'
        '"options":{"atime":"noatime"},"scheduler":"none"}'
    )
    configuration = configuration_for("ext4", {"atime": "noatime"}, "none")
    assert configuration.digest == hashlib.sha256(text.encode()).hexdigest()
    assert (configuration.label, configuration.stack) == ("ext4_noatime_none", {})


@pytest.mark.django_db
def test_a_stack_is_part_of_a_configuration() -> None:
    alone = configuration_for("btrfs", {})
    two, three = (configuration_for("btrfs", {}, shape=LunCounts(data=n)) for n in (2, 3))
    assert len({alone.digest, two.digest, three.digest}) == 3
    assert (two.label, two.stack) == ("btrfs_2luns", {"data": 2})
    assert configuration_for("btrfs", {}, shape=LunCounts(data=2)).pk == two.pk
    assert from_label("btrfs_data-raid1_meta-raid1_2luns_dl").stack == {"data": 2}
    assert not from_label("btrfs_2luns_3luns").is_known


@pytest.mark.parametrize(
    "shape",
    [
        PLAIN_SHAPE,
        LunCounts(data=2),
        LunCounts(data=12),
        LunCounts(1, 1, 2, 3),
        LunCounts(4, cache=1),
    ],
)
def test_labels_and_rows_say_the_same_stack(shape: LunCounts) -> None:
    label = configuration_label("btrfs", RAID1, "mq-deadline", False, shape)
    parts = parse_label(label)
    assert parts is not None
    assert (parts.shape, parts.options, parts.scheduler) == (shape, RAID1, "mq-deadline")
    assert LunCounts.of(shape.stored()) == shape


@pytest.mark.parametrize("word", ["1luns", "0luns", "02luns", "luns", "2lun", "100luns"])
def test_what_is_no_part_of_a_label_is_not_known(word: str) -> None:
    assert parse_label(f"btrfs_{word}") is None


@pytest.mark.parametrize("stored", [{"data": "2"}, {"disks": 2}, {"data": True}])
def test_a_stack_of_another_version_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="another version"):
        LunCounts.of(stored)


def test_members_are_told_by_role_and_read_again() -> None:
    stack = Stack(luns=("disk2", "disk3"), cache=("fast",))
    assert stack.words == "disk2,disk3 cache=fast"
    assert members_in(stack.words) == list(stack.members)
    assert stack_of(members_in(stack.words)) == stack
    assert (in_words([]), members_in("")) == ("", [])
    assert LunCounts(2, cache=1).words == "2 LUNs, 1 for the cache"


def test_btrfs_names_every_device_when_it_is_made_and_mounted() -> None:
    mkfs = mkfs_command("btrfs", RAID1, "/dev/a", further=["/dev/b", "/dev/c"])
    assert mkfs[-7:] == ["-d", "raid1", "-m", "raid1", "/dev/a", "/dev/b", "/dev/c"]
    mounted = mount_command("btrfs", {"atime": "noatime"}, "/dev/a", "/mnt", further=["/dev/b"])
    assert mounted[-4:] == ["-o", "noatime,device=/dev/a,device=/dev/b", "/dev/a", "/mnt"]
    for slug in ("ext4", "xfs"):
        with pytest.raises(OptionError, match="made on one device"):
            mkfs_command(slug, {}, "/dev/a", further=["/dev/b"])


@pytest.mark.parametrize(
    ("slug", "options", "shape", "words"),
    [
        ("ext4", {}, LunCounts(data=2), "not over 2; Btrfs, bcachefs and OpenZFS take"),
        (
            "btrfs",
            {"data_profile": "raid1"},
            PLAIN_SHAPE,
            "made over 2 devices or more, and here over 1",
        ),
        ("btrfs", {"metadata_profile": "raid10"}, LunCounts(data=3), "made over 4 devices or more"),
        ("btrfs", {}, LunCounts(data=2, cache=1), "Nothing in this stack uses a LUN for the"),
    ],
)
def test_a_stack_that_cannot_be_is_refused_in_words(
    slug: str, options: dict[str, str], shape: LunCounts, words: str
) -> None:
    (conflict,) = option_conflicts(slug, options, None, shape=shape)
    assert words in conflict
    assert not list(option_conflicts("btrfs", RAID1, None, shape=LunCounts(data=2)))
