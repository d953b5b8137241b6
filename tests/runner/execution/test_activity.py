"""What is sampled during a run is kept with it, whole or as far as it came."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.simulations import seeded_causes
from fsbench_web.core.activity.costs import COSTS, Price, WindowedActivity, window_of
from fsbench_web.core.explanation import explained
from fsbench_web.core.workloads import presets, source_trees
from fsbench_web.studies.activity import pricing, records
from fsbench_web.studies.models import Run, RunState, Score
from runner.execution import finish
from runner.execution.spool import Spool
from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.executors.local import LocalExecutor
from runner.plan import RunPlan
from runner.worker import Host
from tests.measured import measured
from tests.runner import fake
from tests.runner.fake import FakeExecutor, message

pytestmark = pytest.mark.django_db
FIELDS = ["data.writes", "data.sectors_written", "data.flushes", "data.reads", "data.sectors_read"]


def samples() -> Iterator[dict[str, object]]:
    """Two seconds in which 4 MiB are written for the 2 MiB that were asked for."""
    yield dict(
        message("sampling", fields=FIELDS, absent=[["energy", "none"]], every_s=1, is_shared=False)
    )
    for at, part in enumerate((0.0, 0.5, 1.0)):
        values = [int(1000 + part * n) for n in (200, 8192, 4, 0, 0)]
        yield dict(message("sample", t=float(at), values=values, is_edge=at != 1))
    processes = {"rchar": 0.0, "wchar": 2.0 * 2**20, "syscr": 0.0, "syscw": 2000.0}
    for phase, start, end in (("benchmark", 0.0, 2.0), ("sync", 2.0, 2.0)):
        step = {"t0": start, "t1": end, "phase": phase, "output": "iozone.txt"}
        yield dict(message("step", **step, processes=processes))
    yield dict(message("space", used_before_bytes=0, used_after_bytes=9, files=1, contents_bytes=9))


def sampling(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
    for sample in samples():
        on_message(sample)
    return fake.succeed(plan, on_message, should_stop)


def test_costs_become_measurements_of_the_run(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    host = make_host(FakeExecutor(sampling))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.DONE, run.reason
    measured_costs = {row.test: (row.value, row.unit) for row in measured(run) if row.test in COSTS}
    assert measured_costs == {
        "write_amplification": (2.0, "B/B"),
        "mean_write_request": (8192 / 2 / 200, "KiB/request"),
        "flushes_per_1000_operations": (2.0, "flushes/1000 ops"),
    }
    run_activity = records.of_run(run.pk)
    assert run_activity is not None
    assert (run_activity.is_whole, run_activity.samples, run_activity.seconds) == (True, 3, 2.0)
    costs = {test: value for test, (value, _) in measured_costs.items()}
    assert run_activity.costs == costs | {"operations": 2000.0}
    scores = {score.test for score in run.series.scores.all()}
    assert {"write", "write_amplification"} <= scores


def test_a_run_that_fails_keeps_what_was_sampled_and_has_no_cost(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    def killed(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(fake.environment())
        for sample in list(samples())[:3]:
            on_message(sample)
        return Outcome(137, reason="The container was killed.")

    host = make_host(FakeExecutor(killed))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    run_activity = records.of_run(run.pk)
    assert run_activity is not None
    assert (run_activity.is_whole, run_activity.samples, run_activity.costs) == (False, 2, {})


def test_messages_that_make_no_sense_cost_the_samples_and_not_the_run(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    def confused(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(message("sampling", fields=["a", "a"], absent=[], every_s=1, is_shared=False))
        on_message(message("sample", t=0, values=[1], is_edge=True))
        on_message(message("step", t0=0, t1=1, phase="benchmark", output="", processes=None))
        return fake.succeed(plan, on_message, should_stop)

    host = make_host(FakeExecutor(confused))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.DONE, run.reason
    assert records.of_run(run.pk) is None


def test_a_killed_worker_keeps_what_was_sampled_until_then(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of the run is never written, and the next worker finds the spool."""

    class Killed(BaseException):
        """kill -9, as far as this thread is concerned."""

    def killed(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        for sample in list(samples())[:3]:
            on_message(sample)
        raise Killed

    host = make_host(FakeExecutor(killed))
    run = submitted(host)
    monkeypatch.setattr(Spool, "remove", lambda self: None)
    with pytest.raises(Killed):
        carry_out(run, host)
    (spool,) = host.spool_folder.iterdir()
    with spool.open("a") as file:
        file.write('{"message": {"type": "sam')
    assert finish.finish_spooled(host.spool_folder, lambda: False) == []
    run_activity = records.of_run(run.pk)
    assert run_activity is not None
    assert (run_activity.is_whole, run_activity.samples) == (False, 2)
    assert list(host.spool_folder.iterdir()) == []


@pytest.mark.root
def test_a_real_run_knows_what_its_work_cost(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    """IOzone writes each file twice; ext4 with its journal on writes somewhat more than one."""
    host = make_host(LocalExecutor())
    parameters = {
        **dict.fromkeys(("minimum_record_kb", "maximum_record_kb"), 64),
        **dict.fromkeys(("minimum_file_kb", "maximum_file_kb"), 8192),
    }
    run = carry_out(
        submitted(host, "ext4", scheduler="none", parameters=parameters | {"direct_io": True}),
        host,
    )
    assert run.state == RunState.DONE, run.reason
    run_activity = records.of_run(run.pk)
    assert run_activity is not None
    assert run_activity.is_whole
    assert 0.9 < run_activity.costs["write_amplification"] < 1.5
    assert 0.9 < run_activity.costs["read_amplification"] < 1.1
    assert 32 < run_activity.costs["mean_write_request"] <= 256
    activity = records.activity_of(run_activity)
    phases = ["mkfs", "mount", "benchmark", "sync", "unmount"]
    assert [step.phase for step in activity.steps] == phases
    assert [command["phase"] for command in run.commands] == phases


@pytest.mark.root
@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        ("source-copy-small", {"files": 2000}),
        ("maildir-small", {"processes": [1, 2]}),
    ],
)
def test_preparation_costs_nothing(
    preset: str,
    parameters: dict[str, Any],
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source tree is made beside the LUN, the mail spool on it, for each number of clients."""
    monkeypatch.setattr(source_trees, "FOLDER", str(tmp_path / "sources"))
    host, chosen = make_host(LocalExecutor()), presets()[preset]
    run = carry_out(
        submitted(
            host,
            "ext4",
            tool=chosen.tool,
            parameters={**chosen.parameters, **parameters},
            scheduler="none",
        ),
        host,
    )
    assert run.state == RunState.DONE, run.reason
    run_activity = records.of_run(run.pk)
    assert run_activity is not None
    activity = records.activity_of(run_activity)
    steps = [step for step in activity.steps if step.phase == "benchmark"]
    measured_s = sum(step.end_s - step.start_s for step in steps if step.output)
    prepared = [step for step in steps if not step.output]
    window = window_of(activity)
    assert window is not None
    assert window.is_settled
    for start_s, end_s in window.parts:
        assert not any(start_s < step.end_s and step.start_s < end_s for step in prepared)
    assert window.seconds >= measured_s
    written = sum(step.processes["wchar"] for step in steps if step.output)
    assert sum(step.processes["wchar"] for step in prepared) > written / 10
    grown = WindowedActivity(activity, window).of_devices("sectors_written")
    assert grown is not None
    assert run_activity.costs["write_amplification"] == pytest.approx(grown * 512 / written)
    assert run_activity.costs["write_amplification"] > 1.0


@pytest.mark.root
def test_a_seeded_cause_comes_first_of_real_runs(tmp_path: Path) -> None:
    """fsync after every fourth write, and no other difference: 128 flushes beside the few of any
    run, of which a busy machine has some more, because its journal is written in between.

    More of them: benchmarks.simulations.explanations.
    """
    job = "[w]\nrw=randwrite\nbs=16k\nsize=8m\nrandrepeat=0\n"
    with seeded_causes.loop_device(tmp_path) as device:
        sides = [
            [
                seeded_causes.carried_out(seeded_causes.Side(text), device).costs(str(block))
                for block in range(3)
            ]
            for text in (f"{job}fsync=4\n", job)
        ]
    explanation = explained(*sides)
    first = explanation.differences[0]
    assert first.cost.test == "flushes_per_1000_operations"
    assert first.ratio > 5


def test_runs_are_priced_when_and_whenever_a_price_is_stated(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    host = make_host(FakeExecutor(sampling))
    before = carry_out(submitted(host), host)
    box = before.series.hardware
    assert box is not None

    def prices() -> dict[tuple[int, str], float]:
        return {
            (row.run_id, row.test): row.value for row in measured() if row.test.startswith("price")
        }

    assert prices() == {}
    # 0.0001 for each second: two seconds for 2,000 operations.
    assert pricing.state_price(box, Price(6311.52, "EUR", 2.0)) == 1
    eur = "price_eur_per_million_operations"
    assert prices() == {(before.pk, eur): pytest.approx(0.1)}
    assert Score.objects.get(test=eur, category="mean").unit == "EUR/million ops"
    after = carry_out(submitted(host), host)
    assert prices() == {(run.pk, eur): pytest.approx(0.1) for run in (before, after)}
    # Another price takes the place of the first, and no other number goes.
    others = len(measured()) - 2
    assert pricing.state_price(box, Price(12623.04, "USD", 2.0)) == 2
    usd = "price_usd_per_million_operations"
    assert prices() == {(run.pk, usd): pytest.approx(0.2) for run in (before, after)}
    assert not Score.objects.filter(test=eur).exists()
    with pytest.raises(pricing.TooManyRuns, match="hardware_price"):
        pricing.state_price(box, None, limit=1)
    assert pricing.state_price(box, None) == 0
    assert prices() == {}
    assert len(measured()) == others
