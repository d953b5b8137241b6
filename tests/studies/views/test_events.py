"""How many live logs one client may have open: real connections to a real server."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.views.events import COME_AGAIN_S, MOST_STREAMS, MOST_STREAMS_OF_ONE
from tests.studies.conftest import start

FROM = "X-Forwarded-For"


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what the server does behind a closed connection."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Viewer:
    """Somebody with connections to the events of one run."""

    def __init__(self, site: str, run: Run, opened: ExitStack) -> None:
        self._host, self._opened = urlsplit(site).netloc, opened
        self._address = f"/runs/{run.pk}/events/"

    def ask(
        self, query: str = "", path: str = "", **headers: str
    ) -> tuple[HTTPConnection, HTTPResponse]:
        connection = HTTPConnection(self._host, timeout=30)
        self._opened.enter_context(closing(connection))
        connection.request("GET", (path or self._address) + query, headers=headers)
        return connection, connection.getresponse()

    def status(self, **headers: str) -> int:
        """The status of one more, which is left at once."""
        connection, answer = self.ask(**headers)
        answer.close()
        connection.close()
        return answer.status


@pytest.fixture
def viewer(site: str, runs: list[Run]) -> Iterator[Viewer]:
    start(runs[0], log=(("stdout", "one"),))
    with ExitStack() as opened:
        yield Viewer(site, runs[0], opened)
    # The server is there for other tests: it notices within a second that all are gone.
    with ExitStack() as opened:
        last = Viewer(site, runs[0], opened)
        until(lambda: all(last.status(**{FROM: f"198.51.100.{n}"}) == 200 for n in range(9)))


def test_one_client_has_so_many_streams_and_no_more(viewer: Viewer, ann: User) -> None:
    streams = [viewer.ask() for _ in range(MOST_STREAMS_OF_ONE)]
    assert [answer.status for _, answer in streams] == [200] * MOST_STREAMS_OF_ONE
    _, refused = viewer.ask()
    assert refused.status == 429
    assert refused.headers["Retry-After"] == str(COME_AGAIN_S)
    assert f"{MOST_STREAMS_OF_ONE} live logs are open from this" in refused.read().decode()
    # Other addresses behind the proxy that is trusted here, and accounts, have their own.
    client = Client()
    client.force_login(ann)
    assert viewer.status(**{FROM: "198.51.100.1"}) == 200
    assert viewer.status(Cookie=f"sessionid={client.cookies['sessionid'].value}") == 200
    # Asking now and then needs no place.
    _, once = viewer.ask("?once=1")
    assert once.status == 200
    assert once.read().decode().count("event: ") == 2  # a line and the state
    # A place that is left is there for the next one.
    for connection, answer in streams:
        answer.close()
        connection.close()
    until(lambda: viewer.status() == 200)


def test_all_clients_together_have_so_many(viewer: Viewer) -> None:
    statuses = [
        viewer.ask(**{FROM: f"198.51.100.{number % 8}"})[1].status for number in range(MOST_STREAMS)
    ]
    assert statuses == [200] * MOST_STREAMS
    _, refused = viewer.ask(**{FROM: "198.51.100.8"})
    assert refused.status == 429
    assert f"{MOST_STREAMS} live logs are open, " in refused.read().decode()


def test_streams_that_end_or_are_refused_keep_no_place(viewer: Viewer, runs: list[Run]) -> None:
    lifecycle.cancel(runs[1].pk, by="ann")
    for _ in range(MOST_STREAMS_OF_ONE + 2):
        assert viewer.ask(path=f"/runs/{runs[1].pk}/events/")[1].read().count(b"event: end") == 1
        assert viewer.ask(path="/runs/999999/events/")[1].status == 404
    assert viewer.status() == 200
