"""Log lines: one JSON object each, about the run and the request, and never a secret."""

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from fsbench_web.platform import log_lines
from fsbench_web.platform.log_lines import (
    JsonLine,
    TextLine,
    hide_secrets,
    in_same_context,
    log_context,
    secrets_of,
)


def record(message: str = "it happened", **extra: Any) -> logging.LogRecord:
    return logging.getLogger("fsbench.test").makeRecord(
        "fsbench.test", logging.WARNING, __file__, 1, message, (), None, extra=extra
    )


def as_json(log_record: logging.LogRecord, *secrets: str) -> dict[str, Any]:
    text = JsonLine(secrets=secrets).format(log_record)
    assert "\n" not in text
    line: dict[str, Any] = json.loads(text)
    return line


def test_a_line_says_what_it_is_about() -> None:
    with log_context(request="abc"):
        with log_context(run=7, lease=3):
            line = as_json(record())
        after = as_json(record())
    assert (line["run"], line["lease"], line["request"]) == (7, 3, "abc")
    assert (line["level"], line["logger"], line["message"]) == (
        "WARNING",
        "fsbench.test",
        "it happened",
    )
    assert "run" not in after
    assert after["request"] == "abc"
    assert "request" not in as_json(record())


def test_a_run_that_is_named_for_one_line_wins() -> None:
    with log_context(run=7):
        assert as_json(record(run=8))["run"] == 8


def test_another_thread_is_told_what_it_is_about() -> None:
    runs: list[Any] = []
    with log_context(run=7):
        bare = threading.Thread(target=lambda: runs.append(log_lines.current("run")))
        informed = threading.Thread(
            target=in_same_context(lambda: runs.append(log_lines.current("run")))
        )
        for thread in (bare, informed):
            thread.start()
            thread.join()
    assert runs == [None, 7]


def test_lines_for_people_name_the_run_at_the_end_of_the_first_line() -> None:
    with log_context(run=7, request=None):
        text = TextLine("%(levelname)s %(message)s").format(record("it broke\nbadly"))
    assert text == "WARNING it broke [run=7]\nbadly"


@pytest.mark.parametrize(
    "leak",
    [
        "cannot reach postgresql://fsbench:hunter2secret@db:5432/fsbench",
        "cannot reach rediss://:hunter2secret@broker:6379/0",
        "Authorization: Bearer hunter2secret",
        "connection to host=db password=hunter2secret failed",
        "FSBENCH_TOKEN: hunter2secret",
    ],
)
def test_what_looks_like_a_secret_is_hidden(leak: str) -> None:
    assert "hunter2secret" not in hide_secrets(leak, [])
    assert hide_secrets(leak, []).startswith(leak[:8])


def test_known_secrets_are_hidden_as_they_are_and_decoded() -> None:
    secrets = secrets_of("p%40ssw0rd!!", None, "short")
    text = "one p%40ssw0rd!! two p@ssw0rd!! three short"
    assert hide_secrets(text, secrets) == "one *** two *** three short"


def test_tracebacks_are_one_line_and_have_no_secret() -> None:
    try:
        raise ValueError("the key is correct-horse-battery")
    except ValueError:
        log_record = record()
        log_record.exc_info = sys.exc_info()
    line = as_json(log_record, "correct-horse-battery")
    assert "ValueError: the key is ***" in line["error"]


def test_addresses_without_a_password_stay_readable() -> None:
    text = "GET http://localhost:8000/runs/7/ at 12:30:45"
    assert hide_secrets(text, []) == text


def logged(*command: str, **variables: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env=os.environ | {"FSBENCH_LOG_FORMAT": "json"} | variables,
        capture_output=True,
        text=True,
    )
    return done.stderr.splitlines()


def test_every_line_of_a_process_is_json(tmp_path: Path) -> None:
    script = (
        "import django, logging, warnings; django.setup(); logging.captureWarnings(True);"
        "logging.getLogger('fsbench.web').info('one');"
        "logging.getLogger('django.request').error('two %s', 2);"
        "logging.getLogger('elsewhere').warning('postgresql://a:topsecret@b/c');"
    )
    lines = logged("-c", script, FSBENCH_DATA=str(tmp_path))
    assert [json.loads(line)["message"] for line in lines] == [
        "one",
        "two 2",
        "postgresql://a:***@b/c",
    ]


class CollectingHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, log_record: logging.LogRecord) -> None:
        self.lines.append(json.loads(JsonLine().format(log_record)))


@pytest.fixture
def access_lines() -> Any:
    handler, logger = CollectingHandler(), logging.getLogger("fsbench.access")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.django_db
def test_a_request_has_an_id_and_a_line(client: Client, access_lines: Any) -> None:
    accepted = client.get("/studies/", headers={"x-request-id": "from-the-proxy-1"})
    replaced = client.get("/runs/99/", headers={"x-request-id": "evil\u0000 id"})
    assert accepted["X-Request-ID"] == "from-the-proxy-1"
    assert len(replaced["X-Request-ID"]) == 32
    first, second = access_lines
    assert first["request"] == "from-the-proxy-1"
    assert (first["route"], first["method"], first["status"]) == ("studies:list", "GET", 200)
    assert first["duration_ms"] > 0
    assert "run" not in first
    # The address names a run, whether there is one or not.
    assert (second["run"], second["status"], second["request"]) == (
        99,
        404,
        replaced["X-Request-ID"],
    )
