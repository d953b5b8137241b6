"""A closed account that is opened again has nothing back that could open it before."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken, AuditEntry, Role
from fsbench_web.accounts.people import accounts
from fsbench_web.platform import clock
from tests.accounts.conftest import PASSWORD
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> User:
    return person(Role.ADMINISTRATOR, "root")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def save(root: User, user: User, *, is_open: bool, role: str = "viewer") -> None:
    sent: dict[str, Any] = {"role": role, "email": ""}
    if is_open:
        sent["is_active"] = "on"
    assert signed_in(root).post(f"/people/{user.pk}/", sent).status_code == 302


def opens(token: str) -> bool:
    answer = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code in (200, 401)
    return answer.status_code == 200


def test_closing_revokes_tokens_and_opening_brings_none_back(root: User, alice: User) -> None:
    _, token = tokens.create(alice, "ci")
    _, other = tokens.create(alice, "laptop")
    assert opens(token)
    save(root, alice, is_open=False)
    assert not ApiToken.objects.exists()
    save(root, alice, is_open=True)
    assert not opens(token)
    assert not opens(other)
    entries = AuditEntry.objects.filter(what="token revoked")
    assert {entry.detail["name"] for entry in entries} == {"ci", "laptop"}
    assert {(entry.who, entry.detail["because"]) for entry in entries} == {
        ("root", "the account was closed")
    }


def test_closing_ends_sessions_for_good(root: User, alice: User, bob: User) -> None:
    browser, other = signed_in(alice), signed_in(bob)
    save(root, alice, is_open=False)
    assert browser.get("/account/").status_code == 302
    save(root, alice, is_open=True)
    assert browser.get("/account/").status_code == 302
    # Nobody else is signed out.
    assert other.get("/account/").status_code == 200
    assert signed_in(root).get("/people/").status_code == 200
    # The password still opens it: whoever should have another one gets it on the same page.
    sent = {"username": "alice", "password": PASSWORD}
    assert Client().post("/account/sign-in/", sent).status_code == 302


def test_what_was_left_of_an_account_closed_long_ago_ends_when_it_is_opened(
    root: User, alice: User
) -> None:
    """Accounts closed before tokens were revoked with them, or by other means, have theirs yet."""
    _, token = tokens.create(alice, "ci")
    browser = signed_in(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    save(root, alice, is_open=True)
    assert not opens(token)
    assert browser.get("/account/").status_code == 302
    assert AuditEntry.objects.get(what="token revoked").detail["because"] == (
        "the account was opened again"
    )


def test_another_change_of_an_account_leaves_them_alone(root: User, alice: User) -> None:
    _, token = tokens.create(alice, "ci")
    browser = signed_in(alice)
    save(root, alice, is_open=True, role="contributor")
    assert opens(token)
    assert browser.get("/account/").status_code == 200


def test_the_api_does_the_same(root: User, alice: User) -> None:
    _, mine = tokens.create(root, "admin", can_administer=True)
    _, token = tokens.create(alice, "ci")
    browser = signed_in(alice)

    def patch(**sent: object) -> None:
        answer = Client().patch(
            f"/api/v1/people/{alice.pk}",
            json.dumps(sent),
            content_type="application/json",
            headers={"Authorization": f"Bearer {mine}"},
        )
        assert answer.status_code == 200, answer.content

    patch(is_active=False)
    patch(is_active=True)
    assert not opens(token)
    assert browser.get("/account/").status_code == 302
    assert ApiToken.objects.get().user == root


def test_sessions_that_are_over_or_of_nobody_are_no_hindrance(root: User, alice: User) -> None:
    signed_in(alice)
    Session.objects.update(expire_date=clock.now() - timedelta(days=1))
    Session.objects.create(
        session_key="x" * 32, session_data="no session", expire_date=clock.now() + timedelta(days=1)
    )
    accounts.change(
        alice.pk, role=Role.VIEWER, is_active=False, teams=[], luns=[], by=root, email=None
    )
    assert Session.objects.filter(session_key="x" * 32).exists()
    assert not User.objects.get(pk=alice.pk).is_active


def test_the_page_says_so(root: User, alice: User) -> None:
    page = signed_in(root).get(f"/people/{alice.pk}/").content.decode()
    assert "Reopening restores none of them" in page
