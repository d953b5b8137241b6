"""What an import leaves out: the same list in every answer and on every page, and strict."""

from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[2] / "core" / "formats" / "samples"
TARGET = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
COLUMNS = (
    b"test,threads,value,unit,mood\nsync,1,100,ops/s,good\nsync,2,0,ops/s,bad\nfsync,8,0,ops/s,\n"
)


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.txt").read_bytes()


MOOD = 'Column "mood" is not one that fsbench keeps.'


def failed() -> bytes:
    return sample("fio-3.33-json").replace(b'"error" : 0', b'"error" : 42', 1)


def two_tools() -> bytes:
    return sample("ior-4.0") + sample("bonnie-1.96")


def send(client: Client, data: bytes, where: str = "", **fields: str) -> Any:
    form = {**TARGET, **fields, "file": SimpleUploadedFile("of.txt", data)}
    return client.post(f"/api/v1/imports{where}", form)


@pytest.mark.parametrize(
    ("data", "says", "line"),
    [
        (failed, "ended with error 42", 10),
        (two_tools, "The file looks like output of bonnie-csv too", None),
        (lambda: COLUMNS, MOOD, 1),
    ],
)
def test_what_is_left_out_is_said_alike_everywhere(
    writer: Client,
    alice: User,
    data: Callable[[], bytes],
    says: str,
    line: int | None,
) -> None:
    refused = send(writer, data(), strict="true")
    assert (refused.status_code, Run.objects.count()) == (422, 0)
    error = next(error for error in refused.json()["errors"] if says in error["message"])
    assert (error["file"], error["line"]) == ("of.txt", line)
    stored = send(writer, data())
    assert stored.status_code == 201, stored.content
    warnings = stored.json()["warnings"]
    warning = next(warning for warning in warnings if says in warning["message"])
    expected = {"file": "of.txt", "line": line, "column": None, "count": 1, "lost": True}
    assert {name: warning[name] for name in expected} == expected
    number = stored.json()["id"]
    assert writer.get(f"/api/v1/imports/{number}").json()["warnings"] == warnings
    client = Client()
    client.force_login(alice)
    page = unescape(client.get(f"/imports/{number}/").content.decode())
    assert all(warning["message"] in page for warning in warnings)
    Import.objects.all().delete()
    Run.objects.all().delete()
    preview = send(writer, data(), "/previews").json()
    assert preview["warnings"] == warnings
    page = unescape(client.get(preview["links"]["page"]).content.decode())
    assert all(warning["message"] in page for warning in warnings)
    client.post(f"{preview['links']['page']}commit/", {"study": "Lab"})
    assert writer.get(preview["links"]["self"]).json()["warnings"] == warnings


def test_zeros_are_counted_and_are_no_loss(writer: Client) -> None:
    for number in (1, 2):
        study = f"Lab {number}"
        stored = send(writer, COLUMNS, study=study, ignore_columns="mood", strict="true")
        assert stored.status_code == 201, stored.content
        mood, zeros, *others = stored.json()["warnings"]
        assert ["has this file already" in warning["message"] for warning in others] == [True] * (
            number == 2
        )
        assert (mood["line"], mood["count"], mood["lost"]) == (1, 1, False)
        assert (zeros["line"], zeros["count"], zeros["lost"]) == (3, 2, False)
        detail = writer.get(f"/api/v1/runs/{stored.json()['runs'][0]}").json()
        assert detail["id"] == stored.json()["runs"][0]


def test_a_preview_is_made_strict_and_columns_are_ignored_step_by_step(writer: Client) -> None:
    preview = send(writer, COLUMNS, "/previews", strict="true").json()
    assert preview["target"]["strict"] is True
    [problem] = preview["problems"]
    assert problem["message"].startswith("Left out, and the import is strict: Column")
    [file] = preview["files"]
    assert file["unread_columns"] == ["mood"]
    where = preview["links"]["self"]
    assert writer.post(preview["links"]["commit"]).status_code == 422
    other = {"files": [{"id": file["id"], "ignore_columns": ["room"]}], "strict": False}
    preview = writer.patch(where, other, content_type="application/json").json()
    assert [(problem["code"], problem["parameters"]) for problem in preview["problems"]] == [
        ("column_unsaid", {"found": '"mood"'})
    ]
    # What no database keeps is no column's name.
    odd = {"files": [{"id": file["id"], "ignore_columns": ["\0", "\ud800", "x" * 5000]}]}
    answer = writer.patch(where, odd, content_type="application/json")
    assert answer.status_code in (200, 422), answer.content
    both = {"files": [{"id": file["id"], "ignore_columns": ["mood"]}], "strict": True}
    preview = writer.patch(where, both, content_type="application/json").json()
    assert (preview["problems"], preview["target"]["strict"]) == ([], True)
    assert writer.post(preview["links"]["commit"]).json()["state"] == "done"


@pytest.mark.parametrize("field", ["strict", "if_new"])
def test_a_switch_is_true_or_false(writer: Client, field: str) -> None:
    refused = send(writer, COLUMNS, **{field: "yes"})
    assert refused.status_code == 422
    assert f'{field} is true or false, not "yes"' in refused.json()["detail"]
