"""What becomes of sessions that a password opened before passwords were switched off."""

import pytest
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.accounts.people import accounts
from tests.accounts.people import person
from tests.accounts.provider import Provider
from tests.accounts.sign_in.test_oidc import name_of

pytestmark = pytest.mark.django_db


def test_one_that_would_have_to_choose_a_password_ends(
    service: Provider, client: Client, settings
) -> None:
    """It could neither choose one nor sign out: every page led to one that refused it."""
    ada = person(Role.OPERATOR, "ada")
    given = accounts.set_password(ada.pk, person(Role.ADMINISTRATOR, "root"), revokes_tokens=False)
    sent = {"username": "ada", "password": given}
    assert client.post("/account/sign-in/", sent).status_code == 302
    settings.PASSWORD_SIGN_IN = False
    response = client.get("/luns/", follow=True)
    assert [address for address, _ in response.redirect_chain] == [
        "/account/password/?next=/luns/",
        "/account/sign-in/?next=/luns/",
    ]
    assert "Sign in with Example Login" in response.content.decode()
    assert name_of(client) is None


def test_one_that_its_own_password_opened_goes_on(
    service: Provider, client: Client, settings
) -> None:
    ada = person(Role.OPERATOR, "ada")
    ada.set_password("correct horse battery")
    ada.save()
    sent = {"username": "ada", "password": "correct horse battery"}
    assert client.post("/account/sign-in/", sent).status_code == 302
    settings.PASSWORD_SIGN_IN = False
    assert name_of(client) == "ada"
    assert client.post("/account/password/").status_code == 403
