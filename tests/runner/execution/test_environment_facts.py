"""What is written down of the file system that a run mounted."""

import os
from typing import Any

import pytest

from runner import worker
from runner.execution.environment import environment_facts
from runner.safety import blockdev
from tests.runner import fake


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"filesystem": "zfs", "arc_max_bytes": 96 * 2**20}, "96 MiB"),
        # An image of before says nothing, and what it does not say is not known.
        ({"filesystem": "zfs"}, None),
        ({"filesystem": "zfs", "arc_max_bytes": 0}, None),
        ({"filesystem": "ext4", "arc_max_bytes": 96 * 2**20}, None),
    ],
)
def test_the_limit_of_the_arc_is_a_fact_of_zfs(
    fields: dict[str, Any], expected: str | None
) -> None:
    mounted = {"options": "rw,noatime"} | fields
    facts = environment_facts(fake.environment(), fake.FakeExecutor(), [], "none", mounted)
    assert dict(facts["File system"]).get("Most memory of the cache (ARC)") == expected


def test_a_lun_names_the_firmware_of_its_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As lsblk(8) says of an NVMe disk: a changed firmware is then an event of a line."""
    said = '{"blockdevices": [{"serial": "S4EV", "wwn": null, "model": "SSD 990", "rev": "4B2Q"}]}'
    monkeypatch.setattr(blockdev, "run_tool", lambda *argv: said)
    assert list(worker._identity_of_device(os.makedev(7, 0))) == [
        *(("Model", "SSD 990"), ("Firmware", "4B2Q"), ("Serial", "S4EV")),
    ]
