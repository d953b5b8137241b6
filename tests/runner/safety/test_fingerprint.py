"""Where a disk is plugged in, as sysfs has it: what is counted anew by each boot is left out."""

import subprocess
from pathlib import Path

import pytest

from runner.safety.extended_stat import ExtendedStat
from runner.safety.fingerprint import _slot, birth_time

PCI = "/sys/devices/pci0000:00/0000:00:10.0"


@pytest.mark.parametrize(
    ("folder", "slot"),
    [
        (f"{PCI}/host2/target2:0:0/2:0:0:0/block/sdb", "pci0000:00/0000:00:10.0/0:0:0"),
        (f"{PCI}/host7/target7:0:1/7:0:1:0/block/sdb", "pci0000:00/0000:00:10.0/0:1:0"),
        (f"{PCI}/host2/target2:0:1/2:0:1:3/block/sdc", "pci0000:00/0000:00:10.0/0:1:3"),
        (f"{PCI}/virtio3/block/vda", "pci0000:00/0000:00:10.0"),
        ("/sys/devices/virtual/block/loop0", ""),
    ],
)
def test_a_place_is_the_same_after_a_reboot_and_no_other_disks(folder: str, slot: str) -> None:
    assert _slot(Path(folder)) == slot


def test_namespaces_of_one_nvme_controller_are_two_places(tmp_path: Path) -> None:
    places = set()
    for number in ("1", "2"):
        folder = tmp_path / f"devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n{number}"
        folder.mkdir(parents=True)
        (folder / "nsid").write_text(f"{number}\n")
        places.add(_slot(folder))
    assert places == {
        "pci0000:00/0000:00:05.0/nvme/namespace 1",
        "pci0000:00/0000:00:05.0/nvme/namespace 2",
    }


@pytest.mark.parametrize("folder", ["/dev/shm", "/proc/self"])
def test_when_a_file_was_made_is_written_as_the_stat_program_writes_it(
    folder: str, tmp_path: Path
) -> None:
    """Runs that wait were confirmed with its words; /proc does not know."""
    for path in (tmp_path, Path(folder)):
        printed = subprocess.run(
            ["stat", "--format=%.9W", path], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert birth_time(path) == (printed if printed.strip("0.") else "")


@pytest.mark.parametrize(
    ("seconds", "billionths", "text"),
    [(3, 45, "3.000000045"), (-2, 500_000_000, "-1.500000000"), (0, 0, "")],
)
def test_when_a_file_was_made_before_1970(
    seconds: int, billionths: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(status: ExtendedStat, *_: object) -> bool:
        status.mask, status.made_s, status.made_ns = 0x800, seconds, billionths
        return True

    monkeypatch.setattr(ExtendedStat, "read", read)
    assert birth_time(Path("/")) == text
