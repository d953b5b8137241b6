import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import maintenance
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.models import ACTIVE_STATES, Run

BY = "manage.py drain"
EVERY_S = 1.0


class Command(SiteCommand):
    help = (
        "Let a worker finish what it runs and take nothing new, as the button on its page does. "
        "With --wait return when nothing runs any more: then it can be stopped and no run is lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("worker", help="its name, as on the page of workers")
        parser.add_argument("--wait", action="store_true", help="until its last run has ended")
        parser.add_argument(
            "--timeout", type=float, metavar="SECONDS", help="wait no longer, and fail then"
        )
        parser.add_argument("--resume", action="store_true", help="let it take runs again")

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker.objects.filter(name=options["worker"]).first()
        if worker is None:
            names = ", ".join(Worker.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(
                f"There is no worker “{options['worker']}”. Known: {names or 'none'}."
            )
        if options["resume"]:
            changed = maintenance.set_drained(worker, False, by=BY)
            self.stdout.write(f"{worker.name} takes runs{'' if changed else ', as it did before'}.")
            return
        if not maintenance.set_drained(worker, True, by=BY):
            self.stdout.write(f"{worker.name} was drained by {worker.drained_by} before.")
        if options["wait"]:
            self._wait(worker, options["timeout"])
        self.stdout.write(f"{worker.name} is drained.")

    def _wait(self, worker: Worker, timeout_s: float | None) -> None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        reported: list[int] = []
        while running := list(
            Run.objects.filter(
                # Those that another worker leads, too: their leases have a LUN of this one.
                Q(series__lun__worker=worker) | Q(leases__lun__worker=worker),
                state__in=ACTIVE_STATES,
            )
            .order_by("pk")
            .distinct()
            .values_list("pk", flat=True)
        ):
            if running != reported:
                reported = running
                self.stdout.write(f"Still running: {', '.join(map(str, running))}")
                self.stdout.flush()
            if deadline is not None and time.monotonic() > deadline:
                raise CommandError(
                    f"Runs {running} of {worker.name} did not end within {timeout_s:g} s. It stays "
                    "drained: wait longer, cancel them, or let it go on with --resume."
                )
            time.sleep(EVERY_S)
