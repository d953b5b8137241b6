from typing import Any

from django.core.management.base import CommandError, CommandParser

from fsbench_web.imports.models import SigningKey
from fsbench_web.imports.sealed import keys
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = (
        "The keys that sign sealed files: list them, rotate that of this host, or revoke one by "
        "the start of its identifier (8 characters or more)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("list", "rotate", "revoke"), nargs="?")
        parser.add_argument("key", nargs="?", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        action, start = options["action"] or "list", options["key"]
        if bool(start) != (action == "revoke") or (start and len(start) < 8):
            raise CommandError("revoke needs the first 8 characters of a key, or more.")
        try:
            if action == "revoke":
                keys.revoke(start)
            elif action == "rotate":
                keys.rotate()
            else:
                keys.ensure()
        except (SigningKey.DoesNotExist, SigningKey.MultipleObjectsReturned):
            raise CommandError(f"Not one key begins with {start}.") from None
        except keys.KeyUnusable as error:
            if action != "list":
                raise CommandError(str(error)) from None
            self.stderr.write(str(error))
        for key in SigningKey.objects.all():
            self.stdout.write(f"{key.key_id}  {key.state}  made {key.created_at:%Y-%m-%d}")
