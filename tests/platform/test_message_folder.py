"""Messages between web and worker without Redis: whole, or not there."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue
from kombu.transport import filesystem

from fsbench_web.celery import app
from fsbench_web.platform import message_folder

QUEUE = Queue("host.a", Exchange("host", "fanout"), routing_key="host.a")


def connect(folder: Path) -> Connection:
    for name in ("queue", "control"):
        (folder / name).mkdir(exist_ok=True)
    return Connection(
        "filesystem://",
        transport_options={
            "data_folder_in": str(folder / "queue"),
            "data_folder_out": str(folder / "queue"),
            "control_folder": str(folder / "control"),
            "polling_interval": 0.01,
        },
    )


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with connect(tmp_path) as broker:
        yield broker


def send(connection: Connection, body: Any) -> None:
    Producer(connection.channel()).publish(body, "host.a", declare=[QUEUE])


class Reader:
    """``found`` is what came so far."""

    def __init__(self, connection: Connection, queue: Queue = QUEUE) -> None:
        self.connection = connection
        self.found: list[Any] = []
        self.consumer = Consumer(connection.channel(), [queue], no_ack=True, accept=["json"])
        self.consumer.register_callback(lambda body, message: self.found.append(body))
        self.consumer.consume()

    def look(self) -> list[Any]:
        """Take what is there."""
        while True:
            try:
                self.connection.drain_events(timeout=0.02)
            except TimeoutError:
                return self.found


def test_the_site_uses_it() -> None:
    with app.connection_for_write() as broker:
        assert isinstance(broker.transport, message_folder.Transport)
        assert broker.as_uri().startswith("filesystem://")


def test_a_message_that_is_being_written_is_not_read(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(tmp_path) as other:
        reader = Reader(other)
        seen: list[list[Any]] = []
        dumps = filesystem.dumps

        def look_meanwhile(payload: Any) -> str:
            if "body" in payload:  # of the messages: the file is open, and empty
                seen.append([*reader.look()])
            text: str = dumps(payload)
            return text

        monkeypatch.setattr(filesystem, "dumps", look_meanwhile)
        send(connection, {"run": 7})
        assert seen == [[]]
        assert reader.look() == [{"run": 7}]
    assert [*(tmp_path / "queue").iterdir()] == []


KILLED = """
import os, signal, sys
from pathlib import Path
from kombu.transport import filesystem
from tests.platform.test_message_folder import connect, send
dumps = filesystem.dumps
def die(payload):
    if "body" in payload:
        os.kill(os.getpid(), signal.SIGKILL)
    return dumps(payload)
filesystem.dumps = die
send(connect(Path(sys.argv[1])), {"run": 8})
"""


def test_a_writer_that_is_killed_leaves_nothing_to_read(
    connection: Connection, tmp_path: Path
) -> None:
    reader = Reader(connection)
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env=environment, cwd=root, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    assert reader.look() == []
    (unfinished,) = (tmp_path / "queue").iterdir()
    send(connection, {"run": 9})
    assert reader.look() == [{"run": 9}]
    message_folder.clear(tmp_path / "queue")
    assert unfinished.exists()  # it may be of a writer that is at work
    os.utime(unfinished, (0, 0))
    message_folder.clear(tmp_path / "queue")
    assert [*(tmp_path / "queue").iterdir()] == []


@pytest.mark.parametrize("half", [b"", b'{"body": "W3sic', b"\xff\xfe"])
def test_half_a_message_is_told_and_left_out(
    connection: Connection, tmp_path: Path, half: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(connection)
    (tmp_path / "queue" / "0_half.host.a.msg").write_bytes(half)
    send(connection, {"run": 10})
    assert reader.look() + reader.look() == [{"run": 10}] * 2
    assert reader.found == [{"run": 10}]
    assert "could not be read and is gone" in caplog.text


def test_half_a_table_is_made_anew(connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "control" / "broken.exchange").write_text('[["')
    queue = Queue("broken", Exchange("broken", "fanout"), routing_key="broken")
    reader = Reader(connection, queue)  # kombu asks once in a process for each binding
    Producer(connection.channel(), queue.exchange).publish({"run": 11}, "broken")
    assert reader.look() == [{"run": 11}]


def test_what_was_not_worked_on_is_put_back_whole(connection: Connection, tmp_path: Path) -> None:
    send(connection, {"run": 12})
    messages: list[Any] = []
    channel = connection.channel()
    with Consumer(channel, [QUEUE], callbacks=[lambda body, message: messages.append(message)]):
        connection.drain_events(timeout=5)
    assert [*(tmp_path / "queue").iterdir()] == []
    messages[0].requeue()
    assert [path.suffix for path in (tmp_path / "queue").iterdir()] == [".msg"]
    assert Reader(connection).look() == [{"run": 12}]
