"""Style sheets and scripts come whole, with WhiteNoise's headers, and without a warning."""

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import AsyncRequestFactory, Client, override_settings

from fsbench_web.platform.http.static_files import StaticFiles

SCRIPT = b"export const answer = 42;\n" * 1000


@pytest.fixture
def files(tmp_path: Path) -> Iterator[StaticFiles]:
    (tmp_path / "a.js").write_bytes(SCRIPT)

    def page(request: HttpRequest) -> HttpResponse:
        return HttpResponse("a page")

    with override_settings(STATIC_ROOT=str(tmp_path)):
        yield StaticFiles(page)


def _answer_of(files: StaticFiles, method: str = "GET", **headers: str) -> Any:
    request = AsyncRequestFactory().generic(method, "/static/a.js", headers=headers)
    return files(request)


def test_a_file_comes_in_one_piece_with_its_headers(files: StaticFiles) -> None:
    answer = _answer_of(files)
    assert answer.status_code == 200
    assert answer.content == SCRIPT
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Content-Length"] == str(len(SCRIPT))
    assert "max-age" in answer["Cache-Control"]


def test_an_asgi_server_reads_it_without_a_warning(files: StaticFiles) -> None:
    answer = _answer_of(files)

    async def read() -> bytes:
        return b"".join([part async for part in answer]) if answer.streaming else answer.content

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(read()) == SCRIPT


def test_head_ranges_and_what_the_browser_has_already(files: StaticFiles) -> None:
    head = _answer_of(files, "HEAD")
    assert head.content == b""
    assert head["Content-Length"] == str(len(SCRIPT))
    part = _answer_of(files, Range="bytes=0-5")
    assert (part.status_code, part.content) == (206, SCRIPT[:6])
    unchanged = _answer_of(files, **{"If-Modified-Since": head["Last-Modified"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert "Content-Type" not in unchanged


def test_other_addresses_pass(files: StaticFiles) -> None:
    assert files(AsyncRequestFactory().get("/")).content == b"a page"


@pytest.mark.django_db
def test_what_names_no_icon_has_one_too(client: Client) -> None:
    """A browser asks for it when a picture or a file of numbers is opened by itself."""
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert "max-age" in answer["Cache-Control"]
    icon = client.get(answer["Location"])
    assert (icon.status_code, icon["Content-Type"]) == (200, "image/svg+xml")
