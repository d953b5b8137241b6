import re
from pathlib import Path

import pytest
from django.test import Client
from ninja import NinjaAPI
from ninja.openapi import get_schema
from ninja.openapi.schema import OpenAPISchema

from fsbench_web.api.main import api
from fsbench_web.compare.selection.wording import FLAGS
from tests.api.results.test_contract import CALLS

API_DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"


def test_the_page_loads_nothing_from_elsewhere(client: Client, db: None) -> None:
    response = client.get("/api/v1/docs")
    assert response.status_code == 200
    text = response.content.decode()
    assert "/static/ninja/swagger-ui-bundle.js" in text
    assert "/api/v1/openapi.json" in text
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    assert not re.search(r"<script>|<script [^>]*>[^<]", text)


@pytest.mark.same_on_any_database
def test_the_description_is_made_once_for_each_prefix(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefixes: list[str] = []

    def make(api: NinjaAPI, path_prefix: str) -> OpenAPISchema:
        prefixes.append(path_prefix)
        return get_schema(api, path_prefix)

    monkeypatch.setattr("ninja.main.get_schema", make)
    monkeypatch.setattr(type(api), "_schemas", {})
    for address in ("openapi.json", "docs", "openapi.json"):
        assert client.get(f"/api/v1/{address}").status_code == 200
    assert prefixes == ["/api/v1/"]
    assert "/elsewhere/runs" in api.get_openapi_schema(path_prefix="/elsewhere/")["paths"]
    assert prefixes == ["/api/v1/", "/elsewhere/"]
    assert client.get("/api/v1/openapi.json").json()["paths"].keys() == {path for _, path in CALLS}


def test_calls_of_the_written_documentation_are_there() -> None:
    known = {f"{method.upper()} {re.sub(r'{.*?}', '{}', path)}" for method, path in CALLS}
    named = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/(?!api/v1)[^?`]*)", API_DOCS.read_text())
    assert len(named) > 20
    for method, path in named:
        assert f"{method} /api/v1{re.sub(r'{.*?}', '{}', path)}" in known


def test_the_written_documentation_explains_every_flag() -> None:
    text = API_DOCS.read_text()
    assert {flag for flag in FLAGS if f"`{flag}`" not in text} == set()


@pytest.mark.parametrize("path", ["health", "studies", "deltas", "deltas.csv", "runs", "docs"])
def test_head_is_answered_as_get(client: Client, db: None, path: str) -> None:
    response = client.head(f"/api/v1/{path}")
    assert response.status_code in (200, 503)
    assert response.content == b""


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("post", "luns", "GET"),
        ("delete", "runs/1", "GET"),
        ("get", "runs/1/cancel", "POST"),
        ("get", "imports/previews", "POST"),
        ("put", "runs", "GET, POST"),
    ],
)
def test_other_methods_are_refused_in_json(
    client: Client, db: None, method: str, path: str, allowed: str
) -> None:
    response = getattr(client, method)(f"/api/v1/{path}")
    assert response.status_code == 405
    assert sorted(response["Allow"].split(", ")) == allowed.split(", ")
    assert method.upper() in response.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "studies/a%00b",
        "studies/" + "x" * 5000,
        "studies/%F0%9F%90%A7",
        "studies/..%2f..%2fetc",
        "studies/%ff",
        "runs/0",
        "runs/" + "9" * 30,
        "runs/" + "9" * 5000,
        f"runs/{2**63}",
        f"runs/{2**63}/log",
        "runs/-1",
        "runs/%D9%A1",
        "runs?study=a%00b",
        "sweeps/0",
        f"sweeps/{2**63}",
        f"sweeps?offset={2**63}",
        "runs?study=" + "x" * 5000,
        "runs?limit=" + "9" * 5000,
        "runs?limit=1e3",
        f"runs?offset={2**63}",
        "deltas?study=a%00b",
        "deltas?study=%ff",
        "deltas?test=a%00b",
        "deltas?hardware=%00",
        "deltas?%00=x",
        "deltas?study=" + "x" * 5000,
        "deltas?" + "study=x&" * 600,
        "deltas.csv?category=a%00b",
    ],
)
def test_odd_requests_are_refused_not_an_error(client: Client, db: None, path: str) -> None:
    response = client.get(f"/api/v1/{path}")
    assert response.status_code in (404, 422)
    assert list(response.json()) == ["detail", "errors", "type", "title", "status"]


def test_the_root_leads_to_the_documentation(client: Client) -> None:
    response = client.get("/api/v1/")
    assert (response.status_code, response.headers["Location"]) == (302, "/api/v1/docs")
