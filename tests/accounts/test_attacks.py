"""What somebody tries who wants more than the role allows."""

import asyncio
import json
import threading
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import AsyncClient, Client

from fsbench_web.accounts import rights, tokens
from fsbench_web.accounts.models import AuditEntry, LunGrant, Person, Role, Team, Visibility
from fsbench_web.accounts.people import accounts
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, Run, RunState, Study
from fsbench_web.studies.runs import control
from fsbench_web.studies.views import events
from tests.accounts.people import person
from tests.importing import import_files
from tests.studies.conftest import worker_announcement

TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,1,KB/s\n"


def signed_in(user: User, **more: Any) -> Client:
    client = Client(**more)
    client.force_login(user)
    return client


@pytest.fixture
def ada(db: None) -> User:
    return person(Role.CONTRIBUTOR, "ada")


@pytest.fixture
def run(ada: User) -> Run:
    target = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    return Run.objects.get(pk=import_files([("a.csv", TABLE)], **target, user=ada).runs[0])


# --- Forms that say more than they show ---


def test_fields_that_a_form_does_not_have_are_not_stored(ada: User) -> None:
    more = {"is_staff": "on", "is_superuser": "on", "role": "administrator", "user": "1"}
    client = signed_in(ada)
    client.post("/account/email/", {"email": "", **more})
    client.post("/account/tokens/", {"name": "t", "days": "30", **more, "can_administer": "on"})
    client.post("/account/password/", more)
    user = User.objects.get(pk=ada.pk)
    assert rights.role_of(user) == Role.CONTRIBUTOR
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert tokens.ApiToken.objects.get().user == ada


