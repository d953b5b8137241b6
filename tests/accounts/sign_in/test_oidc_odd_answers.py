"""A provider with ways of its own, one that is set up wrongly, is slow, or answers nonsense."""

import base64
import json
import logging
import time
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.accounts.provider import CLIENT_ID, Claims, Provider
from tests.accounts.sign_in.test_oidc import BEGIN, name_of, set_up, sign_in, way_back

pytestmark = pytest.mark.django_db
LOGGER = "fsbench.sign_in"


def test_what_an_endpoint_asks_already_stays(service: Provider, client: Client) -> None:
    """As those of Azure AD B2C do, whose policy stands in the query (RFC 6749, 3.1)."""
    service.description = {"authorization_endpoint": f"{service.issuer}/authorize?p=policy"}
    asked = parse_qs(urlsplit(client.get(BEGIN)["Location"]).query)
    assert (asked["p"], asked["client_id"]) == (["policy"], [CLIENT_ID])
    assert sign_in(client).status_code == 302
    assert name_of(client) == "jane"


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://login.example/authorise#here",
        "https://login.example/authorise\r\nX: y",
        "https://login.example/to authorise",
        "https://\ud800.example/",
        "https://lоgin.example/",  # its second letter is Cyrillic
    ],
    ids=ascii,
)
def test_an_endpoint_that_is_no_address_is_not_gone_to(
    service: Provider, client: Client, endpoint: str
) -> None:
    service.description = {"authorization_endpoint": endpoint}
    assert client.get(BEGIN).status_code == 502


@pytest.mark.parametrize("subject", ["\ud800", "a\nb", "jane\u202e", "jane\u200b"], ids=ascii)
def test_a_subject_that_cannot_be_read_opens_nothing(
    service: Provider, client: Client, subject: str
) -> None:
    service.person = {"sub": subject}
    response = sign_in(client)
    assert response.status_code == 403
    assert "invisible characters" in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("algorithm", ["none", "EdDSA", 7, None])
def test_a_key_for_something_else_opens_nothing(
    service: Provider, client: Client, monkeypatch: pytest.MonkeyPatch, algorithm: object
) -> None:
    keys = {"keys": [service.keys()["keys"][0] | {"alg": algorithm}]}
    if algorithm is None:
        keys = {"keys": [{"kty": "oct", "kid": "one", "k": base64.b64encode(b"k" * 32).decode()}]}
        service.spoil = lambda said: jwt.encode(said, b"k" * 32, "HS256", headers={"kid": "one"})
    monkeypatch.setattr(service, "keys", lambda: keys)
    assert sign_in(client).status_code == 403
    assert name_of(client) is None


def test_a_wrong_secret_is_told_from_a_wrong_code(
    service: Provider, client: Client, settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The person can do nothing about it; the log tells the administrator which settings."""
    set_up(settings, secret="of-another-client")
    with caplog.at_level(logging.WARNING, LOGGER):
        response = sign_in(client)
    assert response.status_code == 502
    assert "gave an invalid answer" in response.content.decode()
    assert "FSBENCH_OIDC_CLIENT_SECRET" in caplog.text
    assert "of-another-client" not in caplog.text


def test_signs_of_a_secret_are_encoded_as_the_standard_says(
    service: Provider, client: Client, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 6749, 2.3.1: a provider decodes them, so that a percent sign or plus became another."""
    set_up(settings, secret="50%:a+bc")
    heard = []
    real = service.token

    def token(sent: dict[str, str], authorisation: str) -> Claims | None:
        heard.append(base64.b64decode(authorisation.removeprefix("Basic ")).decode())
        return real(sent, authorisation)

    monkeypatch.setattr(service, "token", token)
    sign_in(client)
    assert heard == [f"{CLIENT_ID}:50%25%3Aa%2Bbc"]


@pytest.mark.parametrize(
    "path", ["/token", "/keys", "/userinfo", "/.well-known/openid-configuration"]
)
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"<html>Internal error</html>"),
        (503, b'{"error": "busy"}'),
        (200, b"<html>Please sign in</html>"),
        (200, b"\xff\xfe\x00"),
        (200, b"{" + b" " * 1024 * 1024 + b"}"),
        (302, b"{}"),
    ],
    ids=["500", "503", "page", "bytes", "large", "redirect"],
)
def test_what_is_no_answer_is_said_and_the_page_stays(
    service: Provider, client: Client, path: str, status: int, body: bytes
) -> None:
    way = way_back(client)
    service.instead[path] = (status, body)
    response = client.get(way)
    assert response.status_code == 502
    page = response.content.decode()
    assert "gave an invalid answer" in page
    assert 'name="password"' in page  # who has one signs in with it
    assert name_of(client) is None


def test_who_begins_again_still_gets_to_the_page_that_was_wanted(
    service: Provider, client: Client
) -> None:
    way = way_back(client, "/luns/")
    service.instead["/token"] = (500, b"")
    response = client.get(way)
    assert response.status_code == 502
    assert "/account/sign-in/service/?next=%2Fluns%2F" in response.content.decode()


def test_an_answer_that_drips_has_an_end(
    service: Provider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.accounts.openid_session.LIMIT_S", 0.5)
    content = json.dumps(service.metadata()) + " " * 2000
    service.instead["/.well-known/openid-configuration"] = (200, content.encode())
    service.drips_every_s = 0.05  # two minutes in all
    begun = time.monotonic()
    assert client.get(BEGIN).status_code == 502
    assert time.monotonic() - begun < 60


def test_a_header_that_drips_has_an_end(
    service: Provider,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("fsbench_web.accounts.openid_session.LIMIT_S", 0.5)
    service.header = b"X-Odd: " + b"a" * 2000 + b"\r\n"
    service.drips_every_s = 0.05
    begun = time.monotonic()
    assert client.get(BEGIN).status_code == 502
    assert time.monotonic() - begun < 60
    assert "took more than 0.5 s" in caplog.text


@pytest.mark.parametrize(("groups", "is_said"), [({}, True), ({"groups": []}, False)])
def test_a_claim_of_groups_that_nobody_sends_is_said_in_the_log(
    service: Provider,
    client: Client,
    settings,
    caplog: pytest.LogCaptureFixture,
    groups: Claims,
    is_said: bool,
) -> None:
    """Everybody has the default role then, and whoever set it up wonders why."""
    set_up(settings, groups_claim="groups", roles=(("ops", "operator"),))
    service.person |= groups
    with caplog.at_level(logging.WARNING, LOGGER):
        assert sign_in(client).status_code == 302
    assert ("no claim 'groups'" in caplog.text) is is_said
