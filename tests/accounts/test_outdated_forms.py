"""What one administrator takes away does not come back with the other's older page."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import Role, Team
from fsbench_web.accounts.people import accounts
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "root"))
    return client


def shown_digest(client: Client, path: str) -> dict[str, Any]:
    (digest,) = re.findall(r'name="shown" value="([0-9a-f]+)"', client.get(path).content.decode())
    return {"shown": digest}


def test_an_account_that_was_closed_meanwhile_is_not_opened(root: Client, alice: User) -> None:
    path = f"/people/{alice.pk}/"
    sent = {"role": "viewer", "email": "", "is_active": "on", **shown_digest(root, path)}
    accounts.close(alice, by="host: root")
    answer = root.post(path, sent)
    assert answer.status_code == 409
    assert b"Somebody else changed this" in answer.content
    alice.refresh_from_db()
    assert not alice.is_active
    assert root.post(path, {**sent, **shown_digest(root, path)}).status_code == 302
    alice.refresh_from_db()
    assert alice.is_active


def test_a_member_who_left_a_team_meanwhile_stays_away(root: Client, alice: User) -> None:
    team = Team.objects.create(name="lab")
    team.members.add(alice)
    path = f"/people/teams/{team.pk}/"
    sent = {"name": "lab", "members": [str(alice.pk)], **shown_digest(root, path)}
    accounts.change(alice.pk, teams=[], by=None)
    assert root.post(path, sent).status_code == 409
    assert not team.members.exists()
    assert root.post(path, {**sent, **shown_digest(root, path)}).status_code == 302
    assert team.members.exists()


def test_closing_keeps_what_the_account_has_once_it_is_its_turn(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had the lock before took a team away."""
    team = Team.objects.create(name="lab")
    team.members.add(alice)
    lock = accounts.lock_administrators
    waited: list[bool] = []

    def waits() -> list[int]:
        if not waited:
            waited.append(True)
            team.members.clear()
        return lock()

    monkeypatch.setattr(accounts, "lock_administrators", waits)
    accounts.close(alice, by="host: root")
    assert not team.members.exists()
