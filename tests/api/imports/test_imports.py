import io
import json
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run, Study
from tests.measured import measured

IMPORTS = "/api/v1/imports"
ERROR = ["file", "line", "column", "message", "code", "parameters"]


def table(rate: float, name: str = "result.csv") -> SimpleUploadedFile:
    text = (
        "test,record_size_kb,file_size_kb,value,unit\n"
        f"write,4,64,{rate},KiB/s\n"
        f"write,8,64,{rate * 2},KiB/s\n"
    )
    return SimpleUploadedFile(name, text.encode(), "text/csv")


def send(client: Client, *files: SimpleUploadedFile, **fields: str):
    target = {"study": "Lab 3", "filesystem": "ext4", "configuration": "ext4_noatime"} | fields
    return client.post(IMPORTS, {"file": list(files), **target})


def test_several_files_are_repeats(writer: Client, alice: User) -> None:
    response = send(writer, table(100), table(110, "second.csv"), hardware="Old server")
    assert response.status_code == 201, response.content
    body = response.json()
    assert list(body) == ["id", "state", "runs", "errors", "known", "warnings"]
    assert (body["state"], body["errors"], body["warnings"]) == ("done", [], [])
    runs = Run.objects.order_by("repeat")
    assert [run.pk for run in runs] == body["runs"]
    assert [(run.repeat, run.created_by) for run in runs] == [(1, alice), (2, alice)]
    assert len({run.series_id for run in runs}) == 1
    assert Import.objects.get(pk=body["id"]).created_by == alice


def test_the_repeat_of_the_files_may_be_said(writer: Client) -> None:
    body = send(writer, table(100), repeat="3").json()
    assert Run.objects.get(pk=body["runs"][0]).repeat == 3
    # The same numbers were measured again: whoever says so is believed.
    assert send(writer, table(100), repeat=" 4 ").status_code == 201
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [3, 4]
    repeated = send(writer, table(90), repeat="3")
    assert (repeated.status_code, "Repeat 3 of" in repeated.json()["errors"][0]["message"]) == (
        422,
        True,
    )
    # Two files that measure the same are not one repeat.
    assert send(writer, table(1), table(2, "b.csv"), repeat="5").status_code == 422
    for wrong in ("0", "-1", "x", "²", "1e3", "9999999"):
        refused = send(writer, table(7), repeat=wrong)
        assert refused.status_code == 422
        assert "is not a whole number from 1" in refused.json()["errors"][0]["message"]
    assert Run.objects.count() == 2
    preview = writer.post(
        f"{IMPORTS}/previews",
        {
            "file": table(80),
            "study": "Lab",
            "filesystem": "xfs",
            "configuration": "xfs",
            "repeat": "7",
        },
    ).json()
    assert preview["files"][0]["given"]["repeat"] == 7
    assert preview["files"][0]["runs"][0]["numbered"] == 7


