"""Which fingerprints are of one device: the judgement alone."""

from typing import Any

import pytest

from runner.safety import lun_identity

DISK = {"kind": "device", "size_bytes": 500, "slot": "pci/5", "boot": "a", "disk": "17"}
NAMED = DISK | {"serial": "S3Z", "wwn": "0x5002"}
CLONE = DISK | {"partition": "1 at 2048", "partuuid": "of the template"}
FILE = {"kind": "sparse-file", "size_bytes": 500, "inode": "12", "born": "1.5", "mark": "ab"}


@pytest.mark.parametrize(
    ("confirmed", "current", "is_same"),
    [
        (NAMED, NAMED | {"slot": "pci/6", "boot": "b", "disk": "3"}, True),
        (NAMED, NAMED | {"serial": "S4A"}, False),
        (NAMED, NAMED | {"size_bytes": 501}, False),
        (NAMED, DISK, False),
        (DISK, NAMED, True),
        (DISK, DISK | {"disk": "18"}, False),
        (DISK, DISK | {"boot": "b", "disk": "1"}, True),
        (DISK, DISK | {"boot": "b", "slot": "pci/6"}, False),
        ({"kind": "device", "size_bytes": 500}, {"kind": "device", "size_bytes": 500}, False),
        (DISK | {"partition": "1 at 2048"}, DISK | {"partition": "2 at 4096"}, False),
        (CLONE, CLONE | {"slot": "pci/6", "disk": "18"}, False),
        (FILE, FILE, True),
        (FILE, FILE | {"born": "2.5"}, False),
        (FILE, FILE | {"mark": "cd"}, False),
        (FILE, FILE | {"kind": "device"}, False),
    ],
    ids=[
        *("plugged in elsewhere", "another serial", "another size", "its name is gone"),
        *("its name is known now", "replaced", "after a reboot", "after a reboot elsewhere"),
        *(
            "nothing known",
            "another partition",
            "of one template",
            "file",
            "made again",
            "restored",
            "another kind",
        ),
    ],
)
def test_is_same(confirmed: dict[str, Any], current: dict[str, Any], is_same: bool) -> None:
    assert lun_identity.is_same(confirmed, current) == is_same
    difference = lun_identity.difference("array1", confirmed, current)
    assert (difference == "") == is_same
    if difference:
        assert lun_identity.in_words(confirmed) in difference
        assert lun_identity.in_words(current) in difference


def test_words() -> None:
    assert lun_identity.in_words(NAMED) == "serial S3Z, WWN 0x5002, 500 bytes"
    assert "disk 17 since the host was booted at pci/5" in lun_identity.in_words(DISK)
    assert "made 1970-01-01 00:00:01.5 UTC" in lun_identity.in_words(FILE)
    assert lun_identity.in_words({}) == "nothing is known of it"


def test_what_was_not_kept_is_refused() -> None:
    assert "Submit it again" in lun_identity.difference("array1", {}, NAMED)


def test_a_page_is_known_by_what_it_showed() -> None:
    assert lun_identity.digest([NAMED]) == lun_identity.digest([dict(reversed(NAMED.items()))])
    assert lun_identity.digest([NAMED]) != lun_identity.digest([DISK])
    assert lun_identity.digest([NAMED, DISK]) != lun_identity.digest([DISK, NAMED])