def test_the_owner_of_a_study_gives_it_to_no_team_of_others(ada: User, run: Run) -> None:
    other = Team.objects.create(name="Others")
    sent = {"visibility": "team", "team": other.pk, "slug": "x", "is_published": "on"}
    answer = signed_in(ada).post("/studies/lab/access/", sent)
    assert answer.status_code == 422
    assert "to another one an administrator does" in answer.content.decode()
    _, token = tokens.create(ada, "t")
    for visibility in ("public", "team", "private"):
        answer = Client().patch(
            "/api/v1/studies/lab/access",
            json.dumps({"team": "Others", "visibility": visibility}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 422
        assert "to another one an administrator does" in answer.json()["errors"][0]["message"]
    study = Study.objects.get()
    assert (study.slug, study.team, study.is_published) == ("lab", None, False)
    # Neither an import nor a job says which team has the study they make.
    target = {"study": "New", "filesystem": "ext4", "configuration": "ext4"}
    import_files([("a.csv", TABLE)], **target, user=ada)
    assert Study.objects.get(slug="new").team is None


def test_who_left_the_team_of_a_study_still_says_who_sees_it(ada: User, run: Run) -> None:
    Study.objects.update(team=Team.objects.create(name="Left"))
    sent = {"visibility": "private", "team": Team.objects.get().pk}
    assert signed_in(ada).post("/studies/lab/access/", sent).status_code == 302
    study = Study.objects.get()
    assert (str(study.team), study.visibility) == ("Left", Visibility.PRIVATE)


def test_nobody_but_its_people_says_who_sees_a_study(ada: User, run: Run) -> None:
    eve = person(Role.OPERATOR, "eve")
    client = signed_in(eve)
    assert client.post("/studies/lab/access/", {"visibility": "private"}).status_code == 403
    Study.objects.update(visibility=Visibility.PRIVATE)
    assert client.post("/studies/lab/access/", {"visibility": "public"}).status_code == 404
    assert Study.objects.get().visibility == Visibility.PRIVATE


def test_a_permalink_of_somebody_else_is_not_edited_by_its_key(ada: User, run: Run) -> None:
    link = records.pin(ComparisonSpec(studies=("lab",)), ada)
    client = signed_in(person(Role.CONTRIBUTOR, "eve"))
    for path in ("edit/", "withdraw/", "delete/"):
        assert client.post(f"/p/{link.key}/{path}", {"visibility": "public"}).status_code == 403
    # Administrators take it from others' sight, and put no words into its author's mouth.
    root = signed_in(person(Role.ADMINISTRATOR, "root"))
    assert root.post(f"/p/{link.key}/edit/", {"visibility": "public"}).status_code == 403


# --- Tokens ---


def test_a_token_beside_a_session_does_only_what_the_token_may(ada: User) -> None:
    root = person(Role.ADMINISTRATOR, "root")
    _, token = tokens.create(ada, "t", can_import=False, can_run=False)
    client = signed_in(root)
    headers = {"Authorization": f"Bearer {token}"}
    assert client.post("/api/v1/imports", headers=headers).status_code == 403
    assert client.post("/api/v1/workers/x/drain", headers=headers).status_code == 403
    # No page takes a token, whatever it may.
    _, mighty = tokens.create(root, "t")
    response = Client().get("/people/", headers={"Authorization": f"Bearer {mighty}"})
    assert response.status_code == 302


def test_a_bad_token_is_not_saved_by_a_good_session(ada: User, settings: Any) -> None:
    settings.ANONYMOUS_READING = False
    client = signed_in(ada)
    assert client.get("/api/v1/studies").status_code == 200
    headers = {"Authorization": "Bearer fsb_nonsense"}
    assert client.get("/api/v1/studies", headers=headers).status_code == 401


def test_a_token_loses_what_its_account_loses(ada: User) -> None:
    _, token = tokens.create(ada, "t")
    Person.objects.filter(user=ada).update(role=Role.VIEWER)
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().post("/api/v1/imports", headers=headers)
    assert answer.status_code == 403
    assert "needs the role contributor" in answer.json()["detail"]


# --- Addresses, hosts, methods ---


@pytest.mark.parametrize(
    "path",
    [
        *("/people", "/people//", "/People/", "/%70eople/", "/./people/"),
        *("/people/?x=/api/v1/health", "/api/../people/", "/people/%2e%2e/people/", "/people;/"),
    ],
)
def test_no_spelling_of_an_address_goes_round_its_rule(ada: User, path: str) -> None:
    for client in (Client(), signed_in(ada)):
        response = client.get(path)
        assert response.status_code in (301, 302, 403, 404), (path, response.status_code)
        assert b"New account" not in response.content
        if response.status_code == 301:
            assert response["Location"].startswith("/people"), response["Location"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "BREW", "HEAD", "OPTIONS"])
def test_no_other_method_goes_round_a_rule(ada: User, run: Run, method: str) -> None:
    client = signed_in(ada)
    before = Run.objects.count(), AuditEntry.objects.count()
    for path in ("/people/", "/api/v1/workers/x/drain", "/workloads/new/"):
        assert client.generic(method, path).status_code in (403, 405), path
    # An address without a body is not a way round CSRF either.
    assert (Run.objects.count(), AuditEntry.objects.count()) == before


@pytest.mark.parametrize("number", ["9" * 40, "9" * 19, "-1", "\x00", "x", "١"])
def test_a_number_that_no_row_can_have_is_refused_in_words(ada: User, number: str) -> None:
    team, root = Team.objects.create(name="Old"), person(Role.ADMINISTRATOR, "root")
    client = signed_in(root)
    fields = {"role": "viewer", "is_active": "on"}
    for address, sent in (
        (f"/people/teams/{team.pk}/", {"name": "Old", "members": [number]}),
        (f"/people/teams/{team.pk}/", {"name": "Old", "luns": [number]}),
        (f"/people/{ada.pk}/", {**fields, "teams": [number]}),
        (f"/people/{ada.pk}/", {**fields, "luns": [number]}),
    ):
        answer = client.post(address, sent)
        assert answer.status_code == 422, (address, sent)
        assert "is not a valid value" in answer.content.decode()


def test_a_method_is_what_it_is_whatever_a_header_says(ada: User) -> None:
    headers = {"X-HTTP-Method-Override": "POST", "X-Method-Override": "POST"}
    assert signed_in(ada).get("/people/teams/", headers=headers).status_code == 403


def test_other_hosts_are_refused_before_anything(ada: User, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["fsbench.example"]
    client = signed_in(ada)
    for host in ("evil.example", "fsbench.example.evil.example", "fsbench.example:80@evil"):
        assert client.get("/account/", headers={"host": host}).status_code == 400, host
        sent = {"email": "a@b.example"}
        assert client.post("/account/email/", sent, headers={"host": host}).status_code == 400
    forwarded = {"host": "fsbench.example", "X-Forwarded-Host": "evil.example"}
    assert b"evil.example" not in client.get("/account/", headers=forwarded).content


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\t/evil.example", "/\n/evil.example", "\\\\evil.example", "///e"]
)
def test_no_way_back_leads_to_another_site(ada: User, target: str) -> None:
    client = signed_in(ada)
    assert client.get("/account/sign-in/", {"next": target})["Location"] == "/account/"
    where = Client().get(f"/people/?next={target}")
    assert where["Location"].startswith("/account/sign-in/?next=/people/")


def test_the_session_of_a_stranger_is_not_taken_over(ada: User) -> None:
    """Fixation: the key that a browser had before sign-in opens nothing afterwards."""
    ada.set_password("correct horse battery")
    ada.save()
    client = Client()
    client.get("/account/sign-in/service/")
    session = client.session
    session["planted"] = "yes"
    session.save()
    client.cookies["sessionid"] = before = session.session_key
    sent = {"username": "ada", "password": "correct horse battery"}
    assert client.post("/account/sign-in/", sent).status_code == 302
    assert client.cookies["sessionid"].value != before
    thief = Client()
    thief.cookies["sessionid"] = before
    assert thief.get("/account/").status_code == 302


# --- What is hidden ---


def test_what_an_embedded_view_keeps_for_all_is_for_all(ada: User, run: Run) -> None:
    link = records.pin(ComparisonSpec(studies=("lab",)), ada)
    path = f"/p/{link.key}/embed/"
    assert "public" in Client().get(path)["Cache-Control"]
    Study.objects.update(visibility=Visibility.PRIVATE)
    response = signed_in(ada).get(path)
    assert response.status_code == 404
    assert response["Cache-Control"] == "no-store"
    assert "public" not in signed_in(ada).get(f"/p/{link.key}/image.png")["Cache-Control"]


def test_nothing_is_kept_by_caches_where_reading_needs_an_account(
    ada: User, run: Run, settings: Any
) -> None:
    link = records.pin(ComparisonSpec(studies=("lab",)), ada)
    settings.ANONYMOUS_READING = False
    for part in ("embed/", "image.png", "deltas.csv"):
        response = signed_in(ada).get(f"/p/{link.key}/{part}")
        assert response.status_code == 200
        assert "public" not in response["Cache-Control"], part
        assert Client().get(f"/p/{link.key}/{part}").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_a_live_log_is_read_with_the_eyes_of_who_looks(settings: Any) -> None:
    """Also minutes later, when the study was hidden meanwhile, or the account closed."""
    ada, eve = person(Role.CONTRIBUTOR, "ada"), person(Role.VIEWER, "eve")
    target = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    run_id = import_files([("a.csv", TABLE)], **target, user=ada).runs[0]
    Run.objects.update(state=RunState.RUNNING)
    path = f"/runs/{run_id}/events/"

    async def first(user: User | None) -> tuple[int, list[bytes]]:
        client = AsyncClient()
        if user is not None:
            await sync_to_async(client.force_login)(user)
        response = await client.get(path)
        if response.status_code != 200:
            return response.status_code, []
        parts = []
        async for part in response.streaming_content:
            parts.append(part)
            if b"event: state" in part:
                await sync_to_async(Study.objects.update)(visibility=Visibility.PRIVATE)
                await sync_to_async(Run.objects.update)(phase="secret phase")
        return 200, parts

    settings.ANONYMOUS_READING = True
    status, parts = asyncio.run(asyncio.wait_for(first(eve), 30))
    assert status == 200
    assert b"secret phase" not in b"".join(parts)
    for user in (None, eve):
        assert asyncio.run(asyncio.wait_for(first(user), 30)) == (404, [])
    assert events._read_and_let_go(run_id, 0, ada.pk) is not None
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert events._read_and_let_go(run_id, 0, ada.pk) is None


# --- LUNs ---


@pytest.mark.django_db
def test_who_lost_a_lun_starts_nothing_on_it() -> None:
    announce(worker_announcement())
    lun = Lun.objects.select_related("worker").get(name="disk1")
    eve = person(Role.OPERATOR, "eve")
    LunGrant.objects.create(lun=lun, user=eve)
    request = JobSpec(
        lun_id=lun.pk,
        configurations=(ConfigurationSpec("ext4", {}, "none"),),
        workload="iozone-small",
        new_study="Eves",
    )
    with rights.as_user(eve):
        job = submit(request, "disk1", eve)[0].job_id
        assert job is not None
        control.pause(job)
        LunGrant.objects.all().delete()
        with pytest.raises(PermissionDenied, match="not granted to you"):
            control.resume(job)
    assert Job.objects.get().paused_at is not None
    client = signed_in(eve)
    assert client.post(f"/jobs/{job}/resume/").status_code == 403
    assert client.post(f"/api/v1/sweeps/{job}/resume").status_code == 403
    root = person(Role.ADMINISTRATOR, "root")
    with rights.as_user(root):
        with pytest.raises(control.ControlRefused, match="not granted any more to eve"):
            control.resume(job)
        control.cancel(job, by="root")
        assert control.retry(job, "disk1", root, [RunState.CANCELLED])


# --- The last administrator ---


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(3))
def test_two_administrators_cannot_take_it_from_each_other_at_once(number: int) -> None:
    del number
    both = [person(Role.ADMINISTRATOR, name) for name in ("ada", "eve")]
    barrier, refused = threading.Barrier(2), []

    def demote(admin: User, other: User) -> None:
        try:
            barrier.wait(60)
            accounts.change(other.pk, role=Role.VIEWER, is_active=True, teams=[], luns=[], by=admin)
        except accounts.LastAdministrator:
            refused.append(admin)
        finally:
            connection.close()

    threads = [threading.Thread(target=demote, args=pair) for pair in (both, list(reversed(both)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(refused) == 1
    administrators = [user for user in User.objects.all() if rights.is_administrator(user)]
    assert len(administrators) == 1


@pytest.mark.django_db(transaction=True)
def test_two_administrators_who_change_each_other_do_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both calls are begun before either goes on, if the database lets both begin."""
    both = [person(Role.ADMINISTRATOR, name) for name in ("ada", "eve")]
    person(Role.ADMINISTRATOR, "root")
    barrier, statuses = threading.Barrier(2), []

    def meet(request: Any) -> None:
        with suppress(threading.BrokenBarrierError):
            barrier.wait(1)

    monkeypatch.setattr("fsbench_web.api.accounts.people.require_match", meet)

    def change(admin: User, other: User) -> None:
        try:
            _, token = tokens.create(admin, "t", can_administer=True)
            answer = Client().patch(
                f"/api/v1/people/{other.pk}",
                {"teams": []},
                content_type="application/json",
                headers={"Authorization": f"Bearer {token}"},
            )
            statuses.append(answer.status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=change, args=pair) for pair in (both, both[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [200, 200]


@pytest.mark.django_db
def test_a_superuser_is_the_last_administrator_too() -> None:
    """Accounts of createsuperuser need no staff mark for it."""
    root = User.objects.create_user("root", is_superuser=True)
    with pytest.raises(accounts.LastAdministrator):
        accounts.change(root.pk, role=Role.VIEWER, is_active=True, teams=[], luns=[], by=root)
    assert not rights.is_administrator(AnonymousUser())


# --- The same at the same time ---


@pytest.mark.django_db
@pytest.mark.parametrize("is_api", [False, True], ids=["page", "api"])
def test_a_name_that_somebody_took_a_moment_ago_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, is_api: bool
) -> None:
    """Between the form's look and the write: the form alone cannot see it."""
    root, team = person(Role.ADMINISTRATOR, "root"), Team.objects.create(name="Old")
    create, create_team = accounts.create, accounts.create_team

    def late_account(*arguments: Any) -> Any:
        User.objects.create_user("zoe")
        return create(*arguments)

    def late_team(*arguments: Any) -> Any:
        Team.objects.create(name="New")
        return create_team(*arguments)

    monkeypatch.setattr(accounts, "create", late_account)
    monkeypatch.setattr(accounts, "create_team", late_team)
    _, token = tokens.create(root, "t", can_administer=True)
    client, more = signed_in(root), {}
    prefix = ""
    if is_api:
        client, prefix = Client(headers={"Authorization": f"Bearer {token}"}), "/api/v1"
        more = {"content_type": "application/json"}
    new = {"username": "zoe", "role": "viewer", "password": "correct horse battery"}
    answer = client.post(f"{prefix}/people" + "/" * (not is_api), new, **more)
    assert answer.status_code == 422
    assert b"made a moment ago" in answer.content
    answer = client.post("/api/v1/teams" if is_api else "/people/teams/", {"name": "New"}, **more)
    assert answer.status_code == 422
    assert b"made a moment ago" in answer.content
    with pytest.raises(accounts.NameTaken):
        accounts.change_team(team, name="New", members=[], luns=[], by=root)
    assert not AuditEntry.objects.filter(what__in=["account made", "team made"]).exists()
    assert Team.objects.filter(name="Old").exists()


# --- The audit log ---


@pytest.mark.django_db
@pytest.mark.parametrize("is_api", [False, True], ids=["page", "api"])
def test_a_team_that_gets_another_name_is_in_the_log_with_both(is_api: bool) -> None:
    root, team = person(Role.ADMINISTRATOR, "root"), Team.objects.create(name="Old")
    if is_api:
        _, token = tokens.create(root, "t", can_administer=True)
        client = Client(headers={"Authorization": f"Bearer {token}"})
        path, more = f"/api/v1/teams/{team.pk}", {"content_type": "application/json"}
        assert client.patch(path, {"name": "New"}, **more).status_code == 200
    else:
        sent = {"name": "New"}
        assert signed_in(root).post(f"/people/teams/{team.pk}/", sent).status_code == 302
    entry = AuditEntry.objects.get(what="team changed")
    assert entry.thing == "team Old"
    assert entry.detail == {
        "before": {"name": "Old", "members": []},
        "after": {"name": "New", "members": []},
    }


def test_no_account_writes_the_audit_log_in_another_name(db: None) -> None:
    client = signed_in(person(Role.ADMINISTRATOR, "root"))
    for name in ("fsbench", "FSBENCH", "worker:disk"):
        new = {"username": name, "role": "viewer", "password": "correct horse battery"}
        assert client.post("/people/", new).status_code == 422, name


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["\uff46sbench", "FSBENC\uff28", "\uff41da", "ad\uff41", "ada "])
def test_a_name_in_look_alike_letters_is_the_name_it_becomes(ada: User, name: str) -> None:
    """create_user folds them (NFKC): what is taken or reserved then must be so in the form."""
    root = person(Role.ADMINISTRATOR, "root")
    new = {"username": name, "role": "viewer", "password": "correct horse battery"}
    assert signed_in(root).post("/people/", new).status_code == 422
    _, token = tokens.create(root, "t", can_administer=True)
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().post("/api/v1/people", new, content_type="application/json", headers=headers)
    assert answer.status_code == 422
    assert set(User.objects.values_list("username", flat=True)) == {"ada", "root"}
