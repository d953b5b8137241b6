"""FSBENCH_ENV=production starts with good secrets only, and Django's check has nothing to say."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from kombu import Connection, Consumer, Queue
from kombu.exceptions import ContentDisallowed
from kombu.serialization import loads

from fsbench_web.celery import app
from fsbench_web.platform.production import MINIMUM_KEY_LENGTH, weakness

ROOT = Path(settings.BASE_DIR)
KEY = "4f1d0c7be2a95386c4f1d0c7be2a95380b6c1f7e2d9a48350b6c1f7e2d9a4835"
GOOD = {
    "FSBENCH_ENV": "production",
    "FSBENCH_SECRET_KEY": KEY,
    "FSBENCH_ALLOWED_HOSTS": "fsbench.example",
    "DATABASE_URL": "postgresql://fsbench:q7Zk2mXv9Lw4@db.example/fsbench?sslmode=verify-full",
    "CELERY_BROKER_URL": "rediss://:q7Zk2mXv9Lw4@broker.example:6379/0",
}


READ = ("-c", "import fsbench_web.settings")
CHECK = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
# All of it that is of settings, and not of pages and models, which are the same with any.
OF_SETTINGS = [f"--tag={tag}" for tag in ("security", "caches", "async_support", "files")]


def start(
    folder: Path, *further: str, command: Sequence[str] = CHECK, **changes: str | None
) -> "subprocess.CompletedProcess[str]":
    variables = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return subprocess.run(
        [sys.executable, *command, *further],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "FSBENCH_DATA": str(folder)} | variables,
        capture_output=True,
        text=True,
    )


def test_the_deployment_check_has_nothing_to_say(tmp_path: Path) -> None:
    done = start(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FSBENCH_SECRET_KEY", None),
        ("FSBENCH_SECRET_KEY", ""),
        ("FSBENCH_SECRET_KEY", "change-me-change-me-change-me-change-me"),
        ("FSBENCH_SECRET_KEY", f"django-insecure-{KEY}"),
        ("FSBENCH_SECRET_KEY", "a" * 64),
        ("FSBENCH_DEBUG", "True"),
        ("FSBENCH_ALLOWED_HOSTS", "*"),
        ("DATABASE_URL", "postgresql://fsbench@db.example/fsbench"),
        ("DATABASE_URL", "postgresql://fsbench:fsbench@db.example/fsbench"),
        ("DATABASE_URL", "postgresql://fsbench:changeme1234@db.example/fsbench"),
        ("CELERY_BROKER_URL", "redis://broker.example:6379/0"),
        ("CELERY_BROKER_URL", "redis://:redis@broker.example:6379/0"),
    ],
)
def test_a_default_is_refused_in_one_sentence(
    tmp_path: Path, variable: str, value: str | None
) -> None:
    done = start(tmp_path, **{variable: value})
    assert done.returncode == 1
    assert variable in done.stderr
    assert "production" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    for secret in (value or KEY, KEY, "q7Zk2mXv9Lw4"):
        if variable not in ("FSBENCH_DEBUG", "FSBENCH_ALLOWED_HOSTS"):
            assert secret not in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FSBENCH_SECRET_KEY", None),
        ("DATABASE_URL", "postgresql://fsbench:changeme1234@db.example/fsbench"),
        ("FSBENCH_DEBUG", "perhaps"),
        ("FSBENCH_OIDC_ISSUER", "http://login.example"),
    ],
)
def test_with_json_logs_a_refusal_is_one_of_their_lines(
    tmp_path: Path, variable: str, value: str | None
) -> None:
    done = start(tmp_path, **{variable: value}, FSBENCH_LOG_FORMAT="json")
    assert done.returncode == 1
    assert done.stdout == ""
    line = json.loads(done.stderr)
    assert (line["level"], line["logger"], line["service"]) == (
        "CRITICAL",
        "fsbench.settings",
        "check",
    )
    assert line["message"].startswith("fsbench cannot start: ")
    assert variable in line["message"]
    assert "changeme1234" not in done.stderr
    assert {"at", "host", "pid"} <= line.keys()


def test_a_log_format_that_does_not_exist_is_refused_as_text(tmp_path: Path) -> None:
    done = start(tmp_path, FSBENCH_LOG_FORMAT="yaml")
    assert done.returncode == 1
    assert done.stderr.startswith("fsbench cannot start: FSBENCH_LOG_FORMAT")


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    done = start(tmp_path, FSBENCH_DEBUG="True", FSBENCH_SECRET_KEY=None, CELERY_BROKER_URL=None)
    assert "FSBENCH_DEBUG" in done.stderr
    assert "FSBENCH_SECRET_KEY is missing" in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///fsbench?host=/run/postgresql",
        "postgresql://fsbench@db.example/fsbench?sslcert=/etc/fsbench/client.crt",
    ],
)
def test_what_needs_no_password_is_not_asked_for_one(tmp_path: Path, url: str) -> None:
    done = start(tmp_path, command=READ, DATABASE_URL=url)
    assert done.returncode == 0, done.stderr


def test_a_trial_is_asked_for_nothing(tmp_path: Path) -> None:
    done = start(tmp_path, command=READ, **dict.fromkeys(GOOD))
    assert done.returncode == 0, done.stderr


def test_cookies_are_strict_behind_tls(tmp_path: Path) -> None:
    script = (
        "from fsbench_web import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, "
        "s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY, "
        "s.SESSION_COOKIE_SAMESITE, s.SECURE_HSTS_SECONDS, s.SECURE_SSL_REDIRECT)"
    )
    done = start(tmp_path, command=("-c", script))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        *("__Host-sessionid", "__Host-csrftoken", "True", "True", "True", "Lax"),
        *(str(30 * 24 * 3600), "True"),
    ]


def test_example_secrets_of_the_compose_file_are_empty() -> None:
    text = (ROOT / ".env.example").read_text()
    for name in ("FSBENCH_SECRET_KEY", "FSBENCH_DB_PASSWORD", "FSBENCH_REDIS_PASSWORD"):
        assert f"\n{name}=\n" in text
        assert f"${{{name}:?" in (ROOT / "docker-compose.yml").read_text()


def test_the_deployment_check_has_nothing_to_say_of_the_example(tmp_path: Path) -> None:
    """Filled in as it says, and given to the site as the compose file does."""
    names = ("FSBENCH_SECRET_KEY", "FSBENCH_DB_PASSWORD", "FSBENCH_REDIS_PASSWORD")
    secrets = dict.fromkeys(names, KEY)
    lines = (ROOT / ".env.example").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert {name for name, value in values.items() if not value} == set(secrets)
    for environment in (secrets, values | secrets):
        variables = _of_the_compose_file("web", environment)
        done = start(tmp_path, *OF_SETTINGS, **variables)
        assert done.returncode == 0, done.stderr
        assert "no issues" in done.stdout


def _of_the_compose_file(service: str, environment: dict[str, str]) -> dict[str, str]:
    """What Compose gives to a service: ${NAME}, ${NAME:-default}, ${NAME:?refused without}."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    def filled(match: re.Match[str]) -> str:
        assert environment.get(match[1]) or match[2] != ":?", match[1]
        return environment.get(match[1]) or match[3] or ""

    declared = services[service]["environment"]
    return {
        name: re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", filled, str(value))
        for name, value in declared.items()
        if name not in ("TMPDIR", "FSBENCH_DATA")
    }


