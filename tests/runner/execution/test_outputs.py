"""What a tool prints is kept byte by byte, whatever it is."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import InterfaceError
from django.test import Client
from django.urls import reverse

from fsbench_web.imports import rereads as reading
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.scores import ingest
from runner.agent import messages
from runner.execution import finish
from runner.executors import stream
from runner.executors.base import Message, OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from runner.worker import Host
from tests.runner import fake
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]

NOISE = bytes(range(256)) + random.Random(1).randbytes(100_000)
MIXED = "Zürich ".encode() + b"Z\xfcrich \xed\xa0\x80 \xf0\x9f\x98\x80\n"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], list[Message]]:
    """``sent(name, data)``: the messages of an output, as a worker gets them from the agent."""
    lines: list[str] = []
    monkeypatch.setattr(
        messages, "send", lambda kind, **values: lines.append(json.dumps({"type": kind} | values))
    )

    def send(name: str, data: bytes) -> list[Message]:
        lines.clear()
        messages.send_output(name, data)
        return [stream.message_of("stdout", line.encode()) for line in lines]

    return send


def noisy(sent: Callable[[str, bytes], list[Message]]) -> fake.Script:
    """A run that is done, and of which an output is not text at all, and one nearly text."""

    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        def passed_on(message: Message) -> None:
            if message["type"] != "output":
                on_message(message)
                return
            for part in sent(message["name"], MIXED + message["text"].encode()):
                on_message(part)

        for part in sent("noise", NOISE):
            on_message(part)
        return fake.succeed(plan, passed_on, should_stop)

    return script


def test_an_output_is_downloaded_as_it_was_printed(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, client: Client, sent: Any
) -> None:
    host = make_host(FakeExecutor(noisy(sent)))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.DONE, run.reason
    noise, text = run.artefacts.get(name="noise"), run.artefacts.get(name="iozone.txt")
    assert noise.size_bytes == len(NOISE)
    for artefact, printed in ((noise, NOISE), (text, MIXED)):
        answer = client.get(reverse("studies:artefact", args=[run.pk, artefact.pk]))
        assert answer.content.startswith(printed)
    # Its own parser reads it again, though an upload would be refused for such a byte.
    assert reading.difference(text).is_empty


def test_an_output_that_a_killed_worker_left_is_stored_as_it_was_printed(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    sent: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(*_: object) -> None:
        raise InterfaceError("the connection is closed")

    host = make_host(FakeExecutor(noisy(sent)))
    with monkeypatch.context() as patch:
        patch.setattr("runner.execution.execute.end", killed)
        run = carry_out(submitted(host), host)
    assert run.state == RunState.COLLECTING
    assert finish.finish_spooled(host.spool_folder, lambda: False) == [run.pk]
    assert ingest.artefact_bytes(run.artefacts.get(name="noise")) == NOISE


def test_other_clients_hand_their_outputs_over_as_they_were_printed() -> None:
    outputs = {"noise": NOISE, "text": MIXED}
    assert parts.unpacked_outputs(parts.packed_outputs(outputs)) == outputs


def test_a_surrogate_that_stands_for_no_byte_is_replaced() -> None:
    assert messages.output_bytes("a\ud800\udcff") == b"a??"