def test_a_readme_in_an_archive_is_named_and_not_read(writer: Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("README.md", "# Results of the lab\nMeasured in May.\n")
        archive.writestr("ext4/one.csv", table(100).read())
        archive.writestr("xfs/one.csv", table(110).read())
    upload = SimpleUploadedFile("results.zip", packed.getvalue())
    response = send(writer, upload, configuration="", filesystem="")
    assert response.status_code == 201, response.content
    body = response.json()
    assert len(body["runs"]) == 2
    assert [(warning["file"], warning["line"]) for warning in body["warnings"]] == [
        ("README.md", 1)
    ]
    assert body["warnings"][0]["message"].startswith("Not read: README.md starts with")
    # Who names a file by itself means it.
    readme = SimpleUploadedFile("README.md", b"# Results of the lab\n")
    assert send(writer, table(120), readme).status_code == 422
    # And an archive without any result is no import.
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("README.md", "# Results of the lab\n")
    assert send(writer, SimpleUploadedFile("r.zip", packed.getvalue())).status_code == 422


def test_a_column_that_nothing_reads_is_named(writer: Client) -> None:
    text = "test,value,unit,mood\nsync,100,ops/s,good\nfsync,90,ops/s,bad\n"
    body = send(writer, SimpleUploadedFile("r.csv", text.encode())).json()
    assert body["warnings"] == [
        {
            "file": "r.csv",
            "line": 1,
            "column": None,
            "message": 'Column "mood" is not one that fsbench keeps.',
            "code": "column_unread",
            "parameters": {"found": '"mood"'},
            "count": 1,
            "lost": True,
        }
    ]


def test_columns_may_be_ignored_by_name_and_no_other_is_then(writer: Client) -> None:
    def columns() -> SimpleUploadedFile:
        text = "test,value,unit,mood,room\nsync,100,ops/s,good,8\n"
        return SimpleUploadedFile("r.csv", text.encode())

    refused = send(writer, columns(), ignore_columns="mood")
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert (error["file"], error["line"]) == ("r.csv", 1)
    assert 'Column "room"' in error["message"]
    assert send(writer, columns(), ignore_columns="").status_code == 422
    body = send(writer, columns(), ignore_columns="mood, room").json()
    assert [(warning["message"], warning["lost"]) for warning in body["warnings"]] == [
        (f'Column "{name}" is not read, as the import says.', False) for name in ("mood", "room")
    ]


def test_what_was_imported_can_be_compared(writer: Client, client: Client) -> None:
    send(writer, table(100))
    send(writer, table(50), filesystem="xfs", configuration="xfs")
    tables = client.get("/api/v1/deltas?study=lab-3&category=maximum").json()["tables"]
    assert [(row["contender"], row["score"]) for row in tables[0]["rows"]] == [
        ("xfs", 100.0),
        ("ext4", 200.0),
    ]
    assert tables[0]["rows"][0]["published"] is None


def test_one_bad_file_stores_nothing(writer: Client) -> None:
    bad = SimpleUploadedFile(
        "bad.csv", b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,fast,KB/s\n"
    )
    response = send(writer, table(100), bad)
    assert response.status_code == 422
    body = response.json()
    assert list(body) == ["detail", "errors", "type", "title", "status"]
    (error,) = body["errors"]
    assert list(error) == ERROR
    assert (error["file"], error["line"]) == ("bad.csv", 2)
    assert body["detail"].startswith("Nothing was stored.")
    assert not Run.objects.exists()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"study": ""}, "study is missing"),
        ({"filesystem": ""}, "filesystem is missing"),
        ({"configuration": ""}, "configuration is missing"),
        ({"study": "a\x00b"}, "NUL"),
        ({"hardware": "a\x00b"}, "NUL"),
        ({"configuration": "../../etc"}, "label such as"),
        ({"hardwear": "x"}, 'no field "hardwear"'),
    ],
)
def test_it_refuses_bad_fields(writer: Client, fields: dict[str, str], says: str) -> None:
    response = send(writer, table(100), **fields)
    assert response.status_code == 422
    assert says in response.json()["detail"]
    assert all(list(error) == ERROR for error in response.json()["errors"])
    assert not Run.objects.exists()


def test_it_refuses_a_call_without_a_file(writer: Client) -> None:
    response = send(writer)
    assert response.status_code == 422
    assert "No file was given" in response.json()["detail"]


def test_it_says_when_the_file_was_sent_as_text(writer: Client) -> None:
    response = writer.post(IMPORTS, {"file": "write,4,64,1", "study": "x"})
    assert response.status_code == 422
    assert "-F file=@PATH" in response.json()["detail"]


def test_it_says_how_to_send_what_is_not_a_form(writer: Client) -> None:
    response = writer.post(IMPORTS, {"study": "x"}, content_type="application/json")
    assert response.status_code == 422
    assert "multipart/form-data" in response.json()["detail"]


def test_it_refuses_a_broken_form(writer: Client) -> None:
    response = writer.post(IMPORTS, b"--x\r\n", content_type="multipart/form-data")
    assert response.status_code == 422
    assert list(response.json()["errors"][0]) == ERROR


