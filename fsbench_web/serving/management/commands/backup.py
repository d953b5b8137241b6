import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from fsbench_web.operations import backups
from fsbench_web.operations.models import Backup
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.serving.backup import BackupError, take


class Command(SiteCommand):
    help = (
        "Write everything (accounts, studies, numbers, raw output) into a new folder with a "
        "manifest. People can keep working. The operations page shows the last backup and "
        "whether it failed."
    )

    _noted: Backup | None = None

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="must not be there yet")
        parser.add_argument(
            "--kept-as",
            type=Path,
            metavar="PLACE",
            help="you move it to that place, and then say with --note whether it is there",
        )
        parser.add_argument(
            "--note",
            choices=["made", "failed"],
            help="make no backup: note that the one at the place that FOLDER names was made, by "
            "whatever means, or that it did not come there",
        )

    def handle(
        self,
        *args: Any,
        folder: Path,
        kept_as: Path | None,
        note: str | None,
        **options: Any,
    ) -> None:
        if note:
            backups.end_at(str(folder), is_there=note == "made")
            return
        with self._unhindered():
            self._noted = backups.begin(
                str(kept_as or f"{socket.gethostname()}:{folder.absolute()}")
            )
        try:
            backup = take(folder.absolute())
        except BaseException as error:
            self._end(problem=str(error) or type(error).__name__)
            if isinstance(error, BackupError):
                raise CommandError(str(error)) from None
            raise
        size = sum(file.size_bytes for file in backup.files)
        self._end(size_bytes=size, is_there=kept_as is None)
        self.stdout.write(f"{kept_as or folder}: {backup.database}, {size} bytes.")

    def _end(
        self, *, problem: str = "", size_bytes: int | None = None, is_there: bool = True
    ) -> None:
        if self._noted is None:
            return
        self._noted.size_bytes = size_bytes
        with self._unhindered():
            if is_there:
                backups.end(self._noted, problem)
            else:
                self._noted.save(update_fields=["size_bytes"])

    @contextmanager
    def _unhindered(self) -> Iterator[None]:
        """Where nothing can be written (a disk that is full), a backup is wanted all the more."""
        try:
            yield
        except DatabaseError as error:
            self.stderr.write(f"The page of operations will not show this backup: {error}.")
