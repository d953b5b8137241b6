"""Nothing that takes time happens while a run holds its rows: everybody else waits for these."""

import base64
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction

from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import logs
from fsbench_web.studies.scores import ingest
from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from runner.worker import Host
from tests.runner import fake
from tests.runner.fake import FakeExecutor, message

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]

MIB = 2**20
# As much as the agent keeps of one step (agent.commands.OUTPUT_LIMIT_BYTES), and as hard to pack as
# text can be.
LARGE = base64.b64encode(random.Random(1).randbytes(48 * MIB)).decode()
MOST_S = 1.0


@dataclass
class Transactions:
    """Those that are open, and how many seconds of a processor each one took that has ended.

    The savepoint in the transaction of a test is one. Waiting for other processes of a busy machine
    does not count.
    """

    begun: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Transactions:
    watched = Transactions()
    enter, leave = transaction.Atomic.__enter__, transaction.Atomic.__exit__

    def entered(atomic: transaction.Atomic) -> None:
        watched.begun.append(time.thread_time())
        enter(atomic)

    def left(atomic: transaction.Atomic, *error: Any) -> None:
        leave(atomic, *error)
        watched.seconds.append(time.thread_time() - watched.begun.pop())

    monkeypatch.setattr(transaction.Atomic, "__enter__", entered)
    monkeypatch.setattr(transaction.Atomic, "__exit__", left)
    return watched


def large(ends_well: bool) -> fake.Script:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(message("output", name="large", part=0, is_last=True, text=LARGE))
        if ends_well:
            return fake.succeed(plan, on_message, should_stop)
        on_message(message("error", reason="It printed more than 64 MiB."))
        on_message(message("done", ok=False))
        return Outcome(1)

    return script


@pytest.mark.parametrize("ends_well", [True, False])
def test_no_transaction_of_a_run_takes_long_for_its_output(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    transactions: Transactions,
    ends_well: bool,
) -> None:
    host = make_host(FakeExecutor(large(ends_well)))
    run = carry_out(submitted(host), host)
    assert run.state == (RunState.DONE if ends_well else RunState.FAILED), run.reason
    assert ingest.artefact_bytes(run.artefacts.get(name="large")) == LARGE.encode()
    assert max(transactions.seconds) < MOST_S


def test_no_log_is_packed_while_its_run_is_locked(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    transactions: Transactions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = make_host()
    run = carry_out(submitted(host), host)
    open_ones: list[int] = []
    packed = ingest.packed_artefact

    def noted(*arguments: Any) -> Any:
        open_ones.append(len(transactions.begun))
        return packed(*arguments)

    monkeypatch.setattr(ingest, "packed_artefact", noted)
    assert logs.fold(run.pk)
    assert open_ones == [0]
