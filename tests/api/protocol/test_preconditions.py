"""ETags of all reads, and If-Match and If-None-Match as RFC 9110 has them."""

import datetime
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Person, Role, Team
from fsbench_web.catalog.models import Worker
from fsbench_web.compare.models import Permalink
from tests.accounts.people import person
from tests.api.conftest import reads
from tests.api.protocol.test_described import described
from tests.api.protocol.test_hostile import FIRE, PROBLEM, address, trigger_client
from tests.api.results.test_contract import CALLS

API_DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"
ETAG = re.compile(r'(W/)?"[0-9a-f]{32}"')
MALFORMED = [
    "",
    " ",
    ",",
    "abc",
    "0123456789abcdef0123456789abcdef",
    '"abc',
    'abc"',
    "'abc'",
    'w/"abc"',
    'W/ "abc"',
    "W/abc",
    '"a" "b"',
    '"a", *',
    "*, *",
    "**",
    '"a"; q=1',
    '"a", b',
]


@pytest.mark.django_db
@pytest.mark.parametrize("header", MALFORMED)
def test_what_is_no_list_of_tags_is_malformed(client: Client, header: str) -> None:
    for name in ("If-Match", "If-None-Match"):
        response = client.get("/api/v1/studies", headers={name: header})
        assert response.status_code == 400
        assert response.json()["errors"][0]["field"] == name


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("header", "has", "has_exactly"),
    [
        ("*", True, True),
        ("{}", True, True),
        (" {}\t", True, True),
        ("W/{}", True, False),
        ('"b"', False, False),
        ('"b", {}', True, True),
        ('"b",{}', True, True),
        (', "b" , ,W/{},', True, False),
        ("W/{0}, {0}", True, True),
        ('""', False, False),
        ('"W/"', False, False),
    ],
)
def test_tags_are_compared_weakly_and_strongly(
    client: Client, header: str, has: bool, has_exactly: bool
) -> None:
    condition = header.format(client.get("/api/v1/studies")["ETag"])

    def ask(name: str) -> int:
        return client.get("/api/v1/studies", headers={name: condition}).status_code

    assert ask("If-None-Match") == (304 if has else 200)
    assert ask("If-Match") == (200 if has_exactly else 412)


@pytest.mark.django_db
def test_every_read_has_an_etag_that_stays_unless_the_text_says_otherwise(
    arguments: dict[str, Any],
) -> None:
    """Some days later, when nothing changed: what names the time of the answer is another."""
    client = Client(headers={"Authorization": f"Bearer {arguments['token']}"})
    addresses = [url for _, url in reads(arguments)]
    tags = {}
    for url in addresses:
        response = client.get(url)
        if response.status_code == 200:
            assert ETAG.fullmatch(response["ETag"]), url
            tags[url] = response["ETag"]
    assert len(tags) > 45
    later = timezone.now() + datetime.timedelta(days=2)
    Worker.objects.update(seen_at=later)  # none fell silent meanwhile
    changed = set()
    with mock.patch("django.utils.timezone.now", return_value=later):
        for url, tag in tags.items():
            again = client.get(url, headers={"If-None-Match": tag})
            assert again.status_code in (200, 304), url
            if again.status_code == 200:
                changed.add(url.removeprefix("/api/v1/").partition("?")[0])
    text = " ".join(API_DOCS.read_text().split())
    assert changed <= {
        *("workers", "workers/bench-1"),
        *("me", "me/tokens"),
        *(f"exports/deltas.{suffix}" for suffix in ("json", "xlsx", "md", "tex")),
    }
    promise = text[text.index("Every read has an `ETag`") :].partition(" `PATCH` and `DELETE`")[0]
    for name in ("`/workers`", "`/me`", "`/exports/deltas`"):
        assert name in promise, name


@pytest.fixture
def alice_writes(alice: User) -> Client:
    return Client(headers={"Authorization": f"Bearer {tokens.create(alice, 'w')[1]}"})


