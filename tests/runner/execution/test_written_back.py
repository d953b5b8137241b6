"""A LUN is given back when the kernel has written what a run left: others may have it then."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fsbench_web.studies.models import Lease, Run, RunState
from runner.executors.base import Outcome
from runner.safety import blockdev
from runner.worker import Host
from tests.runner.conftest import tool
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.root]
KILLED = Outcome(137, reason="The container was killed from outside.")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Nobody waits: of each look whether the run still has its LUN. Four find it in use, of a
    file system that nobody sees any more.
    """
    leased: list[bool] = []
    held: list[int] = []

    def look(device: str, within_s: float, meanwhile: Callable[[], object]) -> bool:
        meanwhile()
        leased.append(Lease.objects.exclude(run=None).exists())
        if not held:
            held.append(os.open(device, os.O_RDONLY | os.O_EXCL))
        return len(leased) > 4

    monkeypatch.setattr(blockdev, "wait_until_free", look)
    yield leased
    for descriptor in held:
        os.close(descriptor)


def carried_out(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    **changes: Any,
) -> Run:
    host = make_host(FakeExecutor(**changes))
    return carry_out(submitted(host), host)


def test_a_killed_run_keeps_it_meanwhile(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    looks: list[bool],
) -> None:
    script = {"script": lambda plan, on_message, should_stop: KILLED}
    run = carried_out(make_host, submitted, carry_out, **script)
    assert run.state == RunState.FAILED
    assert looks == [True] * 5


def test_a_run_that_ended_well_has_unmounted(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    looks: list[bool],
) -> None:
    """Whoever uses it now does so by himself."""
    run = carried_out(make_host, submitted, carry_out)
    assert run.state == RunState.DONE, run.reason
    assert looks == [True]


def test_what_somebody_has_mounted_is_not_waited_for(
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> None:
    counts: list[str] = []
    point = tmp_path / "point"
    point.mkdir()

    def look(device: str, within_s: float, meanwhile: Callable[[], object]) -> bool:
        if not counts:
            tool("mkfs.ext4", "-q", device)
            tool("mount", device, str(point))
        counts.append(device)
        return False

    monkeypatch.setattr(blockdev, "wait_until_free", look)
    script = {"script": lambda plan, on_message, should_stop: KILLED}
    try:
        carried_out(make_host, submitted, carry_out, **script)
    finally:
        tool("umount", str(point))
    assert len(counts) == 1
