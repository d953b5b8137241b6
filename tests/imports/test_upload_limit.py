"""Uploads beyond the limit: refused in words, before they are kept or even read."""

import asyncio
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.imports.models import Import
from fsbench_web.imports.upload_limit import FORM_BYTES, BodyLimit


@pytest.fixture(autouse=True)
def limit(settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024


def post(client: Client, size: int) -> Any:
    data = {"study": "Lab", "file": SimpleUploadedFile("big.txt", b"x" * size)}
    return client.post("/imports/new/", data)


@pytest.mark.parametrize("size", [1024 * 1024 + 1, 2 * 1024 * 1024])
def test_a_large_upload_is_refused_with_a_sentence(signed_in: Client, size: int) -> None:
    answer = post(signed_in, size)
    assert answer.status_code == 413
    assert "larger than 1 MiB" in answer.content.decode()
    assert not Import.objects.exists()


def test_the_files_of_an_upload_count_together(signed_in: Client) -> None:
    files = [SimpleUploadedFile(f"{n}.txt", b"x" * 600_000) for n in range(2)]
    assert signed_in.post("/imports/new/", {"study": "Lab", "file": files}).status_code == 413


def test_an_upload_of_just_the_limit_is_read(signed_in: Client) -> None:
    assert post(signed_in, 1024 * 1024).status_code == 422  # no results in it, but no 413


@pytest.mark.django_db
def test_the_form_is_still_protected_against_other_sites(signed_in: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert post(strict, 10).status_code == 403


def ask(path: str, chunks: list[bytes], length: int | None) -> tuple[int, bytes, int]:
    """Status, body and how many chunks were taken, from an application that reads all of it."""
    rest: Iterator[bytes] = iter(chunks)
    sent: list[Any] = []
    received = 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"read"})

    async def receive() -> Any:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": next(rest), "more_body": received < len(chunks)}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    scope = {"type": "http", "path": path, "headers": headers}
    asyncio.run(BodyLimit(application)(scope, receive, send))
    return sent[0]["status"], sent[1]["body"], received


def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    status, body, received = ask("/imports/new/", [b"x"] * 10, 1024 * 1024 + FORM_BYTES + 1)
    assert (status, received) == (413, 0)
    assert b"larger than 1 MiB" in body


def test_a_body_that_does_not_say_is_read_up_to_the_limit() -> None:
    status, body, received = ask("/api/v1/imports", [b"x" * 500_000] * 10, None)
    assert (status, received) == (413, 3)
    assert body.startswith(b'{"detail": "The upload is larger')


def test_a_body_that_finds_no_room_is_told_so() -> None:
    """Django keeps a large one in the folder of temporary files before it looks at the request."""
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    scope = {"type": "http", "path": "/api/v1/imports", "headers": []}
    asyncio.run(BodyLimit(application)(scope, receive, send))
    assert sent[0]["status"] == 503
    assert b"is full; nothing was stored" in sent[1]["body"]


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/imports/new/", "/api/v1/imports"])
def test_an_upload_that_finds_no_room_is_told_so_and_leaves_nothing(
    signed_in: Client,
    address: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 0

    def write(handler: TemporaryFileUploadHandler, data: bytes, start: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", write)
    files = {"files": SimpleUploadedFile("a.csv", b"x" * 1000)}
    response = signed_in.post(address, {"study": "x", "source": "x", **files})
    assert response.status_code == 503
    assert "disk" in response.content.decode()
    assert "nothing was stored" in response.content.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_body_within_the_limit_passes() -> None:
    assert ask("/x/", [b"x" * 100_000] * 3, 300_000) == (200, b"read", 3)
