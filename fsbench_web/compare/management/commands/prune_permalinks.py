from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.compare.permalinks import sharing
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = (
        f"Delete expired permalinks. `make run` does this {sharing.KEPT_DAYS} days after their "
        "last day. Runs and scores stay."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=int,
            default=sharing.KEPT_DAYS,
            help="how many days ago the last one must be (default: %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["days"] < 0:
            raise CommandError("--days must be 0 or more.")
        permalinks = sharing.expired(options["days"])
        count = permalinks.count()
        if not options["dry_run"]:
            permalinks.delete()
        would = "would be" if options["dry_run"] else "were"
        self.stdout.write(f"{count} expired permalinks {would} deleted.")
