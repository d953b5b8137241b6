"""Fixtures for all tests: real services, started on first use and ended with the session.

``postgres_url``, ``redis_url``, ``docker_host``, ``runner_image`` start what their name says and
fail when it cannot be had. ``site`` is a live server on the tests' database, ``page`` a browser
page that fails its test when the page complains.
"""

import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from xdist.scheduler import LoadScopeScheduling

from tests.python_memory import pytest_collection, pytest_runtest_protocol
from tests.services.browser import SharedChromium, chromium_path
from tests.services.dockerd import Dockerd, docker_daemon
from tests.services.image import build_runner_image, runner_store
from tests.services.postgres import postgres
from tests.services.redis import redis
from tests.services.server import asgi_server
from tests.statements import listed_tests

__all__ = ["pytest_collection", "pytest_runtest_protocol"]  # hooks that others define


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        action="store_true",
        help="run only the tests that use the database, without Docker, Chromium and root; of a "
        "parametrized one not the variants after the first that --after-database runs",
    )
    parser.addoption(
        "--after-database",
        action="store_true",
        help="run every test; of a parametrized one that --database runs, every fourth variant",
    )
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


# Folders without tests of the database, or whose tests show the same on any: the command line asks
# a site over HTTP. For tests of other folders the marker same_on_any_database says so.
NOT_OF_A_DATABASE = ("browser", "core", "crash", "deploy", "figures", "first_start", "hosts")
SAME_ON_ANY_DATABASE = ("client", "runner")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What --database has nothing of is not even read, nor what --contenders alone runs."""
    if Path(__file__).parent / "contenders" in (collection_path, *collection_path.parents):
        return not config.getoption("--contenders") or None
    if not config.getoption("--database") or collection_path.parent != Path(__file__).parent:
        return None
    return collection_path.name in NOT_OF_A_DATABASE + SAME_ON_ANY_DATABASE or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark by fixture, choose by what touches the database, and order by lane."""
    is_recorded = config.pluginmanager.hasplugin("tests.statements")
    asked_by_others = frozenset() if is_recorded else listed_tests()
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture, marker in _MARKED_BY_FIXTURE.items():
            if fixture in fixtures:
                item.add_marker(marker)
        if item.nodeid in asked_by_others:
            item.add_marker("same_on_any_database")
    yield  # -m chooses by marker, and pytest-django sorts by kind of database access
    # While Chromium is there, so is an event loop in the thread, which async_to_sync of other tests
    # refuses: browser tests come in one piece. What module_db writes stays until its file ends, and
    # keeps SQLite's one lock for writing, so that what has a server comes before it.
    items.sort(key=lambda item: (_has_rows_of_its_file(item), _is_browser_test(item)))
    _refuse_misplaced(items)
    left_out: set[pytest.Item] = set()
    if config.getoption("--database"):
        left_out = {item for item in items if not _is_database_test(item)}
        left_out |= {item for item, place in _variants(items) if place and place % 4 == 0}
    elif config.getoption("--after-database"):
        left_out = {item for item, place in _variants(items) if place % 4}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    if getattr(config.option, "loadgroup", False):  # what --dist=loadgroup is in xdist's processes
        for item in items:
            path = _path(item.nodeid)
            if _is_browser_test(item) and lane_of(path) not in (BROWSERS, AXE):
                raise pytest.UsageError(f"{path} has browser tests and imports no Playwright")
    if hasattr(config, "workerinput"):  # in a process of xdist
        counts = Counter(_path(item.nodeid) for item in items)
        has_lanes = getattr(config.option, "loadgroup", False)
        items.sort(key=lambda item: place_of(_path(item.nodeid), counts, has_lanes))


BROWSERS, AXE = "browsers", "axe"
# Each starts when a process is free, in this order: those that take longest first. A name is what
# paths in tests/ begin with. What has a browser is in one of two lanes, because of its event loop.
LANES = {
    "kills": ("crash/",),
    "disks": ("runner/execution/", "catalog/"),
    "daemons": ("runner/",),
    "stack": ("deploy/",),
    BROWSERS: (),
    "guests": ("guest/", "hosts/", "runner/guests/test_guest"),
    "installation": ("first_start/",),
    "workloads": ("core/workloads/",),
    AXE: ("browser/test_accessibility.py",),
}
# Of what is in no lane the first, each file by itself: a process that begins one of them when the
# others have nothing left to do would keep them waiting for a minute.
LONG = ("test_documented_commands.py", "test_rights.py", "api/protocol/test_schema.py", "client/")


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """What runs beside each other with ``pytest -n 5 --dist loadgroup``: lanes, then files.

    A lane is one process from its first to its last test, so that services are started once. Lanes
    wait for disks, boots and browsers more than they compute; files that need no service fill that
    time and the rest.
    """

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(_path(nodeid))


@cache
def lane_of(path: str) -> str:
    """The lane of a file of tests; the file itself when it is of none."""
    here = path.removeprefix("tests/")
    matches = [(len(name), lane) for lane in LANES for name in LANES[lane] if here.startswith(name)]
    lane = max(matches)[1] if matches else path
    if lane != AXE and "playwright" in Path(__file__).parent.parent.joinpath(path).read_text():
        return BROWSERS
    return lane


def place_of(path: str, counts: Counter[str], has_lanes: bool) -> tuple[int, int]:
    """When a file begins, as a key of sorting: what takes longest first.

    Lanes in their order, then ``LONG``, then files by their number of tests.
    """
    lane = lane_of(path)
    if has_lanes and lane in LANES:
        return list(LANES).index(lane), 0
    is_long = path.removeprefix("tests/").startswith(LONG)
    return len(LANES) + (not is_long), -counts[path]


def _path(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes | None:
    return Lanes(config, log) if config.getoption("dist") == "loadgroup" else None


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


def _is_database_test(item: pytest.Item) -> bool:
    markers = {marker.name for marker in item.iter_markers()}
    if markers & {"docker", "browser", "root", "postgres", "same_on_any_database"}:
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in markers or bool(fixtures & {"db", "transactional_db", "site"})


def _refuse_misplaced(items: list[pytest.Item]) -> None:
    for item in items:
        folder = _path(item.nodeid).removeprefix("tests/").partition("/")[0]
        if folder in NOT_OF_A_DATABASE and _is_database_test(item):
            raise pytest.UsageError(f"{item.nodeid} would not run on PostgreSQL: see conftest.py")
        if _has_rows_of_its_file(item) and _has_transactions(item):
            raise pytest.UsageError(f"{item.nodeid} has transactions, and rows of module_db")


def _variants(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, int]]:
    """Tests of the database with their place among the variants of each, from 0.

    Never tests with transactions of their own: there the databases' locks are what is asked about.
    """
    counts: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.partition("[")[0]
        place = counts[name]
        counts[name] += 1
        mark = item.get_closest_marker("django_db")
        has_transactions = mark is not None and mark.kwargs.get("transaction")
        folder = _path(item.nodeid).removeprefix("tests/").partition("/")[0]
        if _is_database_test(item) and not has_transactions and folder not in SAME_ON_ANY_DATABASE:
            yield item, place


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
