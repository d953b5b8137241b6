"""Each client has a few turns at a time, and 429 where too many renderings wait."""

import asyncio
import json
import threading
from contextlib import suppress
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import path, resolve

from fsbench_web import urls
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.platform.http.security import POLICY
from fsbench_web.serving.turns import Handler, Turns

REPORT = "/slow/report/"
goes_on = threading.Event()


@requires(Action.READ)
def slow(request: HttpRequest) -> HttpResponse:
    assert goes_on.wait(60)
    return HttpResponse("done")


@requires(Action.READ)
def fast(request: HttpRequest) -> HttpResponse:
    return HttpResponse("fast")


@requires(Action.READ)
async def streamed(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse(threading.current_thread().name)


urlpatterns = [
    path("slow/", slow),
    path("fast/", fast),
    path("streamed/", streamed),
    path("slow/report/", slow),
    path("api/v1/slow/report/", slow),
    *urls.urlpatterns,
]
handler400, handler403, handler404, handler500 = (
    urls.handler400,
    urls.handler403,
    urls.handler404,
    urls.handler500,
)


@pytest.fixture(autouse=True)
def ours(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    goes_on.clear()


class Answer:
    def __init__(self, sent: list[dict[str, Any]]) -> None:
        self.status = sent[0]["status"]
        self.headers = {name.lower(): value for name, value in sent[0]["headers"]}
        self.body = b"".join(part.get("body", b"") for part in sent[1:])


async def ask(application: Any, address: str, client: str = "127.0.0.1") -> Answer:
    """One request through ASGI, without a server."""
    sent: list[dict[str, Any]] = []
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": address,
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": (client, 1),
        "server": ("localhost", 80),
        "scheme": "http",
    }
    await application(scope, receive, send)
    return Answer(sent)


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def test_one_client_leaves_turns_for_the_others() -> None:
    turns, begun, end = Turns(at_once=3, at_once_of_one=2), [], asyncio.Event()

    async def work(client: str) -> None:
        async with turns.take(client):
            begun.append(client)
            await end.wait()

    async def all_of_it() -> None:
        tasks = [asyncio.create_task(work(client)) for client in ["loop"] * 5 + ["other", "third"]]
        await until(lambda: len(begun) == 3)
        await asyncio.sleep(0.01)
        assert begun == ["loop", "loop", "other"]
        assert (turns.requests["loop"], turns.requests.total()) == (5, 7)
        tasks[2].cancel()  # one that waits gives up
        with suppress(asyncio.CancelledError):
            await tasks[2]
        end.set()
        await asyncio.gather(*tasks[:2], *tasks[3:])
        assert len(begun) == 6
        assert not turns.requests
        assert not turns._turns_of

    asyncio.run(all_of_it())


@pytest.mark.django_db(transaction=True)
def test_pages_are_answered_while_one_client_has_many_slow_ones() -> None:
    handler = Handler()

    async def all_of_it() -> None:
        slow_ones = [asyncio.create_task(ask(handler, "/slow/")) for _ in range(20)]
        await until(lambda: handler.pages.requests["127.0.0.1"] == 20)
        assert (await ask(handler, "/fast/", "192.0.2.1")).body == b"fast"
        assert not any(task.done() for task in slow_ones)
        goes_on.set()
        assert {answer.status for answer in await asyncio.gather(*slow_ones)} == {200}

    asyncio.run(all_of_it())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("of_one_client", [True, False])
def test_renderings_beyond_those_that_may_wait_are_refused_at_once(of_one_client: bool) -> None:
    handler = Handler()
    count = handler.MOST_RENDERED_OF_ONE if of_one_client else handler.MOST_RENDERED

    async def all_of_it() -> None:
        # One machine chooses among many addresses of IPv6.
        names = [f"2001:db8::{n}" if of_one_client else f"192.0.2.{n // 8}" for n in range(count)]
        waiting = [asyncio.create_task(ask(handler, REPORT, name)) for name in names]
        await until(lambda: handler.rendered.requests.total() == count)
        assert (await ask(handler, "/fast/", names[0])).status == 200
        client = "2001:db8::ffff" if of_one_client else "198.51.100.1"
        page = await ask(handler, REPORT, client)
        assert (page.status, page.headers[b"retry-after"]) == (429, b"5")
        assert page.headers[b"content-security-policy"].decode() == POLICY
        call = await ask(handler, f"/api/v1{REPORT}", client)
        assert (call.status, json.loads(call.body)["status"]) == (429, 429)
        goes_on.set()
        assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}
        assert (await ask(handler, REPORT, client)).status == 200

    asyncio.run(all_of_it())


@pytest.mark.django_db(transaction=True)
def test_a_view_that_is_a_coroutine_runs_in_the_event_loop() -> None:
    answer = asyncio.run(ask(Handler(), "/streamed/"))
    assert (answer.status, answer.body) == (200, b"MainThread")
    assert answer.headers[b"content-security-policy"].decode() == POLICY


@pytest.mark.parametrize(
    "address",
    [
        "/account/sign-in/service/",
        "/account/sign-in/service/callback/",
        "/account/email/",
        "/watches/7/test/",
        "/api/v1/watches/7/test",
        "/api/v1/health/ready",
        "/static/css/fsbench.css",
    ],
)
def test_what_waits_for_other_servers_and_health_need_no_turn(address: str) -> None:
    request = RequestFactory().post(address, content_type="application/json")
    assert Handler().turns_for(request) is None
    assert address.startswith("/static/") or resolve(address)


def test_uploads_have_turns_of_their_own() -> None:
    handler, factory = Handler(), RequestFactory()
    assert handler.turns_for(factory.post("/", {})) is handler.uploads
    form = factory.post("/", "a=b", content_type="application/x-www-form-urlencoded")
    assert handler.turns_for(form) is handler.pages
    assert handler.turns_for(factory.get("/account/sign-in/")) is handler.pages
