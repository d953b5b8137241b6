from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.serving.backup.backing_up import take
from fsbench_web.serving.backup.manifest import BackupError


class Command(SiteCommand):
    help = (
        "Write everything (accounts, studies, numbers, raw output) into a new folder with a "
        "manifest. People may go on working meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="must not be there yet")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            backup = take(folder.absolute())
        except BackupError as error:
            raise CommandError(str(error)) from None
        size = sum(file.size_bytes for file in backup.files)
        self.stdout.write(
            f"{folder}: {sum(backup.counts.values())} rows of {backup.server}, {size} bytes."
        )
