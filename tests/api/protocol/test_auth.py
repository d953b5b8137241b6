import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.studies.models import Run, Study
from tests.api.conftest import JobBody, MakeRun, reads

WRITES = ["/api/v1/imports", "/api/v1/runs", "/api/v1/runs/1/cancel"]


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize(
    ("header", "says"),
    [
        (None, "create_token"),
        ("Bearer fsb_wrong", "mistyped or revoked"),
        ("Bearer ", "mistyped or revoked"),
        ("Bearer \x00", "mistyped or revoked"),
        ("Basic YWxpY2U6c2VjcmV0", "is not valid here"),
    ],
)
def test_every_write_needs_a_token(db: None, path: str, header: str | None, says: str) -> None:
    client = Client(headers={"Authorization": header} if header else None)
    response = client.post(path, data={}, content_type="application/json")
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert list(response.json()) == ["detail", "errors", "type", "title", "status"]
    assert says in response.json()["detail"]


def test_a_token_writes_and_a_revoked_one_does_not(
    writer: Client, make_run: MakeRun, alice: User
) -> None:
    first, second = make_run(), make_run()
    assert writer.post(f"/api/v1/runs/{first.pk}/cancel").status_code == 200
    ApiToken.objects.filter(user=alice).delete()
    assert writer.post(f"/api/v1/runs/{second.pk}/cancel").status_code == 401
    assert Run.objects.get(pk=second.pk).state == "queued"


def test_the_token_of_an_inactive_user_does_not_write(
    writer: Client, make_run: MakeRun, alice: User
) -> None:
    alice.is_active = False
    alice.save()
    assert writer.post(f"/api/v1/runs/{make_run().pk}/cancel").status_code == 401


def test_a_bad_token_is_not_saved_by_a_session(alice: User, make_run: MakeRun) -> None:
    client = Client(headers={"Authorization": "Bearer fsb_wrong"})
    client.force_login(alice)
    assert client.post(f"/api/v1/runs/{make_run().pk}/cancel").status_code == 401


def test_a_session_writes_with_its_csrf_secret_only(alice: User, make_run: MakeRun) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    path = f"/api/v1/runs/{make_run().pk}/cancel"
    refused = client.post(path)
    assert refused.status_code == 403
    assert "X-CSRFToken" in refused.json()["detail"]
    client.get("/account/")  # its forms set the cookie
    secret = client.cookies["csrftoken"].value
    assert client.post(path, headers={"X-CSRFToken": secret}).status_code == 200


def test_reading_needs_no_token_and_a_wrong_one_reads_nothing(db: None, make_run: MakeRun) -> None:
    """Who shows a token wants its person's view: a stranger's would leave out studies unsaid."""
    run = make_run()
    bad = Client(headers={"Authorization": "Bearer fsb_wrong"})
    for path in ("studies", "studies/array-test", "deltas", "runs", f"runs/{run.pk}"):
        assert Client().get(f"/api/v1/{path}").status_code == 200
        for header in ("Bearer fsb_wrong", "Bearer", "Bearer ", "Bearer fsb_wrong fsb_wrong"):
            refused = bad.get(f"/api/v1/{path}", headers={"Authorization": header})
            assert refused.status_code == 401
            assert "is invalid" in refused.json()["detail"]
    assert bad.get("/api/v1/health/live").status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "Token fsb_x",
        "Basic YWxpY2U6eA==",
        "fsb_x",
        "Bearer\tfsb_x",
        "Bearer: fsb_x",
        "Bearerfsb_x",
        "bearer=fsb_x",
        "Digest username=alice",
        ", Bearer fsb_x",
        " ",
        "",
    ],
)
def test_what_is_no_bearer_token_is_not_taken_for_a_stranger(header: str, token: str) -> None:
    """Also with a good token behind it: half a header is a mistake that somebody must see."""
    client = Client(headers={"Authorization": header.replace("fsb_x", token)})
    for method, path in (("GET", "studies"), ("HEAD", "runs"), ("GET", "me"), ("POST", "runs")):
        response = client.generic(method, f"/api/v1/{path}", b"{}", "application/json")
        assert response.status_code == 401, (method, path)
        assert response["WWW-Authenticate"] == 'Bearer realm="fsbench"'
        assert response["Content-Type"] == "application/problem+json"
        if method != "HEAD":
            assert "Authorization: Bearer TOKEN" in response.json()["detail"]
    assert client.get("/api/v1/health/live").status_code == 200
    assert client.get("/studies/").status_code == 200  # a page, which no token opens


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_a_scheme_may_be_written_in_any_case(scheme: str, token: str) -> None:
    client = Client(headers={"Authorization": f"{scheme} {token}"})
    assert client.get("/api/v1/me").json()["username"] == "alice"


def test_a_job_without_a_token_does_nothing(client: Client, lun: object, job: JobBody) -> None:
    response = client.post("/api/v1/runs", job, content_type="application/json")
    assert response.status_code == 401
    assert not Study.objects.exists()


@contextlib.contextmanager
def locked_token() -> Iterator[None]:
    """Another connection holds the row of every token; on SQLite the whole database's writes."""
    other = connection.copy()
    try:
        other.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        with other.cursor() as cursor:
            cursor.execute("UPDATE accounts_apitoken SET hint = hint")
        yield
        other.rollback()
    finally:
        other.close()


@pytest.mark.django_db(transaction=True)
def test_reads_do_not_wait_for_whoever_writes(arguments: dict[str, Any]) -> None:
    client = Client(headers={"Authorization": f"Bearer {arguments['token']}"})
    # A preview stores what was uploaded, and takes it back: it is a writer itself.
    addresses = [
        address for path, address in reads(arguments) if path != "/api/v1/imports/{import_id}"
    ]
    expected = {address: client.get(address).status_code for address in addresses}
    ApiToken.objects.update(last_used_at=None)
    began = time.monotonic()
    with locked_token():
        assert {address: client.get(address).status_code for address in addresses} == expected
    # Each had waited for SQLite's 20 s.
    assert time.monotonic() - began < 15
    assert not ApiToken.objects.exclude(last_used_at=None).exists()
    assert client.get(addresses[0]).status_code == expected[addresses[0]]
    assert ApiToken.objects.exclude(last_used_at=None).exists()


def test_a_use_that_cannot_be_noted_spoils_no_transaction(token: str, alice: User) -> None:
    def refuse(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and "accounts_apitoken" in sql:
            return execute("UPDATE accounts_apitoken SET user_id = NULL", None, *rest[1:])
        return execute(sql, *rest)

    with transaction.atomic(), connection.execute_wrapper(refuse):
        assert tokens.user_of(token) == alice
        assert User.objects.filter(pk=alice.pk).exists()
