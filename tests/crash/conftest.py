"""One lab for all crash tests: starting its services takes longer than most of the tests."""

from collections.abc import Iterator
from contextlib import ExitStack

import dj_database_url
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from pytest_django.plugin import DjangoDbBlocker

from tests.crash.lab import Lab, build_image, install_gate
from tests.services.dockerd import Dockerd
from tests.services.postgres import postgres_server
from tests.services.redis import redis_server


@pytest.fixture(scope="package")
def the_lab(
    docker_service: Dockerd,
    runner_image: str,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    """The lab, on whatever database the other tests run: here the ORM speaks to its PostgreSQL."""
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        redis = stack.enter_context(redis_server())
        stack.enter_context(django_db_blocker.unblock())
        own = connections["default"]
        values = own.settings_dict | dj_database_url.parse(postgres.url, conn_health_checks=True)
        connections["default"] = DatabaseWrapper(values | {"TEST": {}}, "default")
        stack.callback(connections.__setitem__, "default", own)
        stack.callback(lambda: connections["default"].close())
        call_command("migrate", verbosity=0)
        install_gate()
        image = build_image(docker_service.host, runner_image)
        lab = Lab(tmp_path_factory.mktemp("crash"), postgres, redis, docker_service, image)
        stack.callback(lab.stop)
        (lab.folder / "data").mkdir()
        yield lab


@pytest.fixture
def lab(the_lab: Lab) -> Lab:
    """The lab with everything up."""
    if the_lab.worker is None or the_lab.worker.process.poll() is not None:
        the_lab.start_worker()
    return the_lab
