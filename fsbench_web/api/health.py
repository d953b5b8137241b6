"""Whether every part answers: web, database, broker and a worker."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest
from kombu.pidbox import Mailbox
from ninja import Schema, Status

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Problem
from fsbench_web.api.protocol.router import Router
from fsbench_web.catalog.models import Worker
from fsbench_web.celery import app
from fsbench_web.platform import clock, log_lines, table_version

logger = logging.getLogger("fsbench.health")

PING_S = 2.0
DEADLINE_S = 3.5
CONNECT_S = 1.0
_TRANSPORT_OPTIONS = {
    # Seconds between two looks for an answer, of the transports that poll (the default is 1).
    "polling_interval": 0.05,
    # redis-py retries on its own, for longer than a health check may take.
    "socket_connect_timeout": CONNECT_S,
    "socket_timeout": PING_S + 0.5,
    "retry_on_timeout": False,
    "max_retries": 0,
    "interval_start": 0,
}

router = Router()
# Few threads, so that a broker which hangs cannot gather threads however often it is asked about.
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ask-broker")


class Health(Schema):
    """ "ok" for each part that answers, else a sentence; ``workers`` are those that answered."""

    status: str
    web: str
    database: str
    broker: str
    workers: list[str]


class Unhealthy(Health):
    """The same, with the errors of every other answer of the API."""

    detail: str
    errors: list[Problem]


@dataclass(frozen=True)
class _Broker:
    state: str
    workers: list[str]


def _database() -> tuple[str, int]:
    """ "ok" or what is wrong, and how many workers sent a heartbeat lately."""
    silent_after = timedelta(seconds=settings.WORKER_SILENT_AFTER_S)
    try:
        return "ok", Worker.objects.filter(seen_at__gte=clock.now() - silent_after).count()
    except DatabaseError as error:
        logger.warning("the database does not answer: %s", error)
        return (
            "The database does not answer, or has no tables yet: see the web process's log, "
            "DATABASE_URL and `manage.py prepare`."
        ), 0


def _ping_broker(expected: int | None) -> _Broker:
    """Connect to the broker, then ping the workers until ``expected`` of them have answered.

    None pings nobody.
    """
    connection = app.connection_for_write(
        connect_timeout=CONNECT_S, transport_options=_TRANSPORT_OPTIONS
    )
    with connection:
        try:
            connection.connect()
            connection.default_channel  # noqa: B018  (virtual transports connect here)
        except Exception as error:
            logger.warning("the broker does not answer: %s", error)
            return _Broker(
                "The broker does not answer: see the web process's log and CELERY_BROKER_URL.", []
            )
        if expected is None:
            return _Broker("ok", [])
        # app.control.ping would publish through the application's pool, without these limits.
        mailbox = Mailbox(
            app.conf.control_exchange, "fanout", connection, accept=["json"], serializer="json"
        )
        answers = mailbox.multi_call("ping", timeout=PING_S, limit=max(1, expected)) or []
    return _Broker("ok", sorted({name for answer in answers for name in answer}))


def broker_state() -> str:
    """ "ok" where the broker can be reached, else a sentence. Asks no worker."""
    return _broker(None).state


def _broker(expected: int | None) -> _Broker:
    """``_ping_broker`` in a thread, given up after the deadline (a name server may hang, too)."""
    future: Future[_Broker] = _threads.submit(log_lines.in_same_context(_ping_broker), expected)
    try:
        return future.result(timeout=DEADLINE_S)
    except FutureTimeout:
        future.cancel()
        return _Broker(
            f"The broker gave no answer within {DEADLINE_S:g} seconds: see CELERY_BROKER_URL.", []
        )
    except Exception:
        logger.warning("the workers could not be asked", exc_info=True)
        return _Broker("The broker broke off while the workers were asked: see the log.", [])


class Live(Schema):
    status: str


class Ready(Schema):
    """ "ok" for each part that is there, else a sentence."""

    status: str
    database: str
    migrations: str
    broker: str


class NotReady(Ready):
    """The same, with the errors of every other answer of the API."""

    detail: str
    errors: list[Problem]


# Once the tables are as this version wants them they stay so while its process lives.
_is_migrated = False


def _migrations() -> str:
    """ "ok", or that the tables are of another version. Raises DatabaseError."""
    global _is_migrated
    if not _is_migrated:
        if problem := table_version.problem():
            return problem
        _is_migrated = True
    return "ok"


@router.get("/health/live", response=Live, summary="Does the web process answer?")
@requires(Action.OPEN)
def health_live(request: HttpRequest) -> dict[str, str]:
    """200 as long as the process answers at all; it asks nothing of any other part. Restart the
    process if it does not answer, and only then.
    """
    return {"status": "ok"}


@router.get(
    "/health/ready",
    response={200: Ready, 503: NotReady},
    summary="Can the web process serve people?",
)
@requires(Action.OPEN)
def health_ready(request: HttpRequest) -> Status[dict[str, Any]]:
    """200 when the database answers, its tables are those of this version and the broker can be
    reached; else 503 that says which is not so. Workers are not asked: pages are read without
    them. Takes four seconds at most.
    """
    migrations = "The database was not asked."
    try:
        database, migrations = "ok", _migrations()
        _ping_database()
    except DatabaseError as error:
        logger.warning("the database does not answer: %s", error)
        database = "The database does not answer: see the web process's log and DATABASE_URL."
    broker = broker_state()
    return _answer({"database": database, "migrations": migrations, "broker": broker})


def _answer(parts: dict[str, str], **more: Any) -> Status[dict[str, Any]]:
    """200, or 503 with the problems of parts that are not "ok"; ``more`` are no parts."""
    problems = [{"field": part, "message": state} for part, state in parts.items() if state != "ok"]
    answer = {"status": "failing" if problems else "ok", **parts, **more}
    if not problems:
        return Status(200, answer)
    detail = " ".join(problem["message"] for problem in problems)
    return Status(503, {**answer, "detail": detail, "errors": problems})


def _ping_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@router.get("/health", response={200: Health, 503: Unhealthy}, summary="Does every part answer?")
@requires(Action.OPEN)
def health(request: HttpRequest) -> Status[dict[str, Any]]:
    """200 once web, database, broker and at least one worker answer; else 503 that says which
    does not. Takes four seconds at most. `workers` are the Celery names of those that answered.
    """
    database, expected = _database()
    broker = _broker(expected)
    parts = {"web": "ok", "database": database, "broker": broker.state}
    if broker.state == "ok" and not broker.workers:
        parts["workers"] = "No worker answers: start one (`make run` starts web and worker)."
    return _answer(parts, workers=broker.workers)
