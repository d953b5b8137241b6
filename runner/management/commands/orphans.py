from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from runner import orphans
from runner.config import read_config
from runner.executors.base import ExecutorAway
from runner.safety.blockdev import ToolError
from runner.safety.locks import LockedElsewhere
from runner.safety.luns import LunFileError


class Command(SiteCommand):
    help = (
        "List what dead workers left on this host: containers, mounts, pools, layers, loop "
        "devices, output, leases, messages. Only what is fsbench's own; nothing of a worker that "
        "runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--remove", action="store_true", help="remove it too")

    def handle(self, *args: Any, **options: Any) -> None:
        config = read_config()
        try:
            leftovers = list(orphans.find(config))
        except (LunFileError, ExecutorAway) as error:
            raise CommandError(str(error)) from None
        failed = 0
        for orphan in leftovers:
            text = f"{orphan.kind}: {orphan.description}"
            if options["remove"] and orphan.remove is not None:
                try:
                    orphan.remove()
                except (ToolError, ExecutorAway, LockedElsewhere, OSError) as error:
                    failed += 1
                    text += f": {error}"
                else:
                    text += ": removed"
            self.stdout.write(text)
        if not leftovers:
            self.stdout.write("Nothing was left behind.")
        elif not options["remove"] and any(orphan.remove for orphan in leftovers):
            self.stdout.write("Remove them with: manage.py orphans --remove")
        if failed:
            raise CommandError(f"{failed} could not be removed.")
