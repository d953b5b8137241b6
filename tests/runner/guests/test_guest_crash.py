"""Crash points for real: a file system in a guest is replayed, mounted, read and checked."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.catalog.configurations.commands.durability import OUTPUT, PHASE
from fsbench_web.catalog.workers.machines import GUEST_DEVICE, Machine
from fsbench_web.core.activity.durability import (
    LOST,
    NOT_CAUGHT,
    NOTHING_LOST,
    UNKNOWN,
    read_durability,
)
from fsbench_web.studies.models import Artefact, Job, Run, RunState
from runner.plan import RunPlan, plan_run
from runner.worker import Host
from tests.runner.conftest import sparse_lun, write_luns
from tests.runner.guests.test_guest import (
    TINY,
    InGuest,
    containers,
    folder,
    guests,
    host,
    kernel,
    machine,
)

__all__ = ["folder", "guests", "host", "kernel", "machine"]

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

POINTS = 24
LIMIT_S = 500


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    write_luns(path, sparse_lun(tmp_path / "scratch.img", size="512 MiB"))
    return path


@pytest.mark.parametrize(
    ("options", "verdict"), [({}, NOTHING_LOST), ({"barrier": "off"}, LOST)], ids=["usual", "off"]
)
def test_a_run_says_what_its_file_system_loses(
    host: Host,
    machine: Machine,
    kernel: Any,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    options: dict[str, str],
    verdict: str,
) -> None:
    job = Job.objects.create(token="t", document={"crash_points": POINTS})
    run = carry_out(
        submitted(
            host,
            "ext4",
            options=options,
            parameters=TINY,
            machine=machine,
            kernel=kernel.version,
            job=job,
        ),
        host,
    )

    assert run.state == RunState.DONE, run.reason
    assert run.commands[-1]["phase"] == PHASE
    found = run.conditions["durability"]
    assert (found["verdict"], found["points"]) == (verdict, POINTS)
    if verdict == NOTHING_LOST:
        assert (found["lost"], found["broken"]) == (0, 0)
    else:
        assert found["lost"] > 0
    assert found["raw_points"] > 0
    for loss in found["losses"]:
        assert loss["point"]
        assert (loss["operation"] >= 0) is (loss["kind"] == "lost")
    assert Artefact.objects.filter(run=run, name=OUTPUT).exists()


def crash_plan(**changes: Any) -> RunPlan:
    """A plan that tries crash points alone; the request to the program is changed so."""
    plan = plan_run("ext4", {}, "iozone", TINY, device=GUEST_DEVICE, crash_points=POINTS)
    [step] = [step for step in plan.steps if step.phase == PHASE]
    request = json.loads(step.stdin) | changes
    return replace(plan, steps=[replace(step, stdin=json.dumps(request))])


def begun(run: InGuest) -> None:
    """Wait until the workload has acknowledged something."""
    run.thread.start()
    deadline = time.monotonic() + LIMIT_S
    while not any("acknowledged" in str(message.get("text")) for message in run.messages):
        assert time.monotonic() < deadline, run.messages
        assert run.thread.is_alive(), run.messages
        time.sleep(0.1)


def test_a_workload_that_never_syncs_is_not_accused(
    host: Host, lun_file: Path, machine: Machine
) -> None:
    run = InGuest(host, lun_file, machine, crash_plan(is_synced=False))
    run.thread.start()
    run.thread.join(LIMIT_S)
    printed = "".join(m["text"] for m in run.messages if m.get("name") == OUTPUT)
    found = read_durability(printed)
    assert (found.points, found.lost, found.broken) == (POINTS, 0, 0)
    # Nothing was promised, so the control has nothing to lose: that is no verdict.
    assert (found.verdict, found.reason) == (UNKNOWN, NOT_CAUGHT)


def test_a_guest_that_is_ended_in_the_middle_leaves_nothing(
    host: Host, lun_file: Path, machine: Machine
) -> None:
    run = InGuest(host, lun_file, machine, crash_plan())
    begun(run)
    run.stop.set()
    run.thread.join(60)

    assert run.outcome is not None
    assert run.outcome.was_stopped
    assert containers(run.executor) == []
    run.assert_free()
