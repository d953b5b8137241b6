from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.catalog.hardware.slugs import unknown
from fsbench_web.catalog.models import HardwareProfile
from fsbench_web.core.activity.costs import CURRENCIES, USUAL_YEARS, InvalidPrice, parsed_price
from fsbench_web.platform.commands import SiteCommand
from fsbench_web.studies.activity import pricing


class Command(SiteCommand):
    help = (
        "State what a hardware profile cost, and over how many years of use the price is spread. "
        "All finished runs on it are priced again: their cost for each million operations."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("hardware", help="the slug of the profile, as in its address")
        parser.add_argument("price", help='as 12000 or 12000.50, or "unknown"')
        parser.add_argument("--currency", choices=CURRENCIES, default="EUR")
        parser.add_argument("--years", default=f"{USUAL_YEARS:g}", help="of use; 5 if not said")

    def handle(self, *args: Any, **options: Any) -> None:
        amount = "" if options["price"] == "unknown" else options["price"]
        try:
            price = parsed_price(amount, options["currency"], options["years"])
        except InvalidPrice as error:
            raise CommandError(str(error)) from None
        profile = HardwareProfile.objects.filter(slug=options["hardware"]).first()
        if profile is None:
            raise CommandError(unknown(options["hardware"]))
        count = pricing.state_price(profile, price, limit=None)
        self.stdout.write(f"{profile.slug}: {count} finished runs carry a cost of its price.")
