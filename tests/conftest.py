"""Fixtures for all tests: real services, started on first use and ended with the session.

``postgres_url``, ``redis_url``, ``docker_host``, ``runner_image`` start what their name says and
fail when it cannot be had. ``site`` is a live server on the tests' database, ``page`` a browser
page that fails its test when the page complains.
"""

import gc
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tests.services.browser import SharedChromium, chromium_path
from tests.services.dockerd import Dockerd, docker_daemon
from tests.services.image import build_runner_image, runner_store
from tests.services.postgres import postgres
from tests.services.redis import redis
from tests.services.server import asgi_server

# Collecting keeps thousands of objects: Python's own threshold of 700 costs a third of that work.
gc.set_threshold(50_000, 10, 10)

TESTS = Path(__file__).parent
SERVICES = {"docker", "browser", "postgres", "redis", "root", "systemd", "install"}
"""Markers of tests that need more than Python."""
ON_SQLITE_TOO = (
    "test_rights.py",  # asks every page and every call of the API, with rows of everything
    "accounts/sign_in/test_email.py",
    "accounts/sign_in/test_sign_in.py",
    "accounts/test_host_commands.py",
    "catalog/workers/",
    "catalog/workloads/",
    "compare/permalinks/test_withdrawing.py",
    "compare/profiles/test_records.py",
    "compare/watches/test_watches.py",
    "flushing/",
    "imports/test_accepted_columns.py",
    "imports/test_commit.py",
    "imports/test_discarding.py",
    "imports/test_histogram_logs.py",
    "imports/test_names_of_tests.py",
    "imports/test_renamed_tests.py",
    "imports/test_reread.py",
    "operations/",
    "platform/",
    "studies/activity/",
    "studies/jobs/test_submitting.py",
    "studies/runs/test_clients.py",
    "studies/runs/test_control.py",
    "studies/runs/test_leases.py",
    "studies/runs/test_lifecycle.py",
    "studies/runs/test_races.py",
    "studies/scores/test_measurements.py",
    "studies/scores/test_queries.py",
    "studies/triggers/test_ordering.py",
    "studies/views/test_search.py",
)
"""Database tests that run on SQLite too: what their paths in tests/ begin with.

Pages, calls, and for each app the tests of its states, locks and searches. Every model is in it:
tests/platform/test_databases.py.
"""
GROUPS = {
    "crash": ("crash/",),
    "disks": ("runner/execution/", "catalog/"),
    "daemons": ("runner/",),
    "stack": ("deploy/",),
    "backups": ("deploy/test_backup.py",),
    "guests": ("guest/", "hosts/", "runner/guests/test_guest"),
    "installation": ("first_start/",),
    "workloads": ("core/workloads/",),
    "axe": ("browser/test_accessibility.py",),
    "browsers": (),
    "services": ("services/",),
    "rights": ("test_rights.py",),
    "calls": ("api/protocol/test_schema.py",),
    "texts": (
        "core/formats/test_anything.py",
        "core/formats/test_hostile.py",
        "core/traces/test_hostile.py",
    ),
}
"""Slow tests by what paths begin with. A group shares one process, and so what it boots.

They start in this order, before all others. Browser tests of any other path are in `browsers`.
"""
LONG = (
    "client/",
    "core/formats/",
    "core/traces/test_hostile.py",
    "deploy/",
    "runner/agent/",
    "runner/guests/",
    "runner/host/",
    "serving/",
)
"""Tests that compute for long or start processes: not in `make test-quick`, as property tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--contenders",
        action="store_true",
        help="also run tests/contenders: guests with ZFS, or with kernels and tools of other "
        "releases of Debian, which are downloaded",
    )


def pytest_configure(config: pytest.Config) -> None:
    # SIGTERM would end Python without running a single fixture's end: loop devices, mounts and
    # daemons would stay. KeyboardInterrupt unwinds them all.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A shell starts what is in its background with Ctrl-C ignored, which every process of the tests
    # would inherit: `make run` and `fsbench watch` could not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.option.loadscopereorder = False  # xdist keeps the order that is made below


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_contenders = collection_path == TESTS / "contenders"
    return (is_contenders and not config.getoption("--contenders")) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark by fixture and path, and order: slow groups first."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture, marker in _MARKED_BY_FIXTURE.items():
            if fixture in fixtures:
                item.add_marker(marker)
        if any(marker.name in SERVICES for marker in item.iter_markers()):
            item.add_marker("services")
        elif _uses_the_database(item):
            item.add_marker("database")
            if _path(item).startswith(ON_SQLITE_TOO):
                item.add_marker("sqlite")
        if _path(item).startswith(LONG):
            item.add_marker("long")
        item.add_marker(pytest.mark.xdist_group(_group_of(item)))
    yield  # -m chooses by marker, and pytest-django sorts by kind of database access
    # While Chromium is there, so is an event loop in the thread, which async_to_sync of other tests
    # refuses: browser tests come in one piece. What module_db writes stays until its file ends, and
    # keeps SQLite's one lock for writing, so that what has a server comes before it.
    order = {name: place for place, name in enumerate(GROUPS)}
    items.sort(
        key=lambda item: (
            order.get(_group_of(item), len(order)),
            _has_rows_of_its_file(item),
            _is_browser_test(item),
        )
    )
    for item in items:
        if _has_rows_of_its_file(item) and _has_transactions(item):
            raise pytest.UsageError(f"{item.nodeid} has transactions, and rows of module_db")


def _group_of(item: pytest.Item) -> str:
    return group_of(_path(item), _is_browser_test(item))


@cache
def group_of(path: str, is_browser: bool) -> str:
    """Name of the tests that run in one process after each other: a slow group, else a file."""
    starts = {start: name for name in GROUPS for start in GROUPS[name] if path.startswith(start)}
    group = starts[max(starts, key=len)] if starts else ""
    if is_browser and group != "axe":
        return "browsers"
    return group or path.removesuffix(".py").replace("/", ".")


def _path(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0].removeprefix("tests/")


# The same examples each time, however long a busy machine takes for one: what is tried by chance
# fails by chance, too.
hypothesis.settings.register_profile(
    "suite",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")

_MARKED_BY_FIXTURE = {
    "postgres_url": "postgres",
    "redis_url": "redis",
    "docker_host": "docker",
    "browser": "browser",
}


def _is_browser_test(item: pytest.Item) -> bool:
    return item.get_closest_marker("browser") is not None


def _has_rows_of_its_file(item: pytest.Item) -> bool:
    return "module_db" in getattr(item, "fixturenames", ())


def _has_transactions(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    return (mark is not None and bool(mark.kwargs.get("transaction"))) or bool(
        {"transactional_db", "site"} & set(getattr(item, "fixturenames", ()))
    )


def _uses_the_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(
        fixtures & {"db", "transactional_db", "site"}
    )


@pytest.fixture(scope="module")
def module_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """What fixtures of a module write once, which each of its tests changes for itself alone.

    A transaction round the tests of a file that ask for it, whose own are savepoints in it. They
    come last in their file, so that the others do not meet these rows; one such fixture in a file.
    Objects that tests change are copied for each of them (``copy.deepcopy``).
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def papers(module_db: None) -> None:
    """The studies that ship with fsbench."""
    call_command("load_published", verbosity=0)


@pytest.fixture
def new_site(django_db_setup: None, tmp_path: Path) -> Path:
    """A data folder for FSBENCH_DATA, whose SQLite database is as the migrations leave it.

    It is the tests' own, copied: of tests under way it has nothing, of those before it no row.
    """
    folder = tmp_path / "data"
    folder.mkdir()
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as ours,
        closing(sqlite3.connect(folder / "fsbench.sqlite3")) as copied,
    ):
        ours.backup(copied)
    return folder


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
    with docker_daemon(runner_store()) as daemon:
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


_chromium = SharedChromium()


@pytest.fixture
def browser() -> Browser:
    """Chromium, shared; take ``page`` unless the test needs several contexts."""
    expect.set_options(timeout=30_000)
    return _chromium.browser()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Chromium ends with the last test of it, so that its process can go on with others."""
    try:
        yield
    finally:
        if nextitem is None or not _is_browser_test(nextitem):
            _chromium.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Generator[None, None, None]:
    try:
        yield
    finally:
        _chromium.close()  # of a test that was interrupted


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
    with _chromium.page(site, complaints) as page:
        yield page
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
