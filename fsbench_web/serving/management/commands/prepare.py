"""Prepare a version before the web starts."""

from typing import Any

from django.core.management.base import CommandParser

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.serving import console
from fsbench_web.serving.preparation import collect_static_files, prepare_database


class Command(SiteCommand):
    help = (
        "Migrate the database, load the published studies, and make an account if there is none. "
        "Then start the web with `manage.py serve --prepared`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--static-files", action="store_true", help="collect the static files too"
        )

    def handle(self, *args: Any, static_files: bool, **options: Any) -> None:
        with console.refusals():
            sign_in = prepare_database(self._echo)
            if static_files:
                collect_static_files()
        # Whoever starts it for the first time reads it here, and nowhere else.
        self.stdout.write(f"Prepared. Sign in: {sign_in}")

    def _echo(self, line: str) -> None:
        console.announce(self.stdout.write, line)
