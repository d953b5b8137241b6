"""What is written down of the file system that a run mounted."""

from typing import Any

import pytest

from runner.execution.environment import environment_facts
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
