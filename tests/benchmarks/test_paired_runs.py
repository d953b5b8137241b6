"""What a run adds to a tool: how blocks are paired and answered (benchmarks/paired_runs.py)."""

import math
import random

import pytest

from benchmarks import paired_runs
from benchmarks.paired_runs import Found, of_block


@pytest.mark.parametrize("order", ["ABBA", "BAAB"])
def test_a_straight_drift_within_a_block_changes_no_ratio(order: str) -> None:
    drift = [1.0, 1.1, 1.21, 1.331]
    rates = [(0.98 if side == "B" else 1.0) * by for side, by in zip(order, drift, strict=True)]
    ratio, control = of_block(order, rates)
    assert math.exp(ratio) == pytest.approx(0.98)
    assert math.exp(control) == pytest.approx(1.331 if order == "ABBA" else 1.1)


def test_one_block_that_was_disturbed_does_not_make_the_interval_wide() -> None:
    lot = random.Random(1)
    calm = [math.log(0.995) + lot.gauss(0, 0.01) for _ in range(29)]
    found = Found.of([*calm, math.log(0.3)])
    assert found.low < 0.995 < found.high
    assert found.known_to_percent < 0.5
    assert 50 * (found.student[2] - found.student[1]) > 3


def test_thirty_blocks_tell_one_percent_where_runs_scatter_by_two_and_a_half() -> None:
    """What the design promises: the half-width is at most 1% in nearly all of 200 trials."""
    lot = random.Random(2)
    widths, held = [], 0
    for _ in range(200):
        blocks = [
            of_block("ABBA", [math.exp(lot.gauss(0, 0.025)) for _ in "ABBA"])[0] for _ in range(30)
        ]
        found = Found.of(blocks)
        widths.append(found.known_to_percent)
        held += found.low <= 1 <= found.high
    assert sum(width <= 1.15 for width in widths) > 180
    assert sum(widths) / 200 < 1
    assert held >= 182


def test_fewer_than_six_blocks_are_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="6 blocks"):
        Found.of([0.0, 0.01, 0.02, 0.03, 0.04])
    short = {job: [0.01, 0.02] for job in paired_runs.JOBS}
    found = paired_runs.Blocks(short, short, short, [10.0, 12.0])
    assert not paired_runs.told(found, "B / A", 1.0)
    assert "2 blocks are too few" in capsys.readouterr().out


def test_the_work_of_a_second_of_a_processor_is_apart_from_speed() -> None:
    said = '{"jobs": [{"read": {"bw": 0}, "write": {"bw": 1000}, "usr_cpu": 10, "sys_cpu": 30}]}'
    assert paired_runs.rates_of(said) == paired_runs.Rates(1000, 2500)


def test_a_new_block_is_not_begun_where_it_would_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(paired_runs.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("runner.host.hardware.drop_caches", lambda: True)
    same = lambda job: paired_runs.Rates(1.0, 1.0)  # noqa: E731
    found = paired_runs.in_blocks(same, same, 30, minutes=2)
    assert {len(ratios) for ratios in found.speed.values()} == {4}
