"""One site of three hosts for all tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack

import dj_database_url
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from fsbench_web.platform import clock
from tests.hosts.lab import CLOCKS_S, SILENT_AFTER_S, Hosts
from tests.hosts.network import network
from tests.hosts.secured import certificate, secured_services


@pytest.fixture(scope="package")
def hosts(
    django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hosts]:
    """Workers on three hosts; here the ORM speaks to the PostgreSQL that they share."""
    folder = tmp_path_factory.mktemp("hosts")
    with ExitStack() as stack:
        lan = stack.enter_context(network(len(CLOCKS_S)))
        certified = certificate(folder, lan.address)
        postgres, redis = stack.enter_context(secured_services(lan.address, lan.range, certified))
        stack.enter_context(django_db_blocker.unblock())
        own = connections["default"]
        values = own.settings_dict | dj_database_url.parse(postgres.shared_url)
        connections["default"] = DatabaseWrapper(values | {"TEST": {}}, "default")
        stack.callback(clock.forget)
        stack.callback(connections.__setitem__, "default", own)
        stack.callback(lambda: connections["default"].close())
        stack.enter_context(override_settings(WORKER_SILENT_AFTER_S=SILENT_AFTER_S))
        clock.forget()
        call_command("migrate", verbosity=0)
        hosts = Hosts(folder, lan, postgres, redis)
        stack.callback(hosts.stop)
        for index in range(len(CLOCKS_S)):
            hosts.start_worker(index)
        hosts.wait_for_workers()
        yield hosts
