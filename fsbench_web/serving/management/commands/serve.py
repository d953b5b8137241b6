"""Set up everything and serve: what `make run` starts."""

import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform import env
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.serving import console
from fsbench_web.serving.data_folder import FolderInUse, exclusive_use, remove_arriving
from fsbench_web.serving.preparation import (
    collect_static_files,
    prepare_database,
    prepare_luns_file,
    require_prepared,
    require_static_files,
)
from fsbench_web.serving.supervisor import AddressInUse, Supervisor, address_of, open_socket


class Command(SiteCommand):
    help = "Prepare the database and the published studies, then run web and worker until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host", default=env.text("HOST", "127.0.0.1"), help="address to listen on (HOST)"
        )
        parser.add_argument(
            "--port",
            type=int,
            default=env.integer("PORT", 8000, minimum=0, maximum=65535),
            help="port to listen on, 0 for a free one (PORT)",
        )
        parser.add_argument(
            "--without-worker", action="store_true", help="workers run elsewhere: only the web"
        )
        parser.add_argument(
            "--prepared",
            action="store_true",
            help="`manage.py prepare` was run and the static files are collected: only serve",
        )

    def handle(
        self,
        *args: Any,
        host: str,
        port: int,
        without_worker: bool,
        prepared: bool,
        **options: Any,
    ) -> None:
        with console.refusals():
            self._serve(host, port, with_worker=not without_worker, prepared=prepared)
        self._echo("Stopped.")

    def _serve(self, host: str, port: int, *, with_worker: bool, prepared: bool) -> None:
        processes = env.integer("FSBENCH_WEB_PROCESSES", 1, minimum=1, maximum=64)
        try:
            with exclusive_use(settings.DATA_DIR), open_socket(host, port) as listening:
                remove_arriving(Path(settings.FILE_UPLOAD_TEMP_DIR))
                if prepared:
                    require_prepared()
                    require_static_files()
                    sign_in = "as before (`manage.py prepare` says how)"
                else:
                    sign_in = self._prepare(
                        with_worker=with_worker, is_private=_is_private(listening)
                    )
                self._echo("Starting web and worker ..." if with_worker else "Starting the web ...")
                address = address_of(listening)
                Supervisor(
                    listening, processes=processes, with_worker=with_worker, echo=self._echo
                ).run(_announcement(address, sign_in))
        except (FolderInUse, AddressInUse) as problem:
            raise CommandError(str(problem)) from None

    def _prepare(self, *, with_worker: bool, is_private: bool) -> str:
        """Everything that must be there before the first request; returns how to sign in."""
        sign_in = prepare_database(self._echo, is_private=is_private)
        collect_static_files()
        if with_worker and not env.text("FSBENCH_LUNS", ""):
            sentence = prepare_luns_file(settings.DATA_DIR, is_root=os.geteuid() == 0)
            if sentence:
                self._echo(sentence)
        return sign_in

    def _echo(self, line: str) -> None:
        console.announce(self._write, line)

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _is_private(listening: socket.socket) -> bool:
    """Whether only this machine's user reaches the site and reads what is printed.

    Behind a proxy with TLS (FSBENCH_HTTPS) others come by the loopback, too.
    """
    address = str(listening.getsockname()[0]).partition("%")[0]
    is_loopback = ipaddress.ip_address(address).is_loopback
    return (
        is_loopback and console.is_for_people() and not (settings.IS_PRODUCTION or settings.HTTPS)
    )


def _announcement(address: str, sign_in: str) -> list[str]:
    if not console.is_for_people():
        # Collected logs are read by many: no password of the first start goes there.
        return [f"fsbench is ready: {address}; `manage.py prepare` says how to sign in"]
    return [
        "",
        f"  fsbench is ready:  {address}",
        f"  Sign in:           {sign_in}",
        f"  Data folder:       {settings.DATA_DIR}",
        "  Stop with Ctrl-C.",
        "",
    ]


# Children would otherwise hold back what they print until their buffer is full.
os.environ.setdefault("PYTHONUNBUFFERED", "1")
# glibc otherwise keeps freed memory apart for each thread.
os.environ.setdefault("MALLOC_ARENA_MAX", "2")
# Colours and progress bars are for terminals; what is piped into a file stays plain.
if not sys.stdout.isatty():
    os.environ.setdefault("NO_COLOR", "1")
