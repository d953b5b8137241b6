"""What the tests rely on in each other: see tests/conftest.py."""

from hypothesis import settings


def test_no_example_is_too_slow() -> None:
    assert settings().deadline is None
