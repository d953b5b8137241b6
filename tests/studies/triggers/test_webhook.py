"""The API of triggers, and what somebody who has the token of one can do with it."""

import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken, Person, Role
from fsbench_web.api.protocol import limits
from fsbench_web.api.runs.triggers import MOST_FIRED
from fsbench_web.studies.models import Job, Run, Trigger, TriggerOrder
from fsbench_web.studies.triggers import records
from tests.studies.triggers.conftest import DOCUMENT, FOUND, Lab, Make, end_all

pytestmark = pytest.mark.django_db
JSON = "application/json"
Fire = Callable[..., Any]


def bearer(token: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def trigger(make: Make) -> Trigger:
    return make()


@pytest.fixture
def token(trigger: Trigger) -> str:
    return records.make_token(trigger)


@pytest.fixture
def fire(trigger: Trigger, token: str) -> Fire:
    def fire(body: Any = None, key: str = "", by: str = token, number: int = trigger.pk) -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        path = f"/api/v1/triggers/{number}/fire"
        sent = {} if body is None else body
        return bearer(by).post(path, sent, JSON, headers=headers)

    return fire


@pytest.fixture
def writer(eve: User) -> Client:
    return bearer(tokens.create(eve, "hers")[1])


def test_a_call_orders_the_job_and_says_why(fire: Fire, eve: User) -> None:
    answer = fire({"why": "commit <b>4711</b>"})
    assert answer.status_code == 201
    body = answer.json()
    job = Job.objects.get()
    assert (body["cause"], body["detail"]) == ("webhook", "commit <b>4711</b>")
    assert (body["job"], body["problem"], job.created_by) == (job.pk, "", eve)
    page = Client()
    page.force_login(eve)
    for address in (f"/jobs/{job.pk}/", f"/triggers/{Trigger.objects.get().pk}/"):
        content = page.get(address).content
        assert b"commit &lt;b&gt;4711&lt;/b&gt;" in content
        assert b"<b>4711" not in content


def test_a_call_needs_no_body(trigger: Trigger, token: str) -> None:
    path = f"/api/v1/triggers/{trigger.pk}/fire"
    assert bearer(token).generic("POST", path, b"", content_type="").status_code == 201


def test_the_last_job_must_have_ended(fire: Fire) -> None:
    assert fire().status_code == 201
    answer = fire()
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (409, "running")
    end_all()
    assert fire().status_code == 201
    assert Job.objects.count() == 2


def test_the_same_key_is_the_same_order(fire: Fire) -> None:
    first = fire(key="pipeline-1")
    assert fire(key="pipeline-1").json() == first.json()
    end_all()
    assert fire(key="pipeline-1").json() == first.json()
    assert fire(key="pipeline-2").json()["job"] != first.json()["job"]
    # What was refused is no answer for later.
    assert fire(key="pipeline-3").status_code == 409
    end_all()
    assert fire(key="pipeline-3").status_code == 201


def test_its_token_does_nothing_else(trigger: Trigger, token: str, make: Make) -> None:
    caller, other = bearer(token), make()
    records.make_token(other)
    path = f"/api/v1/triggers/{trigger.pk}"
    for method, address in (
        *(("get", "/api/v1/studies"), ("get", "/api/v1/me"), ("get", path)),
        *(("post", "/api/v1/sweeps"), ("post", "/api/v1/imports"), ("post", f"{path}/pause")),
        *(("delete", path), ("post", "/api/v1/watches"), ("get", "/api/v1/audit")),
    ):
        answer = getattr(caller, method)(address)
        assert answer.status_code == 403, address
        assert b"was not made for" in answer.content, address
    for number in (other.pk, 999_999):
        assert caller.post(f"/api/v1/triggers/{number}/fire", {}, JSON).status_code == 404
    assert not Job.objects.exists()


def test_no_other_token_and_no_session_fires(
    fire: Fire, trigger: Trigger, eve: User, writer: Client
) -> None:
    path = f"/api/v1/triggers/{trigger.pk}/fire"
    everything = tokens.create(eve, "all", can_administer=True)[1]
    assert fire(by=everything).status_code == 403
    session = Client()
    session.force_login(eve)
    assert session.post(path).status_code == 401
    assert Client().post(path).status_code == 401
    for wrong in ("fsb_" + secrets.token_urlsafe(32), "x", "ü", "fsb_" + "a" * 9000):
        assert fire(by=wrong).status_code == 401
    assert not Job.objects.exists()


def test_the_token_is_stored_as_a_digest_and_ends_when_it_is_replaced(
    fire: Fire, trigger: Trigger, token: str, eve: User
) -> None:
    row = ApiToken.objects.get()
    assert row.scopes == ["fire"]
    assert not any(token in str(value) for value in vars(row).values())
    new = records.make_token(trigger)
    assert fire().status_code == 401
    assert fire(by=new).status_code == 201
    trigger.refresh_from_db()
    tokens.revoke(ApiToken.objects.get(), eve)
    assert fire(by=new).status_code == 401
    trigger.refresh_from_db()
    assert trigger.token is None


def test_it_is_fired_ten_times_an_hour(fire: Fire, lab: Lab) -> None:
    answers = [fire(key="one" if count % 2 else "") for count in range(MOST_FIRED)]
    assert {answer.status_code for answer in answers} == {201, 409}
    end_all()
    answer = fire()
    assert (answer.status_code, answer["Retry-After"]) == (429, "3600")
    assert TriggerOrder.objects.count() <= MOST_FIRED
    jobs = Job.objects.count()
    lab.now += timedelta(hours=1, minutes=1)
    lab.announce()
    assert fire().status_code == 201
    assert Job.objects.count() == jobs + 1


@pytest.fixture
def counted(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.API_CALLS_A_MINUTE = settings.API_ANONYMOUS_CALLS_A_MINUTE = 5
    monkeypatch.setattr(limits, "_away_until", 0.0)
    monkeypatch.setattr(limits.time, "time", lambda: 1_000_000_020.0)
    caches["shared"].clear()
    yield
    caches["shared"].clear()


def test_who_guesses_tokens_is_stopped(fire: Fire, counted: None) -> None:
    guesses = [fire(by=f"fsb_{number}").status_code for number in range(7)]
    assert guesses == [401] * 5 + [429] * 2
    assert fire().status_code == 201


@pytest.mark.parametrize("body", [{"why": "x" * 201}, {"document": {}}, {"why": "a\0b"}, []])
def test_a_body_that_says_something_else_is_refused(fire: Fire, body: Any) -> None:
    assert fire(body).status_code == 422
    assert not TriggerOrder.objects.exists()


def test_a_paused_one_and_one_that_is_void_order_nothing(
    fire: Fire, trigger: Trigger, lab: Lab
) -> None:
    records.pause(trigger)
    assert fire().status_code == 409
    records.resume(trigger)
    lab.fingerprint = FOUND | {"serial": "S4A"}
    lab.announce()
    answer = fire()
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (409, "void")
    assert not Run.objects.exists()


def test_what_its_owner_may_not_the_caller_may_not(fire: Fire, eve: User) -> None:
    Person.objects.filter(user=eve).update(role=Role.VIEWER)
    answer = fire()
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (403, "forbidden")
    assert not Job.objects.exists()


BODY = {"title": "Nightly", "document": DOCUMENT, "confirm": "disk1", "schedule": "0 2 * * *"}


def test_a_program_makes_changes_and_deletes_one(writer: Client, lab: Lab) -> None:
    answer = writer.post("/api/v1/triggers", BODY | {"zone": "Europe/Berlin"}, JSON)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert made["coming"][0] == "2026-03-28T02:00:00+01:00"
    assert made["document"] == yaml.safe_load(DOCUMENT)
    assert (made["confirmed"], made["is_active"], made["has_token"]) == (True, True, False)
    path = f"/api/v1/triggers/{made['id']}"
    document = yaml.safe_load(DOCUMENT) | {"start_at": "2026-03-28T22:00:00+01:00", "seed": 7}
    change = BODY | {"document": document, "opens": "22:00", "closes": "06:00"}
    changed = writer.put(path, change, JSON).json()
    assert (changed["id"], changed["opens"], changed["closes"]) == (made["id"], "22:00", "06:00")
    assert changed["document"] == yaml.safe_load(DOCUMENT) | {"seed": 7}
    assert writer.post(f"{path}/pause").json()["coming"] == []
    assert writer.post(f"{path}/resume").json()["is_active"] is True
    assert writer.get(path).json()["orders"] == []
    assert [row["id"] for row in writer.get("/api/v1/triggers").json()["triggers"]] == [made["id"]]
    assert writer.delete(path).status_code == 204
    assert writer.get(path).status_code == 404


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"confirm": "disk2"}, 422, "confirm"),
        ({"confirm": ""}, 422, "confirm"),
        ({"schedule": "* * *"}, 422, "schedule"),
        ({"zone": "Nowhere"}, 422, "zone"),
        ({"opens": "22:00"}, 422, "closes"),
        ({"opens": "22:00", "closes": "22:00"}, 422, "closes"),
        ({"opens": "25:00", "closes": "22:00"}, 422, "opens"),
        ({"document": "[1, 2]"}, 422, "document"),
        ({"document": "study: ["}, 422, "document"),
        ({"document": DOCUMENT.replace("ext4", "nosuch")}, 422, "document"),
        ({"document": DOCUMENT.replace("disk1", "small1"), "confirm": "small1"}, 403, "document"),
        ({"extra": 1}, 422, "extra"),
    ],
)
def test_what_is_wrong_is_refused(
    writer: Client, lab: Lab, change: dict[str, Any], status: int, field: str
) -> None:
    answer = writer.post("/api/v1/triggers", BODY | change, JSON)
    assert answer.status_code == status, answer.content
    assert {error["field"] for error in answer.json()["errors"]} == {field}
    assert not Trigger.objects.exists()


def test_a_disk_that_nothing_tells_from_another_is_refused(writer: Client, lab: Lab) -> None:
    lab.fingerprint = {}
    lab.announce()
    answer = writer.post("/api/v1/triggers", BODY, JSON)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "document")