def test_web_and_worker_of_the_compose_file_know_the_same_default_role() -> None:
    """The worker refuses the runs of who may not submit any: it must ask as the web does."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in ("web", "worker", "migrate"):
        role = services[name]["environment"]["FSBENCH_DEFAULT_ROLE"]
        assert role == "${FSBENCH_DEFAULT_ROLE:-viewer}", name
    assert "\n#FSBENCH_DEFAULT_ROLE=viewer\n" in (ROOT / ".env.example").read_text()


def test_a_made_secret_is_good() -> None:
    assert weakness(KEY, minimum=MINIMUM_KEY_LENGTH) == ""
    assert "short" in weakness("x7Kp2")


def test_messages_are_json_and_nothing_else() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert app.conf.result_accept_content in (None, ["json"])
    # What a stranger on the broker could send: refused before a byte of it is unpickled.
    pickled = b"cbuiltins\nexit\n(tR."
    with pytest.raises(ContentDisallowed):
        loads(pickled, "application/x-python-serialize", "binary", accept=["application/json"])


def test_a_pickled_message_is_not_opened(redis_url: str) -> None:
    """Through a real broker: the consumer of the application refuses it."""
    refused: list[BaseException] = []
    with Connection(redis_url) as connection:
        queue = connection.SimpleQueue("pickled", serializer="pickle")
        queue.put({"harmless": True})
        queue.close()
        consumer = Consumer(
            connection.channel(),
            queues=[Queue("pickled")],
            accept=app.conf.accept_content,
            callbacks=[lambda body, message: refused.append(AssertionError("opened"))],
            on_decode_error=lambda message, error: (refused.append(error), message.ack()),
        )
        with consumer:
            connection.drain_events(timeout=60)
    assert len(refused) == 1
    assert isinstance(refused[0], ContentDisallowed)
