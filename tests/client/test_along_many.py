"""``check --along`` of several lines: which changes are left when all are judged at once."""

import importlib
from typing import Any

import pytest

from tests.client.conftest import CLIENT


def row(name: str, *changes: tuple[float, bool], result: str = "") -> dict[str, Any]:
    """A judged line with changes of (p-value, whether it got slower), the oldest first."""
    judged = [
        {"p_value": p, "is_slower": slower, "to": str(place), "change_percent": -12.0}
        for place, (p, slower) in enumerate(changes)
    ]
    outcome = result or (
        "no change" if not judged else "fell" if judged[-1]["is_slower"] else "rose"
    )
    return {
        "configuration": name,
        "changes": judged,
        "change": judged[-1] if judged else None,
        "result": outcome,
        "reason": "",
    }


@pytest.fixture
def corrected(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(CLIENT))
    return importlib.import_module("fsbench.over_time").with_correction


def results(rows: list[dict[str, Any]]) -> list[str]:
    return [line["result"] for line in rows]


def test_one_line_is_judged_as_by_itself(corrected) -> None:  # type: ignore[no-untyped-def]
    [only] = corrected([row("a", (0.049, True))])
    assert (only["result"], only["q_value"], only["tested"]) == ("fell", 0.049, 1)


def test_what_one_line_shows_may_be_chance_among_many(corrected) -> None:  # type: ignore[no-untyped-def]
    rows = corrected([row("a", (0.01, True)), *(row(str(n)) for n in range(9))])
    assert results(rows) == ["no change"] * 10
    assert rows[0]["change"] is None
    assert rows[0]["q_value"] == pytest.approx(0.1)
    assert rows[0]["reason"].startswith("a change to slower at 0 is not sure among 10")


def test_a_sure_fall_stays_one_among_many(corrected) -> None:  # type: ignore[no-untyped-def]
    rows = corrected([row("a", (0.001, True)), *(row(str(n)) for n in range(9))])
    assert results(rows) == ["fell", *["no change"] * 9]
    assert (rows[0]["q_value"], rows[0]["tested"]) == (pytest.approx(0.01), 10)
    assert rows[1]["q_value"] is None


def test_the_false_discovery_rate_decides(corrected) -> None:  # type: ignore[no-untyped-def]
    rows = corrected([row("a", (0.03, True)), row("b", (0.001, False)), row("c", (0.04, True))])
    assert results(rows) == ["fell", "rose", "fell"]
    assert [line["q_value"] for line in rows] == [pytest.approx(q) for q in (0.04, 0.003, 0.04)]


def test_lines_that_cannot_be_judged_are_not_tested(corrected) -> None:  # type: ignore[no-untyped-def]
    rows = corrected([row("a", (0.03, True)), row("b", result="not known")])
    assert results(rows) == ["fell", "not known"]
    assert (rows[0]["q_value"], rows[0]["tested"], rows[1]["tested"]) == (0.03, 1, None)


def test_an_unsure_recovery_hides_no_sure_fall(corrected) -> None:  # type: ignore[no-untyped-def]
    rows = corrected([row("a", (1e-9, True), (0.03, False)), row("b")])
    assert results(rows) == ["fell", "no change"]
    assert rows[0]["change"]["to"] == "0"
    assert rows[0]["q_value"] == pytest.approx(2e-9)
    assert "a change to faster at 1 is not sure" in rows[0]["reason"]


def test_the_least_sure_change_goes_first(corrected) -> None:  # type: ignore[no-untyped-def]
    """b's recovery is not sure, but its fall is; a's fall is then one of two sure changes."""
    rows = corrected([row("a", (0.03, True)), row("b", (1e-9, True), (0.034, False)), row("c")])
    assert results(rows) == ["fell", "fell", "no change"]
    assert rows[0]["q_value"] == pytest.approx(0.045)
