"""Requests that nobody sends by accident: refused in the API's own words, and nothing stored."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Person, Role, Visibility
from fsbench_web.api.main import api
from fsbench_web.studies.models import Run, Study
from tests.api.conftest import MakeRun
from tests.api.results.test_contract import CALLS

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"
THERE = {"run_id": "1", "series_id": "1", "suffix": "csv", "slug": "lab", "key": "abc"} | {
    "tracer": "requests",
    "table": "scores",
}
WRITES = sorted(call for call in CALLS if call[0] != "get")
READS = sorted(path for method, path in CALLS if method == "get" and "/health" not in path)


def address(path: str, **more: str) -> str:
    more.setdefault("token_id", "424242")  # not the caller's own: it would end the rest
    for name in ("user_id", "team_id", "watch_id", "message_id", "trigger_id"):
        more.setdefault(name, "1")
    for name in ("import_id", "file_id", "name"):
        more.setdefault(name, "1")
    for name in ("artefact_id", "job_id", "workload_id", "run_id", "series_id", "lun_id"):
        more.setdefault(name, "1")
    return path.format(**(THERE | more))


@pytest.fixture
def all_mighty(alice: User) -> Client:
    _, token = tokens.create(alice, "all", can_administer=True)
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


FIRE = "/api/v1/triggers/{trigger_id}/fire"


def trigger_client(username: str) -> Client:
    """With the one kind of token that FIRE takes, and no other call."""
    user = User.objects.get(username=username)
    scopes = {"can_import": False, "can_run": False, "is_for_trigger": True}
    _, token = tokens.create(user, "trigger", **scopes)
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"a": "\xff"}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e400",
    "NaN": b'{"a": NaN}',
    "deep": b'{"document": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a long number": b'{"priority": ' + b"9" * 20_000 + b"}",
    "NUL": b'{"title": "a\\u0000b", "query": "\\u0000", "confirm": "\\u0000", "name": "\\u0000"}',
    "half a character": b'{"title": "\\ud800", "query": "\\udfff", "name": "\\ud800"}',
    "unknown keys": b'{"__proto__": {"a": 1}, "is_admin": true}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bad_bodies_are_refused(body: bytes, all_mighty: Client) -> None:
    before = (User.objects.count(), Study.objects.count(), Run.objects.count())
    for method, path in WRITES:
        response = all_mighty.generic(method.upper(), address(path), body, "application/json")
        where = (method, path, response.status_code, response.content[:300])
        assert response.status_code < 500, where
        if response.status_code >= 400:
            assert response["Content-Type"] == PROBLEM, where
            assert len(response.content) < 20_000, where
            assert response.json()["status"] == response.status_code, where
        else:
            assert response.status_code in (200, 204), where
    assert (User.objects.count(), Study.objects.count(), Run.objects.count()) == before


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=" + "x" * 500,
        "application/json; charset=utf-16",
        "application/json; charset=no-such",
        "",
    ],
)
def test_what_a_body_is_called_does_not_matter(content_type: str, all_mighty: Client) -> None:
    """It is read as JSON, or refused: `curl -d` calls JSON a form. A session needs its secret."""
    for method, path in WRITES:
        response = all_mighty.generic(
            method.upper(), address(path), b'{"title": "x"}', content_type
        )
        where = (method, path, response.status_code, response.content[:300])
        assert response.status_code < 500, where
        if (method, path) == ("post", "/api/v1/studies"):
            assert response.status_code == 201, where
    assert [study.title for study in Study.objects.all()] == ["x"]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=-1",
        "limit=501",
        "limit=99999999999999999999999",
        "offset=-1",
        "offset=9223372036854775808",
        "limit=1&limit=x",
        "limit=%00",
        "limit=",
        "offset=1.5",
    ],
)
def test_odd_pages_are_refused(query: str, all_mighty: Client) -> None:
    lists = ["studies", "series", "runs", "sweeps", "configurations", "permalinks", "imports"]
    for path in [*lists, "people", "teams", "audit"]:
        response = all_mighty.get(f"/api/v1/{path}?{query}")
        assert response.status_code == 422, (path, response.content[:200])
        assert response["Content-Type"] == PROBLEM


@pytest.mark.parametrize("value", ["a%00b", "%ff", "x" * 5000])
def test_odd_text_in_queries_is_no_error(value: str, all_mighty: Client) -> None:
    for path in READS:
        for name in ("study", "filesystem", "q", "who", "by"):
            response = all_mighty.get(f"{address(path)}?{name}={value}")
            assert response.status_code < 500, (path, name, response.content[:300])


@pytest.mark.parametrize("value", ["a%00b", "%ff", "..%2f..%2fetc", "x" * 3000, "-1", "9" * 30])
def test_odd_text_in_addresses_is_no_error(value: str, all_mighty: Client) -> None:
    for method, path in sorted(CALLS):
        if "{" not in path:
            continue
        names = {part.strip("{}") for part in path.replace(".", "/").split("/") if "{" in part}
        for name in names:
            response = all_mighty.generic(
                method.upper(), address(path, **{name: value}), b"{}", "application/json"
            )
            where = (method, path, name, response.status_code)
            assert response.status_code < 500, where


def test_no_call_takes_another_method(all_mighty: Client) -> None:
    by_path: dict[str, set[str]] = {}
    for path, calls in api.get_openapi_schema()["paths"].items():
        by_path.setdefault(path, set()).update(calls)
    for path, methods in by_path.items():
        for method in {"get", "post", "put", "patch", "delete", "trace"} - methods:
            response = all_mighty.generic(method.upper(), address(path), b"{}", "application/json")
            assert response.status_code == 405, (method, path)
            allowed = {name.strip().lower() for name in response["Allow"].split(",")}
            assert allowed == methods, (path, allowed)
            assert response["Content-Type"] == PROBLEM


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_a_method_in_a_header_is_not_taken(header: str, alice: User) -> None:
    _, token = tokens.create(alice, "reads", can_import=False, can_run=False)
    client = Client(headers={"Authorization": f"Bearer {token}", header: "POST"})
    assert client.get("/api/v1/studies").status_code == 200
    assert not Study.objects.exists()


def test_a_reading_token_changes_nothing(alice: User) -> None:
    """Alice may everything; her token may read."""
    _, token = tokens.create(alice, "reads", can_import=False, can_run=False)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    entries = AuditEntry.objects.count()
    for method, path in WRITES:
        if "/me/tokens" in path and method == "delete":
            continue  # its own end is its own affair
        body = b'{"name": "child"}' if "/me/tokens" in path else b"{}"
        response = client.generic(method.upper(), address(path), body, "application/json")
        assert response.status_code == 403, (method, path, response.content[:200])
    assert AuditEntry.objects.count() == entries


def test_a_session_beside_a_token_has_no_say(alice: User, make_run: MakeRun) -> None:
    make_run()
    Study.objects.update(visibility=Visibility.PRIVATE, created_by=alice)
    eve = User.objects.create_user("eve", is_staff=False)
    Person.objects.create(user=eve, role=Role.VIEWER)
    browser = Client(headers={"Authorization": f"Bearer {tokens.create(eve, 'e')[1]}"})
    browser.force_login(alice)
    assert browser.get("/api/v1/me").json()["username"] == "eve"
    assert browser.get("/api/v1/studies/array-test").status_code == 404
    assert browser.get("/api/v1/people").status_code == 403
    wrong = Client(headers={"Authorization": "Bearer fsb_wrong"})
    wrong.force_login(alice)
    assert wrong.get("/api/v1/studies/array-test").status_code == 401
    assert wrong.get("/api/v1/me").status_code == 401


def test_an_if_match_reads_no_more_than_its_caller(alice: User, make_run: MakeRun) -> None:
    make_run()
    Study.objects.update(visibility=Visibility.PRIVATE, created_by=alice)
    eve = User.objects.create_user("eve")
    Person.objects.create(user=eve, role=Role.CONTRIBUTOR)
    client = Client(headers={"Authorization": f"Bearer {tokens.create(eve, 'e')[1]}"})
    response = client.patch(
        "/api/v1/studies/array-test/access",
        json.dumps({"visibility": "public"}),
        "application/json",
        headers={"If-Match": '"x"'},
    )
    assert response.status_code == 404
    assert Study.objects.get().visibility == Visibility.PRIVATE
