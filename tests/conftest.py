"""Fixtures for all tests: real services, started on first use and ended with the session.

``postgres_url``, ``redis_url``, ``docker_host``, ``runner_image`` start what their name says and
fail when it cannot be had. ``site`` is a live server on the tests' database, ``page`` a browser
page that fails its test when the page complains.
"""

import signal
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page
from xdist.scheduler import LoadScopeScheduling

from tests.services.browser import chromium_browser, chromium_path, collect_complaints
from tests.services.dockerd import Dockerd, docker_daemon
from tests.services.image import build_runner_image
from tests.services.postgres import postgres
from tests.services.redis import redis
from tests.services.server import asgi_server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        action="store_true",
        help="run only the tests that use the database, without Docker, Chromium and root",
    )


def pytest_configure(config: pytest.Config) -> None:
    # SIGTERM would end Python without running a single fixture's end: loop devices, mounts and
    # daemons would stay. KeyboardInterrupt unwinds them all.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark by fixture, browser tests last, and `--database` picks what touches the database."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture, marker in _MARKED_BY_FIXTURE.items():
            if fixture in fixtures:
                item.add_marker(marker)
    yield  # -m chooses by marker, and pytest-django sorts by kind of database access
    # Playwright leaves an event loop in the thread, which async_to_sync of other tests refuses.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    if config.getoption("--database"):
        chosen = [item for item in items if _is_database_test(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """What runs beside each other with ``pytest -n 3 --dist loadgroup``, by file.

    Disks and daemons; browsers; and whole machines and installations, which wait for boots more
    than they compute. Each lane is one process from its first to its last test, so that services
    are started once and what a host has once (addresses, ports) is used by one test at a time.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.startswith(("tests/deploy/", "tests/guest/")) or path in _OF_MACHINES:
            return "machines"
        return "disks" if path.startswith(_OF_DISKS) else "browsers"


_OF_MACHINES = {"tests/runner/test_guest.py", "tests/test_make_run.py"}
_OF_DISKS = tuple(
    f"tests/{folder}/"
    for folder in ("catalog", "crash", "hosts", "runner", "serve", "services", "workloads")
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes | None:
    return Lanes(config, log) if config.getoption("dist") == "loadgroup" else None


_MARKED_BY_FIXTURE = {
    "postgres_url": "postgres",
    "redis_url": "redis",
    "docker_host": "docker",
    "browser": "browser",
}


def _is_database_test(item: pytest.Item) -> bool:
    markers = {marker.name for marker in item.iter_markers()}
    if markers & {"docker", "browser", "root", "postgres"}:
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in markers or bool(fixtures & {"db", "transactional_db", "site"})


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """DATABASE_URL of a PostgreSQL server of the tests, with an empty database."""
    with postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """CELERY_BROKER_URL of a Redis of the tests."""
    with redis() as url:
        yield url


@pytest.fixture(scope="session")
def docker_service() -> Iterator[Dockerd]:
    """A Docker daemon of the tests. Whoever kills it starts it again."""
    with docker_daemon() as daemon:
        yield daemon


@pytest.fixture(scope="session")
def docker_host(docker_service: Dockerd) -> str:
    """DOCKER_HOST of the Docker daemon of the tests."""
    return docker_service.host


@pytest.fixture(scope="session")
def runner_image(docker_host: str) -> str:
    """Name of the benchmark image, built in the tests' daemon by the script that users run."""
    return build_runner_image(docker_host)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of Chromium."""
    return chromium_path()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, shared; take ``page`` unless the test needs several contexts."""
    with chromium_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def _server(django_db_setup: None) -> Iterator[str]:
    with asgi_server() as address:
        yield address


@pytest.fixture
def site(_server: str, transactional_db: None) -> str:
    """Address of a live server on the tests' database, e.g. ``http://127.0.0.1:41234``."""
    return _server


@pytest.fixture
def complaints() -> list[str]:
    """What the page complained about so far. Clear it after a complaint that the test wants."""
    return []


@pytest.fixture
def page(browser: Browser, site: str, complaints: list[str]) -> Iterator[Page]:
    """A page on ``site`` (``page.goto("/runs/")``); a complaint in its console fails the test."""
    context = browser.new_context(base_url=site, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(15_000)
    collect_complaints(page, complaints)
    yield page
    context.close()
    assert not complaints, "The page complained:\n" + "\n".join(complaints)


@pytest.fixture
def sign_in(site: str) -> Callable[[Page, User], None]:
    """``sign_in(page, user)`` gives the page's context a session of this user."""

    def put_session_cookie(page: Page, user: User) -> None:
        client = Client()
        client.force_login(user)
        session = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": site}])

    return put_session_cookie
