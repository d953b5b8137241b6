"""What the tests rely on in each other: see tests/conftest.py."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.conftest import GROUPS, LONG, ON_SQLITE_TOO

TESTS = Path(__file__).parent
STARTS = [*(start for starts in GROUPS.values() for start in starts), *LONG, *ON_SQLITE_TOO]


def test_no_example_is_too_slow() -> None:
    assert settings().deadline is None


@pytest.mark.parametrize("start", STARTS)
def test_what_is_listed_is_there(start: str) -> None:
    assert list(TESTS.glob(f"{start.rstrip('/')}*"))


def test_what_has_a_server_comes_before_what_keeps_the_lock(request: pytest.FixtureRequest) -> None:
    """Of a file's rows SQLite's lock for writing is kept until the file ends: its server waited."""
    keeps = set()
    for item in request.session.items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "module_db" in fixtures:
            keeps.add(item.path)
        assert item.path not in keeps or "site" not in fixtures, item.nodeid
