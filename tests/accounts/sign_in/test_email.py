"""The e-mail address of an account is confirmed before it counts."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail, signing
from django.test import Client

from fsbench_web.accounts.models import AuditEntry, Role
from fsbench_web.accounts.sign_in import views
from tests.accounts.people import person

pytestmark = pytest.mark.django_db
ASK = "/account/email/"


@pytest.fixture
def ada(settings) -> User:
    settings.SENDS_EMAIL = True
    return person(Role.VIEWER, "ada")


@pytest.fixture
def hers(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def link() -> str:
    match = re.search(r"http://testserver(/account/email/\S+)", str(mail.outbox[-1].body))
    assert match is not None
    return match[1]


def address_of(user: User) -> str:
    return User.objects.get(pk=user.pk).email


def test_it_counts_after_its_link_was_confirmed(hers: Client, ada: User) -> None:
    assert hers.post(ASK, {"email": "ada@example.org"}).status_code == 302
    assert mail.outbox[0].to == ["ada@example.org"]
    assert address_of(ada) == ""
    assert "ada@example.org" in hers.get(link()).content.decode()
    assert address_of(ada) == ""  # programs that look at letters open links
    assert hers.post(link()).status_code == 302
    assert address_of(ada) == "ada@example.org"
    assert AuditEntry.objects.filter(who="ada", what="e-mail address changed").count() == 1
    assert hers.post(link()).status_code == 404  # once


def test_the_link_is_no_use_to_anybody_else(hers: Client, ada: User) -> None:
    hers.post(ASK, {"email": "victim@example.org"})
    eve = person(Role.VIEWER, "eve")
    other = Client()
    assert other.post(link()).status_code == 302  # to sign in
    other.force_login(eve)
    assert other.get(link()).status_code == 404
    assert other.post(link()).status_code == 404
    assert (address_of(ada), address_of(eve)) == ("", "")


def test_a_link_is_good_for_a_day_and_ours(
    hers: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers.post(ASK, {"email": "ada@example.org"})
    assert hers.post(link()[:-2] + "x/").status_code == 404
    signed = {"user": ada.pk, "email": "x@example.org", "was": ""}
    assert hers.post(f"{ASK}{signing.dumps(signed, salt='another')}/").status_code == 404
    monkeypatch.setattr(views, "LETTER_GOOD_FOR", timedelta(seconds=-1))
    assert hers.post(link()).status_code == 404
    assert address_of(ada) == ""


def test_letters_are_limited(hers: Client) -> None:
    for _ in range(views.LETTERS):
        assert hers.post(ASK, {"email": "victim@example.org"}).status_code == 302
    assert hers.post(ASK, {"email": "another@example.org"}).status_code == 429
    assert len(mail.outbox) == views.LETTERS


@pytest.mark.parametrize("address", ["nobody", "a@b.example\nBcc: c@d.example", "a" * 300])
def test_nonsense_is_refused(hers: Client, address: str) -> None:
    assert hers.post(ASK, {"email": address}).status_code == 422
    assert not mail.outbox


def test_it_can_be_taken_away(hers: Client, ada: User, settings) -> None:
    settings.SENDS_EMAIL = False
    User.objects.filter(pk=ada.pk).update(email="old@example.org")
    assert hers.post(ASK, {"email": "new@example.org"}).status_code == 422
    assert hers.post(ASK, {"email": ""}).status_code == 302
    assert address_of(ada) == ""


def test_an_administrator_says_it(ada: User) -> None:
    root = Client()
    root.force_login(person(Role.ADMINISTRATOR, "root"))
    sent = {"role": "viewer", "is_active": "on", "email": "ada@example.org"}
    assert root.post(f"/people/{ada.pk}/", sent).status_code == 302
    assert address_of(ada) == "ada@example.org"
    assert AuditEntry.objects.filter(who="root", what="e-mail address changed").exists()
