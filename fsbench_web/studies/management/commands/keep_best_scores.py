from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.scores import kept_best_scores


class Command(SiteCommand):
    help = (
        "Keep the best scores of each configuration of large studies, so that their pages need not "
        "read all scores. `serve` does it by itself, some of it each minute; this does all at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="compare what is kept with all scores instead"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["check"]:
            self.stdout.write(f"{kept_best_scores.keep(None)} configurations were out of date.")
            return
        wrong = kept_best_scores.wrongly_kept()
        for row in wrong:
            self.stderr.write(
                f"Configuration {row.configuration} of study {row.study}: other scores are kept "
                "than are best."
            )
        if wrong:
            raise CommandError("What is kept is wrong: please report it.")
        self.stdout.write("Everything that is kept and in use is right.")
