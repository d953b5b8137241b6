"""Calls take what their description says, and refuse everything else: nothing is ignored."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict
from django.test import Client
from django.utils.functional import cached_property

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Role
from fsbench_web.api.main import api
from fsbench_web.api.protocol.router import declared_names
from fsbench_web.compare.pictures.base import PARAMETERS
from fsbench_web.compare.selection.fields import FILTERS, PARTS
from tests.accounts.people import person
from tests.api.conftest import JobBody, reads
from tests.api.protocol.test_hostile import FIRE, PROBLEM, address, trigger_client
from tests.api.results.test_contract import CALLS

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(db: None) -> Client:
    _, token = tokens.create(person(Role.ADMINISTRATOR, "ada"), "all", can_administer=True)
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


def described(source: str) -> Iterator[tuple[str, str, set[str]]]:
    """(method, path, names of the parameters in this place) of every call of the description."""
    for path, calls in api.get_openapi_schema(path_prefix="/api/v1/")["paths"].items():
        for method, call in calls.items():
            names = {
                parameter["name"]
                for parameter in call.get("parameters", [])
                if parameter["in"] == source
            }
            yield method, path, names


def test_an_unknown_parameter_is_refused_by_name(admin: Client) -> None:
    caller = trigger_client("ada")
    before = AuditEntry.objects.count()
    calls = list(described("query"))
    assert {(method, path) for method, path, _ in calls} == CALLS
    for method, path, names in calls:
        url = f"{address(path)}?stduy=lab&limt=5&%00=x"
        client = caller if path == FIRE else admin
        response = client.generic(method.upper(), url, b"{}", "application/json")
        assert response.status_code == 422, (method, path, response.content)
        assert response["Content-Type"] == PROBLEM
        problem = response.json()
        assert [error["field"] for error in problem["errors"]] == ["stduy", "limt", "\x00"]
        for name, typo in (("study", "stduy"), ("limit", "limt")):
            assert (f'"{typo}": did you mean "{name}"?' in problem["detail"]) == (name in names), (
                path
            )
    assert AuditEntry.objects.count() == before


def test_a_list_with_a_typo_is_not_the_list_of_everything(client: Client) -> None:
    for path in ("runs", "series", "sweeps", "configurations", "studies", "search", "workers"):
        assert client.get(f"/api/v1/{path}?filesytem=ext4").status_code == 422, path
        assert client.head(f"/api/v1/{path}?filesytem=ext4").status_code == 422, path


def test_no_call_needs_to_be_known_to_refuse() -> None:
    """Whatever router a call comes from: its operation is wrapped when it is bound."""
    operations = [
        operation
        for router in api._get_bound_routers()
        for view in router.path_operations.values()
        for operation in view.operations
    ]
    assert len(operations) == len(CALLS)
    for operation in operations:
        assert operation.run.__wrapped__.__func__ is type(operation).run  # type: ignore[attr-defined]


def test_what_a_comparison_and_its_pictures_read_is_described() -> None:
    """Their addresses are read by other code than that which describes them."""
    of = {(method, path): names for method, path, names in described("query")}
    filters = {entry.parameter for entry in (*FILTERS, *PARTS)}
    comparison = {*filters, "by", "baseline", "cells", "matched", "emulated", "sort"}
    comparison |= {"rule", "margin", "equivalence", "units", "min_runs", "from_test", "from_row"}
    comparison |= {
        "categories",
        "profile",
        "operation",
        "block",
        "file",
        "cached",
        "flushed",
        "papers",
    }
    for path in ("deltas", "deltas.csv", "comparison", "findings", "exports/deltas.{suffix}"):
        assert of["get", f"/api/v1/{path}"] == comparison, path
    assert of["get", "/api/v1/exports/pictures.csv"] == comparison | set(PARAMETERS)


@pytest.fixture
def read_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names by which anything asks the query string of a request, while it is asked."""
    seen: set[str] = set()

    class Noted(QueryDict):
        def get(self, key: Any, default: Any = None) -> Any:
            seen.add(key)
            return super().get(key, default)

        def getlist(self, key: Any, default: Any = None) -> Any:
            seen.add(key)
            return super().getlist(key, default)

        def __getitem__(self, key: Any) -> Any:
            seen.add(key)
            return super().__getitem__(key)

        def __contains__(self, key: Any) -> bool:
            seen.add(key)
            return super().__contains__(key)

    query = cached_property(lambda request: Noted(request.META.get("QUERY_STRING", "")))
    query.__set_name__(WSGIRequest, "GET")
    monkeypatch.setattr(WSGIRequest, "GET", query)
    return seen


