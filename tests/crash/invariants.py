"""What must hold after any crash."""

import time
from collections import Counter

from fsbench_web.core.activity.costs import COSTS
from fsbench_web.studies.models import END_STATES, Lease, Run, RunState, Score
from runner.safety import blockdev
from tests.crash.lab import Lab
from tests.measured import measured
from tests.services.process import holds

SETTLE_S = 15


def assert_sound(lab: Lab, since: float, *runs: Run) -> None:
    """No LUN stuck, nothing left over, nothing lost, nothing twice. ``since``: time.time() before.

    Ends with a new run on the LUN, which must succeed.
    """
    again = lab.submit()
    lab.wait_until(lambda: not Run.objects.exclude(state__in=END_STATES).exists(), timeout_s=120)
    again.refresh_from_db()
    assert again.state == RunState.DONE, again.reason
    assert not Lease.objects.exclude(run=None).exists()
    _assert_nothing_is_left(lab)
    for run in (*runs, again):
        _assert_its_numbers_are_whole(run)
        _assert_it_ran_once(lab, since, run)
    for series in {run.series_id for run in runs}:
        _assert_every_run_is_scored(series)


def _assert_every_run_is_scored(series: int) -> None:
    """Of all runs that measured its test. What a short run costs is not known."""
    done = Run.objects.filter(series=series, state=RunState.DONE)
    measured_by = Counter(test for run in done for test in {row.test for row in measured(run)})
    assert all(measured_by[test] == len(done) for test in measured_by if test not in COSTS)
    scored = Score.objects.filter(series=series).values_list("test", "repeats")
    assert set(scored) == set(measured_by.items())


def _assert_nothing_is_left(lab: Lab) -> None:
    devices = lab.losetup()
    assert len(devices) == 1, "the worker's one loop device"
    number = blockdev.device_number(devices[0])
    deadline = time.monotonic() + SETTLE_S

    def leftovers() -> list[str]:
        mounts = [mount.point for mount in blockdev.all_mounts() if number in mount.numbers]
        return lab.containers() + lab.agents() + mounts

    while not holds(lambda: not leftovers()):
        assert time.monotonic() < deadline, leftovers()


def _assert_its_numbers_are_whole(run: Run) -> None:
    """All measurements with the output they came from, or none."""
    run.refresh_from_db()
    rows = measured(run)
    if run.state != RunState.DONE:
        assert not rows
        return
    matrix = [row for row in rows if row.file_size_kb is not None]
    cells = {(row.test, row.record_size_kb, row.file_size_kb) for row in matrix}
    parameters = run.series.workload.parameters if run.series.workload else {}
    assert len(cells) == (36 if parameters["maximum_record_kb"] == 16 else 24)
    others = [row.test for row in rows if row.file_size_kb is None and row.test not in COSTS]
    assert sorted(others) == ["mkfs", "mount"]
    assert run.artefacts.filter(name="iozone.txt").count() == 1


def _assert_it_ran_once(lab: Lab, since: float, run: Run) -> None:
    changes = list(run.changes.values_list("state", flat=True))
    assert len(changes) == len(set(changes)), changes
    phases = [command["phase"] for command in run.commands]
    assert len(phases) == len(set(phases)), phases
    created = lab.docker(
        *("events", "--since", f"{since:.3f}", "--until", f"{time.time():.3f}"),
        *("--filter", "event=create", "--filter", f"label=fsbench.run={run.pk}"),
        *("--format", "{{.ID}}"),
    )
    # A daemon that was killed has forgotten what it did before.
    assert len(created) <= 1, created
