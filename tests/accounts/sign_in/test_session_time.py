"""How long sessions last: to the hour from sign-in, however much they are used."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from tests.accounts.conftest import PASSWORD
from tests.accounts.provider import Provider
from tests.accounts.sign_in.test_oidc import BEGIN, sign_in

pytestmark = pytest.mark.django_db


def with_a_password(client: Client) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    sent = {"username": "alice", "password": PASSWORD}
    assert client.post("/account/sign-in/", sent).status_code == 302


def with_the_service(client: Client) -> None:
    assert sign_in(client).status_code == 302


def a_day_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = timezone.now() + timedelta(days=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)


def end_of(client: Client) -> datetime:
    return Session.objects.get(pk=client.session.session_key).expire_date


@pytest.mark.parametrize("way", [with_a_password, with_the_service])
def test_a_session_that_is_used_ends_when_one_does_that_is_not(
    service: Provider, client: Client, settings, monkeypatch: pytest.MonkeyPatch, way
) -> None:
    way(client)
    end = end_of(client)
    age = timedelta(seconds=settings.SESSION_COOKIE_AGE)
    assert abs(end - timezone.now() - age) < timedelta(minutes=10)
    a_day_later(monkeypatch)
    # Both keep something in the session, which is written anew.
    client.post("/account/email/", {"email": ""})
    client.get(BEGIN)
    assert abs(end_of(client) - end) < timedelta(seconds=2)


def test_a_changed_password_does_not_prolong_the_session(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_password(client)
    end = end_of(client)
    a_day_later(monkeypatch)
    new = "another long password"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/account/password/", sent).status_code == 302
    assert abs(end_of(client) - end) < timedelta(seconds=2)


def test_what_a_stranger_began_is_kept_no_longer_than_it_counts(
    service: Provider, client: Client, settings
) -> None:
    client.get(BEGIN)
    assert end_of(client) - timezone.now() <= timedelta(minutes=10)
    # Whoever signs in with a password after all has a session as any other.
    with_a_password(client)
    assert end_of(client) - timezone.now() > timedelta(seconds=settings.SESSION_COOKIE_AGE - 600)