def test_it_refuses_what_is_too_large(writer: Client, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024
    large = SimpleUploadedFile("large.csv", b"x" * 1024 * 1024)
    response = send(writer, large)
    assert response.status_code == 413
    assert "FSBENCH_MAX_UPLOAD_MB" in response.json()["detail"]


def test_the_same_numbers_twice_are_refused(writer: Client) -> None:
    assert send(writer, table(100)).status_code == 201
    response = send(writer, table(100, "copy.csv"))
    assert response.status_code == 422
    assert "already there" in response.json()["detail"]
    assert Run.objects.count() == 1


def test_a_published_study_takes_no_imports(writer: Client, published: None) -> None:
    response = send(writer, table(100), study="unisys-2005")
    assert response.status_code == 422
    assert "published" in response.json()["detail"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\x00b.csv", "<img src=x>.csv", "ü" * 300])
def test_odd_file_names_are_tamed(writer: Client, name: str) -> None:
    file = table(100)
    file.name = name  # past SimpleUploadedFile's own cleaning, as a hostile client would
    response = send(writer, file)
    assert response.status_code in (201, 422)
    assert "etc/passwd" not in response.content.decode()


def test_a_field_given_twice_is_refused(writer: Client) -> None:
    """Nobody knows which of the two was meant."""
    response = writer.post(
        IMPORTS,
        {"file": table(1), "study": ["a", "b"], "filesystem": "ext4", "configuration": "ext4"},
    )
    assert response.status_code == 422
    assert [error["message"] for error in response.json()["errors"]] == [
        "study is given 2 times: give it once."
    ]
    assert not Study.objects.filter(is_published=False).exists()


def test_a_busy_database_is_told_as_such(writer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has one writer at a time, and a large import of somebody else may hold it."""

    def locked(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("fsbench_web.api.imports.routes.import_uploads", locked)
    response = send(writer, table(100))
    assert response.status_code == 503
    assert response["Retry-After"] == "30"
    assert list(response.json()) == ["detail", "errors", "type", "title", "status"]
    assert "again" in response.json()["detail"]


SHEET = b"what;1st;2nd\nopen file;5;7\n\xc3\xb6ffnen;6;8\n"
COLUMNS = {
    "shape": "tests",
    "columns": {"test": 0},
    "tests": [[1, "_", "s"], [2, "_", "s"]],
    "column_constants": [[1, {"repeat": "1"}], [2, {"repeat": "2"}]],
}


def test_a_call_says_which_column_is_what(writer: Client) -> None:
    refused = send(writer, SimpleUploadedFile("a.csv", SHEET))
    assert refused.status_code == 422
    assert [error["code"] for error in refused.json()["errors"]] == ["columns_missing"]
    stored = send(writer, SimpleUploadedFile("a.csv", SHEET), columns=json.dumps(COLUMNS))
    assert stored.status_code == 201, stored.content
    assert len(stored.json()["runs"]) == 2
    assert {(row.test, row.value) for row in measured()} == {
        *(("open_file", 5), ("open_file", 7), ("öffnen", 6), ("öffnen", 8)),
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"colums": {}}', '{"repeats": "yes"}'])
def test_it_refuses_columns_that_are_no_mapping(writer: Client, text: str) -> None:
    refused = send(writer, SimpleUploadedFile("a.csv", SHEET), columns=text)
    assert refused.status_code == 422
    assert [error["code"] for error in refused.json()["errors"]] == ["columns_unreadable"]


def test_a_test_of_any_name_is_found_in_tables(writer: Client) -> None:
    sheet = 'fs,test,value,unit\next4,"copy, cold & 顺序",5,s\nxfs,"copy, cold & 顺序",7,s\n'
    stored = send(
        writer, SimpleUploadedFile("a.csv", sheet.encode()), filesystem="", configuration=""
    )
    assert stored.status_code == 201, stored.content
    wanted = {"study": "lab-3", "test": "copy,_cold_&_顺序"}
    [table] = writer.get("/api/v1/deltas", wanted).json()["tables"]
    assert (table["test"], len(table["rows"])) == ("copy,_cold_&_顺序", 2)
    page = Client().get("/compare/", wanted)
    assert page.status_code == 200
    assert "Copy, cold &amp; 顺序" in page.content.decode()
