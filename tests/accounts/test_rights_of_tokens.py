"""Tokens do what they were made for, until they expire; sessions end; what is done is written."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts import audit, rights, tokens
from fsbench_web.accounts.models import AuditEntry, Person, Role, Team
from fsbench_web.accounts.people import accounts
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


def header(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_does_only_what_it_was_made_for() -> None:
    ada = person(Role.ADMINISTRATOR, "ada")
    _, reads = tokens.create(ada, "reads", can_import=False, can_run=False)
    _, imports = tokens.create(ada, "imports", can_run=False)
    _, runs = tokens.create(ada, "runs", can_import=False)
    call = Client().post
    for token, path in ((reads, "imports"), (reads, "runs"), (imports, "runs"), (runs, "imports")):
        response = call(f"/api/v1/{path}", headers=header(token))
        assert response.status_code == 403, path
        assert "was not made for" in response.json()["detail"]
    assert call("/api/v1/imports", headers=header(imports)).status_code == 422
    assert call("/api/v1/runs", {}, "application/json", headers=header(runs)).status_code == 422
    assert Client().get("/api/v1/studies", headers=header(reads)).status_code == 200


def test_an_expired_token_opens_nothing(settings) -> None:
    settings.ANONYMOUS_READING = False
    ada = person(Role.OPERATOR, "ada")
    _, token = tokens.create(ada, "old", expires_at=timezone.now() + timedelta(minutes=1))
    assert Client().get("/api/v1/studies", headers=header(token)).status_code == 200
    tokens.ApiToken.objects.update(expires_at=timezone.now())
    response = Client().get("/api/v1/studies", headers=header(token))
    assert response.status_code == 401
    assert "expired" in response.json()["detail"]
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_closed_accounts_token_and_session_open_nothing(settings) -> None:
    settings.ANONYMOUS_READING = False
    root, ada = person(Role.ADMINISTRATOR, "root"), person(Role.OPERATOR, "ada")
    _, token = tokens.create(ada, "t")
    client = Client()
    client.force_login(ada)
    accounts.change(ada.pk, role=Role.OPERATOR, is_active=False, teams=[], luns=[], by=root)
    assert Client().get("/api/v1/studies", headers=header(token)).status_code == 401
    assert client.get("/account/").status_code == 302


def test_the_command_makes_a_token_of_one_scope(capsys: pytest.CaptureFixture[str]) -> None:
    person(Role.OPERATOR, "ada")
    call_command("create_token", "ada", "--scope", "import", "--days", "30")
    row = tokens.row_of(capsys.readouterr().out.strip())
    assert row is not None
    assert row.scopes == ["read", "import"]
    assert row.expires_at is not None
    assert timedelta(days=29) < row.expires_at - timezone.now() <= timedelta(days=30)


def test_the_form_makes_a_token_that_expires() -> None:
    client = Client()
    client.force_login(person(Role.OPERATOR, "ada"))
    sent = {"name": "ci", "can_import": "on", "days": "30"}
    assert client.post("/account/tokens/", sent).status_code == 201
    row = tokens.ApiToken.objects.get()
    assert (row.can_import, row.can_run) == (True, False)
    assert row.expires_at is not None
    assert client.post("/account/tokens/", {"name": "x", "days": "7000"}).status_code == 422


def test_a_session_ends(settings) -> None:
    client = Client()
    client.force_login(person(Role.VIEWER))
    assert client.session.get_expiry_age() == settings.SESSION_COOKIE_AGE
    assert client.get("/account/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/account/").status_code == 302


def test_an_account_without_a_role_has_the_default(settings) -> None:
    user = User.objects.create_user("new")
    settings.DEFAULT_ROLE = "viewer"
    assert rights.role_of(user) == Role.VIEWER
    assert not rights.may(user, rights.Action.IMPORT)
    why = rights.decide(user, rights.Action.IMPORT).why
    assert why.startswith("Importing needs the role contributor; your account is a viewer")


def test_the_last_administrator_stays() -> None:
    root = person(Role.ADMINISTRATOR, "root")
    for role, is_active in ((Role.VIEWER, True), (Role.ADMINISTRATOR, False)):
        with pytest.raises(accounts.LastAdministrator):
            accounts.change(root.pk, role=role, is_active=is_active, teams=[], luns=[], by=root)
    second = person(Role.ADMINISTRATOR, "second")
    accounts.change(root.pk, role=Role.VIEWER, is_active=True, teams=[], luns=[], by=second)
    assert rights.role_of(User.objects.get(pk=root.pk)) == Role.VIEWER


def test_pages_of_people_change_what_they_say() -> None:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "root"))
    new = {"username": "ada", "password": "correct horse", "role": "contributor"}
    assert client.post("/people/", new | {"password": "short"}).status_code == 422
    assert client.post("/people/", new).status_code == 302
    assert client.post("/people/", new).status_code == 422  # the name is taken
    ada = User.objects.get(username="ada")
    assert Person.objects.get(user=ada).role == "contributor"
    assert client.post("/people/teams/", {"name": "Storage"}).status_code == 302
    team = Team.objects.get()
    sent = {"name": "Storage", "members": [ada.pk]}
    assert client.post(f"/people/teams/{team.pk}/", sent).status_code == 302
    assert list(team.members.all()) == [ada]
    sent = {"role": "operator", "is_active": "on"}
    assert client.post(f"/people/{ada.pk}/", sent).status_code == 302
    assert rights.role_of(User.objects.get(pk=ada.pk)) == Role.OPERATOR
    whats = list(AuditEntry.objects.order_by("id").values_list("what", flat=True))
    assert whats == [
        *("account made", "password set", "team made", "team changed", "account changed"),
    ]
    page = client.get("/audit/?what=account+changed")
    assert b"operator" in page.content
    assert b"account made</td>" not in page.content


def test_an_audit_entry_is_of_the_transaction_that_it_tells_of() -> None:
    with transaction.atomic():
        audit.note("ada", "imported", "study x")
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()


def test_an_audit_entry_is_neither_changed_nor_deleted() -> None:
    audit.note("ada", "imported", "study x")
    entry = AuditEntry.objects.get()
    entry.who = "eve"
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()
    with pytest.raises(TypeError):
        AuditEntry.objects.all().delete()
    with pytest.raises(TypeError):
        AuditEntry.objects.update(who="eve")
    with pytest.raises(ValueError, match="not a word"):
        audit.note("ada", "did it", "study x")
