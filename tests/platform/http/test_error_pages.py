import json

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.test import AsyncClient, Client, override_settings
from django.urls import include, path

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports import routes
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import control

SENTENCE = 'There is no study "<b>nope</b>"; the list has those there are.'


@requires(Action.OPEN)
def say_404(request: HttpRequest) -> HttpResponse:
    raise Http404(SENTENCE)


@requires(Action.OPEN)
def missing_run(request: HttpRequest) -> HttpResponse:
    return HttpResponse(get_object_or_404(Run, pk=4711))


@requires(Action.OPEN)
def forbid(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("Only the LUN's owner may do this.")


@requires(Action.OPEN)
def suspect(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation


@requires(Action.OPEN)
def break_down(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("secret detail")


@requires(Action.OPEN)
def find_it_locked(request: HttpRequest) -> HttpResponse:
    raise OperationalError("database is locked: secret detail")


@requires(Action.OPEN)
def find_it_full(request: HttpRequest) -> HttpResponse:
    """The database's own error."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$")
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        try:
            cursor.execute("CREATE TABLE more AS SELECT zeroblob(10000000) AS bytes")
        finally:
            cursor.execute("PRAGMA max_page_count = 1000000000")
    raise AssertionError


@requires(Action.OPEN)
async def find_it_gone(request: HttpRequest) -> HttpResponse:
    raise InterfaceError("connection already closed: secret detail")


urlpatterns = [
    *(path(f"{prefix}locked/", find_it_locked) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}full/", find_it_full) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}gone/", find_it_gone) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}say-404/", say_404) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}missing-run/", missing_run) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}forbid/", forbid) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}suspect/", suspect) for prefix in ("", "api/v1/")),
    *(path(f"{prefix}break/", break_down) for prefix in ("", "api/v1/")),
    path("", include("fsbench_web.urls")),
]
handler400 = "fsbench_web.platform.http.error_pages.bad_request"
handler403 = "fsbench_web.platform.http.error_pages.permission_denied"
handler404 = "fsbench_web.platform.http.error_pages.page_not_found"
handler500 = "fsbench_web.platform.http.error_pages.server_error"

pytestmark = pytest.mark.urls(__name__)


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        ("/nowhere/", 404, "may be mistyped"),
        ("/say-404/", 404, "There is no study &quot;&lt;b&gt;nope&lt;/b&gt;&quot;"),
        ("/missing-run/", 404, "may be mistyped"),
        ("/forbid/", 403, "Only the LUN&#x27;s owner may do this."),
        ("/suspect/", 400, "could not be understood"),
        ("/break/", 500, "Something went wrong"),
    ],
)
def test_people_get_a_page_in_the_sites_look(
    client: Client, db: None, address: str, status: int, says: str
) -> None:
    response = client.get(address)
    assert response.status_code == status
    text = response.content.decode()
    assert says in text
    assert 'class="site-head"' in text
    assert "secret detail" not in text
    assert "<b>nope" not in text


def test_a_404_says_what_was_asked_for_and_where_to_go(client: Client, db: None) -> None:
    text = client.get("/nowhere/<script>/").content.decode()
    assert "/nowhere/&lt;script&gt;/" in text
    for way in ("/studies/", "/runs/", "/compare/"):
        assert f'href="{way}"' in text


@pytest.mark.parametrize(
    ("method", "address", "says", "above", "allow"),
    [
        ("get", "/account/sign-out/", "your form was not sent", "/account/", "POST"),
        ("get", "/compare/pin/", "your form was not sent", "/compare/", "POST"),
        ("get", "/people/teams/", "your form was not sent", "/people/", "POST"),
        ("get", "/imports/7/commit/", "your form was not sent", "/imports/7/", "POST"),
        ("post", "/compare/deltas.csv", "is read-only. Nothing changed", "/compare/", "GET"),
    ],
)
def test_the_address_of_a_form_leads_back(
    admin_client: Client, method: str, address: str, says: str, above: str, allow: str
) -> None:
    response = getattr(admin_client, method)(address)
    assert response.status_code == 405
    assert allow in response["Allow"]
    text = " ".join(response.content.decode().split())
    assert says in text
    assert f'<a href="{above}">go to {above}</a>.' in text
    assert 'class="site-head"' in text


@pytest.mark.parametrize("address", ["/a%00b/", "/%F0%9F%90%A7/", "/" + "x" * 5000, "/%ff/"])
def test_odd_addresses_are_404(client: Client, db: None, address: str) -> None:
    assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("nowhere", 404, "There is no /api/v1/nowhere/"),
        ("say-404", 404, SENTENCE),
        ("missing-run", 404, "/api/v1/docs"),
        ("forbid", 403, "Only the LUN's owner"),
        ("suspect", 400, "malformed"),
        ("break", 500, "log of the web process"),
    ],
)
def test_programs_get_json(client: Client, db: None, name: str, status: int, says: str) -> None:
    response = client.get(f"/api/v1/{name}/")
    assert response.status_code == status
    body = json.loads(response.content)
    assert list(body) == ["detail", "errors", "type", "title", "status"]
    assert [error["message"] for error in body["errors"]] == [body["detail"]]
    assert says in body["detail"]


@override_settings(ALLOWED_HOSTS=["bench.example"])
def test_a_host_that_is_not_allowed_is_told_what_to_set(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = client.get("/", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "FSBENCH_ALLOWED_HOSTS" in response.content.decode()
    # Scanners do that all day: no traceback for each.
    lines = [record for record in caplog.records if record.name.startswith("django.security")]
    assert lines
    assert {(line.levelname, line.exc_info) for line in lines} == {("WARNING", None)}


def test_too_many_fields_are_refused_in_a_sentence_and_logged_as_one(
    db: None, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(headers={"host": "localhost"})
    for address, mark in (("/compare/", "<p"), ("/api/v1/deltas", '"detail"')):
        caplog.clear()
        response = client.get(address + "?" + "study=x&" * 1001)
        assert response.status_code == 400
        assert "more than 1,000 fields" in response.content.decode()
        assert mark in response.content.decode()
        [line] = [record for record in caplog.records if record.name.startswith("django.security")]
        assert (line.levelname, line.exc_info) == ("WARNING", None)


def test_the_error_page_needs_no_database(client: Client) -> None:
    # No database fixture: pytest-django raises at the first query, here in the session.
    client.cookies["sessionid"] = "x" * 32
    response = client.get("/account/")
    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()


@override_settings(
    STORAGES={"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}
)
def test_it_answers_even_when_the_error_page_fails(client: Client, db: None) -> None:
    response = client.get("/break/")
    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()
    assert 'class="site-head"' not in response.content.decode()


@pytest.mark.parametrize("address", ["/locked/", "/gone/"])
def test_a_busy_database_is_said_so(client: Client, address: str) -> None:
    served = AsyncClient(raise_request_exception=False)
    for response in (client.get(address), async_to_sync(served.get)(address)):
        assert response.status_code == 503
        assert response["Retry-After"] == "30"
        text = response.content.decode()
        assert "The database is busy" in text
        assert "Reload this page in 30 seconds" in text
        assert "secret detail" not in text
    assert "before you send it again" in client.post(address).content.decode()
    body = json.loads(client.get(f"/api/v1{address}").content)
    assert list(body) == ["detail", "errors", "type", "title", "status"]
    assert "try again" in body["detail"]


def test_a_full_disk_is_told_from_a_busy_database(client: Client, db: None) -> None:
    response = client.post("/full/")
    assert response.status_code == 503
    text = response.content.decode()
    assert "The disk is full" in text
    assert "busy" not in text
    detail = json.loads(client.post("/api/v1/full/").content)["detail"]
    assert detail.startswith("The disk of the database is full; nothing was stored.")


def test_a_call_of_the_api_tells_a_full_disk_too(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "fields_of", lambda request, *names: find_it_full(request))
    response = admin_client.post("/api/v1/imports", {"study": "x"})
    assert response.status_code == 503
    assert "The disk of the database is full" in response.json()["detail"]


def test_a_form_that_finds_the_database_locked_gets_this_page(
    client: Client, admin_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_too_long(job_id: int) -> bool:
        raise OperationalError("database is locked")

    monkeypatch.setattr(control, "pause", wait_too_long)
    client.force_login(admin_user)
    response = client.post("/jobs/1/pause/")
    assert response.status_code == 503
    assert "before you send it again" in response.content.decode()
