from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.models import Study
from fsbench_web.studies.scores import rejudging
from fsbench_web.studies.scores.ingest import MixedMeasurements

_SAY_EVERY = 100


class Command(SiteCommand):
    help = (
        "Find the quality flags of results that were never judged, or judged by older rules. Make "
        "their scores of sound, cached and uncached cells, with the runs of each score. "
        "Scores of all cells stay what they are. "
        "It can be stopped and started again, and run while people work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", help="only results of this study, by its slug")
        parser.add_argument(
            "--all",
            action="store_true",
            help="also what the present rules judged: after stating what a device can deliver, or "
            "after the first run with direct I/O on a LUN",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = options["study"]
        if study and not Study.objects.filter(slug=study).exists():
            raise CommandError(f'There is no study "{study}".')
        for job_id in rejudging.jobs_with_references(study):
            rejudging.note_drift(job_id)
        series = rejudging.waiting(study, everything=options["all"])
        total, done = series.count(), 0
        try:
            for _ in rejudging.judge(series):
                done += 1
                if done % _SAY_EVERY == 0:
                    self.stdout.write(f"{done} of {total} series")
        except MixedMeasurements as error:
            raise CommandError(f"{error} {done} of {total} series are judged.") from None
        self.stdout.write(f"{done} series judged." if done else "Everything was judged already.")
        if later := rejudging.judged_later(study).count():
            self.stdout.write(
                f"{later} were judged by a later version of fsbench, and stay as they are: only "
                "that version judges them again."
            )
