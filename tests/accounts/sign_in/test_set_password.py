"""An administrator gives somebody a new password: random, shown once, and nobody else may."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken, AuditEntry, Role
from tests.accounts.conftest import PASSWORD
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "root"))
    return client


def shown_password(page: bytes) -> str:
    passwords = re.findall(r'<pre class="cmd">([^<]+)</pre>', page.decode())
    assert len(passwords) == 1
    return str(passwords[0])


def sign_in(name: str, password: str) -> int:
    return Client().post("/account/sign-in/", {"username": name, "password": password}).status_code


def test_the_new_password_opens_the_account_and_the_old_one_does_not(
    root: Client, alice: User
) -> None:
    answer = root.post(f"/people/{alice.pk}/password/")
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    password = shown_password(answer.content)
    assert len(password) >= 16
    assert sign_in("alice", PASSWORD) == 422
    assert sign_in("alice", password) == 302


def test_it_is_shown_once_and_kept_nowhere_readable(root: Client, alice: User) -> None:
    password = shown_password(root.post(f"/people/{alice.pk}/password/").content)
    assert password not in root.get(f"/people/{alice.pk}/").content.decode()
    assert password not in root.get("/audit/").content.decode()
    entry = AuditEntry.objects.get(what="password set")
    assert (entry.who, entry.thing) == ("root", "account alice")
    assert password not in str(entry.detail)
    assert not User.objects.filter(password__contains=password).exists()


def test_sessions_end_and_tokens_only_where_asked_for(root: Client, alice: User) -> None:
    browser = Client()
    browser.force_login(alice)
    tokens.create(alice, "ci")
    assert root.post(f"/people/{alice.pk}/password/").status_code == 201
    assert browser.get("/account/").status_code == 302
    assert ApiToken.objects.filter(user=alice).count() == 1
    sent = {"revokes_tokens": "on"}
    assert root.post(f"/people/{alice.pk}/password/", sent).status_code == 201
    assert not ApiToken.objects.filter(user=alice).exists()
    assert AuditEntry.objects.filter(what="token revoked", who="root").count() == 1


def test_ones_own_and_a_closed_account_get_none(root: Client, alice: User) -> None:
    own = User.objects.get(username="root")
    answer = root.post(f"/people/{own.pk}/password/")
    assert answer.status_code == 422
    assert b"the account page changes its password" in answer.content
    assert f"/people/{own.pk}/password/" not in root.get(f"/people/{own.pk}/").content.decode()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    before = User.objects.get(pk=alice.pk).password
    answer = root.post(f"/people/{alice.pk}/password/")
    assert answer.status_code == 422
    assert b"is closed" in answer.content
    assert User.objects.get(pk=alice.pk).password == before
    assert not AuditEntry.objects.filter(what="password set").exists()


def test_where_passwords_open_nothing_none_is_set(
    root: Client, alice: User, settings: Settings
) -> None:
    settings.PASSWORD_SIGN_IN = False
    assert root.post(f"/people/{alice.pk}/password/").status_code == 403
    assert b"Set a new password" not in root.get(f"/people/{alice.pk}/").content
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)


def test_an_account_that_is_not_there_is_a_404(root: Client) -> None:
    assert root.post("/people/4711/password/").status_code == 404


def test_the_api_sets_one_too_and_needs_the_scope(alice: User) -> None:
    admin = person(Role.ADMINISTRATOR, "root")
    path = f"/api/v1/people/{alice.pk}/password"

    def call(token: str, body: str = "{}", where: str = path) -> "tuple[int, dict[str, str]]":
        headers = {"Authorization": f"Bearer {token}"}
        answer = Client().post(where, body, content_type="application/json", headers=headers)
        return answer.status_code, answer.json()

    _, weak = tokens.create(admin, "weak")
    assert call(weak)[0] == 403
    _, mighty = tokens.create(admin, "mighty", can_administer=True)
    status, answer = call(mighty, '{"revokes_tokens": true}')
    assert status == 201
    assert sign_in("alice", answer["password"]) == 302
    assert call(mighty, where=f"/api/v1/people/{admin.pk}/password")[0] == 409
    assert call(mighty, '{"password": "chosen by the caller"}')[0] == 422
    assert call(mighty, where="/api/v1/people/4711/password")[0] == 404
    assert User.objects.get(pk=alice.pk).check_password(answer["password"])


def test_without_passwords_a_program_makes_an_account_that_has_none(
    root: Client, settings: Settings
) -> None:
    settings.PASSWORD_SIGN_IN = False
    named = {"username": "carol", "role": "viewer"}
    response = root.post("/api/v1/people", named, content_type="application/json")
    assert response.status_code == 201
    assert not User.objects.get(username="carol").has_usable_password()
    with_password = {**named, "username": "dave", "password": "correct horse battery"}
    refused = root.post("/api/v1/people", with_password, content_type="application/json")
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == ["password"]
    assert not User.objects.filter(username="dave").exists()


def test_with_passwords_an_account_needs_one(root: Client) -> None:
    named = {"username": "carol", "role": "viewer"}
    refused = root.post("/api/v1/people", named, content_type="application/json")
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == ["password"]
