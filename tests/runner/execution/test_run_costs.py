"""What a run asks of its host and of the database beside what it measures."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fsbench_web.studies.models import Run, RunState
from runner.execution import record
from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from runner.safety import blockdev, signatures, sparse
from runner.worker import Host
from tests.runner import fake
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

BEGUN = "the benchmark begins"


@dataclass
class Watched:
    """A host, the programs that it starts, and when a benchmark begins among them."""

    host: Host
    programs: list[str]


@pytest.fixture
def watched(make_host: Callable[..., Host], monkeypatch: pytest.MonkeyPatch) -> Watched:
    programs: list[str] = []
    start = blockdev.run_tool

    def noted(*argv: str, **options: Any) -> str:
        programs.append(argv[0])
        return start(*argv, **options)

    def begin(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        programs.append(BEGUN)
        return fake.succeed(plan, on_message, should_stop)

    for module in (blockdev, signatures, sparse):
        monkeypatch.setattr(module, "run_tool", noted)
    return Watched(make_host(FakeExecutor(begin)), programs)


def test_a_run_on_a_sparse_file_asks_no_more_than_this(
    watched: Watched,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight workers whose runs end together keep two processors busy with it."""
    # A busy machine would take longer than a second, and send a heartbeat more.
    clocks = {"monotonic": lambda: 1000.0, "clock_gettime": time.clock_gettime}
    stopped = SimpleNamespace(**clocks, CLOCK_BOOTTIME=time.CLOCK_BOOTTIME)
    monkeypatch.setattr(record, "time", stopped)
    assert carry_out(submitted(watched.host), watched.host).state == RunState.DONE
    run = submitted(watched.host)
    watched.programs.clear()
    with CaptureQueriesContext(connection) as queries:
        assert carry_out(run, watched.host).state == RunState.DONE
    # All checks are made three times, with losetup and wipefs each time.
    assert Counter(watched.programs) == {"losetup": 6, "wipefs": 4, "lsblk": 2, BEGUN: 1}
    statements = [query["sql"][:150] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(statements) <= 70, "\n".join(statements)


def test_no_program_of_the_host_is_started_once_the_benchmark_has_begun(
    watched: Watched, submitted: Callable[..., Run], carry_out: Callable[[Run, Host], Run]
) -> None:
    """What the run runs on is written down then; to look at its LUN would disturb it."""
    run = carry_out(submitted(watched.host), watched.host)
    assert watched.programs[-1] == BEGUN
    assert run.environment is not None
    assert ["Name", "scratch"] in run.environment.facts["LUN"]
