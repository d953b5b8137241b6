"""What the tests rely on in each other: see tests/conftest.py."""

import gc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conftest import LANES, LONG, place_of

TESTS = Path(__file__).parent


def test_no_example_is_too_slow() -> None:
    assert settings().deadline is None


def test_garbage_is_collected_once_the_tests_are() -> None:
    assert gc.isenabled()


@pytest.mark.parametrize("name", [*(name for names in LANES.values() for name in names), *LONG])
def test_what_has_its_place_is_there(name: str) -> None:
    assert list(TESTS.glob(f"{name.rstrip('/')}*"))


def test_what_takes_longest_begins_first() -> None:
    counts = Counter(
        {
            "tests/platform/http/test_proxies.py": 9,
            "tests/platform/test_settings.py": 80,
            "tests/test_rights.py": 38,
            "tests/deploy/test_backup.py": 3,
            "tests/deploy/test_stack.py": 2,
        }
    )
    files = ["rights", "settings", "proxies"]
    with_lanes = sorted(counts, key=lambda path: place_of(path, counts, True))
    assert [Path(path).stem[5:] for path in with_lanes] == ["backup", "stack", *files]
    without = sorted(counts, key=lambda path: place_of(path, counts, False))
    assert [Path(path).stem[5:] for path in without] == [*files, "backup", "stack"]


def test_what_has_a_server_comes_before_what_keeps_the_lock(request: pytest.FixtureRequest) -> None:
    """Of a file's rows SQLite's lock for writing is kept until the file ends: its server waited."""
    keeps = set()
    for item in request.session.items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "module_db" in fixtures:
            keeps.add(item.path)
        assert item.path not in keeps or "site" not in fixtures, item.nodeid
