"""Sign-in with OpenID Connect against a provider on loopback, an honest and a hostile one."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import AuditEntry, GivenPassword, Person, Role, Team
from fsbench_web.accounts.people import accounts
from fsbench_web.platform.openid_settings import SignOn
from tests.accounts.people import person
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, Claims, Provider, _key, provider

pytestmark = pytest.mark.django_db
BEGIN, BACK = "/account/sign-in/service/", "/account/sign-in/service/callback/"


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with provider() as started:
        yield started


@pytest.fixture
def service(running: Provider, settings) -> Provider:
    """The provider as new, and fsbench set up for it."""
    running.begin()
    settings.SIGN_ON = SignOn(running.issuer, CLIENT_ID, CLIENT_SECRET, name="Example Login")
    settings.DEFAULT_ROLE = "viewer"
    return running


def set_up(settings, **changed: Any) -> None:
    settings.SIGN_ON = dataclasses.replace(settings.SIGN_ON, **changed)


def way_back(client: Client, next_page: str = "") -> str:
    """Begin, agree at the provider, and where it sends the browser."""
    response = client.get(BEGIN, {"next": next_page} if next_page else {})
    assert response.status_code == 302, response.content.decode()
    answer = requests.get(response["Location"], allow_redirects=False, timeout=10)
    assert answer.status_code == 302
    parts = urlsplit(answer.headers["Location"])
    assert parts.path == BACK
    return f"{parts.path}?{parts.query}"


def sign_in(client: Client, next_page: str = "") -> Any:
    return client.get(way_back(client, next_page))


def name_of(client: Client) -> str | None:
    response = client.get("/account/")
    return response.context["user"].get_username() if response.status_code == 200 else None


def test_a_new_person_gets_an_account_with_the_default_role(
    service: Provider, client: Client, settings
) -> None:
    response = sign_in(client, "/luns/")
    assert (response.status_code, response["Location"]) == (302, "/luns/")
    assert name_of(client) == "jane"
    user = User.objects.get()
    assert not user.has_usable_password()
    assert rights.role_of(user) == Role.VIEWER
    row = SocialAccount.objects.get()
    assert (row.provider, row.uid, row.extra_data) == (service.issuer, "248289761001", {})
    assert not SocialToken.objects.exists()
    assert client.session.get_expiry_age() == pytest.approx(settings.SESSION_COOKIE_AGE, abs=600)
    entries = AuditEntry.objects.order_by("pk")
    assert [(entry.who, entry.what, entry.detail["subject"]) for entry in entries] == [
        ("fsbench", "account made", "248289761001"),
        ("jane", "signed in", "248289761001"),
    ]


def test_the_same_subject_is_the_same_account_whatever_it_is_called(
    service: Provider, client: Client
) -> None:
    sign_in(client)
    service.person = {**service.person, "preferred_username": "root", "email": "x@y.example"}
    assert sign_in(Client()).status_code == 302
    assert list(User.objects.values_list("username", flat=True)) == ["jane"]


@pytest.mark.parametrize("is_verified", [True, False, None, "true"])
def test_name_and_email_of_an_administrator_open_nothing(
    service: Provider, client: Client, is_verified: object
) -> None:
    root = person(Role.ADMINISTRATOR, "root")
    root.set_password("correct horse battery")
    root.email = "root@example.org"
    root.save()
    service.person = {
        "sub": "mallory",
        "preferred_username": "ROOT",
        "email": "root@example.org",
        "email_verified": is_verified,
    }
    assert sign_in(client).status_code == 302
    assert name_of(client) == "ROOT-2"
    user = User.objects.get(username="ROOT-2")
    assert rights.role_of(user) == Role.VIEWER
    assert user.email == ("root@example.org" if is_verified is True else "")
    root.refresh_from_db()
    assert root.has_usable_password()
    assert not SocialAccount.objects.filter(user=root).exists()


def test_names_are_plain_free_and_not_of_the_audit_log(service: Provider) -> None:
    names = [
        ("a", "fsbench", "fsbench-2"),
        ("b", "Jäne Döe", "Jane-Doe"),
        ("c", "аdmin", "dmin"),  # its first letter is Cyrillic
        ("d", "<script>x</script>", "script-x-script"),
        ("e", "worker:disk", "worker-disk"),
        ("f", "\0\n", "person"),
        ("g", "x" * 500, "x" * 60),
    ]
    for subject, preferred, _ in names:
        service.person = {"sub": subject, "preferred_username": preferred}
        assert sign_in(Client()).status_code == 302, preferred
    for subject, _, name in names:
        assert SocialAccount.objects.get(uid=subject).user.get_username() == name


def signed_with_another_key(provider: Provider) -> Callable[[Claims], str]:
    return lambda claims: jwt.encode(claims, _key(), "RS256", headers={"kid": provider.kid})


def with_claims(provider: Provider, **changed: object) -> Callable[[Claims], str]:
    def spoil(claims: Claims) -> str:
        spoilt = {**claims, **changed}
        return provider.signed({name: value for name, value in spoilt.items() if value is not None})

    return spoil


SPOILT: dict[str, Callable[[Provider], Callable[[Claims], str]]] = {
    "another key": signed_with_another_key,
    "unknown key": lambda p: (
        lambda claims: jwt.encode(claims, p.key, "RS256", headers={"kid": "two"})
    ),
    "unsigned": lambda p: lambda claims: jwt.encode(claims, None, "none", headers={"kid": p.kid}),
    "our own secret": lambda p: (
        lambda claims: jwt.encode(
            claims, CLIENT_SECRET.ljust(32, "."), "HS256", headers={"kid": p.kid}
        )
    ),
    "changed afterwards": lambda p: lambda claims: changed_afterwards(p.signed(claims)),
    "no token": lambda p: lambda claims: "no.token.at-all",
    "wrong audience": lambda p: with_claims(p, aud="another-client"),
    "for others too": lambda p: with_claims(p, aud=[CLIENT_ID, "another-client"]),
    "another party": lambda p: with_claims(p, azp="another-client"),
    "wrong issuer": lambda p: with_claims(p, iss="https://evil.example"),
    "wrong nonce": lambda p: with_claims(p, nonce="another"),
    "no nonce": lambda p: with_claims(p, nonce=None),
    "expired": lambda p: with_claims(p, exp=int(time.time()) - 120),
    "never expires": lambda p: with_claims(p, exp=None),
    "not yet": lambda p: with_claims(p, iat=int(time.time()) + 3600),
    "no subject": lambda p: with_claims(p, sub=None),
    "subject is a number": lambda p: with_claims(p, sub=7),
    "empty subject": lambda p: with_claims(p, sub=""),
    "long subject": lambda p: with_claims(p, sub="x" * 192),
}


def changed_afterwards(token: str) -> str:
    header, _, signature = token.split(".")
    claims = jwt.decode(token, options={"verify_signature": False}) | {"sub": "root"}
    return f"{header}.{jwt.encode(claims, None, 'none').split('.')[1]}.{signature}"


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_id_token_opens_nothing(service: Provider, client: Client, how: str) -> None:
    service.spoil = SPOILT[how](service)
    service.information = {"sub": "x"} if "subject" in how else None
    response = sign_in(client)
    assert response.status_code == 403
    assert "Not signed in" in response.content.decode()
    assert name_of(client) is None
    assert not User.objects.exists()
    assert not SocialAccount.objects.exists()


def test_a_signature_of_the_new_key_counts_after_keys_changed(
    service: Provider, client: Client
) -> None:
    sign_in(client)
    service.key, service.kid = _key(), "newer"
    assert sign_in(Client()).status_code == 302


def test_user_information_of_somebody_else_is_refused(service: Provider, client: Client) -> None:
    service.information = {"sub": "somebody-else", "email": "a@b.example", "email_verified": True}
    assert sign_in(client).status_code == 403
    assert not User.objects.exists()


def test_user_information_verifies_no_address_of_the_token(
    service: Provider, client: Client
) -> None:
    service.person["email"] = "root@example.org"
    service.information = {"sub": service.person["sub"], "email_verified": True}
    sign_in(client)
    assert User.objects.get().email == ""


def test_an_answer_counts_once(service: Provider, client: Client) -> None:
    address = way_back(client)
    assert client.get(address).status_code == 302
    client.logout()
    assert client.get(address).status_code == 403
    assert name_of(client) is None


def test_a_code_counts_once_with_another_state_too(service: Provider, client: Client) -> None:
    used = way_back(client)
    assert client.get(used).status_code == 302
    client.logout()
    fresh = parse_qs(urlsplit(way_back(client)).query)["state"][0]
    code = parse_qs(urlsplit(used).query)["code"][0]
    assert client.get(BACK, {"code": code, "state": fresh}).status_code == 403
    assert name_of(client) is None


def test_a_code_of_another_browser_is_no_use(service: Provider, client: Client) -> None:
    """The code of the victim's sign-in, with a state of the attacker's own: PKCE refuses."""
    stolen = parse_qs(urlsplit(way_back(Client())).query)["code"][0]
    mine = parse_qs(urlsplit(way_back(client)).query)["state"][0]
    assert client.get(BACK, {"code": stolen, "state": mine}).status_code == 403
    assert name_of(client) is None


def test_nobody_is_signed_in_as_somebody_else_by_a_link(service: Provider, client: Client) -> None:
    """The attacker's own answer, opened in the victim's browser."""
    assert client.get(way_back(Client())).status_code == 403
    assert name_of(client) is None


@pytest.mark.parametrize("query", ["", "state=", "state=x", "code=x", "state=x&code=y&state=z"])
def test_an_answer_that_nobody_asked_for_is_refused(
    service: Provider, client: Client, query: str
) -> None:
    assert client.get(f"{BACK}?{query}").status_code == 403
    assert service.asked == []


def test_a_sign_in_lasts_ten_minutes(
    service: Provider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = way_back(client)
    later = time.time() + 10 * 60 + 1
    monkeypatch.setattr("fsbench_web.accounts.openid.time.time", lambda: later)
    assert client.get(address).status_code == 403


def test_of_sign_ins_begun_in_one_browser_the_latest_ten_count(
    service: Provider, client: Client
) -> None:
    ways = [way_back(client) for _ in range(11)]
    assert client.get(ways[0]).status_code == 403
    assert client.get(ways[1]).status_code == 302


def test_a_closed_account_stays_closed(service: Provider, client: Client) -> None:
    sign_in(client)
    User.objects.update(is_active=False)
    assert name_of(client) is None
    response = sign_in(client)
    assert response.status_code == 403
    assert "account here is closed" in response.content.decode()
    assert User.objects.count() == 1


def test_the_session_is_a_new_one(service: Provider, client: Client) -> None:
    client.get(BEGIN)
    before = client.session.session_key
    sign_in(client)
    assert client.session.session_key != before


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_it_never_leads_to_another_site(service: Provider, client: Client, target: str) -> None:
    assert sign_in(client, target)["Location"] == "/"


def test_an_answer_of_another_issuer_is_refused(service: Provider, client: Client) -> None:
    address = way_back(client)
    assert client.get(f"{address}&iss=https://evil.example").status_code == 403


def test_who_is_not_let_in_there_is_not_here(service: Provider, client: Client) -> None:
    state = parse_qs(urlsplit(way_back(client)).query)["state"][0]
    answer = {"state": state, "error": "access_denied", "error_description": "<b>no</b>"}
    response = client.get(BACK, answer)
    assert response.status_code == 403
    assert b"<b>no</b>" not in response.content


@pytest.mark.parametrize(
    "description",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://192.0.2.1/token"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
    ids=str,
)
def test_a_provider_that_describes_itself_badly_is_not_asked(
    service: Provider, client: Client, description: Claims
) -> None:
    service.description = description
    response = client.get(BEGIN)
    assert response.status_code == 502
    assert "gave an invalid answer" in response.content.decode()
    assert service.asked == ["/.well-known/openid-configuration"]


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        ("token", '"access_token"'),
        ("token", '{"access_token": ' + "[" * 5000),
        ("keys", "[" * 5000),
        ("keys", "[1]"),
    ],
)
def test_an_answer_that_is_no_object_is_said_to_be_wrong(
    service: Provider, client: Client, monkeypatch: pytest.MonkeyPatch, part: str, answer: str
) -> None:
    monkeypatch.setattr(service, part, lambda *_: answer.encode())
    response = sign_in(client)
    assert response.status_code == 502
    assert "gave an invalid answer" in response.content.decode()
    assert name_of(client) is None


def test_a_way_of_asking_for_tokens_that_is_none_is_the_usual_one(
    service: Provider, client: Client
) -> None:
    service.description = {"token_endpoint_auth_methods_supported": 5}
    assert sign_in(client).status_code == 302


def test_redirects_of_the_provider_are_not_followed(service: Provider, client: Client) -> None:
    service.description = {"jwks_uri": f"{service.issuer}/elsewhere"}
    assert sign_in(client).status_code == 502
    assert not User.objects.exists()


def test_a_provider_that_is_away_is_said_to_be(client: Client, settings) -> None:
    settings.SIGN_ON = SignOn("http://127.0.0.1:9", CLIENT_ID, CLIENT_SECRET)
    assert client.get(BEGIN).status_code == 502
    assert client.get("/account/sign-in/").status_code == 200


def test_it_can_be_restricted_to_domains(service: Provider, settings) -> None:
    set_up(settings, email_domains=("storage.example",))
    refused = [
        {},
        {"email": "a@storage.example"},
        {"email": "a@storage.example", "email_verified": False},
        {"email": "a@evil.example", "email_verified": True},
        {"email": "a@sub.storage.example", "email_verified": True},
        {"email": '"a@evil.example"@storage.example', "email_verified": True},
        {"email": "a@storage.example@evil.example", "email_verified": True},
        {"email": "a@storage.example\n", "email_verified": True},
        {"email": ["a@storage.example"], "email_verified": True},
    ]
    for claims in refused:
        service.person = {"sub": "s", **claims}
        assert sign_in(Client()).status_code == 403, claims
    assert not User.objects.exists()
    service.person = {"sub": "s", "email": "a@Storage.Example", "email_verified": True}
    assert sign_in(Client()).status_code == 302


def test_who_left_the_domain_is_refused_later_too(
    service: Provider, client: Client, settings
) -> None:
    set_up(settings, email_domains=("storage.example",))
    service.person = {"sub": "s", "email": "a@storage.example", "email_verified": True}
    assert sign_in(client).status_code == 302
    service.person["email"] = "a@elsewhere.example"
    assert sign_in(Client()).status_code == 403


def test_only_linked_people_where_no_accounts_are_made(
    service: Provider, client: Client, settings
) -> None:
    set_up(settings, makes_accounts=False)
    response = sign_in(client)
    assert response.status_code == 403
    assert "your subject is 248289761001" in response.content.decode()
    assert not User.objects.exists()
    root, ada = person(Role.ADMINISTRATOR, "root"), person(Role.OPERATOR, "ada")
    page = Client()
    page.force_login(root)
    link = {"subject": "248289761001"}
    assert page.post(f"/people/{ada.pk}/identities/", link).status_code == 302
    assert sign_in(client).status_code == 302
    assert name_of(client) == "ada"
    assert rights.role_of(User.objects.get(username="ada")) == Role.OPERATOR
    assert "248289761001" in page.get(f"/people/{ada.pk}/").content.decode()
    linked = AuditEntry.objects.get(what="identity linked")
    assert (linked.who, linked.thing, linked.detail["subject"]) == (
        "root",
        "account ada",
        "248289761001",
    )


def test_a_subject_opens_one_account(service: Provider, client: Client) -> None:
    sign_in(client)
    root = person(Role.ADMINISTRATOR, "root")
    page = Client()
    page.force_login(root)
    response = page.post(f"/people/{root.pk}/identities/", {"subject": "248289761001"})
    assert response.status_code == 422
    assert "linked to jane already" in response.content.decode()
    assert page.post(f"/people/{root.pk}/identities/", {"subject": "x" * 192}).status_code == 422


def test_an_unlinked_subject_and_its_sessions_open_nothing(
    service: Provider, client: Client
) -> None:
    sign_in(client)
    assert name_of(client) == "jane"
    row = SocialAccount.objects.get()
    page = Client()
    page.force_login(person(Role.ADMINISTRATOR, "root"))
    other = User.objects.create_user("other")
    wrong = f"/people/{other.pk}/identities/{row.pk}/unlink/"
    assert page.post(wrong).status_code == 404
    path = f"/people/{row.user_id}/identities/{row.pk}/unlink/"
    assert page.get(path).status_code == 405
    assert page.post(path).status_code == 302
    assert name_of(client) is None
    assert AuditEntry.objects.filter(what="identity unlinked", who="root").exists()


def test_groups_give_role_and_teams_and_take_them(
    service: Provider, client: Client, settings
) -> None:
    lab = Team.objects.create(name="Lab")
    own = Team.objects.create(name="By hand")
    set_up(
        settings,
        groups_claim="groups",
        roles=(("cn=ops,dc=x", "operator"), ("imports", "contributor")),
        teams=(("lab", "Lab"), ("disks", "Disks")),
    )
    service.person["groups"] = ["imports", "cn=ops,dc=x", "lab", "disks", 7]
    sign_in(client)
    user = User.objects.get()
    assert rights.role_of(user) == Role.OPERATOR
    assert set(user.teams.values_list("name", flat=True)) == {"Lab", "Disks"}
    user.teams.add(own)
    service.person["groups"] = "disks"
    sign_in(Client())
    user = User.objects.get()
    assert rights.role_of(user) == Role.VIEWER
    assert set(user.teams.values_list("name", flat=True)) == {"Disks", "By hand"}
    assert not lab.members.exists()
    before = AuditEntry.objects.filter(what="account changed").count()
    assert before == 4
    sign_in(Client())
    assert AuditEntry.objects.filter(what="account changed").count() == before


def test_groups_that_are_not_mapped_give_nothing(service: Provider, settings) -> None:
    set_up(settings, groups_claim="groups", roles=(("admins", "administrator"),))
    for groups in ("administrator", ["Admins", "administrator"], {"admins": True}, 7, None):
        service.person["groups"] = groups
        sign_in(Client())
        assert rights.role_of(User.objects.get()) == Role.VIEWER


def test_claims_change_no_role_where_the_site_maps_none(service: Provider) -> None:
    service.person |= {"groups": ["administrator"], "role": "administrator", "is_staff": True}
    sign_in(Client())
    Person.objects.create(user=User.objects.get(), role=Role.OPERATOR)
    sign_in(Client())
    assert rights.role_of(User.objects.get()) == Role.OPERATOR


def test_the_last_administrator_stays_one_whatever_the_groups_say(
    service: Provider, settings
) -> None:
    set_up(settings, groups_claim="groups", roles=(("admins", "administrator"),))
    service.person["groups"] = ["admins"]
    sign_in(Client())
    service.person["groups"] = []
    assert sign_in(Client()).status_code == 302
    assert rights.role_of(User.objects.get()) == Role.ADMINISTRATOR
    person(Role.ADMINISTRATOR, "root")
    sign_in(Client())
    assert rights.role_of(User.objects.get(username="jane")) == Role.VIEWER


def test_the_sign_in_page_offers_it(service: Provider, client: Client, settings) -> None:
    page = client.get("/account/sign-in/?next=/luns/").content.decode()
    assert "Sign in with Example Login" in page
    assert 'href="/account/sign-in/service/?next=%2Fluns%2F"' in page
    assert 'name="password"' in page
    settings.SIGN_ON = None
    page = client.get("/account/sign-in/").content.decode()
    assert "/service/" not in page
    assert client.get(BEGIN).status_code == 404
    assert client.get(BACK).status_code == 404


def test_passwords_can_be_switched_off(service: Provider, settings) -> None:
    root = person(Role.ADMINISTRATOR, "root")
    root.set_password("correct horse battery")
    root.save()
    settings.PASSWORD_SIGN_IN = False
    client = Client()
    assert 'name="password"' not in client.get("/account/sign-in/").content.decode()
    sent = {"username": "root", "password": "correct horse battery"}
    assert client.post("/account/sign-in/", sent).status_code == 403
    assert name_of(client) is None
    client.force_login(root)
    assert 'name="old_password"' not in client.get("/account/").content.decode()
    assert client.post("/account/password/").status_code == 403
    new = {"username": "eve", "role": "viewer", "password": "correct horse battery"}
    assert client.post("/people/", new).status_code == 302
    assert not User.objects.get(username="eve").has_usable_password()


def test_an_account_of_the_service_has_no_password_to_change(
    service: Provider, client: Client
) -> None:
    sign_in(client)
    page = client.get("/account/").content.decode()
    assert 'name="old_password"' not in page
    assert "248289761001" in page
    new = "another long password"
    sent = {"old_password": "", "new_password1": new, "new_password2": new}
    assert client.post("/account/password/", sent).status_code == 403


def test_it_works_where_all_reading_needs_an_account(
    service: Provider, client: Client, settings
) -> None:
    settings.ANONYMOUS_READING = False
    assert sign_in(client, "/luns/")["Location"] == "/luns/"
    assert client.get("/luns/").status_code == 200


# --- Signing out there ---


def test_who_comes_from_the_service_is_not_asked_for_a_password_of_ones_own(
    service: Provider, client: Client, settings
) -> None:
    """An administrator set one beside it; the session that such a password opens has to change it,
    and the one that the service opens has not, also where it is the same browser's.
    """
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    sign_in(client)
    root = person(Role.ADMINISTRATOR, "root")
    password = accounts.set_password(
        User.objects.get(username="jane").pk, root, revokes_tokens=False
    )
    assert name_of(client) is None
    assert sign_in(client).status_code == 302
    assert name_of(client) == "jane"
    other = Client()
    sent = {"username": "jane", "password": password}
    assert other.post("/account/sign-in/", sent).status_code == 302
    assert other.get("/luns/")["Location"].startswith("/account/password/")
    assert sign_in(other).status_code == 302
    assert other.get("/luns/").status_code == 200
    assert GivenPassword.objects.count() == 1  # the password itself still waits


def sign_out(client: Client) -> Any:
    return client.post("/account/sign-out/")


def test_signing_out_leads_to_the_way_out_of_the_provider(
    service: Provider, client: Client
) -> None:
    service.description = {"end_session_endpoint": f"{service.issuer}/end?realm=lab"}
    sign_in(client)
    response = sign_out(client)
    assert response.status_code == 200
    assert "Sign out of Example Login" in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert name_of(client) is None  # here it is over whatever becomes of the rest
    assert service.ended == []
    address = response.context["leaving"]
    assert address.startswith(f"{service.issuer}/end?realm=lab&id_token_hint=")
    answer = requests.get(address, allow_redirects=False, timeout=10)
    assert service.ended == ["248289761001"]
    assert answer.headers["Location"] == "http://testserver/account/sign-in/"
    assert client.get("/account/sign-in/").status_code == 200
    # A second time there is nothing to end.
    assert sign_out(client).status_code == 302


def test_the_id_token_is_kept_no_longer_than_the_session(service: Provider, client: Client) -> None:
    service.description = {"end_session_endpoint": f"{service.issuer}/end"}
    sign_in(client)
    assert "id_token" in str(dict(client.session.items()))
    sign_out(client)
    assert not client.session.items()


@pytest.mark.parametrize(
    "endpoint",
    [
        None,
        "",
        7,
        "http://login.example/end",
        "javascript:alert(1)",
        "//login.example/end",
        "https://login.example/end#here",
    ],
)
def test_without_a_safe_way_out_it_ends_here(
    service: Provider, client: Client, endpoint: object
) -> None:
    service.description = {} if endpoint is None else {"end_session_endpoint": endpoint}
    sign_in(client)
    assert "id_token" not in str(dict(client.session.items()))
    response = sign_out(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert name_of(client) is None


def test_who_came_with_a_password_ends_no_session_there(service: Provider, client: Client) -> None:
    service.description = {"end_session_endpoint": f"{service.issuer}/end"}
    User.objects.create_user("alice", password="correct horse battery")
    sign_in(client)
    # Another person on the same browser: what was kept of the first one is gone.
    client.post("/account/sign-in/", {"username": "alice", "password": "correct horse battery"})
    assert name_of(client) == "alice"
    response = sign_out(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert service.ended == []


def test_a_provider_that_was_switched_off_is_not_gone_to(
    service: Provider, client: Client, settings
) -> None:
    service.description = {"end_session_endpoint": f"{service.issuer}/end"}
    sign_in(client)
    settings.SIGN_ON = None
    assert sign_out(client)["Location"] == "/"
