"""A confirmation survives killed processes and workers and a clock that is set: it is made once."""

import os
import re
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.compare.models import WatchDelivery, WatchMessage
from fsbench_web.compare.watches import deliveries, watching
from fsbench_web.serving.children import Child
from fsbench_web.serving.supervisor import open_socket
from fsbench_web.studies.models import Job, Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.runs.windows import closing
from tests.compare.watches.test_confirming import (
    _sends,
    ada,
    disk,
    finish,
    found,
    kernels,
    measure,
    rounds_of,
    told,
    watch_of,
)
from tests.studies.conftest import after_silence, start

__all__ = ["_sends", "ada", "disk", "kernels"]
pytestmark = pytest.mark.django_db
SLOWER = {"k62": 1000.0, "k63": 900.0}
SETS_UP = """
import os
import django; django.setup()
from django.conf import settings
from django.db import connections
settings.DATABASES["default"]["NAME"] = {name!r}
connections["default"].settings_dict["NAME"] = {name!r}
"""
SERVES = SETS_UP + "from fsbench_web.serving import web; web.main({descriptor})"
DIES = (
    SETS_UP
    + """
from fsbench_web.studies.runs import nudges
nudges._send = lambda *sent: True
from fsbench_web.compare.watches import {module}
{module}.{function} = lambda *_: os._exit(9)
from fsbench_web.compare.watches import watching
watching.run_maintenance()
"""
)


def waiting_rounds(message: WatchMessage) -> list[Run]:
    return [run for run in rounds_of(message) if run.state == RunState.QUEUED]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", ["as it orders", "as it concludes"])
def test_a_supervisor_that_is_killed_is_followed_by_one_that_does_it_once(
    disk: Lun, ada: User, kernels: Run, moment: str
) -> None:
    watch_of(ada, kernels)
    measure(disk, ada, {"k63": 900.0})
    jobs = Job.objects.count()
    if moment == "as it orders":
        die("watching", "_note_look")
        assert (Job.objects.count(), WatchMessage.objects.count()) == (jobs, 0)
    (message,) = watching.run_maintenance()
    assert told(message) == ("new", "ordered")
    finish(rounds_of(message), SLOWER)
    if moment == "as it concludes":
        die("deliveries", "enqueue")
        assert told(message) == ("new", "ordered")
        assert not WatchDelivery.objects.exists()
    assert watching.run_maintenance() == [message]
    assert told(message) == ("confirmed", "slower")
    assert watching.run_maintenance() == []
    assert (Job.objects.count(), len(mail.outbox)) == (jobs + 1, 1)


def die(module: str, function: str) -> None:
    """A process like the supervisor looks once, and is gone in the middle of its transaction."""
    code = DIES.format(name=connection.settings_dict["NAME"], module=module, function=function)
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 9, done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_web_process_that_is_killed_says_the_same_when_it_is_back(
    disk: Lun, ada: User, kernels: Run, client: Client
) -> None:
    watch_of(ada, kernels)
    message = found(disk, ada)
    client.force_login(ada)
    with open_socket("127.0.0.1", 0) as listening:
        code = SERVES.format(name=connection.settings_dict["NAME"], descriptor=listening.fileno())
        web = Child("web process", [sys.executable, "-c", code], pass_fds=[listening.fileno()])
        request = urllib.request.Request(
            f"http://127.0.0.1:{listening.getsockname()[1]}/watches/{message.watch_id}/",
            headers={"Cookie": f"sessionid={client.cookies['sessionid'].value}"},
        )

        def state() -> list[str]:
            """The states that the page of a fresh process shows; the last one was killed."""
            web.start()
            assert web.process is not None
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return re.findall(r'data-state="(\w+)"', answer.read().decode())
            finally:
                web.process.kill()
                web.process.wait()

        assert state() == ["new"]
        first, *others = rounds_of(message)
        finish([first], SLOWER)
        assert state() == ["new"]
        finish(others, SLOWER)
        assert watching.run_maintenance() == [message]
        assert state() == ["confirmed"]
    assert (told(message), len(mail.outbox)) == (("confirmed", "slower"), 1)


@pytest.mark.parametrize("fault", ["killed", "restarted"])
def test_a_round_of_a_killed_worker_is_run_again_and_waited_for(
    disk: Lun, ada: User, kernels: Run, fault: str
) -> None:
    watch_of(ada, kernels)
    message = found(disk, ada)
    first, *others = rounds_of(message)
    finish(others, SLOWER)
    start(first)
    if fault == "killed":
        assert lifecycle.reap_lost(after_silence()) == [first.pk]
    else:
        assert lifecycle.recover(disk.worker) == [first.pk]
    assert watching.run_maintenance() == []
    assert told(message) == ("new", "ordered")
    (again,) = waiting_rounds(message)
    assert (again.retry_of, again.block) == (first, first.block)
    finish([again], SLOWER)
    assert watching.run_maintenance() == [message]
    assert told(message) == ("confirmed", "slower")
    assert (message.payload["confirmation"]["rounds"], len(mail.outbox)) == (5, 1)


def test_a_worker_that_stays_away_ends_it_when_its_hours_are_over(
    disk: Lun, ada: User, kernels: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch_of(ada, kernels)
    message = found(disk, ada)
    ends_at = message.job.stop_before  # type: ignore[union-attr]
    assert ends_at is not None
    monkeypatch.setattr(lifecycle.clock, "now", lambda: ends_at + timedelta(minutes=1))
    assert closing.end_expired_runs() == [message.job_id]
    assert watching.run_maintenance() == [message]
    assert told(message) == ("new", "too_few_rounds")
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_set_between_order_and_end_orders_and_tells_once(
    disk: Lun, ada: User, kernels: Run, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    watch_of(ada, kernels)
    message = found(disk, ada)
    jobs, now = Job.objects.count(), datetime.now(UTC)
    for moment in (now + timedelta(days=365 * years), now):
        assert watching.run_maintenance(moment) == []
    assert (told(message), Job.objects.count()) == (("new", "ordered"), jobs)
    finish(rounds_of(message), SLOWER)
    then = now + timedelta(days=365 * years)
    assert watching.run_maintenance(then) == [message]
    assert watching.run_maintenance(now) == []
    assert (told(message), len(mail.outbox)) == (("confirmed", "slower"), 1)
    assert Job.objects.count() == jobs


def test_a_message_of_a_clock_that_was_ahead_is_sent_when_the_clock_is_right(
    disk: Lun, ada: User, kernels: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch_of(ada, kernels)
    message = found(disk, ada)
    finish(rounds_of(message), SLOWER)
    ahead = datetime.now(UTC) + timedelta(days=3650)

    def dies(*_: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(deliveries, "send_due", dies)
        with pytest.raises(RuntimeError, match="killed"):
            watching.run_maintenance(ahead)
    assert told(message) == ("confirmed", "slower")
    assert mail.outbox == []
    watching.run_maintenance()
    assert len(mail.outbox) == 1
