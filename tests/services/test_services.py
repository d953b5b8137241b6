"""The services are what they say: real, private and gone afterwards."""

import asyncio
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import redis as redis_client
from playwright.sync_api import Page

from tests.services.browser import SharedChromium
from tests.services.dockerd import dockerd
from tests.services.postgres import postgres


def test_postgres_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        version = connection.execute("show server_version_num").fetchone()
        assert version is not None
        assert int(version[0]) >= 150000
        assert connection.execute("show listen_addresses").fetchone() == ("",)


def test_postgres_leaves_nothing_behind() -> None:
    # Another one than the tests share: one that keeps what it answers, for measurements.
    with postgres(durable=True) as url:
        folder = Path(url.partition("host=")[2])
        assert folder.exists()
        with psycopg.connect(url) as connection:
            assert connection.execute("show fsync").fetchone() == ("on",)
    assert not folder.exists()


def test_redis_answers(redis_url: str) -> None:
    client = redis_client.Redis.from_url(redis_url)
    client.set("word", "value")
    assert client.get("word") == b"value"


def test_docker_answers(docker_host: str) -> None:
    names = subprocess.run(
        ["docker", "-H", docker_host, "network", "ls", "--format", "{{.Name}}"],
        capture_output=True,
        text=True,
    )
    assert sorted(names.stdout.split()) == ["host", "none"], names.stderr


def test_docker_leaves_nothing_behind() -> None:
    with dockerd() as host:
        folder = Path(host.removeprefix("unix://")).parent
    assert not folder.exists()
    assert str(folder) not in Path("/proc/self/mounts").read_text()


def test_the_site_is_served_with_its_static_files(site: str) -> None:
    with urllib.request.urlopen(f"{site}/static/vendor/htmx-2.0.11.min.js") as answer:
        assert answer.status == 200


def test_the_browser_hears_complaints(page: Page, complaints: list[str]) -> None:
    page.goto("/account/sign-in/")
    with page.expect_console_message():
        page.evaluate("console.error('look here')")
    assert "look here" in complaints[0]
    complaints.clear()


def test_a_complaint_names_the_file_that_is_missing(page: Page, complaints: list[str]) -> None:
    page.goto("/account/sign-in/")
    with page.expect_console_message():
        page.evaluate("fetch('/static/no-such-file.css')")
    assert "404" in complaints[0]
    assert "/static/no-such-file.css" in complaints[0]
    complaints.clear()


@pytest.mark.browser
def test_chromium_takes_its_event_loop_along() -> None:
    """Its process goes on with other tests, for which async_to_sync would refuse to work."""

    def start_and_end() -> None:
        chromium = SharedChromium()
        try:
            assert chromium.browser() is chromium.browser()
            assert asyncio.get_running_loop()
        finally:
            chromium.close()
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()

    # In a thread of its own, because the loop of the other tests' Chromium is in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(start_and_end).result()
