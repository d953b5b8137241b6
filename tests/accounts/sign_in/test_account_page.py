import hashlib

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from tests.accounts.conftest import PASSWORD

TOKENS = "/account/tokens/"


@pytest.fixture
def signed_in(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/account/"),
        ("post", "/account/password/"),
        ("post", TOKENS),
        ("post", "/account/tokens/1/revoke/"),
    ],
)
def test_it_asks_strangers_to_sign_in(client: Client, db: None, method: str, path: str) -> None:
    response = getattr(client, method)(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/account/sign-in/?next=")


def test_without_tokens_the_page_says_what_to_do(signed_in: Client) -> None:
    assert "You have no tokens. Make one below" in signed_in.get("/account/").content.decode()


def test_it_shows_a_new_token_once(signed_in: Client, alice: User) -> None:
    response = signed_in.post(TOKENS, {"name": "nightly import"})
    assert response.status_code == 201
    assert "no-store" in response["Cache-Control"]
    token = response.context["new_token"]
    assert token in response.content.decode()
    assert tokens.user_of(token) == alice
    again = signed_in.get("/account/").content.decode()
    assert token not in again
    assert "nightly import" in again


def test_it_stores_the_digest_alone(signed_in: Client) -> None:
    token = signed_in.post(TOKENS, {"name": "ci"}).context["new_token"]
    row = ApiToken.objects.values().get()
    assert row["digest"] == hashlib.sha256(token.encode()).hexdigest()
    assert all(token not in str(value) for value in row.values())
    assert len(token) - len(row["hint"]) >= 32


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b"])
def test_it_refuses_a_bad_name(signed_in: Client, name: str) -> None:
    assert signed_in.post(TOKENS, {"name": name}).status_code == 422
    assert not ApiToken.objects.exists()


def test_it_refuses_a_second_token_of_one_name(signed_in: Client, bob: User) -> None:
    tokens.create(bob, "ci")
    assert signed_in.post(TOKENS, {"name": "ci"}).status_code == 201
    response = signed_in.post(TOKENS, {"name": "ci"})
    assert response.status_code == 422
    assert "Choose another name" in response.content.decode()


def test_it_escapes_the_name(signed_in: Client) -> None:
    signed_in.post(TOKENS, {"name": "<script>alert(1)</script>"})
    assert "<script>alert" not in signed_in.get("/account/").content.decode()


def test_a_revoked_token_opens_nothing(signed_in: Client, alice: User) -> None:
    row, token = tokens.create(alice, "ci")
    assert signed_in.post(f"/account/tokens/{row.pk}/revoke/").status_code == 302
    assert tokens.user_of(token) is None


def test_nobody_revokes_the_token_of_somebody_else(signed_in: Client, bob: User) -> None:
    row, token = tokens.create(bob, "ci")
    assert signed_in.post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    assert tokens.user_of(token) == bob


def test_it_notes_when_a_token_was_used(signed_in: Client, alice: User) -> None:
    _, token = tokens.create(alice, "ci")
    assert "never" in signed_in.get("/account/").content.decode()
    tokens.user_of(token)
    assert ApiToken.objects.get().last_used_at is not None


def test_the_token_of_an_inactive_user_opens_nothing(alice: User) -> None:
    _, token = tokens.create(alice, "ci")
    User.objects.update(is_active=False)
    assert tokens.user_of(token) is None
    assert ApiToken.objects.get().last_used_at is None


@pytest.mark.parametrize("token", ["", "fsb_", "\x00", "\ud800", "x" * 100_000])
def test_odd_tokens_are_nobody(db: None, token: str) -> None:
    assert tokens.user_of(token) is None


def test_it_changes_the_password_and_stays_signed_in(signed_in: Client, alice: User) -> None:
    other = Client()
    other.force_login(alice)
    new = "another long password"
    response = signed_in.post(
        "/account/password/",
        {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
    )
    assert response.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(new)
    assert signed_in.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("wrong", "another long password", "old password was entered incorrectly"),
        (PASSWORD, "short", "at least 10 characters"),
    ],
)
def test_it_refuses_a_bad_password_change(
    signed_in: Client, alice: User, old: str, new: str, says: str
) -> None:
    response = signed_in.post(
        "/account/password/",
        {"old_password": old, "new_password1": new, "new_password2": new},
    )
    assert response.status_code == 422
    assert says in response.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
