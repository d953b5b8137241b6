"""How often somebody may call, counted over all web processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.api.protocol import limits
from tests.services.server import database_url

pytestmark = pytest.mark.django_db
PATH = "/api/v1/filesystems"


@pytest.fixture(autouse=True)
def _limits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.API_CALLS_A_MINUTE, settings.API_ANONYMOUS_CALLS_A_MINUTE = 5, 3
    monkeypatch.setattr(limits, "_away_until", 0.0)
    # A minute that does not end while the test runs.
    monkeypatch.setattr(limits.time, "time", lambda: 1_000_000_020.0)
    caches["shared"].clear()
    yield
    caches["shared"].clear()


def statuses(count: int, path: str = PATH, **client: Any) -> list[int]:
    caller = Client(**client)
    return [caller.get(path).status_code for _ in range(count)]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_an_address_without_an_account_is_stopped() -> None:
    assert statuses(5) == [200, 200, 200, 429, 429]
    response = Client().get(PATH)
    assert response["Content-Type"] == "application/problem+json"
    assert 1 <= int(response["Retry-After"]) <= 60
    body = response.json()
    assert (body["status"], body["title"]) == (429, "Too Many Requests")
    assert "wait" in body["detail"]


def test_another_address_and_an_account_go_on(alice: User, token: str) -> None:
    assert statuses(4)[-1] == 429
    assert statuses(1, REMOTE_ADDR="192.0.2.7") == [200]
    assert statuses(6, headers=bearer(token)) == [200] * 5 + [429]


def test_more_tokens_are_not_more_calls(alice: User) -> None:
    codes = [
        statuses(1, headers=bearer(tokens.create(alice, f"token {n}")[1]))[0] for n in range(6)
    ]
    assert codes == [200] * 5 + [429]


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP", "CF-Connecting-IP"]
)
def test_headers_of_the_caller_say_nothing_of_its_address(header: str) -> None:
    codes = [statuses(1, headers={header: f"for=192.0.2.{n}, 192.0.2.{n}"})[0] for n in range(4)]
    assert codes == [200, 200, 200, 429]


def test_tokens_that_open_nothing_are_counted_together(settings: Any) -> None:
    settings.API_ANONYMOUS_CALLS_A_MINUTE = 10**6
    codes = [statuses(1, "/api/v1/me", headers=bearer(f"fsb_{n}"))[0] for n in range(62)]
    assert codes == [401] * 60 + [429] * 2
    assert statuses(1) == [200]


def test_guessing_does_not_stop_the_owner(alice: User, token: str) -> None:
    assert statuses(4, headers=bearer("fsb_wrong"))[-1] == 429
    assert statuses(1, headers=bearer(token)) == [200]


def test_addresses_of_one_ipv6_network_are_one() -> None:
    codes = [statuses(1, REMOTE_ADDR=f"2001:db8:0:1::{n}")[0] for n in range(1, 5)]
    assert codes == [200, 200, 200, 429]
    assert statuses(1, REMOTE_ADDR="2001:db8:0:2::1") == [200]
    assert statuses(1, REMOTE_ADDR="::ffff:192.0.2.1") == [200]


def test_a_word_in_the_address_is_no_health_check() -> None:
    assert statuses(4, "/api/v1/studies/health")[-1] == 429


def test_health_and_pages_are_not_counted() -> None:
    assert statuses(5, "/api/v1/health/live") == [200] * 5
    assert statuses(5, "/account/sign-in/") == [200] * 5


def test_the_next_minute_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert statuses(4)[-1] == 429
    monkeypatch.setattr(limits.time, "time", lambda: 1_000_000_080.0)
    assert statuses(1) == [200]


def test_without_its_cache_calls_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def away(*args: object, **kwargs: object) -> None:
        calls.append(1)
        raise ConnectionError("Redis is away")

    monkeypatch.setattr(caches["shared"], "add", away)
    assert statuses(5) == [200] * 5
    # It is left alone for a while: each call would wait for it.
    assert len(calls) == 1


def test_web_processes_count_together(redis_url: str, settings: Any) -> None:
    """Two caches on one Redis, as two processes have them."""
    from django.core.cache.backends.redis import RedisCache

    from fsbench_web.platform import env

    entry = env.cache("FSBENCH_NO_SUCH_VARIABLE", redis_url)
    params = {"OPTIONS": entry["OPTIONS"], "KEY_PREFIX": "fsbench-test"}
    first, second = (RedisCache(entry["LOCATION"], dict(params)) for _ in range(2))
    first.delete("calls:x")
    assert first.add("calls:x", 0, timeout=60)
    assert not second.add("calls:x", 0, timeout=60)
    assert [first.incr("calls:x"), second.incr("calls:x")] == [1, 2]
    first.delete("calls:x")


_CALLS = """
import sys, types
import django
django.setup()
from django.test import Client
from fsbench_web.api.protocol import limits
limits.time = types.SimpleNamespace(time=lambda: 1_000_000_020.0)  # a minute that does not end
wrong = {"headers": {"Authorization": "Bearer fsb_wrong"}}
for more in ({"REMOTE_ADDR": "192.0.2.1"}, {"REMOTE_ADDR": "192.0.2.2"} | wrong):
    caller = Client(SERVER_NAME="localhost", **more)
    print(*(caller.get("/api/v1/filesystems").status_code for _ in range(2)))
