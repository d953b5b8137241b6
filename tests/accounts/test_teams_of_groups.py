"""Teams that groups of the sign-in service give to several people who come at one moment."""

import threading
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.db import connection

from fsbench_web.accounts.models import AuditEntry, Team
from fsbench_web.accounts.openid import Claims
from fsbench_web.accounts.people import accounts, identities
from fsbench_web.platform.openid_settings import SignOn

SIGN_ON = SignOn(
    "https://login.example", "fsbench", "secret", groups_claim="groups", teams=(("lab", "Lab"),)
)
PEOPLE = ("ada", "eve")


@pytest.mark.django_db(transaction=True)
def test_two_who_are_the_first_of_a_team_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    both_found_none = threading.Barrier(2)
    create_team = accounts.create_team

    def created(name: str, by: User | None) -> Team:
        # Where one database has one writer, the other thread has not come as far.
        with suppress(threading.BrokenBarrierError):
            both_found_none.wait(2)
        return create_team(name, by)

    monkeypatch.setattr(accounts, "create_team", created)
    failures: list[Exception] = []

    def come(name: str) -> None:
        claims = Claims(SIGN_ON.issuer, name, names=(name,), groups=frozenset({"lab"}))
        try:
            identities.account_of(claims, SIGN_ON)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=(name,)) for name in PEOPLE]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    members = Team.objects.get().members.order_by("username")
    assert list(members.values_list("username", flat=True)) == list(PEOPLE)
    assert AuditEntry.objects.filter(what="team made").count() == 1
