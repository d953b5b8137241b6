"""What a run adds to a tool: how blocks are paired and answered
(benchmarks/overhead/paired_runs.py)."""

import math
import random
from pathlib import Path

import pytest

from benchmarks.overhead import paired_blocks, paired_control, paired_runs, sampling_within
from benchmarks.overhead.paired_blocks import Blocks, Control, RatioEstimate, of_block


@pytest.mark.parametrize("order", ["ABBA", "BAAB"])
def test_a_straight_drift_within_a_block_changes_neither_ratio_nor_control(order: str) -> None:
    drift = [1.0, 1.1, 1.21, 1.331]
    rates = [(0.98 if side == "B" else 1.0) * by for side, by in zip(order, drift, strict=True)]
    ratio, control = of_block(order, rates)
    assert math.exp(ratio) == pytest.approx(0.98)
    assert math.exp(control) == pytest.approx(1)


def test_the_control_is_what_one_side_changed_by_and_the_other_did_not() -> None:
    """In the mean over both orders; what a place does to both sides alike cancels there."""

    def mean(a_changes: float, b_changes: float, *places: float) -> float:
        controls = []
        for order in ("ABBA", "BAAB"):
            logs = list(places)
            logs[order.rindex("A")] += a_changes
            logs[order.rindex("B")] += b_changes
            controls.append(of_block(order, [math.exp(log) for log in logs])[1])
        return sum(controls) / 2

    assert mean(0.03, 0, 0, 0, 0, 0) == pytest.approx(0.03)
    assert mean(0.03, 0.03, 0, 0, 0, 0) == pytest.approx(0)
    assert mean(0, 0.02, 0, 0, 0, 0) == pytest.approx(-0.02)
    assert mean(0, 0, -0.5, 0, 0.1, 0.1) == pytest.approx(0)


@pytest.mark.parametrize(("name", "is_refused"), [("1% a run, straight", 0), ("runs after B", 1)])
def test_a_session_is_refused_for_what_one_side_leaves_behind_not_for_a_drift(
    name: str, is_refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself is benchmarks/overhead/paired_control.py; here 20 of its sessions."""
    monkeypatch.setattr(paired_control, "TRIALS", 20)
    disturbances = {**paired_control.ALIKE, **paired_control.OF_ONE_SIDE}
    added = next(
        disturbance for title, disturbance in disturbances.items() if title.startswith(name)
    )
    refused, *_ = paired_control.percent(paired_control._normal, added)
    assert refused >= 90 if is_refused else refused <= 10


def test_all_controls_together_have_95_percent(capsys: pytest.CaptureFixture[str]) -> None:
    values = [-0.3, *(0.01 * number for number in range(1, 8))]
    of_one, of_two = Control.of(values, 1), Control.of(values, 2)
    assert (of_one.level, of_two.level) == (0.95, 0.975)
    assert of_two.low < of_one.low
    assert of_two.high >= of_one.high
    assert [paired_blocks.least_blocks(jobs) for jobs in (1, 2, 3)] == [6, 7, 7]
    with pytest.raises(ValueError, match=r"6 blocks .* 97.5%"):
        Control.of(values[:6], 2)
    calm = {job: [0.001 * (number % 3 - 1) for number in range(12)] for job in paired_runs.JOBS}
    changed = {job: [log + 0.02 for log in logs] for job, logs in calm.items()}
    assert paired_blocks.report(Blocks(calm, calm, calm, [1.0]), "B / A", 1.0)
    assert "2 at 97.5% each" in capsys.readouterr().out
    assert not paired_blocks.report(Blocks(calm, changed, calm, [1.0]), "B / A", 1.0)
    assert "nothing is shown" in capsys.readouterr().out


def test_one_block_that_was_disturbed_does_not_make_the_interval_wide() -> None:
    lot = random.Random(1)
    calm = [math.log(0.995) + lot.gauss(0, 0.01) for _ in range(29)]
    estimate = RatioEstimate.of([*calm, math.log(0.3)])
    assert estimate.low < 0.995 < estimate.high
    assert estimate.half_width_percent < 0.5
    assert 50 * (estimate.student[2] - estimate.student[1]) > 3


def test_thirty_blocks_tell_one_percent_where_runs_scatter_by_two_and_a_half() -> None:
    """What the design promises: the half-width is at most 1% in nearly all of 200 trials."""
    lot = random.Random(2)
    widths, held = [], 0
    for _ in range(200):
        blocks = [
            of_block("ABBA", [math.exp(lot.gauss(0, 0.025)) for _ in "ABBA"])[0] for _ in range(30)
        ]
        estimate = RatioEstimate.of(blocks)
        widths.append(estimate.half_width_percent)
        held += estimate.low <= 1 <= estimate.high
    assert sum(width <= 1.15 for width in widths) > 180
    assert sum(widths) / 200 < 1
    assert held >= 182


def test_too_few_blocks_are_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="5 blocks"):
        RatioEstimate.of([0.0, 0.01, 0.02, 0.03, 0.04])
    short = {job: [0.01, 0.02] for job in paired_runs.JOBS}
    assert not paired_blocks.report(Blocks(short, short, short, [10.0, 12.0]), "B / A", 1.0)
    assert "2 blocks are too few, 7 are the least" in capsys.readouterr().out


def test_the_work_of_a_second_of_a_processor_is_apart_from_speed() -> None:
    output = '{"jobs": [{"read": {"bw": 0}, "write": {"bw": 1000}, "usr_cpu": 10, "sys_cpu": 30}]}'
    assert paired_runs.rates_of(output) == paired_runs.Rates(1000, 2500)


def test_a_new_block_is_not_begun_where_it_would_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(paired_runs.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("runner.host.hardware.drop_caches", lambda: True)
    same = lambda job: paired_runs.Rates(1.0, 1.0)  # noqa: E731
    blocks = paired_runs.in_blocks(same, same, 30, minutes=2)
    assert {len(ratios) for ratios in blocks.speed.values()} == {4}


def test_windows_of_one_run_are_sampled_on_one_side_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rate is of its own window, from counts at both of its ends."""
    sectors = iter([0, 2000, 3800, 5600, 7600])
    times = iter(range(5))
    events: list[str] = []

    def counts(counted: Path, pid: int) -> tuple[float, int, float]:
        events.append("counted")
        at = next(times)
        return float(at), next(sectors), 0.5 * at

    monkeypatch.setattr(sampling_within, "_counts", counts)
    monkeypatch.setattr(sampling_within, "_sleep_until", lambda moment: None)
    rates = list(sampling_within._windows("ABBA", lambda: events.append("sample"), "/dev/x", 1))
    assert [rate.speed for rate in rates] == [1000.0, 900.0, 900.0, 1000.0]
    assert [rate.work for rate in rates] == [2000.0, 1800.0, 1800.0, 2000.0]
    sampled = ["sample", "counted"]
    assert events == ["counted", "counted", *sampled, *sampled, "counted"]
    assert math.exp(of_block("ABBA", [rate.speed for rate in rates])[0]) == pytest.approx(0.9)