@pytest.fixture
def permalink(alice_writes: Client, published: None) -> str:
    response = alice_writes.post(
        "/api/v1/permalinks",
        {"query": "study=unisys-2005&test=write", "title": "Old"},
        "application/json",
    )
    return response.json()["links"]["self"]


def test_a_malformed_condition_writes_nothing(alice_writes: Client, permalink: str) -> None:
    bare = alice_writes.get(permalink)["ETag"].strip('"')
    for name in ("If-Match", "If-None-Match"):
        for condition in (bare, "", f'"{bare}', f'w/"{bare}"'):
            for method, body in (("PATCH", '{"title": "New"}'), ("DELETE", ""), ("GET", "")):
                response = alice_writes.generic(
                    method, permalink, body, "application/json", headers={name: condition}
                )
                assert response.status_code == 400, (name, condition, method)
                assert response["Content-Type"] == PROBLEM
                assert response.json()["errors"][0]["field"] == name
                assert "quotation marks" in response.json()["detail"]
    assert Permalink.objects.get().title == "Old"


def test_a_change_needs_the_very_answer(alice_writes: Client, permalink: str) -> None:
    tag = alice_writes.get(permalink)["ETag"]

    def change(title: str, condition: str) -> int:
        return alice_writes.patch(
            permalink, {"title": title}, "application/json", headers={"If-Match": condition}
        ).status_code

    for refused in (f"W/{tag}", '"x"', '"x", W/"y"'):
        assert change("Refused", refused) == 412, refused
    assert Permalink.objects.get().title == "Old"
    assert change("One of a list", f'"x", {tag}') == 200
    assert change("Again", tag) == 412
    assert change("Any", "*") == 200


def test_a_read_may_have_conditions_too(client: Client, published: None) -> None:
    path = "/api/v1/studies/unisys-2005"
    tag = client.get(path)["ETag"]

    def ask(name: str, condition: str) -> int:
        return client.get(path, headers={name: condition}).status_code

    assert [
        ask("If-None-Match", condition) for condition in (tag, f"W/{tag}", f'"x",{tag}', "*")
    ] == [304] * 4
    assert ask("If-None-Match", '"x"') == 200
    assert [ask("If-Match", condition) for condition in (tag, "*", f'"x", {tag}')] == [200] * 3
    assert [ask("If-Match", condition) for condition in ('"x"', f"W/{tag}")] == [412] * 2
    both = client.get(path, headers={"If-Match": '"x"', "If-None-Match": tag})
    assert both.status_code == 412


@pytest.mark.django_db
def test_no_write_ignores_a_condition() -> None:
    """A call that keeps none refuses it: it must not become a change without one."""
    admin = person(Role.ADMINISTRATOR, "ada")
    eve = User.objects.create_user("eve")
    Person.objects.create(user=eve, role=Role.VIEWER)
    team = Team.objects.create(name="Storage")
    _, token = tokens.create(admin, "all", can_administer=True)
    client = Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)
    caller = trigger_client("ada")
    before = AuditEntry.objects.count()
    headers = {(method, path): names for method, path, names in described("header")}
    for method, path in sorted(CALLS):
        if method == "get":
            continue
        url = address(path, user_id=str(eve.pk), team_id=str(team.pk))
        for name in ("If-Match", "If-None-Match"):
            response = (caller if path == FIRE else client).generic(
                method.upper(), url, b"{}", "application/json", headers={name: '"x"'}
            )
            where = (method, path, name, response.content)
            is_kept = name in headers[method, path]
            assert response.status_code in ((404, 412) if is_kept else (412,)), where
            assert response["Content-Type"] == PROBLEM, where
    assert AuditEntry.objects.count() == before
    for path, body in (
        (f"/api/v1/people/{eve.pk}", '{"role": "operator"}'),
        (f"/api/v1/teams/{team.pk}", '{"name": "New"}'),
    ):
        stale = client.patch(path, body, "application/json", headers={"If-Match": '"x"'})
        assert stale.status_code == 412, path
        fresh = {"If-Match": client.get(path)["ETag"]}
        assert client.patch(path, body, "application/json", headers=fresh).status_code == 200, path