"""


@pytest.mark.same_on_any_database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("has_redis", "second"),
    [(True, ["200 429", "401 429"]), (False, ["200 200", "401 401"])],
    ids=["Redis", "no Redis"],
)
def test_processes_share_a_limit_where_there_is_redis(
    redis_url: str, tmp_path: Path, has_redis: bool, second: list[str]
) -> None:
    """Two processes, three calls allowed to each caller: of addresses and of wrong tokens."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "fsbench_web.settings",
        "DATABASE_URL": database_url(),
        "FSBENCH_DATA": str(tmp_path),
        "CELERY_BROKER_URL": redis_url if has_redis else "filesystem://",
        "FSBENCH_API_ANONYMOUS_CALLS": "3",
    }
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _CALLS],
            env=environment,
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs == [["200 200", "401 401"], second]


def test_celerys_words_for_certificates_are_translated() -> None:
    from fsbench_web.platform import env

    address = "rediss://:x@broker:6379/0?ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs=/etc/ca.crt"
    entry = env.cache("FSBENCH_NO_SUCH_VARIABLE", address)
    assert "ssl_cert_reqs=required&ssl_ca_certs=/etc/ca.crt" in entry["LOCATION"]


REPORT = "/studies/unisys-2005/report/"


def test_what_is_drawn_up_has_a_limit_of_its_own_on_pages_and_calls_together(
    settings: Any, alice: User
) -> None:
    settings.RENDERED_CALLS_A_MINUTE = 2
    settings.API_ANONYMOUS_CALLS_A_MINUTE = settings.API_CALLS_A_MINUTE = 0
    # There is no such study: what is refused is not even looked for.
    assert statuses(1, REPORT) == [404]
    assert statuses(1, "/api/v1/exports/deltas.xlsx?study=nosuch") == [404]
    caller = Client()
    page = caller.get(REPORT)
    assert page.status_code == 429
    assert page["Content-Type"].startswith("text/html")
    assert 1 <= int(page["Retry-After"]) <= 60
    assert "More than 2 reports, workbooks and pictures in a minute" in page.content.decode()
    assert f'href="{REPORT}"' in page.content.decode()
    assert caller.head(REPORT).status_code == 429
    assert caller.get(f"/api/v1{REPORT}")["Content-Type"] == "application/problem+json"
    # Pages, CSV, other addresses and accounts are counted elsewhere.
    assert caller.get("/glossary/").status_code == 200
    assert caller.get("/compare/deltas.csv").status_code == 200
    assert statuses(1, REPORT, REMOTE_ADDR="192.0.2.7") == [404]
    signed_in = Client()
    signed_in.force_login(alice)
    assert [signed_in.get(REPORT).status_code for _ in range(3)] == [404, 404, 429]


def test_any_number_may_be_drawn_up_where_the_site_says_so(settings: Any) -> None:
    settings.RENDERED_CALLS_A_MINUTE = 0
    assert statuses(5, REPORT) == [404] * 5
