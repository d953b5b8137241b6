from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import SignInAttempt
from fsbench_web.accounts.sign_in import throttle
from fsbench_web.platform.openid_settings import SignOn
from tests.accounts.conftest import PASSWORD

SIGN_IN = "/account/sign-in/"


def sign_in(client: Client, username: str = "alice", password: str = PASSWORD, **more: str):
    return client.post(SIGN_IN, {"username": username, "password": password, **more})


def test_it_signs_in_and_goes_where_one_wanted(client: Client, alice: User) -> None:
    response = sign_in(client, next="/account/")
    assert response.status_code == 302
    assert response["Location"] == "/account/"
    assert client.get("/account/").status_code == 200


def test_it_goes_home_without_a_next_page(client: Client, alice: User) -> None:
    assert sign_in(client)["Location"] == "/"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "javascript:alert(1)",
        "http:///evil.example",
        "\x00//evil.example",
        "home",
        "no-such-view",
        "²",
    ],
)
def test_it_never_leads_to_another_host(client: Client, alice: User, target: str) -> None:
    assert sign_in(client, next=target)["Location"] == "/"
    # Who is signed in already comes by another way.
    assert client.get(SIGN_IN, {"next": target})["Location"] == "/account/"


def test_it_says_when_the_password_is_wrong(client: Client, alice: User) -> None:
    response = sign_in(client, password="wrong")
    assert response.status_code == 422
    assert "An administrator can set a new one" in response.content.decode()
    assert client.get("/account/").status_code == 302


@pytest.mark.parametrize("name", ["nobody", "al\x00ice", "a" * 5000, "ünï", "\ud800"])
def test_odd_names_are_refused_not_an_error(client: Client, alice: User, name: str) -> None:
    body = b"username=" + name.encode("utf-8", "surrogatepass") + b"&password=x"
    response = client.post(SIGN_IN, body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 422


def test_it_refuses_an_inactive_user(client: Client, alice: User) -> None:
    alice.is_active = False
    alice.save()
    assert sign_in(client).status_code == 422


def test_it_stops_guessing_even_with_the_right_password(client: Client, alice: User) -> None:
    for _ in range(throttle.LIMIT):
        assert sign_in(client, password="wrong").status_code == 422
    response = sign_in(client)
    assert response.status_code == 429
    assert "Wait 15 minutes" in response.content.decode()
    assert client.get("/account/").status_code == 302


def test_the_limit_holds_for_one_name_from_one_address_only(
    client: Client, alice: User, bob: User
) -> None:
    for _ in range(throttle.LIMIT + 1):
        sign_in(client, password="wrong")
    assert sign_in(client, "bob").status_code == 302
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert sign_in(elsewhere).status_code == 302


def test_another_spelling_of_the_name_does_not_help(client: Client, alice: User) -> None:
    for _ in range(throttle.LIMIT):
        sign_in(client, "ALICE", "wrong")
    assert sign_in(client, "alice", "wrong").status_code == 429


@pytest.mark.parametrize(
    "spelling", ["alice ", "  alice", "\talice", "\uff41lice", "al\u2170ce", "alice\u3000"]
)
def test_what_the_form_reads_as_the_same_name_is_the_same_name(
    client: Client, alice: User, spelling: str
) -> None:
    """Blanks are dropped and letters folded (NFKC) before the account is looked up."""
    assert sign_in(Client(), spelling).status_code == 302
    for _ in range(throttle.LIMIT):
        assert sign_in(client, "alice", "wrong").status_code == 422
    assert sign_in(client, spelling).status_code == 429


def test_the_addresses_of_one_ipv6_network_are_one(alice: User) -> None:
    for number in range(throttle.LIMIT):
        near = Client(REMOTE_ADDR=f"2001:db8:0:1::{number + 1}")
        assert sign_in(near, password="wrong").status_code == 422
    assert sign_in(Client(REMOTE_ADDR="2001:db8:0:1:ffff::1")).status_code == 429
    assert sign_in(Client(REMOTE_ADDR="2001:db8:0:2::1")).status_code == 302


def test_refused_attempts_do_not_prolong_the_wait(client: Client, alice: User) -> None:
    for _ in range(throttle.LIMIT + 5):
        sign_in(client, password="wrong")
    assert SignInAttempt.objects.count() == throttle.LIMIT
    SignInAttempt.objects.update(at=timezone.now() - throttle.WINDOW - timedelta(seconds=1))
    assert sign_in(client).status_code == 302
    assert not SignInAttempt.objects.exists()


def test_success_forgets_the_failures(client: Client, alice: User) -> None:
    for _ in range(throttle.LIMIT - 1):
        sign_in(client, password="wrong")
    assert sign_in(client).status_code == 302
    assert not SignInAttempt.objects.exists()


def test_signing_out_needs_a_post(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/account/sign-out/").status_code == 405
    assert client.get("/account/").status_code == 200
    assert client.post("/account/sign-out/").status_code == 302
    assert client.get("/account/").status_code == 302


def test_it_refuses_forms_from_other_sites(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = sign_in(strict)
    assert response.status_code == 403
    assert "reload the page" in response.content.decode().lower()


def test_it_says_whom_to_ask_for_an_account(client: Client, db: None) -> None:
    page = client.get(SIGN_IN).content.decode()
    assert "They create accounts under <strong>Administration</strong>" in page
    assert "An administrator can set a new one" in page
    assert page.index("They create accounts") < page.index("createsuperuser")
    assert "Sign in with" not in page


@pytest.mark.parametrize("makes_accounts", [True, False])
@pytest.mark.parametrize("with_passwords", [True, False])
def test_it_says_what_the_sign_in_service_does_for_those_without_an_account(
    client: Client, db: None, settings: Any, makes_accounts: bool, with_passwords: bool
) -> None:
    settings.SIGN_ON = SignOn(
        "https://login.example", "id", "secret", name="Example Login", makes_accounts=makes_accounts
    )
    settings.PASSWORD_SIGN_IN = with_passwords
    page = client.get(SIGN_IN).content.decode()
    assert "Sign in with Example Login</a>" in page
    assert ("that creates your account" in page) == makes_accounts
    assert ("You can then sign in with Example Login" in page) != makes_accounts
    # Without passwords nobody forgets one.
    assert ("Forgot your password?" in page) == with_passwords
