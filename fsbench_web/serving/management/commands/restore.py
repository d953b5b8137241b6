from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from fsbench_web.serving.backup import BackupError, restore
from fsbench_web.serving.data_folder import FolderInUse, exclusive_use


class Command(BaseCommand):
    help = (
        "Replace the database with that of a backup. Web and workers must be stopped. Afterwards "
        "every worker is drained: check the queue, then resume them."
    )
    # The checks of models may ask a database that is not there yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="what `manage.py backup` wrote")
        parser.add_argument(
            "--overwrite",
            default="",
            metavar="DATABASE",
            help="the name of a database that is not empty and may be lost",
        )

    def handle(self, *args: Any, folder: Path, overwrite: str, **options: Any) -> None:
        try:
            with exclusive_use(settings.DATA_DIR):
                backup = restore(folder.absolute(), overwrite=overwrite, echo=self.stdout.write)
        except (BackupError, FolderInUse) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"Restored the backup of {backup.taken_at}. Workers are drained, and people must "
            f"sign in again: check the queue, then resume the workers."
        )
