"""What the command line works out by itself is what the site works out."""

import importlib
from types import ModuleType

import pytest

from fsbench_web.core.stats import changes, verdicts
from tests.client.conftest import CLIENT


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(CLIENT))

    def client_module(name: str) -> ModuleType:
        return importlib.import_module(f"fsbench.{name}")

    return client_module


def test_a_p_value_that_is_not_known_is_a_dash(module) -> None:  # type: ignore[no-untyped-def]
    assert module("terminal").probability(None) == "–"


def test_a_change_counts_below_the_level_of_the_site(module) -> None:  # type: ignore[no-untyped-def]
    assert changes.LEVEL == verdicts.FALSE_ALARM == module("terminal").LIMIT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23e-6, "0.00000123"),
        (4.56e-6, "0.00000456"),
        (0.0012374, "0.00124"),
        (0.04996, "0.0500"),
        (2e-30, "2e-30"),
        (0.0, "0.0000"),
        (0.25, "0.2500"),
        (12.345, "12.35"),
        (333_045.4, "333,045"),
        (None, "–"),
    ],
)
def test_what_was_measured_is_never_written_as_zero(module, value, text) -> None:  # type: ignore[no-untyped-def]
    number = module("terminal").number
    assert number(value) == text
    assert number(value, "s") == (text if value is None else f"{text} s")


def test_no_difference_has_no_sign(module) -> None:  # type: ignore[no-untyped-def]
    assert module("terminal").percent(0.0) == "0.0%"
    assert module("terminal").delta(-0.04) == "−0.04%"
