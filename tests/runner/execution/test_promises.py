"""Real runs on loop devices: what the device was flushed for the syncs of each workload."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from fsbench_web.core.activity.promises import (
    FLUSHES_NOT_COUNTED,
    KEPT,
    NO_SYNCS,
    NOT_KEPT,
    NOTHING_TO_FLUSH,
    UNKNOWN,
)
from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run, RunState
from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.executors.local import LocalExecutor
from runner.plan import RunPlan
from runner.safety import blockdev
from runner.worker import Host
from tests.runner import fake
from tests.runner.execution.test_activity import samples
from tests.runner.fake import FakeExecutor

pytestmark = pytest.mark.django_db
FIO = {
    **{"block_kb": 4, "depths": [1], "file_mb": 8, "ramp_s": 0, "runtime_s": 1},
    **{"directions": "write", "engine": "psync", "direct": False, "fsync_every": 1},
}
IOZONE = {
    **dict.fromkeys(("minimum_record_kb", "maximum_record_kb"), 64),
    **dict.fromkeys(("minimum_file_kb", "maximum_file_kb"), 1024),
}
WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "fio": ("fio-depths", FIO),
    "fio, 8 jobs": ("fio-depths", {**FIO, "jobs": 8}),
    "fio, libaio": ("fio-depths", {**FIO, "engine": "libaio", "direct": True, "depths": [16]}),
    "fio, O_SYNC": ("random-access", {"files_mb": [1], "cycles": 1, "accesses": 200}),
    "fs_mark": ("file-creation", {"files": 200, "file_bytes": 1000, "fsync": True}),
    "iozone -e": ("iozone", {**IOZONE, "include_flush": True}),
    "maildir": ("maildir-small", {"processes": [1, 4], "seconds": 1, "warm_up_s": 0}),
    "sqlite": ("sqlite", {"rows": 1000, "seconds": 1, "warm_up_s": 0, "journal": "both"}),
    "sysbench": (
        "sysbench-fileio",
        {"total_mb": 16, "files": 16, "seconds": 1, "threads": [1, 4], "fsync_every": 20},
    ),
}


@pytest.fixture
def promised(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> Callable[..., tuple[Run, dict[str, Any]]]:
    """A real run of a workload, and its promise."""

    def run(name: str, filesystem: str = "ext4", **options: str) -> tuple[Run, dict[str, Any]]:
        tool, parameters = WORKLOADS[name]
        if tool in presets():
            chosen = presets()[tool]
            tool, parameters = chosen.tool, {**chosen.parameters, **parameters}
        host = make_host(LocalExecutor())
        changes = {"tool": tool, "parameters": parameters, "options": options}
        done = carry_out(submitted(host, filesystem, scheduler="none", **changes), host)
        assert done.state == RunState.DONE, done.reason
        return done, done.conditions["promise"]

    return run


def flags(run: Run) -> set[str]:
    return {flag for score in run.series.scores.all() for flag in score.flags} & {"not_flushed"}


@pytest.mark.root
@pytest.mark.parametrize("name", WORKLOADS)
def test_barriers_that_are_off_are_seen_and_those_that_are_on_are_not(
    promised: Callable[..., tuple[Run, dict[str, Any]]], name: str
) -> None:
    run, found = promised(name)
    assert (found["verdict"], flags(run)) == (KEPT, set()), found
    assert found["flushes"] >= found["needed"] > 0
    assert found["ratio"] == found["flushes"] / found["syncs"]
    run, found = promised(name, barrier="off")
    assert (found["verdict"], flags(run)) == (NOT_KEPT, {"not_flushed"}), found
    assert found["flushes"] == 0 < found["needed"] <= found["syncs"]


@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["xfs", "btrfs"])
@pytest.mark.parametrize("name", ["fio, 8 jobs", "sysbench"])
def test_others_are_not_flagged_as_they_are_by_default(
    promised: Callable[..., tuple[Run, dict[str, Any]]],
    name: str,
    filesystem: str,
) -> None:
    run, found = promised(name, filesystem)
    assert (found["verdict"], flags(run)) == (KEPT, set()), found


@pytest.mark.root
def test_without_syncs_and_without_a_volatile_cache_nothing_is_said(
    promised: Callable[..., tuple[Run, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WORKLOADS, "none", ("iozone", IOZONE))
    _, found = promised("none", barrier="off")
    assert (found["verdict"], found["reason"]) == (UNKNOWN, NO_SYNCS)

    with contextlib.ExitStack() as through:
        verified = Host.device

        def write_through(host: Host, entry: Any) -> str:
            device = verified(host, entry)
            number = blockdev.device_number(device)
            cache = blockdev.sys_folder(number) / "queue/write_cache"
            before = cache.read_text().strip()
            cache.write_text("write through")
            through.callback(cache.write_text, before)
            return device

        monkeypatch.setattr(Host, "device", write_through)
        run, found = promised("fio", barrier="off")
    assert (found["verdict"], found["reason"]) == (UNKNOWN, NOTHING_TO_FLUSH)
    assert flags(run) == set()


def test_an_agent_that_says_nothing_of_the_device_leaves_it_unknown(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    def sampling(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        for sample in samples():
            on_message(sample)
        return fake.succeed(plan, on_message, should_stop)

    host = make_host(FakeExecutor(sampling))
    run = carry_out(submitted(host, parameters={**IOZONE, "include_flush": True}), host)
    found = run.conditions["promise"]
    assert (found["verdict"], found["reason"]) == (UNKNOWN, FLUSHES_NOT_COUNTED)
    assert found["ratio"] is None
