import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from fsbench_web.catalog.models import HardwareProfile

_RATE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(KB|MB|GB)/s")
_KB = {"KB": 1.0, "MB": 1024.0, "GB": 1024.0 * 1024.0}


class Command(BaseCommand):
    help = (
        "State what the storage of a hardware profile can deliver at most, by its data sheet or "
        "its interface. Cells above it are flagged as memory that was measured, and not the disk: "
        'those that come in from now on, and all others after "reflag --all".'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("hardware", help="the slug of the profile, as in its address")
        parser.add_argument("rate", help='as 200MB/s (1 MB is 1024 KB), or "unknown"')

    def handle(self, *args: Any, **options: Any) -> None:
        text = options["rate"].strip()
        found = _RATE.fullmatch(text)
        if found is None and text != "unknown":
            raise CommandError(f'"{text}" is no rate: give it as 200MB/s, 1.5GB/s or unknown.')
        rate = float(found[1]) * _KB[found[2]] if found else None
        if rate == 0:
            raise CommandError("No storage delivers nothing: give what it can deliver, or unknown.")
        changed = HardwareProfile.objects.filter(slug=options["hardware"]).update(
            deliverable_kb_s=rate
        )
        if not changed:
            raise CommandError(f'There is no hardware profile "{options["hardware"]}".')
        said = f"delivers at most {rate:g} KB/s" if rate else "delivers nobody knows how much"
        self.stdout.write(f"{options['hardware']} {said}. Judge what is there: reflag --all")
