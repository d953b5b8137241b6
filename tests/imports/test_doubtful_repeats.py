"""Repeats that may be none refuse an import until somebody says that they are some."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.imports.models import Import
from tests.core.formats.test_repeat_doubts import TBENCH

pytestmark = pytest.mark.django_db
TARGET = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
BEFORE_AND_AFTER = "before\n" + TBENCH.format("100") + "after\n" + TBENCH.format("120")


def send(client: Client, files: dict[str, str], **fields: str) -> Any:
    uploads = [SimpleUploadedFile(name, text.encode()) for name, text in files.items()]
    return client.post("/api/v1/imports", {**TARGET, **fields, "file": uploads})


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"a.txt": BEFORE_AND_AFTER}, ("a.txt", 3)),
        ({"a.txt": TBENCH.format("100") + TBENCH.format("900")}, ("a.txt", 2)),
        ({"a.txt": TBENCH.format("100"), "b.txt": TBENCH.format("900")}, ("b.txt", 1)),
        (
            {"base-1.txt": TBENCH.format("100"), "caching-1.txt": TBENCH.format("120")},
            ("caching-1.txt", None),
        ),
    ],
)
def test_a_program_has_to_say_that_they_are(
    signed_in: Client, files: dict[str, str], place: tuple[str, int | None]
) -> None:
    refused = send(signed_in, files)
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert (error["code"], error["file"], error["line"]) == ("repeats_differ", *place)
    stored = send(signed_in, files, repeats_differ="yes")
    assert (stored.status_code, len(stored.json()["runs"])) == (201, 2)
    assert send(signed_in, files, repeats_differ="perhaps").status_code == 422


def test_numbered_files_of_one_name_are_repeats(signed_in: Client) -> None:
    files = {f"base-{n}.txt": TBENCH.format(100 + n) for n in (1, 2)}
    assert send(signed_in, files).status_code == 201


def test_the_preview_asks(signed_in: Client) -> None:
    file = SimpleUploadedFile("a.txt", BEFORE_AND_AFTER.encode())
    page = signed_in.post("/imports/new/", {**TARGET, "file": file})["Location"]
    assert 'name="repeats_differ"' in signed_in.get(page).content.decode()
    assert signed_in.post(f"{page}commit/", {"study": "Lab"}).status_code == 422
    answer = signed_in.post(f"{page}commit/", {"study": "Lab", "repeats_differ": "yes"})
    assert answer.status_code == 302
    assert Import.objects.get().state == "done"
