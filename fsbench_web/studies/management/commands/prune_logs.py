from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.runs import logs


class Command(SiteCommand):
    help = (
        "Delete the logs of runs that ended more than FSBENCH_LOG_DAYS ago. Scores, measurements "
        "and raw output stay."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, help="instead of FSBENCH_LOG_DAYS")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        days = settings.LOG_DAYS if options["days"] is None else options["days"]
        if days < 0:
            raise CommandError("--days must be 0 (keep all) or more.")
        if days == logs.KEPT_ALWAYS:
            self.stdout.write("Logs are kept for ever: FSBENCH_LOG_DAYS is 0.")
            return
        pruned = logs.prune(days, dry_run=options["dry_run"])
        verb = "would be" if options["dry_run"] else "were"
        self.stdout.write(
            f"{pruned.runs} logs of runs that ended more than {days} days ago {verb} deleted, "
            f"{pruned.size_bytes} bytes of text."
        )
