"""Health against real workers on both brokers, and against brokers that are not there."""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import OperationalError
from django.test import Client

from fsbench_web.api import health
from fsbench_web.celery import app
from tests.services.process import Service
from tests.services.redis import free_port
from tests.services.server import environment

HEALTH = "/api/v1/health"


def worker(folder: Path, name: str, **extra: str) -> Service:
    """A Celery worker of this project, on the tests' database and data folder."""
    service = Service(
        [
            *(sys.executable, "-m", "celery", "-A", "fsbench_web.celery", "worker"),
            *("--hostname", name, "--pool", "solo", "--loglevel", "INFO"),
        ],
        log=folder / "worker.log",
        env=environment(**extra),
    )
    service.wait_until(lambda: "ready." in service.tail(200))
    return service


UseBroker = Callable[[str], None]


@pytest.fixture
def use_broker() -> Iterator[UseBroker]:
    """``use_broker(url)`` points the web process at another broker until the test ends."""
    original = {name: app.conf[name] for name in ("broker_url", "broker_transport_options")}
    yield lambda url: app.conf.update(broker_url=url, broker_transport_options={})
    app.conf.update(original)


@pytest.fixture
def filesystem_worker(db: None, tmp_path: Path) -> Iterator[str]:
    service = worker(tmp_path, "fsbench@files")
    yield "fsbench@files"
    service.stop()


@pytest.fixture
def redis_worker(db: None, redis_url: str, tmp_path: Path, use_broker: UseBroker) -> Iterator[str]:
    use_broker(redis_url)
    service = worker(tmp_path, "fsbench@redis", CELERY_BROKER_URL=redis_url)
    yield "fsbench@redis"
    service.stop()


@pytest.mark.parametrize("service", ["filesystem_worker", "redis_worker"])
def test_it_is_well_once_a_worker_answers(
    client: Client,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    service: str,
) -> None:
    # That it answers is asked here, not how soon: the machine may be busy.
    monkeypatch.setattr(health, "PING_S", 30.0)
    monkeypatch.setattr(health, "DEADLINE_S", 60.0)
    name = request.getfixturevalue(service)
    for _ in range(3):
        response = client.get(HEALTH)
        assert response.status_code == 200, response.content
        assert response.json() == {
            "status": "ok",
            "web": "ok",
            "database": "ok",
            "broker": "ok",
            "workers": [name],
        }


def assert_unwell(client: Client, *fields: str) -> None:
    client.get(f"{HEALTH}/live")  # the first request of a process reads half of the application
    start = time.monotonic()
    response = client.get(HEALTH)
    assert time.monotonic() - start < 60
    assert response.status_code == 503
    body = response.json()
    assert list(body) == ["status", "web", "database", "broker", "workers", "detail", "errors"]
    assert (body["status"], body["web"], body["workers"]) == ("failing", "ok", [])
    assert [error["field"] for error in body["errors"]] == list(fields)
    assert all(error["message"] in body["detail"] for error in body["errors"])


def test_it_says_when_no_worker_answers(client: Client, db: None) -> None:
    assert_unwell(client, "workers")


def test_it_says_when_redis_is_down(client: Client, db: None, use_broker: UseBroker) -> None:
    use_broker(f"redis://127.0.0.1:{free_port()}/0")
    assert_unwell(client, "broker")


def test_it_does_not_wait_for_a_redis_that_says_nothing(
    client: Client, db: None, use_broker: UseBroker
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use_broker(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        assert_unwell(client, "broker")


def test_it_tells_no_address_or_password(client: Client, db: None, use_broker: UseBroker) -> None:
    use_broker(f"redis://:s3cret@127.0.0.1:{free_port()}/0")
    text = client.get(HEALTH).content.decode()
    assert "s3cret" not in text
    assert "127.0.0.1" not in text


def test_it_says_when_the_database_is_down(client: Client, db: None) -> None:
    def down(*_: object) -> None:
        raise OperationalError("connection refused by s3cret-host")

    with connection.execute_wrapper(down):
        response = client.get(HEALTH)
    assert response.status_code == 503
    body = response.json()
    assert "database" in [error["field"] for error in body["errors"]]
    assert "s3cret-host" not in response.content.decode()


def test_many_at_once_do_not_gather_threads(
    client: Client, db: None, use_broker: UseBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "DEADLINE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use_broker(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        for _ in range(12):
            assert client.get(HEALTH).status_code == 503
    names = [thread.name for thread in threading.enumerate()]
    assert 0 < len([name for name in names if name.startswith("ask-broker")]) <= 4


def test_live_asks_nothing_of_any_other_part(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health.app.conf, "broker_url", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(connection, "cursor", lambda: pytest.fail("the database was asked"))
    answer = client.get(f"{HEALTH}/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_ready_without_a_worker(client: Client) -> None:
    answer = client.get(f"{HEALTH}/ready")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "migrations": "ok", "broker": "ok"}


@pytest.mark.django_db
def test_not_ready_while_migrations_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_is_migrated", False)
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    answer = client.get(f"{HEALTH}/ready")
    assert answer.status_code == 503
    assert "manage.py prepare" in answer.json()["detail"]
    assert answer.json()["database"] == "ok"


def test_not_ready_without_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("secret-host refused")

    monkeypatch.setattr(health, "_ping_database", away)
    monkeypatch.setattr(health, "_is_migrated", True)
    answer = client.get(f"{HEALTH}/ready")
    assert answer.status_code == 503
    assert [error["field"] for error in answer.json()["errors"]] == ["database"]
    assert "secret-host" not in answer.content.decode()