def test_what_views_read_is_described(arguments: dict[str, Any], read_names: set[str]) -> None:
    """A view that reads a parameter past its function's own would never get one."""
    client = Client(headers={"Authorization": f"Bearer {arguments['token']}"})
    answered, as_user = set(), {}
    for path, url in reads(arguments):
        described_names = next(
            names for *call, names in described("query") if call == ["get", path]
        )
        read_names.clear()
        if client.get(url).status_code == 200:
            answered.add(path)
        as_user[path] = set(read_names)
        assert read_names <= described_names, (path, read_names - described_names)
    assert len(answered) > 35
    assert "by" in as_user["/api/v1/comparison"]


def test_headers_that_calls_read_are_described() -> None:
    conditions = {"If-Match", "If-None-Match"}
    for method, path, names in described("header"):
        if method == "get":
            has_no_tag = "/health" in path or path.endswith("/report.pdf")  # 410
            assert names == (set() if has_no_tag else conditions), path
    of = {(method, path): names for method, path, names in described("header")}
    keyed = {call for call, names in of.items() if "Idempotency-Key" in names}
    jobs = {("post", f"/api/v1/{name}") for name in ("runs", "jobs", "sweeps")}
    assert keyed == {*jobs, ("post", FIRE)}
    matched = {call for call, names in of.items() if call[0] != "get" and "If-Match" in names}
    assert matched == {
        ("patch", "/api/v1/studies/{slug}/access"),
        ("patch", "/api/v1/permalinks/{key}"),
        ("delete", "/api/v1/permalinks/{key}"),
        ("patch", "/api/v1/people/{user_id}"),
        ("patch", "/api/v1/teams/{team_id}"),
    }


def test_every_body_is_closed() -> None:
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    models = schema["components"]["schemas"]
    waiting: list[Any] = [
        call["requestBody"]
        for calls in schema["paths"].values()
        for call in calls.values()
        if "application/json" in call.get("requestBody", {}).get("content", {})
    ]
    assert len(waiting) > 15
    seen = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if reference := item.get("$ref"):
                name = reference.split("/")[-1]
                if name not in seen:
                    seen.add(name)
                    waiting.append(models[name])
            if "properties" in item:
                assert item["additionalProperties"] is False, item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    assert {"Configuration", "GuestSpec", "Preparation", "RepeatTarget"} <= seen


def test_an_unknown_key_is_refused_with_the_nearest(admin: Client, job: JobBody) -> None:
    job["repeat"] = 3
    job["configurations"][0]["sheduler"] = "none"
    del job["workload"]
    response = admin.post("/api/v1/runs", job, "application/json")
    assert response.status_code == 422
    errors = {error["field"]: error["message"] for error in response.json()["errors"]}
    assert set(errors) == {"repeat", "configurations.0.sheduler", "workload"}
    assert 'did you mean "repeats"?' in errors["repeat"]
    assert 'did you mean "scheduler"?' in errors["configurations.0.sheduler"]


def test_a_call_without_a_body_takes_no_keys(admin: Client) -> None:
    without = [
        (method, path)
        for path, calls in api.get_openapi_schema(path_prefix="/api/v1/")["paths"].items()
        for method, call in calls.items()
        if method != "get" and "requestBody" not in call
    ]
    assert len(without) > 8
    for method, path in without:
        body = json.dumps({"confirm": "lun0", "\ud800": 1})
        response = admin.generic(method.upper(), address(path), body, "application/json")
        assert response.status_code == 422, (method, path, response.content)
        assert [error["field"] for error in response.json()["errors"]] == ["confirm", "?"]
        empty = admin.generic(method.upper(), address(path), "{}", "application/json")
        assert empty.status_code != 422 or "field" not in empty.json()["detail"], path


