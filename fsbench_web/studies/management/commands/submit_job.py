"""manage.py submit_job FILE: a job as a document, as the page and the API take it."""

import argparse
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from fsbench_web.accounts import rights
from fsbench_web.core.numbers import duration
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.jobs import estimates, lookup
from fsbench_web.studies.jobs.documents import text
from fsbench_web.studies.jobs.documents.text import UnreadableDocument
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.jobs.submitting import confirmation_text, planned, submit


class Command(SiteCommand):
    help = "Submit a job from a YAML or JSON document; without --confirm, show what it would do"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--confirm", default="", metavar="LUN", help="names of the LUNs that are erased"
        )
        parser.add_argument("--user", default="", help="who submits it; needed with --confirm")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            with path.open("rb") as file:
                spec = lookup.spec_of(text.read(file.read(text.MAXIMUM_BYTES + 1)))
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
        except UnreadableDocument as error:
            raise CommandError(f"{path}: {error}") from None
        try:
            if not options["confirm"]:
                self._show(spec, planned(spec).runs)
                return
            user = User.objects.filter(username=options["user"], is_active=True).first()
            if user is None:
                raise CommandError(
                    f'There is no active user "{options["user"]}": say with --user who submits it.'
                )
            # What this person may not submit the worker would refuse later.
            with rights.as_user(user):
                runs = submit(spec, options["confirm"], user)
        except JobRefused as refused:
            lines = [
                f"{place}: {sentence}"
                for place, sentences in refused.by_part.items()
                for sentence in sentences
            ]
            raise CommandError("\n".join(["Nothing was submitted.", *lines])) from None
        self.stdout.write(f"Job {runs[0].job_id}: {len(runs)} runs are queued.")

    def _show(self, spec: JobSpec, runs: list[PlannedRun]) -> None:
        expected = estimates.of_planned(runs)
        for number, (run, estimate) in enumerate(zip(runs, expected, strict=True), start=1):
            mark = " reference" if run.is_reference else ""
            takes = duration(estimate.duration_s) if estimate else "not known"
            self.stdout.write(
                f"{number:5}  repeat {run.repeat}  {run.configuration}, {run.workload_title}"
                f"  {takes}{mark}"
            )
        for place, label, why in spec.left_out:
            self.stdout.write(f"left out  {place}: {label}: {why}")
        for sentence in spec.notes:
            self.stdout.write(sentence)
        total = estimates.total(expected)
        takes = (
            duration(total.duration_s)
            if total.duration_s is not None
            else f"not known ({total.unknown} of {len(runs)} runs)"
        )
        self.stdout.write(f"Estimated duration: {takes}. Erasures: {sum(r.erases for r in runs)}.")
        if spec.seed is not None:
            self.stdout.write(f"Seed: {spec.seed}. Write it into the document to keep this order.")
        self.stdout.write(
            f'Nothing was submitted. To submit it: --confirm "{confirmation_text(spec)}" '
            "--user NAME"
        )
