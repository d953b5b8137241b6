"""A permalink can always be withdrawn by somebody, also when its author may nothing any more."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Person, Role, Team, Visibility
from fsbench_web.accounts.people import accounts
from fsbench_web.accounts.people.closing import DispositionError, PermalinkDisposition, Permalinks
from fsbench_web.compare.models import LinkVisibility, Permalink, Watch
from fsbench_web.compare.permalinks import records, views
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.watches import watching
from fsbench_web.studies.models import Study
from tests.accounts.people import person
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return person(Role.CONTRIBUTOR, "ada")


@pytest.fixture
def root() -> User:
    return person(Role.ADMINISTRATOR, "root")


@pytest.fixture
def link(ada: User) -> Permalink:
    make_score("ext4", 100)
    study = Study.objects.get().slug
    return records.pin(ComparisonSpec(studies=(study,)), ada, title="Hers")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def status(link: Permalink, user: User | None = None) -> int:
    client = signed_in(user) if user else Client()
    return client.get(f"/p/{link.key}/").status_code


def call(user: User, method: str, path: str, **sent: object) -> Any:
    _, token = tokens.create(user, can_administer=True)
    headers = {"Authorization": f"Bearer {token}"}
    body = json.dumps(sent) if sent else ""
    return Client().generic(
        method.upper(), f"/api/v1/{path}", body, "application/json", headers=headers
    )


def closed(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def demoted(user: User) -> None:
    Person.objects.filter(user=user).update(role=Role.VIEWER)


def test_an_administrator_withdraws_what_a_closed_account_shared(link, ada, root):
    closed(ada)
    assert status(link) == 200
    page = signed_in(root).get(f"/p/{link.key}/").content.decode()
    assert f'action="/p/{link.key}/withdraw/"' in page
    answer = signed_in(root).post(f"/p/{link.key}/withdraw/", follow=True)
    assert "is withdrawn" in answer.content.decode()
    assert (status(link), status(link, root)) == (404, 200)
    assert Client().get(f"/p/{link.key}/embed/").status_code == 404
    entry = AuditEntry.objects.get(what="permalink withdrawn")
    assert (entry.who, entry.thing) == ("root", f"permalink {link.key}")
    # The account is closed: nobody else is left who could show it again.
    sent = {"visibility": "public", "title": "Hers"}
    assert signed_in(root).post(f"/p/{link.key}/edit/", sent).status_code == 302
    assert status(link) == 200


def test_an_administrator_withdraws_and_deletes_by_the_api(link, ada, root):
    listed = call(root, "get", "permalinks?created_by=ada").json()["permalinks"]
    assert [permalink["key"] for permalink in listed] == [link.key]
    answer = call(root, "post", f"permalinks/{link.key}/withdraw")
    assert (answer.status_code, answer.json()["visibility"]) == (200, "private")
    assert status(link) == 404
    # Its author shows it again: withdrawing is no ban.
    assert call(ada, "patch", f"permalinks/{link.key}", visibility="public").status_code == 200
    assert call(root, "patch", f"permalinks/{link.key}", title="x").status_code == 403
    assert call(root, "delete", f"permalinks/{link.key}").status_code == 204
    entry = AuditEntry.objects.get(what="permalink deleted")
    assert (entry.who, entry.detail["author"]) == ("root", "ada")


@pytest.mark.parametrize("way", ["page", "api"])
def test_an_author_who_became_a_viewer_takes_back_what_is_theirs(link, ada, way):
    demoted(ada)
    browser = signed_in(ada)
    page = browser.get(f"/p/{link.key}/").content.decode()
    assert f"/p/{link.key}/edit/" not in page
    assert browser.get(f"/p/{link.key}/edit/").status_code == 403
    assert f'action="/p/{link.key}/withdraw/"' in browser.get("/p/").content.decode()
    if way == "page":
        assert browser.post(f"/p/{link.key}/withdraw/").status_code == 302
        assert (status(link), status(link, ada)) == (404, 200)
        assert browser.post(f"/p/{link.key}/delete/").status_code == 302
    else:
        assert call(ada, "post", f"permalinks/{link.key}/withdraw").status_code == 200
        assert (status(link), status(link, ada)) == (404, 200)
        assert call(ada, "delete", f"permalinks/{link.key}").status_code == 204
    assert not Permalink.objects.exists()


def test_what_shows_a_study_that_is_hidden_since_is_taken_back_unseen(link, ada, root):
    Study.objects.update(visibility=Visibility.PRIVATE, created_by=root)
    browser = signed_in(ada)
    assert status(link, ada) == 404
    assert browser.post(f"/p/{link.key}/withdraw/", follow=True).status_code == 200
    assert Permalink.objects.get().visibility == LinkVisibility.PRIVATE
    assert browser.post(f"/p/{link.key}/delete/").status_code == 302
    assert not Permalink.objects.exists()


def test_strangers_withdraw_nothing(link, ada):
    eve = person(Role.OPERATOR, "eve")
    assert signed_in(eve).post(f"/p/{link.key}/withdraw/").status_code == 403
    assert signed_in(eve).get(f"/p/{link.key}/delete/").status_code == 403
    answer = call(eve, "post", f"permalinks/{link.key}/withdraw")
    assert answer.status_code == 403
    assert "administrator" in answer.json()["errors"][0]["message"]
    assert call(eve, "delete", f"permalinks/{link.key}").status_code == 403
    assert call(eve, "get", "permalinks?created_by=ada").status_code == 403
    _, reading = tokens.create(ada, "reads", can_import=False, can_run=False)
    sent = {"Authorization": f"Bearer {reading}"}
    path = f"/api/v1/permalinks/{link.key}"
    assert Client().post(f"{path}/withdraw", headers=sent).status_code == 403
    assert Client().delete(path, headers=sent).status_code == 403
    assert Permalink.objects.get().visibility == LinkVisibility.PUBLIC
    assert not AuditEntry.objects.filter(what="permalink withdrawn").exists()


# --- Closing an account asks ---


def test_the_page_closes_no_account_before_it_is_said(link, ada, root):
    browser, path = signed_in(root), f"/people/{ada.pk}/"
    sent = {"role": "contributor", "email": ""}
    page = browser.get(path).content.decode()
    assert f'href="/p/{link.key}/"' in page
    answer = browser.post(path, sent)
    assert answer.status_code == 422
    assert "ada shared 1 permalink that others can open" in answer.content.decode()
    assert User.objects.get(pk=ada.pk).is_active
    assert browser.post(path, {**sent, "permalinks": "withdraw"}).status_code == 302
    assert not User.objects.get(pk=ada.pk).is_active
    assert (status(link), status(link, root)) == (404, 200)
    entry = AuditEntry.objects.get(what="permalink withdrawn")
    assert entry.detail == {"before": "public", "because": "the account was closed"}


def test_they_are_handed_over(link, ada, root):
    bob, eve = person(Role.CONTRIBUTOR, "bob"), person(Role.VIEWER, "eve")
    path, sent = f"/people/{ada.pk}/", {"role": "contributor", "email": ""}
    for heir, words in ((eve, "could not keep them"), (None, "Say which account")):
        wrong = {**sent, "permalinks": "hand_over", **({"heir": heir.username} if heir else {})}
        answer = signed_in(root).post(path, wrong)
        assert answer.status_code == 422
        assert words in answer.content.decode()
    right = {**sent, "permalinks": "hand_over", "heir": "bob"}
    assert signed_in(root).post(path, right).status_code == 302
    assert Permalink.objects.get().created_by == bob
    assert signed_in(bob).post(f"/p/{link.key}/delete/").status_code == 302
    entry = AuditEntry.objects.get(what="permalink handed over")
    assert entry.detail == {"before": "ada", "after": "bob"}


def test_the_api_asks_too(link, ada, root):
    path = f"people/{ada.pk}"
    answer = call(root, "patch", path, is_active=False)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "permalinks"
    assert User.objects.get(pk=ada.pk).is_active
    sent = {"is_active": False, "permalinks": "hand_over", "permalinks_to": "nobody"}
    assert call(root, "patch", path, **sent).status_code == 422
    for dropped in ({"permalinks": "keep"}, {"is_active": False, "permalinks_to": "root"}):
        assert call(root, "patch", path, **dropped).status_code == 422
    assert call(root, "patch", path, is_active=False, permalinks="keep").status_code == 200
    assert status(link) == 200
    # Who kept them thinks again: of a closed account it can still be said.
    assert call(root, "patch", path, permalinks="withdraw").status_code == 200
    assert status(link) == 404


def test_the_command_asks_too(link, ada, capsys):
    with pytest.raises(CommandError, match="--permalinks-to ACCOUNT"):
        call_command("close_account", "ada")
    with pytest.raises(CommandError, match='no account "nobody"'):
        call_command("close_account", "ada", permalinks_to="nobody")
    assert User.objects.get(pk=ada.pk).is_active
    call_command("close_account", "ada", permalinks="withdraw")
    assert "is closed" in capsys.readouterr().out
    after = User.objects.select_related("person").get(pk=ada.pk)
    assert (after.is_active, after.person.role) == (False, Role.CONTRIBUTOR)
    assert status(link) == 404
    assert AuditEntry.objects.get(what="permalink withdrawn").who.startswith("host:")
    entry = AuditEntry.objects.get(what="account changed")
    assert entry.who.startswith("host:")
    assert entry.detail["at"] == "the command line of a host"
    with pytest.raises(CommandError, match="closed already"):
        call_command("close_account", "ada")


def test_nobody_is_asked_of_what_nobody_else_sees(link, ada, root):
    Permalink.objects.update(visibility=LinkVisibility.PRIVATE)
    accounts.close(ada, root)
    assert not User.objects.get(pk=ada.pk).is_active


def test_another_change_of_an_account_touches_no_permalink(link, ada, root):
    sent = {"role": "viewer", "email": "", "is_active": "on", "permalinks": "withdraw"}
    assert signed_in(root).post(f"/people/{ada.pk}/", sent).status_code == 302
    assert status(link) == 200


def test_what_is_refused_closes_nothing(link, ada, root):
    _, token = tokens.create(ada, "ci")
    with pytest.raises(DispositionError):
        accounts.close(ada, root, Permalinks(PermalinkDisposition.HAND_OVER, ada))
    assert User.objects.get(pk=ada.pk).is_active
    assert tokens.user_of(token) == ada


def test_watches_of_a_closed_account_are_paused(link, ada, root):
    Team.objects.create(name="Storage").members.add(ada)
    series = link_series()
    watch = watching.watch(
        ada,
        series,
        test="write",
        category="maximum",
        along="date",
        margin_percent=10,
        email="",
        webhook_url="",
        site="https://fsbench.example",
    )
    accounts.close(ada, root, Permalinks(PermalinkDisposition.KEEP))
    assert not Watch.objects.get().is_active
    entry = AuditEntry.objects.get(what="watch paused")
    assert (entry.who, entry.thing) == ("root", f"watch {watch.pk}")
    assert entry.detail == {"because": "the account was closed"}
    assert [team.name for team in ada.teams.all()] == ["Storage"]


def link_series() -> Any:
    return Study.objects.get().series.get()


# --- Asked again under the lock ---


@pytest.mark.parametrize("method", ["patch", "delete"])
@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "handed over"])
def test_a_permalink_that_is_gone_while_a_program_asks_is_not_changed(
    link, ada, monkeypatch, method, is_deleted
):
    eve, visible = person(Role.CONTRIBUTOR, "eve"), views.visible_permalink

    def meanwhile(*arguments, **named):
        permalink = visible(*arguments, **named)
        rows = Permalink.objects.filter(pk=permalink.pk)
        if is_deleted:
            rows.delete()
        else:
            rows.update(created_by=eve)
        return permalink

    monkeypatch.setattr(views, "visible_permalink", meanwhile)
    sent = {"title": "mine"} if method == "patch" else {}
    answer = call(ada, method, f"permalinks/{link.key}", **sent)
    assert answer.status_code == (404 if is_deleted else 403)
    assert not Permalink.objects.filter(title="mine").exists()