def test_names_are_those_of_the_call_itself() -> None:
    operation = next(
        operation
        for router in api._get_bound_routers()
        for view in router.path_operations.values()
        for operation in view.operations
        if operation.view_func.__name__ == "export_picture"
    )
    assert {"in", "line", "record", "study"} <= set(declared_names(operation, "query"))
    assert declared_names(operation, "header") == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("runs/1/log?format=xml", "format"),
        ("studies?format=object", "format"),
        ("history?series=1&along=time", "along"),
    ],
)
def test_a_value_that_means_nothing_is_refused(
    client: Client, published: None, path: str, field: str
) -> None:
    response = client.get(f"/api/v1/{path}")
    assert response.status_code == 422, response.content
    assert response.json()["errors"][0]["field"] == field


@pytest.mark.parametrize(
    "path", ["deltas", "deltas.csv", "comparison", "findings", "exports/deltas.json"]
)
def test_a_baseline_that_no_table_has_is_refused(
    client: Client, published: None, path: str
) -> None:
    def ask(query: str) -> Any:
        return client.get(f"/api/v1/{path}?study=unisys-2005&category=overall&{query}")

    refused = ask("baseline=nosuch")
    assert refused.status_code == 422
    assert 'no baseline "nosuch"; there is ' in refused.json()["detail"]
    assert "ext2" in refused.json()["detail"]
    if "exports" not in path:
        assert [error["field"] for error in refused.json()["errors"]] == ["baseline"]
    assert ask("baseline=ext2").status_code == 200
    assert ask("baseline=nosuch&part_test=write").status_code == 422
    assert ask("baseline=ext2&part_test=write").status_code == 200


def test_a_baseline_is_not_taken_on_trust_where_no_number_needs_it(
    client: Client, published: None
) -> None:
    path = "exports/pictures.csv?study=unisys-2005&test=write&"
    refused = client.get(f"/api/v1/{path}baseline=nosuch")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "baseline"
    assert 'no baseline "nosuch"; there is ' in refused.json()["detail"]
    assert client.get(f"/api/v1/{path}baseline=ext2").status_code == 200


@pytest.mark.parametrize("view", ["nosuch=1", "numbers=exact&sort=score", "Important=1"])
def test_nothing_of_a_view_is_dropped_in_silence(
    writer: Client, published: None, view: str
) -> None:
    sent = {"query": "study=unisys-2005&test=write", "view": view}
    refused = writer.post("/api/v1/permalinks", sent, "application/json")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "view"
    assert "it has important, least" in refused.json()["detail"]


def test_a_permalink_without_its_baseline_is_not_kept(writer: Client, published: None) -> None:
    def keep(baseline: str) -> Any:
        query = f"study=unisys-2005&test=write&baseline={baseline}"
        return writer.post("/api/v1/permalinks", {"query": query}, "application/json")

    refused = keep("nosuch")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "query"
    assert keep("ext2").status_code == 201


def test_a_baseline_may_be_missing_in_a_part(client: Client, published: None) -> None:
    """In one table null says so; the whole comparison has it."""
    tables = client.get("/api/v1/deltas?by=filesystem").json()["tables"]
    everywhere = {row["contender"] for table in tables for row in table["rows"]}
    gap = next(
        (table, name)
        for table in tables
        for name in sorted(everywhere - {row["contender"] for row in table["rows"]})
    )
    table, name = gap
    response = client.get(
        "/api/v1/deltas",
        {"baseline": name, "part_test": table["test"], "part_category": table["category"]},
    )
    assert response.status_code == 200
    changes = {
        row["change_percent"] for table in response.json()["tables"] for row in table["rows"]
    }
    assert changes == {None}
