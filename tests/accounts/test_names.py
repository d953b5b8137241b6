"""No two accounts have names that people take for one another, however they are made."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.accounts import names, tokens
from fsbench_web.accounts.models import Role, Team
from fsbench_web.accounts.people import accounts, identities
from tests.accounts.people import person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture
def admin() -> User:
    return person(Role.ADMINISTRATOR, "admin")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Admin", 'an account "admin" already'),
        ("ADMIN", 'an account "admin" already'),
        ("adrnin", 'an account "admin" already'),
        ("\u0430dmin", "U+0430 CYRILLIC SMALL LETTER A"),
        ("adm\u0131n", "U+0131 LATIN SMALL LETTER DOTLESS I"),
        ("FSbench", "audit log"),
    ],
)
@pytest.mark.parametrize("way", ["page", "api", "command", "code"])
def test_a_name_like_another_is_refused(admin: User, way: str, name: str, words: str) -> None:
    if way == "page":
        client = Client()
        client.force_login(admin)
        sent = {"username": name, "password": PASSWORD, "role": "viewer"}
        answer = client.post("/people/", sent)
        assert answer.status_code == 422
        text = answer.content.decode().replace("&quot;", '"')
    elif way == "api":
        _, token = tokens.create(admin, can_administer=True)
        answer = Client().post(
            "/api/v1/people",
            json.dumps({"username": name, "password": PASSWORD, "role": "viewer"}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 422
        text = answer.json()["errors"][0]["message"]
    elif way == "command":
        with pytest.raises(CommandError) as error:
            call_command("createsuperuser", username=name, email="", interactive=False)
        text = str(error.value)
    else:
        with pytest.raises(accounts.NameTaken) as refusal:
            accounts.create(name, PASSWORD, Role.VIEWER, admin)
        text = str(refusal.value)
    assert words in text
    assert User.objects.get() == admin


@pytest.mark.parametrize(
    ("existing", "other"),
    [("alice", "aIice"), ("alice", "ALICE"), ("bob0", "bobO"), ("modern", "modem"), ("a1", "al")],
)
def test_look_alikes_of_ascii(existing: str, other: str) -> None:
    User.objects.create_user(existing)
    assert f'"{existing}"' in names.problem(other)


@pytest.mark.parametrize("name", ["ada", "admin2", "a.d-m_i+n@lab", "bdmin"])
def test_other_names_are_free(admin: User, name: str) -> None:
    assert names.problem(name) == ""


def test_accounts_that_are_there_stay(admin: User, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for name in ("ADMIN", "\u0430dmin", "jürgen"):
        User.objects.create_user(name, password=PASSWORD)
        sent = {"username": name, "password": PASSWORD}
        assert Client().post("/account/sign-in/", sent).status_code == 302
    client = Client()
    client.force_login(admin)
    user = User.objects.get(username="jürgen")
    sent = {"role": "operator", "email": "", "is_active": "on"}
    assert client.post(f"/people/{user.pk}/", sent).status_code == 302


def test_the_sign_in_service_gets_another_name(admin: User) -> None:
    assert identities._free_name(("Admin",)) == "Admin-2"
    assert identities._free_name(("adrnin",)) == "adrnin-2"
    assert identities._free_name(("\u0430dmin",)) == "dmin"


@pytest.mark.parametrize(
    "name", ["storage", "Ｓtorage", "Stоrage", "ЅТORАGE", "Storage  Team", "St0rage", "Storαge"]
)
def test_no_team_can_be_taken_for_another(name: str, client: Client) -> None:
    client.force_login(person(Role.ADMINISTRATOR, "root"))
    first = Team.objects.create(name="Storage Team" if "  " in name else "Storage")
    other = Team.objects.create(name="Databases")
    for path in ("/people/teams/", f"/people/teams/{other.pk}/"):
        answer = client.post(path, {"name": name})
        assert answer.status_code == 422, path
        assert f"There is a team &quot;{first}&quot; already" in answer.content.decode()
    answer = client.post("/api/v1/teams", json.dumps({"name": name}), "application/json")
    assert answer.status_code == 422
    assert client.post(f"/people/teams/{first.pk}/", {"name": name}).status_code == 302


@pytest.mark.parametrize("name", ["Хранение", "Αποθήκευση", "ストレージ", "Storage 2"])
def test_teams_are_called_in_any_language(name: str, client: Client) -> None:
    client.force_login(person(Role.ADMINISTRATOR, "root"))
    Team.objects.create(name="Storage")
    assert client.post("/people/teams/", {"name": name}).status_code == 302
    assert Team.objects.filter(name=name).exists()
