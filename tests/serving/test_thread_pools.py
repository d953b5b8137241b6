"""How web processes share their threads out: what waits for what, and what is kept between two."""

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Awaitable
from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client, RequestFactory
from django.urls import path, resolve
from django.views.decorators.csrf import csrf_exempt

from fsbench_web import urls
from fsbench_web.accounts import openid_session
from fsbench_web.accounts.models import Person, Role, Visibility
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.platform.http.caching import CLOSED
from fsbench_web.platform.http.security import POLICY
from fsbench_web.platform.openid_settings import SignOn
from fsbench_web.serving import thread_pools
from fsbench_web.studies.models import Study

LOCK = threading.Lock()
under_way: list[str] = []
most: dict[str, int] = {}
threads: set[str] = set()
order: list[str] = []


def pause(request: HttpRequest) -> None:
    """What takes the slow view its time; tests put another one in its place."""
    time.sleep(0.05)


@csrf_exempt
@requires(Action.READ)
def slow(request: HttpRequest) -> HttpResponse:
    with LOCK:
        under_way.append("slow")
        most["slow"] = max(most.get("slow", 0), len(under_way))
        threads.add(threading.current_thread().name)
    pause(request)
    with LOCK:
        under_way.remove("slow")
        order.append(f"{request.method} ends")
    return HttpResponse("done")


@requires(Action.OPEN)
def slow_health_check(request: HttpRequest) -> HttpResponse:
    return slow(request)


@requires(Action.READ)
def sees(request: HttpRequest) -> JsonResponse:
    """Which studies whoever asks sees, and in which thread."""
    order.append("page begins")
    slugs = sorted(Study.objects.values_list("slug", flat=True))
    return JsonResponse({"slugs": slugs, "thread": threading.get_ident()})


@requires(Action.READ)
def broken(request: HttpRequest) -> HttpResponse:
    """Leaves a transaction of the thread's connection in the air."""
    connection.set_autocommit(False)
    list(Study.objects.all())
    raise ValueError("broken")


@requires(Action.READ)
async def streamed(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse(threading.current_thread().name)


urlpatterns = [
    path("slow/", slow),
    path("sees/", sees),
    path("streamed/", streamed),
    path("broken/", broken),
    path("api/v1/health/slow", slow_health_check),
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
    under_way.clear()
    most.clear()
    threads.clear()
    order.clear()


async def ask(
    application: Any,
    method: str,
    address: str,
    body: bytes = b"",
    headers: Any = (),
    client: str = "127.0.0.1",
    response_headers: dict[bytes, bytes] | None = None,
) -> tuple[int, bytes]:
    """One request through ASGI, without a server: (status, body); fills ``response_headers``."""
    sent: list[dict[str, Any]] = []
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": address,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers],
        "client": (client, 1),
        "server": ("localhost", 80),
        "scheme": "http",
    }
    await application(scope, receive, send)
    if response_headers is not None:
        response_headers |= {name.lower(): value for name, value in sent[0]["headers"]}
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])


async def all_of(*calls: Awaitable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    return await asyncio.gather(*calls)


def slow_ones(application: Any, count: int, *more: Any) -> list[tuple[int, bytes]]:
    calls = [ask(application, "GET", "/slow/") for _ in range(count)]
    return asyncio.run(all_of(*calls, *more))


@pytest.mark.django_db(transaction=True)
def test_it_works_on_as_many_pages_as_have_turns_and_answers_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_pools, "LONG_S", 60)
    answers = slow_ones(thread_pools.application(), 3 * thread_pools.PAGES)
    assert answers == [(200, b"done")] * (3 * thread_pools.PAGES)
    assert most["slow"] == thread_pools.TURNS
    assert under_way == []


