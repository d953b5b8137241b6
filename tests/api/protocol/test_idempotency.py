"""Jobs with an Idempotency-Key: sent again they are the same one, or refused."""

import json
from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Role
from fsbench_web.api.main import api
from fsbench_web.catalog.models import Lun
from fsbench_web.compare.models import WorkProfile
from fsbench_web.studies.models import Job, Run, Study
from tests.accounts.people import person
from tests.api.conftest import JobBody
from tests.api.protocol.test_described import described
from tests.api.protocol.test_hostile import address

DOCUMENT = {
    "study": "Array test",
    "lun": "lun0",
    "configurations": ["ext4", "xfs"],
    "schedulers": ["none"],
    "workloads": ["iozone-small"],
    "repeats": 1,
}


def sent(client: Client, path: str, body: Any, key: str = "k") -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(f"/api/v1/{path}", text, "application/json", headers=headers)


Call = tuple[str, dict[str, Any], dict[str, Any]]


@pytest.fixture(params=["runs", "sweeps"])
def call(request: pytest.FixtureRequest, job: JobBody) -> Call:
    """(address, a body, another one) of each call that takes the header."""
    if request.param == "runs":
        return "runs", job, job | {"repeats": 1}
    other = DOCUMENT | {"repeats": 2}
    return (
        "sweeps",
        {"document": DOCUMENT, "confirm": "lun0"},
        {"document": other, "confirm": "lun0"},
    )


@pytest.mark.django_db
def test_a_key_is_refused_with_another_body(writer: Client, lun: Lun, call: Call) -> None:
    path, body, other = call
    first = sent(writer, path, body)
    assert first.status_code == 201, first.content
    before = (Run.objects.count(), Study.objects.count(), AuditEntry.objects.count())
    for changed in (other, body | {"confirm": "LUN0"}):
        refused = sent(writer, path, changed)
        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == ["Idempotency-Key"]
        assert "with a new key" in refused.json()["detail"]
    # The same however it is written, with what is left out said or not.
    reordered = dict(reversed(body.items()))
    for same in (
        body,
        json.dumps(reordered, indent=3),
        body | ({"worker": ""} if path == "runs" else {}),
    ):
        again = sent(writer, path, same)
        assert (again.status_code, again.json()) == (201, first.json())
    assert (Run.objects.count(), Study.objects.count(), AuditEntry.objects.count()) == before
    assert sent(writer, path, other, "another key").status_code == 201


@pytest.mark.django_db
def test_a_key_of_a_refused_job_is_free(writer: Client, lun: Lun, call: Call) -> None:
    path, body, _ = call
    assert sent(writer, path, body | {"confirm": ""}).status_code == 422
    assert sent(writer, path, body).status_code == 201


@pytest.mark.django_db
def test_keys_are_an_accounts_own(writer: Client, lun: Lun, call: Call) -> None:
    path, body, other = call
    bob = User.objects.create_user("bob")
    his = Client(headers={"Authorization": f"Bearer {tokens.create(bob, 'b')[1]}"})
    assert sent(writer, path, body).status_code == 201
    response = sent(his, path, other)
    assert response.status_code == 201, response.content
    assert Job.objects.count() == 2
    assert sent(his, path, other).json() == response.json()


@pytest.mark.django_db
def test_the_two_calls_have_keys_of_their_own(writer: Client, lun: Lun, job: JobBody) -> None:
    assert sent(writer, "runs", job).status_code == 201
    job = sent(writer, "sweeps", {"document": DOCUMENT, "confirm": "lun0"})
    assert job.status_code == 201
    assert Job.objects.count() == 2


@pytest.mark.django_db
def test_an_order_of_before_bodies_were_kept_is_answered_as_it_was(
    writer: Client, lun: Lun, job: JobBody
) -> None:
    first = sent(writer, "runs", job)
    Job.objects.update(body_sha256="")
    assert sent(writer, "runs", job | {"repeats": 1}).json() == first.json()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_same", [True, False], ids=["the same body", "another body"])
def test_two_at_once_are_one_job(token: str, lun: Lun, job: JobBody, is_same: bool) -> None:
    bodies = [job, job if is_same else job | {"repeats": 1}]
    begin = Barrier(2)
    answers: list[Any] = []

    def send(body: JobBody) -> None:
        client = Client(headers={"Authorization": f"Bearer {token}"})
        begin.wait(60)
        try:
            answers.append(sent(client, "runs", body))
        finally:
            connection.close()

    threads = [Thread(target=send, args=[body]) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == ([201, 201] if is_same else [201, 422])
    if is_same:
        assert answers[0].json() == answers[1].json()
    assert Job.objects.count() == 1
    created = next(answer for answer in answers if answer.status_code == 201).json()
    assert [run["id"] for run in created["runs"]] == sorted(
        Run.objects.values_list("id", flat=True)
    )


@pytest.mark.django_db
def test_what_makes_something_and_keeps_no_key_refuses_it() -> None:
    """Ignored, a call that is sent again would make a second thing."""
    admin = person(Role.ADMINISTRATOR, "ada")
    eve = User.objects.create_user("eve")
    _, token = tokens.create(admin, "all", can_administer=True)
    client = Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)
    before = AuditEntry.objects.count()
    keyed = {path for method, path, names in described("header") if "Idempotency-Key" in names}
    paths = api.get_openapi_schema(path_prefix="/api/v1/")["paths"]
    making = {
        path
        for path, calls in paths.items()
        if 201 in calls.get("post", {"responses": ()})["responses"]
    }
    assert {"/api/v1/profiles", "/api/v1/imports", "/api/v1/permalinks"} <= making - keyed
    for path in sorted(making - keyed):
        assert 422 in paths[path]["post"]["responses"], path
        url = address(path, user_id=str(eve.pk)).removeprefix("/api/v1/")
        refused = sent(client, url, {})
        assert refused.status_code == 422, (path, refused.content)
        assert [error["field"] for error in refused.json()["errors"]] == ["Idempotency-Key"], path
    assert AuditEntry.objects.count() == before


@pytest.mark.django_db
def test_a_profile_is_made_once_or_refused(writer: Client) -> None:
    body = {"title": "Mail", "parts": [{"operation": "write", "weight": 1}]}
    refused = sent(writer, "profiles", body)
    assert refused.status_code == 422
    assert "nothing was made" in refused.json()["detail"]
    assert not WorkProfile.objects.exists()
    assert sent(writer, "profiles", body, key="").status_code == 201
    assert WorkProfile.objects.count() == 1
