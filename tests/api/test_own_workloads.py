"""Uploading workloads by the API: as the page does it, with its checks."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import OwnWorkload
from tests.accounts.people import person
from tests.workloads.test_own import JOB

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/workloads"


@pytest.fixture
def writer() -> Client:
    token = tokens.create(person(Role.OPERATOR, "olga"), "tests")[1]
    return Client(headers={"Authorization": f"Bearer {token}"})


def upload(client: Client, **changes: Any) -> Any:
    fields = {"title": "Small reads", "kind": "fio", "text": JOB, "space_mb": 16} | changes
    return client.post(
        ADDRESS, {name: value for name, value in fields.items() if value is not None}
    )


def job_file(data: bytes = JOB.encode()) -> SimpleUploadedFile:
    return SimpleUploadedFile("small-reads.fio", data)


def test_a_job_file_is_kept_and_offered(writer: Client) -> None:
    made = upload(writer, text=None, file=job_file(), space_mb=None)
    assert made.status_code == 201, made.content
    assert made.json() == {
        "name": "own-small-reads-v1",
        "title": "Small reads",
        "version": 1,
        "kind": "fio",
        "parser": "fio-json",
        "space_mb": 1024,
    }
    row = OwnWorkload.objects.get()
    assert row.text == JOB
    assert row.created_by is not None
    assert row.created_by.username == "olga"
    offered = [
        preset["name"]
        for workload in writer.get(ADDRESS).json()["workloads"]
        for preset in workload["presets"]
    ]
    assert "own-small-reads-v1" in offered


def test_a_changed_text_is_the_next_version_and_the_same_is_none(writer: Client) -> None:
    assert upload(writer).json()["version"] == 1
    assert upload(writer, text=JOB.replace("4k", "8k")).json()["version"] == 2
    again = upload(writer, text=JOB.replace("4k", "8k"))
    assert again.status_code == 422
    assert "says the same" in again.json()["detail"]


def test_a_command_says_how_its_output_is_read(writer: Client) -> None:
    made = upload(writer, kind="command", text="iozone -a -f {folder}/x", parser="iozone")
    assert (made.status_code, made.json()["parser"]) == (201, "iozone")


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"title": None}, "title", "required"),
        ({"title": "x" * 101}, "title", "at most 100"),
        ({"title": "..."}, "text", "letters or digits"),
        ({"kind": "shell"}, "kind", "valid choice"),
        ({"text": "[a]\nexec_prerun=reboot\n"}, "text", "Line 2: "),
        ({"kind": "command", "text": "/bin/sh -c x", "parser": "iozone"}, "text", "without a path"),
        ({"kind": "command", "text": "iozone -a"}, "text", "output read as"),
        ({"kind": "command", "text": "iozone -a", "parser": "x"}, "parser", "valid choice"),
        ({"space_mb": 0}, "space_mb", "greater than or equal to 1"),
        ({"space_mb": "lots"}, "space_mb", "whole number"),
        ({"text": None}, None, "Give a file, or write the text"),
        ({"file": job_file()}, None, "not both"),
        ({"text": None, "file": job_file(b"\xff\xfe")}, None, "no text"),
        ({"text": None, "file": job_file(b"#" * 33_000)}, None, "more than 32 KB"),
        ({"text": "[a]\x00"}, "text", "NUL"),
        ({"file": "a text"}, "file", "-F file=@PATH"),
        ({"owner": "eve"}, "owner", "no such field"),
        ({"title": ["a", "b"]}, "title", "2 times"),
        ({"title": job_file()}, None, "Only file"),
    ],
)
def test_what_the_page_refuses_is_refused_here(
    writer: Client, changes: dict[str, Any], field: str | None, words: str
) -> None:
    refused = upload(writer, **changes)
    assert refused.status_code == 422, refused.content
    assert any(
        one["field"] == field and words in one["message"] for one in refused.json()["errors"]
    ), refused.json()
    assert not OwnWorkload.objects.exists()


def test_a_flood_is_refused_before_it_is_read(writer: Client) -> None:
    assert upload(writer, text=None, file=job_file(b"#" * 200_000)).status_code == 413


def test_json_is_told_to_be_a_form(writer: Client) -> None:
    refused = writer.post(ADDRESS, {"title": "x"}, content_type="application/json")
    assert refused.status_code == 422
    assert "multipart/form-data" in refused.json()["detail"]


def test_a_token_that_may_not_run_uploads_nothing() -> None:
    olga = person(Role.OPERATOR, "olga")
    for can_import in (False, True):
        token = tokens.create(olga, f"{can_import}", can_import=can_import, can_run=False)[1]
        refused = upload(Client(headers={"Authorization": f"Bearer {token}"}))
        assert refused.status_code == 403
    assert not OwnWorkload.objects.exists()


def test_a_contributor_uploads_nothing() -> None:
    token = tokens.create(person(Role.CONTRIBUTOR), "tests")[1]
    refused = upload(Client(headers={"Authorization": f"Bearer {token}"}))
    assert refused.status_code == 403
    assert "needs the role operator" in refused.json()["detail"]
