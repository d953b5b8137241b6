"""What a multipath device is leased as: the name that its disk has on every host."""

import pytest

from runner.safety import lun_identity


@pytest.mark.parametrize(
    ("uuid", "disk"),
    [
        ("mpath-3600508b1001c0001", "WWN 0x600508b1001c0001"),
        ("part2-mpath-3600508b1001c0001", "WWN 0x600508b1001c0001"),
        ("mpath-eui.0025385b01404c6d", "WWN eui.0025385b01404c6d"),
        ("part1-mpath-uuid.6e8ac1b2-0000", "WWN uuid.6e8ac1b2-0000"),
        ("mpath-20025385b01404c6d", "WWN 20025385b01404c6d"),
        ("mpath-0QEMU_QEMU_HARDDISK_drive-scsi0", ""),
        ("LVM-6xCwDx", ""),
    ],
)
def test_the_disk_of_a_multipath_device_is_named_as_on_other_hosts(uuid: str, disk: str) -> None:
    """lsblk(8) calls an NVMe namespace without multipath eui.0025385b01404c6d as well."""
    assert lun_identity.shared_disk({"kind": "device", "uuid": uuid}) == disk


def test_what_the_paths_say_goes_first() -> None:
    found = {"kind": "device", "uuid": "mpath-1Linux_scsi_debug_2000", "wwn": "0x33333330000007d0"}
    assert lun_identity.shared_disk(found) == "WWN 0x33333330000007d0"
