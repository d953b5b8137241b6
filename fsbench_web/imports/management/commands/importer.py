"""manage.py importer: stores uploads that are more than a request stores."""

import argparse
import logging
import signal
import threading
from typing import Any

from django.db import DatabaseError, close_old_connections

from fsbench_web.imports import queue
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.renderings import reading

logger = logging.getLogger("fsbench.importer")

POLL_S = 1.0


class Command(SiteCommand):
    help = "Store uploads that are too much for a web request"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="end when nothing waits, instead of waiting for more",
        )

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        reading.start()
        try:
            self._work(stopping, once=once)
        finally:
            reading.end()

    def _work(self, stopping: threading.Event, *, once: bool) -> None:
        while not stopping.is_set():
            row = None
            try:
                close_old_connections()
                row = queue.claim()
                if row is not None:
                    queue.work_on(row, stopping)
            except DatabaseError as error:
                logger.warning("the database does not answer: %s", error)
            if row is None:
                if once:
                    return
                stopping.wait(POLL_S)
