"""A password that an administrator set opens one page: the one that replaces it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, GivenPassword, Role
from fsbench_web.accounts.people import accounts
from tests.accounts.conftest import PASSWORD
from tests.accounts.people import person

pytestmark = pytest.mark.django_db
PAGE = "/account/password/"
OWN = "my own secret words"


@pytest.fixture
def root(db: None) -> User:
    return person(Role.ADMINISTRATOR, "root")


@pytest.fixture
def password(root: User, alice: User) -> str:
    """The password that root has set for alice."""
    return accounts.set_password(alice.pk, root, revokes_tokens=False)


def sign_in(password: str, name: str = "alice", **more: str) -> Client:
    client = Client()
    sent = {"username": name, "password": password, **more}
    assert client.post("/account/sign-in/", sent).status_code == 302
    return client


def choose(client: Client, old: str, new: str = OWN, **more: str) -> Any:
    sent = {"old_password": old, "new_password1": new, "new_password2": new, **more}
    return client.post(PAGE, sent)


@pytest.mark.parametrize("path", ["/", "/studies/", "/account/", "/runs/", "/search/?q=a"])
def test_every_page_leads_to_the_choice_and_back(password: str, path: str) -> None:
    answer = sign_in(password).get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith(f"{PAGE}?next=/")


def test_forms_are_not_taken(password: str, alice: User) -> None:
    client = sign_in(password)
    for path, sent in (("tokens/", {"name": "t", "days": "30"}), ("email/", {"email": ""})):
        assert client.post(f"/account/{path}", sent)["Location"] == PAGE
    assert not tokens.ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/api/v1/studies"),
        ("get", "/api/v1/me"),
        ("post", "/api/v1/me/tokens"),
        ("post", "/api/v1/imports"),
    ],
)
def test_the_api_answers_such_a_session_with_a_sentence(
    password: str, method: str, path: str
) -> None:
    answer = getattr(sign_in(password), method)(path)
    assert answer.status_code == 403
    assert "choose one of your own at /account/password/" in answer.json()["detail"]


def test_an_administrator_sees_neither_metrics_nor_people(root: User) -> None:
    other = person(Role.ADMINISTRATOR, "other")
    client = sign_in(accounts.set_password(other.pk, root, revokes_tokens=False), "other")
    assert client.get("/metrics").status_code == 401
    assert client.get("/people/")["Location"] == f"{PAGE}?next=/people/"
    assert client.get("/operations/")["Location"] == f"{PAGE}?next=/operations/"


def test_health_checks_and_the_way_out_stay_open(password: str) -> None:
    client = sign_in(password)
    assert client.get("/api/v1/health/live").status_code == 200
    assert client.post("/account/sign-out/")["Location"] == "/"
    assert client.get("/studies/").status_code == 200  # as anybody


def test_a_password_of_ones_own_opens_everything(password: str, alice: User) -> None:
    client = sign_in(password, next="/luns/")
    page = client.get(client.get("/luns/")["Location"])
    assert b"Choose a password" in page.content
    assert b'name="next" value="/luns/"' in page.content
    assert "no-store" in page["Cache-Control"]
    assert choose(client, password, next="/luns/")["Location"] == "/luns/"
    assert client.get("/account/").status_code == 200
    assert sign_in(OWN).get("/account/").status_code == 200
    assert not GivenPassword.objects.exists()
    entries = AuditEntry.objects.filter(thing="account alice").order_by("id")
    log = [(entry.who, entry.what, entry.detail) for entry in entries]
    assert log[:3] == [
        ("root", "password set", {"by": "an administrator", "at_first": "change"}),
        ("alice", "signed in", {"with": "a given password"}),
        ("alice", "password changed", {"instead_of": "one that an administrator set"}),
    ]
    assert [what for _, what, _ in log[3:]] == ["signed in"]


def test_the_given_password_is_not_chosen_again(password: str, alice: User) -> None:
    client = sign_in(password)
    answer = choose(client, password, password)
    assert answer.status_code == 422
    assert b"This is the old password: choose another." in answer.content
    assert b"Choose a password" in answer.content
    assert choose(client, "wrong").status_code == 422
    assert choose(client, password, "short").status_code == 422
    assert client.get("/account/").status_code == 302
    assert GivenPassword.objects.filter(user=alice).exists()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:1"])
def test_the_choice_leads_to_no_other_site(password: str, target: str) -> None:
    client = sign_in(password)
    assert target.encode() not in client.get(PAGE, {"next": target}).content
    assert choose(client, password, next=target)["Location"] == "/account/"


def test_a_sign_in_later_is_asked_too(password: str) -> None:
    sign_in(password).post("/account/sign-out/")
    assert sign_in(password).get("/studies/")["Location"].startswith(PAGE)


def test_a_new_account_is_asked_the_same(root: User) -> None:
    client = Client()
    client.force_login(root)
    new = {"username": "eve", "role": "operator", "password": PASSWORD}
    assert client.post("/people/", new).status_code == 302
    _, token = tokens.create(root, "t", can_administer=True)
    body = {"username": "ada", "role": "viewer", "password": PASSWORD}
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.post("/api/v1/people", body, content_type="application/json", headers=headers)
    assert answer.status_code == 201
    for name in ("eve", "ada"):
        assert sign_in(PASSWORD, name).get("/studies/")["Location"].startswith(PAGE), name
        entry = AuditEntry.objects.get(what="password set", thing=f"account {name}")
        assert (entry.who, entry.detail["at_first"]) == ("root", "change")


def test_tokens_go_on_because_no_password_opened_them(password: str, alice: User) -> None:
    """They are revoked with the password where an administrator wants that."""
    _, token = tokens.create(alice, "ci")
    headers = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/me", headers=headers).status_code == 200
    # A session beside the token has no say, in either direction.
    assert sign_in(password).get("/api/v1/me", headers=headers).status_code == 200


def test_who_comes_by_the_sign_in_service_is_not_asked(password: str, alice: User) -> None:
    client = Client()
    alice.refresh_from_db()
    client.force_login(alice)  # as the sign-in service does, without a password
    assert client.get("/account/").status_code == 200


def test_ones_own_and_the_hosts_passwords_are_not_given(alice: User) -> None:
    client = sign_in(PASSWORD)
    assert client.get(PAGE)["Location"] == "/account/#password"
    assert choose(client, PASSWORD)["Location"] == "/account/"
    assert AuditEntry.objects.get(what="password changed").detail == {}
    assert client.get("/studies/").status_code == 200


def test_the_administrator_sees_that_it_was_not_changed(
    password: str, root: User, alice: User
) -> None:
    client = Client()
    client.force_login(root)
    page = client.get(f"/people/{alice.pk}/").content
    assert b"has not been changed yet" in page
    assert choose(sign_in(password), password).status_code == 302
    assert b"has not been changed yet" not in client.get(f"/people/{alice.pk}/").content


# --- Changing a password, whoever set it ---


def test_a_change_writes_nothing_but_the_password(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is closed or demoted while the form is checked must not be opened again by it."""
    client = sign_in(PASSWORD)
    hash_it = User.set_password

    def slowly(user: User, password: str) -> None:
        User.objects.filter(pk=alice.pk).update(is_staff=False, is_active=False)
        hash_it(user, password)

    User.objects.filter(pk=alice.pk).update(is_staff=True)
    monkeypatch.setattr(User, "set_password", slowly)
    answer = choose(client, PASSWORD)
    assert answer.status_code == 422
    assert b"changed elsewhere" in answer.content
    account = User.objects.get(pk=alice.pk)
    assert (account.is_staff, account.is_active) == (False, False)
    assert account.check_password(PASSWORD)


def test_a_password_that_was_set_meanwhile_stays(
    alice: User, root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, set_by_root = sign_in(PASSWORD), []
    hash_it = User.set_password

    def slowly(user: User, password: str) -> None:
        monkeypatch.setattr(User, "set_password", hash_it)
        set_by_root.append(accounts.set_password(alice.pk, root, revokes_tokens=False))
        user.set_password(password)

    monkeypatch.setattr(User, "set_password", slowly)
    assert choose(client, PASSWORD).status_code == 422
    account = User.objects.get(pk=alice.pk)
    assert account.check_password(set_by_root[0])
    assert GivenPassword.objects.filter(user=alice).exists()


def test_the_old_password_is_not_found_out_in_a_session_left_open(
    alice: User, settings: Settings
) -> None:
    client = sign_in(PASSWORD)
    for _ in range(10):
        assert choose(client, "guess").status_code == 422
    answer = choose(client, PASSWORD)
    assert answer.status_code == 429
    assert b"Wait 15 minutes" in answer.content
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)
