"""What `manage.py serve` and `prepare` say: true in its order, and in the form that logs have."""

import logging
import socket
import urllib.request
from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django.fixtures import Settings

from fsbench_web.serving import health_check, preparation, supervisor
from fsbench_web.serving.supervisor import Supervisor, open_socket


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with open_socket("127.0.0.1", 0) as opened:
        yield opened


def refusal(*command: str, **options: object) -> tuple[str, str]:
    """What a command that ends with status 1 wrote, and as what it ended."""
    out = StringIO()
    with pytest.raises((CommandError, SystemExit)) as ended:
        call_command(*command, stdout=out, stderr=out, **options)
    if isinstance(ended.value, SystemExit):
        assert ended.value.code == 1
    return out.getvalue(), str(ended.value)


def serve_on(listening: socket.socket, folder: Path, settings: Settings) -> tuple[str, str]:
    settings.DATA_DIR = folder
    return refusal("serve", "--without-worker", port=listening.getsockname()[1])


def test_a_taken_port_is_a_line_of_the_logs(
    listening: socket.socket,
    tmp_path: Path,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.LOG_FORMAT = "json"
    output, _ = serve_on(listening, tmp_path, settings)
    assert output == ""
    (line,) = caplog.records
    assert (line.levelname, line.name) == ("CRITICAL", "fsbench.serve")
    assert "cannot be used: Address already in use" in line.getMessage()


def test_a_taken_port_is_a_sentence_for_a_person(
    listening: socket.socket,
    tmp_path: Path,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, sentence = serve_on(listening, tmp_path, settings)
    assert "cannot be used: Address already in use" in sentence
    assert "Choose another port" in sentence
    assert caplog.records == []


@pytest.mark.parametrize("command", [["serve", "--prepared", "--port=0"], ["prepare"]])
def test_so_is_whatever_else_is_refused(
    command: list[str],
    tmp_path: Path,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away() -> None:
        raise CommandError("The database cannot be reached: password=s3cret-words")

    monkeypatch.setattr(preparation, "connect", away)
    settings.DATA_DIR, settings.LOG_FORMAT = tmp_path, "json"
    refusal(*command)
    line = caplog.records[-1]
    assert (line.levelname, line.name) == ("CRITICAL", "fsbench.serve")
    assert "The database cannot be reached" in line.getMessage()
    assert "s3cret-words" not in line.getMessage()


class Site:
    """A supervisor of nothing: what the health check answers is written down beforehand."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, listening: socket.socket, *answers: bool
    ) -> None:
        self.said: list[str] = []
        self.under = Supervisor(listening, processes=1, with_worker=False, echo=self.said.append)
        self.under.webs = self.under.children = []
        self._left = list(answers)
        self._now = 0.0
        monkeypatch.setattr(self.under, "_health", self._health)
        monkeypatch.setattr(self.under, "_pause", self._pause)
        monkeypatch.setattr(supervisor.housekeeping, "start", lambda: None)
        monkeypatch.setattr(supervisor, "_monotonic", lambda: self._now)

    def _health(self) -> tuple[bool, str]:
        answer = self._left.pop(0)
        if not self._left:
            self.under._stopping = True
        return answer, "ok" if answer else "no worker"

    def _pause(self, seconds: float) -> None:
        self._now += 40.0
        assert self._now < 1000, self.said  # a supervisor that asks no more would go on for ever

    def run(self) -> list[str]:
        self.under.run(["fsbench is ready"])
        return self.said


def test_it_is_ready_when_everything_answers(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    assert Site(monkeypatch, listening, False, True).run() == ["fsbench is ready"]


def test_it_is_not_called_ready_while_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    lines = Site(monkeypatch, listening, False, False, False, False, False).run()
    assert lines == ["Not everything works after 60 s: no worker. fsbench keeps waiting for it."]


def test_it_is_called_ready_once_that_is_true(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    lines = Site(monkeypatch, listening, False, False, False, False, True).run()
    assert lines[0].startswith("Not everything works after 60 s")
    assert lines[1:] == ["fsbench is ready"]


def test_what_it_tells_of_its_processes_is_a_line_of_the_logs(
    monkeypatch: pytest.MonkeyPatch,
    listening: socket.socket,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.LOG_FORMAT = "json"
    caplog.set_level(logging.INFO, "fsbench.serve")
    lines = Site(monkeypatch, listening, False, False, False, False).run()
    assert lines == []
    assert [line.levelname for line in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    ("host", "with_worker", "expected"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:{port}/api/v1/health"),
        # A worker elsewhere may come in an hour: the web is ready without it.
        ("127.0.0.1", False, "http://127.0.0.1:{port}/api/v1/health/ready"),
        ("127.0.0.2", False, "http://127.0.0.2:{port}/api/v1/health/ready"),
        ("0.0.0.0", False, "http://127.0.0.1:{port}/api/v1/health/ready"),
    ],
)
def test_it_asks_for_health_where_it_listens_and_for_what_it_has_started(
    monkeypatch: pytest.MonkeyPatch, host: str, with_worker: bool, expected: str
) -> None:
    addresses: list[str] = []

    def urlopen(request: urllib.request.Request, **_: object) -> None:
        addresses.append(request.full_url)
        raise OSError("nobody there")

    monkeypatch.setattr(health_check.urllib.request, "urlopen", urlopen)
    with open_socket(host, 0) as listening:
        under = Supervisor(listening, processes=1, with_worker=with_worker, echo=print)
        healthy, missing = under._health()
        port = listening.getsockname()[1]
    assert (healthy, addresses) == (False, [expected.format(port=port)])
    assert "nobody there" in missing


@pytest.mark.parametrize("with_worker", [True, False])
def test_what_answers_well_is_healthy(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket, with_worker: bool
) -> None:
    body = b'{"status": "ok"}'
    monkeypatch.setattr(health_check.urllib.request, "urlopen", lambda *_, **__: BytesIO(body))
    under = Supervisor(listening, processes=1, with_worker=with_worker, echo=print)
    assert under._health()[0]