@pytest.mark.django_db(transaction=True)
def test_pages_that_take_long_give_their_turns_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "LONG_S", 0.01)
    # None ends before as many as there are threads are under way.
    together = threading.Barrier(thread_pools.PAGES, timeout=60)
    monkeypatch.setattr(f"{__name__}.pause", lambda request: together.wait())
    answers = slow_ones(thread_pools.application(), 3 * thread_pools.PAGES)
    assert answers == [(200, b"done")] * (3 * thread_pools.PAGES)
    assert most["slow"] == len(threads) == thread_pools.PAGES


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_service_that_keeps_silent_holds_up_no_page(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four people sign in while it hangs: each waits for its answer, for ten seconds."""
    monkeypatch.setattr(openid_session, "LIMIT_S", 60)
    monkeypatch.setattr(thread_pools, "LONG_S", 0.01)
    application = thread_pools.application()

    async def all_of_it(silent: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        accepted: list[socket.socket] = []

        async def take_those_that_come() -> None:
            with suppress(TimeoutError):
                while True:
                    async with asyncio.timeout(0.5):
                        accepted.append((await loop.sock_accept(silent))[0])

        people = [
            asyncio.create_task(ask(application, "GET", "/account/sign-in/service/"))
            for _ in range(thread_pools.PAGES)
        ]
        await take_those_that_come()
        status, _ = await ask(application, "GET", "/sees/", client="192.0.2.1")
        assert status == 200
        assert not any(task.done() for task in people)
        while not all(task.done() for task in people):
            while accepted:
                accepted.pop().close()
            await take_those_that_come()
        assert {task.result()[0] for task in people} == {502}

    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings.SIGN_ON = SignOn(issuer, "fsbench", "secret")
        asyncio.run(all_of_it(silent))


@pytest.mark.parametrize(
    ("address", "pool"),
    [
        ("/account/sign-in/service/", "others_answers"),
        ("/account/sign-in/service/callback/", "others_answers"),
        ("/account/email/", "others_answers"),
        ("/watches/7/test/", "others_answers"),
        ("/api/v1/watches/7/test", "others_answers"),
        ("/account/sign-in/", "pages"),
        ("/watches/7/", "pages"),
        ("/api/v1/watches", "pages"),
    ],
)
def test_what_asks_other_servers_has_threads_of_its_own(address: str, pool: str) -> None:
    application = thread_pools.application()
    request = RequestFactory().post(address, content_type="application/json")
    assert application._pool_of(request) is getattr(application, pool)
    assert resolve(address)


@pytest.mark.django_db(transaction=True)
def test_loops_of_one_client_do_not_keep_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one_ends = threading.Semaphore(0)
    monkeypatch.setattr(thread_pools, "LONG_S", 0.01)

    def wait(request: HttpRequest) -> None:
        order.append(request.META["REMOTE_ADDR"])
        assert one_ends.acquire(timeout=60)

    monkeypatch.setattr(f"{__name__}.pause", wait)
    application = thread_pools.application()
    waiting = application.pages._turns._waiting

    async def begun(count: int) -> list[str]:
        """As many as that: in threads of their own they would overtake each other."""
        while (
            len(addresses := [address for address in order if not address.endswith("ends")]) < count
        ):
            await asyncio.sleep(0.001)
        return addresses

    async def all_of_it() -> None:
        loops = [asyncio.create_task(ask(application, "GET", "/slow/")) for _ in range(20)]
        await begun(thread_pools.PAGES)
        other = asyncio.create_task(ask(application, "GET", "/slow/", client="192.0.2.1"))
        while len(waiting.get("127.0.0.1", ())) + thread_pools.PAGES < 20 or len(waiting) < 2:
            await asyncio.sleep(0.001)
        # One of the loops was first in turn; the next is the other client's.
        for count in (1, 2):
            one_ends.release()
            addresses = await begun(thread_pools.PAGES + count)
        assert addresses[-1] == "192.0.2.1"
        one_ends.release(20)
        await asyncio.gather(*loops, other)

    asyncio.run(all_of_it())


def file_ends_before_page(size: int) -> bool:
    """Whether a file of some bytes that came first is stored before a page is begun."""
    application = thread_pools.application()
    head = [
        (b"content-type", b"multipart/form-data; boundary=x"),
        (b"content-length", str(size).encode()),
    ]

    async def file_then_page() -> None:
        first = asyncio.create_task(ask(application, "POST", "/slow/", b"", head))
        while not under_way:
            await asyncio.sleep(0.001)
        answers = await asyncio.gather(first, ask(application, "GET", "/sees/"))
        assert [status for status, _ in answers] == [200, 200]

    asyncio.run(file_then_page())
    return order == ["POST ends", "page begins"]


@pytest.mark.django_db(transaction=True)
def test_pages_wait_for_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "FILES_FIRST_S", 20)
    assert file_ends_before_page(100)


@pytest.mark.django_db(transaction=True)
def test_pages_do_not_wait_for_large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "FILES_FIRST_S", 20)
    monkeypatch.setattr(thread_pools.ThreadPoolHandler, "_wait_for_small_files", never)
    assert thread_pools.SMALL_FILE_BYTES < 10**6
    file_ends_before_page(10**6)


async def never(self: thread_pools.ThreadPoolHandler) -> None:
    raise AssertionError("this was to begin at once")


@pytest.mark.django_db(transaction=True)
def test_pages_wait_for_files_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "FILES_FIRST_S", 0.01)
    monkeypatch.setattr(thread_pools.ThreadPoolHandler, "_answer", answer_once_released)
    release.clear()
    application = thread_pools.application()
    head = [(b"content-type", b"multipart/form-data; boundary=x"), (b"content-length", b"1")]

    async def page_during_file() -> None:
        file = asyncio.create_task(ask(application, "POST", "/slow/", b"", head))
        while not application._small_files:
            await asyncio.sleep(0.001)
        assert (await ask(application, "GET", "/page/"))[1] == b"page"
        assert not file.done()
        release.set()
        assert (await file)[1] == b"file"

    asyncio.run(page_during_file())


release = threading.Event()


def answer_once_released(
    self: thread_pools.ThreadPoolHandler, request: HttpRequest
) -> HttpResponse:
    """Files wait until the test lets them go."""
    if request.method == "POST":
        assert release.wait(20)
        return HttpResponse("file")
    return HttpResponse("page")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["/api/v1/health/slow", "/static/css/fsbench.css"])
def test_health_checks_and_static_files_do_not_wait_for_pages(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    application, is_answered = thread_pools.application(), threading.Event()

    def until_it_is_answered(request: HttpRequest) -> None:
        assert "health" in request.path or is_answered.wait(60)

    monkeypatch.setattr(f"{__name__}.pause", until_it_is_answered)

    async def health_check() -> tuple[int, bytes]:
        answer = await ask(application, "GET", address)
        is_answered.set()
        return answer

    async def pages_and_check() -> list[tuple[int, bytes]]:
        pages = (ask(application, "GET", "/slow/") for _ in range(5 * thread_pools.PAGES))
        return await all_of(*pages, health_check())

    assert {status for status, _ in asyncio.run(pages_and_check())} == {200}


@pytest.mark.django_db(transaction=True)
def test_files_wait_in_a_lane_of_their_own() -> None:
    application = thread_pools.application()
    head = [(b"content-type", b"multipart/form-data; boundary=x")]
    form = [(b"content-type", b"application/x-www-form-urlencoded")]

    def pool(method: str, headers: Any) -> Any:
        scope = {"type": "http", "method": method, "path": "/", "headers": headers}
        return application._pool_of(ASGIRequest(scope, BytesIO()))

    assert pool("POST", head) is application.files
    assert pool("POST", form) is application.pages
    assert pool("GET", head) is application.pages


@pytest.mark.django_db(transaction=True)
def test_a_view_that_is_a_coroutine_goes_on_in_the_loop() -> None:
    response_headers: dict[bytes, bytes] = {}
    status, name = asyncio.run(
        ask(thread_pools.application(), "GET", "/streamed/", response_headers=response_headers)
    )
    assert (status, name) == (200, b"MainThread")
    # Through all of the middleware, which is synchronous.
    assert response_headers[b"content-security-policy"].decode() == POLICY
    assert response_headers[b"cache-control"].decode() == CLOSED
    assert b"x-request-id" in response_headers


@pytest.mark.django_db(transaction=True)
def test_nobody_sees_what_the_one_before_in_the_thread_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "PAGES", 1)
    owner, other = (User.objects.create_user(name) for name in ("owner", "other"))
    for user in (owner, other):
        Person.objects.update_or_create(user=user, defaults={"role": Role.CONTRIBUTOR})
    Study.objects.create(slug="open", title="Open")
    Study.objects.create(
        slug="secret", title="Secret", created_by=owner, visibility=Visibility.PRIVATE
    )
    sessions = {}
    for user in (owner, other):
        client = Client()
        client.force_login(user)
        sessions[user] = client
    application, seen_in = thread_pools.application(), set()

    def seen_slugs(user: User | None) -> list[str]:
        headers = []
        if user is not None:
            headers = [(b"cookie", sessions[user].cookies.output(header="", sep=";").encode())]
        status, body = asyncio.run(ask(application, "GET", "/sees/", headers=headers))
        assert status == 200
        answer = json.loads(body)
        seen_in.add(answer["thread"])
        return list(answer["slugs"])

    for _ in range(2):
        assert seen_slugs(owner) == ["open", "secret"]
        assert seen_slugs(other) == ["open"]
        assert seen_slugs(owner) == ["open", "secret"]
        assert seen_slugs(None) == ["open"]
    assert seen_slugs(owner) == ["open", "secret"]
    cookies = dict(sessions[owner].cookies)
    sessions[owner].logout()
    sessions[owner].cookies.update(cookies)  # the cookie as a thief would send it again
    assert seen_slugs(owner) == ["open"]
    assert len(seen_in) == 1, "all of this was to happen in one thread"
    connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_an_error_leaves_the_thread_fit_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pools, "PAGES", 1)
    application = thread_pools.application()
    assert asyncio.run(ask(application, "GET", "/broken/"))[0] == 500
    assert asyncio.run(ask(application, "GET", "/sees/"))[0] == 200


REPORT = "/slow/report/"


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What is drawn up stands still until this is set."""
    goes_on = threading.Event()

    def wait(request: HttpRequest) -> None:
        assert "report" not in request.path or goes_on.wait(60)

    monkeypatch.setattr(f"{__name__}.pause", wait)
    return goes_on


async def wait_for(application: thread_pools.ThreadPoolHandler, count: int) -> None:
    while application._drawn_up.total() < count:
        await asyncio.sleep(0.001)


@pytest.mark.django_db(transaction=True)
def test_pages_are_answered_while_everything_that_is_drawn_up_stands_still(
    blocked: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_pools, "LONG_S", 0.01)
    application = thread_pools.application()

    async def all_of_it() -> None:
        waiting = [
            asyncio.create_task(ask(application, "GET", REPORT, client=f"192.0.2.{number // 8}"))
            for number in range(thread_pools.MOST_RENDERINGS)
        ]
        await wait_for(application, thread_pools.MOST_RENDERINGS)
        while len(under_way) < thread_pools.RENDERINGS:
            await asyncio.sleep(0.001)
        for address in ("/slow/", "/sees/", "/api/v1/health/slow"):
            assert (await ask(application, "GET", address))[0] == 200
        assert not any(task.done() for task in waiting)
        # One more of anybody is told to come again, at once, and when.
        response_headers: dict[bytes, bytes] = {}
        status, page = await ask(
            application, "GET", REPORT, client="198.51.100.1", response_headers=response_headers
        )
        assert (status, response_headers[b"retry-after"]) == (
            429,
            str(thread_pools.COME_AGAIN_S).encode(),
        )
        assert b"Ask again in 5 seconds" in page
        assert response_headers[b"cache-control"] == b"private, no-store"
        assert b"content-security-policy" in response_headers
        status, body = await ask(
            application, "GET", f"/api/v1{REPORT}", response_headers=response_headers
        )
        assert (status, response_headers[b"content-type"]) == (429, b"application/problem+json")
        assert json.loads(body)["status"] == 429
        blocked.set()
        assert {status for status, _ in await asyncio.gather(*waiting)} == {200}
        assert (await ask(application, "GET", REPORT, client="198.51.100.1"))[0] == 200

    asyncio.run(all_of_it())
    assert application._drawn_up.total() == 0
    assert under_way == []


@pytest.mark.django_db(transaction=True)
def test_one_client_does_not_take_the_room_of_the_others(blocked: threading.Event) -> None:
    application = thread_pools.application()

    async def all_of_it() -> None:
        # One machine chooses among many addresses of IPv6.
        waiting = [
            asyncio.create_task(ask(application, "GET", REPORT, client=f"2001:db8::{number}"))
            for number in range(thread_pools.MOST_RENDERINGS_OF_ONE)
        ]
        await wait_for(application, thread_pools.MOST_RENDERINGS_OF_ONE)
        assert (await ask(application, "GET", REPORT, client="2001:db8::ffff"))[0] == 429
        other = asyncio.create_task(ask(application, "GET", REPORT, client="192.0.2.1"))
        await wait_for(application, thread_pools.MOST_RENDERINGS_OF_ONE + 1)
        blocked.set()
        assert {status for status, _ in await asyncio.gather(*waiting, other)} == {200}

    asyncio.run(all_of_it())


@pytest.mark.django_db(transaction=True)
def test_what_is_drawn_up_waits_for_pages_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(thread_pools, "PAGES_FIRST_S", 20)

    def wait(request: HttpRequest) -> None:
        order.append(f"begins {request.path}")
        assert "report" in request.path or goes_on.wait(60)

    monkeypatch.setattr(f"{__name__}.pause", wait)
    application = thread_pools.application()

    async def page_then_report() -> None:
        page = asyncio.create_task(ask(application, "GET", "/slow/"))
        while not order:
            await asyncio.sleep(0.001)
        report = asyncio.create_task(ask(application, "GET", REPORT))
        await wait_for(application, 1)
        goes_on.set()
        await asyncio.gather(page, report)
        assert order.index("GET ends") < order.index(f"begins {REPORT}")
        # While pages keep coming it has its turn after a while.
        goes_on.clear()
        monkeypatch.setattr(thread_pools, "PAGES_FIRST_S", 0.01)
        page = asyncio.create_task(ask(application, "GET", "/slow/"))
        assert (await ask(application, "GET", REPORT))[0] == 200
        assert not page.done()
        goes_on.set()
        await page

    asyncio.run(page_then_report())


def test_a_lane_that_rests_begins_the_next_after_it() -> None:
    """Twice as long as the one before computed: a third of the time at most is this pool's."""
    times: list[tuple[float, float]] = []

    def compute(request: HttpRequest) -> HttpResponse:
        began, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < 0.05:
            pass
        times.append((began, time.monotonic()))
        return HttpResponse()

    async def three() -> None:
        pool = thread_pools.ThreadPool("resting", 2, compute, turns=1, rests=2.0)
        await asyncio.gather(*(pool(HttpRequest()) for _ in range(3)))

    asyncio.run(three())
    assert all(next_[0] - last[1] >= 0.09 for last, next_ in itertools.pairwise(times))
