from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.catalog.hardware import device_rate
from fsbench_web.catalog.hardware.slugs import unknown
from fsbench_web.catalog.models import HardwareProfile
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = (
        "State the most that the storage of a hardware profile can deliver, by its data sheet or "
        "interface. fsbench flags faster data points: they measured memory, not the disk. It "
        'judges new ones from now on, and all others after "reflag --all".'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("hardware", help="the slug of the profile, as in its address")
        parser.add_argument("rate", help='as 200MB/s (1 MB is 1024 KB, as in MiB/s), or "unknown"')

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rate = device_rate.parse(options["rate"])
        except ValueError as error:
            raise CommandError(str(error)) from None
        changed = HardwareProfile.objects.filter(slug=options["hardware"]).update(
            deliverable_kb_s=rate
        )
        if not changed:
            raise CommandError(unknown(options["hardware"]))
        text = f"delivers at most {rate:g} KB/s" if rate else "delivers nobody knows how much"
        self.stdout.write(f"{options['hardware']} {text}. Judge what is there: reflag --all")
