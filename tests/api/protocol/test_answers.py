"""ETags, pages of lists, problem documents."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Role, Team, Visibility
from fsbench_web.compare.models import Permalink
from fsbench_web.studies.models import Study
from tests.accounts.people import person
from tests.api.conftest import MakeRun

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"


def test_what_is_known_is_not_sent_again(client: Client, published: None) -> None:
    first = client.get("/api/v1/studies/unisys-2005")
    tag = first["ETag"]
    again = client.get("/api/v1/studies/unisys-2005", headers={"If-None-Match": f'"x", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == tag
    assert "Content-Type" not in again
    assert client.head("/api/v1/studies/unisys-2005", headers={"If-None-Match": tag}).status_code
    Study.objects.filter(slug="unisys-2005").update(summary="Another one")
    changed = client.get("/api/v1/studies/unisys-2005", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed["ETag"] != tag


def test_no_cache_in_between_keeps_an_answer(client: Client, published: None) -> None:
    for path in ("studies", "deltas", "deltas.csv", "luns", "openapi.json"):
        response = client.get(f"/api/v1/{path}")
        assert {"Authorization", "Cookie"} <= set(response["Vary"].split(", ")), path
        assert "private" in response["Cache-Control"], path


def test_an_etag_tells_nothing_of_what_is_hidden(client: Client, make_run: MakeRun) -> None:
    ada = User.objects.create_user("ada")
    make_run()
    Study.objects.update(visibility=Visibility.PRIVATE, created_by=ada)
    hers = Client(headers={"Authorization": f"Bearer {tokens.create(ada, 'hers')[1]}"})
    for path in ("studies", "runs", "series", "search?q=array", "comparison", "deltas"):
        tag = hers.get(f"/api/v1/{path}")["ETag"]
        others = client.get(f"/api/v1/{path}", headers={"If-None-Match": tag})
        alone = client.get(f"/api/v1/{path}")
        # 304 only where whoever asks would be answered the very same.
        assert (others.status_code == 304) == (alone["ETag"] == tag), path
    tag = hers.get("/api/v1/studies/array-test")["ETag"]
    hidden = client.get("/api/v1/studies/array-test", headers={"If-None-Match": tag})
    assert hidden.status_code == 404
    assert (
        client.get("/api/v1/studies/array-test", headers={"If-None-Match": "*"}).status_code == 404
    )


def links(header: str) -> dict[str, str]:
    by_rel = {}
    for part in header.split(", <"):
        address, _, rel = part.partition(">; rel=")
        by_rel[rel.strip('"')] = address.lstrip("<")
    return by_rel


def test_lists_say_where_their_other_pages_are(client: Client, make_run: MakeRun) -> None:
    runs = [make_run().pk for _ in range(5)]
    response = client.get("/api/v1/runs?limit=2&offset=2&study=array-test")
    assert list(response.json())[:3] == ["total", "limit", "offset"]
    assert response["X-Total-Count"] == "5"
    by_rel = links(response["Link"])
    assert set(by_rel) == {"first", "prev", "next", "last"}
    ids, address = [], by_rel["first"]
    while address:
        page = client.get(address)
        ids += [run["id"] for run in page.json()["runs"]]
        address = links(page["Link"]).get("next", "")
    assert ids == sorted(runs, reverse=True)
    assert client.get(by_rel["last"]).json()["runs"][-1]["id"] == runs[0]
    beyond = client.get(f"/api/v1/runs?offset={2**62}")
    assert (beyond.status_code, beyond.json()["runs"]) == (200, [])
    assert "offset=0" in links(beyond["Link"])["prev"]


def test_studies_stay_a_list(client: Client, published: None) -> None:
    whole = client.get("/api/v1/studies")
    assert "Link" not in whole
    part = client.get("/api/v1/studies?limit=2&offset=1")
    assert part.json() == whole.json()[1:3]
    assert part["X-Total-Count"] == str(len(whole.json()))
    for query in ("limit=0", "limit=-1", "offset=-1", "limit=501", "limit=x"):
        assert client.get(f"/api/v1/studies?{query}").status_code == 422, query


def test_studies_are_an_object_where_that_is_asked_for(client: Client, published: None) -> None:
    whole = client.get("/api/v1/studies").json()
    response = client.get("/api/v1/studies?format=page")
    assert response.json() == {"total": 5, "limit": 100, "offset": 0, "studies": whole}
    studies, address = [], "/api/v1/studies?format=page&limit=2"
    while address:
        part = client.get(address)
        assert part["X-Total-Count"] == "5"
        assert list(part.json()) == ["total", "limit", "offset", "studies"]
        studies += part.json()["studies"]
        address = links(part["Link"]).get("next", "")
    assert studies == whole
    assert client.get("/api/v1/studies?format=list").json() == whole


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("get", "/api/v1/runs/4711", None, 404),
        ("get", "/api/v1/nothing/here", None, 404),
        ("get", "/api/v1/runs?limit=x", None, 422),
        ("delete", "/api/v1/studies", None, 405),
        ("post", "/api/v1/runs", {}, 401),
        ("get", "/api/v1/people", None, 401),
    ],
)
def test_an_error_is_a_problem_document(
    client: Client, method: str, path: str, body: Any, status: int
) -> None:
    response = client.generic(method.upper(), path, json.dumps(body), "application/json")
    assert response.status_code == status
    assert response["Content-Type"] == PROBLEM
    problem = response.json()
    assert list(problem) == ["detail", "errors", "type", "title", "status"]
    assert (problem["type"], problem["status"]) == ("about:blank", status)
    assert problem["title"]


def test_nobodys_change_is_lost(client: Client, alice: User, published: None) -> None:
    writer = Client(headers={"Authorization": f"Bearer {tokens.create(alice, 'w')[1]}"})
    response = writer.post(
        "/api/v1/permalinks", {"query": "study=unisys-2005&test=write"}, "application/json"
    )
    assert response.status_code == 201, response.content
    path = response.json()["links"]["self"]
    tag = writer.get(path)["ETag"]

    def change(title: str, tag: str) -> int:
        return writer.patch(
            path, {"title": title}, "application/json", headers={"If-Match": tag}
        ).status_code

    assert change("First", tag) == 200
    assert change("Second", tag) == 412
    assert writer.delete(path, headers={"If-Match": tag}).status_code == 412
    link = Permalink.objects.get()
    assert (link.title, link.note, link.visibility) == ("First", "", "public")
    assert change("Third", writer.get(path)["ETag"]) == 200
    assert change("Fourth", "*") == 200
    assert writer.patch(path, {"note": "n"}, "application/json").status_code == 200
    assert Permalink.objects.get().title == "Fourth"
    assert AuditEntry.objects.filter(what="permalink changed").count() == 4
    assert writer.delete(path).status_code == 204


def test_a_team_and_an_account_are_changed_where_they_are_named() -> None:
    admin = person(Role.ADMINISTRATOR)
    Team.objects.create(name="Storage")
    _, token = tokens.create(admin, "all", can_administer=True)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    response = client.post(
        "/api/v1/people",
        {"username": "eve", "password": "correct horse battery", "role": "viewer"},
        "application/json",
    )
    assert response.status_code == 201, response.content
    path = f"/api/v1/people/{response.json()['id']}"
    tag = client.get(path)["ETag"]
    changed = client.patch(
        path, {"teams": ["Storage"]}, "application/json", headers={"If-Match": tag}
    )
    assert (changed.status_code, changed.json()["teams"]) == (200, ["Storage"])
    assert changed.json()["role"] == "viewer"
    late = client.patch(path, {"role": "operator"}, "application/json", headers={"If-Match": tag})
    assert late.status_code == 412
    for body in ({"teams": ["No such"]}, {"luns": ["a/b"]}, {"role": "king"}, {"rank": 1}):
        assert client.patch(path, body, "application/json").status_code == 422, body
    mine = f"/api/v1/people/{admin.pk}"
    last = client.patch(mine, {"role": "viewer"}, "application/json")
    assert (last.status_code, last.json()["title"]) == (409, "Conflict")
    team = f"/api/v1/teams/{Team.objects.get().pk}"
    assert client.get(team).json()["members"] == ["eve"]
    assert client.patch(team, {"members": []}, "application/json").json()["members"] == []
