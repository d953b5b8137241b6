"""What a subject opened ends when an administrator unlinks it, whatever else opens the account."""

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.accounts.people import identities
from tests.accounts.conftest import PASSWORD
from tests.accounts.people import person

pytestmark = pytest.mark.django_db
ISSUER = "https://login.example"


@pytest.fixture
def root(quick_passwords: None) -> User:
    return person(Role.ADMINISTRATOR, "root")


def linked(user: User, by: User) -> SocialAccount:
    identities.link(user, ISSUER, f"subject of {user}", by)
    return SocialAccount.objects.get(user=user)


def browser_of(user: User) -> Client:
    """As the sign-in service leaves it."""
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


@pytest.mark.parametrize("passwords_open", [True, False])
def test_sessions_of_an_account_with_a_password_end_too(
    root: User, alice: User, settings, passwords_open: bool
) -> None:
    settings.PASSWORD_SIGN_IN = passwords_open
    row = linked(alice, root)
    stranger, own, admin = browser_of(alice), browser_of(alice), browser_of(root)
    assert is_signed_in(stranger)
    response = admin.post(f"/people/{alice.pk}/identities/{row.pk}/unlink/", follow=True)
    assert response.status_code == 200
    assert "opens alice no more" in response.content.decode()
    assert not is_signed_in(stranger)
    assert not is_signed_in(own)
    assert is_signed_in(admin)
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_administrators_who_unlink_themselves_are_signed_out_and_nothing_breaks(
    root: User,
) -> None:
    root.set_password(PASSWORD)
    root.save()
    row, admin = linked(root, root), browser_of(root)
    response = admin.post(f"/people/{root.pk}/identities/{row.pk}/unlink/")
    assert response.status_code == 302
    assert not is_signed_in(admin)


def test_administrators_who_close_their_own_account_are_signed_out_and_nothing_breaks(
    root: User,
) -> None:
    person(Role.ADMINISTRATOR, "ada")
    admin = browser_of(root)
    response = admin.post(f"/people/{root.pk}/", {"role": "administrator"})
    assert response.status_code == 302
    assert not is_signed_in(admin)
    assert not User.objects.get(username="root").is_active
