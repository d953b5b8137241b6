"""Loads the published studies; safe at every start."""

from typing import Any

from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.published.data import published_studies
from fsbench_web.studies.published.loader import SlugTaken, load


class Command(SiteCommand):
    help = "Load the published studies that ship with fsbench, or bring them up to date."

    def handle(self, *args: Any, **options: Any) -> None:
        for published in published_studies():
            try:
                changed = load(published)
            except SlugTaken as problem:
                self.stderr.write(str(problem))
                continue
            if options["verbosity"] > (0 if changed else 1):
                self.stdout.write(f"{published.slug}: {'loaded' if changed else 'up to date'}")
