"""What programs do that people do on pages."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken, AuditEntry, Role, Team
from fsbench_web.catalog.models import HardwareProfile
from fsbench_web.compare.models import Permalink, Watch
from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run, RunState, Study
from tests.accounts.people import person
from tests.api.conftest import MakeRun
from tests.measured import measured

pytestmark = pytest.mark.django_db
JSON = "application/json"


def csv(rate: int, kernel: str = "") -> io.BytesIO:
    rows = [
        f"write,{record},{file},{rate * 100 + record},KB/s"
        for record in (4, 8)
        for file in (64, 128)
    ]
    file = io.BytesIO(("test,record_size_kb,file_size_kb,value,unit\n" + "\n".join(rows)).encode())
    file.name = f"run{rate}.csv"
    return file


def imported(writer: Client, study: str, *rates: int, **more: str) -> list[int]:
    run_ids: list[int] = []
    for rate in rates:
        body = {"study": study, "filesystem": "ext4", "configuration": "ext4", **more}
        answer = writer.post("/api/v1/imports", {**body, "file": csv(rate)})
        assert answer.status_code == 201, answer.content
        run_ids += answer.json()["runs"]
    return run_ids


def test_a_study_is_made_and_hidden(writer: Client, client: Client) -> None:
    response = writer.post("/api/v1/studies", {"title": "  Array   test "}, JSON)
    assert (response.status_code, response.json()["slug"]) == (201, "array-test")
    again = writer.post("/api/v1/studies", {"title": "Array Test"}, JSON)
    assert (again.status_code, "array-test" in again.json()["detail"]) == (409, True)
    for title in ("", "***", "x" * 300, "a\x00b"):
        assert writer.post("/api/v1/studies", {"title": title}, JSON).status_code == 422, title
    path = "/api/v1/studies/array-test/access"
    assert writer.get(path).json() == {
        "visibility": "public",
        "team": None,
        "created_by": "alice",
    }
    assert writer.patch(path, {"visibility": "team"}, JSON).status_code == 422
    Team.objects.create(name="Storage")
    done = writer.patch(path, {"visibility": "team", "team": "Storage"}, JSON)
    assert (done.status_code, done.json()["team"]) == (200, "Storage")
    assert client.get("/api/v1/studies/array-test").status_code == 404
    assert writer.patch(path, {"visibility": "private"}, JSON).json()["team"] == "Storage"
    assert writer.patch(path, {"team": "No such"}, JSON).status_code == 422
    assert AuditEntry.objects.filter(what="study access changed").count() == 2
    eve = person(Role.CONTRIBUTOR, "eve")
    other = Client(headers={"Authorization": f"Bearer {tokens.create(eve, 'e')[1]}"})
    assert other.get(path).status_code == 404
    Study.objects.update(visibility="public")
    assert other.patch(path, {"visibility": "public"}, JSON).status_code == 403
    published = Study.objects.create(slug="paper", title="Paper", is_published=True)
    assert published.is_published
    assert writer.patch("/api/v1/studies/paper/access", {"team": None}, JSON).status_code == 422


def test_an_import_is_looked_at_corrected_and_stored(writer: Client, client: Client) -> None:
    body = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    response = writer.post("/api/v1/imports/previews", {**body, "file": [csv(1), csv(2)]})
    assert response.status_code == 201, response.content
    preview = response.json()
    assert (preview["state"], len(preview["files"]), preview["problems"]) == ("previewed", 2, [])
    assert [len(file["runs"]) for file in preview["files"]] == [1, 1]
    assert Run.objects.count() == 0
    path = f"/api/v1/imports/{preview['id']}"
    assert client.get(path).status_code == 404
    first, second = (file["id"] for file in preview["files"])
    change = {
        "study": "Other",
        "files": [
            {"id": first, "configuration": "ext4_noatime"},
            {"id": second, "left_out": True},
        ],
    }
    corrected = writer.patch(path, change, JSON)
    assert corrected.status_code == 200, corrected.content
    assert corrected.json()["study"] == "Other"
    assert corrected.json()["files"][0]["given"]["filesystem"] == "ext4"
    for bad in ({"files": [{"id": 4711}]}, {"study": ""}, {"sudy": "x"}):
        assert writer.patch(path, bad, JSON).status_code == 422, bad
    done = writer.post(f"{path}/commit", {}, JSON)
    assert (done.status_code, done.json()["state"]) == (200, "done")
    (run,) = Run.objects.all()
    assert done.json()["runs"] == [run.pk]
    assert run.series.configuration.label == "ext4_noatime"
    assert run.series.study.title == "Other"
    assert writer.post(f"{path}/commit", {}, JSON).json()["runs"] == [run.pk]
    assert client.get(path).json()["runs"] == [run.pk]
    assert writer.delete(path).status_code == 404
    assert [upload["id"] for upload in writer.get("/api/v1/imports").json()["imports"]] == [
        preview["id"]
    ]


def test_columns_of_a_table_are_said(writer: Client) -> None:
    file = io.BytesIO(b"a;b;c\nwrite;7;KB/s\nread;8;KB/s\n")
    file.name = "odd.csv"
    body = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": file}
    response = writer.post("/api/v1/imports/previews", body)
    assert response.status_code == 201, response.content
    preview = response.json()
    assert preview["files"][0]["needs_columns"]
    path = f"/api/v1/imports/{preview['id']}"
    assert writer.post(f"{path}/commit", {}, JSON).status_code == 422
    columns = f"{path}/files/{preview['files'][0]['id']}/columns"
    mapping = {"delimiter": ";", "columns": {"test": 0, "value": 1, "unit": 2}}
    for bad in (
        {**mapping, "columns": {"test": 0}},
        {**mapping, "shape": "round"},
        {**mapping, "x": 1},
    ):
        assert writer.put(columns, bad, JSON).status_code == 422, bad
    done = writer.put(columns, mapping, JSON)
    assert done.status_code == 200, done.content
    assert not done.json()["files"][0]["needs_columns"]
    assert writer.post(f"{path}/commit", {}, JSON).status_code == 200
    assert len(measured(Run.objects.get())) == 2


def test_an_upload_is_discarded(writer: Client) -> None:
    body = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": csv(1)}
    preview = writer.post("/api/v1/imports/previews", body).json()
    assert writer.delete(f"/api/v1/imports/{preview['id']}").status_code == 204
    assert not Import.objects.exists()
    assert writer.post("/api/v1/imports/previews", {"study": "Lab"}).status_code == 422


def test_what_a_run_left_can_be_had(writer: Client, client: Client) -> None:
    run, _ = imported(writer, "Lab", 1, 2)
    listed = client.get(f"/api/v1/runs/{run}/artefacts").json()["artefacts"]
    raw = client.get(listed[0]["links"]["content"])
    assert raw.content == csv(1).getvalue()
    assert raw["Content-Type"] == "text/plain; charset=utf-8"
    numbers = client.get(f"/api/v1/runs/{run}/measurements?limit=3&test=write")
    assert numbers.json()["total"] == 4
    assert len(numbers.json()["measurements"]) == 3
    assert 'rel="next"' in numbers["Link"]
    assert {row["line"] for row in numbers.json()["measurements"]} <= {2, 3, 4, 5}
    assert client.get(f"/api/v1/runs/{run}/environment").json()["facts"] == {}
    again = f"/api/v1/artefacts/{listed[0]['id']}/reread"
    assert client.get(again).status_code == 401
    difference = writer.get(again).json()
    assert (difference["is_empty"], difference["changed"]) == (True, 0)
    assert writer.post(again, {"digest": "0" * 64}, JSON).status_code == 422
    series = client.get("/api/v1/series?study=lab").json()["series"]
    assert [(row["runs"], row["runs_done"]) for row in series] == [(2, 2)]
    detail = client.get(series[0]["links"]["self"]).json()
    assert run in detail["run_ids"]
    assert {score["test"] for score in detail["scores"]} == {"write"}


def test_a_failed_run_is_submitted_once_more(writer: Client, make_run: MakeRun) -> None:
    run = make_run(RunState.FAILED)
    path = f"/api/v1/runs/{run.pk}/retry"
    wrong = writer.post(path, {"confirm": "lun1"}, JSON)
    assert (wrong.status_code, Run.objects.count()) == (422, 1)
    response = writer.post(path, {"confirm": "lun0"}, JSON)
    assert (response.status_code, response.json()["run"]["retry_of"]) == (201, run.pk)
    again = writer.post(path, {"confirm": "lun0"}, JSON)
    assert (again.status_code, again.json()) == (200, {"run": None})
    assert writer.post("/api/v1/runs/4711/retry", {}, JSON).status_code == 404


def test_a_comparison_has_its_verdicts(writer: Client, client: Client) -> None:
    imported(writer, "Lab", 1000, 1001, 1002)
    imported(writer, "Lab", 500, 501, 502, filesystem="xfs", configuration="xfs")
    query = "study=lab&test=write&category=overall"
    comparison = client.get(f"/api/v1/comparison?{query}&baseline=ext4").json()
    worst, best = comparison["tables"][0]["rows"]
    assert (worst["contender"], best["contender"]) == ("xfs", "ext4")
    assert worst["verdict"]["status"] == worst["change_verdict"]["status"] == "significant"
    assert worst["change_percent"] < 0
    assert best["change_verdict"] is None
    assert len(worst["run_ids"]) == 3
    assert comparison["run_count"] == 6
    deltas = client.get(f"/api/v1/deltas?{query}").json()["tables"][0]["rows"]
    assert [row["score"] for row in deltas] == [worst["score"], best["score"]]
    sentences = client.get(f"/api/v1/findings?{query}").json()["findings"]
    assert "99.8% faster" in sentences[0]["text"]
    for link in ("csv", "json", "md", "tex", "xlsx"):
        answer = client.get(comparison["links"][link])
        assert (answer.status_code, bool(answer.content)) == (200, True), link
    assert client.get("/api/v1/exports/deltas.exe").status_code == 404
    for path in ("comparison", "findings", "exports/deltas.md"):
        assert client.get(f"/api/v1/{path}?study=none").status_code == 404, path
        bad = client.get(f"/api/v1/{path}?by=colour")
        assert (bad.status_code, bad["Content-Type"]) == (422, "application/problem+json"), path
    assert client.get("/api/v1/exports/pictures.csv?study=lab").status_code == 200
    assert client.get("/api/v1/exports/pictures.csv?kind=pie").status_code == 422
    gone = client.get("/api/v1/studies/lab/report.pdf?by=kernel")
    assert (gone.status_code, gone["Content-Type"]) == (410, "application/problem+json")
    assert gone.json()["detail"].endswith(" http://testserver/studies/lab/report/?by=kernel")
    assert client.get("/api/v1/studies/nope/report.pdf").status_code == 404


def test_a_permalink_is_shared_hidden_and_deleted(
    writer: Client, client: Client, alice: User
) -> None:
    imported(writer, "Lab", 1, 2)
    body = {"query": "study=lab&test=write", "title": "Ours", "visibility": "private"}
    response = writer.post("/api/v1/permalinks", body, JSON)
    assert response.status_code == 201, response.content
    path = response.json()["links"]["self"]
    assert client.get(path).status_code == 404
    pinned = writer.get(path).json()
    assert (pinned["is_intact"], pinned["changes"]["newer_runs"]) == (True, 0)
    imported(writer, "Lab", 3)
    later = writer.get(path).json()
    assert later["tables"] == pinned["tables"]
    assert later["changes"]["newer_runs"] == 1
    assert writer.patch(path, {"visibility": "public"}, JSON).json()["title"] == "Ours"
    assert client.get(path).status_code == 200
    assert client.get(f"{path}/deltas.md").status_code == 200
    link = Permalink.objects.get()
    assert client.get(f"{path}/snapshot").content.decode() == link.snapshot
    Permalink.objects.update(expires_on="2001-01-01")
    for address in (path, f"{path}/snapshot", f"{path}/deltas.csv"):
        over = client.get(address)
        assert (over.status_code, over.json()["title"]) == (410, "Gone"), address
    Permalink.objects.update(expires_on=None, sha256="0" * 64)
    changed = client.get(f"{path}/deltas.csv")
    assert (changed.status_code, changed["Content-Type"]) == (409, "application/problem+json")
    eve = Client(
        headers={"Authorization": f"Bearer {tokens.create(person(Role.OPERATOR), 'e')[1]}"}
    )
    assert eve.patch(path, {"title": "Mine"}, JSON).status_code == 403
    assert eve.delete(path).status_code == 403
    assert writer.delete(path).status_code == 204
    assert writer.get("/api/v1/permalinks").json()["total"] == 0
    for query in ("study=none", "by=colour", "study=lab&test=read"):
        assert writer.post("/api/v1/permalinks", {"query": query}, JSON).status_code == 422


def test_a_line_is_watched(writer: Client, alice: User) -> None:
    imported(writer, "Lab", 1, 2)
    series = writer.get("/api/v1/series").json()["series"][0]["id"]
    lines = writer.get("/api/v1/history/lines?study=lab").json()["lines"]
    assert [(line["series"], line["runs"]) for line in lines] == [(series, 2)]
    line = writer.get(f"/api/v1/history?series={series}&along=date").json()
    assert [len(point["runs"]) for point in line["points"]] in ([2], [1, 1])
    assert writer.get(f"/api/v1/history?series={series}&test=none").status_code == 422
    assert writer.get("/api/v1/history?series=4711").status_code == 404
    body = {"series": series, "test": "write", "category": "overall"}
    response = writer.post("/api/v1/watches", body, JSON)
    assert (response.status_code, response.json()["secret"]) == (201, None), response.content
    path = response.json()["links"]["self"]
    assert writer.post("/api/v1/watches", body, JSON).status_code == 409
    for bad in ({**body, "test": "none"}, {**body, "margin": 0}, {**body, "margin": True}):
        assert writer.post("/api/v1/watches", bad, JSON).status_code == 422, bad
    inside = {**body, "along": "kernel", "webhook_url": "http://127.0.0.1/"}
    assert writer.post("/api/v1/watches", inside, JSON).status_code == 422
    assert writer.post(f"{path}/pause", {}, JSON).json()["is_active"] is False
    resumed = writer.post(f"{path}/resume", {}, JSON).json()
    assert (resumed["is_active"], resumed["not_sent"]) == (True, 0)
    assert writer.post(f"{path}/test", {}, JSON).status_code == 422
    assert writer.get(path).json()["messages"] == []
    assert writer.delete(path).status_code == 204
    assert not Watch.objects.exists()


def test_hardware_and_workloads_are_provided(alice: User, client: Client) -> None:
    admin = Client(
        headers={"Authorization": f"Bearer {tokens.create(alice, 'a', can_administer=True)[1]}"}
    )
    HardwareProfile.objects.create(slug="array", name="Array", facts=[["Disks", 12]])
    rate = "/api/v1/hardware/array/device-rate"
    done = admin.put(rate, {"rate": "200MB/s"}, JSON)
    assert (done.status_code, done.json()["deliverable_kb_s"]) == (200, 204800.0)
    assert admin.put(rate, {"rate": "fast"}, JSON).status_code == 422
    price = "/api/v1/hardware/array/price"
    done = admin.put(price, {"amount": 12000, "years": 4}, JSON)
    assert done.json()["price"] == {"amount": 12000.0, "currency": "EUR", "years": 4.0}
    for bad in ({"amount": 0}, {"amount": 1, "currency": "XAU"}, {"amount": 1, "years": 0}, {}):
        assert admin.put(price, bad, JSON).status_code == 422, bad
    assert admin.put(price, {"amount": None}, JSON).json()["price"] is None
    assert client.get("/api/v1/hardware/array").json()["facts"] == [["Disks", "12"]]
    body = {"title": "Small reads", "text": "[a]\nrw=randread\nbs=4k\nsize=8m\n", "space_mb": 64}
    response = admin.post("/api/v1/own-workloads", body, JSON)
    assert response.status_code == 201, response.content
    assert response.json()["name"] == "own-small-reads-v1"
    assert admin.post("/api/v1/own-workloads", body, JSON).status_code == 422
    for bad in ({**body, "text": "exec=rm"}, {**body, "kind": "command"}, {**body, "text": " "}):
        assert admin.post("/api/v1/own-workloads", bad, JSON).status_code == 422, bad
    path = f"/api/v1/own-workloads/{response.json()['id']}"
    assert admin.post(f"{path}/withdraw", {}, JSON).json()["is_withdrawn"]
    assert client.get(path).json()["text"] == body["text"]


def test_tokens_make_no_tokens(writer: Client, alice: User) -> None:
    body = {"name": "child", "can_administer": True, "days": 0}
    refused = writer.post("/api/v1/me/tokens", body, JSON)
    assert (refused.status_code, ApiToken.objects.count()) == (403, 1)
    browser = Client()
    browser.force_login(alice)
    response = browser.post("/api/v1/me/tokens", body, JSON)
    assert response.status_code == 201, response.content
    child = Client(headers={"Authorization": f"Bearer {response.json()['token']}"})
    me = child.get("/api/v1/me").json()
    assert (me["username"], me["token"]["name"]) == ("alice", "child")
    assert "token" not in json.dumps(browser.get("/api/v1/me/tokens").json()["tokens"][0])
    mine = ApiToken.objects.get(name="tests").pk
    assert child.delete(f"/api/v1/me/tokens/{mine}").status_code == 403
    assert child.delete(f"/api/v1/me/tokens/{response.json()['id']}").status_code == 204
    assert child.get("/api/v1/me").status_code == 401
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/api/v1/me/tokens", body, JSON).status_code == 403


def test_luns_say_whether_they_are_yours(lun: Any, client: Client, alice: User) -> None:
    def granted(caller: Client) -> list[bool]:
        return [lun["granted"] for lun in caller.get("/api/v1/luns").json()["luns"]]

    eve = person(Role.OPERATOR, "eve")
    hers = Client(headers={"Authorization": f"Bearer {tokens.create(eve, 'e')[1]}"})
    assert (granted(client), granted(hers)) == ([False], [False])
    eve.lun_grants.create(lun=lun)  # type: ignore[attr-defined]
    assert granted(hers) == [True]
    assert hers.get("/api/v1/me").json()["luns"] == ["bench-1/lun0"]
