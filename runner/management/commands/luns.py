from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.platform.commands import SiteCommand
from runner.config import choose_executor, read_config
from runner.safety import checks
from runner.safety.luns import LunFileError, read_luns
from runner.worker import Host, LunUnusable


class Command(SiteCommand):
    help = "`luns check`: say of each LUN in this host's list whether it may be erased, and why."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["check"])

    def handle(self, *args: Any, **options: Any) -> None:
        config = read_config()
        executor, _ = choose_executor(config)
        host = Host(config, executor)
        try:
            read_luns(config.lun_file, must_exist=True)
            entries = host.read_entries()
        except LunFileError as error:
            raise CommandError(str(error)) from None
        unusable = []
        try:
            for entry in entries:
                self.stdout.write(f"{entry.name} ({entry.kind}, {entry.role}): {entry.path}")
                try:
                    device = host.device(entry)
                    results = checks.verify(
                        entry, config.lun_file, device, own_mark=host.own_mark(entry)
                    )
                except LunUnusable as error:
                    results = [checks.Check("device", False, str(error))]
                problem = executor.lun_problem(entry.kind)
                if problem:
                    results.append(checks.Check("executor", False, problem))
                for check in results:
                    mark = "ok  " if check.ok else "FAIL"
                    self.stdout.write(f"  {mark} {check.name}: {check.message}")
                if any(not check.ok for check in results):
                    unusable.append(entry.name)
        finally:
            host.stop(only_own=True)
        if unusable:
            raise CommandError(f"Not to be used now: {', '.join(unusable)}.")
        self.stdout.write(f"{len(entries)} of {len(entries)} LUNs can be used.")
